/*
 * empty.c: a driver of Level Zero that does nothing, with one device of its own (a UUID that is a place on the PCI bus,
 * as Intel's driver makes them; LEVELZERO_OWN_UUID: none such): for meted's probe, and for what the face adds to a
 * call. LEVELZERO_SICK: "crash" or "hang" in its initialisation. Memory is an address that nothing lies at; work has
 * ended when it is given to a queue.
 */
#include "levelzero_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct ze_driver {
	int unused;
} the_driver;
static struct ze_device {
	int unused;
} the_device;

static ze_result_t init(uint32_t flags)
{
	const char *how = getenv("LEVELZERO_SICK");

	(void)flags;
	if (how && !strcmp(how, "crash"))
		abort();
	while (how && !strcmp(how, "hang"))
		sleep(1);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t driver_get(uint32_t *pCount, ze_driver_handle_t *phDrivers)
{
	if (*pCount && phDrivers)
		*phDrivers = &the_driver;
	*pCount = 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t driver_version(ze_driver_handle_t hDriver, uint32_t *version)
{
	(void)hDriver;
	*version = ZE_VERSION(1, 13);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_get(ze_driver_handle_t hDriver, uint32_t *pCount, ze_device_handle_t *phDevices)
{
	(void)hDriver;
	if (*pCount && phDevices)
		*phDevices = &the_device;
	*pCount = 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_properties(ze_device_handle_t hDevice, ze_device_properties_t *p)
{
	static const uint8_t uuid[16] = { 0x86, 0x80, 0xc1, 0x56, 5, 0, 0, 0, 3, 0, 0 }; /* 0000:03:00.0 */
	const char *own = getenv("LEVELZERO_OWN_UUID");

	(void)hDevice;
	p->type = ZE_DEVICE_TYPE_GPU;
	p->maxMemAllocSize = 1ull << 30;
	p->timerResolution = p->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 ? 1000000000u : 1;
	p->timestampValidBits = p->kernelTimestampValidBits = 64;
	memcpy(p->uuid, uuid, sizeof uuid);
	if (own)
		p->uuid[12] = 7; /* no place */
	snprintf(p->name, sizeof p->name, "a card for tests");
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_memory(ze_device_handle_t hDevice, uint32_t *pCount, ze_device_memory_properties_t *p)
{
	(void)hDevice;
	if (*pCount && p)
		p->totalSize = 1ull << 30;
	*pCount = 1;
	return ZE_RESULT_SUCCESS;
}

/* Work and memory ---------------------------------------------------------------------------------------------------
 */

struct ze_event {
	uint64_t at;
};

struct ze_command_list {
	struct ze_event *event; /* that it signals */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* An object of which only the address counts, or what an event and a list have. */
static ze_result_t make(void *ret)
{
	*(void **)ret = calloc(1, sizeof(struct ze_event));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t unmake(void *object)
{
	free(object);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_groups(ze_device_handle_t hDevice, uint32_t *pCount, ze_command_queue_group_properties_t *p)
{
	(void)hDevice;
	if (*pCount && p)
		p->flags = 3;
	*pCount = 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t context_create(ze_driver_handle_t hDriver, const ze_context_desc_t *desc, ze_context_handle_t *ret)
{
	(void)hDriver;
	(void)desc;
	return make(ret);
}

static ze_result_t alloc(ze_context_handle_t hContext, const ze_device_mem_alloc_desc_t *desc, size_t size,
			 size_t alignment, ze_device_handle_t hDevice, void **pptr)
{
	static uint64_t at = 1ull << 40;

	(void)hContext;
	(void)desc;
	(void)alignment;
	(void)hDevice;
	*pptr = (void *)(uintptr_t)at;
	at += (size + 511) / 512 * 512;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t dealloc(ze_context_handle_t hContext, void *ptr)
{
	(void)hContext;
	(void)ptr;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t queue_create(ze_context_handle_t hContext, ze_device_handle_t hDevice,
				const ze_command_queue_desc_t *desc, ze_command_queue_handle_t *ret)
{
	(void)hContext;
	(void)hDevice;
	(void)desc;
	return make(ret);
}

static ze_result_t immediate_create(ze_context_handle_t hContext, ze_device_handle_t hDevice,
				    const ze_command_queue_desc_t *desc, ze_command_list_handle_t *ret)
{
	(void)hContext;
	(void)hDevice;
	(void)desc;
	return make(ret);
}

static ze_result_t list_create(ze_context_handle_t hContext, ze_device_handle_t hDevice,
			       const ze_command_list_desc_t *desc, ze_command_list_handle_t *ret)
{
	(void)hContext;
	(void)hDevice;
	(void)desc;
	return make(ret);
}

static ze_result_t list_destroy(ze_command_list_handle_t list)
{
	return unmake(list);
}

static ze_result_t queue_destroy(ze_command_queue_handle_t queue)
{
	return unmake(queue);
}

static ze_result_t list_close(ze_command_list_handle_t list)
{
	(void)list;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t barrier(ze_command_list_handle_t list, ze_event_handle_t event, uint32_t count,
			   ze_event_handle_t *waits)
{
	(void)count;
	(void)waits;
	list->event = event;
	if (event)
		event->at = now_ns();
	return ZE_RESULT_SUCCESS;
}

static ze_result_t execute(ze_command_queue_handle_t queue, uint32_t count, ze_command_list_handle_t *lists,
			   ze_fence_handle_t fence)
{
	(void)queue;
	(void)fence;
	for (uint32_t i = 0; i < count; i++)
		if (lists[i]->event)
			lists[i]->event->at = now_ns();
	return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel(ze_command_list_handle_t list, ze_kernel_handle_t hKernel, const ze_group_count_t *groups,
			  ze_event_handle_t event, uint32_t count, ze_event_handle_t *waits)
{
	(void)list;
	(void)hKernel;
	(void)groups;
	(void)event;
	(void)count;
	(void)waits;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t queue_wait(ze_command_queue_handle_t queue, uint64_t timeout)
{
	(void)queue;
	(void)timeout;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t pool_create(ze_context_handle_t hContext, const ze_event_pool_desc_t *desc, uint32_t count,
			       ze_device_handle_t *devices, ze_event_pool_handle_t *ret)
{
	(void)hContext;
	(void)desc;
	(void)count;
	(void)devices;
	return make(ret);
}

static ze_result_t pool_destroy(ze_event_pool_handle_t pool)
{
	return unmake(pool);
}

static ze_result_t event_create(ze_event_pool_handle_t pool, const ze_event_desc_t *desc, ze_event_handle_t *ret)
{
	(void)pool;
	(void)desc;
	return make(ret);
}

static ze_result_t event_destroy(ze_event_handle_t event)
{
	return unmake(event);
}

static ze_result_t event_is(ze_event_handle_t event)
{
	(void)event;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_wait(ze_event_handle_t event, uint64_t timeout)
{
	(void)event;
	(void)timeout;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_stamp(ze_event_handle_t event, ze_kernel_timestamp_result_t *ret)
{
	ret->global.kernelStart = ret->global.kernelEnd = event->at;
	ret->context = ret->global;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t module_create(ze_context_handle_t hContext, ze_device_handle_t hDevice, const ze_module_desc_t *desc,
				 ze_module_handle_t *ret, ze_module_build_log_handle_t *log)
{
	(void)hContext;
	(void)hDevice;
	(void)desc;
	(void)log;
	return make(ret);
}

static ze_result_t kernel_create(ze_module_handle_t hModule, const ze_kernel_desc_t *desc, ze_kernel_handle_t *ret)
{
	(void)hModule;
	(void)desc;
	return make(ret);
}

static struct levelzero_table table = {
	.zeInit = init,
	.zeDriverGet = driver_get,
	.zeDriverGetApiVersion = driver_version,
	.zeDeviceGet = device_get,
	.zeDeviceGetProperties = device_properties,
	.zeDeviceGetMemoryProperties = device_memory,
	.zeDeviceGetCommandQueueGroupProperties = device_groups,
	.zeContextCreate = context_create,
	.zeMemAllocDevice = alloc,
	.zeMemFree = dealloc,
	.zeCommandQueueCreate = queue_create,
	.zeCommandQueueDestroy = queue_destroy,
	.zeCommandQueueExecuteCommandLists = execute,
	.zeCommandQueueSynchronize = queue_wait,
	.zeCommandListCreate = list_create,
	.zeCommandListCreateImmediate = immediate_create,
	.zeCommandListDestroy = list_destroy,
	.zeCommandListClose = list_close,
	.zeCommandListAppendBarrier = barrier,
	.zeCommandListAppendLaunchKernel = kernel,
	.zeEventPoolCreate = pool_create,
	.zeEventPoolDestroy = pool_destroy,
	.zeEventCreate = event_create,
	.zeEventDestroy = event_destroy,
	.zeEventHostReset = event_is,
	.zeEventQueryStatus = event_is,
	.zeEventHostSynchronize = event_wait,
	.zeEventQueryKernelTimestamp = event_stamp,
	.zeModuleCreate = module_create,
	.zeKernelCreate = kernel_create,
};

ze_result_t levelzero_get(unsigned int part, uint32_t version, void **ret)
{
	const struct levelzero_part *p = &levelzero_parts[part];

	for (unsigned int i = 0; i < p->count; i++)
		if (levelzero_since[p->first + i] <= (version & 0xffff))
			ret[i] = ((void **)&table)[p->first + i];
	return ZE_RESULT_SUCCESS;
}
