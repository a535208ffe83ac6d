/*
 * oci.c: `mete oci`: a share for a container whose runtime knows no CDI (runc alone, containerd 1.6): the same edits,
 * made in the bundle's config.json. What an earlier `mete oci` put there is taken out first.
 */
#include "base/cleanup.h"
#include "cli/choose.h"
#include "cli/grants.h"
#include "connect/cdi/edits.h"
#include "connect/cdi/shares.h"
#include "connect/cdi/state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static const char *const hook_names[] = { "prestart",	    "createRuntime", "createContainer",
					  "startContainer", "poststart",     "poststop" };

/* The list at that key; made when it is not there. Borrowed. */
static json_t *list_at(json_t *object, const char *key)
{
	json_t *list = json_object_get(object, key);

	if (!json_is_array(list)) {
		list = json_array();
		json_object_set_new(object, key, list);
	}
	return list;
}

static json_t *object_at(json_t *object, const char *key)
{
	json_t *inner = json_object_get(object, key);

	if (!json_is_object(inner)) {
		inner = json_object();
		json_object_set_new(object, key, inner);
	}
	return inner;
}

static bool is_our_mount(json_t *mount)
{
	return !strncmp(device_text(mount, "destination"), INSIDE_LIB "/", sizeof(INSIDE_LIB)) ||
	       strstr(device_text(mount, "source"), "/mete/shim/lib");
}

static bool is_our_hook(json_t *hook)
{
	json_t *args = json_object_get(hook, "args");
	const char *second = json_string_value(json_array_get(args, 1)),
		   *third = json_string_value(json_array_get(args, 2));

	return second && third && !strcmp(second, "cdi") && !strcmp(third, "hook");
}

static void filter(json_t *list, bool (*is_ours)(json_t *entry))
{
	for (size_t i = json_array_size(list); i--;)
		if (is_ours(json_array_get(list, i)))
			json_array_remove(list, i);
}

static void take_out(json_t *config)
{
	json_t *hooks = json_object_get(config, "hooks");

	filter(json_object_get(config, "mounts"), is_our_mount);
	for (size_t i = 0; i < sizeof(hook_names) / sizeof(*hook_names); i++)
		filter(json_object_get(hooks, hook_names[i]), is_our_hook);
}

static void add_mounts(json_t *config, json_t *edits)
{
	json_t *mount;
	size_t i;

	json_array_foreach (json_object_get(edits, "mounts"), i, mount)
		json_array_append_new(list_at(config, "mounts"),
				      json_pack("{s:s s:s s:s s:O}", "destination", device_text(mount, "containerPath"),
						"type", "bind", "source", device_text(mount, "hostPath"), "options",
						json_object_get(mount, "options")));
}

static void add_hooks(json_t *config, json_t *edits)
{
	json_t *hook, *one;
	size_t i;

	json_array_foreach (json_object_get(edits, "hooks"), i, hook) {
		one = json_copy(hook);
		json_object_del(one, "hookName");
		json_array_append_new(list_at(object_at(config, "hooks"), device_text(hook, "hookName")), one);
	}
}

static void add_env(json_t *config, json_t *edits)
{
	json_t *variable;
	size_t i;

	json_array_foreach (json_object_get(edits, "env"), i, variable)
		json_array_append(list_at(object_at(config, "process"), "env"), variable);
}

