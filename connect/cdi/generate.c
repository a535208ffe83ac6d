/* generate.c: `mete cdi generate`: CDI files for the node's devices and named shares. */
#include "base/cleanup.h"
#include "cli/grants.h"
#include "connect/cdi/edits.h"
#include "connect/cdi/shares.h"

#include <errno.h>
#include <string.h>

struct generating {
	const struct command_line *line;
	struct edits edits;
	const char *dir;
	const char *version; /* that a vendor's part needs; NULL: none */
};

static int add(struct generating *g, json_t *spec, const char *name, const char *const *words, struct fault *f)
{
	struct edits_share share;
	json_t *edits = NULL;
	int r = edits_share_read(&g->edits, &share, words, f);

	if (!r)
		edits = edits_make(&g->edits, &share, "share", name, &g->version, f);
	edits_share_free(&share);
	if (edits)
		spec_add(spec, name, edits);
	return edits ? 0 : r ? r : -ENOENT;
}

/* Every device of the driver that programs get, by index and by UUID, and all of them. */
static int add_devices(struct generating *g, json_t *spec, struct fault *f)
{
	json_t *devices = json_object_get(g->edits.machine, "devices"), *device;
	bool soft = option_given(g->line, "soft");
	const char *driver = "soft";
	size_t i;
	int r = 0;

	json_array_foreach (devices, i, device)
		if (!soft && !strcmp(device_text(device, "driver"), "nvidia"))
			driver = "nvidia";
	json_array_foreach (devices, i, device) {
		const char *uuid = device_text(device, "uuid"),
			   *words[] = { "--device", uuid, soft ? "--soft" : NULL, NULL };
		char index[24];

		if (r || strcmp(device_text(device, "driver"), driver))
			continue;
		snprintf(index, sizeof(index), "%lld", (long long)device_number(device, "index"));
		r = add(g, spec, index, words, f);
		if (!r)
			r = add(g, spec, uuid, words, f);
	}
	if (!r) {
		const char *words[] = { "--device", "all", soft ? "--soft" : NULL, NULL };

		r = add(g, spec, "all", words, f);
	}
	return r;
}

static int add_shares(struct generating *g, json_t *spec, struct fault *f)
{
	json_t *shares = shares_read(option_value(g->line, "shares"), f), *list;
	const char *words[EDITS_WORDS_MOST + 1], *name;
	int r = shares ? 0 : -EINVAL;

	json_object_foreach (shares, name, list) {
		if (r)
			break;
		if (option_given(g->line, "soft"))
			json_array_append_new(list, json_string("--soft"));
		shares_words(list, words, EDITS_WORDS_MOST + 1);
		r = add(g, spec, name, words, f);
	}
	json_decref(shares);
	return r;
}

/* A name that two files define is found in neither. */
static int check_conflicts(struct generating *g, json_t *spec, const char *path, struct fault *f)
{
	const char *kind = device_text(spec, "kind");
	struct spec_list beside = { 0 };
	const struct spec_file *other = NULL;
	json_t *device;
	size_t i;
	int r = spec_list_read(&beside, option_value(g->line, "dir"), f);

	json_array_foreach (json_object_get(spec, "devices"), i, device) {
		const char *name = device_text(device, "name");

		other = r ? NULL : spec_list_find(&beside, kind, name, path);
		if (other) {
			r = fault_set(f, -EEXIST,
				      "%s=%s is defined in %s too, and runtimes would find neither, or that one: "
				      "remove it there, or that file",
				      kind, name, other->path);
			break;
		}
	}
	spec_list_free(&beside);
	return r;
}

static const struct kind {
	const char *kind;
	int (*fill)(struct generating *g, json_t *spec, struct fault *f);
} kinds[] = { { SPEC_DEVICE_KIND, add_devices }, { SPEC_SHARE_KIND, add_shares } };

#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* One file's contents, judged. */
static int make_kind(struct generating *g, const struct kind *k, json_t **ret, struct fault *f)
{
	char path[PATH_MAX];
	int r;

	*ret = spec_new(k->kind);
	g->version = NULL;
	r = k->fill(g, *ret, f);
	if (!r && g->version)
		json_object_set_new(*ret, "cdiVersion", json_string(g->version));
	if (!r && !spec_path(path, g->dir, k->kind, NULL))
		r = fault_set(f, -ENAMETOOLONG, "--dir: the path is too long");
	return r || option_given(g->line, "json") ? r : check_conflicts(g, *ret, path, f);
}

static int write_kind(struct generating *g, json_t *spec, struct fault *f)
{
	const char *kind = device_text(spec, "kind");
	char path[PATH_MAX];
	json_t *device;
	size_t i;
	int r;

	spec_path(path, g->dir, kind, NULL);
	r = spec_write(path, spec, f);
	if (r)
		return r;
	printf("%s:", path);
	json_array_foreach (json_object_get(spec, "devices"), i, device)
		printf(" %s=%s", kind, device_text(device, "name"));
	putchar('\n');
	return 0;
}

int verb_cdi_generate(const struct command_line *line)
{
	struct generating g = { .line = line, .edits = { .control = CONTROL_CLOSED } };
	json_t *specs[KINDS] = { NULL }, *all = json_array();
	struct fault f = { .text = "" };
	int r;

	g.dir = option_value(line, "dir") ? option_value(line, "dir") : SPEC_STATIC_DIR;
	r = edits_open(&g.edits, &f);
	for (size_t i = 0; !r && i < KINDS; i++) {
		r = make_kind(&g, &kinds[i], &specs[i], &f);
		json_array_append_new(all, specs[i]);
	}
	for (size_t i = 0; !r && !option_given(line, "json") && i < KINDS; i++)
		r = write_kind(&g, specs[i], &f);
	if (r)
		say_error("%s", f.text);
	else if (option_given(line, "json"))
		print_json("specs", json_incref(all));
	json_decref(all);
	edits_close(&g.edits);
	return r ? EXIT_FAILED : EXIT_DONE;
}
