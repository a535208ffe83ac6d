/* vulkan_env.c: see vulkan_env.h. */
#include "client/vulkan_env.h"
#include "base/cleanup.h"
#include "client/tenant_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDERS "XDG_DATA_DIRS"
#define USUAL "/usr/local/share/:/usr/share/"
#define MANIFEST "vulkan/implicit_layer.d/mete.json"

bool vulkan_env_enter(const char *shim_dir)
{
	_cleanup_free_ char *manifest = NULL, *folder = NULL;
	const char *old = getenv(FOLDERS);

	if (asprintf(&folder, "%s" VULKAN_ENV_FOLDER, shim_dir) < 0) {
		folder = NULL;
		return false;
	}
	if (asprintf(&manifest, "%s/" MANIFEST, folder) < 0) {
		manifest = NULL;
		return false;
	}
	if (access(manifest, R_OK))
		return true;
	return ((old && *old) || !setenv(FOLDERS, USUAL, 1)) && tenant_env_put_first(FOLDERS, folder, ":") &&
	       !setenv("METE_VULKAN", "1", 1);
}

bool vulkan_env_leave(void)
{
	const char *old = getenv(FOLDERS);

	unsetenv("METE_VULKAN");
	if (!old || !strstr(old, "/shim" VULKAN_ENV_FOLDER))
		return true;
	if (!tenant_env_put_first(FOLDERS, "", ":"))
		return false;
	old = getenv(FOLDERS);
	return !old || strcmp(old, USUAL) || !unsetenv(FOLDERS);
}
