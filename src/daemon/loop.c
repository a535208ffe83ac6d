/* loop.c: watches, timers and rounds. */
#include "daemon/loop.h"

#include <stdlib.h>
#include <unistd.h>

struct watch {
	uv_poll_t handle;
	loop_fn fn;
	void *owner;
};

struct timer {
	uv_timer_t handle;
	loop_fn fn;
	void *owner;
};

struct rounds {
	uv_prepare_t handle;
	loop_fn fn;
	void *owner;
};

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
	struct watch *watch = handle->data;

	(void)status; /* an error shows when the owner reads */
	(void)events;
	watch->fn(watch->owner);
}

struct watch *watch_new(uv_loop_t *loop, int fd, loop_fn fn, void *owner)
{
	struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	watch->fn = fn;
	watch->owner = owner;
	watch->handle.data = watch;
	if (uv_poll_init(loop, &watch->handle, fd)) {
		free(watch);
		return NULL;
	}
	if (uv_poll_start(&watch->handle, UV_READABLE | UV_DISCONNECT, on_poll)) {
		watch_free(watch);
		return NULL;
	}
	return watch;
}

void watch_free(struct watch *watch)
{
	if (!watch)
		return;
	uv_poll_stop(&watch->handle);
	uv_close((uv_handle_t *)&watch->handle, on_closed);
}

static void on_timer(uv_timer_t *handle)
{
	struct timer *timer = handle->data;

	timer->fn(timer->owner);
}

struct timer *timer_new(uv_loop_t *loop, loop_fn fn, void *owner)
{
	struct timer *timer = calloc(1, sizeof(*timer));

	if (!timer)
		return NULL;
	timer->fn = fn;
	timer->owner = owner;
	timer->handle.data = timer;
	uv_timer_init(loop, &timer->handle);
	return timer;
}

void timer_start(struct timer *timer, uint64_t first_ms, uint64_t repeat_ms)
{
	uv_update_time(timer->handle.loop);
	uv_timer_start(&timer->handle, on_timer, first_ms, repeat_ms);
}

void timer_stop(struct timer *timer)
{
	uv_timer_stop(&timer->handle);
}

int timer_running(const struct timer *timer)
{
	return uv_is_active((const uv_handle_t *)&timer->handle);
}

void timer_free(struct timer *timer)
{
	if (!timer)
		return;
	uv_timer_stop(&timer->handle);
	uv_close((uv_handle_t *)&timer->handle, on_closed);
}

static void on_round(uv_prepare_t *handle)
{
	struct rounds *rounds = handle->data;

	rounds->fn(rounds->owner);
}

struct rounds *rounds_new(uv_loop_t *loop, loop_fn fn, void *owner)
{
	struct rounds *rounds = calloc(1, sizeof(*rounds));

	if (!rounds)
		return NULL;
	rounds->fn = fn;
	rounds->owner = owner;
	rounds->handle.data = rounds;
	uv_prepare_init(loop, &rounds->handle);
	uv_prepare_start(&rounds->handle, on_round);
	return rounds;
}

void rounds_free(struct rounds *rounds)
{
	if (!rounds)
		return;
	uv_prepare_stop(&rounds->handle);
	uv_close((uv_handle_t *)&rounds->handle, on_closed);
}

struct closing {
	uv_work_t work;
	int fd;
};

static void close_beside(uv_work_t *work)
{
	close(((struct closing *)work->data)->fd);
}

static void on_closed_beside(uv_work_t *work, int status)
{
	(void)status;
	free(work->data);
}

void loop_close(uv_loop_t *loop, int take_fd)
{
	struct closing *c = malloc(sizeof(*c));

	if (c) {
		c->fd = take_fd;
		c->work.data = c;
		if (!uv_queue_work(loop, &c->work, close_beside, on_closed_beside))
			return;
	}
	free(c);
	close(take_fd);
}
