/* drm.c: see drm.h. */
#include "base/drm.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

unsigned int drm_vendor(const char *name)
{
	const char *drm = getenv("METE_DRM_DIR");
	unsigned int vendor = 0;
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/device/vendor", drm && *drm ? drm : "/sys/class/drm", name);
	file = fopen(path, "re");
	if (file && fscanf(file, "%x", &vendor) != 1)
		vendor = 0;
	if (file)
		fclose(file);
	return vendor;
}
