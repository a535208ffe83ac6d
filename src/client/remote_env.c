/* remote_env.c: see remote_env.h. */
#include "client/remote_env.h"
#include "base/cleanup.h"
#include "client/runtime_env.h"
#include "client/tenant_env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int remote_env_enter(const struct remote_env *e, struct fault *f)
{
	_cleanup_free_ char *runtime =
		e->runtime_dir ? runtime_env_preload(e->runtime_dir, e->soft, e->client_dir) : strdup("");
	_cleanup_free_ char *preload = NULL, *path = NULL;

	if (!runtime ||
	    asprintf(&preload, "%s/libmete-preload.so%s%s", e->client_dir, *runtime ? ":" : "", runtime) < 0)
		preload = NULL;
	if (asprintf(&path, "%s%s%s", e->client_dir, e->runtime_dir ? ":" : "", e->runtime_dir ? e->runtime_dir : "") <
	    0)
		path = NULL;
	tenant_env_leave();
	if (!preload || !path || !tenant_env_put_first("LD_PRELOAD", preload, ": ") ||
	    !tenant_env_put_first("LD_LIBRARY_PATH", path, ":;") || setenv("METE_REMOTE", e->sockets, 1) ||
	    (e->runtime_dir && e->soft && !runtime_env_tools(e->runtime_dir)) ||
	    (e->log && setenv("METE_LOG", e->log, 1)) || unsetenv("METE_TIER"))
		return fault_set(f, -ENOMEM, "no memory for the program's environment; end other programs");
	return 0;
}

bool remote_env_is_entry(const char *entry, size_t length)
{
	static const char *const ends[] = { "/remote/libmete-preload.so",
					    "/remote/client/libmete-preload.so",
					    "/mete/client/libmete-preload.so",
					    "/remote/libcuda.so.1",
					    "/remote/client/libcuda.so.1",
					    "/mete/client/libcuda.so.1",
					    "/remote/libnvidia-ml.so.1",
					    "/remote/client/libnvidia-ml.so.1",
					    "/mete/client/libnvidia-ml.so.1",
					    "/mete/remote",
					    "/mete/client",
					    "/src/remote/client" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t n = strlen(ends[i]);

		if (length >= n && !memcmp(entry + length - n, ends[i], n))
			return true;
	}
	return false;
}
