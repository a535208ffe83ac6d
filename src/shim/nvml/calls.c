/*
 * calls.c: the NVML calls that show a tenant something else than the driver does.
 *
 * Each asks the driver first, so that its checks and its errors stay: a device that is lost is lost for the tenant too.
 * Only the answer is replaced: devices outside the grant do not exist, memory is the quota, processes are the tenant's.
 * Outside a grant a body is the driver's call and nothing else. errno is left as it was.
 *
 * Limits. Calls of the driver's internal table (nvmlInternalGetExportTable) and the write calls, for which the driver
 * itself asks for root, pass through. Pids are those that meted sees, as NVML shows the host's.
 */
#include "shim/nvml/shim.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

#define real shim_real /* every entry can be called: one that the driver lacks says so itself */

/* ---- start and end ---- */

static nvmlReturn_t started(nvmlReturn_t r)
{
	nvmlReturn_t attached;

	if (r != NVML_SUCCESS)
		return r;
	tenant_forget_handles();
	attached = tenant_attach();
	if (attached != NVML_SUCCESS)
		real.nvmlShutdown();
	return attached;
}

nvmlReturn_t shim_nvmlInit(void)
{
	KEEP_ERRNO;

	return started(real.nvmlInit());
}

nvmlReturn_t shim_nvmlInit_v2(void)
{
	KEEP_ERRNO;

	return started(real.nvmlInit_v2());
}

nvmlReturn_t shim_nvmlInitWithFlags(unsigned int flags)
{
	KEEP_ERRNO;

	return started(real.nvmlInitWithFlags(flags));
}

nvmlReturn_t shim_nvmlShutdown(void)
{
	KEEP_ERRNO;
	nvmlReturn_t r;

	r = real.nvmlShutdown();
	tenant_forget_handles();
	return r;
}

/* ---- devices ---- */

static nvmlReturn_t tenant_count(unsigned int *ret)
{
	struct tenant_devices devices;
	nvmlReturn_t r = tenant_devices_get(&devices);

	if (r == NVML_SUCCESS)
		*ret = devices.count;
	return r;
}

nvmlReturn_t shim_nvmlDeviceGetCount(unsigned int *count)
{
	KEEP_ERRNO;

	return tenant_is() && count ? tenant_count(count) : real.nvmlDeviceGetCount(count);
}

nvmlReturn_t shim_nvmlDeviceGetCount_v2(unsigned int *count)
{
	KEEP_ERRNO;

	return tenant_is() && count ? tenant_count(count) : real.nvmlDeviceGetCount_v2(count);
}

static nvmlReturn_t tenant_by_index(unsigned int index, nvmlDevice_t *ret)
{
	struct tenant_devices devices;
	nvmlReturn_t r = tenant_devices_get(&devices);

	if (r != NVML_SUCCESS)
		return r;
	if (index >= devices.count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*ret = devices.device[index].handle;
	return NVML_SUCCESS;
}

nvmlReturn_t shim_nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
	KEEP_ERRNO;

	return tenant_is() && device ? tenant_by_index(index, device) : real.nvmlDeviceGetHandleByIndex(index, device);
}

nvmlReturn_t shim_nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	KEEP_ERRNO;

	return tenant_is() && device ? tenant_by_index(index, device)
				     : real.nvmlDeviceGetHandleByIndex_v2(index, device);
}

/* The driver found a device by its name: it is found for the tenant when it is the tenant's. */
static nvmlReturn_t only_tenants(nvmlReturn_t r, nvmlDevice_t *device)
{
	uint32_t grant_index;

	if (r != NVML_SUCCESS || !tenant_is())
		return r;
	r = tenant_device_find(*device, &grant_index);
	if (r == NVML_SUCCESS)
		return r;
	*device = NULL;
	return r == NVML_ERROR_INVALID_ARGUMENT ? NVML_ERROR_NOT_FOUND : r;
}

nvmlReturn_t shim_nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device)
{
	KEEP_ERRNO;

	return only_tenants(real.nvmlDeviceGetHandleBySerial(serial, device), device);
}

