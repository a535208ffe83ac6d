/*
 * charge.h: the steps of one allocation: charge it, ask the driver, then settle or refund the charge.
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
	face_context context; /* the allocation ends with it */
	unsigned int device;  /* index in the grant */
	uint32_t units;	      /* charged, in `held` */
};

enum charge_result {
	CHARGE_HELD = 0,
	CHARGE_REFUSED,	 /* return the API's error for too little memory */
	CHARGE_NOT_OURS, /* no context: the driver returns the error; nothing is charged, the gate was not entered */
};

/* Finds the context of this thread and its device in the grant. CHARGE_HELD: found. */
int charge_current_by(const struct face *f, face_context *ret_context, unsigned int *ret_device);

/* Charges a plain allocation of `bytes` on the current device. */
int charge_begin_by(const struct face *f, struct charge *c, uint64_t bytes);
/* Charges a number of units on a device. CHARGE_HELD or CHARGE_REFUSED. */
int charge_begin_units(struct charge *c, unsigned int device, uint64_t units);
/* The same for memory that can leave the device (shim/movable.h). */
int charge_begin_moving(struct charge *c, unsigned int device, uint64_t units);
/* The same, but pools and graphs are not asked to release memory that they keep. */
int charge_try_units(struct charge *c, unsigned int device, uint64_t units);
/* Charges more units between begin and end. False: there is no room; the present charge stays. */
bool charge_more(struct charge *c, uint32_t units);
/* Refunds the charge and leaves the gate. */
void charge_cancel(struct charge *c);

/*
 * Ends the charge of a plain allocation after the driver's answer: `made`, `bytes` at `pointer`. Sets the charge to the
 * blocks that the allocation touches and records it, or refunds it. False: the program does not get the allocation,
 * because the driver refused it, or because it exceeds the quota and the face has undone it.
 */
bool charge_end_by(const struct face *f, struct charge *c, bool made, uint64_t pointer, uint64_t bytes);

/* Returns the least number of units in blocks that hold `bytes`. */
uint64_t charge_units(unsigned int device, uint64_t bytes);

/* The same for the face that includes this header. */
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
