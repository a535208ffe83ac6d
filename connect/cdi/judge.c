/* judge.c: see judge.h. */
#include "connect/cdi/judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WORDS_MOST 8

struct judging {
	char *why;
	size_t size;
	bool bad;
};

/* The words that one kind of object may have; of lists of objects, what each entry must have as a text. */
struct word {
	const char *name;
	json_type type;
	const char *must[3];
};

static const struct word spec_words[WORDS_MOST] = {
	{ "cdiVersion", JSON_STRING, { 0 } }, { "kind", JSON_STRING, { 0 } },
	{ "annotations", JSON_OBJECT, { 0 } }, { "devices", JSON_ARRAY, { "name" } },
	{ "containerEdits", JSON_OBJECT, { 0 } },
};

static const struct word device_words[WORDS_MOST] = {
	{ "name", JSON_STRING, { 0 } },
	{ "annotations", JSON_OBJECT, { 0 } },
	{ "containerEdits", JSON_OBJECT, { 0 } },
};

static const struct word edits_words[WORDS_MOST] = {
	{ "env", JSON_ARRAY, { 0 } },
	{ "deviceNodes", JSON_ARRAY, { "path" } },
	{ "netDevices", JSON_ARRAY, { "hostInterfaceName" } },
	{ "mounts", JSON_ARRAY, { "hostPath", "containerPath" } },
	{ "hooks", JSON_ARRAY, { "hookName", "path" } },
	{ "additionalGids", JSON_ARRAY, { 0 } },
	{ "intelRdt", JSON_OBJECT, { 0 } },
};

static const char *const hook_names[] = { "prestart",	    "createRuntime", "createContainer",
					  "startContainer", "poststart",     "poststop" };

static void __attribute__((format(printf, 2, 3))) reject(struct judging *j, const char *fmt, ...)
{
	va_list ap;

	if (j->bad)
		return;
	j->bad = true;
	va_start(ap, fmt);
	vsnprintf(j->why, j->size, fmt, ap);
	va_end(ap);
}

static const char *text_at(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* What a hurried hand leaves unquoted: "name: 0", "cdiVersion: 1". Runtimes read it as the text that it looks like. */
static void make_text(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (json_is_integer(value))
		json_object_set_new(object, key, json_sprintf("%lld", (long long)json_integer_value(value)));
}

static const struct word *word_find(const struct word *words, const char *name)
{
	for (size_t i = 0; i < WORDS_MOST && words[i].name; i++)
		if (!strcmp(words[i].name, name))
			return &words[i];
	return NULL;
}

static void judge_list(struct judging *j, const char *where, const struct word *w, json_t *list)
{
	json_t *entry;
	size_t i;

	json_array_foreach (list, i, entry)
		for (size_t k = 0; k < 3 && w->must[k]; k++) {
			make_text(entry, w->must[k]);
			if (!*text_at(entry, w->must[k]))
				reject(j, "%sentry %zu of \"%s\" has no \"%s\"", where, i + 1, w->name, w->must[k]);
		}
}

static void judge_words(struct judging *j, const char *where, const struct word *words, json_t *object)
{
	static const char *const type_names[] = { [JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",
						  [JSON_STRING] = "a text" };
	const char *key;
	json_t *value;

	if (object && !json_is_object(object))
		reject(j, "%sit is no object", where);
	json_object_foreach (object, key, value) {
		const struct word *w = word_find(words, key);

		if (!w)
			reject(j, "%s\"%s\" is no word of CDI, and runtimes reject the file for it", where, key);
		else if (json_typeof(value) != w->type)
			reject(j, "%s\"%s\" is not %s", where, key, type_names[w->type]);
		else if (w->type == JSON_ARRAY)
			judge_list(j, where, w, value);
	}
}

static void judge_edits(struct judging *j, const char *where, json_t *edits)
{
	json_t *hook, *word;
	size_t i;

	judge_words(j, where, edits_words, edits);
	json_array_foreach (json_object_get(edits, "hooks"), i, hook) {
		const char *name = text_at(hook, "hookName");
		size_t k = 0;

		while (k < sizeof(hook_names) / sizeof(*hook_names) && strcmp(hook_names[k], name))
			k++;
		if (k == sizeof(hook_names) / sizeof(*hook_names))
			reject(j, "%s\"%s\" is no hook of OCI", where, name);
	}
	json_array_foreach (json_object_get(edits, "env"), i, word)
		if (!json_is_string(word) || !strchr(json_string_value(word), '='))
			reject(j, "%sentry %zu of \"env\" is not of the form NAME=VALUE", where, i + 1);
}

static void judge_device(struct judging *j, json_t *devices, size_t at)
{
	json_t *device = json_array_get(devices, at);
	const char *name = text_at(device, "name");
	char where[160];

	snprintf(where, sizeof(where), "device %.128s: ", name);
	judge_words(j, where, device_words, device);
	if (!json_object_get(device, "containerEdits"))
		reject(j, "%sno \"containerEdits\"", where);
	judge_edits(j, where, json_object_get(device, "containerEdits"));
	for (size_t i = 0; i < at; i++)
		if (!strcmp(text_at(json_array_get(devices, i), "name"), name))
			reject(j, "device %s stands there twice", name);
}

bool judge_spec(json_t *spec, char *why, size_t size)
{
	struct judging j = { .why = why, .size = size };
	const char *slash, *version;
	unsigned int part[3];
	json_t *devices;
	char rest;

	if (!json_is_object(spec))
		reject(&j, "it is no object");
	slash = strchr(text_at(spec, "kind"), '/');
	if (!slash || slash == text_at(spec, "kind") || !slash[1])
		reject(&j, "no \"kind\" of the form VENDOR/CLASS");
	version = text_at(spec, "cdiVersion");
	if (!*version)
		reject(&j, "no \"cdiVersion\"");
	else if (sscanf(version, "%u.%u.%u%c", &part[0], &part[1], &part[2], &rest) != 3)
		reject(&j, "\"cdiVersion\" is \"%.32s\", which is no version like 0.5.0", version);
	devices = json_object_get(spec, "devices");
	if (!json_is_array(devices) || !json_array_size(devices))
		reject(&j, "no \"devices\"");
	judge_words(&j, "", spec_words, spec);
	judge_edits(&j, "", json_object_get(spec, "containerEdits"));
	for (size_t i = 0; !j.bad && i < json_array_size(devices); i++)
		judge_device(&j, devices, i);
	return !j.bad;
}
