/*
 * face.h: what the core asks of the APIs that a program uses. The core meters and paces: it knows accounts, turns,
 * queues and markers, and no call of any API. A face is an API's side: it catches the program's calls, tells the
 * core of them, and does for the core what only the API can do. A process has one core (libmete-core.so) and as many
 * faces as APIs; each joins when it comes to life. What the core keeps of a face's (a lane, with its queues) knows it.
 *
 * A queue takes work in order (a stream). A marker happens in a queue and can be waited for (an event). Both
 * belong to a context and end with it. All three are the API's own handles, which the core only hands back. Queues
 * 0 and 1 are the default queue of the current context; queue 2, and 0 with `per_thread`, are that of the thread
 * in it.
 *
 * Any thread calls a face, with no lock of the core held. A face keeps no lock when it returns, and does not call
 * the core from here.
 */
#pragma once

#include "core/figure.h"

#include <stdbool.h>
#include <stdint.h>

typedef void *face_context;
typedef void *face_queue;
typedef void *face_marker;
typedef void *face_function;

/* What has become of a marker. */
enum face_state {
	FACE_HAPPENED,
	FACE_PENDING,
	FACE_FAILED, /* it will not happen, or nobody can say */
	FACE_GONE,   /* the driver has ended: the process does */
};

enum face_place {
	FACE_NOWHERE,	/* no context, or the driver does not say, or nothing is metered here */
	FACE_ELSEWHERE, /* on a device that is not granted, or that cannot be metered although it has to be */
	FACE_GRANTED,
};

/* Of this table, and of all that core and faces call of each other: they come from one release. */
#define FACE_VERSION 1u

struct face {
	uint32_t version; /* FACE_VERSION */
	/* Where the calling thread is. *ret_context is filled but for FACE_NOWHERE, *ret_device for FACE_GRANTED. */
	enum face_place (*here)(face_context *ret_context, unsigned int *ret_device);
	/* The grant's device of a context. False: not granted, or the driver does not say. */
	bool (*device)(face_context context, unsigned int *ret_device);
	/* Makes the context current, and the one before it again. False: it cannot be; then nothing is to be undone. */
	bool (*enter)(face_context context);
	void (*leave)(void);

	/* Whose default queue the thread means; NULL: no context. Often asked, if possible without the driver. NULL in
	 * the table: the API has no default queues. */
	face_context (*context_of_default)(void);
	/* The context of any other queue; NULL: the driver does not say. */
	face_context (*context)(face_queue queue, bool per_thread);
	/* What goes to the queue is recorded and is no work, or the driver cannot say because something is recorded. */
	bool (*captured)(face_queue queue, bool per_thread);

	/* One of the context, whatever the current one is, to be put again and again. NULL: none to be had. */
	face_marker (*marker_new)(face_context context);
	void (*marker_free)(face_marker marker);
	/* Behind all that the queue has. False: it is not there. */
	bool (*marker_put)(face_marker marker, face_queue queue, bool per_thread);
	enum face_state (*marker_look)(face_marker marker);
	/* Sleeps until it has happened. */
	enum face_state (*marker_wait)(face_marker marker);
	/* Between two that have happened, by the device's clock, in nanoseconds. False: the driver does not say. */
	bool (*marker_between)(face_marker from, face_marker to, int64_t *ret_ns);

	/* In a thread of the core's own that is about to call the face. */
	void (*thread_begins)(void);
	/* The first launch is about to be gated: from now on the face tells of the end of work as well. */
	void (*arm)(void);
	/* Of what is launched; never NULL, and lives until the next call of the thread. */
	const char *(*name)(face_function function);
	/* What the driver says of this process, with the gate closed (gate.h). */
	void (*figure)(unsigned int device, struct figure *ret);
	/*
	 * Units that the driver keeps for the program, and that go back in calls which no gate holds up (pools).
	 * shrink: has some of them given back. False: there were none.
	 */
	uint64_t (*kept)(unsigned int device);
	bool (*shrink)(unsigned int device);
	/* Gives back a plain allocation that has just been made on the current device. */
	void (*undo)(uint64_t address);

	/* In the child of fork(): nothing that the face knows is there any more. */
	void (*forget)(void);
};

/* The face of the library that includes this; the core itself has none. */
extern const struct face *const face;
