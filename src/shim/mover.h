/*
 * mover.h: the thread that takes the process's memory off the device when meted asks for it, and brings it back.
 *
 * meted asks by a word on the page (wire_account.wish), and learns of the answer from another (place). To leave: the
 * door is shut, what is in flight ends, everything is copied to the host, the driver lets go. Whatever fails on the way
 * is undone: the memory is where it was, and the page says why.
 */
#pragma once

/* Once the process is metered, and again in the child of fork(). Nothing where memory does not move. */
void mover_start(void);
/* The context is about to go: returns when no thread of the mover is in it. */
void mover_let_go(const void *context);
/* In the child of fork(). */
void mover_reset(void);
