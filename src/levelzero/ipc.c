/*
 * ipc.c: see ipc.h.
 *
 * A handle is 64 bytes. Where the driver says which descriptor it has, the descriptor tells the memory, whatever number
 * it has in a process; where the driver has that call and says that there is none, the bytes do. A driver without the
 * call may have any number in them: such memory stays charged to its owner, and to whoever opens it as well.
 */
#include "levelzero/ipc.h"
#include "core/account.h"
#include "core/charge.h"
#include "core/gate.h"
#include "core/sharing.h"
#include "levelzero/devices.h"
#include "levelzero/memory.h"

/* The software device counts what is smaller than a page to its maker. */
static bool is_too_small(unsigned int device, uint64_t units)
{
	return accounts[device].soft && units < SOFT_PAGE_UNITS;
}

static bool key_of(ze_context_handle_t context, ze_ipc_mem_handle_t handle, uint8_t *ret_key)
{
	uint64_t fd = 0;

	if (!levelzero_real.zeMemGetFileDescriptorFromIpcHandleExp)
		return false;
	if (levelzero_real.zeMemGetFileDescriptorFromIpcHandleExp(context, handle, &fd) == ZE_RESULT_SUCCESS)
		return sharing_key_of_fd((int)fd, ret_key);
	sharing_key_of_bytes(&handle, sizeof handle, ret_key);
	return true;
}

/* The charge goes from the record to the grant's object. Another thread may free the memory meanwhile. */
static void move(const uint8_t *key, const struct record *r)
{
	int id = sharing_share(key, r->device, r->units);

	if (records_share(r->key, id == SHARING_NONE ? SHARING_OWN : (uint32_t)id, r->units))
		return;
	if (id == SHARING_NONE)
		memory_give(r->device, r->units);
	else
		sharing_drop((uint32_t)id);
}

ze_result_t face_zeMemGetIpcHandle(ze_context_handle_t hContext, const void *ptr, ze_ipc_mem_handle_t *pIpcHandle)
{
	ze_result_t r = start_refusal();
	uint8_t key[WIRE_KEY_BYTES];
	struct record record;
	void *base = NULL;
	size_t size;

	if (r == ZE_RESULT_SUCCESS)
		r = levelzero_real.zeMemGetIpcHandle(hContext, ptr, pIpcHandle);
	if (r != ZE_RESULT_SUCCESS || !start_is_metered() ||
	    levelzero_real.zeMemGetAddressRange(hContext, ptr, &base, &size) != ZE_RESULT_SUCCESS)
		return r;
	if (records_find(record_pointer((uint64_t)(uintptr_t)base), &record) &&
	    !is_too_small(record.device, record.size_units) && key_of(hContext, *pIpcHandle, key) &&
	    records_lift(record.key, &record))
		move(key, &record);
	return r;
}

/*
 * Nobody has exported it under this grant, or none could tell meted: others of the grant who open it find it here. No
 * key: it is nobody's object, and charged here beside its owner.
 */
static ze_result_t charge_opened(ze_context_handle_t context, void *p, const uint8_t *key, struct record *record)
{
	struct charge c;
	void *base;
	size_t size;
	int id;

	record->extra = SHARING_OWN;
	/* Of what size it is not known cannot be charged, so it is not had. */
	if (levelzero_real.zeMemGetAddressRange(context, p, &base, &size) != ZE_RESULT_SUCCESS)
		return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
	if (is_too_small(record->device, wire_units(size)))
		return ZE_RESULT_SUCCESS;
	if (charge_begin_units(&c, record->device, wire_units(size)) != CHARGE_HELD)
		return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
	gate_leave();
	id = key ? sharing_share(key, record->device, c.units) : SHARING_NONE;
	if (id == SHARING_NONE)
		record->size_units = c.units;
	else
		record->extra = (uint32_t)id;
	return ZE_RESULT_SUCCESS;
}

