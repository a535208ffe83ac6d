/*
 * prober.c: the child that asks one driver for its devices (`meted --probe LIBNVML LIBCUDA`).
 *
 * NVML first: it answers without making a context and within milliseconds. Without it the driver API itself is asked,
 * which also makes no context. The functions' types are written from their public documentation. Hardware partitions
 * (MIG) are not listed one by one.
 */
#include "daemon/health/probe.h"
#include "daemon/health/own_library.h"
#include "daemon/health/sensors.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <jansson.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct nvml_memory {
	unsigned long long total, free, used;
};

/* Since NVML 11.4: what the driver keeps for itself apart, so that total - reserved is what programs can have. */
struct nvml_memory_v2 {
	unsigned int version;
	unsigned long long total, reserved, free, used;
};

#define NVML_ERROR_GPU_IS_LOST 15 /* of a device that cannot be reached any more; the others can */

#define NVML_MEMORY_V2 ((unsigned int)(sizeof(struct nvml_memory_v2) | 2u << 24))

struct nvml {
	int (*init)(void);
	int (*shutdown)(void);
	int (*count)(unsigned int *);
	int (*by_index)(unsigned int, void **);
	int (*uuid)(void *, char *, unsigned int);
	int (*name)(void *, char *, unsigned int);
	int (*memory)(void *, struct nvml_memory *);
	int (*memory_v2)(void *, struct nvml_memory_v2 *); /* may be NULL */
	int (*version)(char *, unsigned int);
	const char *(*error)(int);
	struct sensor_calls sensors;
};

/* Where drivers are installed that the loader's cache does not know of: containers, WSL, NixOS. */
static const char *const places[] = {
	"/usr/local/nvidia/lib64",
	"/usr/local/nvidia/lib",
	"/usr/lib/wsl/lib",
	"/run/opengl-driver/lib",
	"/usr/lib/x86_64-linux-gnu/nvidia/current",
	"/usr/lib/x86_64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
	"/usr/lib64",
};

/* What is searched for is a vendor's: of ours there may be one where the linker looks, and then it is met twice. */
static void *load_foreign(const char *name, char *why, size_t size)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	struct link_map *map = NULL;
	const char *own;

	if (!library) {
		snprintf(why, size, "%s", dlerror());
		return NULL;
	}
	own = dlinfo(library, RTLD_DI_LINKMAP, &map) || !map ? NULL : own_library(map);
	if (!own)
		return library;
	snprintf(why, size,
		 "%s is %s of mete, not a vendor's driver: take its folder out of meted's library path "
		 "(LD_LIBRARY_PATH, /etc/ld.so.conf)",
		 map->l_name, own);
	dlclose(library);
	return NULL;
}

/* The library at `path`, or where the loader or we know to look. What went wrong first stays in `why`. */
static void *load(const char *path, const char *soname, char *why, size_t size)
{
	char tried[256], later[512];
	void *library;

	if (*path) {
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!library)
			snprintf(why, size, "%s", dlerror());
		return library;
	}
	library = load_foreign(soname, why, size);
	for (size_t i = 0; !library && i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(tried, sizeof(tried), "%s/%s", places[i], soname);
		library = load_foreign(tried, later, sizeof(later));
	}
	return library;
}

static void note_file(void *library, json_t *answer, const char *field)
{
	struct link_map *map = NULL;
	char *real;

	if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) || !map || !map->l_name[0])
		return;
	real = realpath(map->l_name, NULL);
	json_object_set_new(answer, field, json_string(real ? real : map->l_name));
	free(real);
}

/* Opens a library and notes its file in the answer. */
static void *open_library(const char *path, const char *soname, json_t *answer, const char *field, char *why,
			  size_t size)
{
	void *library = load(path, soname, why, size);

	note_file(library, answer, field);
	return library;
}

static void add_device(json_t *answer, unsigned int index, const char *uuid, const char *name, uint64_t total,
		       json_t *used)
{
	json_t *list = json_object_get(answer, "devices");

	json_array_append_new(list, json_pack("{s:i s:s s:s s:I s:o}", "index", (int)index, "uuid", uuid, "name", name,
					      "total_bytes", (json_int_t)total, "used_bytes", used));
}

