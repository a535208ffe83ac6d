/* wall_env.c: see wall_env.h. */
#include "cli/wall_env.h"

#include "verb/choose.h"
#include "client/grants.h"
#include "client/runtime_env.h"
#include "client/tenant_env.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int wall_env_fill(struct remote_env *ret, struct place *place, json_t *grant, const char *dir, char runtime[PATH_MAX],
		  struct fault *f)
{
	const char *socket = device_text(grant, "wall"), *name = device_text(grant, "name");
	int r = place_find_remote(place, f);

	if (r)
		return r;
	if (!*socket)
		return fault_set(f, -EINVAL,
				 "grant %s was made without a wall; make one with `mete create --wall NAME`, or leave "
				 "--wall away",
				 name);
	if (strchr(socket, ','))
		return fault_set(f, -EINVAL, "%s: no \",\" may be in this path; set METE_RUNTIME_DIR to another one",
				 socket);
	r = tenant_env_detour(place->remote_dir, dir, f);
	if (r)
		return r;
	*ret = (struct remote_env){ .client_dir = place->remote_dir, .sockets = socket,
				    .soft = !strcmp(device_text(json_object_get(grant, "driver"), "kind"), "soft") };
	if (*place->runtime_dir && snprintf(runtime, PATH_MAX, "%s", place->runtime_dir) < PATH_MAX)
		ret->runtime_dir = runtime;
	return 0;
}

/* "kill_process kill_thread trap errno ...": what the kernel's filter can do. */
static bool filter_known(void)
{
	char words[256] = "";
	FILE *f = fopen("/proc/sys/kernel/seccomp/actions_avail", "re");
	bool known = f && fgets(words, sizeof(words), f) && strstr(words, "errno");

	if (f)
		fclose(f);
	return known;
}

bool wall_doubt(const struct place *place, char *ret, size_t size, const char **ret_remedy)
{
	if (!*place->worker || !*place->remote_dir) {
		snprintf(ret, size, "%s is not installed",
			 !*place->worker ? "mete-worker" : "the remote client's library");
		*ret_remedy = "install all of mete";
		return true;
	}
	if (!filter_known()) {
		snprintf(ret, size, "the kernel has no filter of system calls (seccomp)");
		*ret_remedy = "use a kernel with CONFIG_SECCOMP_FILTER";
		return true;
	}
	return false;
}
