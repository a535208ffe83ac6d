/*
 * markers.h: what the core times work by: an event with timestamps that a barrier signals. A command queue is given the
 * barrier in a list of ours, an immediate list takes it as it is.
 */
#pragma once

#include "levelzero/queues.h"

face_marker markers_new(face_context context);
void markers_free_one(face_marker marker);
bool markers_put(face_marker marker, face_queue queue, bool per_thread);
enum face_state markers_look(face_marker marker);
enum face_state markers_wait(face_marker marker);
bool markers_between(face_marker from, face_marker to, int64_t *ret_ns);

/* The context is about to be destroyed, and nobody uses its markers: ends what the driver has of them. */
void markers_end(struct home *h);
/* The context is gone, and the core has forgotten its markers. */
void markers_free(struct home *h);
