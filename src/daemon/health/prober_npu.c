/*
 * prober_npu.c: the children that ask Ascend's runtime (`meted --probe-ascend LIBASCENDCL`) and Cambricon's driver
 * library (`meted --probe-cambricon LIBCNDRV`) for devices.
 *
 * Names and codes are those that the vendors publish (api/ascend.toml, api/cambricon.toml); types are plain. What their
 * management libraries tell (libdcmi, libcndev) is not asked: memory in use by others is not known of these devices.
 */
#include "base/npu_card.h"
#include "daemon/health/partition.h"
#include "daemon/health/probe.h"
#include "daemon/health/vendor_library.h"

#include <dlfcn.h>
#include <jansson.h>
#include <limits.h>
#include <string.h>

#define ADDRESS_BYTES 32

/* One device as its library tells of it. */
struct told {
	uint8_t uuid[16]; /* zeros: not told */
	char address[ADDRESS_BYTES];
	char name[DEVICE_NAME_BYTES];
	int chip; /* -1: not told */
	uint64_t total;
	bool virtual; /* a part of the chip, by a template */
};

struct npu {
	const char *what;	      /* as messages call the library */
	const char *setting, *option; /* that names it */
	const char *const *places;    /* ended by NULL; vendor_library.h */
	const char *remedy;
	char vendor[4]; /* npu_card.h */
	/* Resolves the calls and starts the library. NULL: done, with the number of devices; else what is wrong. */
	json_t *(*begin)(void *library, int *ret_count, json_t *answer);
	bool (*ask)(int device, struct told *ret);
};

static void *open_library(const struct npu *n, const char *named, json_t **error)
{
	const char *unsafe;
	void *library;

	if (*named) {
		library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
		if (!library)
			*error = json_sprintf("%s (%s) %s cannot be opened: %s", n->setting, n->option, named,
					      dlerror());
		return library;
	}
	library = vendor_library_open(n->places, UINT_MAX, &unsafe);
	if (!library && unsafe)
		*error = json_sprintf("%s can be changed by others than root: it is loaded where %s (%s) names it",
				      unsafe, n->setting, n->option);
	else if (!library)
		*error = json_sprintf("no %s here; %s", n->what, n->remedy);
	return library;
}

/* NULL: a whole chip. */
static json_t *part_of(const struct told *told)
{
	char chip[DEVICE_PLACE_BYTES] = "a chip";

	if (!told->virtual)
		return NULL;
	if (*told->address)
		snprintf(chip, sizeof(chip), "%.23s", told->address);
	else if (told->chip >= 0)
		snprintf(chip, sizeof(chip), "chip %d", told->chip);
	return partition_answer(chip, "vNPU", -1);
}

static void add_device(const struct npu *n, int device, json_t *list)
{
	char text[DEVICE_UUID_TEXT];
	uint8_t uuid[DEVICE_UUID_BYTES];
	struct told told = { .chip = -1 };

	if (!n->ask(device, &told) || !told.total || npu_card_uuid(told.uuid, told.address, told.chip, n->vendor, uuid))
		return;
	json_array_append_new(list, json_pack("{s:i s:s s:s s:I s:n s:o*}", "index", device, "uuid",
					      device_uuid_format(uuid, text), "name", told.name, "total_bytes",
					      (json_int_t)told.total, "used_bytes", "partition", part_of(&told)));
}

static int probe(const struct npu *n, const char *named)
{
	json_t *answer = json_pack("{s:[]}", "devices"), *error = NULL;
	void *library;
	int count = 0;

	if (!answer)
		return 1;
	library = open_library(n, named, &error);
	if (library)
		error = n->begin(library, &count, answer);
	for (int i = 0; !error && i < count; i++)
		add_device(n, i, json_object_get(answer, "devices"));
	if (!error && !count)
		error = json_sprintf("%s finds no device: no card, or no driver of its", n->what);
	prober_end(answer, error, library);
}

/* Ascend
 * --------------------------------------------------------------------------------------------------------------- */

#define ACL_DDR_MEM 0
#define ACL_HBM_MEM 1
#define ACL_DEV_ATTR_IS_VIRTUAL 501
#define ACL_ERROR_RT_NO_DEVICE 207004

static struct {
	int (*init)(const char *config);
	int (*count)(uint32_t *ret);
	int (*set)(int device);
	int (*reset)(int device);
	int (*memory)(int attr, size_t *ret_free, size_t *ret_total);
	const char *(*name)(void);
	int (*uuid)(int device, uint8_t ret[16]);	      /* CANN 8.5 and later */
	int (*address)(int device, char *ret, int size);      /* CANN 9 */
	int (*chip)(uint32_t device, uint32_t *ret_physical); /* of libruntime.so */
	int (*info)(uint32_t device, int attr, int64_t *ret); /* of newer versions; which attributes differs */
	int (*version)(int *ret_major, int *ret_minor, int *ret_patch);
} acl;

