/*
 * measured.h: a driver's call whose size only shows afterwards: a context, a module, an array, a graph's memory.
 *
 * All that is left of the quota is this process's credit while the call runs (or an upper bound, where one is known, is
 * held), the gate is closed, and the charge is settled at what the driver's figure has grown by. If it grew by more,
 * the caller undoes the call and answers out of memory.
 * The credit is not taken into `held` meanwhile: nobody else can use it, for the gate is closed and meted recalls
 * nothing from a process that is measuring; and what other processes of the tenant see as free stays true.
 *
 * The figure may be lowered by somebody else: on a real driver by another process that gives up memory of ours which it
 * had imported. So what is known of a call is its floor, and what the driver counts beyond the account is charged when
 * it is seen.
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
	uint32_t reserved_units; /* to be settled */
	uint32_t floor_units; /* set by the caller: what the call takes is known to be no less, whatever the figure says
			       */
	struct figure before;
	uint64_t before_kept_units; /* by pools and graphs, in `before` */
};

#define MEASURED_UNKNOWN UINT64_MAX

enum measured_result {
	MEASURED_READY = 0, /* the gate is closed */
	MEASURED_REFUSED,   /* answer CUDA_ERROR_OUT_OF_MEMORY; nothing has changed */
	MEASURED_OVER,	    /* undo the call, then measured_cancel() */
};

/*
 * Units that something of `bytes` is sure to add to a device: on a driver with large blocks its first part may find
 * room in a block that is there already.
 */
uint64_t measured_least_units(unsigned int device, uint64_t bytes);
/* Holds at least `least` and at most `most` units (MEASURED_UNKNOWN: all there is). READY or REFUSED. */
int measured_begin_by(const struct face *f, struct measured *m, unsigned int device, uint64_t least, uint64_t most);
/*
 * As measured_begin(), for what the driver holds for this process already and nobody was charged for: a context that
 * was made before the process had its grant. measured_end() charges it.
 */
int measured_begin_adopted_by(const struct face *f, struct measured *m, unsigned int device);
/* After the call did its work: settles and opens the gate. READY, or OVER with the gate still closed. */
int measured_end(struct measured *m, uint32_t *ret_units);
/* After the call failed or was undone: gives back and opens the gate. */
void measured_cancel(struct measured *m);

/* For a call that only gives back: closes the gate and reads the figure. */
void measured_begin_release_by(const struct face *f, struct measured *m, unsigned int device);
/*
 * Opens the gate. `refunded` units of what the call freed have been given back already, by their records; `known` is
 * what else was charged for it: given back where the driver's figure does not say, and on a real driver the most that
 * is. MEASURED_UNKNOWN: the figure alone says.
 */
void measured_end_release(struct measured *m, uint64_t refunded, uint64_t known);
/* Inside the gate: `units` that the caller has charged are given back by measured_end_release() or measured_give(). */
void measured_add(unsigned int device, uint64_t units);
/* With the gate closed: gives back what was charged for something that is gone. */
void measured_give(unsigned int device, uint64_t units);

/* In the child of fork(). */
void measured_reset(void);

/* The same by the face that calls. */
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
