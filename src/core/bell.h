/* bell.h: the doorbell, a descriptor that meted sends with WELCOME. meted serves the tenant that rings it at once. */
#pragma once

/*
 * Rings the doorbell (turn.h): one write that never blocks, after an fstat(), because the program may have closed the
 * descriptor and opened another file under its number. No effect while meted is away. Takes no lock.
 */
void bell_ring(void);

/*
 * Returns the doorbell's descriptor; -1: not attached, or the descriptor is not ours any more. It is only written, so
 * it never becomes readable.
 */
int bell_fd(void);

/*
 * Takes over the doorbell of a WELCOME; `fd` remains the caller's. Calls must not overlap; other threads may ring
 * meanwhile.
 */
void bell_take(int fd);
void bell_drop(void);
