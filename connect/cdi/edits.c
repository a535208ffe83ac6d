/* edits.c: see edits.h. */
#include "connect/cdi/edits.h"
#include "client/requests.h"

#include "connect/cdi/amd.h"
#include "connect/cdi/intel.h"
#include "connect/cdi/npu.h"
#include "connect/cdi/shape_nodes.h"
#include "connect/cdi/vendor.h"
#include "verb/terms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int edits_open(struct edits *e, struct fault *f)
{
	int r = place_find(&e->place, f);

	if (!r)
		r = control_ask_again(&e->control, CONTROL_START, request_plain("devices"), &e->machine,
				      NULL, f);
	return r ? r : spec_list_read(&e->vendors, NULL, f);
}

void edits_close(struct edits *e)
{
	control_close(&e->control);
	json_decref(e->machine);
	spec_list_free(&e->vendors);
}

int edits_share_read(struct edits *e, struct edits_share *s, const char *const *words, struct fault *f)
{
	const char *argv[EDITS_WORDS_MOST + 2];
	size_t n = 0;
	int r;

	*s = (struct edits_share){ .words = json_array() };
	for (; words[n] && n < EDITS_WORDS_MOST; n++) {
		json_array_append_new(s->words, json_string(words[n]));
		argv[n] = json_string_value(json_array_get(s->words, n));
	}
	if (words[n])
		return fault_set(f, -E2BIG, "a share of more than %d words; give fewer", EDITS_WORDS_MOST);
	argv[n++] = "create";
	argv[n] = NULL;
	if (command_line_parse(&s->line, verb_find("cdi hook"), (int)n, (char **)argv))
		return fault_set(f, -EINVAL, "the share cannot be understood; see the line above");
	r = choose_parse(&s->choice, &s->line, f);
	s->choice.takes_any = e->takes_any;
	if (!r)
		r = spill_parse(&s->spill, &s->line, f);
	if (!r)
		r = choose_devices(&s->choice, &s->line, json_incref(e->machine), f);
	if (r)
		return r;
	s->way = option_given(&s->line, "wall") ? INSIDE_WALL : inside_way_of(s->choice.driver);
	if (s->way == INSIDE_WALL && !*e->place.remote_dir)
		return place_find_remote(&e->place, f);
	return 0;
}

void edits_share_free(struct edits_share *s)
{
	choose_deinit(&s->choice);
	command_line_deinit(&s->line);
	json_decref(s->words);
}

static void add_word(json_t *words, const char *word)
{
	json_array_append_new(words, json_string(word));
}

static void add_option(json_t *words, const char *name, const char *value)
{
	json_array_append_new(words, json_sprintf("--%s", name));
	if (value)
		add_word(words, value);
}

static json_t *hook(struct edits *e, const struct edits_share *s, const char *when, const char *option,
		    const char *name)
{
	bool create = !strcmp(when, "createRuntime");
	json_t *words = json_pack("[s,s,s]", "mete", "cdi", "hook"), *row;
	const char *libdir = getenv("METE_LIBDIR");

	add_option(words, "runtime-dir", e->control.dir);
	add_option(words, option, name);
	for (size_t i = 0; create && !strcmp(option, "share") && i < s->line.given_count; i++)
		if (terms_is_share(s->line.given[i].option->name))
			add_option(words, s->line.given[i].option->name, s->line.given[i].value);
	if (create && !strcmp(s->choice.driver, "soft"))
		add_option(words, "soft", NULL);
	if (create && inside_driver(s->way) && s->way != INSIDE_SOFT)
		add_option(words, inside_driver(s->way), NULL);
	if (create && s->way == INSIDE_WALL)
		add_option(words, "wall", NULL);
	if (create && option_given(&s->line, "guard"))
		add_option(words, "guard", NULL);
	add_word(words, create ? "create" : "end");
	row = json_pack("{s:s s:o s:o s:i}", "hookName", when, "path", json_sprintf("%s/mete", e->place.exe_dir),
			"args", words, "timeout", EDITS_HOOK_SECONDS);
	if (libdir && *libdir)
		json_object_set_new(row, "env", json_pack("[o]", json_sprintf("METE_LIBDIR=%s", libdir)));
	return row;
}

static bool only_gpu(const struct edits *e)
{
	json_t *device;
	size_t i, count = 0;

	json_array_foreach (json_object_get(e->machine, "devices"), i, device)
		count += !strcmp(device_text(device, "driver"), "nvidia");
	return count == 1;
}

static int add_vendors(struct edits *e, const struct edits_share *s, json_t *edits, const char **version,
		       struct fault *f)
{
	if (!strcmp(s->choice.driver, "opencl"))
		return fault_set(f, -ENODEV,
				 "a device that has OpenCL alone cannot be given to a container: nobody tells its "
				 "nodes; run the program on the host (`mete run --opencl`), or take a device of "
				 "another kind");
	for (size_t i = 0; s->way == INSIDE_SHIM && i < s->choice.count; i++) {
		json_t *device = s->choice.share[i].chosen, *vendor;
		const char *needs = NULL;
		char index[24];
		struct vendor_gpu gpu = { device_text(device, "uuid"), index, only_gpu(e) };

		snprintf(index, sizeof(index), "%lld", (long long)device_number(device, "index"));
		vendor = vendor_edits(&e->vendors, &e->place, &gpu, &needs, f);
		if (!vendor)
			return -ENOENT;
		vendor_merge(edits, vendor);
		json_decref(vendor);
		*version = spec_version_later(needs, *version ? *version : SPEC_VERSION);
	}
	return 0;
}

/* The nodes of cards that are not NVIDIA's. */
static int add_nodes(const struct edits_share *s, json_t *edits, struct fault *f)
{
	const char *kind = inside_driver(s->way);
	const struct shape_row *row = kind ? shape_named(kind) : NULL;
	bool npu = s->way == INSIDE_ASCEND || s->way == INSIDE_CAMBRICON;
	int r = row ? shape_add_nodes(row, edits, f) : 0;

	for (size_t i = 0; !r && i < s->choice.count; i++) {
		json_t *device = s->choice.share[i].chosen;

		if (s->way == INSIDE_HIP)
			r = amd_add_nodes(device_text(device, "uuid"), edits, f);
		else if (s->way == INSIDE_LEVELZERO)
			r = intel_add_nodes(device_text(device, "uuid"), edits, f);
		else if (npu)
			r = npu_add_nodes(kind, (unsigned int)device_number(device, "index"), edits, f);
	}
	return r;
}

json_t *edits_make(struct edits *e, const struct edits_share *s, const char *option, const char *name,
		   const char **version, struct fault *f)
{
	json_t *edits = json_object(), *ours;
	json_t *environment = inside_environment(&e->place, s->way, !strcmp(s->choice.driver, "soft"));

	if (add_vendors(e, s, edits, version, f) || add_nodes(s, edits, f)) {
		json_decref(environment);
		json_decref(edits);
		return NULL;
	}
	ours = json_pack("{s:o s:[o,o]}", "mounts", inside_mounts(&e->place, s->way), "hooks",
			 hook(e, s, "createRuntime", option, name), hook(e, s, "poststop", option, name));
	if (environment)
		json_object_set_new(ours, "env", environment);
	vendor_merge(edits, ours);
	json_decref(ours);
	return edits;
}
