/* judge.c: see judge.h. */
#include "connect/cdi/judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WORDS_MOST 8
#define VERSION_KNOWN "1.1.0"

struct judging {
	char *why;
	size_t size;
	bool bad;
	bool young; /* of a version that this does not know */
	char version[32];
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

/* Of CDI's names: ASCII alone. */
static bool is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_alnum(char c)
{
	return is_alpha(c) || (c >= '0' && c <= '9');
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

		if (!w && j->young)
			reject(j,
			       "%sit is of CDI %s, and \"%.40s\" no word of " VERSION_KNOWN
			       ", the latest that this mete knows: take a younger mete, or a file of that version",
			       where, j->version, key);
		else if (!w)
			reject(j, "%s\"%.40s\" is no word of CDI, and runtimes reject the file for it", where, key);
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

/* Letters and digits, between them some marks; `first`: what it begins with. */
static bool name_fits(const char *name, size_t length, bool (*first)(char c), const char *marks)
{
	for (size_t i = 0; i < length; i++)
		if (!is_alnum(name[i]) && !strchr(marks, name[i]))
			return false;
	return length && first(name[0]) && is_alnum(name[length - 1]);
}

/* `names`: of the devices before it; this one's comes to them. */
static void judge_device(struct judging *j, json_t *device, json_t *names)
{
	const char *name = text_at(device, "name");
	char where[160];

	snprintf(where, sizeof(where), "device %.128s: ", name);
	if (!name_fits(name, strlen(name), is_alnum, "_-.:"))
		reject(j,
		       "%sa device's name has letters, digits, '_', '-', '.' and ':', and begins and ends with a "
		       "letter or digit",
		       where);
	judge_words(j, where, device_words, device);
	if (!json_object_get(device, "containerEdits"))
		reject(j, "%sno \"containerEdits\"", where);
	judge_edits(j, where, json_object_get(device, "containerEdits"));
	if (json_object_get(names, name))
		reject(j, "device %s stands there twice", name);
	json_object_set(names, name, device);
}

static void judge_kind(struct judging *j, const char *kind)
{
	const char *slash = strchr(kind, '/');

	if (!slash || slash == kind || !slash[1])
		reject(j, "no \"kind\" of the form VENDOR/CLASS");
	else if (!name_fits(kind, (size_t)(slash - kind), is_alpha, "_-.") ||
		 !name_fits(slash + 1, strlen(slash + 1), is_alpha, "_-."))
		reject(j,
		       "\"kind\" is \"%.64s\": vendor and class have letters, digits, '_', '-' and '.', begin with a "
		       "letter and end with a letter or digit",
		       kind);
}

static void judge_version(struct judging *j, const char *version)
{
	unsigned int part[3];
	char rest;

	if (!*version)
		reject(j, "no \"cdiVersion\"");
	else if (sscanf(version, "%u.%u.%u%c", &part[0], &part[1], &part[2], &rest) != 3)
		reject(j, "\"cdiVersion\" is \"%.32s\", which is no version like 0.5.0", version);
	else
		j->young = part[0] > 1 || (part[0] == 1 && part[1] > 1);
	snprintf(j->version, sizeof(j->version), "%s", version);
}

bool judge_spec(json_t *spec, char *why, size_t size)
{
	struct judging j = { .why = why, .size = size };
	json_t *devices, *names = json_object();

	if (!json_is_object(spec))
		reject(&j, "it is no object");
	judge_kind(&j, text_at(spec, "kind"));
	judge_version(&j, text_at(spec, "cdiVersion"));
	devices = json_object_get(spec, "devices");
	if (!json_is_array(devices) || !json_array_size(devices))
		reject(&j, "no \"devices\"");
	judge_words(&j, "", spec_words, spec);
	judge_edits(&j, "", json_object_get(spec, "containerEdits"));
	for (size_t i = 0; !j.bad && i < json_array_size(devices); i++)
		judge_device(&j, json_array_get(devices, i), names);
	json_decref(names);
	return !j.bad;
}
