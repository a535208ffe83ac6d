/* external.c: see external.h. */
#include "shim/external.h"
#include "cuda_shim.h"
#include "core/account.h"
#include "core/charge.h"
#include "core/gate.h"
#include "core/imports.h"
#include "core/records.h"
#include "shim/start.h"

#include <pthread.h>

/* One at a time: what is mapped while its import ends is still charged to it. */
static pthread_mutex_t calls = PTHREAD_MUTEX_INITIALIZER;

void external_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	calls = unlocked;
	imports_forget();
}

static CUresult import_charged(CUexternalMemory *ret, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc, struct charge *c)
{
	struct record record = { .kind = RECORD_EXTERNAL, .context = c->context, .device = (uint8_t)c->device };
	CUresult r = shim_real.cuImportExternalMemory(ret, desc);

	if (r == CUDA_SUCCESS) {
		record.key = record_handle(*ret);
		record.extra = imports_add(c->units, c->device);
		if (record.extra && records_add(&record)) {
			gate_leave();
			return r;
		}
		shim_real.cuDestroyExternalMemory(*ret);
		if (record.extra) { /* the charge goes with it */
			imports_drop(record.extra);
			gate_leave();
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	charge_cancel(c);
	return r;
}

CUresult shim_cuImportExternalMemory(CUexternalMemory *extMem_out,
				     const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *memHandleDesc)
{
	face_context context;
	struct charge c = { 0 };
	unsigned int device;

	if (!start_is_metered() || !extMem_out || !memHandleDesc || !memHandleDesc->size)
		return shim_real.cuImportExternalMemory(extMem_out, memHandleDesc);
	switch (charge_current(&context, &device)) {
	case CHARGE_HELD:
		break;
	case CHARGE_REFUSED:
		return CUDA_ERROR_OUT_OF_MEMORY;
	default: /* no context: the driver says so */
		return shim_real.cuImportExternalMemory(extMem_out, memHandleDesc);
	}
	if (charge_begin_units(&c, device, wire_units(memHandleDesc->size)) != CHARGE_HELD)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c.context = context;
	return import_charged(extMem_out, memHandleDesc, &c);
}

CUresult shim_cuDestroyExternalMemory(CUexternalMemory extMem)
{
	struct record record;
	CUresult r;
	bool ours;

	pthread_mutex_lock(&calls);
	ours = start_is_metered() && records_take(record_handle(extMem), &record);
	gate_enter();
	r = shim_real.cuDestroyExternalMemory(extMem);
	if (ours && r == CUDA_SUCCESS)
		imports_drop(record.extra);
	else if (ours)
		records_add(&record);
	gate_leave();
	pthread_mutex_unlock(&calls);
	return r;
}

/* What is mapped holds the memory too, until it is freed. False: it is to be unmapped again. */
static bool add_mapping(CUexternalMemory of, uint64_t key)
{
	struct record record;

	if (!start_is_metered() || !records_find(record_handle(of), &record) || record.kind != RECORD_EXTERNAL)
		return true;
	record.key = key;
	imports_hold(record.extra);
	if (records_add(&record))
		return true;
	gate_enter();
	imports_drop(record.extra);
	gate_leave();
	return false;
}

CUresult shim_cuExternalMemoryGetMappedBuffer(CUdeviceptr *devPtr, CUexternalMemory extMem,
					      const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *bufferDesc)
{
	CUresult r;

	pthread_mutex_lock(&calls);
	r = shim_real.cuExternalMemoryGetMappedBuffer(devPtr, extMem, bufferDesc);
	if (r == CUDA_SUCCESS && !add_mapping(extMem, record_pointer(*devPtr))) {
		shim_real.cuMemFree_v2(*devPtr);
		r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	pthread_mutex_unlock(&calls);
	return r;
}

CUresult shim_cuExternalMemoryGetMappedMipmappedArray(CUmipmappedArray *mipmap, CUexternalMemory extMem,
						      const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *mipmapDesc)
{
	CUresult r;

	pthread_mutex_lock(&calls);
	r = shim_real.cuExternalMemoryGetMappedMipmappedArray(mipmap, extMem, mipmapDesc);
	if (r == CUDA_SUCCESS && !add_mapping(extMem, record_handle(*mipmap))) {
		shim_real.cuMipmappedArrayDestroy(*mipmap);
		r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	pthread_mutex_unlock(&calls);
	return r;
}