/* A new opening, of the object `id` or of none. Of one that cannot be charged nothing is left. */
static ze_result_t add_opened(ze_context_handle_t context, unsigned int device, void *p, const uint8_t *key, int id)
{
	struct record record = { .key = record_pointer((uint64_t)(uintptr_t)p),
				 .context = context,
				 .kind = RECORD_IMPORTED,
				 .device = (uint8_t)device,
				 .extra = (uint32_t)id };
	ze_result_t r = id < 0 ? charge_opened(context, p, key, &record) : ZE_RESULT_SUCCESS;

	if (r == ZE_RESULT_SUCCESS && records_add(&record))
		return r;
	levelzero_real.zeMemCloseIpcHandle(context, p);
	if (r == ZE_RESULT_SUCCESS || id >= 0)
		ipc_let_go(&record);
	return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

/* A driver may answer further openings of a handle with the same address, and count them; so does the record. */
static ze_result_t open_locked(ze_context_handle_t context, ze_device_handle_t device, ze_ipc_mem_handle_t handle,
			       uint32_t flags, void **pointer)
{
	uint8_t key[WIRE_KEY_BYTES];
	bool has_key = key_of(context, handle, key);
	int id = has_key ? sharing_import(key) : SHARING_NONE;
	struct record record;
	unsigned int index;
	ze_result_t r = ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;

	if (devices_find(device, &index))
		r = levelzero_real.zeMemOpenIpcHandle(context, device, handle, flags, pointer);
	if (r == ZE_RESULT_SUCCESS && !records_take(record_pointer((uint64_t)(uintptr_t)*pointer), &record)) {
		r = add_opened(context, index, *pointer, has_key ? key : NULL, id);
		if (r != ZE_RESULT_SUCCESS)
			*pointer = NULL;
		return r;
	}
	if (r == ZE_RESULT_SUCCESS) {
		record.units += record.kind == RECORD_IMPORTED;
		records_add(&record); /* into the place that it left just now */
	}
	if (id >= 0)
		sharing_drop((uint32_t)id);
	return r;
}

ze_result_t face_zeMemOpenIpcHandle(ze_context_handle_t hContext, ze_device_handle_t hDevice,
				    ze_ipc_mem_handle_t handle, uint32_t flags, void **pptr)
{
	ze_result_t r = start_refusal();

	if (r != ZE_RESULT_SUCCESS || !start_is_metered() || !pptr)
		return r == ZE_RESULT_SUCCESS
			       ? levelzero_real.zeMemOpenIpcHandle(hContext, hDevice, handle, flags, pptr)
			       : r;
	sharing_openings_lock();
	r = open_locked(hContext, hDevice, handle, flags, pptr);
	sharing_openings_unlock();
	return r;
}

void ipc_closed(ze_result_t r, struct record *record)
{
	if (r == ZE_RESULT_SUCCESS && record->kind == RECORD_IMPORTED && !record->units) {
		ipc_let_go(record);
	} else {
		record->units -= r == ZE_RESULT_SUCCESS && record->kind == RECORD_IMPORTED;
		records_add(record);
	}
}

static ze_result_t close_locked(ze_context_handle_t context, const void *p)
{
	struct record record;
	bool ours = records_take(record_pointer((uint64_t)(uintptr_t)p), &record);
	ze_result_t r = levelzero_real.zeMemCloseIpcHandle(context, p);

	if (ours)
		ipc_closed(r, &record);
	return r;
}

ze_result_t face_zeMemCloseIpcHandle(ze_context_handle_t hContext, const void *ptr)
{
	ze_result_t r;

	if (!start_is_metered())
		return levelzero_real.zeMemCloseIpcHandle(hContext, ptr);
	sharing_openings_lock();
	r = close_locked(hContext, ptr);
	sharing_openings_unlock();
	return r;
}

void ipc_let_go(const struct record *r)
{
	if (r->extra != SHARING_OWN)
		sharing_drop(r->extra);
	else if (r->kind == RECORD_IMPORTED)
		memory_give(r->device, r->size_units);
}
