/*
 * vmm.h: memory made by cuMemCreate. Charged to the device in its properties, until the last handle and the last
 * mapping are gone; what several processes share is charged to the grant's object (sharing.h).
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * An array is about to be destroyed, or with the gate closed a context is, with its arrays. From here on what was
 * mapped by cuMemMapArrayAsync stands under a name of its own, for the driver may give the handle to another array at
 * once.
 */
uint64_t vmm_array_leaves(const void *array);
uint64_t vmm_context_leaves(const void *context);
/* The driver is done with it. Not gone: it is `array` again. Gone: nothing is mapped any more. Outside the gate. */
void vmm_array_left(uint64_t name, const void *array, bool gone);
/*
 * Where memory may leave the device (movable.h), the program has numbers of ours instead of the driver's handles, since
 * those change when it leaves. The driver's one for either kind; *ret_id is to be given back (0: nothing is owed).
 * False: there is no such allocation any more.
 */
bool vmm_hold(CUmemGenericAllocationHandle handle, CUmemGenericAllocationHandle *ret_real, uint64_t *ret_id);
void vmm_give_back(uint64_t id);
/* As vmm_hold(), and from now on it stays on the device. False also: meted has no room for what stays. */
bool vmm_keep(CUmemGenericAllocationHandle handle, CUmemGenericAllocationHandle *ret_real, uint64_t *ret_id);
/* The same of all that is mapped in a range, for good. Outside the gate. */
bool vmm_keep_range(CUdeviceptr at, uint64_t bytes);

/* By the mover, when memory of the device leaves: the program's mappings of it end, or are there again. */
void vmm_let_go(unsigned int device);
bool vmm_take_back(unsigned int device);

/* In the child of fork(). */
void vmm_reset(void);
