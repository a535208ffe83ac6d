/*
 * loop.h: descriptors, timers and rounds on libuv's loop, with lifetimes that follow their owners.
 *
 * libuv frees a handle only after a turn of the loop. For the owner, watch_free() and timer_free() take effect at
 * once: no callback comes after them. A watch does not own its descriptor, and must be freed before the descriptor is
 * closed.
 */
#pragma once

#include <stdint.h>
#include <uv.h>

struct watch;
struct timer;
struct rounds;

typedef void (*loop_fn)(void *owner);

/* Calls `fn` whenever `fd` is readable or hung up. NULL: no memory, or a descriptor that cannot be watched. */
struct watch *watch_new(uv_loop_t *loop, int fd, loop_fn fn, void *owner);
void watch_free(struct watch *watch);

/* A timer that is not running yet. NULL: no memory. */
struct timer *timer_new(uv_loop_t *loop, loop_fn fn, void *owner);
void timer_start(struct timer *timer, uint64_t first_ms, uint64_t repeat_ms);
void timer_stop(struct timer *timer);
int timer_running(const struct timer *timer);
void timer_free(struct timer *timer);

/* Calls `fn` before each round in which the loop looks at descriptors. NULL: no memory. */
struct rounds *rounds_new(uv_loop_t *loop, loop_fn fn, void *owner);
void rounds_free(struct rounds *rounds);

/*
 * Closes a descriptor in a thread beside the loop: the kernel frees what nobody else has open or mapped, and takes as
 * long for it as it is large. Without memory for that it is closed here.
 */
void loop_close(uv_loop_t *loop, int take_fd);
