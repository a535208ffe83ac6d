/*
 * markers.h: the markers of Level Zero's face: an event with timestamps that a barrier signals. In a command queue the
 * barrier is submitted in a list of mete's; in an immediate list it is appended directly.
 */
#pragma once

#include "levelzero/queues.h"

face_marker markers_new(face_context context);
void markers_free_one(face_marker marker);
bool markers_put(face_marker marker, face_queue queue, bool per_thread);
enum face_state markers_look(face_marker marker);
enum face_state markers_wait(face_marker marker);
bool markers_between(face_marker from, face_marker to, int64_t *ret_ns);

/* Call before a context is destroyed, when no thread uses its markers: destroys the driver's objects of them. */
void markers_end(struct home *h);
/* Call when the context is gone and the core has dropped its markers. */
void markers_free(struct home *h);
