/*
 * serving.h: the priority of the thread that answers requests. Programs that start wait for these answers. When more
 * of them want a core than there are cores, the thread would get no more than each of them. It therefore runs at a
 * raised priority, where that is permitted. Requests without end must not get precedence over everybody's work: while
 * the thread uses more than its part of a core, it runs at the usual priority.
 */
#pragma once

/* The calling thread serves from now on. Who has chosen another nice value than the usual one keeps it. */
void serving_begin(void);

/* In each round of the loop, by the same thread: the priority that its use of the processor leaves it. */
void serving_round(void);
