/*
 * doctor_cdi.c: the checks of `mete doctor` that are about CDI files: can runtimes read them, do they say what this
 * machine is now, are the grants there that they name, and the files that containers stand on.
 */
#include "verb/choose.h"
#include "client/grants.h"
#include "connect/cdi/generate.h"
#include "connect/cdi/connector.h"
#include "connect/cdi/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK "containers"
#define VENDOR_KIND "nvidia.com/gpu"
#define AGAIN "`mete cdi generate`; containers that run keep what they have"

struct checking {
	struct doctor *doctor;
	struct spec_list list;
	json_t *grants; /* meted's; owned */
	size_t ours, trouble;
};

static bool is_kind(const struct spec_file *file, const char *kind)
{
	return !strcmp(device_text(file->spec, "kind"), kind);
}

static bool is_ours(const struct spec_file *file)
{
	return !strncmp(device_text(file->spec, "kind"), "mete.io/", 8);
}

static void say_broken(struct checking *c)
{
	for (size_t i = 0; i < c->list.count; i++) {
		const struct spec_file *file = &c->list.file[i];

		if (file->spec)
			continue;
		c->trouble++;
		doctor_add(c->doctor, CHECK, STATUS_WARNING,
			   "mend or remove it: runtimes find nothing of what is in it", "%s: %s", file->path,
			   file->broken);
	}
}

static void say_rivals(struct checking *c)
{
	json_t *device;
	size_t k;

	for (size_t i = 0; i < c->list.count; i++) {
		const struct spec_file *file = &c->list.file[i];

		json_array_foreach (json_object_get(file->spec, "devices"), k, device) {
			const char *name = device_text(device, "name");
			const struct spec_file *rival = spec_list_rival(&c->list, file, name);

			if (rival <= file)
				continue;
			c->trouble++;
			doctor_add(c->doctor, CHECK, STATUS_WARNING, "remove one of them: runtimes find neither",
				   "%s=%s is defined in %s and in %s", device_text(file->spec, "kind"), name,
				   file->path, rival->path);
		}
	}
}

/* The first path of the edits that is not as it must be; NULL: all are there. */
static const char *missing_in(json_t *edits)
{
	static const struct {
		const char *list, *key;
		int access;
	} parts[] = { { "mounts", "hostPath", F_OK }, { "hooks", "path", X_OK } };
	json_t *entry;
	size_t k;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		json_array_foreach (json_object_get(edits, parts[i].list), k, entry) {
			const char *path = device_text(entry, parts[i].key);

			/* What others may not look at is not missing. */
			if (access(path, parts[i].access) && (errno == ENOENT || !geteuid()))
				return path;
		}
	return NULL;
}

static const char *missing_of(const struct spec_file *file)
{
	const char *path = missing_in(json_object_get(file->spec, "containerEdits"));
	json_t *device;
	size_t i;

	json_array_foreach (json_object_get(file->spec, "devices"), i, device)
		path = path ? path : missing_in(json_object_get(device, "containerEdits"));
	return path;
}

/* Value: something is missing, and was said. */
static bool say_missing(struct checking *c, const struct spec_file *file)
{
	const char *path = is_ours(file) || is_kind(file, VENDOR_KIND) ? missing_of(file) : NULL;

	if (!path)
		return false;
	c->trouble++;
	doctor_add(c->doctor, CHECK, STATUS_WARNING,
		   is_ours(file) ? AGAIN
				 : "make NVIDIA's file anew (nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml), "
				   "then `mete cdi generate`",
		   "%s names %s, which is not there or cannot be run", file->path, path);
	return true;
}

static bool has_soft(json_t *spec)
{
	char *text = json_dumps(spec, JSON_COMPACT);
	bool has = text && strstr(text, "\"--soft\"");

	free(text);
	return has;
}

/* A device that two files say otherwise, or that only one has; "" when they agree. */
static const char *difference(json_t *a, json_t *b)
{
	json_t *device;
	size_t i;

	json_array_foreach (json_object_get(a, "devices"), i, device) {
		const char *name = device_text(device, "name");

		if (!json_equal(device, spec_device(b, name)))
			return name;
	}
	json_array_foreach (json_object_get(b, "devices"), i, device)
		if (!spec_device(a, device_text(device, "name")))
			return device_text(device, "name");
	return "";
}

