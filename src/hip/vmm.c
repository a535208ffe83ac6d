/*
 * vmm.c: memory that is made, mapped and released as handles.
 *
 * Charged when it is made. It goes back when the last handle is released and the last mapping is gone. Memory of
 * another process (hipMemImportFromShareableHandle) is charged here as well: it stays when its owner lets go of it.
 */
#include "core/account.h"
#include "core/gate.h"
#include "core/map.h"
#include "hip/devices.h"
#include "hip/memory.h"
#include "hip/vmm.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ACCESSES 64u
#define MAPPINGS 64u
#define FD_MOST (UINT64_C(1) << 20) /* an address is above */
#define FIRST_VERSION 50300000	    /* of the library whose properties of memory have the layout that we know */

enum { HOLDS, UNITS, DEVICE }; /* the values of a handle */
enum { HANDLE, SIZE };	       /* and of a mapping */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the maps */
static struct map handles, mappings;

static uint64_t key_of(hipMemGenericAllocationHandle_t handle)
{
	return (uint64_t)(uintptr_t)handle;
}

static bool is_known_layout(void)
{
	int version = 0;

	return shim_real.hipRuntimeGetVersion(&version) == hipSuccess && version >= FIRST_VERSION;
}

/* What a call made is charged; it is remembered, or undone. */
static hipError_t made(hipError_t r, struct charge *c, hipMemGenericAllocationHandle_t handle)
{
	struct map_entry entry = { .key = key_of(handle), .value = { 1, c->units, c->device } };
	struct map_entry *known;
	bool added;

	if (r != hipSuccess) {
		charge_cancel(c);
		return r;
	}
	pthread_mutex_lock(&lock);
	known = map_find(&handles, entry.key);
	if (known) /* our own memory came back under its handle */
		known->value[HOLDS]++;
	added = known || map_add(&handles, &entry);
	pthread_mutex_unlock(&lock);
	if (!added)
		shim_real.hipMemRelease(handle);
	if (known || !added)
		charge_cancel(c);
	else
		gate_leave();
	return added ? r : start_no_memory();
}

hipError_t shim_hipMemCreate(hipMemGenericAllocationHandle_t *handle, size_t size, const hipMemAllocationProp *prop,
			     unsigned long long flags)
{
	hipError_t r = start_refusal();
	hipMemAllocationProp mine;
	unsigned int device;
	struct charge c = { 0 };

	if (r != hipSuccess || !start_is_metered() || !prop || !handle)
		return r == hipSuccess ? shim_real.hipMemCreate(handle, size, prop, flags) : r;
	if (!is_known_layout())
		return hipErrorNotSupported;
	mine = *prop;
	mine.location = devices_location(mine.location);
	if (mine.location.type != hipMemLocationTypeDevice)
		return shim_real.hipMemCreate(handle, size, &mine, flags);
	if (!devices_find(mine.location.id, &device))
		return hipErrorInvalidDevice;
	if (charge_begin_units(&c, device, wire_units(size)) != CHARGE_HELD)
		return start_no_memory();
	r = shim_real.hipMemCreate(handle, size, &mine, flags);
	return made(r, &c, r == hipSuccess ? *handle : NULL);
}

/* One more holds it. Nothing happens for what is not ours. */
static void hold(uint64_t key)
{
	struct map_entry *e;

	pthread_mutex_lock(&lock);
	e = map_find(&handles, key);
	if (e)
		e->value[HOLDS]++;
	pthread_mutex_unlock(&lock);
}

/*
 * One fewer, before the library's call: once that has let go of it, another thread may be given the same handle. Of the
 * last one the entry comes to *ret_gone, to be given back after the call, or to be put back.
 */
static void let_go(uint64_t key, struct map_entry *ret_gone)
{
	struct map_entry *e;

	*ret_gone = (struct map_entry){ 0 };
	pthread_mutex_lock(&lock);
	e = map_find(&handles, key);
	if (e && !--e->value[HOLDS])
		map_remove(&handles, key, ret_gone);
	pthread_mutex_unlock(&lock);
}

static void give_back(const struct map_entry *gone)
{
	if (gone->key)
		memory_give((unsigned int)gone->value[DEVICE], (uint32_t)gone->value[UNITS]);
}

