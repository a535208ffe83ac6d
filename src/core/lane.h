/*
 * lane.h: a lane is the core's record of one context. It keeps a pool of the context's events, and converts the times
 * of its device's clock to CLOCK_MONOTONIC.
 *
 * Work in a context may also occupy another device of the grant (a graph with nodes there). For each such device the
 * context has a further lane: the work is charged to that device, and is measured by events of the context in which it
 * was launched.
 *
 * Events are created when first needed and used again. The face gives the time between an event and a base event
 * (marker_between). The base's time on CLOCK_MONOTONIC is an estimate, which every event bounds: an event happens after
 * it was submitted and before it was seen. The base is replaced every two seconds: the driver answers with a float,
 * which stays exact to a microsecond for so long, and the drift of the clocks cannot accumulate.
 *
 * A context may be destroyed at any time. A thread enters the lane before it calls the driver for it; lane_freeze()
 * lets no further thread enter.
 */
#pragma once

#include "core/face.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LANE_EVENTS 256u

struct stream;

struct lane {
	const struct face *face;
	face_context context; /* NULL: the entry is free */
	unsigned int device;  /* in the grant */
	struct lane *beside;  /* the context's next lane; the first one is for the context's own device */
	bool is_beside;	      /* it is not the first one */
	_Atomic bool frozen;
	_Atomic uint32_t users;	  /* its markers in use by a thread: the entry is not reused meanwhile */
	_Atomic uint32_t inside;  /* threads that have entered it */
	_Atomic uint32_t streams; /* its streams that have a record */
	struct stream *crowd;	  /* the record of those that find no place (streams.c); NULL: there were none */
	_Atomic uint64_t free_of; /* value of lane_holds when nothing held its legacy stream back */
	pthread_mutex_t lock;	  /* guards the members below */
	face_marker pool[LANE_EVENTS];
	uint32_t pooled;
	face_marker base, next_base; /* next_base: recorded, not yet known to have happened */
	uint64_t base_ns;	     /* the base's time on CLOCK_MONOTONIC, estimated */
	uint64_t base_submitted_ns, next_submitted_ns;
	uint64_t least_excess_ns; /* of recent events on an idle device: from the work behind to the computed time */
	uint32_t excesses;
	uint64_t least_gap_ns; /* of recent events that were waited for: computed time to the end of the wait */
	uint32_t gaps;
	bool caught_up; /* too far: events seemed to happen after they had been seen */
};

/*
 * Returns the context's lane; creates it if need be. NULL: no context of a granted device, or (*ret_full) no memory for
 * a lane.
 */
struct lane *lane_find(const struct face *f, face_context context, bool *ret_full);
/* The same, but creates none. */
struct lane *lane_known(face_context context);
/*
 * Returns the lane for what `home`, the context's own, submits to another device; creates it if need be. NULL: no
 * memory, or the context is gone.
 */
struct lane *lane_beside(struct lane *home, unsigned int device);

/* Enters the lane. False: its context is about to be destroyed; do not call the driver. */
bool lane_enter(struct lane *l);
void lane_leave(struct lane *l);

/* Mark the lane as used. The release comes after all use of the lane, so its entry is reused only then. */
static inline void lane_join(struct lane *l)
{
	atomic_fetch_add_explicit(&l->users, 1, memory_order_relaxed);
}

static inline void lane_part(struct lane *l)
{
	atomic_fetch_sub_explicit(&l->users, 1, memory_order_release);
}

/*
 * Counts how often a stream of the process was about to be held back by something other than an engine's work
 * (marks_break()). Counting starts at 1 when the first launch is gated.
 */
extern _Atomic uint64_t lane_holds;

/* True if, as far as this thread knows, only an engine's work holds back the lane's legacy stream. */
static inline bool lane_is_free(const struct lane *l)
{
	return atomic_load_explicit(&l->free_of, memory_order_relaxed) ==
	       atomic_load_explicit(&lane_holds, memory_order_relaxed);
}

/* Returns an event of the lane's context, to be recorded. NULL: none available. Inside the lane. */
face_marker lane_event(struct lane *l);
/* Gives an event back to the pool. Any thread, whether the lane is frozen or not. */
void lane_return(struct lane *l, face_marker event);

/* Records a new base event in the stream if one is due. Inside the lane, by the thread that launches. */
void lane_base(struct lane *l, face_queue stream, bool per_thread, uint64_t now_ns);

/*
 * Returns the time on CLOCK_MONOTONIC at which the event happened. The event was submitted at submitted_ns or later and
 * seen at seen_ns. 0: the driver does not say. Inside the lane.
 */
uint64_t lane_time(struct lane *l, face_marker event, uint64_t submitted_ns, uint64_t seen_ns);

/* Two events around some work, and how they were seen. */
struct lane_span {
	face_marker start, end;	   /* start NULL: there is none */
	uint64_t start_ns, end_ns; /* of their submission */
	uint64_t seen_ns;	   /* both had happened */
	bool waited;		   /* a thread slept until the end */
	/*
	 * Nothing held the stream back when the start was submitted: it happened at once, and the work behind it began
	 * at least_ns at the earliest. An event needs a little time to happen, nobody knows how much: only one that
	 * seems to be later than that work shows that the base is late. So no less is charged than was had.
	 */
	bool free;
	uint64_t least_ns;
};

/*
 * The times of both events by the same base: what is between them is what the device says, however wrong the base is.
 * *ret_begin_ns 0: there is no start, or the driver does not say. False: it says nothing. Inside the lane.
 */
bool lane_times(struct lane *l, const struct lane_span *span, uint64_t *ret_begin_ns, uint64_t *ret_end_ns);

/*
 * Around a driver's call that may destroy the context: lane_freeze() before it, then lane_drop() if the context is
 * gone, else lane_thaw(). They are about all lanes of the context; for lane_thaw() and lane_drop() the first one stands
 * for all. lane_freeze() waits for the threads inside, for a limited time.
 */
void lane_freeze(face_context context);
void lane_thaw(struct lane *l);
void lane_drop(struct lane *l);

/* In the child of fork(): removes all lanes. */
void lane_reset(void);