static json_t *begin_ascend(void *library, int *ret_count, json_t *answer)
{
	int major, minor, patch, r;
	uint32_t count = 0;

	*(void **)&acl.init = dlsym(library, "aclInit");
	*(void **)&acl.count = dlsym(library, "aclrtGetDeviceCount");
	*(void **)&acl.set = dlsym(library, "aclrtSetDevice");
	*(void **)&acl.reset = dlsym(library, "aclrtResetDevice");
	*(void **)&acl.memory = dlsym(library, "aclrtGetMemInfo");
	*(void **)&acl.name = dlsym(library, "aclrtGetSocName");
	*(void **)&acl.uuid = dlsym(library, "aclrtDeviceGetUuid");
	*(void **)&acl.address = dlsym(library, "aclrtDeviceGetPCIBusId");
	*(void **)&acl.chip = dlsym(library, "rtGetDevicePhyIdByIndex");
	*(void **)&acl.info = dlsym(library, "aclrtGetDeviceInfo");
	*(void **)&acl.version = dlsym(library, "aclrtGetVersion");
	if (!acl.init || !acl.count || !acl.set || !acl.reset || !acl.memory)
		return json_string("the libascendcl.so that was found is none that this meted knows");
	r = acl.init(NULL);
	if (acl.version && !acl.version(&major, &minor, &patch))
		json_object_set_new(answer, "version", json_sprintf("AscendCL %d.%d.%d", major, minor, patch));
	if (!r)
		r = acl.count(&count);
	*ret_count = (int)count;
	return r && r != ACL_ERROR_RT_NO_DEVICE ? json_sprintf("AscendCL's initialisation fails with %d", r) : NULL;
}

/* A chip has memory of one of two kinds; the runtime tells 0 of the other. */
static bool ask_ascend(int device, struct told *ret)
{
	size_t rest = 0, total = 0;
	uint32_t chip = 0;
	int64_t virtual = 0;

	if (acl.set(device))
		return false;
	if (acl.memory(ACL_HBM_MEM, &rest, &total) || !total)
		if (acl.memory(ACL_DDR_MEM, &rest, &total))
			total = 0;
	if (acl.uuid && acl.uuid(device, ret->uuid))
		memset(ret->uuid, 0, sizeof(ret->uuid));
	if (acl.address && acl.address(device, ret->address, sizeof(ret->address)))
		ret->address[0] = 0;
	if (acl.chip && !acl.chip((uint32_t)device, &chip))
		ret->chip = (int)chip;
	ret->virtual = acl.info && !acl.info((uint32_t)device, ACL_DEV_ATTR_IS_VIRTUAL, &virtual) && virtual == 1;
	snprintf(ret->name, sizeof(ret->name), "%s", acl.name && acl.name() ? acl.name() : "Ascend");
	ret->total = total;
	acl.reset(device);
	return true;
}

int prober_ascend_main(const char *libascend)
{
	static const char *const places[] = { "libascendcl.so", "/usr/local/Ascend/cann/lib64/libascendcl.so",
					      "/usr/local/Ascend/ascend-toolkit/latest/lib64/libascendcl.so",
					      "/usr/local/Ascend/nnrt/latest/lib64/libascendcl.so", NULL };
	static const struct npu npu = { .what = "libascendcl.so",
					.setting = "driver.libascend",
					.option = "--libascend",
					.places = places,
					.remedy = "install CANN where Ascend's cards are, and source its set_env.sh",
					.vendor = { 'A', 'C', 'L', '0' },
					.begin = begin_ascend,
					.ask = ask_ascend };

	return probe(&npu, libascend);
}

/* Cambricon
 * ------------------------------------------------------------------------------------------------------------ */

#define CN_ERROR_NO_DEVICE 100004

static struct {
	int (*init)(unsigned int flags);
	int (*count)(int *ret);
	int (*get)(int *ret, int ordinal);
	int (*name)(char *ret, int size, int device);
	int (*total)(uint64_t *ret, int device);
	int (*uuid)(uint8_t ret[16], int device);
	int (*address)(char *ret, int size, int device);
	int (*version)(int *ret_major, int *ret_minor, int *ret_patch);
} cn;

static json_t *begin_cambricon(void *library, int *ret_count, json_t *answer)
{
	int major, minor, patch, r;

	*(void **)&cn.init = dlsym(library, "cnInit");
	*(void **)&cn.count = dlsym(library, "cnDeviceGetCount");
	*(void **)&cn.get = dlsym(library, "cnDeviceGet");
	*(void **)&cn.name = dlsym(library, "cnDeviceGetName");
	*(void **)&cn.total = dlsym(library, "cnDeviceTotalMem");
	*(void **)&cn.uuid = dlsym(library, "cnDeviceGetUuid");
	*(void **)&cn.address = dlsym(library, "cnDeviceGetPCIBusId");
	*(void **)&cn.version = dlsym(library, "cnGetLibVersion");
	if (!cn.init || !cn.count || !cn.get || !cn.name || !cn.total)
		return json_string("the libcndrv.so that was found is none that this meted knows");
	r = cn.init(0);
	if (cn.version && !cn.version(&major, &minor, &patch))
		json_object_set_new(answer, "version", json_sprintf("CNDrv %d.%d.%d", major, minor, patch));
	if (!r)
		r = cn.count(ret_count);
	return r && r != CN_ERROR_NO_DEVICE ? json_sprintf("CNDrv's initialisation fails with %d", r) : NULL;
}

static bool ask_cambricon(int ordinal, struct told *ret)
{
	int device;

	if (cn.get(&device, ordinal) || cn.name(ret->name, sizeof(ret->name) - 1, device) ||
	    cn.total(&ret->total, device))
		return false;
	if (cn.uuid && cn.uuid(ret->uuid, device))
		memset(ret->uuid, 0, sizeof(ret->uuid));
	if (cn.address && cn.address(ret->address, sizeof(ret->address), device))
		ret->address[0] = 0;
	return true;
}

int prober_cambricon_main(const char *libcambricon)
{
	static const char *const places[] = { "libcndrv.so", "/usr/local/neuware/lib64/libcndrv.so", NULL };
	static const struct npu npu = { .what = "libcndrv.so",
					.setting = "driver.libcambricon",
					.option = "--libcambricon",
					.places = places,
					.remedy = "install CNToolkit where Cambricon's cards are",
					.vendor = { 'M', 'L', 'U', '0' },
					.begin = begin_cambricon,
					.ask = ask_cambricon };

	return probe(&npu, libcambricon);
}
