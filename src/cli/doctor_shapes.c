/*
 * doctor_shapes.c: whether programs are metered whose library is CUDA or HIP under other names (model/shapes.h): mete's
 * face, and the vendor's library where there are cards of its. No library is loaded: meted asks (`mete devices`).
 */
#include "cli/doctor.h"
#include "model/shapes.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool has_cards(const struct shape_row *row)
{
	glob_t found;
	bool there = !glob(row->nodes[0], 0, NULL, &found);

	globfree(&found);
	return there;
}

/* A library in a folder that is known; NULL: none. */
static const char *find_library(const struct shape_row *row)
{
	for (size_t i = 0; i < sizeof(row->places) / sizeof(*row->places) && row->places[i]; i++)
		if (*row->places[i] == '/' && !access(row->places[i], R_OK))
			return row->places[i];
	return NULL;
}

/* CUDA's own where the names are CUDA's. */
static bool face_path(const struct doctor *d, const struct shape_row *row, char path[PATH_MAX])
{
	char name[64] = "libcuda.so.1";

	if (!row->own_names)
		snprintf(name, sizeof(name), "libmete-%s.so", row->name);
	return *d->place.shim_dir && path_join(path, "%s/%s", d->place.shim_dir, name);
}

static void check_cards(struct doctor *d, const struct shape_row *row, const char *face)
{
	const char *library = find_library(row);

	if (access(face, R_OK))
		doctor_add(d, row->name, STATUS_WARNING, "install all of mete",
			   "programs for cards of %s are not metered: there is no %s", row->vendor, face);
	else if (library)
		doctor_add(d, row->name, STATUS_OK, NULL, "%s meters %s", face, library);
	else
		doctor_add(d, row->name, STATUS_NOTE,
			   "if the loader does not find the library either, name it in meted.yaml",
			   "%s meters programs for cards of %s; the library is in none of the usual folders", face,
			   row->vendor);
}

void doctor_check_shapes(struct doctor *d)
{
	char face[PATH_MAX], without[160] = "";
	size_t used = 0;

	for (size_t i = 0; i < shape_row_count; i++) {
		const struct shape_row *row = &shape_rows[i];

		if (!face_path(d, row, face))
			return;
		if (has_cards(row))
			check_cards(d, row, face);
		else if (used < sizeof(without))
			used += (size_t)snprintf(without + used, sizeof(without) - used, "%s%s (%s)", used ? ", " : "",
						 row->vendor, row->nodes[0]);
	}
	if (used)
		doctor_add(d, "shapes", STATUS_NOTE, "if the machine has such cards, load the kernel's driver",
			   "mete also meters programs for other vendors' cards; there are none of %s", without);
}