static int set_error(json_t *answer, const char *what, const char *why)
{
	json_object_set_new(answer, "error", json_sprintf("%s: %s", what, why));
	return -1;
}

static bool nvml_resolve(void *library, struct nvml *n)
{
	const struct {
		const char *name;
		void **to;
	} wanted[] = {
		{ "nvmlInit_v2", (void **)&n->init },
		{ "nvmlShutdown", (void **)&n->shutdown },
		{ "nvmlDeviceGetCount_v2", (void **)&n->count },
		{ "nvmlDeviceGetHandleByIndex_v2", (void **)&n->by_index },
		{ "nvmlDeviceGetUUID", (void **)&n->uuid },
		{ "nvmlDeviceGetName", (void **)&n->name },
		{ "nvmlDeviceGetMemoryInfo", (void **)&n->memory },
		{ "nvmlSystemGetDriverVersion", (void **)&n->version },
		{ "nvmlErrorString", (void **)&n->error },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		*wanted[i].to = dlsym(library, wanted[i].name);
		if (!*wanted[i].to)
			return false;
	}
	*(void **)&n->memory_v2 = dlsym(library, "nvmlDeviceGetMemoryInfo_v2");
	sensor_calls_find(library, &n->sensors);
	return true;
}

/* What it says of itself. The answer may take a sixth of a second, the shortest time that NVML has a utilisation of. */
static json_t *read_sensors(const struct nvml *n, unsigned int index)
{
	char uuid[96] = "";
	struct sensor_reading reading;
	json_t *said;
	void *handle;

	if (n->by_index(index, &handle) || n->uuid(handle, uuid, sizeof(uuid)))
		return NULL;
	said = json_pack("{s:s}", "uuid", uuid);
	sensors_read(&n->sensors, handle, &reading);
	for (unsigned int i = 0; i < SENSORS; i++)
		if (reading.known[i])
			json_object_set_new(said, sensor_key((enum sensor)i),
					    json_integer((json_int_t)reading.value[i]));
	return said;
}

static int nvml_device(const struct nvml *n, unsigned int index, json_t *answer)
{
	struct nvml_memory_v2 v2 = { .version = NVML_MEMORY_V2 };
	struct nvml_memory v1;
	char uuid[96] = "", name[96] = "";
	void *handle;
	int r;

	r = n->by_index(index, &handle);
	if (!r)
		r = n->uuid(handle, uuid, sizeof(uuid));
	if (!r)
		r = n->name(handle, name, sizeof(name));
	if (!r && n->memory_v2 && !n->memory_v2(handle, &v2) && v2.reserved < v2.total) {
		add_device(answer, index, uuid, name, v2.total - v2.reserved, json_integer((json_int_t)v2.used));
		return 0;
	}
	if (!r)
		r = n->memory(handle, &v1);
	if (!r)
		add_device(answer, index, uuid, name, v1.total, json_integer((json_int_t)v1.used));
	return r;
}

/* 0: answered; -1: the library cannot be used this way, ask the driver API. */
static int ask_nvml(const struct nvml *n, json_t *answer)
{
	unsigned int count = 0;
	char version[80] = "";
	int r;

	if (n->init())
		return -1;
	r = n->count(&count);
	for (unsigned int i = 0; !r && i < count; i++) {
		r = nvml_device(n, i, answer);
		if (r != NVML_ERROR_GPU_IS_LOST)
			continue;
		json_array_append_new(json_object_get(answer, "devices"),
				      json_pack("{s:i s:b}", "index", (int)i, "lost", 1));
		r = 0;
	}
	if (!r && !n->version(version, sizeof(version)))
		json_object_set_new(answer, "version", json_string(version));
	if (r)
		n->shutdown();
	if (r)
		json_array_clear(json_object_get(answer, "devices"));
	return r ? -1 : 0;
}

struct cuda {
	int (*init)(unsigned int);
	int (*version)(int *);
	int (*count)(int *);
	int (*device)(int *, int);
	int (*uuid)(unsigned char *, int);
	int (*name)(char *, int, int);
	int (*total)(size_t *, int);
	int (*error)(int, const char **);
};

