/*
 * doctor_levelzero.c: whether Level Zero's programs are metered here: mete's face, and Intel's driver where its cards
 * are. The driver is not loaded. Which devices it has, meted asks (`mete devices`).
 */
#include "cli/doctor.h"

#include <glob.h>
#include <limits.h>
#include <unistd.h>

/* Intel's driver in the usual places; "": none. */
static void find_driver(char path[PATH_MAX])
{
	static const char *const places[] = { "/usr/lib/*/libze_intel_gpu.so.1", "/usr/lib64/libze_intel_gpu.so.1",
					      "/usr/local/lib/libze_intel_gpu.so.1" };
	glob_t found;

	*path = 0;
	for (size_t i = 0; !*path && i < sizeof(places) / sizeof(*places); i++) {
		if (!glob(places[i], 0, NULL, &found) && !path_join(path, "%s", found.gl_pathv[0]))
			*path = 0;
		globfree(&found);
	}
}

void doctor_check_levelzero(struct doctor *d)
{
	char face[PATH_MAX], driver[PATH_MAX];

	if (!*d->place.shim_dir || !path_join(face, "%s/libmete-levelzero.so", d->place.shim_dir))
		return;
	find_driver(driver);
	if (access(face, R_OK))
		doctor_add(d, "levelzero", STATUS_WARNING, "install all of mete",
			   "Level Zero programs are not metered: libmete-levelzero.so is not in %s", d->place.shim_dir);
	else if (!*driver)
		doctor_add(d, "levelzero", STATUS_NOTE,
			   "if the machine has Intel's cards, install the compute runtime (Level Zero)",
			   "%s meters Level Zero; no libze_intel_gpu.so.1 in the usual places", face);
	else
		doctor_add(d, "levelzero", STATUS_OK, NULL, "%s meters %s", face, driver);
}
