/* bundle.c: see bundle.h. */
#include "connect/cdi/bundle.h"

#include "verb/choose.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define NOTE "mete.io/edits" /* the annotation: an object of what is at which path, as text */
#define USUAL_ACCESS "rwm"   /* CDI's, where a device node says nothing */

/* What stands at a path of keys like "linux/resources/devices"; with make, objects on the way are made. Borrowed. */
static json_t *parent_at(json_t *config, const char *path, bool make, const char **ret_key)
{
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(path, '/')) {
		char key[64];
		json_t *inner;

		snprintf(key, sizeof(key), "%.*s", (int)(slash - path), path);
		inner = json_object_get(config, key);
		if (!json_is_object(inner)) {
			if (!make)
				return NULL;
			inner = json_object();
			json_object_set_new(config, key, inner);
		}
		config = inner;
		path = slash + 1;
	}
	*ret_key = path;
	return config;
}

static void take_one(json_t *list, json_t *entry)
{
	for (size_t i = json_array_size(list); i--;)
		if (json_equal(json_array_get(list, i), entry)) {
			json_array_remove(list, i);
			return;
		}
}

void bundle_take_out(json_t *config)
{
	json_t *annotations = json_object_get(config, "annotations"), *note, *added, *entry;
	const char *path, *key = NULL;
	size_t i;

	note = json_loads(device_text(annotations, NOTE), 0, NULL);
	json_object_foreach (note, path, added) {
		json_t *parent = parent_at(config, path, false, &key), *there = json_object_get(parent, key);

		if (json_is_array(added))
			json_array_foreach (added, i, entry)
				take_one(there, entry);
		else if (there && json_equal(there, added))
			json_object_del(parent, key);
		if (json_is_array(there) && !json_array_size(there))
			json_object_del(parent, key);
	}
	json_object_del(annotations, NOTE);
	json_decref(note);
}

/* Notes an entry for the list at a path; takes it. */
static void note_entry(json_t *note, const char *path, json_t *take_entry)
{
	json_t *list = json_object_get(note, path);

	if (!list) {
		list = json_array();
		json_object_set_new(note, path, list);
	}
	json_array_append_new(list, take_entry);
}

static void note_mounts(json_t *note, json_t *edits)
{
	json_t *mount;
	size_t i;

	json_array_foreach (json_object_get(edits, "mounts"), i, mount) {
		const char *type = device_text(mount, "type");

		note_entry(note, "mounts",
			   json_pack("{s:s s:s s:s s:O*}", "destination", device_text(mount, "containerPath"), "type",
				     *type ? type : "bind", "source", device_text(mount, "hostPath"), "options",
				     json_object_get(mount, "options")));
	}
}

static void note_hooks(json_t *note, json_t *edits)
{
	json_t *hook, *one;
	char path[64];
	size_t i;

	json_array_foreach (json_object_get(edits, "hooks"), i, hook) {
		one = json_copy(hook);
		json_object_del(one, "hookName");
		snprintf(path, sizeof(path), "hooks/%s", device_text(hook, "hookName"));
		note_entry(note, path, one);
	}
}

static void note_texts(json_t *note, const char *path, json_t *list)
{
	json_t *entry;
	size_t i;

	json_array_foreach (list, i, entry)
		note_entry(note, path, json_incref(entry));
}

static const char *node_type(const struct stat *st)
{
	return S_ISCHR(st->st_mode) ? "c" : S_ISBLK(st->st_mode) ? "b" : NULL;
}

/* A device node, and the right to use it. */
static int note_node(json_t *note, json_t *node, struct fault *f)
{
	static const char *const same[] = { "fileMode", "uid", "gid" };
	const char *path = device_text(node, "path"), *host = device_text(node, "hostPath"),
		   *access = device_text(node, "permissions");
	json_t *device;
	struct stat st;

	host = *host ? host : path;
	if (stat(host, &st) || !node_type(&st))
		return fault_set(f, -ENODEV,
				 "%s, which NVIDIA's CDI file names, is no device here: make that file anew", host);
	device = json_pack("{s:s s:s s:I s:I}", "path", path, "type", node_type(&st), "major",
			   (json_int_t)major(st.st_rdev), "minor", (json_int_t)minor(st.st_rdev));
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		if (json_object_get(node, same[i]))
			json_object_set(device, same[i], json_object_get(node, same[i]));
	note_entry(note, "linux/devices", device);
	note_entry(note, "linux/resources/devices",
		   json_pack("{s:b s:s s:I s:I s:s}", "allow", 1, "type", node_type(&st), "major",
			     (json_int_t)major(st.st_rdev), "minor", (json_int_t)minor(st.st_rdev), "access",
			     *access ? access : USUAL_ACCESS));
	return 0;
}

static void apply(json_t *config, json_t *note)
{
	const char *path, *key = NULL;
	json_t *added;

	json_object_foreach (note, path, added) {
		json_t *parent = parent_at(config, path, true, &key), *there = json_object_get(parent, key);

		if (json_is_array(added) && json_is_array(there))
			json_array_extend(there, added);
		else
			json_object_set_new(parent, key, json_deep_copy(added));
	}
}

int bundle_put(json_t *config, json_t *edits, struct fault *f)
{
	json_t *note = json_object(), *node, *annotations;
	const char *key = NULL;
	int r = 0;
	size_t i;

	note_mounts(note, edits);
	note_hooks(note, edits);
	note_texts(note, "process/env", json_object_get(edits, "env"));
	note_texts(note, "process/user/additionalGids", json_object_get(edits, "additionalGids"));
	if (json_object_get(edits, "intelRdt"))
		json_object_set(note, "linux/intelRdt", json_object_get(edits, "intelRdt"));
	json_array_foreach (json_object_get(edits, "deviceNodes"), i, node)
		r = r ? r : note_node(note, node, f);
	if (!r) {
		char *text = json_dumps(note, JSON_COMPACT);

		apply(config, note);
		annotations = parent_at(config, "annotations/", true, &key);
		json_object_set_new(annotations, NOTE, json_string(text));
		free(text);
	}
	json_decref(note);
	return r;
}