nvmlReturn_t shim_nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	KEEP_ERRNO;

	return only_tenants(real.nvmlDeviceGetHandleByUUID(uuid, device), device);
}

nvmlReturn_t shim_nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t *uuid, nvmlDevice_t *device)
{
	KEEP_ERRNO;

	return only_tenants(real.nvmlDeviceGetHandleByUUIDV(uuid, device), device);
}

nvmlReturn_t shim_nvmlDeviceGetHandleByPciBusId(const char *bus_id, nvmlDevice_t *device)
{
	KEEP_ERRNO;

	return only_tenants(real.nvmlDeviceGetHandleByPciBusId(bus_id, device), device);
}

nvmlReturn_t shim_nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *device)
{
	KEEP_ERRNO;

	return only_tenants(real.nvmlDeviceGetHandleByPciBusId_v2(bus_id, device), device);
}

nvmlReturn_t shim_nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
	KEEP_ERRNO;
	struct tenant_devices devices;
	uint32_t grant_index;
	nvmlReturn_t r;

	r = real.nvmlDeviceGetIndex(device, index);
	if (r != NVML_SUCCESS || !tenant_is())
		return r;
	r = tenant_device_find(device, &grant_index);
	if (r != NVML_SUCCESS || grant_index & TENANT_PART)
		return r;
	r = tenant_devices_get(&devices);
	for (unsigned int i = 0; r == NVML_SUCCESS && i < devices.count; i++)
		if (devices.device[i].grant_index == grant_index)
			*index = i;
	return r;
}

/* Keeps the tenant's handles of an array that the driver filled. */
static nvmlReturn_t only_tenants_handles(nvmlReturn_t r, unsigned int *count, nvmlDevice_t *array)
{
	unsigned int kept = 0;
	uint32_t grant_index;

	if (r != NVML_SUCCESS || !tenant_is() || !array || !count)
		return r;
	for (unsigned int i = 0; i < *count; i++)
		if (tenant_device_find(array[i], &grant_index) == NVML_SUCCESS)
			array[kept++] = array[i];
	for (unsigned int i = kept; i < *count; i++)
		array[i] = NULL;
	*count = kept;
	return r;
}

nvmlReturn_t shim_nvmlSystemGetTopologyGpuSet(unsigned int cpu, unsigned int *count, nvmlDevice_t *array)
{
	KEEP_ERRNO;

	return only_tenants_handles(real.nvmlSystemGetTopologyGpuSet(cpu, count, array), count, array);
}

nvmlReturn_t shim_nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device, unsigned int level, unsigned int *count,
						   nvmlDevice_t *array)
{
	KEEP_ERRNO;

	return only_tenants_handles(real.nvmlDeviceGetTopologyNearestGpus(device, level, count, array), count, array);
}

nvmlReturn_t shim_nvmlUnitGetDevices(nvmlUnit_t unit, unsigned int *count, nvmlDevice_t *array)
{
	KEEP_ERRNO;

	return only_tenants_handles(real.nvmlUnitGetDevices(unit, count, array), count, array);
}

/* ---- memory ---- */

/* 1: *ret holds the tenant's figures; 0: the driver's are right; below 0: a negative nvmlReturn_t. */
static int tenant_memory(nvmlDevice_t device, struct tenant_memory *ret)
{
	uint32_t grant_index;
	nvmlReturn_t r;

	if (!tenant_is())
		return 0;
	r = tenant_device_find(device, &grant_index);
	if (r != NVML_SUCCESS)
		return -(int)r;
	if (grant_index & TENANT_PART)
		return 0;
	tenant_memory_get(grant_index, ret);
	return 1;
}

/* What the tenant can still take: never more than the device has. As cuMemGetInfo says it; used is the rest. */
static uint64_t tenant_free(const struct tenant_memory *share, uint64_t device_free)
{
	uint64_t left = share->quota_bytes - share->held_bytes;

	return left < device_free ? left : device_free;
}

