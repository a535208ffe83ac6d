/*
 * doctor_npu.c: whether programs of Ascend's and Cambricon's are metered here: mete's face, the kernel's device, and
 * the vendor's library. The library is not loaded: it would start the card's driver. Which devices it has, meted asks.
 */
#include "cli/doctor.h"

#include <glob.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define PLACES 4u

static const struct npu {
	const char *name, *face, *node, *library;
	const char *places[PLACES];
	const char *install, *unseen;
} npus[] = {
	{ "ascend",
	  "libmete-ascend.so",
	  "/dev/davinci_manager",
	  "libascendcl.so",
	  { "/usr/local/Ascend/cann/lib64/libascendcl.so",
	    "/usr/local/Ascend/ascend-toolkit/latest/lib64/libascendcl.so",
	    "/usr/local/Ascend/nnrt/latest/lib64/libascendcl.so" },
	  "install CANN, or name its libascendcl.so with meted --libascend; programs may bring their own",
	  "calls that a program looks up by hand in libruntime.so" },
	{ "cambricon",
	  "libmete-cambricon.so",
	  "/dev/cambricon_ctl",
	  "libcndrv.so",
	  { "/usr/local/neuware/lib64/libcndrv.so", "/usr/lib/*/libcndrv.so" },
	  "install CNToolkit, or name its libcndrv.so with meted --libcambricon; programs may bring their own",
	  "calls that a program looks up by hand in libcndrv.so" },
};

static bool find_library(const struct npu *n, char path[PATH_MAX])
{
	glob_t found;

	*path = 0;
	for (size_t i = 0; !*path && i < PLACES && n->places[i]; i++) {
		if (!glob(n->places[i], 0, NULL, &found) && !path_join(path, "%s", found.gl_pathv[0]))
			*path = 0;
		globfree(&found);
	}
	return *path;
}

static void check(struct doctor *d, const struct npu *n)
{
	char face[PATH_MAX], library[PATH_MAX];
	bool kernel = !access(n->node, F_OK);

	if (!path_join(face, "%s/%s", d->place.shim_dir, n->face))
		return;
	if (access(face, R_OK))
		doctor_add(d, n->name, STATUS_WARNING, "install all of mete",
			   "programs of %s are not metered: %s is not in %s", n->name, n->face, d->place.shim_dir);
	else if (kernel && access(n->node, R_OK | W_OK))
		doctor_add(d, n->name, STATUS_WARNING, "add the user to the group of that node",
			   "the cards of %s cannot be used: this user may not open %s", n->name, n->node);
	else if (!kernel)
		doctor_add(d, n->name, STATUS_NOTE, "if the machine has such cards, install their driver",
			   "%s meters %s; there is no such card (%s)", face, n->name, n->node);
	else if (!find_library(n, library))
		doctor_add(d, n->name, STATUS_NOTE, n->install, "%s meters %s; no %s in the usual places", face,
			   n->name, n->library);
	else
		doctor_add(d, n->name, STATUS_OK, NULL, "%s meters %s, except %s", face, library, n->unseen);
}

void doctor_check_npus(struct doctor *d)
{
	for (size_t i = 0; *d->place.shim_dir && i < sizeof(npus) / sizeof(*npus); i++)
		check(d, &npus[i]);
}
