/*
 * prober_named.c: the child that asks a library for devices by calls of CUDA's or HIP's form, whatever they are called
 * (`meted --probe-hip LIBAMDHIP64`, `meted --probe-shape NAME LIBRARY`; model/shapes.h).
 *
 * Types are plain: meted is built without the vendors' headers. What the cards' other libraries tell (rocm_smi,
 * amd_smi) is not asked: memory in use by others is not known of these devices.
 */
#include "base/hip_card.h"
#include "daemon/health/partition.h"
#include "daemon/health/probe.h"
#include "daemon/health/vendor_library.h"
#include "model/shapes.h"

#include <dlfcn.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define NO_DEVICE 100

struct calls {
	int (*init)(unsigned int flags);
	int (*count)(int *ret);
	int (*get)(int *ret, int ordinal); /* NULL: an ordinal is a device */
	int (*name)(char *ret, int size, int device);
	int (*total)(size_t *ret, int device);
	int (*address)(char *ret, int size, int device); /* NULL: not there */
	int (*uuid)(uint8_t ret[16], int device);	 /* NULL: not there, as before ROCm 5.1 */
	int (*version)(int *ret);
};

/* What stands behind the prefix; several: the first that the library has. */
static const struct form {
	const char *api, *count, *get, *total[2], *uuid[2], *version;
	bool by_place; /* a device without a UUID is called by its place on the PCI bus, by the face as well */
} forms[] = {
	{ "hip", "GetDeviceCount", NULL, { "DeviceTotalMem" }, { "DeviceGetUuid" }, "RuntimeGetVersion", true },
	{ "cuda",
	  "DeviceGetCount",
	  "DeviceGet",
	  { "DeviceTotalMem_v2", "DeviceTotalMem" },
	  { "DeviceGetUuid_v2", "DeviceGetUuid" },
	  "DriverGetVersion",
	  false },
};

/* The library that is asked for, and the words for it. */
struct asked {
	const char *prefix;
	const struct form *form;
	const char *const *places;
	size_t place_count;
	const char *option, *title, *none, *other, *no_device; /* in what is said */
};

static const struct form *form_of(const char *api)
{
	return !strcmp(api, forms[0].api) ? &forms[0] : &forms[1];
}

static void *open_library(const struct asked *a, const char *named, json_t **error)
{
	const char *unsafe;
	void *library;

	if (*named) {
		library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
		if (!library)
			*error = json_sprintf("driver.%s (--%s) %s cannot be opened: %s", a->option, a->option, named,
					      dlerror());
		return library;
	}
	library = vendor_library_open(a->places, (unsigned int)a->place_count, &unsafe);
	if (!library && unsafe)
		*error = json_sprintf("%s can be changed by others than root: it is loaded where driver.%s (--%s) "
				      "names it",
				      unsafe, a->option, a->option);
	else if (!library)
		*error = json_string(a->none);
	return library;
}

static void *find(const struct asked *a, void *library, const char *name)
{
	char symbol[64];

	if (!name)
		return NULL;
	snprintf(symbol, sizeof(symbol), "%s%s", a->prefix, name);
	return dlsym(library, symbol);
}

static void *find_first(const struct asked *a, void *library, const char *const names[2])
{
	void *f = find(a, library, names[0]);

	return f ? f : find(a, library, names[1]);
}

static bool resolve(const struct asked *a, void *library, struct calls *c)
{
	*(void **)&c->init = find(a, library, "Init");
	*(void **)&c->count = find(a, library, a->form->count);
	*(void **)&c->get = find(a, library, a->form->get);
	*(void **)&c->name = find(a, library, "DeviceGetName");
	*(void **)&c->total = find_first(a, library, a->form->total);
	*(void **)&c->address = find(a, library, "DeviceGetPCIBusId");
	*(void **)&c->uuid = find_first(a, library, a->form->uuid);
	*(void **)&c->version = find(a, library, a->form->version);
	return c->init && c->count && c->name && c->total && c->version && (c->get || !a->form->get) &&
	       (a->form->by_place ? c->address != NULL : c->uuid != NULL);
}

/* `address`: of a device that may be called by its place. */
static bool identify(const struct asked *a, const struct calls *c, int device, char address[32],
		     uint8_t ret_uuid[DEVICE_UUID_BYTES])
{
	static const uint8_t none[16];
	uint8_t told[16] = { 0 };

	if (c->uuid && c->uuid(told, device))
		memset(told, 0, sizeof(told));
	if (!a->form->by_place) {
		memcpy(ret_uuid, told, sizeof(told));
		return memcmp(told, none, sizeof(none)) != 0;
	}
	if (c->address(address, 32, device))
		address[0] = 0;
	return !hip_card_uuid(told, address, ret_uuid);
}

