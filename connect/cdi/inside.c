/* inside.c: see inside.h. */
#include "connect/cdi/inside.h"

#include "base/setting.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BIT(way) (1u << (way))
/* A face that is not CUDA's. */
#define ALONE_WAYS                                                                                                     \
	(BIT(INSIDE_HIP) | BIT(INSIDE_LEVELZERO) | BIT(INSIDE_MUSA) | BIT(INSIDE_MACA) | BIT(INSIDE_ASCEND) |          \
	 BIT(INSIDE_CAMBRICON))
#define SHIM_WAYS (BIT(INSIDE_SHIM) | BIT(INSIDE_SOFT) | BIT(INSIDE_COREX))

/* mete's folders of libraries, and in which ways each goes along. */
static const struct folder {
	const char *name;
	size_t offset; /* of its path in struct place */
	unsigned int ways;
} folders[] = {
	{ "shim", offsetof(struct place, shim_dir), SHIM_WAYS | ALONE_WAYS },
	{ "soft", offsetof(struct place, soft_dir), BIT(INSIDE_SOFT) },
	{ "runtime", offsetof(struct place, runtime_dir), BIT(INSIDE_SOFT) | BIT(INSIDE_WALL) },
	{ "fronts", offsetof(struct place, fronts_dir), BIT(INSIDE_SOFT) | BIT(INSIDE_WALL) },
	{ "remote", offsetof(struct place, remote_dir), BIT(INSIDE_WALL) },
};

/* What programs get preloaded, in this order; those that are installed. */
#define CUDA_WAYS (SHIM_WAYS | BIT(INSIDE_WALL))

static const struct library {
	const char *folder, *name;
	unsigned int ways; /* besides those of its folder */
} libraries[] = {
	/* where an image's own libcuda.so.1 is: the shim that stands there finds it so */
	{ "shim", "libmete-core.so", CUDA_WAYS | ALONE_WAYS },
	{ "shim", "libcuda.so.1", CUDA_WAYS },
	{ "shim", "libnvidia-ml.so.1", CUDA_WAYS },
	{ "shim", "libmete-hip.so", BIT(INSIDE_HIP) },
	{ "shim", "libmete-amd-smi.so", BIT(INSIDE_HIP) },
	{ "shim", "libmete-musa.so", BIT(INSIDE_MUSA) },
	{ "shim", "libmete-maca.so", BIT(INSIDE_MACA) },
	{ "shim", "libmete-ascend.so", BIT(INSIDE_ASCEND) },
	{ "shim", "libmete-cambricon.so", BIT(INSIDE_CAMBRICON) },
	/* for programs that are linked with a loader that knows no layers */
	{ "shim", INSIDE_LAYER, SHIM_WAYS | ALONE_WAYS },
	{ "remote", "libcuda.so.1", CUDA_WAYS },
	{ "remote", "libnvidia-ml.so.1", CUDA_WAYS },
	{ "runtime", "libcudart.so.13", CUDA_WAYS },
	{ "runtime", "libcudart.so.12", CUDA_WAYS },
	{ "runtime", "libcudart.so.11.0", CUDA_WAYS },
	{ "fronts", "libnvJitLink.so.13", CUDA_WAYS },
	{ "fronts", "libnvJitLink.so.12", CUDA_WAYS },
	{ "fronts", "libnvrtc.so.13", CUDA_WAYS },
	{ "fronts", "libnvrtc.so.12", CUDA_WAYS },
	{ "fronts", "libcudnn.so.9", CUDA_WAYS },
};

/* The kinds of devices, which are options as well. */
static const char *const way_words[INSIDE_WAYS] = {
	[INSIDE_SOFT] = "soft",	  [INSIDE_HIP] = "hip",	      [INSIDE_MUSA] = "musa",	       [INSIDE_MACA] = "maca",
	[INSIDE_COREX] = "corex", [INSIDE_ASCEND] = "ascend", [INSIDE_CAMBRICON] = "cambricon",
	[INSIDE_LEVELZERO] = "levelzero",
};

const char *inside_driver(enum inside_way way)
{
	return way_words[way];
}

enum inside_way inside_way_of(const char *driver)
{
	for (unsigned int way = 0; way < INSIDE_WAYS; way++)
		if (way_words[way] && !strcmp(way_words[way], driver))
			return (enum inside_way)way;
	return INSIDE_SHIM;
}

static const char *path_of(const struct place *place, const struct folder *f)
{
	return (const char *)place + f->offset;
}

static const struct folder *folder_find(const char *name)
{
	const struct folder *f = folders;

	while (strcmp(f->name, name))
		f++;
	return f;
}

json_t *inside_mounts(const struct place *place, enum inside_way way)
{
	json_t *mounts = json_array();

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (folders[i].ways & BIT(way) && *path_of(place, &folders[i]))
			json_array_append_new(mounts, json_pack("{s:s s:o s:[s,s,s,s]}", "hostPath",
								path_of(place, &folders[i]), "containerPath",
								json_sprintf(INSIDE_LIB "/%s", folders[i].name),
								"options", "rbind", "ro", "nosuid", "nodev"));
	return mounts;
}

/* Where programs that write PTX find an assembler that gives PTX back. */
static void add_assembler(const struct place *place, json_t *list)
{
	static const char *const names[] = { "TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH" };
	char path[PATH_MAX];

	if (!path_join(path, "%s/bin/ptxas", place->fronts_dir) || access(path, X_OK))
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		json_array_append_new(list, json_sprintf("%s=" INSIDE_LIB "/fronts/bin/ptxas", names[i]));
}