/* What stands in the file against what would be written now. */
static void say_stale(struct checking *c, const struct spec_file *file)
{
	const char *kind = device_text(file->spec, "kind"), *name;
	struct fault f = { .text = "" };
	json_t *now;

	if (generate_now(kind, has_soft(file->spec), &now, &f)) {
		c->trouble++;
		doctor_add(c->doctor, CHECK, STATUS_WARNING, AGAIN ", when that is mended", "%s: %s", file->path,
			   f.text);
		return;
	}
	name = difference(file->spec, now);
	if (*name) {
		c->trouble++;
		doctor_add(c->doctor, CHECK, STATUS_WARNING, AGAIN ", with the --shares or --soft that it had",
			   "%s is not what this machine is now: %s=%s", file->path, kind, name);
	}
	json_decref(now);
}

static bool has_grant(const struct checking *c, const char *name)
{
	json_t *grant;
	size_t i;

	json_array_foreach (c->grants, i, grant)
		if (!strcmp(device_text(grant, "name"), name))
			return true;
	return false;
}

static void say_gone(struct checking *c, const struct spec_file *file)
{
	json_t *device;
	size_t i;

	json_array_foreach (json_object_get(file->spec, "devices"), i, device)
		if (!has_grant(c, device_text(device, "name"))) {
			c->trouble++;
			doctor_add(c->doctor, CHECK, STATUS_WARNING, "`mete cdi remove` with that name",
				   "%s leads to grant %s, which this meted does not have", file->path,
				   device_text(device, "name"));
		}
}

/* What a container that runs stands on: its grant's folder. Others than root may not look. */
static void say_folder(struct checking *c, json_t *grant)
{
	static const char *const names[] = { "settings", "preload" };
	json_t *container = json_object_get(grant, "container");
	const char *folder = device_text(container, "folder");
	bool runs = json_is_integer(json_object_get(grant, "runner_pid"));
	char path[PATH_MAX];

	if (!*folder || access(folder, X_OK))
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (runs && path_join(path, "%s/%s", folder, names[i]) && access(path, F_OK)) {
			c->trouble++;
			doctor_add(c->doctor, CHECK, STATUS_WARNING,
				   "start the container anew: programs that begin in it now are without their share",
				   "%s, on which the container of grant %s stands, is gone", path,
				   device_text(grant, "name"));
		}
}

static void check_all(struct checking *c)
{
	json_t *grant;
	size_t i;

	say_broken(c);
	say_rivals(c);
	for (i = 0; i < c->list.count; i++) {
		const struct spec_file *file = &c->list.file[i];

		c->ours += file->spec && is_ours(file);
		if (!file->spec || say_missing(c, file))
			continue;
		if (is_kind(file, SPEC_DEVICE_KIND) || is_kind(file, SPEC_SHARE_KIND))
			say_stale(c, file);
		if (is_kind(file, SPEC_GRANT_KIND))
			say_gone(c, file);
	}
	json_array_foreach (c->grants, i, grant)
		say_folder(c, grant);
}

void doctor_check_containers(struct doctor *d)
{
	struct control control = CONTROL_CLOSED;
	struct checking c = { .doctor = d };
	struct fault f = { .text = "" };

	if (spec_list_read(&c.list, NULL, &f))
		doctor_add(d, CHECK, STATUS_WARNING, "run this as root, or mend the folder", "%s", f.text);
	else if (!control_open(&control, CONTROL_START, &f) && !grants_get(&control, NULL, &c.grants, &f))
		check_all(&c);
	if (!c.trouble && !c.ours)
		doctor_add(d, CHECK, STATUS_NOTE,
			   "`mete cdi generate` makes them for this machine's devices and shares",
			   "no CDI files of mete in " SPEC_STATIC_DIR " and " SPEC_DYNAMIC_DIR);
	else if (!c.trouble)
		doctor_add(d, CHECK, STATUS_OK, NULL, "%zu CDI files of mete, as this machine is now", c.ours);
	json_decref(c.grants);
	control_close(&control);
	spec_list_free(&c.list);
}
