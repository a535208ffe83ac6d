/* devices.c: see devices.h. And what the driver says of devices, as far as it is the share that counts. */
#include "levelzero/devices.h"
#include "core/account.h"
#include "core/attach.h"
#include "core/log.h"
#include "levelzero/memory.h"

#include <pthread.h>
#include <string.h>

#define KNOWN_MOST 512u
#define LISTED_MOST 128u
#define NOT_GRANTED (-1)

/* A device, a tile or a memory module. */
static struct known {
	const void *handle;
	int index; /* in the grant, or NOT_GRANTED */
} known[KNOWN_MOST];
static _Atomic uint32_t known_count;			 /* places before it do not change any more */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards additions */

static const struct known *find(const void *handle)
{
	uint32_t count = atomic_load_explicit(&known_count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++)
		if (known[i].handle == handle)
			return &known[i];
	return NULL;
}

/* Where there is no room the handle is asked for again each time. Value: `index`. */
static int add(const void *handle, int index)
{
	uint32_t count;

	pthread_mutex_lock(&lock);
	count = atomic_load_explicit(&known_count, memory_order_relaxed);
	if (!find(handle) && count < KNOWN_MOST) {
		known[count] = (struct known){ handle, index };
		atomic_store_explicit(&known_count, count + 1, memory_order_release);
	}
	pthread_mutex_unlock(&lock);
	return index;
}

static int by_uuid(const uint8_t uuid[16])
{
	const struct wire_welcome *welcome = attach_welcome();

	for (unsigned int i = 0; i < welcome->device_count; i++)
		if (!memcmp(welcome->device[i].uuid, uuid, 16))
			return (int)i;
	return NOT_GRANTED;
}

static int index_of(ze_device_handle_t device)
{
	ze_device_properties_t p = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
	const struct known *k = find(device);

	if (k)
		return k->index;
	if (levelzero_real.zeDeviceGetProperties(device, &p) != ZE_RESULT_SUCCESS)
		return NOT_GRANTED;
	return add(device, by_uuid(p.uuid));
}

static int sysman_index_of(zes_device_handle_t device)
{
	zes_device_properties_t p = { .stype = ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES };
	const struct known *k = find(device);

	if (k)
		return k->index;
	if (levelzero_real.zesDeviceGetProperties(device, &p) != ZE_RESULT_SUCCESS)
		return NOT_GRANTED;
	return add(device, by_uuid(p.core.uuid));
}

bool devices_find(ze_device_handle_t device, unsigned int *ret_index)
{
	int index = device ? index_of(device) : NOT_GRANTED;

	if (index == NOT_GRANTED)
		return false;
	*ret_index = (unsigned int)index;
	return true;
}

void devices_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	atomic_store_explicit(&known_count, 0, memory_order_relaxed);
}

/* Lists -------------------------------------------------------------------------------------------------------------
 */

/* Once: the program will say that there is no device, and its user wants to know why. */
static void tell_hidden(uint32_t there, uint32_t kept)
{
	static _Atomic bool told;

	if (there && !kept && !atomic_exchange(&told, true))
		log_line("none of Level Zero's %u devices is of the grant '%s': the program sees no device", there,
			 attach_welcome()->grant_name);
}

/* As the driver lists, without what is not granted: with *count 0 the number alone is asked for. */
static ze_result_t list(ze_result_t (*ask)(ze_driver_handle_t, uint32_t *, ze_device_handle_t *),
			int (*index)(ze_device_handle_t), ze_driver_handle_t driver, uint32_t *count,
			ze_device_handle_t *devices)
{
	ze_device_handle_t all[LISTED_MOST];
	uint32_t there = LISTED_MOST, kept = 0, most;
	ze_result_t r = ask(driver, &there, all);

	if (r != ZE_RESULT_SUCCESS || !count)
		return r == ZE_RESULT_SUCCESS ? ZE_RESULT_ERROR_INVALID_NULL_POINTER : r;
	for (uint32_t i = 0; i < there && i < LISTED_MOST; i++)
		if (index(all[i]) != NOT_GRANTED)
			all[kept++] = all[i];
	tell_hidden(there, kept);
	most = *count && *count < kept ? *count : kept;
	for (uint32_t i = 0; devices && *count && i < most; i++)
		devices[i] = all[i];
	*count = most;
	return r;
}

ze_result_t face_zeDeviceGet(ze_driver_handle_t hDriver, uint32_t *pCount, ze_device_handle_t *phDevices)
{
	return start_is_metered() ? list(levelzero_real.zeDeviceGet, index_of, hDriver, pCount, phDevices)
				  : levelzero_real.zeDeviceGet(hDriver, pCount, phDevices);
}

