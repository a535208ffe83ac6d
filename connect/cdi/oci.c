/*
 * oci.c: `mete oci`: a share for a container whose runtime knows no CDI (runc alone, containerd 1.6): the same edits,
 * made in the bundle's config.json. What an earlier `mete oci` put there is taken out first.
 */
#include "base/cleanup.h"
#include "verb/choose.h"
#include "client/grants.h"
#include "verb/say.h"
#include "connect/cdi/bundle.h"
#include "connect/cdi/edits.h"
#include "connect/cdi/shares.h"
#include "connect/cdi/state.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* The words of a named share, or of the command line. */
static int share_of(const struct command_line *line, struct edits *e, struct edits_share *s, struct fault *f)
{
	const char *words[EDITS_WORDS_MOST + 1], *share = option_value(line, "share");
	static char names[EDITS_WORDS_MOST][40];
	json_t *shares, *list;
	size_t n = 0;
	int r;

	if (share) {
		shares = shares_read(option_value(line, "shares"), NULL, f);
		list = json_object_get(shares, share);
		if (list && option_given(line, "soft"))
			json_array_append_new(list, json_string("--soft"));
		if (list)
			shares_words(list, words, EDITS_WORDS_MOST + 1);
		else if (shares)
			fault_set(f, -ENOENT, "--share %s: there is none of that name; `mete cdi list` shows them",
				  share);
		r = list ? edits_share_read(e, s, words, f) : -ENOENT;
		if (r && list)
			shares_fault(option_value(line, "shares"), share, r, f);
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
		r = bundle_put(config, made, f);
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
	int r = state_root(line->args[0], root, NULL, f);

	if (r)
		return r;
	path_join(path, "%s/config.json", line->args[0]);
	config = json_load_file(path, 0, NULL);
	if (!config || stat(path, &st))
		return fault_set(f, -EINVAL, "%s: it cannot be read", path);
	bundle_take_out(config);
	if (!option_given(line, "remove"))
		r = put_in(line, config, f);
	if (!r)
		r = spec_write(path, config, f);
	if (!r && chmod(path, st.st_mode & 07777))
		r = fault_set(f, -errno, "%s: %s", path, strerror(errno));
	json_decref(config);
	return r;
}

VERB(oci)
{
	struct fault f = { .text = "" };

	if (!edit(line, &f))
		return EXIT_DONE;
	say_error("%s", f.text);
	return EXIT_FAILED;
}
