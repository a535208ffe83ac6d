/*
 * vmm_own.c: memory of cuMemCreate that may leave the device (movable.h), under numbers of ours: see vmm.h. The driver
 * has one reference to it, which is ours; the program's are counted here alone.
 */
#include "core/account.h"
#include "core/log.h"
#include "cuda_shim.h"
#include "shim/devices.h"
#include "shim/movable.h"
#include "shim/vmm.h"
#include "shim/vmm_tables.h"

#define ACCESS 3ull /* of a range: what the program may do there, while it is away */

/* Tiles of sparse arrays stay: the array knows them by what the driver has. */
bool vmm_may_leave(const CUmemAllocationProp *prop)
{
	return movable_wanted() && prop->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
	       prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE && !prop->allocFlags.usage;
}

static bool add_own(uint64_t id, const struct movable_own *own, uint32_t place)
{
	struct map_entry allocation = { .key = id,
					.value = { wire_units(own->bytes) << 32 | own->device, 1ull << 32,
						   (uint64_t)(place + 1) << 32 } };
	struct map_entry name = { .key = vmm_name(OWN_TAG | id), .value = { id, 1 } };
	bool good;

	pthread_mutex_lock(&vmm_lock);
	good = map_add(&vmm_allocations, &allocation);
	if (good && !map_add(&vmm_handles, &name)) {
		map_remove(&vmm_allocations, id, NULL);
		good = false;
	}
	pthread_mutex_unlock(&vmm_lock);
	return good;
}

