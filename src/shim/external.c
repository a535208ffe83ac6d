/* external.c: see external.h. */
#include "shim/external.h"
#include "cuda_shim.h"
#include "core/account.h"
#include "core/charge.h"
#include "core/gate.h"
#include "core/map.h"
#include "core/records.h"
#include "shim/start.h"

#include <pthread.h>

enum { UNITS, DEVICE, HOLDS }; /* the values of an import, by its number */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards imports and last */
static struct map imports;
static uint32_t last;
/* One at a time: what is mapped while its import ends is still charged to it. */
static pthread_mutex_t calls = PTHREAD_MUTEX_INITIALIZER;

/* Value: its number; 0: no memory. */
static uint32_t add_import(const struct charge *c)
{
	struct map_entry entry = { .value = { c->units, c->device, 1 } };
	uint32_t number;

	pthread_mutex_lock(&lock);
	number = ++last ? last : ++last;
	entry.key = number;
	if (!map_add(&imports, &entry))
		number = 0;
	pthread_mutex_unlock(&lock);
	return number;
}

static void hold(uint32_t import)
{
	struct map_entry *e;

	pthread_mutex_lock(&lock);
	e = map_find(&imports, import);
	if (e)
		e->value[HOLDS]++;
	pthread_mutex_unlock(&lock);
}

void external_drop(uint32_t import)
{
	struct map_entry *e, gone = { 0 };

	pthread_mutex_lock(&lock);
	e = map_find(&imports, import);
	if (e && !--e->value[HOLDS])
		map_remove(&imports, import, &gone);
	pthread_mutex_unlock(&lock);
	if (gone.key)
		account_give((unsigned int)gone.value[DEVICE], (uint32_t)gone.value[UNITS]);
}

void external_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = calls = unlocked;
	imports = (struct map){ 0 };
}

static CUresult import_charged(CUexternalMemory *ret, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc, struct charge *c)
{
	struct record record = { .kind = RECORD_EXTERNAL, .context = c->context, .device = (uint8_t)c->device };
	CUresult r = shim_real.cuImportExternalMemory(ret, desc);

	if (r == CUDA_SUCCESS) {
		record.key = record_handle(*ret);
		record.extra = add_import(c);
		if (record.extra && records_add(&record)) {
			gate_leave();
			return r;
		}
		shim_real.cuDestroyExternalMemory(*ret);
		if (record.extra) { /* the charge goes with it */
			external_drop(record.extra);
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
		external_drop(record.extra);
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
	hold(record.extra);
	if (records_add(&record))
		return true;
	gate_enter();
	external_drop(record.extra);
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
