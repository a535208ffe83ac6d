/*
 * waits.h: work whose end the program itself waits for.
 *
 * A program that waits for each of its kernels shows by that when they end. Markers (markers.h) would show the same,
 * and when the kernels began, but each costs the program calls of the driver. Some launches get markers. They show how
 * long after the launch's call work begins, and how long after its end the program's wait returns. Where both hardly
 * vary, most other launches are left without markers: the two delays and the host's clock replace them.
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
	struct {
		struct stream *stream;
		uint64_t word[WIRE_ENGINES]; /* of the flows' `submitted` */
	} of[WAITS_STREAMS];
};

/*
 * Around a driver's call that succeeds when the queue's work, or all work of the context, has ended. waits_end() is
 * called right after a call that succeeded. Further streams of the context than WAITS_STREAMS are not looked at.
 */
void waits_begin_by(const struct face *f, struct waits *w, face_queue queue, bool per_thread);
void waits_begin_context(struct waits *w, face_context context);
/* The context whose default queue the thread uses. */
void waits_begin_current_by(const struct face *f, struct waits *w);
void waits_end(const struct waits *w);

/* The same for the face that includes this header. */
static inline void waits_begin(struct waits *w, face_queue queue, bool per_thread)
{
	waits_begin_by(face, w, queue, per_thread);
}

static inline void waits_begin_current(struct waits *w)
{
	waits_begin_current_by(face, w);
}

/* With the lock of the pace held: whether the launch, of so many predicted nanoseconds, needs no marker. */
bool waits_may_leave_locked(struct pace *p, const struct launch *l, uint64_t ns);
/* The launch goes without a marker: its call has returned, and the flow's `submitted` does not include it yet. */
void waits_leave(struct pace *p, const struct launch *l);
/* With the lock held: work without a marker is in flight, and nothing behind it. */
bool waits_left_locked(const struct pace *p);
/* The program comes again, and has not waited for the work without a marker by a call that tells of it. */
void waits_missed(struct pace *p, const struct stream *s);
/* With the lock held, of a chunk with a start and times from its markers. */
void waits_learn_locked(struct pace *p, const struct chunk *c, uint64_t begin_ns, uint64_t end_ns);
