/*
 * loop.h: one thread that waits for descriptors.
 *
 * A watch may be freed in another watch's ready(): one descriptor is served per turn.
 */
#pragma once

#include <stdint.h>

struct watch {
	int fd; /* -1: not watched */
	void (*ready)(struct watch *w, uint32_t events);
	void *owner;
};

struct loop {
	int fd;
};

int loop_open(struct loop *l);
void loop_close(struct loop *l);
/* Value: 0 or -errno. events: of epoll. */
int loop_add(struct loop *l, struct watch *w, uint32_t events);
void loop_change(struct loop *l, struct watch *w, uint32_t events);
/* Also closes the descriptor. */
void loop_remove(struct loop *l, struct watch *w);
/* Stops watching; the descriptor stays open. */
void loop_leave(struct loop *l, struct watch *w);
/* Serves one descriptor, or none within the time. Value: 0 or -errno. */
int loop_turn(struct loop *l, int timeout_ms);
/* The same, and then serves all ready descriptors, until so much time has passed. */
int loop_turns(struct loop *l, int timeout_ms, uint64_t most_ns);
