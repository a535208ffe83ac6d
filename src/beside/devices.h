/*
 * devices.h: maps the devices of the vendor's runtime, and contexts, to devices of the grant.
 *
 * The vendor's variable for visible devices determines the numbers that the program sees (ASCEND_RT_VISIBLE_DEVICES,
 * MLU_VISIBLE_DEVICES; `mete run` sets it). The face does not change numbers. It refuses work and memory on a device
 * that is not granted.
 */
#pragma once

#include "beside/start.h"
#include "core/face.h"

#include <stdbool.h>

/* Compares the runtime's devices with the grant; the process is attached. */
void devices_match(void);

/* Finds the index in the grant of a device of the runtime. False: not granted. */
bool devices_find(int real, unsigned int *ret_device);

/* Returns the thread's context, and the index in the grant of its device. */
enum face_place devices_here(face_context *ret_context, unsigned int *ret_device);

/* Finds the device of a context that was current in some thread. False: not granted, or never current. */
bool devices_of(face_context context, unsigned int *ret_device);
void devices_forget_context(face_context context);
/* Notes that the program has created a context of its own on the runtime's device. */
void devices_made_context(face_context context, int real);

/* Returns the context that the runtime itself created on a device. NULL: it was current in no thread. */
face_context devices_shared_context(unsigned int device);
/* True if the program has a context of its own on the device: then a reset does not free the memory. */
bool devices_have_made(unsigned int device);

/* Returns the `context` of this face's records (core/records.h) for a device of the grant. */
const void *devices_place(unsigned int device);

/* In the child of fork(): forgets all contexts. */
void devices_forget(void);