nvmlReturn_t shim_nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	KEEP_ERRNO;
	struct tenant_memory share;
	nvmlMemory_t whole;
	nvmlReturn_t r;
	int t;

	r = real.nvmlDeviceGetMemoryInfo(device, memory ? &whole : NULL);
	if (r != NVML_SUCCESS)
		return r;
	t = tenant_memory(device, &share);
	if (t < 0)
		return (nvmlReturn_t)-t;
	if (t > 0) {
		whole.total = share.quota_bytes;
		whole.free = tenant_free(&share, whole.free);
		whole.used = whole.total - whole.free;
	}
	*memory = whole;
	return NVML_SUCCESS;
}

nvmlReturn_t shim_nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
	KEEP_ERRNO;
	struct tenant_memory share;
	nvmlMemory_v2_t whole;
	nvmlReturn_t r;
	int t;

	if (!memory || memory->version != NVML_VERSION_WORD(nvmlMemory_v2_t, 2))
		return real.nvmlDeviceGetMemoryInfo_v2(device, memory);
	whole = *memory;
	r = real.nvmlDeviceGetMemoryInfo_v2(device, &whole);
	if (r != NVML_SUCCESS)
		return r;
	t = tenant_memory(device, &share);
	if (t < 0)
		return (nvmlReturn_t)-t;
	if (t > 0) {
		whole.total = share.quota_bytes;
		whole.free = tenant_free(&share, whole.free);
		whole.used = whole.total - whole.free;
		whole.reserved = 0; /* what the driver keeps for itself is outside every quota */
	}
	*memory = whole;
	return NVML_SUCCESS;
}

/* ---- processes ---- */

/* As nvmlProcessDetailList_v1_t.mode counts them. */
enum kind {
	COMPUTE = NVML_PROCESS_MODE_COMPUTE,
	GRAPHICS = NVML_PROCESS_MODE_GRAPHICS,
	MPS = NVML_PROCESS_MODE_MPS,
};

typedef nvmlReturn_t (*list_v1_fn)(nvmlDevice_t, unsigned int *, nvmlProcessInfo_v1_t *);
typedef nvmlReturn_t (*list_v2_fn)(nvmlDevice_t, unsigned int *, nvmlProcessInfo_v2_t *);

struct listing { /* of one device, too large for a guest's stack */
	struct tenant_processes tenants;
	unsigned int count;
	nvmlProcessInfo_t process[WIRE_MAX_PROCESSES]; /* what the tenant is shown */
	unsigned int driver_count;
	union { /* what the driver has */
		nvmlProcessInfo_v1_t v1[WIRE_MAX_PROCESSES];
		nvmlProcessInfo_t v2[WIRE_MAX_PROCESSES];
	} driver;
};

static nvmlReturn_t driver_list_v3(enum kind kind, nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *array)
{
	switch (kind) {
	case COMPUTE:
		return real.nvmlDeviceGetComputeRunningProcesses_v3(device, count, array);
	case GRAPHICS:
		return real.nvmlDeviceGetGraphicsRunningProcesses_v3(device, count, array);
	default:
		return real.nvmlDeviceGetMPSComputeRunningProcesses_v3(device, count, array);
	}
}

static nvmlReturn_t driver_list_v2(enum kind kind, nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *array)
{
	switch (kind) {
	case COMPUTE:
		return real.nvmlDeviceGetComputeRunningProcesses_v2(device, count, array);
	case GRAPHICS:
		return real.nvmlDeviceGetGraphicsRunningProcesses_v2(device, count, array);
	default:
		return real.nvmlDeviceGetMPSComputeRunningProcesses_v2(device, count, array);
	}
}

static nvmlReturn_t driver_list_v1(enum kind kind, nvmlDevice_t device, unsigned int *count,
				   nvmlProcessInfo_v1_t *array)
{
	switch (kind) {
	case COMPUTE:
		return real.nvmlDeviceGetComputeRunningProcesses(device, count, array);
	case GRAPHICS:
		return real.nvmlDeviceGetGraphicsRunningProcesses(device, count, array);
	default:
		return real.nvmlDeviceGetMPSComputeRunningProcesses(device, count, array);
	}
}

