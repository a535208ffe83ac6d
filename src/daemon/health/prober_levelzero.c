/*
 * prober_levelzero.c: the child that asks Level Zero's loader for devices (`meted --probe-levelzero LIBZE`).
 *
 * It loads every driver that the loader knows, in a process of its own. Devices that are no GPU (processors, FPGAs,
 * neural units) are left out. Each tile is a device where the driver says so (ZE_FLAT_DEVICE_HIERARCHY of meted's
 * environment).
 */
#include "daemon/health/probe.h"
#include "levelzero/ze_types.h"

#include <dlfcn.h>
#include <jansson.h>
#include <string.h>

#define DRIVERS 16u
#define DEVICES 64u
#define MEMORIES 16u

struct levelzero {
	ze_result_t (*init)(uint32_t flags);
	ze_result_t (*drivers)(uint32_t *count, ze_driver_handle_t *ret);
	ze_result_t (*version)(ze_driver_handle_t driver, uint32_t *ret);
	ze_result_t (*devices)(ze_driver_handle_t driver, uint32_t *count, ze_device_handle_t *ret);
	ze_result_t (*properties)(ze_device_handle_t device, ze_device_properties_t *ret);
	ze_result_t (*memories)(ze_device_handle_t device, uint32_t *count, ze_device_memory_properties_t *ret);
};

static bool resolve(void *library, struct levelzero *l)
{
	*(void **)&l->init = dlsym(library, "zeInit");
	*(void **)&l->drivers = dlsym(library, "zeDriverGet");
	*(void **)&l->version = dlsym(library, "zeDriverGetApiVersion");
	*(void **)&l->devices = dlsym(library, "zeDeviceGet");
	*(void **)&l->properties = dlsym(library, "zeDeviceGetProperties");
	*(void **)&l->memories = dlsym(library, "zeDeviceGetMemoryProperties");
	return l->init && l->drivers && l->version && l->devices && l->properties && l->memories;
}

/* A card may list several memories. 0: it does not say. */
static uint64_t total_of(const struct levelzero *l, ze_device_handle_t device)
{
	ze_device_memory_properties_t p[MEMORIES];
	uint32_t count = MEMORIES;
	uint64_t total = 0;

	for (uint32_t i = 0; i < MEMORIES; i++)
		p[i] = (ze_device_memory_properties_t){ .stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES };
	if (l->memories(device, &count, p) != ZE_RESULT_SUCCESS)
		return 0;
	for (uint32_t i = 0; i < count && i < MEMORIES; i++)
		total += p[i].totalSize;
	return total;
}

static void add_device(const struct levelzero *l, ze_device_handle_t device, json_t *list)
{
	static const uint8_t none[DEVICE_UUID_BYTES];
	ze_device_properties_t p = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
	char name[DEVICE_NAME_BYTES], text[DEVICE_UUID_TEXT];
	uint64_t total;

	if (l->properties(device, &p) != ZE_RESULT_SUCCESS || p.type != ZE_DEVICE_TYPE_GPU ||
	    !memcmp(p.uuid, none, sizeof(none)))
		return;
	total = total_of(l, device);
	if (!total)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)sizeof(name) - 1, p.name);
	json_array_append_new(list, json_pack("{s:i s:s s:s s:I s:n}", "index", (int)json_array_size(list), "uuid",
					      device_uuid_format(p.uuid, text), "name", name, "total_bytes",
					      (json_int_t)total, "used_bytes"));
}

/* NULL: asked; else what is wrong. */
static json_t *ask_drivers(const struct levelzero *l, json_t *answer)
{
	ze_driver_handle_t drivers[DRIVERS];
	ze_device_handle_t devices[DEVICES];
	uint32_t count = DRIVERS, found, version = 0;
	ze_result_t r = l->init(0);

	if (r == ZE_RESULT_SUCCESS)
		r = l->drivers(&count, drivers);
	if (r == ZE_RESULT_ERROR_UNINITIALIZED || (r == ZE_RESULT_SUCCESS && !count))
		return json_string(
			"the Level Zero loader finds no driver that starts; where Intel's cards are, install its "
			"compute runtime");
	if (r != ZE_RESULT_SUCCESS)
		return json_sprintf("Level Zero's initialisation fails with 0x%x", (unsigned int)r);
	for (uint32_t i = 0; i < count && i < DRIVERS; i++) {
		if (!i && l->version(drivers[i], &version) == ZE_RESULT_SUCCESS)
			json_object_set_new(answer, "version",
					    json_sprintf("Level Zero %u.%u", version >> 16, version & 0xffff));
		found = DEVICES;
		if (l->devices(drivers[i], &found, devices) != ZE_RESULT_SUCCESS)
			continue;
		for (uint32_t k = 0; k < found && k < DEVICES; k++)
			add_device(l, devices[k], json_object_get(answer, "devices"));
	}
	return NULL;
}

int prober_levelzero_main(const char *libze)
{
	json_t *answer = json_pack("{s:[]}", "devices"), *error = NULL;
	struct levelzero l = { 0 };
	void *library;

	if (!answer)
		return 1;
	library = dlopen(*libze ? libze : "libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		error = json_sprintf("no Level Zero loader: %s", dlerror());
	else if (!resolve(library, &l))
		error = json_string("libze_loader.so.1 is no complete loader of Level Zero");
	else
		error = ask_drivers(&l, answer);
	prober_end(answer, error, library);
}
