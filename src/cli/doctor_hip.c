/*
 * doctor_hip.c: whether HIP programs are metered here: mete's face, and AMD's library where there are cards of AMD's.
 * The library is not loaded: it would start the card's driver. Which devices it has, meted asks (`mete devices`).
 */
#include "cli/doctor.h"

#include <glob.h>
#include <limits.h>
#include <unistd.h>

/* A library of AMD's in the usual places; "": none. */
static void find_library(char path[PATH_MAX])
{
	static const char *const places[] = { "/opt/rocm/lib/libamdhip64.so.[5-9]", "/opt/dtk/lib/libamdhip64.so.[5-9]",
					      "/usr/lib/*/libamdhip64.so.[5-9]", "/usr/lib64/libamdhip64.so.[5-9]" };
	glob_t found;

	*path = 0;
	for (size_t i = 0; !*path && i < sizeof(places) / sizeof(*places); i++) {
		if (!glob(places[i], 0, NULL, &found) && !path_join(path, "%s", found.gl_pathv[0]))
			*path = 0;
		globfree(&found);
	}
}

void doctor_check_hip(struct doctor *d)
{
	char face[PATH_MAX], library[PATH_MAX];
	bool kernel = !access("/dev/kfd", F_OK);

	if (!*d->place.shim_dir || !path_join(face, "%s/libmete-hip.so", d->place.shim_dir))
		return;
	find_library(library);
	if (access(face, R_OK))
		doctor_add(d, "hip", STATUS_WARNING, "install all of mete",
			   "HIP programs are not metered: libmete-hip.so is not in %s", d->place.shim_dir);
	else if (kernel && access("/dev/kfd", R_OK | W_OK))
		doctor_add(d, "hip", STATUS_WARNING,
			   "add the user to the groups of /dev/kfd and /dev/dri (render, video)",
			   "AMD's cards cannot be used: this user may not open /dev/kfd");
	else if (!kernel)
		doctor_add(d, "hip", STATUS_NOTE, "if the machine has AMD's cards, load the kernel's amdgpu driver",
			   "%s meters HIP; there is no card of AMD (/dev/kfd)", face);
	else if (!*library)
		doctor_add(d, "hip", STATUS_NOTE,
			   "install ROCm's HIP runtime, or name it with meted --libhip; programs may bring their own",
			   "%s meters HIP; no libamdhip64 in the usual places", face);
	else
		doctor_add(d, "hip", STATUS_OK, NULL, "%s meters %s", face, library);
}
