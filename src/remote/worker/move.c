/* move.c: see move.h. */
#include "remote/worker/move.h"

#include "remote/move.h"
#include "remote/worker/images.h"
#include "remote/worker/moved.h"
#include "remote/worker/own_account.h"
#include "remote/worker/places.h"
#include "remote/worker/session.h"
#include "remote/worker/traffic.h"
#include "remote/worker/variables.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int names(struct work *work)
{
	struct move_names m;
	const uint64_t *list;
	int r;

	remote_get(&work->in, &m, sizeof(m));
	if (work->in.bad || m.count > MOVE_NAMES_MOST || m.next > UINT32_MAX || m.behind > 1 ||
	    work->in.size - work->in.used != m.count * sizeof(*list))
		return -EPROTO;
	list = remote_take(&work->in, m.count * sizeof(*list));
	r = work->in.bad ? -EPROTO : ids_want(&work->worker->ids, (uint32_t)m.next, list, (uint32_t)m.count, m.behind);
	if (r == -ENOMEM)
		work->result = CUDA_ERROR_OUT_OF_MEMORY;
	work->created = true;
	return r == -ENOMEM ? 0 : r;
}

/* A piece of an image that the client has not kept. */
static int image(struct work *work)
{
	struct move_image m;
	struct image *i;

	remote_get(&work->in, &m, sizeof(m));
	if (work->in.bad || work->in.used != work->in.size || !m.bytes || m.at > m.whole || m.bytes > m.whole - m.at)
		return -EPROTO;
	work->created = true;
	i = images_take(m.hash, m.whole);
	if (!i) {
		work->result = CUDA_ERROR_NOT_FOUND;
		return 0;
	}
	remote_put(&work->out, (const uint8_t *)image_data(i) + m.at, m.bytes);
	images_give(i);
	return 0;
}

static int why(struct work *work)
{
	struct move_why m;

	remote_get(&work->in, &m, sizeof(m));
	if (work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	work->created = true;
	traffic_why(m.text);
	return 0;
}

/* The client asks why there was no memory. */
static int meted(struct work *work)
{
	uint64_t reached = own_account_reached();

	if (work->in.used != work->in.size)
		return -EPROTO;
	work->created = true;
	remote_put(&work->out, &reached, sizeof(reached));
	return 0;
}

static int say(struct work *work)
{
	struct move_said m;

	remote_get(&work->in, &m, sizeof(m));
	if (work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	work->created = true;
	traffic_say(&m);
	return 0;
}

int worker_other_move(struct work *work)
{
	switch (work->head.call) {
	case CALL_MOVE_NAMES:
		return names(work);
	case CALL_MOVE_PLACE:
		return places_add(work);
	case CALL_MOVE_IMAGE:
		return image(work);
	case CALL_MOVE_SAY:
		return say(work);
	case CALL_MOVE_VARIABLES:
		return variables_list(work);
	case CALL_MOVE_VARIABLE:
		return variables_out(work);
	case CALL_MOVE_VARIABLE_IN:
		return variables_in(work);
	case CALL_MOVE_VARIABLE_AT:
		return variables_at(work);
	case CALL_MOVE_RESERVE:
		return moved_reserve(work);
	case CALL_MOVE_WHY:
		return why(work);
	case CALL_MOVE_METED:
		return meted(work);
	default:
		return -EPROTO;
	}
}

/* ---- what meted asks ---- */

static void *pass_on(void *arg)
{
	struct wall_area *area = arg;
	uint32_t wish = 0;

	for (;;) {
		wish = traffic_wish(wish);
		traffic_where(area->where);
		/* Release: pairs with the client's look (client/move.c). */
		__atomic_store_n(&area->wish, wish, __ATOMIC_RELEASE);
		syscall(SYS_futex, &area->wish, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	}
	return NULL;
}

int move_watch(struct wall *wall)
{
	sigset_t all, old;
	pthread_t thread;
	int r;

	traffic_moves();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = -pthread_create(&thread, NULL, pass_on, wall->control);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!r)
		pthread_detach(thread);
	return r;
}
