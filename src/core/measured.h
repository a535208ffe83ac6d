/*
 * measured.h: charges a driver's call whose size is known only afterwards: for a context, a module, an array, a graph's
 * memory.
 *
 * While the call runs the gate is closed, and all that is left of the quota is this process's credit; where an upper
 * bound is known, that much is held instead. Then the process is charged the growth of the driver's figure. If the
 * figure grew by more than the reserve, the caller undoes the call and returns the API's error for too little memory.
 *
 * The credit is not moved to `held` meanwhile. No other thread or process can use it, because the gate is closed and
 * meted recalls nothing from a process that is measuring. So the free memory that the tenant's other processes see
 * stays true.
 *
 * Another process can lower the figure: on a real driver, one that releases memory of ours that it had imported. The
 * known least size of a call is therefore a lower bound of its charge. Memory that the driver counts beyond the account
 * is charged when it is seen.
 */
#pragma once

#include "core/face.h"
#include "core/figure.h"

#include <stdbool.h>
#include <stdint.h>

struct measured {
	const struct face *face;
	unsigned int device;
	bool asked_all;		 /* the reserve is credit; otherwise it is held */
	uint32_t reserved_units; /* reserved before the call */
	uint32_t floor_units; /* set by the caller: least size of the call, whatever the figure says */
	struct figure before;
	uint64_t before_kept_units; /* kept by pools and graphs; a part of `before` */
};

#define MEASURED_UNKNOWN UINT64_MAX

enum measured_result {
	MEASURED_READY = 0, /* the gate is closed */
	MEASURED_REFUSED,   /* return CUDA_ERROR_OUT_OF_MEMORY; nothing has changed */
	MEASURED_OVER,	    /* undo the call, then measured_cancel() */
};

/*
 * Returns the units that an object of `bytes` adds to a device at least. On a driver with large blocks, its first part
 * may fit into an existing block.
 */
uint64_t measured_least_units(unsigned int device, uint64_t bytes);
/* Reserves between `least` and `most` units (MEASURED_UNKNOWN: all that is left). READY or REFUSED. */
int measured_begin_by(const struct face *f, struct measured *m, unsigned int device, uint64_t least, uint64_t most);
/*
 * As measured_begin(), for memory that the driver holds for this process already and that was not charged: a context
 * that was created before the process joined its grant. measured_end() charges it.
 */
int measured_begin_adopted_by(const struct face *f, struct measured *m, unsigned int device);
/* After the call has succeeded: settles the charge and opens the gate. READY, or OVER with the gate still closed. */
int measured_end(struct measured *m, uint32_t *ret_units);
/* After the call has failed or was undone: refunds the reserve and opens the gate. */
void measured_cancel(struct measured *m);

/* For a call that only releases memory: closes the gate and reads the figure. */
void measured_begin_release_by(const struct face *f, struct measured *m, unsigned int device);
/*
 * Refunds what the call released and opens the gate. `refunded` units were refunded already, by their records. `known`
 * is the rest of the charge: the refund where the driver's figure is not known, and its upper limit on a real driver.
 * MEASURED_UNKNOWN: the figure alone determines the refund.
 */
void measured_end_release(struct measured *m, uint64_t refunded, uint64_t known);
/* Notes `units` that the caller has charged, for measured_end_release() or measured_give(). Inside the gate. */
void measured_add(unsigned int device, uint64_t units);
/* Refunds units noted for an object that is gone. The gate is closed. */
void measured_give(unsigned int device, uint64_t units);

/* In the child of fork(): resets the state. */
void measured_reset(void);

/* The same for the face that includes this header. */
static inline int measured_begin(struct measured *m, unsigned int device, uint64_t least, uint64_t most)
{
	return measured_begin_by(face, m, device, least, most);
}

static inline int measured_begin_adopted(struct measured *m, unsigned int device)
{
	return measured_begin_adopted_by(face, m, device);
}

static inline void measured_begin_release(struct measured *m, unsigned int device)
{
	measured_begin_release_by(face, m, device);
}