/* A device node, and the right to use it. */
static int add_nodes(json_t *config, json_t *edits, struct fault *f)
{
	json_t *linux_part = object_at(config, "linux"), *node;
	struct stat st;
	size_t i;

	json_array_foreach (json_object_get(edits, "deviceNodes"), i, node) {
		const char *path = device_text(node, "path"), *host = device_text(node, "hostPath");

		if (stat(*host ? host : path, &st) || !S_ISCHR(st.st_mode))
			return fault_set(f, -ENODEV,
					 "%s, which NVIDIA's CDI file names, is no device here: make that file anew",
					 *host ? host : path);
		json_array_append_new(list_at(linux_part, "devices"),
				      json_pack("{s:s s:s s:I s:I}", "path", path, "type", "c", "major",
						(json_int_t)major(st.st_rdev), "minor", (json_int_t)minor(st.st_rdev)));
		json_array_append_new(list_at(object_at(linux_part, "resources"), "devices"),
				      json_pack("{s:b s:s s:I s:I s:s}", "allow", 1, "type", "c", "major",
						(json_int_t)major(st.st_rdev), "minor", (json_int_t)minor(st.st_rdev),
						"access", "rw"));
	}
	return 0;
}

/* The words of a named share, or of the command line. */
static int share_of(const struct command_line *line, struct edits *e, struct edits_share *s, struct fault *f)
{
	const char *words[EDITS_WORDS_MOST + 1], *share = option_value(line, "share");
	static char names[EDITS_WORDS_MOST][40];
	json_t *shares, *list;
	size_t n = 0;
	int r;

	if (share) {
		shares = shares_read(option_value(line, "shares"), f);
		list = json_object_get(shares, share);
		if (list && option_given(line, "soft"))
			json_array_append_new(list, json_string("--soft"));
		if (list)
			shares_words(list, words, EDITS_WORDS_MOST + 1);
		else if (shares)
			fault_set(f, -ENOENT, "--share %s: there is none of that name; `mete cdi list` shows them",
				  share);
		r = list ? edits_share_read(e, s, words, f) : -ENOENT;
		json_decref(shares);
		return r;
	}
	for (size_t i = 0; i < line->given_count && n + 2 <= EDITS_WORDS_MOST; i++) {
		const struct given *g = &line->given[i];

		if (!strcmp(g->option->name, "shares") || !strcmp(g->option->name, "remove"))
			continue;
		snprintf(names[n], sizeof(names[n]), "--%s", g->option->name);
		words[n] = names[n];
		n++;
		if (g->option->value)
			words[n++] = g->value;
	}
	words[n] = NULL;
	return edits_share_read(e, s, words, f);
}

static int put_in(const struct command_line *line, json_t *config, struct fault *f)
{
	struct edits edits = { .control = CONTROL_CLOSED };
	const char *share = option_value(line, "share"), *version = NULL;
	struct edits_share s = { 0 };
	json_t *made = NULL;
	int r = edits_open(&edits, f);

	if (!r)
		r = share_of(line, &edits, &s, f);
	if (!r) {
		made = edits_make(&edits, &s, "share", share ? share : "oci", &version, f);
		r = made ? 0 : -ENOENT;
	}
	if (!r) {
		add_mounts(config, made);
		add_hooks(config, made);
		add_env(config, made);
		r = add_nodes(config, made, f);
	}
	json_decref(made);
	edits_share_free(&s);
	edits_close(&edits);
	return r;
}

static int edit(const struct command_line *line, struct fault *f)
{
	char path[PATH_MAX], root[PATH_MAX];
	json_t *config;
	struct stat st;
	int r = state_root(line->args[0], root, f);

	if (r)
		return r;
	path_join(path, "%s/config.json", line->args[0]);
	config = json_load_file(path, 0, NULL);
	if (!config || stat(path, &st))
		return fault_set(f, -EINVAL, "%s: it cannot be read", path);
	take_out(config);
	if (!option_given(line, "remove"))
		r = put_in(line, config, f);
	if (!r)
		r = spec_write(path, config, f);
	if (!r && chmod(path, st.st_mode & 07777))
		r = fault_set(f, -errno, "%s: %s", path, strerror(errno));
	json_decref(config);
	return r;
}

int verb_oci(const struct command_line *line)
{
	struct fault f = { .text = "" };

	if (!edit(line, &f))
		return EXIT_DONE;
	say_error("%s", f.text);
	return EXIT_FAILED;
}
