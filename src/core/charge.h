/*
 * charge.h: one allocation on its way: charged, then asked of the driver, then settled or refunded.
 *
 *	if (charge_begin(&c, bytes) ...)   the units are in held, the thread is inside the gate
 *	made = ...                            the driver
 *	charge_end(&c, made, pointer, bytes)  recorded, or refunded; the thread is outside the gate
 */
#pragma once

#include "core/face.h"

#include <stdbool.h>
#include <stdint.h>

struct charge {
	face_context context; /* the allocation dies with it */
	unsigned int device;  /* index in the grant */
	uint32_t units;	      /* in held */
};

enum charge_result {
	CHARGE_HELD = 0,
	CHARGE_REFUSED,	 /* answer that memory is short, in the API's words */
	CHARGE_NOT_OURS, /* no context: the driver says what is wrong; nothing is charged, the gate was not entered */
};

/* The context of this thread and its device in the grant. CHARGE_HELD: found. */
int charge_current_by(const struct face *f, face_context *ret_context, unsigned int *ret_device);

/* Takes the units of a plain allocation of `bytes` on the current device. */
int charge_begin_by(const struct face *f, struct charge *c, uint64_t bytes);
/* The same for given units on a given device. CHARGE_HELD or CHARGE_REFUSED. */
int charge_begin_units(struct charge *c, unsigned int device, uint64_t units);
/* The same for memory that can leave the device (shim/movable.h). */
int charge_begin_moving(struct charge *c, unsigned int device, uint64_t units);
/* The same as charge_begin_units() without making pools and graphs give back what they keep. */
int charge_try_units(struct charge *c, unsigned int device, uint64_t units);
/* More, in the middle of it. False: not to be had; what is held stays held. */
bool charge_more(struct charge *c, uint32_t units);
/* Gives all back and leaves the gate. */
void charge_cancel(struct charge *c);

/*
 * After the driver's answer to a plain allocation: `made`, really `bytes` at `pointer`. Settles at what it touches and
 * records it, or refunds. False: the program does not get it. The driver had none, or took more than may be had: then
 * the face has undone it.
 */
bool charge_end_by(const struct face *f, struct charge *c, bool made, uint64_t pointer, uint64_t bytes);

/* Units of the blocks that `bytes` need at least. */
uint64_t charge_units(unsigned int device, uint64_t bytes);

/* The same by the face that calls. */
static inline int charge_current(face_context *ret_context, unsigned int *ret_device)
{
	return charge_current_by(face, ret_context, ret_device);
}

static inline int charge_begin(struct charge *c, uint64_t bytes)
{
	return charge_begin_by(face, c, bytes);
}

static inline bool charge_end(struct charge *c, bool made, uint64_t pointer, uint64_t bytes)
{
	return charge_end_by(face, c, made, pointer, bytes);
}
