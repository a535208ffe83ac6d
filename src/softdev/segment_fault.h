/*
 * segment_fault.h: errors of a device: a ring of the last ones, which NVML's events are made of, and the means by which
 * one process brings errors about in another.
 *
 * An error has a number of NVIDIA's public list of Xid errors, so that tools read it as they do on a GPU. Whoever
 * reports one writes a line into METE_SOFT_DIR/kernel.log as well, as NVIDIA's driver does into the kernel's log: there
 * the process stands that it is about, which NVML does not tell.
 *
 * A context notices by its process's word `upsets`, which counts: it fails when the word is not what it was when the
 * context was made. A device that is lost upsets all.
 */
#pragma once

#include "softdev/segment.h"

#define XID_ENGINE_EXCEPTION 13u /* a kernel did something that the engine does not support */
#define XID_PAGE_FAULT 31u	 /* a kernel accessed unmapped memory */
#define XID_STOPPED 43u		 /* the driver stopped a program's work */
#define XID_TIMEOUT 8u		 /* a kernel took too long */
#define XID_LOST 79u		 /* "GPU has fallen off the bus" */

struct segment_error {
	uint64_t number; /* counts from 0 */
	uint32_t device, xid;
	int32_t pid; /* 0: of the device itself */
};

/* Reports an error of the process at this place (its own when it is `p`'s), or, with SEGMENT_MAX_PROCESSES, of none. */
void segment_report(struct segment_place *p, uint32_t device, uint32_t xid, uint32_t place);
/* The number of errors so far. */
uint64_t segment_errors(const struct segment *s);
/* The error `number`, or the oldest after it that is still known. False: there is none yet. */
bool segment_error_read(const struct segment *s, uint64_t number, struct segment_error *ret);
/*
 * Sleeps until there may be another error than when segment_errors() returned `seen`. Only the kernel reads the segment
 * meanwhile.
 */
void segment_error_wait(const struct segment *s, uint32_t seen_word, uint64_t most_ns);
uint32_t segment_error_word(const struct segment *s);

/* The process's contexts on the device fail with `error`, a CUresult. False: it has none there. */
bool segment_upset(struct segment_place *p, uint32_t device, int32_t pid, uint32_t error, uint32_t *ret_place);
/* Makes the device lost, or available again. */
void segment_lose(struct segment_place *p, uint32_t device, bool lost);
bool segment_lost(const struct segment *s, uint32_t device);
/* This process's word, for its contexts; and the error that they fail with when it has changed. */
const _Atomic uint32_t *segment_upsets(const struct segment_place *p, uint32_t device);
/* Set when it changes, and by the process itself: running kernels must end. Opening a context clears it. */
atomic_bool *segment_cancel(const struct segment_place *p, uint32_t device);
uint32_t segment_upset_error(const struct segment_place *p, uint32_t device);
