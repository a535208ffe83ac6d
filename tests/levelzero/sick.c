/*
 * sick.c: a driver of Level Zero for the tests of meted's probe, with one device of its own (a UUID that is a place on
 * the PCI bus, as Intel's driver makes them). LEVELZERO_SICK: "crash" or "hang" in its initialisation.
 */
#include "levelzero_table.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
		raise(SIGSEGV);
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

static struct levelzero_table table = {
	.zeInit = init,
	.zeDriverGet = driver_get,
	.zeDriverGetApiVersion = driver_version,
	.zeDeviceGet = device_get,
	.zeDeviceGetProperties = device_properties,
	.zeDeviceGetMemoryProperties = device_memory,
};

ze_result_t levelzero_get(unsigned int part, uint32_t version, void **ret)
{
	const struct levelzero_part *p = &levelzero_parts[part];

	for (unsigned int i = 0; i < p->count; i++)
		if (levelzero_since[p->first + i] <= (version & 0xffff))
			ret[i] = ((void **)&table)[p->first + i];
	return ZE_RESULT_SUCCESS;
}
