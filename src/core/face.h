/*
 * face.h: what the core requires of each API that a program uses. The core does the accounting and the pacing: it
 * handles accounts, turns, queues and markers, and calls no API. A face is the side of one API: it intercepts the
 * program's calls, reports them to the core, and does for the core what only the API can do. A process has one core
 * (libmete-core.so) and one face for each API; a face joins when it is initialised. Objects of the core that belong to
 * a face (a lane and its queues) point to it.
 *
 * A queue executes work in order (a stream). A marker occurs in a queue and can be waited for (an event). Both belong
 * to a context and end with it. All three are handles of the API, which the core only passes back. Queues 0 and 1 are
 * the default queue of the current context. Queue 2, and queue 0 with `per_thread`, are the thread's default queue in
 * that context.
 *
 * Any thread may call a face; the core holds no lock then. A face holds no lock when it returns, and does not call the
 * core from these functions.
 */
#pragma once

#include "core/figure.h"

#include <stdbool.h>
#include <stdint.h>

typedef void *face_context;
typedef void *face_queue;
typedef void *face_marker;
typedef void *face_function;

/* The state of a marker. */
enum face_state {
	FACE_HAPPENED,
	FACE_PENDING,
	FACE_FAILED, /* it will never occur, or its state cannot be determined */
	FACE_GONE,   /* the driver has shut down: the process is ending */
};

enum face_place {
	FACE_NOWHERE,	/* no context, or the driver does not say, or nothing is metered here */
	FACE_ELSEWHERE, /* on a device that is not granted, or that cannot be metered although it has to be */
	FACE_GRANTED,
};

/* The version of this table and of all functions between core and faces: both are of one release. */
#define FACE_VERSION 1u

struct face {
	uint32_t version; /* FACE_VERSION */
	/*
	 * The device of the calling thread. *ret_context is set except for FACE_NOWHERE, *ret_device for FACE_GRANTED.
	 */
	enum face_place (*here)(face_context *ret_context, unsigned int *ret_device);
	/* The device of a context in the grant. False: not granted, or the driver does not say. */
	bool (*device)(face_context context, unsigned int *ret_device);
	/* enter makes the context current; leave restores the previous one. False: impossible; do not call leave. */
	bool (*enter)(face_context context);
	void (*leave)(void);

	/*
	 * The context whose default queue the thread uses; NULL: no context. Called often; avoids the driver if
	 * possible. The pointer is NULL if the API has no default queues.
	 */
	face_context (*context_of_default)(void);
	/* The context of another queue; NULL: the driver does not say. */
	face_context (*context)(face_queue queue, bool per_thread);
	/*
	 * True if work for the queue is captured and not executed, or if the driver cannot say because a capture is
	 * under way.
	 */
	bool (*captured)(face_queue queue, bool per_thread);

	/* A new reusable marker of the context, which need not be current. NULL: none available. */
	face_marker (*marker_new)(face_context context);
	void (*marker_free)(face_marker marker);
	/* Places the marker behind all work of the queue. False: it was not placed. */
	bool (*marker_put)(face_marker marker, face_queue queue, bool per_thread);
	enum face_state (*marker_look)(face_marker marker);
	/* Sleeps until the marker has occurred. */
	enum face_state (*marker_wait)(face_marker marker);
	/*
	 * The time between two markers that have occurred, by the device's clock, in nanoseconds. False: the driver
	 * does not say.
	 */
	bool (*marker_between)(face_marker from, face_marker to, int64_t *ret_ns);

	/* Called in a thread of the core before it calls the face. */
	void (*thread_begins)(void);
	/* The first launch is about to be gated: from now on the face reports the end of work as well. */
	void (*arm)(void);
	/* The name of a function; never NULL, valid until the thread's next call. */
	const char *(*name)(face_function function);
	/* The driver's figure for this process, with the gate closed (gate.h). */
	void (*figure)(unsigned int device, struct figure *ret);
	/*
	 * kept returns the units that the driver keeps for the program in pools, and that calls outside of the gate can
	 * release. shrink releases some of them. False: there were none.
	 */
	uint64_t (*kept)(unsigned int device);
	bool (*shrink)(unsigned int device);
	/* Frees a plain allocation that was just made on the current device. */
	void (*undo)(uint64_t address);

	/* In the child of fork(): forgets all objects. */
	void (*forget)(void);
};

/* The face of the library that includes this header; the core itself has none. */
extern const struct face *const face;
