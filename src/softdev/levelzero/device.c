/* device.c: the driver, its devices, and sysman. See soft.h. */
#include "base/own_note.h"
#include "softdev/levelzero/soft.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

OWN_NOTE("the software device's LevelZero");

#define CLOCK_HZ 1000000000u

struct cuda_table soft_cu;

static struct ze_driver {
	int unused;
} the_driver;
static struct ze_device device[SOFT_DEVICES];
static uint32_t device_count;
static ze_result_t readiness = ZE_RESULT_ERROR_UNINITIALIZED;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards contexts */

ze_result_t soft_said(CUresult r)
{
	switch (r) {
	case CUDA_SUCCESS:
		return ZE_RESULT_SUCCESS;
	case CUDA_ERROR_NOT_READY:
		return ZE_RESULT_NOT_READY;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
	case CUDA_ERROR_NOT_INITIALIZED:
	case CUDA_ERROR_DEINITIALIZED:
		return ZE_RESULT_ERROR_UNINITIALIZED;
	case CUDA_ERROR_INVALID_VALUE:
	case CUDA_ERROR_INVALID_HANDLE:
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	default:
		return ZE_RESULT_ERROR_DEVICE_LOST;
	}
}

static void open_driver(void)
{
	char path[PATH_MAX];
	const char *slash;
	void *library;
	Dl_info self;
	int count = 0;

	if (!dladdr((void *)open_driver, &self) || !(slash = strrchr(self.dli_fname, '/')))
		return;
	snprintf(path, sizeof path, "%.*s/../libcuda.so.1", (int)(slash - self.dli_fname), self.dli_fname);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	for (unsigned int i = 0; library && i < CUDA_CALL_COUNT; i++)
		((void **)&soft_cu)[i] = dlsym(library, cuda_call_name[i]);
	if (!soft_cu.cuInit || soft_cu.cuInit(0) != CUDA_SUCCESS || soft_cu.cuDeviceGetCount(&count) != CUDA_SUCCESS)
		return;
	device_count = (uint32_t)count < SOFT_DEVICES ? (uint32_t)count : SOFT_DEVICES;
	for (uint32_t i = 0; i < device_count; i++) {
		device[i].ordinal = (CUdevice)i;
		pthread_mutex_init(&device[i].lock, NULL);
	}
	readiness = ZE_RESULT_SUCCESS;
}

ze_result_t soft_ready(void)
{
	pthread_once(&once, open_driver);
	return readiness;
}

struct ze_device *soft_device_at(int ordinal)
{
	return ordinal >= 0 && (uint32_t)ordinal < device_count ? &device[ordinal] : NULL;
}

ze_result_t soft_enter(struct ze_device *d)
{
	CUresult r = CUDA_SUCCESS;

	if (!d)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	pthread_mutex_lock(&lock);
	if (!d->context)
		r = soft_cu.cuDevicePrimaryCtxRetain(&d->context, d->ordinal);
	pthread_mutex_unlock(&lock);
	if (r == CUDA_SUCCESS)
		r = soft_cu.cuCtxPushCurrent_v2(d->context);
	return soft_said(r);
}

void soft_leave(const ze_result_t *entered)
{
	CUcontext popped;

	if (*entered == ZE_RESULT_SUCCESS)
		soft_cu.cuCtxPopCurrent_v2(&popped);
}

/* The driver --------------------------------------------------------------------------------------------------------
 */

static ze_result_t init(uint32_t flags)
{
	(void)flags;
	return soft_ready();
}

/* As many of `there` as there is room for; with *count 0 the number alone. Value: how many to write. */
static uint32_t fit(uint32_t *count, uint32_t there, const void *list)
{
	uint32_t n = *count && *count < there ? *count : there, write = *count && list ? n : 0;

	*count = n;
	return write;
}

static ze_result_t driver_get(uint32_t *pCount, ze_driver_handle_t *phDrivers)
{
	ze_result_t r = soft_ready();

	if (r == ZE_RESULT_SUCCESS && fit(pCount, 1, phDrivers))
		*phDrivers = &the_driver;
	return r;
}

static ze_result_t init_drivers(uint32_t *pCount, ze_driver_handle_t *phDrivers, const void *desc)
{
	(void)desc;
	return driver_get(pCount, phDrivers);
}

