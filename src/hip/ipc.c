/* ipc.c: see ipc.h. */
#include "hip/ipc.h"
#include "core/account.h"
#include "core/charge.h"
#include "core/gate.h"
#include "core/sharing.h"
#include "hip/devices.h"
#include "hip/memory.h"

#define DEVICE_ORDINAL 9 /* HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL, since ROCm 5.0 */

/* The software device counts what is smaller than a page to its maker. */
static bool is_too_small(unsigned int device, uint64_t units)
{
	return accounts[device].soft && units < SOFT_PAGE_UNITS;
}

/* The charge goes from the record to the grant's object. Another thread may free the memory meanwhile. */
static void move(const hipIpcMemHandle_t *handle, const struct record *r)
{
	uint8_t key[WIRE_KEY_BYTES];
	int id;

	sharing_key_of_bytes(handle, sizeof *handle, key);
	id = sharing_share(key, r->device, r->units);
	if (records_share(r->key, id == SHARING_NONE ? SHARING_OWN : (uint32_t)id, r->units))
		return;
	if (id == SHARING_NONE)
		memory_give(r->device, r->units);
	else
		sharing_drop((uint32_t)id);
}

hipError_t shim_hipIpcGetMemHandle(hipIpcMemHandle_t *handle, void *devPtr)
{
	struct record record;
	hipDeviceptr_t base;
	size_t size;
	hipError_t r = start_refusal();
	uint64_t key;

	if (r == hipSuccess)
		r = shim_real.hipIpcGetMemHandle(handle, devPtr);
	if (r != hipSuccess || !start_is_metered() ||
	    shim_real.hipMemGetAddressRange(&base, &size, devPtr) != hipSuccess)
		return r;
	key = record_pointer((uint64_t)(uintptr_t)base);
	if (records_find(key, &record) && !is_too_small(record.device, record.size_units) && records_lift(key, &record))
		move(handle, &record);
	return r;
}

/* Where it really lies, which need not be the thread's device. An older library does not say. */
static bool find_device(void *p, unsigned int *ret_device)
{
	hip_ordinal real;

	if (start_has(HIP_CALL_hipPointerGetAttribute) &&
	    shim_real.hipPointerGetAttribute(&real, DEVICE_ORDINAL, p) == hipSuccess)
		return devices_find(real, ret_device);
	return devices_current(ret_device);
}

/*
 * Nobody has exported it under this grant, or none could tell meted: others of the grant who open it find it here. No
 * key: it is nobody's object, and charged here beside its owner.
 */
static hipError_t charge_opened(void *p, const uint8_t *key, struct record *record)
{
	hipDeviceptr_t base;
	struct charge c;
	size_t size;
	int id;

	record->extra = SHARING_OWN;
	/* Of what size it is not known cannot be charged, so it is not had. */
	if (shim_real.hipMemGetAddressRange(&base, &size, p) != hipSuccess)
		return start_no_memory();
	if (is_too_small(record->device, wire_units(size)))
		return hipSuccess;
	if (charge_begin_units(&c, record->device, wire_units(size)) != CHARGE_HELD)
		return start_no_memory();
	gate_leave();
	id = key ? sharing_share(key, record->device, c.units) : SHARING_NONE;
	if (id == SHARING_NONE)
		record->size_units = c.units;
	else
		record->extra = (uint32_t)id;
	return hipSuccess;
}

/* A new opening, of the object `id` or of none. Of one that cannot be charged nothing is left. */
static hipError_t add_opened(void *p, const uint8_t *key, int id, hipError_t (*undo)(void *p))
{
	struct record record = { .key = record_pointer((uint64_t)(uintptr_t)p),
				 .kind = RECORD_IMPORTED,
				 .extra = (uint32_t)id };
	hipError_t r = hipErrorInvalidDevice;
	unsigned int device;

	if (find_device(p, &device)) {
		record.device = (uint8_t)device;
		record.context = devices_place(device);
		r = id < 0 ? charge_opened(p, key, &record) : hipSuccess;
	}
	if (r == hipSuccess && records_add(&record))
		return r;
	undo(p);
	if (r == hipSuccess || id >= 0)
		ipc_let_go(&record);
	return r == hipSuccess ? start_no_memory() : r;
}

/* The library answers further openings of a handle with the same address, and counts them; so does the record. */
static hipError_t open_locked(void **pointer, hipIpcMemHandle_t handle, unsigned int flags)
{
	uint8_t key[WIRE_KEY_BYTES];
	struct record record;
	hipError_t r;
	int id;

	sharing_key_of_bytes(&handle, sizeof handle, key);
	id = sharing_import(key);
	r = shim_real.hipIpcOpenMemHandle(pointer, handle, flags);
	if (r == hipSuccess && !records_take(record_pointer((uint64_t)(uintptr_t)*pointer), &record)) {
		r = add_opened(*pointer, key, id, shim_real.hipIpcCloseMemHandle);
		if (r != hipSuccess)
			*pointer = NULL;
		return r;
	}
	if (r == hipSuccess) {
		record.units++;
		records_add(&record); /* into the place that it left just now */
	}
	if (id >= 0)
		sharing_drop((uint32_t)id);
	return r;
}

hipError_t shim_hipIpcOpenMemHandle(void **devPtr, hipIpcMemHandle_t handle, unsigned int flags)
{
	hipError_t r = start_refusal();

	if (r != hipSuccess || !start_is_metered() || !devPtr)
		return r == hipSuccess ? shim_real.hipIpcOpenMemHandle(devPtr, handle, flags) : r;
	sharing_openings_lock();
	r = open_locked(devPtr, handle, flags);
	sharing_openings_unlock();
	return r;
}

static hipError_t close_locked(void *p)
{
	struct record record;
	bool ours = records_take(record_pointer((uint64_t)(uintptr_t)p), &record);
	hipError_t r = shim_real.hipIpcCloseMemHandle(p);

	if (ours && r == hipSuccess && record.kind == RECORD_IMPORTED && !record.units) {
		ipc_let_go(&record);
	} else if (ours) {
		record.units -= r == hipSuccess && record.kind == RECORD_IMPORTED;
		records_add(&record);
	}
	return r;
}

hipError_t shim_hipIpcCloseMemHandle(void *devPtr)
{
	hipError_t r;

	if (!start_is_metered())
		return shim_real.hipIpcCloseMemHandle(devPtr);
	sharing_openings_lock();
	r = close_locked(devPtr);
	sharing_openings_unlock();
	return r;
}

/* Memory of another process's pool: it stays as long as this process has it, whatever its owner does. */
hipError_t shim_hipMemPoolImportPointer(void **dev_ptr, hipMemPool_t mem_pool, hipMemPoolPtrExportData *export_data)
{
	hipError_t r = start_refusal();

	if (r == hipSuccess)
		r = shim_real.hipMemPoolImportPointer(dev_ptr, mem_pool, export_data);
	if (r != hipSuccess || !start_is_metered() || !dev_ptr)
		return r;
	r = add_opened(*dev_ptr, NULL, SHARING_NONE, shim_real.hipFree);
	if (r != hipSuccess)
		*dev_ptr = NULL;
	return r;
}

void ipc_let_go(const struct record *r)
{
	if (r->extra != SHARING_OWN)
		sharing_drop(r->extra);
	else if (r->kind == RECORD_IMPORTED)
		memory_give(r->device, r->size_units);
}
