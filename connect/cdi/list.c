/* list.c: `mete cdi list`: what containers can be given, and which CDI files are in the way. */
#include "verb/choose.h"
#include "client/fault.h"
#include "client/grants.h"
#include "verb/say.h"
#include "verb/verb.h"
#include "connect/cdi/spec.h"

#include <string.h>

static bool is_ours(json_t *spec)
{
	return !strncmp(device_text(spec, "kind"), "mete.io/", 8);
}

/* The words of the hook that make the share: "--mem 4G --cores 25". */
static json_t *words_of(json_t *device)
{
	json_t *hook = json_array_get(json_object_get(json_object_get(device, "containerEdits"), "hooks"), 0), *word;
	char text[512] = "";
	size_t i, used = 0;
	bool skip = false;

	json_array_foreach (json_object_get(hook, "args"), i, word) {
		const char *w = json_string_value(word);
		bool of_whom = w && (!strcmp(w, "--runtime-dir") || !strcmp(w, "--share") || !strcmp(w, "--grant"));

		if (w && i > 2 && !skip && !of_whom && strcmp(w, "create") && used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? " " : "", w);
		skip = of_whom;
	}
	return json_string(text);
}

static json_t *rows_of(const struct spec_list *list)
{
	json_t *rows = json_array(), *device;
	size_t k;

	for (size_t i = 0; i < list->count; i++) {
		const struct spec_file *file = &list->file[i];

		if (!is_ours(file->spec))
			continue;
		json_array_foreach (json_object_get(file->spec, "devices"), k, device) {
			const char *kind = device_text(file->spec, "kind"), *name = device_text(device, "name");
			const struct spec_file *rival = spec_list_rival(list, file, name),
					       *taken = spec_list_find(list, kind, name, NULL);

			json_array_append_new(
				rows, json_pack("{s:o s:o s:s s:s? s:s?}", "name", json_sprintf("%s=%s", kind, name),
						"share", words_of(device), "file", file->path, "conflict",
						rival ? rival->path : NULL, "hidden_by",
						taken->rank > file->rank ? taken->path : NULL));
		}
	}
	return rows;
}

static json_t *broken_of(const struct spec_list *list)
{
	json_t *broken = json_array();

	for (size_t i = 0; i < list->count; i++)
		if (!list->file[i].spec)
			json_array_append_new(broken, json_pack("{s:s s:s}", "file", list->file[i].path, "error",
								list->file[i].broken));
	return broken;
}

static void print_rows(json_t *rows)
{
	json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		const char *share = device_text(row, "share");

		printf("%-40s %s\n", device_text(row, "name"),
		       *share					     ? share
		       : strstr(device_text(row, "name"), "/grant=") ? "a grant: `mete show` says more"
								     : "");
	}
}

/* What two files define, of whatever vendor: a grant of a GPU needs NVIDIA's. Value: there is something. */
static bool warn_of_conflicts(const struct spec_list *list)
{
	bool any = false;
	json_t *device;
	size_t k;

	for (size_t i = 0; i < list->count; i++) {
		const struct spec_file *file = &list->file[i];

		json_array_foreach (json_object_get(file->spec, "devices"), k, device) {
			const char *kind = device_text(file->spec, "kind"), *name = device_text(device, "name");
			const struct spec_file *rival = spec_list_rival(list, file, name),
					       *taken = spec_list_find(list, kind, name, NULL);

			if (rival > file)
				say_warning("%s=%s is defined in %s and in %s: runtimes find neither; remove one of "
					    "them",
					    kind, name, file->path, rival->path);
			if (taken->rank > file->rank && is_ours(file->spec))
				say_warning("%s=%s is defined in %s, but %s comes first: remove one of them", kind,
					    name, file->path, taken->path);
			any |= rival || (taken->rank > file->rank && is_ours(file->spec));
		}
	}
	return any;
}

VERB(cdi_list)
{
	json_t *rows, *broken, *row;
	struct spec_list list;
	struct fault f;
	bool trouble;
	size_t i;

	if (spec_list_read(&list, option_value(line, "dir"), &f)) {
		say_error("%s", f.text);
		spec_list_free(&list);
		return EXIT_FAILED;
	}
	rows = rows_of(&list);
	broken = broken_of(&list);
	trouble = json_array_size(broken);
	if (option_given(line, "json")) {
		print_json("cdi", json_pack("{s:O s:O}", "devices", rows, "broken", broken));
	} else {
		print_rows(rows);
		if (!json_array_size(rows))
			say_note("there are none: `mete cdi generate` makes the node's, `mete cdi create` one for a "
				 "container");
	}
	trouble |= warn_of_conflicts(&list);
	json_array_foreach (broken, i, row)
		say_warning("%s: %s; runtimes cannot read it: mend or remove it", device_text(row, "file"),
			    device_text(row, "error"));
	json_decref(rows);
	json_decref(broken);
	spec_list_free(&list);
	return trouble ? EXIT_FAILED : EXIT_DONE;
}
