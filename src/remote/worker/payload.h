/*
 * payload.h: actions when the device has reached a point in a stream: a reply, a notice. A thread of the worker waits
 * for events; it is created at first use.
 */
#pragma once

#include "remote/worker/worker.h"

/* Called before a reply that tells the client that work is complete: sends what that work wrote. */
void payload_flush(struct work *work);
/* The same where the driver must not be called, in a host function of a stream: waits for the thread that may. */
void payload_settle(struct worker *worker);
/*
 * Waits until the request's payload of this serial has arrived, or the session has ended; for host functions of a
 * stream.
 */
void payload_arrive(struct worker *worker, uint64_t serial);
/* Called before the context ends, when it gets no more work: waits until nothing depends on it. */
void payload_leave(CUcontext context);
/*
 * Called when the session has ended: no more messages go to its client. Pending actions are dropped; their events end
 * with the driver.
 */
void payload_end(void);
/*
 * Registers the staging and the board with the driver, so that copies from and to them are asynchronous. False: they
 * work, but the driver waits inside the call.
 */
bool payload_register(struct work *work);
/* Waits until the request's payload has arrived; no other request is executed meanwhile. False: the client is gone. */
bool payload_wait_here(struct work *work);
