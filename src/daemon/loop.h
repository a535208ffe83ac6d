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

/* Calls `fn` whenever `fd` is readable or hung up. NULL: no memory, or the descriptor cannot be watched. */
struct watch *watch_new(uv_loop_t *loop, int fd, loop_fn fn, void *owner);
void watch_free(struct watch *watch);

/* Creates a timer that is not running. NULL: no memory. */
struct timer *timer_new(uv_loop_t *loop, loop_fn fn, void *owner);
void timer_start(struct timer *timer, uint64_t first_ms, uint64_t repeat_ms);
void timer_stop(struct timer *timer);
int timer_running(const struct timer *timer);
void timer_free(struct timer *timer);

/* Calls `fn` before each round in which the loop polls descriptors. NULL: no memory. */
struct rounds *rounds_new(uv_loop_t *loop, loop_fn fn, void *owner);
void rounds_free(struct rounds *rounds);

/*
 * Closes a descriptor in another thread: the kernel frees memory that nobody else has open or mapped, which takes time
 * in proportion to its size. Without memory for that, it is closed in this thread.
 */
void loop_close(uv_loop_t *loop, int take_fd);
