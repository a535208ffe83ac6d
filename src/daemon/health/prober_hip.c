/*
 * prober_hip.c: the child that asks AMD's library for HIP's devices (`meted --probe-hip LIBAMDHIP64`).
 *
 * Types are plain: meted is built without HIP's headers. What the cards' other libraries tell (rocm_smi, amd_smi) is
 * not asked: memory in use by others is not known of these devices.
 */
#include "base/hip_card.h"
#include "daemon/health/probe.h"

#include <dlfcn.h>
#include <jansson.h>
#include <string.h>

#define NO_DEVICE 100

struct hip {
	int (*init)(unsigned int flags);
	int (*count)(int *ret);
	int (*name)(char *ret, int size, int device);
	int (*total)(size_t *ret, int device);
	int (*address)(char *ret, int size, int device);
	int (*uuid)(uint8_t ret[16], int device); /* NULL: before ROCm 5.1 */
	int (*version)(int *ret);
};

/* The newest first: a machine has one, or several side by side. */
static void *open_library(const char *named, json_t **error)
{
	static const char *const places[] = { "libamdhip64.so.7",
					      "libamdhip64.so.6",
					      "libamdhip64.so.5",
					      "/opt/rocm/lib/libamdhip64.so.7",
					      "/opt/rocm/lib/libamdhip64.so.6",
					      "/opt/rocm/lib/libamdhip64.so.5" };
	void *library = NULL;

	if (*named) {
		library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
		if (!library)
			*error = json_sprintf("driver.libhip (--libhip) %s cannot be opened: %s", named, dlerror());
		return library;
	}
	for (size_t i = 0; !library && i < sizeof(places) / sizeof(*places); i++)
		library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		*error =
			json_string("no libamdhip64.so.5 to .7 here; install ROCm's HIP runtime where AMD's cards are");
	return library;
}

static bool resolve(void *library, struct hip *h)
{
	*(void **)&h->init = dlsym(library, "hipInit");
	*(void **)&h->count = dlsym(library, "hipGetDeviceCount");
	*(void **)&h->name = dlsym(library, "hipDeviceGetName");
	*(void **)&h->total = dlsym(library, "hipDeviceTotalMem");
	*(void **)&h->address = dlsym(library, "hipDeviceGetPCIBusId");
	*(void **)&h->uuid = dlsym(library, "hipDeviceGetUuid");
	*(void **)&h->version = dlsym(library, "hipRuntimeGetVersion");
	return h->init && h->count && h->name && h->total && h->address && h->version;
}

static void add_device(const struct hip *h, int device, json_t *list)
{
	char name[DEVICE_NAME_BYTES] = "", address[32] = "", text[DEVICE_UUID_TEXT];
	uint8_t told[16] = { 0 }, uuid[DEVICE_UUID_BYTES];
	size_t total = 0;

	if (h->uuid && h->uuid(told, device))
		memset(told, 0, sizeof(told));
	if (h->address(address, sizeof(address), device))
		address[0] = 0;
	if (h->name(name, sizeof(name) - 1, device) || h->total(&total, device) || !total ||
	    hip_card_uuid(told, address, uuid))
		return;
	json_array_append_new(list, json_pack("{s:i s:s s:s s:I s:n}", "index", device, "uuid",
					      device_uuid_format(uuid, text), "name", name, "total_bytes",
					      (json_int_t)total, "used_bytes"));
}

/* NULL: asked; else what is wrong. */
static json_t *ask_devices(const struct hip *h, json_t *answer)
{
	int count = 0, version = 0, r;

	if (!h->version(&version))
		json_object_set_new(answer, "version",
				    json_sprintf("HIP %d.%d", version / 10000000, version / 100000 % 100));
	r = h->init(0);
	if (!r)
		r = h->count(&count);
	if (r == NO_DEVICE || (!r && !count))
		return json_string("HIP finds no device: no AMD card, or no amdgpu driver (/dev/kfd)");
	if (r)
		return json_sprintf("HIP's initialisation fails with %d", r);
	for (int i = 0; i < count; i++)
		add_device(h, i, json_object_get(answer, "devices"));
	return NULL;
}

int prober_hip_main(const char *libhip)
{
	json_t *answer = json_pack("{s:[]}", "devices"), *error = NULL;
	struct hip h = { 0 };
	void *library;

	if (!answer)
		return 1;
	library = open_library(libhip, &error);
	if (library && !resolve(library, &h))
		error = json_string("the libamdhip64 that was found is none of ROCm 5 to 7");
	else if (library)
		error = ask_devices(&h, answer);
	prober_end(answer, error, library);
}
