/* memory.c: see memory.h. */
#include "levelzero/memory.h"
#include "core/account.h"
#include "core/gate.h"
#include "core/map.h"
#include "levelzero/devices.h"
#include "levelzero/ipc.h"
#include "levelzero/later.h"

#include <stdlib.h>

#define UNKNOWN UINT64_MAX

static ze_result_t begin_on(struct making *m, unsigned int device, uint64_t bytes)
{
	if (bytes == UNKNOWN || charge_begin_units(&m->charge, device, wire_units(bytes)) != CHARGE_HELD)
		return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
	m->charged = true;
	return ZE_RESULT_SUCCESS;
}

ze_result_t memory_begin(struct making *m, ze_context_handle_t context, ze_device_handle_t device, uint64_t bytes)
{
	ze_result_t r = start_refusal();
	unsigned int index;

	m->charged = false;
	m->owner = context;
	if (r != ZE_RESULT_SUCCESS || !start_is_metered() || !bytes || !device)
		return r;
	return devices_find(device, &index) ? begin_on(m, index, bytes) : ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

bool memory_made(struct making *m, ze_result_t r, uint64_t key, uint8_t kind, uint32_t extra)
{
	struct record record = { .key = key,
				 .context = m->owner,
				 .units = m->charge.units,
				 .size_units = m->charge.units,
				 .extra = extra,
				 .kind = kind,
				 .device = (uint8_t)m->charge.device };

	if (!m->charged)
		return true;
	m->charged = false;
	if (r == ZE_RESULT_SUCCESS && records_add(&record)) {
		gate_leave();
		later_again(key);
		return true;
	}
	charge_cancel(&m->charge);
	return r != ZE_RESULT_SUCCESS;
}

void memory_give(unsigned int device, uint32_t units)
{
	gate_enter();
	account_give(device, units);
	gate_leave();
}

/* What a record stands for has gone. */
static void let_go(const struct record *r)
{
	if (r->flags & RECORD_SHARED)
		ipc_let_go(r);
	else
		memory_give(r->device, r->units);
}

/* Memory with an address -------------------------------------------------------------------------------------------
 */

static uint64_t key_of(const void *p)
{
	return record_pointer((uint64_t)(uintptr_t)p);
}

static ze_result_t finish(struct making *m, ze_result_t r, void **pointer)
{
	if (memory_made(m, r, r == ZE_RESULT_SUCCESS && pointer ? key_of(*pointer) : 0, RECORD_PLAIN, 0))
		return r;
	levelzero_real.zeMemFree((ze_context_handle_t)(uintptr_t)m->owner, *pointer);
	*pointer = NULL;
	return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

ze_result_t face_zeMemAllocDevice(ze_context_handle_t hContext, const ze_device_mem_alloc_desc_t *device_desc,
				  size_t size, size_t alignment, ze_device_handle_t hDevice, void **pptr)
{
	struct making m;
	ze_result_t r = memory_begin(&m, hContext, hDevice, size);

	return r == ZE_RESULT_SUCCESS
		       ? finish(&m,
				levelzero_real.zeMemAllocDevice(hContext, device_desc, size, alignment, hDevice, pptr),
				pptr)
		       : r;
}

/* Without a device it may go to any: it is charged to the grant's first. */
static ze_result_t begin_shared(struct making *m, ze_context_handle_t context, ze_device_handle_t device,
				uint64_t bytes)
{
	ze_result_t r = memory_begin(m, context, device, bytes);

	return r == ZE_RESULT_SUCCESS && !device && bytes && start_is_metered() ? begin_on(m, 0, bytes) : r;
}

ze_result_t face_zeMemAllocShared(ze_context_handle_t hContext, const ze_device_mem_alloc_desc_t *device_desc,
				  const ze_host_mem_alloc_desc_t *host_desc, size_t size, size_t alignment,
				  ze_device_handle_t hDevice, void **pptr)
{
	struct making m;
	ze_result_t r = begin_shared(&m, hContext, hDevice, size);

	return r == ZE_RESULT_SUCCESS ? finish(&m,
					       levelzero_real.zeMemAllocShared(hContext, device_desc, host_desc, size,
									       alignment, hDevice, pptr),
					       pptr)
				      : r;
}

/* After the driver's call that frees what the record is of. Intel's closes so what was opened, too. */
static ze_result_t freed(ze_result_t r, bool ours, struct record *record)
{
	if (ours && record->kind == RECORD_IMPORTED)
		ipc_closed(r, record);
	else if (ours && r == ZE_RESULT_SUCCESS)
		let_go(record);
	else if (ours)
		records_add(record);
	return r;
}

ze_result_t face_zeMemFree(ze_context_handle_t hContext, void *ptr)
{
	struct record record;
	bool ours = start_is_metered() && records_take(key_of(ptr), &record);

	return freed(levelzero_real.zeMemFree(hContext, ptr), ours, &record);
}

ze_result_t face_zeMemFreeExt(ze_context_handle_t hContext, const ze_memory_free_ext_desc_t *pMemFreeDesc, void *ptr)
{
	struct record record;
	bool ours = start_is_metered() && records_take(key_of(ptr), &record);
	bool defers = pMemFreeDesc && pMemFreeDesc->freePolicy & ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE;
	ze_result_t r;

	if (!ours || !defers || record.kind == RECORD_IMPORTED || !later_note(hContext, &record))
		return freed(levelzero_real.zeMemFreeExt(hContext, pMemFreeDesc, ptr), ours, &record);
	r = levelzero_real.zeMemFreeExt(hContext, pMemFreeDesc, ptr);
	if (r == ZE_RESULT_SUCCESS)
		later_settle(record.key);
	else if (later_cancel(record.key))
		records_add(&record);
	return r;
}

/* Memory with a handle ----------------------------------------------------------------------------------------------
 */

ze_result_t face_zePhysicalMemCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
				     ze_physical_mem_desc_t *desc, ze_physical_mem_handle_t *phPhysicalMemory)
{
	bool host = desc && desc->flags & ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST;
	struct making m;
	ze_result_t r = memory_begin(&m, hContext, hDevice, desc && !host ? desc->size : 0);

	if (r == ZE_RESULT_SUCCESS)
		r = levelzero_real.zePhysicalMemCreate(hContext, hDevice, desc, phPhysicalMemory);
	else
		return r;
	if (memory_made(&m, r, r == ZE_RESULT_SUCCESS ? record_handle(*phPhysicalMemory) : 0, RECORD_ARRAY, 0))
		return r;
	levelzero_real.zePhysicalMemDestroy(hContext, *phPhysicalMemory);
	return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

ze_result_t face_zePhysicalMemDestroy(ze_context_handle_t hContext, ze_physical_mem_handle_t hPhysicalMemory)
{
	struct record record;
	bool ours = start_is_metered() && records_take(record_handle(hPhysicalMemory), &record);

	return freed(levelzero_real.zePhysicalMemDestroy(hContext, hPhysicalMemory), ours, &record);
}

/*
 * Bits of an element of a layout (ze_image_format_layout_t), in its order; planes of less resolution are counted. 0:
 * not known, and taken for the largest.
 */
static const uint8_t layout_bits[] = { 8,  16, 32, 16, 32, 32, 64, 64, 128, 32, 32, 16, 16, 16, 8,
				       12, 16, 16, 16, 16, 32, 24, 32, 24,  16, 24, 32, 32, 8,	16,
				       16, 8,  8,  64, 32, 12, 12, 8,  16,  16, 24, 24, 24 };
#define MOST_BITS 128u

static uint64_t product(uint64_t a, uint64_t b)
{
	uint64_t r;

	return a == UNKNOWN || b == UNKNOWN || __builtin_mul_overflow(a, b, &r) ? UNKNOWN : r;
}

static uint64_t at_least_one(uint64_t n)
{
	return n ? n : 1;
}

/* It shows memory that the program has already. */
static bool is_of_memory(const ze_image_desc_t *desc)
{
	for (const ze_base_t *s = desc->pNext; s; s = s->pNext)
		if (s->stype == ZE_STRUCTURE_TYPE_PITCHED_IMAGE_EXP_DESC)
			return true;
	return false;
}

/* Rows, slices and layers that the image's type has; what it has not the driver ignores (ze_image_type_t). */
static uint64_t image_bytes(const ze_image_desc_t *desc)
{
	enum { HEIGHT = 1, DEPTH = 2, LAYERS = 4 };
	static const uint8_t has[] = { 0, LAYERS, HEIGHT, HEIGHT | LAYERS, HEIGHT | DEPTH, 0 };
	uint32_t layout = desc->format.layout;
	uint8_t bits = layout < sizeof layout_bits ? layout_bits[layout] : 0;
	uint8_t of = desc->type < sizeof has ? has[desc->type] : HEIGHT | DEPTH | LAYERS;
	uint64_t n = desc->width;

	n = product(n, of & HEIGHT ? at_least_one(desc->height) : 1);
	n = product(n, of & DEPTH ? at_least_one(desc->depth) : 1);
	n = product(n, of & LAYERS ? at_least_one(desc->arraylevels) : 1);
	n = product(n, bits ? bits : MOST_BITS);
	return n == UNKNOWN ? n : n / 8 + !!(n % 8);
}

ze_result_t face_zeImageCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice, const ze_image_desc_t *desc,
			       ze_image_handle_t *phImage)
{
	struct making m;
	ze_result_t r = memory_begin(&m, hContext, hDevice, desc && !is_of_memory(desc) ? image_bytes(desc) : 0);

	if (r != ZE_RESULT_SUCCESS)
		return r;
	r = levelzero_real.zeImageCreate(hContext, hDevice, desc, phImage);
	if (memory_made(&m, r, r == ZE_RESULT_SUCCESS ? record_handle(*phImage) : 0, RECORD_ARRAY, 0))
		return r;
	levelzero_real.zeImageDestroy(*phImage);
	return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

ze_result_t face_zeImageDestroy(ze_image_handle_t hImage)
{
	struct record record;
	bool ours = start_is_metered() && records_take(record_handle(hImage), &record);

	return freed(levelzero_real.zeImageDestroy(hImage), ours, &record);
}

/* The end of a context ---------------------------------------------------------------------------------------------
 */

struct estate {
	const void *context;
	struct record *list; /* NULL: only counted */
	size_t count, most;
};

/* What has an address: the driver can be asked of it. */
static bool is_of(const struct record *r, void *data)
{
	struct estate *e = data;

	if (r->context != e->context || r->kind != RECORD_PLAIN)
		return false;
	if (e->list && e->count == e->most)
		return false;
	if (e->list)
		e->list[e->count] = *r;
	e->count++;
	return e->list;
}

/* A context of our own, in which the driver is asked of the memory of one that is gone. NULL: there is none. */
static ze_context_handle_t own_context(void)
{
	static _Atomic(ze_context_handle_t) own;
	static const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_context_handle_t is = atomic_load(&own), none = NULL, made = NULL;
	ze_driver_handle_t driver = NULL;
	uint32_t one = 1;

	if (is || levelzero_real.zeDriverGet(&one, &driver) != ZE_RESULT_SUCCESS || !driver ||
	    levelzero_real.zeContextCreate(driver, &desc, &made) != ZE_RESULT_SUCCESS)
		return is;
	if (atomic_compare_exchange_strong(&own, &none, made))
		return made;
	levelzero_real.zeContextDestroy(made);
	return none;
}

/* Without a context to ask in, what the context has stays charged until it is freed. */
void memory_context_leaves(ze_context_handle_t context, struct memory_estate *ret)
{
	struct estate e = { .context = context };
	ze_context_handle_t own;

	*ret = (struct memory_estate){ NULL, 0 };
	records_sweep(is_of, &e);
	own = e.count ? own_context() : NULL;
	e.most = e.count;
	e.count = 0;
	e.list = own ? calloc(e.most, sizeof *e.list) : NULL;
	if (!e.list)
		return;
	records_sweep(is_of, &e);
	for (size_t i = 0; i < e.count; i++)
		if (!later_note(own, &e.list[i]))
			records_add(&e.list[i]);
	*ret = (struct memory_estate){ e.list, e.count };
}

/* What the driver keeps although the context is gone can be freed yet, in another. */
void memory_context_left(struct memory_estate *estate, bool gone)
{
	for (size_t i = 0; i < estate->count; i++) {
		const struct record *r = &estate->list[i];

		if (gone)
			later_settle(r->key);
		if (later_cancel(r->key))
			records_add(r);
	}
	free(estate->list);
}

bool memory_look(unsigned int device)
{
	return later_look(device);
}

void memory_forget(void)
{
	later_forget();
}
