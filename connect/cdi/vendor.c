/* vendor.c: see vendor.h. */
#include "connect/cdi/vendor.h"

#include "base/cleanup.h"
#include "connect/cdi/inside.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VENDOR_KIND "nvidia.com/gpu"
#define VENDOR_REMEDY "`nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`"
#define NAMES_MOST 4

static const char *const libraries[] = { "libcuda.so", "libnvidia-ml.so" };

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static bool listed(json_t *list, json_t *entry)
{
	json_t *there;
	size_t i;

	json_array_foreach (list, i, there)
		if (json_equal(there, entry))
			return true;
	return false;
}

void vendor_merge(json_t *to, json_t *from)
{
	json_t *list, *entry, *there;
	const char *key;
	size_t i;

	json_object_foreach (from, key, list) {
		if (!json_is_array(list)) { /* "intelRdt": of several the last one holds, as runtimes have it */
			json_object_set(to, key, list);
			continue;
		}
		there = json_object_get(to, key);
		if (!there) {
			there = json_array();
			json_object_set_new(to, key, there);
		}
		json_array_foreach (list, i, entry)
			if (!listed(there, entry))
				json_array_append(there, entry);
	}
}

/* "libcuda.so" for ".../libcuda.so.535.104.05"; NULL when it is another one. */
static const char *replaced(const char *path)
{
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; slash && i < sizeof(libraries) / sizeof(*libraries); i++) {
		size_t n = strlen(libraries[i]);

		if (!strncmp(slash + 1, libraries[i], n) && (!slash[1 + n] || slash[1 + n] == '.'))
			return libraries[i];
	}
	return NULL;
}

/* A library of 32 bits: the shim cannot stand in its place, and past the shim it shall not lead. */
static bool is_narrow(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned char head[EI_NIDENT];

	return fd >= 0 && read(fd, head, sizeof(head)) == sizeof(head) && !memcmp(head, ELFMAG, SELFMAG) &&
	       head[EI_CLASS] == ELFCLASS32;
}

static json_t *mount_new(json_t *take_source, const char *target)
{
	return json_pack("{s:o s:s s:[s,s,s,s]}", "hostPath", take_source, "containerPath", target, "options", "bind",
			 "ro", "nosuid", "nodev");
}

/*
 * The vendor's library moves aside, and the shim's takes its place. It is named there once, by however many paths the
 * vendor has it.
 */
static void put_shim_in_place(json_t *edits, const struct place *place)
{
	json_t *mounts = json_object_get(edits, "mounts"), *mount, *kept = json_array(), *shims = json_array(),
	       *aside = json_object();
	size_t i;

	json_array_foreach (mounts, i, mount) {
		const char *target = text_of(mount, "containerPath"), *library = replaced(target);

		if (!library) {
			json_array_append(kept, mount);
			continue;
		}
		if (is_narrow(text_of(mount, "hostPath")))
			continue;
		json_array_append_new(shims,
				      mount_new(json_sprintf("%s/%s.1", place->shim_dir, library), target));
		if (json_object_get(aside, library))
			continue;
		json_object_set_new(aside, library, json_true());
		json_object_set_new(mount, "containerPath", json_sprintf(INSIDE_DRIVER "/%s.1", library));
		json_array_append(kept, mount);
	}
	json_array_extend(kept, shims);
	if (mounts)
		json_object_set(edits, "mounts", kept);
	json_decref(kept);
	json_decref(shims);
	json_decref(aside);
}

/* Nothing names the GPU: why, and what to do. */
static void explain(const struct spec_list *list, const char *uuid, const char *index, struct fault *f)
{
	const struct spec_file *named = NULL, *broken = NULL;

	for (size_t i = 0; i < list->count; i++) {
		const struct spec_file *file = &list->file[i];

		if (!strcmp(text_of(file->spec, "kind"), VENDOR_KIND))
			named = file;
		else if (!file->spec && strstr(file->path, "nvidia"))
			broken = file;
	}
	if (broken)
		fault_set(f, -ENOENT, "%s: %s; make it anew: " VENDOR_REMEDY, broken->path, broken->broken);
	else if (named)
		fault_set(f, -ENOENT, "%s does not name GPU %s, by number or as %s: make it anew: " VENDOR_REMEDY,
			  named->path, index, uuid);
	else
		fault_set(f, -ENOENT,
			  "no CDI file names GPU %s (%s) as " VENDOR_KIND ": make NVIDIA's first (" VENDOR_REMEDY
			  "), or use a share behind a wall (--wall)",
			  index, uuid);
}

/* By UUID, index, or "gpu" and index, as nvidia-ctk's --device-name-strategy has it; "all" where there is one only. */
static const struct spec_file *find(const struct spec_list *list, const char *const names[NAMES_MOST],
				    const char **ret_name)
{
	for (size_t i = 0; i < NAMES_MOST && names[i]; i++) {
		const struct spec_file *file = spec_list_find(list, VENDOR_KIND, names[i], NULL);

		*ret_name = names[i];
		if (file)
			return file;
	}
	return NULL;
}

json_t *vendor_edits(const struct spec_list *list, const struct place *place, const struct vendor_gpu *gpu,
		     const char **ret_version, struct fault *f)
{
	char typed[32];
	const char *const names[NAMES_MOST] = { gpu->uuid, gpu->index, typed, gpu->alone ? "all" : NULL };
	const struct spec_file *file, *other;
	json_t *edits, *own;
	const char *name;

	snprintf(typed, sizeof(typed), "gpu%s", gpu->index);
	file = find(list, names, &name);
	if (!file) {
		explain(list, gpu->uuid, gpu->index, f);
		return NULL;
	}
	other = spec_list_rival(list, file, name);
	if (other) {
		fault_set(f, -EEXIST, VENDOR_KIND "=%s is defined in %s and in %s: runtimes find neither; remove one",
			  name, file->path, other->path);
		return NULL;
	}
	edits = json_object();
	vendor_merge(edits, json_object_get(file->spec, "containerEdits"));
	vendor_merge(edits, json_object_get(spec_device(file->spec, name), "containerEdits"));
	*ret_version = text_of(file->spec, "cdiVersion");
	/* The list's own entries stay as they are. */
	own = json_deep_copy(edits);
	json_decref(edits);
	put_shim_in_place(own, place);
	return own;
}
