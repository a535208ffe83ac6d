/*
 * mover.h: the thread that takes the process's memory off the device when meted asks for it, and brings it back.
 *
 * meted asks by a word on the page (wire_account.wish), and reads the answer from another (place). To leave, the thread
 * shuts the door, waits for work in flight, copies everything to the host, and frees it on the device. A step that
 * fails is undone: the memory is where it was, and the page gives the reason.
 */
#pragma once

/* Called once the process is metered, and again in the child of fork(). Does nothing if memory does not move. */
void mover_start(void);
/* Called before the context ends: returns when no thread of the mover uses it. */
void mover_let_go(const void *context);
/* In the child of fork(). */
void mover_reset(void);
