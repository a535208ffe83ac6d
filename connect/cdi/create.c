/* create.c: `mete cdi create`: a grant for one container, and the CDI file by which the container gets it. */
#include "verb/expires.h"
#include "client/grants.h"
#include "client/requests.h"
#include "verb/say.h"
#include "connect/cdi/edits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct making {
	const struct command_line *line;
	struct edits edits;
	struct edits_share share;
	json_t *grant;	     /* owned */
	long expires_s;	     /* -1: not said */
	char path[PATH_MAX]; /* of the CDI file */
};

/* What the command line says of the share, as the hook's words. */
static size_t take_words(const struct command_line *line, char words[EDITS_WORDS_MOST][64],
			 const char *list[EDITS_WORDS_MOST + 1])
{
	static const char *const not_words[] = { "name", "keep", "dir", "json", "expires" };
	size_t n = 0;

	for (size_t i = 0; i < line->given_count && n + 2 <= EDITS_WORDS_MOST; i++) {
		const struct given *g = &line->given[i];
		bool other = false;

		for (size_t k = 0; k < sizeof(not_words) / sizeof(*not_words); k++)
			other |= !strcmp(g->option->name, not_words[k]);
		if (other)
			continue;
		snprintf(words[n], sizeof(words[n]), "--%s", g->option->name);
		list[n] = words[n];
		n++;
		if (g->option->value)
			list[n++] = g->value;
	}
	list[n] = NULL;
	return n;
}

static int ask_grant(struct making *m, const char *name, bool spec, struct fault *f)
{
	const struct command_line *line = m->line;
	json_t *container, *request, *answer;
	int r;

	container = json_pack("{s:b s:{s:o}}", "keep", option_given(line, "keep"), "files", "settings",
			      inside_settings(m->share.way, m->share.spill.is));
	if (spec)
		json_object_set_new(container, "spec", json_string(m->path));
	request = request_create(&(struct request_create){ .name = name,
							   .driver = m->share.choice.driver,
							   .devices = choose_request(&m->share.choice),
							   .container = container,
							   .overcommit = option_given(line, "overcommit"),
							   .wall = m->share.way == INSIDE_WALL });
	expires_request(request, m->expires_s);
	spill_request(&m->share.spill, request);
	r = control_ask(&m->edits.control, request, &answer, NULL, f);
	if (r)
		return r;
	m->grant = json_incref(json_object_get(answer, "grant"));
	json_decref(answer);
	return 0;
}

static void take_back(struct making *m, const char *name)
{
	struct fault f;
	json_t *answer;

	if (!control_ask(&m->edits.control, request_grant("grant_delete", name), &answer, NULL, &f))
		json_decref(answer);
}

/* A name that nobody has: it stands in the CDI file, so it is chosen before there is a grant. */
static int choose_name(struct making *m, char name[64], struct fault *f)
{
	const char *given = option_value(m->line, "name");
	unsigned char random[5];

	if (given) {
		snprintf(name, 64, "%s", given);
		return grant_name_check(given, f);
	}
	if (getentropy(random, sizeof(random)))
		return fault_set(f, -errno, "no random numbers: %s", strerror(errno));
	snprintf(name, 64, "c-%02x%02x%02x%02x%02x", random[0], random[1], random[2], random[3], random[4]);
	return 0;
}

/* Absolute: meted removes the file when the grant ends. */
static int choose_path(struct making *m, const char *name, struct fault *f)
{
	const char *dir = option_value(m->line, "dir");
	char here[PATH_MAX], own[PATH_MAX];

	if (!dir && spec_own_dir(own))
		dir = own;

	if (!dir || *dir == '/')
		*here = 0;
	else if (!getcwd(here, sizeof(here) - 1))
		return fault_set(f, -errno, "--dir %s: %s", dir, strerror(errno));
	else
		strcat(here, "/");
	if (path_join(m->path, "%s%s", here, dir ? dir : SPEC_DYNAMIC_DIR) && path_join(here, "%s", m->path) &&
	    spec_path(m->path, here, SPEC_GRANT_KIND, name))
		return 0;
	return fault_set(f, -ENAMETOOLONG, "--dir %s: the path is too long", dir ? dir : SPEC_DYNAMIC_DIR);
}

/* The system's meted removes no file for a user without root: those of grants that are gone go with the next one. */
static void sweep_gone(struct making *m)
{
	char own[PATH_MAX];
	struct spec_list list;
	json_t *grants = NULL, *known = json_object(), *grant;
	struct fault f;
	size_t i;

	if (!spec_own_dir(own) || grants_get(&m->edits.control, NULL, &grants, &f) || spec_list_read(&list, own, &f)) {
		json_decref(grants);
		json_decref(known);
		return;
	}
	json_array_foreach(grants, i, grant) json_object_set(known, device_text(grant, "name"), grant);
	for (i = 0; i < list.count; i++) {
		json_t *device = json_array_get(json_object_get(list.file[i].spec, "devices"), 0);

		if (!strcmp(device_text(list.file[i].spec, "kind"), SPEC_GRANT_KIND) && device &&
		    !json_object_get(known, device_text(device, "name")))
			unlink(list.file[i].path);
	}
	spec_list_free(&list);
	json_decref(grants);
	json_decref(known);
}

/* Where the runtime has to be told of the folder. */
static void say_where(const struct making *m)
{
	char own[PATH_MAX];

	if (!option_given(m->line, "dir") && spec_own_dir(own))
		say_note("written to %s, which podman reads with --cdi-spec-dir %s; docs/containers.md says what else "
			 "works without root",
			 own, own);
}

static int make(struct making *m, struct fault *f)
{
	static char words[EDITS_WORDS_MOST][64];
	const char *list[EDITS_WORDS_MOST + 1], *version = NULL;
	const struct spec_file *other;
	json_t *edits;
	char name[64];
	int r;

	take_words(m->line, words, list);
	r = expires_parse(m->line, &m->expires_s, f);
	if (!r)
		r = edits_open(&m->edits, f);
	if (!r)
		r = edits_share_read(&m->edits, &m->share, list, f);
	if (!r)
		r = choose_name(m, name, f);
	if (!r)
		r = choose_path(m, name, f);
	if (r)
		return r;
	other = spec_list_find(&m->edits.vendors, SPEC_GRANT_KIND, name, m->path);
	if (other)
		return fault_set(f, -EEXIST, SPEC_GRANT_KIND "=%s is defined in %s already; choose another --name",
				 name, other->path);
	edits = edits_make(&m->edits, &m->share, "grant", name, &version, f);
	if (!edits)
		return -ENOENT;
	/* The system's meted removes files for root alone. */
	sweep_gone(m);
	r = ask_grant(m, name, !m->edits.control.system || !geteuid(), f);
	if (!r) {
		r = spec_write_device(m->path, SPEC_GRANT_KIND, name, version, edits, f);
		edits = NULL;
		if (r)
			take_back(m, name);
	}
	json_decref(edits);
	return r;
}

VERB(cdi_create)
{
	struct making m = { .line = line, .edits = { .control = CONTROL_CLOSED } };
	struct fault f = { .text = "" };
	int r = make(&m, &f);

	if (r)
		say_error("%s", f.text);
	else if (option_given(line, "json"))
		print_json("grant", json_incref(m.grant));
	else
		say_where(&m);
	if (!r && !option_given(line, "json"))
		printf(SPEC_GRANT_KIND "=%s\n", device_text(m.grant, "name"));
	json_decref(m.grant);
	edits_share_free(&m.share);
	edits_close(&m.edits);
	return r ? EXIT_FAILED : EXIT_DONE;
}
