/*
 * waits.h: work whose end the program itself waits for.
 *
 * A program that waits for each of its kernels shows by that when they end. Markers (markers.h) would show the same,
 * and when the kernels began, but each costs the program calls of the driver. Some launches get markers: they show how
 * long after the launch's call work begins. Some waits put a marker behind the work: it shows how long after the end
 * the wait returns. Where both hardly vary, most other launches are left without: the two delays and the host's clock
 * replace markers.
 *
 * A program that could make the measured delays longer than the others would be charged too little. Therefore a delay
 * is learnt only from launches and waits that are like those without markers, which of them are measured is drawn by
 * lot, the program sees nothing of it before the launch has begun, or before it waits, and one delay that is much
 * shorter than was learnt ends all trust for a while.
 *
 * An event that the program records right behind such work, and waits for, shows the end by the device's own clock, so
 * no delay is learnt there. All calls that record events are watched for that: an event that was recorded once more, or
 * while another thread recorded one, or of a program that launched something else meanwhile, says nothing.
 *
 * Work without markers is in flight at most once in a pace, and only where nothing else is. If the program does not
 * wait for it, the watcher marks it later (watcher.c).
 */
#pragma once

#include "core/markers.h"

#define WAITS_STREAMS 4u

/* The streams for which a call of the program waits, and the work that they had before it. */
struct waits {
	unsigned int count;
	uint64_t begun_ns;
	/* a wait for an event: */
	face_marker event;
	struct pace *pace;
	uint64_t least_ns;
	struct {
		struct stream *stream;
		uint64_t word[WIRE_ENGINES]; /* of the flows' `submitted` */
	} of[WAITS_STREAMS];
};

/*
 * Around a driver's call that succeeds when the queue's work, or all work of the context, has ended. `sleeps`: it waits
 * for that, and does not only ask. waits_end() is called right after a call that succeeded. Further streams of the
 * context than WAITS_STREAMS are not looked at.
 */
void waits_begin_by(const struct face *f, struct waits *w, face_queue queue, bool per_thread, bool sleeps);
void waits_begin_context(struct waits *w, face_context context);
/* The context whose default queue the thread uses. */
void waits_begin_current_by(const struct face *f, struct waits *w);
void waits_end(const struct waits *w);

/* The same for the face that includes this header. */
static inline void waits_begin(struct waits *w, face_queue queue, bool per_thread, bool sleeps)
{
	waits_begin_by(face, w, queue, per_thread, sleeps);
}

static inline void waits_begin_current(struct waits *w)
{
	waits_begin_current_by(face, w);
}

/*
 * Around a driver's call that records an event of the program's: the ticket that the first function returned goes into
 * the second one. event NULL: the call may record any events, or one that is not known. queue: where it was recorded;
 * of an event that is recorded elsewhere, or that was not recorded, `event` is NULL in the second call.
 */
uint64_t waits_record_begin(face_marker event);
void waits_record_end_by(const struct face *f, uint64_t ticket, face_marker event, face_queue queue, bool per_thread);

/*
 * Around a driver's call that waits for an event of the program's and has succeeded. Where the event was recorded right
 * behind work without a marker, its time is the end of that work, by the device's clock.
 */
void waits_begin_event(struct waits *w, face_marker event);
void waits_end_event(const struct waits *w);

/* In the child of fork(). */
void waits_reset(void);

static inline void waits_record_end(uint64_t ticket, face_marker event, face_queue queue, bool per_thread)
{
	waits_record_end_by(face, ticket, event, queue, per_thread);
}

/* With the lock of the pace held: whether a launch of so many predicted nanoseconds that could do without a marker
 * does.
 */
bool waits_may_leave_locked(struct pace *p, uint64_t ns);
/* The launch goes without a marker: its call has returned, and the flow's `submitted` does not include it yet. */
void waits_leave(struct pace *p, const struct launch *l);
/* With the lock held: work without a marker is in flight, and nothing behind it. */
bool waits_left_locked(const struct pace *p);
/*
 * With the lock held: the program should have come back, and the watcher is about to take the end. The marker that it
 * records is late, and so is the end by it: on a machine without a free core by milliseconds.
 */
void waits_late_locked(struct pace *p);
/* The program comes again, and has not waited for the work without a marker by a call that tells of it. */
void waits_missed(struct pace *p, const struct stream *s);
/* With the lock held: when the work began of a chunk that had gone without a marker. */
uint64_t waits_begin_of_left_locked(struct pace *p, const struct chunk *c, uint64_t end_ns);
/* With the lock held, of a chunk with a start, or that had gone without a marker, and with times from its markers. */
void waits_learn_locked(struct pace *p, const struct chunk *c, uint64_t begin_ns, uint64_t end_ns);
