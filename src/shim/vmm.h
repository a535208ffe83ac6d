/*
 * vmm.h: memory created by cuMemCreate. It is charged to the device in its properties until the last handle and the
 * last mapping are gone; memory that several processes share is charged to the grant's object (sharing.h).
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * An array is about to be destroyed, or (with the gate closed) a context with its arrays. From here on, memory mapped
 * by cuMemMapArrayAsync is recorded under a separate name, because the driver may reuse the handle for another array at
 * once.
 */
uint64_t vmm_array_leaves(const void *array);
uint64_t vmm_context_leaves(const void *context);
/*
 * The driver has finished. Not `gone`: the name stands for `array` again. `gone`: nothing is mapped any more. Outside
 * the gate.
 */
void vmm_array_left(uint64_t name, const void *array, bool gone);
/*
 * If memory may leave the device (movable.h), the program has the shim's numbers instead of the driver's handles,
 * because those change when the memory leaves. Returns the driver's handle for either kind; *ret_id must be given back
 * (0: not necessary). False: there is no such allocation any more.
 */
bool vmm_hold(CUmemGenericAllocationHandle handle, CUmemGenericAllocationHandle *ret_real, uint64_t *ret_id);
void vmm_give_back(uint64_t id);
/*
 * As vmm_hold(), and the memory stays on the device from now on. False also if meted has no room for memory that stays.
 */
bool vmm_keep(CUmemGenericAllocationHandle handle, CUmemGenericAllocationHandle *ret_real, uint64_t *ret_id);
/* The same for everything mapped in a range, permanently. Outside the gate. */
bool vmm_keep_range(CUdeviceptr at, uint64_t bytes);

/*
 * Called by the mover when memory of the device leaves or returns: unmaps the program's mappings of it; maps them
 * again.
 */
void vmm_let_go(unsigned int device);
bool vmm_take_back(unsigned int device);

/* In the child of fork(). */
void vmm_reset(void);
