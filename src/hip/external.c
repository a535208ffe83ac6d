/* external.c: see external.h. */
#include "hip/external.h"
#include "core/gate.h"
#include "core/imports.h"
#include "hip/memory.h"

#include <pthread.h>

/* One at a time: what is mapped while its import ends is still charged to it. */
static pthread_mutex_t calls = PTHREAD_MUTEX_INITIALIZER;

static void drop(uint32_t import)
{
	gate_enter();
	imports_drop(import);
	gate_leave();
}

void external_let_go(const struct record *mapped)
{
	drop(mapped->extra);
}

void external_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	calls = unlocked;
	imports_forget();
}

/* The import has the charge, and its record nothing. False: it is to be undone. */
static bool remember(struct making *m, hipExternalMemory_t memory)
{
	struct record record = { .key = record_handle(memory),
				 .context = m->charge.context,
				 .extra = imports_add(m->charge.units, m->charge.device),
				 .kind = RECORD_EXTERNAL,
				 .device = (uint8_t)m->charge.device };

	if (record.extra && records_add(&record)) {
		gate_leave();
		return true;
	}
	shim_real.hipDestroyExternalMemory(memory);
	if (record.extra) { /* the charge goes with it */
		imports_drop(record.extra);
		gate_leave();
	} else {
		charge_cancel(&m->charge);
	}
	return false;
}

hipError_t shim_hipImportExternalMemory(hipExternalMemory_t *extMem_out,
					const hipExternalMemoryHandleDesc *memHandleDesc)
{
	struct making m = { .charged = false };
	hipError_t r = memory_begin(&m, extMem_out && memHandleDesc ? memHandleDesc->size : 0);

	if (r != hipSuccess)
		return r;
	r = shim_real.hipImportExternalMemory(extMem_out, memHandleDesc);
	if (!m.charged)
		return r;
	if (r != hipSuccess)
		charge_cancel(&m.charge);
	else if (!remember(&m, *extMem_out))
		r = start_no_memory();
	return r;
}

hipError_t shim_hipDestroyExternalMemory(hipExternalMemory_t extMem)
{
	struct record record;
	hipError_t r;
	bool ours;

	pthread_mutex_lock(&calls);
	ours = start_is_metered() && records_take(record_handle(extMem), &record);
	r = shim_real.hipDestroyExternalMemory(extMem);
	if (ours && r == hipSuccess)
		drop(record.extra);
	else if (ours)
		records_add(&record); /* into the place that it left just now */
	pthread_mutex_unlock(&calls);
	return r;
}

/* What is mapped holds the memory too, until it is freed. False: it is to be unmapped again. */
static bool add_mapping(hipExternalMemory_t of, void *at)
{
	struct record record;

	if (!start_is_metered() || !records_find(record_handle(of), &record) || record.kind != RECORD_EXTERNAL)
		return true;
	record.key = record_pointer((uint64_t)(uintptr_t)at);
	imports_hold(record.extra);
	if (records_add(&record))
		return true;
	drop(record.extra);
	return false;
}

hipError_t shim_hipExternalMemoryGetMappedBuffer(void **devPtr, hipExternalMemory_t extMem,
						 const hipExternalMemoryBufferDesc *bufferDesc)
{
	hipError_t r;

	pthread_mutex_lock(&calls);
	r = shim_real.hipExternalMemoryGetMappedBuffer(devPtr, extMem, bufferDesc);
	if (r == hipSuccess && !add_mapping(extMem, *devPtr)) {
		shim_real.hipFree(*devPtr);
		*devPtr = NULL;
		r = start_no_memory();
	}
	pthread_mutex_unlock(&calls);
	return r;
}
