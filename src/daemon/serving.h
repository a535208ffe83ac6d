/*
 * serving.h: the priority of the thread that answers requests. Programs that start wait for these answers. When more
 * of them want a core than there are cores, the thread would get no more than each of them. It therefore runs at a
 * raised priority, where that is permitted. Requests without end must not get precedence over everybody's work: while
 * the thread uses more than its part of a core, it runs at the usual priority.
 */
#pragma once

/* Declares the calling thread the serving one. A nice value other than the default is kept. */
void serving_begin(void);

/* Called by that thread in each round of the loop: sets the priority according to its use of the processor. */
void serving_round(void);
