/* ipc.c: cuIpc* of memory: the memory of a handle is an object of the grant (sharing.h). */
#include "cuda_shim.h"
#include "core/account.h"
#include "core/charge.h"
#include "shim/devices.h"
#include "core/gate.h"
#include "core/records.h"
#include "core/sharing.h"
#include "shim/start.h"

static bool can_move(CUdeviceptr base, const struct record *r)
{
	uint32_t granule = accounts[r->device].granule_units;

	return base % ((uint64_t)granule * WIRE_UNIT_BYTES) == 0 && r->size_units % granule == 0 &&
	       !(accounts[r->device].soft && r->size_units < SOFT_PAGE_UNITS);
}

/* The charge goes from the record to the grant's object. Another thread may free the memory meanwhile. */
static void move(const CUipcMemHandle *handle, const struct record *r)
{
	uint8_t key[WIRE_KEY_BYTES];
	int id;

	sharing_key_of_bytes(handle, sizeof *handle, key);
	id = sharing_share(key, r->device, r->units);
	if (records_share(r->key, id == SHARING_NONE ? SHARING_OWN : (uint32_t)id, r->units))
		return;
	if (id == SHARING_NONE)
		account_give(r->device, r->units);
	else
		sharing_drop((uint32_t)id);
}

/*
 * The handle names a whole allocation. On a driver with large blocks an allocation that shares a block with others
 * cannot move its charge; then it stays with us, and is missing after our death while the importer lives. So does the
 * software device's own count for what is smaller than a page.
 */
CUresult shim_cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
	struct record record;
	CUdeviceptr base;
	size_t size;
	CUresult r;

	gate_enter(); /* a driver may count the memory elsewhere from now on */
	r = shim_real.cuIpcGetMemHandle(pHandle, dptr);
	gate_leave();
	if (r == CUDA_SUCCESS && shim_real.cuMemGetAddressRange_v2(&base, &size, dptr) == CUDA_SUCCESS &&
	    records_find(record_pointer(base), &record) && can_move(base, &record) &&
	    records_lift(record_pointer(base), &record))
		move(pHandle, &record);
	return r;
}

/*
 * What no process has exported under this grant, or none could tell meted of, is charged here: it may outlive its
 * maker's hold. Others of the grant who open it find it as an object. The software device counts what is smaller than a
 * page to its maker.
 */
static CUresult charge_opened(CUdeviceptr p, const uint8_t *key, struct record *record)
{
	unsigned int device = record->device;
	int ordinal, id;
	CUdeviceptr base;
	struct charge c;
	size_t size;
	CUresult r;

	record->extra = SHARING_OWN;
	/* Of what size it is not known cannot be charged, so it is not had. */
	r = shim_real.cuMemGetAddressRange_v2(&base, &size, p);
	if (r != CUDA_SUCCESS)
		return r;
	if (accounts[device].soft && wire_units(size) < SOFT_PAGE_UNITS)
		return CUDA_SUCCESS;
	/* Where it really lies, which need not be the device of the context. */
	if (shim_real.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p) == CUDA_SUCCESS &&
	    !devices_find(ordinal, &device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (charge_begin_units(&c, device, wire_units(size)) != CHARGE_HELD)
		return CUDA_ERROR_OUT_OF_MEMORY;
	gate_leave();
	record->device = (uint8_t)device;
	id = sharing_share(key, device, c.units);
	if (id == SHARING_NONE)
		record->size_units = c.units;
	else
		record->extra = (uint32_t)id;
	return CUDA_SUCCESS;
}

/* What charge_opened() has charged goes back. */
static void give_opened(const struct record *r, bool charged)
{
	if (charged && r->extra == SHARING_OWN)
		account_give(r->device, r->size_units);
	else if (charged)
		sharing_drop(r->extra);
}

/* A new opening, of the object `id` or of none. Of one that cannot be charged nothing is left. */
static CUresult add_opened(CUdeviceptr p, const uint8_t *key, int id)
{
	struct record record = { .key = record_pointer(p), .kind = RECORD_IMPORTED, .extra = (uint32_t)id };
	face_context context;
	unsigned int device;
	CUresult r = CUDA_SUCCESS;

	switch (charge_current(&context, &device)) {
	case CHARGE_HELD:
		record.context = context;
		record.device = (uint8_t)device;
		if (id < 0)
			r = charge_opened(p, key, &record);
		break;
	case CHARGE_REFUSED:
		r = CUDA_ERROR_OUT_OF_MEMORY;
		break;
	default: /* the context has ended meanwhile */
		r = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	}
	if (r == CUDA_SUCCESS && !records_add(&record)) {
		give_opened(&record, id < 0);
		r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (r == CUDA_SUCCESS)
		return r;
	shim_real.cuIpcCloseMemHandle(p);
	if (id >= 0)
		sharing_drop((uint32_t)id);
	return r;
}

static CUresult open_locked(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int flags, bool second)
{
	uint8_t key[WIRE_KEY_BYTES];
	struct record record;
	int id = SHARING_NONE;
	CUresult r;

	if (start_is_metered()) {
		sharing_key_of_bytes(&handle, sizeof handle, key);
		id = sharing_import(key);
	}
	r = second ? shim_real.cuIpcOpenMemHandle_v2(pdptr, handle, flags)
		   : shim_real.cuIpcOpenMemHandle(pdptr, handle, flags);
	if (r != CUDA_SUCCESS) {
		if (id >= 0)
			sharing_drop((uint32_t)id);
		return r;
	}
	if (!start_is_metered())
		return r;
	if (!records_take(record_pointer(*pdptr), &record))
		return add_opened(*pdptr, key, id);
	record.units++;
	records_add(&record); /* into the place that it left just now */
	if (id >= 0)
		sharing_drop((uint32_t)id);
	return r;
}

static CUresult open_handle(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int flags, bool second)
{
	CUresult r;

	sharing_openings_lock();
	r = open_locked(pdptr, handle, flags, second);
	sharing_openings_unlock();
	return r;
}

CUresult shim_cuIpcOpenMemHandle(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
	return open_handle(pdptr, handle, Flags, false);
}

CUresult shim_cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
	return open_handle(pdptr, handle, Flags, true);
}
