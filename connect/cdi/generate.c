/* generate.c: `mete cdi generate`: CDI files for the node's devices and named shares. */
#include "base/cleanup.h"
#include "client/grants.h"
#include "model/device.h"
#include "verb/say.h"
#include "connect/cdi/inside.h"
#include "connect/cdi/edits.h"
#include "connect/cdi/generate.h"
#include "connect/cdi/shares.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct generating {
	struct edits edits;
	bool soft;
	const char *shares;	/* the file of named shares; NULL: the usual one */
	const char *dir;	/* NULL: the usual ones */
	const char *version;	/* that a vendor's part needs; NULL: none */
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

static bool has_device(json_t *devices, const char *driver)
{
	json_t *device;
	size_t i;

	json_array_foreach (devices, i, device)
		if (!strcmp(device_text(device, "driver"), driver))
			return true;
	return false;
}

/* The one that programs get, of those that a container can have: none with OpenCL alone. */
static const char *driver_given(json_t *devices)
{
	for (size_t i = 0; i < DEVICE_KINDS - 1; i++) {
		const char *name = device_kind_name(device_kind_order[i]);

		if (device_kind_order[i] != DEVICE_OPENCL && has_device(devices, name))
			return name;
	}
	return "soft";
}

/* Every device of the driver that programs get, by index and by UUID, and all of them. */
static int add_devices(struct generating *g, json_t *spec, struct fault *f)
{
	json_t *devices = json_object_get(g->edits.machine, "devices"), *device;
	const char *driver = g->soft ? "soft" : driver_given(devices);
	char word[32] = "";
	size_t i;
	int r = 0;

	if (g->soft || (inside_way_of(driver) != INSIDE_SHIM && strcmp(driver, "soft")))
		snprintf(word, sizeof(word), "--%s", driver);
	json_array_foreach (devices, i, device) {
		const char *uuid = device_text(device, "uuid"),
			   *words[] = { "--device", uuid, *word ? word : NULL, NULL };
		char index[24];

		if (r || strcmp(device_text(device, "driver"), driver))
			continue;
		snprintf(index, sizeof(index), "%lld", (long long)device_number(device, "index"));
		r = add(g, spec, index, words, f);
		if (!r)
			r = add(g, spec, uuid, words, f);
	}
	if (!r) {
		const char *words[] = { "--device", "all", *word ? word : NULL, NULL };

		r = add(g, spec, "all", words, f);
	}
	return r;
}

static int add_shares(struct generating *g, json_t *spec, struct fault *f)
{
	json_t *shares = shares_read(g->shares, NULL, f), *list;
	const char *words[EDITS_WORDS_MOST + 1], *name;
	int r = shares ? 0 : -EINVAL;

	json_object_foreach (shares, name, list) {
		if (r)
			break;
		if (g->soft)
			json_array_append_new(list, json_string("--soft"));
		shares_words(list, words, EDITS_WORDS_MOST + 1);
		r = add(g, spec, name, words, f);
		if (r)
			shares_fault(g->shares, name, r, f);
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
	int r = spec_list_read(&beside, g->dir, f);

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

/* One file's contents. */
static int make_kind(struct generating *g, const struct kind *k, json_t **ret, struct fault *f)
{
	int r;

	*ret = spec_new(k->kind);
	g->version = NULL;
	r = k->fill(g, *ret, f);
	if (!r && g->version)
		json_object_set_new(*ret, "cdiVersion", json_string(g->version));
	return r;
}

static int choose_path(const struct generating *g, json_t *spec, char path[PATH_MAX], struct fault *f)
{
	return spec_path(path, g->dir ? g->dir : SPEC_STATIC_DIR, device_text(spec, "kind"), NULL)
		       ? 0
		       : fault_set(f, -ENAMETOOLONG, "--dir: the path is too long");
}

static int check_kind(struct generating *g, json_t *spec, struct fault *f)
{
	char path[PATH_MAX];
	int r = choose_path(g, spec, path, f);

	return r ? r : check_conflicts(g, spec, path, f);
}

/* Runtimes reject a file without devices. */
static int take_away(const char *path, struct fault *f)
{
	if (!unlink(path))
		printf("%s: removed, there is nothing to be given by it\n", path);
	else if (errno != ENOENT)
		return fault_set(f, -errno, "%s cannot be removed: %s; run this as root", path, strerror(errno));
	return 0;
}

static int write_kind(struct generating *g, json_t *spec, struct fault *f)
{
	const char *kind = device_text(spec, "kind");
	char path[PATH_MAX];
	json_t *device;
	size_t i;
	int r = choose_path(g, spec, path, f);

	if (!r && !json_array_size(json_object_get(spec, "devices")))
		return take_away(path, f);
	if (!r)
		r = spec_write(path, spec, f);
	if (r)
		return r;
	printf("%s:", path);
	json_array_foreach (json_object_get(spec, "devices"), i, device)
		printf(" %s=%s", kind, device_text(device, "name"));
	putchar('\n');
	return 0;
}

int generate_now(const char *kind, bool soft, json_t **ret, struct fault *f)
{
	struct generating g = { .edits = { .control = CONTROL_CLOSED }, .soft = soft };
	int r = edits_open(&g.edits, f);

	*ret = NULL;
	for (size_t i = 0; !r && i < KINDS; i++)
		if (!strcmp(kinds[i].kind, kind))
			r = make_kind(&g, &kinds[i], ret, f);
	if (r) {
		json_decref(*ret);
		*ret = NULL;
	}
	edits_close(&g.edits);
	return r;
}

VERB(cdi_generate)
{
	struct generating g = { .edits = { .control = CONTROL_CLOSED },
				.soft = option_given(line, "soft"),
				.shares = option_value(line, "shares"),
				.dir = option_value(line, "dir") };
	json_t *specs[KINDS] = { NULL }, *all = json_array();
	bool print = option_given(line, "json");
	struct fault f = { .text = "" };
	int r;

	r = edits_open(&g.edits, &f);
	for (size_t i = 0; !r && i < KINDS; i++) {
		r = make_kind(&g, &kinds[i], &specs[i], &f);
		json_array_append_new(all, specs[i]);
		if (!r && !print)
			r = check_kind(&g, specs[i], &f);
	}
	for (size_t i = 0; !r && !print && i < KINDS; i++)
		r = write_kind(&g, specs[i], &f);
	if (r)
		say_error("%s", f.text);
	else if (print)
		print_json("specs", json_incref(all));
	json_decref(all);
	edits_close(&g.edits);
	return r ? EXIT_FAILED : EXIT_DONE;
}
