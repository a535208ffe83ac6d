/*
 * marks.h: when work is marked beside the launches themselves: before a queue is held back, recorded or destroyed, and
 * what the program's knowledge that work has ended says about the queues. A face calls these from its calls of that
 * kind. Before the first launch is gated nothing happens here.
 */
#pragma once

#include "core/pace.h"

#define MARKS_NONE WIRE_ENGINES /* no engine is left out */

/* The first launch is about to be gated: from now on the face tells of the end of work (face.h). */
void marks_arm(void);

/* Marks all work that is not marked yet; by a thread that is about to begin a capture. */
void marks_all(void);

/*
 * The queue is about to be held back by something that is no work of an engine (another queue's marker, a word in
 * memory, a function on the host), or by work of the engine `but`: what it holds is marked, and what comes after is
 * timed from its own beginning. `but`: MARKS_NONE, or an engine whose work need not be marked.
 */
void marks_break_by(const struct face *f, face_queue queue, bool per_thread, int but);

/* The program knows that the queue, or everything, has come to its end. */
void marks_ended_by(const struct face *f, face_queue queue, bool per_thread);
void marks_ended_all(void);

/* The queue is about to be destroyed: its work is marked, and the watcher keeps its hands off it from then on. */
void marks_queue_goes(face_queue queue);

/* Before and after a driver's call that may destroy the context. `gone`: it did. */
void marks_context_leaves(face_context context);
void marks_context_left(face_context context, bool gone);

/* The same by the face that calls. */
static inline void marks_break(face_queue queue, bool per_thread, int but)
{
	marks_break_by(face, queue, per_thread, but);
}

static inline void marks_ended(face_queue queue, bool per_thread)
{
	marks_ended_by(face, queue, per_thread);
}
