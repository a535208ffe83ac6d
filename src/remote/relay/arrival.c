/* arrival.c: see arrival.h. */
#include "remote/relay/arrival.h"

#include <errno.h>
#include <string.h>

void arrival_init(struct arrival *a, uint64_t *board)
{
	memset(a, 0, sizeof(*a));
	pthread_mutex_init(&a->mutex, NULL);
	pthread_cond_init(&a->moved, NULL);
	a->board = board;
}

void arrival_deinit(struct arrival *a)
{
	pthread_cond_destroy(&a->moved);
	pthread_mutex_destroy(&a->mutex);
}

static struct arrival_open *place(struct arrival *a, uint64_t number)
{
	return &a->open[number % ARRIVAL_WINDOW];
}

static int begin_locked(struct arrival *a, const struct frame_piece *p, uint32_t bytes)
{
	struct arrival_open *o = place(a, p->number);

	if (p->number <= a->number)
		return -EPROTO;
	while (p->number - a->number > ARRIVAL_WINDOW) {
		if (a->over)
			return -EPIPE;
		pthread_cond_wait(&a->moved, &a->mutex);
	}
	/* Another lane has brought it meanwhile. */
	if (p->number <= a->number)
		return -EPROTO;
	if (!o->number)
		*o = (struct arrival_open){ p->number, p->serial, p->total, p->total };
	return o->number == p->number && o->serial == p->serial && o->total == p->total && bytes <= o->left ? 0
													    : -EPROTO;
}

int arrival_begin(struct arrival *a, const struct frame_piece *p, uint32_t bytes)
{
	int r;

	pthread_mutex_lock(&a->mutex);
	r = begin_locked(a, p, bytes);
	pthread_mutex_unlock(&a->mutex);
	return r;
}

/* All that are complete, in order. Value: as arrival_end(). */
static int advance_locked(struct arrival *a)
{
	struct arrival_open *o = place(a, a->number + 1);
	int r = 0;

	for (; o->number == a->number + 1 && !o->left; o = place(a, a->number + 1)) {
		if (o->serial <= a->serial)
			return -EPROTO;
		__atomic_store_n(&a->serial, o->serial, __ATOMIC_RELEASE);
		a->number++;
		*o = (struct arrival_open){ 0 };
		r = 1;
	}
	if (r && a->board)
		__atomic_store_n(a->board, a->serial, __ATOMIC_RELEASE);
	if (r)
		pthread_cond_broadcast(&a->moved);
	return r;
}

int arrival_end(struct arrival *a, const struct frame_piece *p, uint32_t bytes)
{
	struct arrival_open *o = place(a, p->number);
	int r = -EPROTO;

	pthread_mutex_lock(&a->mutex);
	/* Two lanes may have brought more than the rest between them. */
	if (o->number == p->number && bytes <= o->left) {
		o->left -= bytes;
		r = advance_locked(a);
	}
	pthread_mutex_unlock(&a->mutex);
	return r;
}

uint64_t arrival_serial(const struct arrival *a)
{
	return __atomic_load_n(&a->serial, __ATOMIC_ACQUIRE);
}

void arrival_stop(struct arrival *a)
{
	pthread_mutex_lock(&a->mutex);
	a->over = true;
	pthread_cond_broadcast(&a->moved);
	pthread_mutex_unlock(&a->mutex);
}
