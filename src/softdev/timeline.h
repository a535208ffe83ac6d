/*
 * timeline.h: how contexts share one device's time: the model, as pure functions of a state and a time.
 *
 * A context has a clock of its own that advances while the device serves it. It says up to where on that clock it has
 * work (`known_ns`), and whether it has work beyond that of which it does not know how long it takes (`open`). From
 * that alone follows who has the device when. Nothing is woken per slice: timeline_advance() works out what has
 * happened since it was asked last.
 *
 * Slices: contexts with work take turns of `slice_ns`, one after the other in the order of their places. Going to
 * another context than the one before costs `switch_ns`, in which nobody is served. A slice ends early when its context
 * has no work left; one that nobody else waits for begins anew, so that who comes meanwhile waits for its end.
 * Together: all contexts with work are served at once; where their demands exceed the device, each gets an equal part
 * of it, or less if it demands less (water-filling). No switches. Apart: as if each had a device of its own.
 *
 * Open work counts only while its process shows progress: TIMELINE_STALL_NS after the latest beat it is passed over, so
 * that a process that was stopped does not hold the device. Known work needs its process no more.
 *
 * Identity: served + switch + idle = wall, exactly. All times are nanoseconds of one clock, which is the caller's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TIMELINE_CONTEXTS 256u
#define TIMELINE_RUNS 6u
#define TIMELINE_NEVER UINT64_MAX
#define TIMELINE_WHOLE 1024u /* of a device: the unit of demands and rates */
#define TIMELINE_STALL_NS 10000000u
#define TIMELINE_SLICE_NS 2000000u
#define TIMELINE_SWITCH_NS 75000u

enum timeline_sharing { TIMELINE_SLICES, TIMELINE_TOGETHER, TIMELINE_APART };

/* An interval in which the context was served at a constant rate: from (at_ns, clock_ns) on. */
struct timeline_run {
	uint64_t at_ns;
	uint64_t clock_ns;
	uint64_t rate; /* of its clock, in 1/TIMELINE_WHOLE of real time */
};

struct timeline_context {
	uint64_t owner;	    /* its owner; 0: a free entry */
	uint64_t clock_ns;  /* its current value */
	uint64_t served_ns; /* device time used: equal to the clock, except for contexts that share the device */
	uint64_t known_ns;  /* has work until its clock shows this */
	uint64_t beat_ns;   /* the last progress of its open work; TIMELINE_NEVER: it always progresses */
	uint64_t slice_ns;  /* its own slice; 0: the device's */
	uint32_t demand;    /* the part of the device that its work can use, up to TIMELINE_WHOLE; only in mode
			     * "together" */
	bool open;	    /* has work of unknown length behind known_ns */
	uint8_t run_count;  /* newest at (run_count - 1) % TIMELINE_RUNS; wraps within 2 * TIMELINE_RUNS */
	uint16_t unused;
	struct timeline_run run[TIMELINE_RUNS];
};

#define TIMELINE_NOBODY UINT32_MAX

struct timeline {
	uint64_t began_ns;  /* time of the first advance; 0: none yet */
	uint64_t now_ns;    /* the time up to which everything has been computed */
	uint64_t served_ns; /* time in which a context was served */
	uint64_t switch_ns; /* time in which contexts were changed */
	uint64_t slice_ns;
	uint64_t switch_cost_ns;
	uint64_t switches;
	uint64_t switch_end_ns; /* the resident is being switched to until then */
	uint64_t slice_end_ns;
	uint32_t sharing;  /* enum timeline_sharing */
	uint32_t resident; /* the context that had the device last, or TIMELINE_NOBODY */
	uint32_t count;	   /* one above the highest place in use */
	uint32_t unused;
	struct timeline_context context[TIMELINE_CONTEXTS];
};

/* What is in use of the struct. */
#define TIMELINE_BYTES(t) (offsetof(struct timeline, context) + (t)->count * sizeof((t)->context[0]))

void timeline_init(struct timeline *t, enum timeline_sharing sharing, uint64_t slice_ns, uint64_t switch_ns);
/* Adds a context without work. Value: its index, or TIMELINE_NOBODY: all are taken. */
uint32_t timeline_add(struct timeline *t, uint64_t owner);
/* Removes it, with its work. */
void timeline_remove(struct timeline *t, uint32_t i);
/* Computes what happened until now_ns. An earlier time than before changes nothing. */
void timeline_advance(struct timeline *t, uint64_t now_ns);
/* Sets the context's work from now on (the timeline's now). */
void timeline_set(struct timeline *t, uint32_t i, uint64_t known_ns, bool open, uint32_t demand);
/*
 * The time at which the context's clock showed clock_ns, which it has reached; exact for the last TIMELINE_RUNS runs.
 */
uint64_t timeline_when(const struct timeline *t, uint32_t i, uint64_t clock_ns);
/*
 * The time at which its clock will show clock_ns if nothing changes; TIMELINE_NEVER: never. After many slices an
 * earlier time is returned: ask again then. The state is advanced as far as necessary: pass a copy.
 */
uint64_t timeline_predict(struct timeline *t, uint32_t i, uint64_t clock_ns);
/* The time for which the device was idle. */
uint64_t timeline_idle_ns(const struct timeline *t);
