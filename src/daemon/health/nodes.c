/* nodes.c: see nodes.h. */
#include "daemon/health/nodes.h"
#include "base/drm.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEV "/dev"
#define INTEL 0x8086u

static const char *folder(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

bool nodes_match(const char *pattern)
{
	char path[PATH_MAX];
	glob_t found = { 0 };
	bool there;

	snprintf(path, sizeof(path), "%s%s", folder("METE_DEV_DIR", DEV), pattern + strlen(DEV));
	there = !glob(path, 0, NULL, &found);
	globfree(&found);
	return there;
}

/* Under Windows' kernel a card is behind /dev/dxg, whoever made it. */
bool nodes_have_intel(void)
{
	char pattern[PATH_MAX];
	glob_t found = { 0 };
	bool there = nodes_match(DEV "/dxg");

	snprintf(pattern, sizeof(pattern), "%s/renderD*", folder("METE_DRM_DIR", "/sys/class/drm"));
	if (!there && !glob(pattern, 0, NULL, &found))
		for (size_t i = 0; !there && i < found.gl_pathc; i++)
			there = drm_vendor(strrchr(found.gl_pathv[i], '/') + 1) == INTEL;
	globfree(&found);
	return there;
}
