/* contexts.h: contexts take device memory themselves (measured), and take what was allocated in them along when they
 * go. */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stdint.h>

/* Up to `most` of the contexts that the program has made or retained. Value: how many. */
unsigned int contexts_list(void **ret, unsigned int most);
/* The device of the grant that a context is on. False: it is none that the program has. */
bool contexts_device(const void *context, unsigned int *ret_device);
/* The one context that the program has. NULL: it has none, or several. No lock is taken. */
CUcontext contexts_sole(void);
/*
 * True: the calling thread has no context that can be used; *ret_r is the driver's word on that. It is not asked for
 * the call itself: another thread may bring the primary context back meanwhile, and nobody would be charged.
 */
bool contexts_lack(CUresult *ret_r);
/* In the child of fork(). */
void contexts_reset(void);
