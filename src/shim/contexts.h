/*
 * contexts.h: contexts take device memory themselves (measured), and free what was allocated in them when they are
 * destroyed.
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stdint.h>

/* Lists up to `most` of the contexts that the program has created or retained. Value: their number. */
unsigned int contexts_list(void **ret, unsigned int most);
/* The grant's device of a context. False: it is not a context of the program. */
bool contexts_device(const void *context, unsigned int *ret_device);
/* The only context of the program. NULL: it has none, or several. Takes no lock. */
CUcontext contexts_sole(void);
/* The devices on which the program has contexts: a bit for each of the grant. Takes no lock. */
uint32_t contexts_devices(void);
/*
 * True: the calling thread has no usable context, and *ret_r is the driver's error for that. The call itself is then
 * not passed to the driver: another thread may restore the primary context meanwhile, and the memory would be charged
 * to nobody.
 */
bool contexts_lack(CUresult *ret_r);
/* In the child of fork(). */
void contexts_reset(void);
