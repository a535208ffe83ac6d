/* bell.h: meted's doorbell, a descriptor that came with WELCOME: whoever rings it is looked at at once. */
#pragma once

/*
 * Rings meted's doorbell (turn.h): one write that never waits, and an fstat(), because the program may have closed the
 * descriptor and put something of its own in its place. Nothing happens while meted is away. Takes no lock.
 */
void bell_ring(void);

/* The doorbell's descriptor; -1: not attached, or no longer ours. To wait for nothing: it is only ever written. */
int bell_fd(void);

/*
 * The bell of a WELCOME; `fd` stays the caller's. One after the other; other threads may ring meanwhile.
 */
void bell_take(int fd);
void bell_drop(void);