ze_result_t face_zesDeviceGet(zes_driver_handle_t hDriver, uint32_t *pCount, zes_device_handle_t *phDevices)
{
	return start_is_metered() ? list(levelzero_real.zesDeviceGet, sysman_index_of, hDriver, pCount, phDevices)
				  : levelzero_real.zesDeviceGet(hDriver, pCount, phDevices);
}

ze_result_t face_zeDeviceGetSubDevices(ze_device_handle_t hDevice, uint32_t *pCount, ze_device_handle_t *phSubdevices)
{
	ze_result_t r = levelzero_real.zeDeviceGetSubDevices(hDevice, pCount, phSubdevices);

	for (uint32_t i = 0; r == ZE_RESULT_SUCCESS && phSubdevices && i < *pCount && start_is_metered(); i++)
		add(phSubdevices[i], index_of(hDevice));
	return r;
}

/* Figures -----------------------------------------------------------------------------------------------------------
 */

static void clamp(unsigned int index, uint64_t *bytes)
{
	uint64_t most = account_quota_bytes(index);

	if (*bytes > most)
		*bytes = most;
}

ze_result_t face_zeDeviceGetProperties(ze_device_handle_t hDevice, ze_device_properties_t *pDeviceProperties)
{
	ze_result_t r = levelzero_real.zeDeviceGetProperties(hDevice, pDeviceProperties);
	unsigned int index;

	if (r == ZE_RESULT_SUCCESS && start_is_metered() && devices_find(hDevice, &index))
		clamp(index, &pDeviceProperties->maxMemAllocSize);
	return r;
}

/* A device has one memory or several; none is larger than the share. */
ze_result_t face_zeDeviceGetMemoryProperties(ze_device_handle_t hDevice, uint32_t *pCount,
					     ze_device_memory_properties_t *pMemProperties)
{
	ze_result_t r = levelzero_real.zeDeviceGetMemoryProperties(hDevice, pCount, pMemProperties);
	unsigned int index;

	if (r != ZE_RESULT_SUCCESS || !pMemProperties || !start_is_metered() || !devices_find(hDevice, &index))
		return r;
	for (uint32_t i = 0; i < *pCount; i++) {
		clamp(index, &pMemProperties[i].totalSize);
		for (ze_base_t *s = pMemProperties[i].pNext; s; s = s->pNext)
			if (s->stype == ZE_STRUCTURE_TYPE_DEVICE_MEMORY_EXT_PROPERTIES)
				clamp(index, &((ze_device_memory_ext_properties_t *)s)->physicalSize);
	}
	return r;
}

static bool is_on_device(zes_mem_handle_t memory)
{
	zes_mem_properties_t p = { .stype = 0, .location = ZES_MEM_LOC_DEVICE };

	return !levelzero_real.zesMemoryGetProperties ||
	       levelzero_real.zesMemoryGetProperties(memory, &p) != ZE_RESULT_SUCCESS ||
	       p.location == ZES_MEM_LOC_DEVICE;
}

ze_result_t face_zesDeviceEnumMemoryModules(zes_device_handle_t hDevice, uint32_t *pCount, zes_mem_handle_t *phMemory)
{
	ze_result_t r = levelzero_real.zesDeviceEnumMemoryModules(hDevice, pCount, phMemory);

	for (uint32_t i = 0; r == ZE_RESULT_SUCCESS && phMemory && i < *pCount && start_is_metered(); i++)
		if (!find(phMemory[i]))
			add(phMemory[i], is_on_device(phMemory[i]) ? sysman_index_of(hDevice) : NOT_GRANTED);
	return r;
}

static bool module_find(zes_mem_handle_t memory, unsigned int *ret_index)
{
	const struct known *k = start_is_metered() ? find(memory) : NULL;

	if (!k || k->index == NOT_GRANTED)
		return false;
	*ret_index = (unsigned int)k->index;
	return true;
}

ze_result_t face_zesMemoryGetProperties(zes_mem_handle_t hMemory, zes_mem_properties_t *pProperties)
{
	ze_result_t r = levelzero_real.zesMemoryGetProperties(hMemory, pProperties);
	unsigned int index;

	if (r == ZE_RESULT_SUCCESS && module_find(hMemory, &index))
		clamp(index, &pProperties->physicalSize);
	return r;
}

/* Free is what the grant has left, where the card has that much. */
ze_result_t face_zesMemoryGetState(zes_mem_handle_t hMemory, zes_mem_state_t *pState)
{
	ze_result_t r = levelzero_real.zesMemoryGetState(hMemory, pState);
	uint64_t quota, held, left;
	unsigned int index;

	if (r != ZE_RESULT_SUCCESS || !module_find(hMemory, &index))
		return r;
	memory_look(index);
	account_info(index, &quota, &held);
	left = held < quota ? quota - held : 0;
	if (pState->size > quota)
		pState->size = quota;
	if (pState->free > left)
		pState->free = left;
	return r;
}