/* Loaders of other APIs look for layers in their environment, and nowhere else that a container's image has not. */
static void add_layers(const struct place *place, json_t *list)
{
	static const struct {
		const char *library, *settings[2];
	} layer[] = {
		{ INSIDE_LAYER, { "OPENCL_LAYERS=" INSIDE_LIB "/shim/" INSIDE_LAYER } },
		{ "libmete-vulkan.so",
		  { "METE_VULKAN=1", "XDG_DATA_DIRS=" INSIDE_LIB "/shim/data:/usr/local/share:/usr/share" } },
	};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(layer) / sizeof(*layer); i++) {
		if (!path_join(path, "%s/%s", place->shim_dir, layer[i].library) || access(path, R_OK))
			continue;
		for (size_t k = 0; k < 2 && layer[i].settings[k]; k++)
			json_array_append_new(list, json_string(layer[i].settings[k]));
	}
}

json_t *inside_environment(const struct place *place, enum inside_way way, bool soft)
{
	json_t *list = json_array();

	if (soft)
		add_assembler(place, list);
	if (folder_find("shim")->ways & BIT(way))
		add_layers(place, list);
	if (way == INSIDE_LEVELZERO)
		json_array_append_new(
			list, json_string("ZE_ENABLE_ALT_DRIVERS=" INSIDE_LIB "/shim/" INSIDE_LEVELZERO_FACE));
	if (json_array_size(list))
		return list;
	json_decref(list);
	return NULL;
}

json_t *inside_settings(enum inside_way way, bool spill)
{
	static const char *const texts[] = {
		[INSIDE_SHIM] = "METE_SOCKET=" SETTING_DIR "/grant.sock\nMETE_DRIVER=" INSIDE_DRIVER
				"/libcuda.so.1\nMETE_NVML=" INSIDE_DRIVER "/libnvidia-ml.so.1\n",
		[INSIDE_SOFT] = "METE_SOCKET=" SETTING_DIR "/grant.sock\nMETE_DRIVER=" INSIDE_LIB
				"/soft/libcuda.so.1\nMETE_NVML=" INSIDE_LIB "/soft/libnvidia-ml.so.1\n",
		[INSIDE_WALL] = "METE_REMOTE=" SETTING_DIR "/wall.sock\n",
		[INSIDE_HIP] = "METE_SOCKET=" SETTING_DIR "/grant.sock\n",
		[INSIDE_MUSA] = "METE_SOCKET=" SETTING_DIR "/grant.sock\n",
		[INSIDE_MACA] = "METE_SOCKET=" SETTING_DIR "/grant.sock\n",
		[INSIDE_COREX] = "METE_SOCKET=" SETTING_DIR "/grant.sock\nMETE_DRIVER=" INSIDE_COREX_LIB
				 "/libcuda.so.1\nMETE_NVML=" INSIDE_COREX_LIB "/libixml.so\n",
		[INSIDE_ASCEND] = "METE_SOCKET=" SETTING_DIR "/grant.sock\n",
		[INSIDE_CAMBRICON] = "METE_SOCKET=" SETTING_DIR "/grant.sock\n",
		[INSIDE_LEVELZERO] = "METE_SOCKET=" SETTING_DIR "/grant.sock\n",
	};

	/* Behind a wall it is the worker's memory, and meted tells the worker. */
	return json_sprintf("%s%s", texts[way], spill && way != INSIDE_WALL ? "METE_SPILL=1\n" : "");
}

const char *inside_library_dir(const struct place *place, enum inside_way way)
{
	return way == INSIDE_WALL ? place->remote_dir : place->shim_dir;
}

/* The runtime library, and the fronts that are built as it is, where the image can load them. */
static bool goes_along(const struct library *l, const struct inside_parts *parts)
{
	if (!strcmp(l->folder, "fronts"))
		return parts->runtime && parts->soft;
	return parts->runtime || strcmp(l->folder, "runtime");
}

bool inside_preload(const struct place *place, enum inside_way way, const struct inside_parts *parts, const char *own,
		    char *text, size_t size)
{
	char path[PATH_MAX];
	size_t used = 0;

	*text = 0;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		const struct library *l = &libraries[i];
		const struct folder *f = folder_find(l->folder);

		if (!(f->ways & l->ways & BIT(way)) || !goes_along(l, parts) ||
		    !path_join(path, "%s/%s", path_of(place, f), l->name) || access(path, R_OK))
			continue;
		used += (size_t)snprintf(text + used, size - used, INSIDE_LIB "/%s/%s\n", l->folder, l->name);
		if (used >= size)
			return false;
	}
	used += (size_t)snprintf(text + used, size - used, "%s", own);
	return used < size;
}

int inside_judge(const struct place *place, enum inside_way way, const struct image *im, bool *ret_runtime,
		 struct fault *f)
{
	static const char *const faces[INSIDE_WAYS] = { [INSIDE_HIP] = "libmete-hip.so",
							[INSIDE_MUSA] = "libmete-musa.so",
							[INSIDE_MACA] = "libmete-maca.so",
							[INSIDE_LEVELZERO] = INSIDE_LEVELZERO_FACE,
							[INSIDE_ASCEND] = "libmete-ascend.so",
							[INSIDE_CAMBRICON] = "libmete-cambricon.so" };
	char first[PATH_MAX], driver[PATH_MAX], runtime[PATH_MAX];
	const char *alone = faces[way];
	struct image_parts parts = { .first = first };

	path_join(first, "%s/%s", inside_library_dir(place, way), alone ? alone : "libcuda.so.1");
	if (way == INSIDE_SOFT && path_join(driver, "%s/libcuda.so.1", place->soft_dir))
		parts.driver = driver;
	if ((way == INSIDE_SOFT || way == INSIDE_WALL) && *place->runtime_dir &&
	    path_join(runtime, "%s/libcudart.so.13", place->runtime_dir))
		parts.runtime = runtime;
	return image_judge(im, &parts, ret_runtime, f);
}
