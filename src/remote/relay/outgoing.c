/* outgoing.c: see outgoing.h. */
#include "remote/relay/outgoing.h"

#include "base/clock.h"

#include <errno.h>

void outgoing_init(struct outgoing *o)
{
	pthread_condattr_t monotonic;

	o->first = o->count = o->takers = 0;
	o->left = 0;
	o->over = false;
	pthread_mutex_init(&o->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&o->filled, &monotonic);
	pthread_cond_init(&o->emptied, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

void outgoing_deinit(struct outgoing *o)
{
	pthread_cond_destroy(&o->filled);
	pthread_cond_destroy(&o->emptied);
	pthread_mutex_destroy(&o->mutex);
}

int outgoing_add(struct outgoing *o, const struct frame_piece *p)
{
	int r = 0;

	pthread_mutex_lock(&o->mutex);
	while (o->count == OUTGOING_MOST && !o->over)
		pthread_cond_wait(&o->emptied, &o->mutex);
	if (o->over) {
		r = -EPIPE;
	} else {
		o->queue[(o->first + o->count) % OUTGOING_MOST] = *p;
		if (!o->count++)
			o->left = p->total;
		pthread_cond_signal(&o->filled);
	}
	pthread_mutex_unlock(&o->mutex);
	return r;
}

static void take_locked(struct outgoing *o, struct frame_piece *ret, uint32_t *ret_bytes)
{
	struct frame_piece *p = &o->queue[o->first];
	uint64_t n = o->left < FRAME_PIECE_BYTES ? o->left : FRAME_PIECE_BYTES;

	*ret = *p;
	*ret_bytes = (uint32_t)n;
	p->offset += n;
	o->left -= n;
	if (!o->left) {
		o->first = (o->first + 1) % OUTGOING_MOST;
		if (o->count-- == OUTGOING_MOST)
			pthread_cond_signal(&o->emptied);
		if (o->count)
			o->left = o->queue[o->first].total;
	}
	/* The one that was woken for the first payload may be the only one awake. */
	if (o->count && o->takers)
		pthread_cond_signal(&o->filled);
}

int outgoing_take(struct outgoing *o, uint64_t ns, struct frame_piece *ret, uint32_t *ret_bytes)
{
	uint64_t until = clock_now_ns() + ns;
	struct timespec t = { (time_t)(until / 1000000000u), (long)(until % 1000000000u) };
	int r = 0;

	pthread_mutex_lock(&o->mutex);
	o->takers++;
	while (!o->count && !o->over && r != ETIMEDOUT)
		r = pthread_cond_timedwait(&o->filled, &o->mutex, &t);
	o->takers--;
	r = o->over ? -EPIPE : o->count ? 1 : 0;
	if (r > 0)
		take_locked(o, ret, ret_bytes);
	pthread_mutex_unlock(&o->mutex);
	return r;
}

bool outgoing_empty(struct outgoing *o)
{
	bool empty;

	pthread_mutex_lock(&o->mutex);
	empty = !o->count;
	pthread_mutex_unlock(&o->mutex);
	return empty;
}

void outgoing_end(struct outgoing *o)
{
	pthread_mutex_lock(&o->mutex);
	o->over = true;
	pthread_cond_broadcast(&o->filled);
	pthread_cond_broadcast(&o->emptied);
	pthread_mutex_unlock(&o->mutex);
}
