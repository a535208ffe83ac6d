/*
 * devices.h: which device of the grant a device of the vendor's runtime is, and which device a context is on.
 *
 * The vendor's own variable for visible devices numbers what the program sees (ASCEND_RT_VISIBLE_DEVICES,
 * MLU_VISIBLE_DEVICES: `mete run` sets it). Numbers pass as they are; work and memory on a device that is not granted
 * are refused.
 */
#pragma once

#include "beside/start.h"
#include "core/face.h"

#include <stdbool.h>

/* Attached: compares the runtime's devices with the grant. */
void devices_match(void);

/* The grant's index of the runtime's device. False: not granted. */
bool devices_find(int real, unsigned int *ret_device);

/* The thread's context and the grant's device that it is on. */
enum face_place devices_here(face_context *ret_context, unsigned int *ret_device);

/* The device of a context that a thread has been in. False: not granted, or none has. */
bool devices_of(face_context context, unsigned int *ret_device);
void devices_forget_context(face_context context);
/* The program has made a context of its own on the runtime's device. */
void devices_made_context(face_context context, int real);

/* The context that the runtime itself has made on a device. NULL: no thread has been in it. */
face_context devices_shared_context(unsigned int device);
/* A context of the program's own is there: it keeps its memory when the device is reset. */
bool devices_have_made(unsigned int device);

/* Whose memory a record is: this face's, on a device of the grant. */
const void *devices_place(unsigned int device);

/* In the child of fork(). */
void devices_forget(void);
