/*
 * marks.h: marks work at other times than launches: before a queue is held back, captured or destroyed. It also notes
 * that the program knows of the end of work. Faces call these functions from the API's calls of these kinds. Until the
 * first launch is gated they have no effect.
 */
#pragma once

#include "core/pace.h"

#define MARKS_NONE WIRE_ENGINES /* the work of all engines is marked */

/* The first launch is about to be gated: from now on faces report the end of work (face.h). */
void marks_arm(void);

/* Marks all unmarked work. Called by a thread that is about to begin a capture. */
void marks_all(void);

/*
 * Call before the queue is held back by something other than an engine's work (another queue's marker, a word in
 * memory, a function on the host), or by work of the engine `but`. The queue's present work is marked, and later work
 * is timed from its own beginning. `but`: MARKS_NONE, or an engine whose work need not be marked.
 */
void marks_break_by(const struct face *f, face_queue queue, bool per_thread, int but);

/* Call when the program knows that all work of the queue, or of all queues, has ended. */
void marks_ended_by(const struct face *f, face_queue queue, bool per_thread);
void marks_ended_all(void);

/* Marks the stream's unmarked work of one engine. */
void marks_stream(struct pace *p, struct stream *s);

/* Call before a queue is destroyed: marks its work. The watcher does not use the queue from then on. */
void marks_queue_goes(face_queue queue);

/* Call before and after a driver's call that may destroy the context. `gone`: the context was destroyed. */
void marks_context_leaves(face_context context);
void marks_context_left(face_context context, bool gone);

/* The same for the face that includes this header. */
static inline void marks_break(face_queue queue, bool per_thread, int but)
{
	marks_break_by(face, queue, per_thread, but);
}

static inline void marks_ended(face_queue queue, bool per_thread)
{
	marks_ended_by(face, queue, per_thread);
}
