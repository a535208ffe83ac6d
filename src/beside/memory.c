/* memory.c: see memory.h. */
#include "beside/memory.h"
#include "beside/devices.h"
#include "beside/inside.h"
#include "core/account.h"
#include "core/gate.h"
#include "core/records.h"

static _Atomic uint32_t ages[WIRE_MAX_DEVICES]; /* how often each device was about to be reset */

static vendor_result charge(struct making *m, unsigned int device, uint64_t bytes)
{
	if (charge_begin_units(&m->charge, device, wire_units(bytes)) != CHARGE_HELD) {
		memory_left(m);
		return VENDOR_NO_MEMORY;
	}
	m->charged = true;
	return VENDOR_SUCCESS;
}

/* False: the answer is *ret. */
static bool enter(struct making *m, uint64_t bytes, vendor_result *ret)
{
	*m = (struct making){ 0 };
	*ret = VENDOR_SUCCESS;
	m->entered = inside_memory(&m->before);
	if (!m->entered)
		return false;
	*ret = start_refusal();
	if (*ret != VENDOR_SUCCESS)
		memory_left(m);
	return *ret == VENDOR_SUCCESS && start_is_metered() && bytes;
}

/* A thread on a device that is not granted gets no memory. */
vendor_result memory_begin(struct making *m, uint64_t bytes)
{
	unsigned int device;
	face_context context;
	vendor_result r;

	if (!enter(m, bytes, &r))
		return r;
	switch (devices_here(&context, &device)) {
	case FACE_GRANTED:
		return charge(m, device, bytes);
	case FACE_ELSEWHERE:
		memory_left(m);
		return VENDOR_NO_MEMORY;
	default: /* the runtime refuses, or chooses a device: then the level below is metered, if it asks there */
		memory_left(m);
		m->late = bytes;
		return VENDOR_SUCCESS;
	}
}

vendor_result memory_begin_on(struct making *m, int real, uint64_t bytes)
{
	unsigned int device;
	vendor_result r;

	if (!enter(m, bytes, &r))
		return r;
	if (devices_find(real, &device))
		return charge(m, device, bytes);
	memory_left(m);
	return VENDOR_NO_MEMORY;
}

void memory_left(struct making *m)
{
	if (m->entered)
		inside_end(&m->before);
	m->entered = false;
}

/* The level below has not charged it, or did not see it. Value: it is charged now, or needs not be. */
static bool charge_late(struct making *m, uint64_t address)
{
	struct record known;
	unsigned int device;
	face_context context;

	if (records_find(record_pointer(address), &known) || !start_is_metered())
		return true;
	return devices_here(&context, &device) == FACE_GRANTED && charge(m, device, m->late) == VENDOR_SUCCESS;
}

bool memory_made(struct making *m, vendor_result r, uint64_t address)
{
	struct record record = { .key = record_pointer(address), .kind = RECORD_PLAIN };
	bool kept = !m->late || r != VENDOR_SUCCESS || charge_late(m, address);

	if (m->charged) {
		record.context = devices_place(m->charge.device);
		record.units = record.size_units = m->charge.units;
		record.device = (uint8_t)m->charge.device;
		/* After the call: never older than the memory. */
		record.extra = atomic_load(&ages[m->charge.device]);
		kept = r == VENDOR_SUCCESS && records_add(&record);
		if (kept)
			gate_leave();
		else
			charge_cancel(&m->charge);
		kept = kept || r != VENDOR_SUCCESS;
	}
	memory_left(m);
	return kept;
}

void memory_give(unsigned int device, uint32_t units)
{
	gate_enter();
	account_give(device, units);
	gate_leave();
}

/* Taken out before the call: once the runtime has freed it, another thread may be given the same address. */
void memory_free_begin(struct freeing *f, uint64_t address)
{
	struct record record = { 0 };

	*f = (struct freeing){ .address = address };
	f->entered = inside_memory(&f->before);
	f->ours = f->entered && address && start_is_metered() && records_take(record_pointer(address), &record);
	f->units = record.units;
	f->age = record.extra;
	f->device = record.device;
}

vendor_result memory_free_end(struct freeing *f, vendor_result r)
{
	struct record record = { .key = record_pointer(f->address),
				 .kind = RECORD_PLAIN,
				 .units = f->units,
				 .size_units = f->units,
				 .extra = f->age,
				 .device = f->device };

	if (f->entered)
		inside_end(&f->before);
	if (!f->ours)
		return r;
	record.context = devices_place(f->device);
	if (r == VENDOR_SUCCESS)
		memory_give(f->device, f->units);
	else
		records_add(&record);
	return r;
}

vendor_result memory_info(vendor_result r, size_t *free, size_t *total)
{
	uint64_t quota, held, left;
	face_context context;
	unsigned int device;

	if (r != VENDOR_SUCCESS || inside_is || !start_is_metered() || devices_here(&context, &device) != FACE_GRANTED)
		return r;
	account_info(device, &quota, &held);
	left = held < quota ? quota - held : 0;
	if (total && *total > quota)
		*total = quota;
	if (free && *free > left)
		*free = left;
	return r;
}

struct sweep {
	unsigned int device;
	uint32_t age;
	uint64_t units;
};

static bool is_swept(const struct record *r, void *data)
{
	struct sweep *s = data;

	if (r->device != s->device || r->context != devices_place(s->device) || (int32_t)(r->extra - s->age) >= 0)
		return false;
	s->units += r->units;
	return true;
}

uint32_t memory_ages(unsigned int device)
{
	return atomic_fetch_add(&ages[device], 1) + 1;
}

void memory_swept(unsigned int device, uint32_t age)
{
	struct sweep s = { .device = device, .age = age };

	records_sweep(is_swept, &s);
	while (s.units) {
		uint32_t part = s.units > UINT32_MAX ? UINT32_MAX : (uint32_t)s.units;

		memory_give(device, part);
		s.units -= part;
	}
}