/* The driver's list. More processes than fit are as good as none: then only those that hold memory are shown. */
static nvmlReturn_t driver_list(enum kind kind, nvmlDevice_t device, struct listing *l)
{
	unsigned int n = WIRE_MAX_PROCESSES;
	nvmlReturn_t r = driver_list_v3(kind, device, &n, l->driver.v2);

	if (r == NVML_ERROR_FUNCTION_NOT_FOUND) {
		n = WIRE_MAX_PROCESSES;
		r = driver_list_v2(kind, device, &n, l->driver.v2);
	}
	if (r == NVML_ERROR_FUNCTION_NOT_FOUND) {
		n = WIRE_MAX_PROCESSES;
		r = driver_list_v1(kind, device, &n, l->driver.v1);
		for (unsigned int i = n; r == NVML_SUCCESS && i-- > 0;) { /* backwards: the entries grow in place */
			nvmlProcessInfo_v1_t old = l->driver.v1[i];

			l->driver.v2[i] = (nvmlProcessInfo_t){ .pid = old.pid,
							       .usedGpuMemory = old.usedGpuMemory,
							       .gpuInstanceId = NVML_NO_INSTANCE,
							       .computeInstanceId = NVML_NO_INSTANCE };
		}
	}
	l->driver_count = r == NVML_SUCCESS ? n : 0;
	return r == NVML_ERROR_INSUFFICIENT_SIZE ? NVML_SUCCESS : r;
}

static const nvmlProcessInfo_t *driver_find(const struct listing *l, unsigned int pid)
{
	for (unsigned int i = 0; i < l->driver_count; i++)
		if (l->driver.v2[i].pid == pid)
			return &l->driver.v2[i];
	return NULL;
}

/*
 * The tenant's processes on a device: those that the driver lists, and as compute processes also those that hold
 * memory. What they use is what they are charged. On a partition of a device it is as the driver says.
 */
static void list_tenants(enum kind kind, uint32_t grant_index, struct listing *l)
{
	bool part = grant_index & TENANT_PART;

	tenant_processes_get(grant_index & ~TENANT_PART, &l->tenants);
	l->count = 0;
	for (unsigned int i = 0; i < l->tenants.count; i++) {
		const struct tenant_process *p = &l->tenants.process[i];
		const nvmlProcessInfo_t *driver = driver_find(l, p->pid);

		if (!driver && (part || kind != COMPUTE || !p->held_bytes))
			continue;
		l->process[l->count++] = (nvmlProcessInfo_t){
			.pid = p->pid,
			.usedGpuMemory = part ? driver->usedGpuMemory : p->held_bytes,
			.gpuInstanceId = driver ? driver->gpuInstanceId : NVML_NO_INSTANCE,
			.computeInstanceId = driver ? driver->computeInstanceId : NVML_NO_INSTANCE,
		};
	}
}

/* NVML_SUCCESS with *ret set (the caller frees), or with *ret NULL: the driver's own answer is the right one. */
static nvmlReturn_t list_make(enum kind kind, nvmlDevice_t device, struct listing **ret)
{
	_cleanup_free_ struct listing *l = NULL;
	uint32_t grant_index;
	nvmlReturn_t r;

	*ret = NULL;
	if (!tenant_is())
		return NVML_SUCCESS;
	r = tenant_device_find(device, &grant_index);
	if (r != NVML_SUCCESS)
		return r;
	l = malloc(sizeof *l);
	if (!l)
		return NVML_ERROR_MEMORY;
	r = driver_list(kind, device, l);
	if (r != NVML_SUCCESS)
		return r;
	list_tenants(kind, grant_index, l);
	*ret = steal_ptr(l);
	return NVML_SUCCESS;
}

/* NVML's way with sizes: too little room (none is a question) is answered with the number that it takes. */
static nvmlReturn_t room_for(const struct listing *l, unsigned int *count, const void *array)
{
	unsigned int room = *count;

	*count = l->count;
	if (room < l->count)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	return l->count && !array ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS;
}

