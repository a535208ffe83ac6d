/*
 * vmm_tables.h: what vmm.c and vmm_own.c know of memory by handles. One lock guards all of it.
 *
 * allocations: id -> [0] units << 32 | device, [1] references << 32 | mappings, [2] PLACE and OBJECT of it
 * handles: handle -> [0] id, [1] references through it
 * ranges: address -> [0] size, [1] id, [2] offset, of what is away with UNMAPPED and the access that there was;
 *         or ARRAY_RANGE | n -> [0] the array, [1] id, [2] its context
 */
#pragma once

#include "core/map.h"
#include "cuda_table.h"
#include "shim/movable.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define OWN_TAG 0x6d65746500000000ull /* neither a pointer nor a small number, so no driver's handle */
#define OWN_ID(handle) ((handle)&0xffffffffu)
#define OBJECT(word) ((uint32_t)(word))	       /* 1 + the grant's object; 0: charged to this process */
#define PLACE(word) ((uint32_t)((word) >> 32)) /* 1 + index of movable memory; 0: none */
#define UNMAPPED 4ull
#define ARRAY_RANGE (1ull << 62)

struct vmm_gone { /* the charge of an allocation that has ended */
	bool is;
	unsigned int device;
	uint32_t units;
	uint32_t object; /* 1 + id */
	uint32_t place;	 /* 1 + place */
};

extern pthread_mutex_t vmm_lock;
extern struct map vmm_allocations, vmm_handles, vmm_ranges;

/* Driver's handles may be any number, including 0; map keys may not be 0. */
static inline uint64_t vmm_name(CUmemGenericAllocationHandle handle)
{
	return handle + 1;
}

static inline bool vmm_is_own(CUmemGenericAllocationHandle handle)
{
	return handle >> 32 == OWN_TAG >> 32;
}

/* Changes the counts of references and mappings; an allocation with neither leaves the table. */
struct vmm_gone vmm_count_locked(uint64_t id, int32_t references, int32_t mappings);
struct vmm_gone vmm_change(uint64_t id, int32_t references, int32_t mappings);
/* Outside the gate. */
void vmm_refund(const struct vmm_gone *gone);
uint64_t vmm_new_id(void);

bool vmm_may_leave(const CUmemAllocationProp *prop);
/* False: use the driver's own handle. */
bool vmm_own_create(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
		    unsigned long long flags, unsigned int device, CUresult *ret_r);
/* The driver's handle behind one of the shim's numbers. False: there is none. */
bool vmm_real_locked(uint64_t id, CUmemGenericAllocationHandle *ret);
/* For an allocation that is held: it stays from now on, or may move again. */
bool vmm_keep_id(uint64_t id);
void vmm_keep_no_more(uint64_t id);
