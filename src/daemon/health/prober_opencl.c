/*
 * prober_opencl.c: the child that asks the ICD loader for OpenCL's devices (`meted --probe-opencl LIBOPENCL`).
 *
 * It loads every vendor's driver that the loader knows, in a process of its own: one that crashes or hangs is one line
 * in `mete devices`. Types are plain: meted is built without OpenCL's headers. Other layers than ours stay out of it
 * (machine_environment), and so do devices of kinds that work on nothing of their own (CL_DEVICE_TYPE_CUSTOM).
 */
#include "base/opencl_card.h"
#include "daemon/health/probe.h"

#include <dlfcn.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLATFORMS 16u
#define TYPE_ALL 0xffffffffull
#define TYPE_CUSTOM (1ull << 4)
#define PLATFORM_VERSION 0x0901u
#define DEVICE_TYPE 0x1000u
#define DEVICE_GLOBAL_MEM_SIZE 0x101fu
#define DEVICE_NAME 0x102bu
#define NOT_FOUND (-1)
#define PLATFORM_NOT_FOUND (-1001)

struct opencl {
	int (*platforms)(unsigned int most, void **ret, unsigned int *ret_count);
	int (*platform_info)(void *platform, unsigned int what, size_t size, void *value, size_t *ret_size);
	struct opencl_ask ask;
};

static bool resolve(void *library, struct opencl *o)
{
	*(void **)&o->platforms = dlsym(library, "clGetPlatformIDs");
	*(void **)&o->platform_info = dlsym(library, "clGetPlatformInfo");
	*(void **)&o->ask.device_info = dlsym(library, "clGetDeviceInfo");
	*(void **)&o->ask.device_ids = dlsym(library, "clGetDeviceIDs");
	return o->platforms && o->platform_info && o->ask.device_info && o->ask.device_ids;
}

static void add_device(const struct opencl *o, void *device, json_t *list)
{
	char name[DEVICE_NAME_BYTES] = "", text[DEVICE_UUID_TEXT];
	uint64_t type = 0, total = 0;
	uint8_t uuid[DEVICE_UUID_BYTES];

	if (o->ask.device_info(device, DEVICE_TYPE, sizeof(type), &type, NULL) || type == TYPE_CUSTOM ||
	    o->ask.device_info(device, DEVICE_GLOBAL_MEM_SIZE, sizeof(total), &total, NULL) || !total ||
	    o->ask.device_info(device, DEVICE_NAME, sizeof(name) - 1, name, NULL) ||
	    opencl_card_uuid(&o->ask, device, uuid))
		return;
	json_array_append_new(list, json_pack("{s:i s:s s:s s:I s:n}", "index", (int)json_array_size(list), "uuid",
					      device_uuid_format(uuid, text), "name", name, "total_bytes",
					      (json_int_t)total, "used_bytes"));
}

/* NULL: asked; else what is wrong. */
static json_t *ask_platforms(const struct opencl *o, json_t *answer)
{
	void *platforms[PLATFORMS], *devices[OPENCL_CARD_DEVICES];
	unsigned int count = 0, found;
	char version[80] = "";
	int r = o->platforms(PLATFORMS, platforms, &count);

	if (r == PLATFORM_NOT_FOUND || (!r && !count))
		return json_string("the OpenCL loader knows no vendor's driver; install one (an .icd file in "
				   "/etc/OpenCL/vendors)");
	if (r)
		return json_sprintf("clGetPlatformIDs fails with %d", r);
	for (unsigned int p = 0; p < count && p < PLATFORMS; p++) {
		found = 0;
		if (o->ask.device_ids(platforms[p], TYPE_ALL, OPENCL_CARD_DEVICES, devices, &found))
			continue;
		for (unsigned int i = 0; i < found && i < OPENCL_CARD_DEVICES; i++)
			add_device(o, devices[i], json_object_get(answer, "devices"));
		if (!*version && !o->platform_info(platforms[p], PLATFORM_VERSION, sizeof(version) - 1, version, NULL))
			json_object_set_new(answer, "version", json_string(version));
	}
	return NULL;
}

int prober_opencl_main(const char *libopencl)
{
	json_t *answer = json_pack("{s:[]}", "devices"), *error = NULL;
	struct opencl o = { 0 };
	void *library;

	if (!answer)
		return 1;
	if (opencl_card_is_misnamed())
		fprintf(stderr,
			"METE_OPENCL_CARD=%s in meted's environment is no GPU-UUID and names no card: write one as "
			"`mete devices` shows it\n",
			getenv("METE_OPENCL_CARD"));
	library = dlopen(*libopencl ? libopencl : "libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		error = json_sprintf("no OpenCL loader: %s", dlerror());
	else if (!resolve(library, &o))
		error = json_string("libOpenCL.so.1 is no complete ICD loader");
	else
		error = ask_platforms(&o, answer);
	prober_end(answer, error, library);
}
