/*
 * payload.h: what has to happen when the device has come somewhere in a stream: a reply, a notice. A thread of the
 * worker's waits for events; it is made when it is first needed.
 */
#pragma once

#include "remote/worker/worker.h"

/* Before a reply goes out that tells the client that work is done: what that work wrote is on its way as well. */
void payload_flush(struct work *work);
/* The same where the driver must not be called, in a function of a stream: waits for the thread that may. */
void payload_settle(struct worker *worker);
/* Until the request's payload of this serial is there, or the session has ended; for functions of a stream. */
void payload_arrive(struct worker *worker, uint64_t serial);
/* The context is about to end, and gets no more work: until nothing waits for what is in it. */
void payload_leave(CUcontext context);
/* The session has ended: its client is told nothing more. What waited is forgotten; its events end with the driver. */
void payload_end(void);
/*
 * Makes the staging and the board known to the driver, so that copies from and to them are asynchronous. False: they
 * work, but the driver waits inside the call.
 */
bool payload_register(struct work *work);
/* Until the request's payload is there; nobody else executes meanwhile. False: the client is gone. */
bool payload_wait_here(struct work *work);
