/* doctor_image.c: `mete doctor --image DIR`: whether containers of an image can have a share, and by which ways. */
#include "client/grants.h"
#include "client/place.h"
#include "verb/say.h"
#include "connect/cdi/connector.h"
#include "connect/cdi/elf.h"
#include "connect/cdi/image.h"
#include "connect/cdi/inside.h"

#include <jansson.h>
#include <string.h>

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

static const struct way {
	enum inside_way way;
	const char *name, *what;
} ways[] = {
	{ INSIDE_SHIM, "GPU", "a share of a GPU" },
	{ INSIDE_SOFT, "software device", "a share of the software device" },
	{ INSIDE_WALL, "wall", "a share behind a wall" },
};

static json_t *judge(const struct image *im, const struct place *place, const struct way *w)
{
	struct fault f = { .text = "" };
	bool with_runtime = false;
	int r;

	r = inside_judge(place, w->way, im, &with_runtime, &f);
	return json_pack("{s:s s:s s:b s:b s:s}", "name", w->name, "what", w->what, "works", !r, "runtime",
			 with_runtime, "reason", r ? f.text : "");
}

static void print_way(json_t *way)
{
	bool works = json_is_true(json_object_get(way, "works"));
	const char *name = json_string_value(json_object_get(way, "name"));

	if (!works)
		printf("failed   %s: %s\n", name, json_string_value(json_object_get(way, "reason")));
	else
		printf("ok       %s: containers of this image can have %s%s\n", name,
		       json_string_value(json_object_get(way, "what")),
		       strcmp(name, "GPU") && !json_is_true(json_object_get(way, "runtime"))
			       ? "; its glibc is too old for mete's CUDA runtime library, so programs have to use the "
				 "driver's interface"
			       : "");
}

static void print_all(const struct image *im, json_t *list)
{
	char version[16];
	json_t *way;
	size_t i;

	for (unsigned int k = 0; k < im->library_count; k++)
		printf("ok       C library: glibc %s in %s\n", elf_glibc_text(im->library[k].glibc, version),
		       im->library[k].libdir);
	if (*im->preload)
		printf("note     %s names libraries of the image's own; they are kept, behind mete's\n",
		       im->library[0].preload_file);
	json_array_foreach (list, i, way)
		print_way(way);
}

VERB(doctor_image)
{
	struct image_program program = { option_value(line, "program"), DEFAULT_PATH };
	struct image image = IMAGE_CLOSED;
	struct fault f = { .text = "" };
	struct place place;
	json_t *list = json_array(), *way;
	bool any = false;
	int r;
	size_t i;

	r = place_find(&place, &f);
	if (!r)
		r = image_open(&image, option_value(line, "image"), program.name ? &program : NULL, &f);
	if (r) {
		say_error("%s", f.text);
		json_decref(list);
		return EXIT_FAILED;
	}
	for (i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		json_array_append_new(list, judge(&image, &place, &ways[i]));
	json_array_foreach (list, i, way)
		any |= json_is_true(json_object_get(way, "works"));
	if (option_given(line, "json"))
		print_json("image", json_pack("{s:s s:b s:O}", "root", image.root, "ok", any, "ways", list));
	else
		print_all(&image, list);
	json_decref(list);
	image_close(&image);
	return any ? EXIT_DONE : EXIT_FAILED;
}
