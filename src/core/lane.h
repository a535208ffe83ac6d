/*
 * lane.h: a context as the gate sees it: the events that it lends, and its device's clock told by the host's.
 *
 * Events are the context's own, created when first needed and lent out again and again. The time of an event comes
 * from the face (marker_between) against a base event; the base's place on CLOCK_MONOTONIC is held between the bounds
 * that each event gives: it happened after it was submitted and before it was seen. The base is replaced every other
 * second, so that the float in which the driver answers stays exact to a microsecond, and drift of the clocks has no
 * time to add up.
 *
 * A context may go at any time. lane_freeze() keeps everybody here out of the driver on its behalf; who wants to make a
 * driver's call for a lane enters it first.
 */
#pragma once

#include "core/face.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LANE_EVENTS 256u

struct lane {
	const struct face *face;
	face_context context; /* NULL: a free place */
	unsigned int device; /* in the grant */
	_Atomic bool frozen;
	_Atomic uint32_t users; /* markers of it that somebody looks at: the place is not used again meanwhile */
	_Atomic uint32_t inside; /* threads that make driver's calls for it */
	_Atomic uint32_t streams; /* of it that are known */
	_Atomic uint64_t free_of; /* lane_holds when nothing held its legacy stream back */
	pthread_mutex_t lock; /* guards what follows */
	face_marker pool[LANE_EVENTS];
	uint32_t pooled;
	face_marker base, next_base; /* next_base: recorded, not known to have happened */
	uint64_t base_ns;	 /* CLOCK_MONOTONIC, as far as is known */
	uint64_t base_submitted_ns, next_submitted_ns;
	uint64_t least_excess_ns; /* of recent events on an idle device: from their submission to the time told */
	uint32_t excesses;
	uint64_t least_gap_ns; /* of recent events that were waited for: from the time told to when they were seen */
	uint32_t gaps;
};

/* The lane of a context, made when it is new. NULL: not a context of a granted device, or too many. */
struct lane *lane_find(const struct face *f, face_context context);
/* The same, but none is made. */
struct lane *lane_known(face_context context);

/* False: the context is about to go; make no call. */
bool lane_enter(struct lane *l);
void lane_leave(struct lane *l);

/* Acquire and release: what was done with the lane came before another context has its place. */
static inline void lane_join(struct lane *l)
{
	atomic_fetch_add_explicit(&l->users, 1, memory_order_relaxed);
}

static inline void lane_part(struct lane *l)
{
	atomic_fetch_sub_explicit(&l->users, 1, memory_order_release);
}

/*
 * How often a stream of the process was about to be held back by what is no work of an engine (marks_break());
 * counted from 1, once the first launch has been gated.
 */
extern _Atomic uint64_t lane_holds;

/* Nothing but work of an engine holds back what goes to the lane's legacy stream, as far as this thread knows. */
static inline bool lane_is_free(const struct lane *l)
{
	return atomic_load_explicit(&l->free_of, memory_order_relaxed) ==
	       atomic_load_explicit(&lane_holds, memory_order_relaxed);
}

/* An event of the lane's context, to be recorded. NULL: none to be had. Inside the lane. */
face_marker lane_event(struct lane *l);
/* It is not needed any more. Any thread, whether the lane is frozen or not. */
void lane_return(struct lane *l, face_marker event);

/* Records a base event in the stream, if one is due. Inside the lane, by the thread that launches. */
void lane_base(struct lane *l, face_queue stream, bool per_thread, uint64_t now_ns);

/* What is known of when an event was seen to have happened, or when it should have. */
enum lane_seen {
	LANE_LATER,  /* some time after it happened */
	LANE_WAITED, /* somebody slept until then */
	LANE_IDLE,   /* later, but nothing was in flight when it was submitted: it should have happened at once */
};

/*
 * When the event happened: CLOCK_MONOTONIC. It was submitted not before submitted_ns and has been seen at seen_ns.
 * 0: the driver does not say. Inside the lane.
 */
uint64_t lane_time(struct lane *l, face_marker event, uint64_t submitted_ns, uint64_t seen_ns, enum lane_seen how);

/* From the context's end on: freeze, the driver's call, and then drop, if it is gone, or thaw. */
void lane_freeze(face_context context);
void lane_thaw(struct lane *l);
void lane_drop(struct lane *l);

/* In the child of fork(). */
void lane_reset(void);
