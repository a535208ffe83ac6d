/* vendor.c: see vendor.h. */
#include "connect/cdi/vendor.h"

#include "connect/cdi/inside.h"

#include <errno.h>
#include <string.h>

#define VENDOR_KIND "nvidia.com/gpu"

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
		if (!json_is_array(list))
			continue;
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

/* The vendor's library moves aside, and the shim's takes its place. */
static void put_shim_in_place(json_t *edits, const struct place *place)
{
	json_t *mounts = json_object_get(edits, "mounts"), *mount, *shims = json_array();
	size_t i;

	json_array_foreach (mounts, i, mount) {
		const char *library = replaced(text_of(mount, "containerPath"));

		if (!library)
			continue;
		json_array_append_new(shims, json_pack("{s:o s:s s:[s,s,s,s]}", "hostPath",
						       json_sprintf("%s/%s.1", place->shim_dir, library),
						       "containerPath", text_of(mount, "containerPath"), "options",
						       "bind", "ro", "nosuid", "nodev"));
		json_object_set_new(mount, "containerPath", json_sprintf(INSIDE_DRIVER "/%s.1", library));
	}
	json_array_extend(mounts, shims);
	json_decref(shims);
}

json_t *vendor_edits(const struct spec_list *list, const struct place *place, const char *uuid, const char *index,
		     const char **ret_version, struct fault *f)
{
	const char *const names[] = { uuid, index };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct spec_file *file = spec_list_find(list, VENDOR_KIND, names[i], NULL);
		json_t *edits;

		if (!file)
			continue;
		edits = json_object();
		vendor_merge(edits, json_object_get(file->spec, "containerEdits"));
		vendor_merge(edits, json_object_get(spec_device(file->spec, names[i]), "containerEdits"));
		*ret_version = text_of(file->spec, "cdiVersion");
		/* The list's own entries stay as they are. */
		json_t *own = json_deep_copy(edits);

		json_decref(edits);
		put_shim_in_place(own, place);
		return own;
	}
	fault_set(f, -ENOENT,
		  "no CDI file names GPU %s (%s) as %s: make NVIDIA's first (`nvidia-ctk cdi generate "
		  "--output=/etc/cdi/nvidia.yaml`), or use a share behind a wall (--wall)",
		  index, uuid, VENDOR_KIND);
	return NULL;
}