/* The library has refused. */
static void put_back(uint64_t key, struct map_entry *gone)
{
	if (!gone->key) {
		hold(key);
		return;
	}
	gone->value[HOLDS] = 1;
	pthread_mutex_lock(&lock);
	map_add(&handles, gone);
	pthread_mutex_unlock(&lock);
}

static void drop(uint64_t key)
{
	struct map_entry gone;

	let_go(key, &gone);
	give_back(&gone);
}

/*
 * The size of exported memory, as its descriptor tells it (a dma-buf's, or the software device's file). The library
 * takes a number, or the address of one. 0: unknown.
 */
static uint64_t exported_units(void *os_handle)
{
	uint64_t value = (uint64_t)(uintptr_t)os_handle;
	int fd = value < FD_MOST ? (int)value : *(const int *)os_handle, saved = errno;
	long size = syscall(SYS_lseek, fd, 0, SEEK_END);

	if (size > 0)
		syscall(SYS_lseek, fd, 0, SEEK_SET);
	errno = saved;
	return size > 0 ? wire_units((uint64_t)size) : 0;
}

/* Moves the charge to the device on which the library says that the memory is. False: it is not to be had. */
static bool charge_where(hipMemGenericAllocationHandle_t handle, struct charge *c)
{
	hipMemAllocationProp prop = { 0 };
	struct charge there = { 0 };
	unsigned int device;

	if (!is_known_layout() || !start_has(HIP_CALL_hipMemGetAllocationPropertiesFromHandle) ||
	    shim_real.hipMemGetAllocationPropertiesFromHandle(&prop, handle) != hipSuccess)
		return true;
	if (prop.location.type != hipMemLocationTypeDevice || !devices_find(prop.location.id, &device))
		return false;
	if (device == c->device)
		return true;
	gate_leave();
	if (charge_begin_units(&there, device, c->units) != CHARGE_HELD) {
		gate_enter();
		return false;
	}
	account_give(c->device, c->units);
	*c = there;
	return true;
}

/* Of what size it is not known cannot be charged, so it is not had. */
hipError_t shim_hipMemImportFromShareableHandle(hipMemGenericAllocationHandle_t *handle, void *osHandle,
						hipMemAllocationHandleType shHandleType)
{
	hipError_t r = start_refusal();
	struct charge c = { 0 };
	unsigned int device;
	uint64_t units;

	if (r != hipSuccess || !start_is_metered() || !handle)
		return r == hipSuccess ? shim_real.hipMemImportFromShareableHandle(handle, osHandle, shHandleType) : r;
	units = exported_units(osHandle);
	if (!units)
		return hipErrorNotSupported;
	if (!devices_current(&device) || charge_begin_units(&c, device, units) != CHARGE_HELD)
		return start_no_memory();
	r = shim_real.hipMemImportFromShareableHandle(handle, osHandle, shHandleType);
	if (r == hipSuccess && !charge_where(*handle, &c)) {
		shim_real.hipMemRelease(*handle);
		r = start_no_memory();
	}
	return made(r, &c, r == hipSuccess ? *handle : NULL);
}

hipError_t shim_hipMemRelease(hipMemGenericAllocationHandle_t handle)
{
	struct map_entry gone;
	hipError_t r;

	let_go(key_of(handle), &gone);
	r = shim_real.hipMemRelease(handle);
	if (r == hipSuccess)
		give_back(&gone);
	else
		put_back(key_of(handle), &gone);
	return r;
}

hipError_t shim_hipMemRetainAllocationHandle(hipMemGenericAllocationHandle_t *handle, void *addr)
{
	hipError_t r = shim_real.hipMemRetainAllocationHandle(handle, addr);

	if (r == hipSuccess && handle)
		hold(key_of(*handle));
	return r;
}

/* The hold comes first: a release by another thread must not be the last one meanwhile. */
hipError_t shim_hipMemMap(void *ptr, size_t size, size_t offset, hipMemGenericAllocationHandle_t handle,
			  unsigned long long flags)
{
	struct map_entry entry = { .key = (uint64_t)(uintptr_t)ptr, .value = { key_of(handle), size, 0 } };
	bool added;
	hipError_t r;

	hold(key_of(handle));
	r = shim_real.hipMemMap(ptr, size, offset, handle, flags);
	if (r != hipSuccess) {
		drop(key_of(handle));
		return r;
	}
	pthread_mutex_lock(&lock);
	added = map_add(&mappings, &entry);
	pthread_mutex_unlock(&lock);
	if (added)
		return r;
	shim_real.hipMemUnmap(ptr, size);
	drop(key_of(handle));
	return start_no_memory();
}

