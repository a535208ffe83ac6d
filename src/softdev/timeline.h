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

/* A span in which the context was served without a change: from (at_ns, clock_ns) on. */
struct timeline_run {
	uint64_t at_ns;
	uint64_t clock_ns;
	uint64_t rate; /* of its clock, in 1/TIMELINE_WHOLE of real time */
};

struct timeline_context {
	uint64_t owner;	    /* whose it is; 0: a free place */
	uint64_t clock_ns;  /* how far it has come */
	uint64_t served_ns; /* device time that it got: its clock, but for contexts that share the device */
	uint64_t known_ns;  /* has work until its clock shows this */
	uint64_t beat_ns;   /* when its open work showed progress last; TIMELINE_NEVER: it always does */
	uint64_t slice_ns;  /* its own slice; 0: the device's */
	uint32_t demand;    /* what its work can use of the device, up to TIMELINE_WHOLE; together only */
	bool open;	    /* has work of unknown length behind known_ns */
	uint8_t run_count;  /* newest at (run_count - 1) % TIMELINE_RUNS; wraps within 2 * TIMELINE_RUNS */
	uint16_t unused;
	struct timeline_run run[TIMELINE_RUNS];
};

#define TIMELINE_NOBODY UINT32_MAX

struct timeline {
	uint64_t began_ns;  /* of the first advance; 0: none yet */
	uint64_t now_ns;    /* all that was until then has been worked out */
	uint64_t served_ns; /* time in which somebody was served */
	uint64_t switch_ns; /* time in which contexts were changed */
	uint64_t slice_ns;
	uint64_t switch_cost_ns;
	uint64_t switches;
	uint64_t switch_end_ns; /* the resident is being switched to until then */
	uint64_t slice_end_ns;
	uint32_t sharing;  /* enum timeline_sharing */
	uint32_t resident; /* who had the device last, or TIMELINE_NOBODY */
	uint32_t count;	   /* one above the highest place in use */
	uint32_t unused;
	struct timeline_context context[TIMELINE_CONTEXTS];
};

/* What is in use of the struct. */
#define TIMELINE_BYTES(t) (offsetof(struct timeline, context) + (t)->count * sizeof((t)->context[0]))

void timeline_init(struct timeline *t, enum timeline_sharing sharing, uint64_t slice_ns, uint64_t switch_ns);
/* A place for a context without work. Value: its number, or TIMELINE_NOBODY: all are taken. */
uint32_t timeline_add(struct timeline *t, uint64_t owner);
/* It is gone, and its work with it. */
void timeline_remove(struct timeline *t, uint32_t i);
/* Works out what happened until now_ns. An earlier time than before changes nothing. */
void timeline_advance(struct timeline *t, uint64_t now_ns);
/* What work the context has from now on (the timeline's now). */
void timeline_set(struct timeline *t, uint32_t i, uint64_t known_ns, bool open, uint32_t demand);
/* When the context's clock showed clock_ns, which it has reached; exact for the last TIMELINE_RUNS runs. */
uint64_t timeline_when(const struct timeline *t, uint32_t i, uint64_t clock_ns);
/*
 * When its clock will show clock_ns if nothing changes; TIMELINE_NEVER: it will not. After many slices a time before
 * that is given: ask again then. The state is advanced as far as that takes: give it a copy.
 */
uint64_t timeline_predict(struct timeline *t, uint32_t i, uint64_t clock_ns);
/* Time in which the device did nothing. */
uint64_t timeline_idle_ns(const struct timeline *t);