static nvmlReturn_t running_v1(enum kind kind, list_v1_fn driver, nvmlDevice_t device, unsigned int *count,
			       nvmlProcessInfo_v1_t *array)
{
	_cleanup_free_ struct listing *l = NULL;
	nvmlReturn_t r;

	if (!count)
		return driver(device, count, array);
	r = list_make(kind, device, &l);
	if (r != NVML_SUCCESS)
		return r;
	if (!l)
		return driver(device, count, array);
	r = room_for(l, count, array);
	for (unsigned int i = 0; r == NVML_SUCCESS && i < l->count; i++)
		array[i] = (nvmlProcessInfo_v1_t){ .pid = l->process[i].pid,
						   .usedGpuMemory = l->process[i].usedGpuMemory };
	return r;
}

static nvmlReturn_t running_v2(enum kind kind, list_v2_fn driver, nvmlDevice_t device, unsigned int *count,
			       nvmlProcessInfo_t *array)
{
	_cleanup_free_ struct listing *l = NULL;
	nvmlReturn_t r;

	if (!count)
		return driver(device, count, array);
	r = list_make(kind, device, &l);
	if (r != NVML_SUCCESS)
		return r;
	if (!l)
		return driver(device, count, array);
	r = room_for(l, count, array);
	if (r == NVML_SUCCESS && l->count)
		memcpy(array, l->process, l->count * sizeof *array);
	return r;
}

#define RUNNING(name, kind)                                                                                            \
	nvmlReturn_t shim_##name(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v1_t *infos)                \
	{                                                                                                              \
		KEEP_ERRNO;                                                                                            \
		return running_v1(kind, real.name, device, count, infos);                                              \
	}                                                                                                              \
	nvmlReturn_t shim_##name##_v2(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v2_t *infos)           \
	{                                                                                                              \
		KEEP_ERRNO;                                                                                            \
		return running_v2(kind, real.name##_v2, device, count, infos);                                         \
	}                                                                                                              \
	nvmlReturn_t shim_##name##_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos)              \
	{                                                                                                              \
		KEEP_ERRNO;                                                                                            \
		return running_v2(kind, real.name##_v3, device, count, infos);                                         \
	}

RUNNING(nvmlDeviceGetComputeRunningProcesses, COMPUTE)
RUNNING(nvmlDeviceGetGraphicsRunningProcesses, GRAPHICS)
RUNNING(nvmlDeviceGetMPSComputeRunningProcesses, MPS)

nvmlReturn_t shim_nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device, nvmlProcessDetailList_t *list)
{
	KEEP_ERRNO;
	_cleanup_free_ struct listing *l = NULL;
	nvmlProcessDetailList_t probe;
	nvmlReturn_t r;

	if (!list || list->version != NVML_VERSION_WORD(nvmlProcessDetailList_v1_t, 1) || list->mode > MPS)
		return real.nvmlDeviceGetRunningProcessDetailList(device, list);
	probe = *list;
	probe.numProcArrayEntries = 0;
	probe.procArray = NULL;
	r = tenant_is() ? real.nvmlDeviceGetRunningProcessDetailList(device, &probe) : NVML_SUCCESS;
	if (r != NVML_SUCCESS && r != NVML_ERROR_INSUFFICIENT_SIZE)
		return r;
	r = list_make((enum kind)list->mode, device, &l);
	if (r != NVML_SUCCESS)
		return r;
	if (!l)
		return real.nvmlDeviceGetRunningProcessDetailList(device, list);
	r = room_for(l, &list->numProcArrayEntries, list->procArray);
	for (unsigned int i = 0; r == NVML_SUCCESS && i < l->count; i++)
		list->procArray[i] = (nvmlProcessDetail_v1_t){
			.pid = l->process[i].pid,
			.usedGpuMemory = l->process[i].usedGpuMemory,
			.gpuInstanceId = l->process[i].gpuInstanceId,
			.computeInstanceId = l->process[i].computeInstanceId,
			.usedGpuCcProtectedMemory = (unsigned long long)NVML_VALUE_NOT_AVAILABLE,
		};
	return r;
}