bool vmm_own_create(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
		    unsigned long long flags, unsigned int device, CUresult *ret_r)
{
	struct movable_own own = { .id = vmm_new_id(), .device = device, .bytes = size, .flags = flags, .prop = *prop };
	uint32_t place = 0;

	if (own.id > UINT32_MAX || wire_units(size) > WIRE_MAX_UNITS || !movable_own_new(&own, &place, ret_r))
		return false;
	if (*ret_r != CUDA_SUCCESS)
		return true;
	if (add_own(own.id, &own, place)) {
		*handle = OWN_TAG | own.id;
	} else {
		movable_own_end(place, true);
		*ret_r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	return true;
}

bool vmm_real_locked(uint64_t id, CUmemGenericAllocationHandle *ret)
{
	struct map_entry *e = map_find(&vmm_allocations, id);

	return e && PLACE(e->value[2]) && movable_own_handle(PLACE(e->value[2]) - 1, ret);
}

bool vmm_hold(CUmemGenericAllocationHandle handle, CUmemGenericAllocationHandle *ret_real, uint64_t *ret_id)
{
	struct map_entry *e;
	bool good = true;

	*ret_real = handle;
	*ret_id = 0;
	if (!vmm_is_own(handle))
		return true;
	pthread_mutex_lock(&vmm_lock);
	e = map_find(&vmm_handles, vmm_name(handle));
	good = e && vmm_real_locked(e->value[0], ret_real);
	if (good) {
		*ret_id = e->value[0];
		vmm_count_locked(*ret_id, 1, 0);
	}
	pthread_mutex_unlock(&vmm_lock);
	return good;
}

void vmm_give_back(uint64_t id)
{
	struct vmm_gone gone = { 0 };

	if (id)
		gone = vmm_change(id, -1, 0);
	vmm_refund(&gone);
}

static uint32_t place_of(uint64_t id)
{
	struct map_entry *e;
	uint32_t place;

	pthread_mutex_lock(&vmm_lock);
	e = map_find(&vmm_allocations, id);
	place = e ? PLACE(e->value[2]) : 0;
	pthread_mutex_unlock(&vmm_lock);
	return place;
}

bool vmm_keep_id(uint64_t id)
{
	uint32_t place = place_of(id);

	if (!place || movable_own_keep(place - 1))
		return true;
	log_line("memory of cuMemCreate is not handed on: it could not leave the device any more, and the device has "
		 "no room for more that stays; run without --spill");
	return false;
}

void vmm_keep_no_more(uint64_t id)
{
	uint32_t place = place_of(id);

	if (place)
		movable_own_keep_no_more(place - 1);
}

bool vmm_keep(CUmemGenericAllocationHandle handle, CUmemGenericAllocationHandle *ret_real, uint64_t *ret_id)
{
	if (!vmm_hold(handle, ret_real, ret_id))
		return false;
	if (!*ret_id || vmm_keep_id(*ret_id))
		return true;
	vmm_give_back(*ret_id);
	return false;
}

/* ---- it leaves and returns ---- */

struct overlap {
	uint64_t begin, end, after, id;
};

/* The first one behind `after`, by address. */
static bool lies_next(const struct map_entry *e, void *data)
{
	struct overlap *o = data;

	if (!(e->key & ARRAY_RANGE) && e->key < o->end && e->key + e->value[0] > o->begin && e->key > o->after &&
	    (!o->id || e->key < o->id))
		o->id = e->key;
	return false;
}

static uint64_t next_range(struct overlap *o)
{
	struct map_entry *e;
	uint64_t id = 0;

	o->id = 0;
	pthread_mutex_lock(&vmm_lock);
	map_sweep(&vmm_ranges, lies_next, o);
	o->after = o->id;
	e = o->id ? map_find(&vmm_ranges, o->id) : NULL;
	if (e) {
		id = e->value[1];
		vmm_count_locked(id, 1, 0);
	}
	pthread_mutex_unlock(&vmm_lock);
	return id;
}

bool vmm_keep_range(CUdeviceptr at, uint64_t bytes)
{
	struct overlap o = { .begin = at, .end = at + bytes };
	bool good = true;
	uint64_t id;

	while (good && (id = next_range(&o))) {
		good = vmm_keep_id(id);
		vmm_give_back(id);
	}
	return good;
}

struct sweep {
	unsigned int device;
	bool good;
};

/* The driver's handle of a range that moves with its device. False: it stays. */
static bool moves_locked(const struct map_entry *e, const struct sweep *s, CUmemGenericAllocationHandle *ret)
{
	const struct map_entry *a = e->key & ARRAY_RANGE ? NULL : map_find(&vmm_allocations, e->value[1]);

	return a && PLACE(a->value[2]) && (unsigned int)(uint32_t)a->value[0] == s->device &&
	       movable_own_leaves(PLACE(a->value[2]) - 1, ret);
}

/* map_sweep() hands out the entries themselves, as in rename_range(). */
static bool unmap_one(const struct map_entry *e, void *data)
{
	uint64_t *word = &((struct map_entry *)(uintptr_t)e)->value[2];
	CUmemLocation here = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
	CUmemGenericAllocationHandle real;
	struct sweep *s = data;
	unsigned long long access = 0;

	if (!moves_locked(e, s, &real) || *word & UNMAPPED || !devices_real(s->device, &here.id))
		return false;
	if (shim_real.cuMemGetAccess(&access, &here, e->key) != CUDA_SUCCESS)
		access = 0;
	shim_real.cuMemUnmap(e->key, e->value[0]);
	*word |= UNMAPPED | (access & ACCESS);
	return false;
}

static bool map_one(const struct map_entry *e, void *data)
{
	uint64_t *word = &((struct map_entry *)(uintptr_t)e)->value[2];
	CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE }, .flags = *word & ACCESS };
	CUmemGenericAllocationHandle real;
	struct sweep *s = data;

	if (!s->good || !moves_locked(e, s, &real) || !(*word & UNMAPPED))
		return false;
	s->good = devices_real(s->device, &access.location.id) &&
		  shim_real.cuMemMap(e->key, e->value[0], *word & ~(ACCESS | UNMAPPED), real, 0) == CUDA_SUCCESS;
	if (!s->good)
		return false;
	*word &= ~UNMAPPED;
	if (access.flags)
		s->good = shim_real.cuMemSetAccess(e->key, e->value[0], &access, 1) == CUDA_SUCCESS;
	*word &= ~ACCESS;
	return false;
}

void vmm_let_go(unsigned int device)
{
	struct sweep s = { .device = device };

	pthread_mutex_lock(&vmm_lock);
	map_sweep(&vmm_ranges, unmap_one, &s);
	pthread_mutex_unlock(&vmm_lock);
}

bool vmm_take_back(unsigned int device)
{
	struct sweep s = { .device = device, .good = true };

	pthread_mutex_lock(&vmm_lock);
	map_sweep(&vmm_ranges, map_one, &s);
	pthread_mutex_unlock(&vmm_lock);
	if (!s.good)
		log_line("memory does not return: the driver maps it no more where it was");
	return s.good;
}