static bool cuda_resolve(void *library, struct cuda *c)
{
	const struct {
		const char *name;
		void **to;
	} wanted[] = {
		{ "cuInit", (void **)&c->init },
		{ "cuDriverGetVersion", (void **)&c->version },
		{ "cuDeviceGetCount", (void **)&c->count },
		{ "cuDeviceGet", (void **)&c->device },
		{ "cuDeviceGetUuid", (void **)&c->uuid },
		{ "cuDeviceGetName", (void **)&c->name },
		{ "cuDeviceTotalMem_v2", (void **)&c->total },
		{ "cuGetErrorString", (void **)&c->error },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		*wanted[i].to = dlsym(library, wanted[i].name);
		if (!*wanted[i].to)
			return false;
	}
	return true;
}

static int cuda_error(const struct cuda *c, json_t *answer, const char *what, int r)
{
	const char *text = NULL;

	if (c->error(r, &text) || !text)
		text = "unknown error";
	json_object_set_new(answer, "error", json_sprintf("%s fails with %d (%s)", what, r, text));
	return -1;
}

static int cuda_device(const struct cuda *c, int index, json_t *answer)
{
	unsigned char uuid[DEVICE_UUID_BYTES];
	char name[DEVICE_NAME_BYTES] = "", text[DEVICE_UUID_TEXT];
	size_t total = 0;
	int device, r;

	r = c->device(&device, index);
	if (!r)
		r = c->uuid(uuid, device);
	if (!r)
		r = c->name(name, sizeof(name), device);
	if (!r)
		r = c->total(&total, device);
	if (r)
		return cuda_error(c, answer, "asking a device", r);
	add_device(answer, (unsigned int)index, device_uuid_format(uuid, text), name, total, json_null());
	return 0;
}

static int ask_cuda(void *library, json_t *answer)
{
	struct cuda c;
	int count = 0, version = 0, r;

	if (!cuda_resolve(library, &c))
		return set_error(answer, "libcuda.so.1",
				 "it is no complete driver library (perhaps a stub for linking)");
	r = c.init(0);
	if (r)
		return cuda_error(&c, answer, "cuInit", r);
	r = c.count(&count);
	if (r)
		return cuda_error(&c, answer, "cuDeviceGetCount", r);
	if (!c.version(&version))
		json_object_set_new(answer, "version", json_sprintf("CUDA %d.%d", version / 1000, version % 1000 / 10));
	for (int i = 0; i < count; i++)
		if (cuda_device(&c, i, answer))
			return -1;
	return 0;
}

static int out = STDOUT_FILENO;

/* A vendor's library may print what it likes: that goes to the log, and the answer past it. */
void prober_begin(void)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (fd >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		out = fd;
}

static void print_line(const json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);

	if (text)
		dprintf(out, "%s\n", text);
	free(text);
}

/* A second line: whoever wants to know the devices does not wait for it. */
static void print_sensors(const struct nvml *n, unsigned int count)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < count; i++) {
		json_t *said = read_sensors(n, i);

		if (said)
			json_array_append_new(list, said);
	}
	print_line(list);
	json_decref(list);
}

_Noreturn void prober_end(json_t *answer, json_t *error, void *library)
{
	note_file(library, answer, "libcuda");
	if (error)
		json_object_set_new(answer, "error", error);
	print_line(answer);
	_exit(0);
}

int prober_main(const char *libnvml, const char *libcuda)
{
	json_t *answer = json_pack("{s:[]}", "devices");
	char why[512] = "";
	struct nvml calls = { 0 };
	bool said = false;
	void *nvml, *cuda;

	if (!answer)
		return 1;
	setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1); /* NVML's order, and that of the vendor's tools */
	cuda = open_library(libcuda, "libcuda.so.1", answer, "libcuda", why, sizeof(why));
	if (!cuda) {
		set_error(answer, "no driver", why);
	} else {
		nvml = NULL;
		if (*libnvml || !*libcuda)
			nvml = open_library(libnvml, "libnvidia-ml.so.1", answer, "libnvml", why, sizeof(why));
		said = nvml && nvml_resolve(nvml, &calls) && !ask_nvml(&calls, answer);
		if (!said)
			ask_cuda(cuda, answer);
	}
	/* Each line is written in one go; a library's exit handlers are not run. */
	print_line(answer);
	if (said)
		print_sensors(&calls, (unsigned int)json_array_size(json_object_get(answer, "devices")));
	json_decref(answer);
	_exit(0);
}