/* Of those that begin at `at` and follow each other up to `end` the next. Value: false: there is none. */
static bool take_mapping(uint64_t at, uint64_t end, struct map_entry *ret)
{
	*ret = (struct map_entry){ 0 };
	pthread_mutex_lock(&lock);
	if (at < end)
		map_remove(&mappings, at, ret);
	pthread_mutex_unlock(&lock);
	return ret->key && ret->value[SIZE];
}

static void put_mappings(const struct map_entry *list, unsigned int count)
{
	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < count; i++)
		map_add(&mappings, &list[i]);
	pthread_mutex_unlock(&lock);
}

/*
 * A range may have several mappings, one behind the other. They are taken out before the library's call, for another
 * thread may map something else there as soon as it has; those beyond the places of the list afterwards.
 */
hipError_t shim_hipMemUnmap(void *ptr, size_t size)
{
	uint64_t at = (uint64_t)(uintptr_t)ptr, end = at + size;
	struct map_entry gone[MAPPINGS], more;
	unsigned int count = 0;
	hipError_t r;

	for (; count < MAPPINGS && take_mapping(at, end, &gone[count]); count++)
		at += gone[count].value[SIZE];
	r = shim_real.hipMemUnmap(ptr, size);
	if (r != hipSuccess) {
		put_mappings(gone, count);
		return r;
	}
	for (unsigned int i = 0; i < count; i++)
		drop(gone[i].value[HANDLE]);
	for (; count == MAPPINGS && take_mapping(at, end, &more); at += more.value[SIZE])
		drop(more.value[HANDLE]);
	return r;
}

/* Calls whose records name devices -------------------------------------------------------------------------------- */

static bool seen(hipMemAccessDesc list[ACCESSES], const hipMemAccessDesc *told, size_t count)
{
	if (!told || count > ACCESSES)
		return false;
	for (size_t i = 0; i < count; i++) {
		list[i] = told[i];
		list[i].location = devices_location(told[i].location);
	}
	return true;
}

hipError_t shim_hipMemSetAccess(void *ptr, size_t size, const hipMemAccessDesc *desc, size_t count)
{
	hipMemAccessDesc list[ACCESSES];

	return shim_real.hipMemSetAccess(ptr, size, seen(list, desc, count) ? list : desc, count);
}

hipError_t shim_hipMemPoolSetAccess(hipMemPool_t mem_pool, const hipMemAccessDesc *desc_list, size_t count)
{
	hipMemAccessDesc list[ACCESSES];

	return shim_real.hipMemPoolSetAccess(mem_pool, seen(list, desc_list, count) ? list : desc_list, count);
}

hipError_t shim_hipMemGetAccess(unsigned long long *flags, const hipMemLocation *location, void *ptr)
{
	hipMemLocation mine = location ? devices_location(*location) : (hipMemLocation){ 0 };

	return shim_real.hipMemGetAccess(flags, location ? &mine : NULL, ptr);
}

hipError_t shim_hipMemPoolGetAccess(hipMemAccessFlags *flags, hipMemPool_t mem_pool, hipMemLocation *location)
{
	hipMemLocation mine = location ? devices_location(*location) : (hipMemLocation){ 0 };

	return shim_real.hipMemPoolGetAccess(flags, mem_pool, location ? &mine : NULL);
}

hipError_t shim_hipMemGetAllocationGranularity(size_t *granularity, const hipMemAllocationProp *prop,
					       hipMemAllocationGranularity_flags option)
{
	hipMemAllocationProp mine;

	if (!prop || !is_known_layout())
		return shim_real.hipMemGetAllocationGranularity(granularity, prop, option);
	mine = *prop;
	mine.location = devices_location(mine.location);
	return shim_real.hipMemGetAllocationGranularity(granularity, &mine, option);
}

void vmm_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	handles = mappings = (struct map){ 0 };
}
