/*
 * serving.h: the priority of the thread that answers. Programs that begin wait for it, and where more of them want a
 * core than there are it would get no more of one than each of them; so it runs at a raised priority, where that is
 * permitted. What it does for those who ask without end must not be done before the work of everybody else: while it
 * takes more than its part of a core it runs at the usual priority.
 */
#pragma once

/* The calling thread serves from now on. Who has chosen another nice value than the usual one keeps it. */
void serving_begin(void);

/* In each round of the loop, by the same thread: the priority that its use of the processor leaves it. */
void serving_round(void);