static void add_device(const struct asked *a, const struct calls *c, int ordinal, json_t *list)
{
	char name[DEVICE_NAME_BYTES] = "", text[DEVICE_UUID_TEXT], address[32] = "";
	uint8_t uuid[DEVICE_UUID_BYTES];
	int device = ordinal;
	size_t total = 0;

	if (c->get && c->get(&device, ordinal))
		return;
	if (c->name(name, sizeof(name) - 1, device) || c->total(&total, device) || !total ||
	    !identify(a, c, device, address, uuid))
		return;
	json_array_append_new(list,
			      json_pack("{s:i s:s s:s s:I s:n s:o*}", "index", ordinal, "uuid",
					device_uuid_format(uuid, text), "name", name, "total_bytes", (json_int_t)total,
					"used_bytes", "partition", *address ? partition_at(address) : NULL));
}

/* HIP's is known; how other vendors count is not, and the number is theirs. */
static json_t *version_text(const struct asked *a, int version)
{
	if (!strcmp(a->prefix, "hip"))
		return json_sprintf("HIP %d.%d", version / 10000000, version / 100000 % 100);
	return json_sprintf("%s %d", a->title, version);
}

/* NULL: asked; else what is wrong. */
static json_t *ask_devices(const struct asked *a, const struct calls *c, json_t *answer)
{
	int count = 0, version = 0, r;

	if (!c->version(&version))
		json_object_set_new(answer, "version", version_text(a, version));
	r = c->init(0);
	if (!r)
		r = c->count(&count);
	if (r == NO_DEVICE || (!r && !count))
		return json_string(a->no_device);
	if (r)
		return json_sprintf("%s's initialisation fails with %d", a->title, r);
	for (int i = 0; i < count; i++)
		add_device(a, c, i, json_object_get(answer, "devices"));
	return NULL;
}

static int ask(const struct asked *a, const char *named)
{
	json_t *answer = json_pack("{s:[]}", "devices"), *error = NULL;
	struct calls calls = { 0 };
	void *library;

	if (!answer)
		return 1;
	library = open_library(a, named, &error);
	if (library && !resolve(a, library, &calls))
		error = json_string(a->other);
	else if (library)
		error = ask_devices(a, &calls, answer);
	prober_end(answer, error, library);
}

/* The newest first: a machine has one, or several side by side. */
int prober_hip_main(const char *libhip)
{
	static const char *const places[] = { "libamdhip64.so.7",
					      "libamdhip64.so.6",
					      "libamdhip64.so.5",
					      "/opt/rocm/lib/libamdhip64.so.7",
					      "/opt/rocm/lib/libamdhip64.so.6",
					      "/opt/rocm/lib/libamdhip64.so.5" };
	struct asked a = { .prefix = "hip",
			   .form = form_of("hip"),
			   .places = places,
			   .place_count = sizeof(places) / sizeof(*places),
			   .option = "libhip",
			   .title = "HIP",
			   .none = "no libamdhip64.so.5 to .7 here; install ROCm's HIP runtime where AMD's cards are",
			   .other = "the libamdhip64 that was found is none of ROCm 5 to 7",
			   .no_device = "HIP finds no device: no AMD card, or no amdgpu driver (/dev/kfd)" };

	return ask(&a, libhip);
}

int prober_shape_main(const char *name, const char *library)
{
	const struct shape_row *row = shape_named(name);
	char option[32], none[256], other[256], no_device[256];
	struct asked a;

	if (!row)
		return 1;
	snprintf(option, sizeof(option), "lib%s", name);
	snprintf(none, sizeof(none), "no %s here; %s where the cards are", row->places[0], row->remedy);
	snprintf(other, sizeof(other), "the library that was found lacks calls that the one of %s has", row->vendor);
	snprintf(no_device, sizeof(no_device), "the library of %s finds no device", row->vendor);
	a = (struct asked){ .prefix = row->prefix,
			    .form = form_of(row->api),
			    .places = row->places,
			    .place_count = sizeof(row->places) / sizeof(*row->places),
			    .option = option,
			    .title = row->name,
			    .none = none,
			    .other = other,
			    .no_device = no_device };
	return ask(&a, library);
}
