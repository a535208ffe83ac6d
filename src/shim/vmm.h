/*
 * vmm.h: memory made by cuMemCreate. Charged to the device in its properties, until the last handle and the last
 * mapping are gone; what several processes share is charged to the grant's object (sharing.h).
 */
#pragma once

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
/* In the child of fork(). */
void vmm_reset(void);