static ze_result_t driver_version(ze_driver_handle_t hDriver, uint32_t *version)
{
	(void)hDriver;
	*version = ZE_VERSION(1, LEVELZERO_MINOR);
	return ZE_RESULT_SUCCESS;
}

/* Like newer drivers of Intel's it says that its handles lead to tables, which would lead past whoever stands before.
 */
static ze_result_t driver_properties(ze_driver_handle_t hDriver, ze_driver_properties_t *p)
{
	(void)hDriver;
	memset(p->uuid, 0, sizeof p->uuid);
	p->driverVersion = 1;
	for (ze_base_t *s = p->pNext; s; s = s->pNext)
		if (s->stype == ZE_STRUCTURE_TYPE_DRIVER_DDI_HANDLES_EXT_PROPERTIES)
			((ze_driver_ddi_handles_ext_properties_t *)s)->flags = 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t driver_extensions(ze_driver_handle_t hDriver, uint32_t *pCount, void *pExtensionProperties)
{
	(void)hDriver;
	(void)pExtensionProperties;
	*pCount = 0;
	return ZE_RESULT_SUCCESS;
}

/* It has calls that no table has: one that is harmless, and one that takes memory. */
static int harmless(void)
{
	return 7;
}

static ze_result_t take_unseen(ze_context_handle_t context, ze_device_handle_t of, size_t size, void **pointer)
{
	(void)context;
	ON_DEVICE(of);
	return soft_said(soft_cu.cuMemAlloc_v2((CUdeviceptr *)(void *)pointer, size));
}

static ze_result_t driver_function(ze_driver_handle_t hDriver, const char *name, void **ppFunctionAddress)
{
	(void)hDriver;
	*ppFunctionAddress = !strcmp(name, "zeIntelGetDriverVersionString") ? (void *)harmless
			     : !strcmp(name, "zexMemAllocUnseen")	    ? (void *)take_unseen
									    : NULL;
	return *ppFunctionAddress ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

/* Devices -----------------------------------------------------------------------------------------------------------
 */

static ze_result_t device_get(ze_driver_handle_t hDriver, uint32_t *pCount, ze_device_handle_t *phDevices)
{
	uint32_t n = fit(pCount, device_count, phDevices);

	(void)hDriver;
	for (uint32_t i = 0; i < n; i++)
		phDevices[i] = &device[i];
	return ZE_RESULT_SUCCESS;
}

static ze_result_t no_subdevices(ze_device_handle_t hDevice, uint32_t *pCount, ze_device_handle_t *phSubdevices)
{
	(void)hDevice;
	(void)phSubdevices;
	*pCount = 0;
	return ZE_RESULT_SUCCESS;
}

static uint64_t total_of(const struct ze_device *d)
{
	size_t total = 0;

	soft_cu.cuDeviceTotalMem_v2(&total, d->ordinal);
	return total;
}

static ze_result_t device_properties(ze_device_handle_t hDevice, ze_device_properties_t *p)
{
	char name[200] = "";

	p->type = ZE_DEVICE_TYPE_GPU;
	p->vendorId = 0x6d65;
	p->deviceId = (uint32_t)hDevice->ordinal;
	p->flags = 0;
	p->subdeviceId = 0;
	p->coreClockRate = 1000;
	p->maxMemAllocSize = total_of(hDevice);
	p->maxHardwareContexts = 1024;
	p->maxCommandQueuePriority = 0;
	p->numThreadsPerEU = p->physicalEUSimdWidth = p->numEUsPerSubslice = p->numSubslicesPerSlice = p->numSlices = 1;
	p->timerResolution = p->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 ? CLOCK_HZ : 1;
	p->timestampValidBits = p->kernelTimestampValidBits = 64;
	soft_cu.cuDeviceGetUuid((CUuuid *)(void *)p->uuid, hDevice->ordinal);
	soft_cu.cuDeviceGetName(name, sizeof name, hDevice->ordinal);
	snprintf(p->name, sizeof p->name, "%s (stand-in)", name);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_memory(ze_device_handle_t hDevice, uint32_t *pCount, ze_device_memory_properties_t *p)
{
	if (!fit(pCount, 1, p))
		return ZE_RESULT_SUCCESS;
	p->flags = 0;
	p->maxClockRate = 1000;
	p->maxBusWidth = 64;
	p->totalSize = total_of(hDevice);
	snprintf(p->name, sizeof p->name, "device");
	for (ze_base_t *s = p->pNext; s; s = s->pNext)
		if (s->stype == ZE_STRUCTURE_TYPE_DEVICE_MEMORY_EXT_PROPERTIES)
			((ze_device_memory_ext_properties_t *)s)->physicalSize = total_of(hDevice);
	return ZE_RESULT_SUCCESS;
}

/* Group 0 does everything, group 1 copies alone. */
static ze_result_t device_groups(ze_device_handle_t hDevice, uint32_t *pCount, ze_command_queue_group_properties_t *p)
{
	uint32_t n = fit(pCount, 2, p);

	(void)hDevice;
	for (uint32_t i = 0; i < n; i++) {
		p[i].flags =
			i ? ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY
			  : ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
		p[i].maxMemoryFillPatternSize = 4;
		p[i].numQueues = 4;
	}
	return ZE_RESULT_SUCCESS;
}

/* Sysman: a device has one memory module, whose handle is the device's. ---------------------------------------------
 */

static ze_result_t sysman_properties(zes_device_handle_t hDevice, zes_device_properties_t *p)
{
	p->core.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
	p->core.pNext = NULL;
	p->numSubdevices = 0;
	snprintf(p->vendorName, sizeof p->vendorName, "mete");
	return device_properties(hDevice, &p->core);
}

static ze_result_t sysman_modules(zes_device_handle_t hDevice, uint32_t *pCount, zes_mem_handle_t *phMemory)
{
	if (fit(pCount, 1, phMemory))
		*phMemory = (zes_mem_handle_t)(void *)&hDevice->base_ns;
	return ZE_RESULT_SUCCESS;
}

static struct ze_device *device_of(zes_mem_handle_t memory)
{
	return (struct ze_device *)(void *)((char *)memory - offsetof(struct ze_device, base_ns));
}

static ze_result_t module_properties(zes_mem_handle_t hMemory, zes_mem_properties_t *p)
{
	p->type = 0;
	p->onSubdevice = 0;
	p->location = ZES_MEM_LOC_DEVICE;
	p->physicalSize = total_of(device_of(hMemory));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t module_state(zes_mem_handle_t hMemory, zes_mem_state_t *p)
{
	size_t free = 0, total = 0;
	CUresult r;

	ON_DEVICE(device_of(hMemory));
	r = soft_cu.cuMemGetInfo_v2(&free, &total);
	p->health = 1;
	p->free = free;
	p->size = total;
	return soft_said(r);
}

void soft_fill_device(struct levelzero_table *t)
{
	t->zeInit = init;
	t->zeInitDrivers = init_drivers;
	t->zeDriverGet = driver_get;
	t->zeDriverGetApiVersion = driver_version;
	t->zeDriverGetProperties = driver_properties;
	t->zeDriverGetExtensionProperties = driver_extensions;
	t->zeDriverGetExtensionFunctionAddress = driver_function;
	t->zeDeviceGet = device_get;
	t->zeDeviceGetSubDevices = no_subdevices;
	t->zeDeviceGetProperties = device_properties;
	t->zeDeviceGetMemoryProperties = device_memory;
	t->zeDeviceGetCommandQueueGroupProperties = device_groups;
	t->zesInit = init;
	t->zesDriverGet = driver_get;
	t->zesDeviceGet = device_get;
	t->zesDeviceGetProperties = sysman_properties;
	t->zesDeviceEnumMemoryModules = sysman_modules;
	t->zesMemoryGetProperties = module_properties;
	t->zesMemoryGetState = module_state;
}

/* What the loader asks ----------------------------------------------------------------------------------------------
 */

static struct levelzero_table table;

static void fill(void)
{
	soft_fill_device(&table);
	soft_fill_memory(&table);
	soft_fill_lists(&table);
	soft_fill_events(&table);
	soft_fill_modules(&table);
}

ze_result_t levelzero_get(unsigned int part, uint32_t version, void **ret)
{
	static pthread_once_t filled = PTHREAD_ONCE_INIT;
	const struct levelzero_part *p = &levelzero_parts[part];

	if (version >> 16 != 1)
		return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
	pthread_once(&filled, fill);
	for (unsigned int i = 0; i < p->count; i++)
		if (levelzero_since[p->first + i] <= (version & 0xffff))
			ret[i] = ((void **)&table)[p->first + i];
	return ZE_RESULT_SUCCESS;
}
