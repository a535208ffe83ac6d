/* inbox.c: see inbox.h. */
#include "remote/worker/inbox.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

static _Thread_local bool has_turn; /* of this thread */

static bool turn_take(struct inbox *inbox)
{
	bool taken = false;

	if (!has_turn)
		has_turn = atomic_compare_exchange_strong(&inbox->turn, &taken, true);
	return has_turn;
}

static void turn_leave(struct inbox *inbox)
{
	has_turn = false;
	atomic_store(&inbox->turn, false);
}

/* The ring is not closed here: what the client sees is the end of the process, after it has said why. */
void inbox_end(struct inbox *inbox, int why)
{
	int none = 0;

	if (!atomic_compare_exchange_strong(&inbox->ended, &none, why))
		return;
	ring_raise(inbox->ring);
	inbox->ring->bell->wake(inbox->ring->bell, &inbox->ring->shared->reader_waits, true);
}

/* Sleeps, without the turn. Nobody woke us in all this time: perhaps because nobody is there any more. */
static void nap(struct inbox *inbox, uint32_t value, uint64_t most)
{
	struct ring_doorbell *bell = inbox->ring->bell;
	struct timespec before, after;
	int64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &before);
	ring_sleep(inbox->ring, value, most < RING_PATIENCE_NS ? most : RING_PATIENCE_NS);
	clock_gettime(CLOCK_MONOTONIC, &after);
	ns = (after.tv_sec - before.tv_sec) * INT64_C(1000000000) + after.tv_nsec - before.tv_nsec;
	if (ns >= RING_PATIENCE_NS / 2 && !bell->alive(bell))
		inbox_end(inbox, -EPIPE);
}

/*
 * With the turn: a copy of the next message. 0: none came within a short while; then the bell has been raised with
 * *value, nothing has come since, and it is to be tried again after *ret_ns.
 */
static int read_message(struct inbox *inbox, uint8_t *message, size_t *ret_size, uint32_t *value, uint64_t *ret_ns)
{
	const void *at;
	bool raised = false;
	int r;

	for (;;) {
		r = ring_next(inbox->ring, &at, ret_size, 0);
		if (r > 0) {
			memcpy(message, at, *ret_size);
			ring_release(inbox->ring);
		}
		if (r && raised)
			ring_lower(inbox->ring);
		if (r || raised)
			return r;
		/* Nobody else need be woken for what comes while this one looks. */
		ring_lower(inbox->ring);
		if (ring_spin(inbox->ring, ret_ns))
			continue;
		*value = ring_raise(inbox->ring);
		raised = true;
	}
}

/* The next message, with the turn. Below 0: the session has ended. */
static int next_message(struct inbox *inbox, uint8_t *message, size_t *ret_size)
{
	uint64_t most;
	uint32_t value;
	int r;

	for (;;) {
		most = RING_FOREVER;
		value = ring_bell(inbox->ring);
		if (atomic_load_explicit(&inbox->ended, memory_order_relaxed))
			return atomic_load(&inbox->ended);
		if (turn_take(inbox)) {
			r = read_message(inbox, message, ret_size, &value, &most);
			if (r > 0)
				return 0;
			turn_leave(inbox);
			if (r < 0) {
				inbox_end(inbox, r);
				continue;
			}
		}
		nap(inbox, value, most);
	}
}

static void take_part(struct inbox *inbox)
{
	uint8_t *message;
	void *room = inbox->ops->enter(inbox->arg, &message);
	size_t size;
	int r = room ? 0 : -ENOMEM;

	has_turn = false;
	prctl(PR_SET_TIMERSLACK, 1); /* naps end when they are to */
	while (!r && !next_message(inbox, message, &size)) {
		atomic_fetch_sub(&inbox->idle, 1);
		r = inbox->ops->execute(inbox->arg, room, size);
		atomic_fetch_add(&inbox->idle, 1);
	}
	if (has_turn)
		turn_leave(inbox);
	atomic_fetch_sub(&inbox->idle, 1);
	if (r)
		inbox_end(inbox, r);
	if (room)
		inbox->ops->leave(inbox->arg, room);
}

static void *run_thread(void *arg)
{
	struct inbox *inbox = arg;

	take_part(inbox);
	pthread_mutex_lock(&inbox->lock);
	inbox->threads--;
	pthread_cond_signal(&inbox->left);
	pthread_mutex_unlock(&inbox->lock);
	return NULL;
}

/* One more thread, counted as idle from now on. */
static bool thread_add(struct inbox *inbox)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool good;

	pthread_mutex_lock(&inbox->lock);
	good = inbox->threads < INBOX_THREADS;
	inbox->threads += good;
	pthread_mutex_unlock(&inbox->lock);
	if (!good)
		return false;
	atomic_fetch_add(&inbox->idle, 1);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	good = !pthread_create(&thread, &attr, run_thread, inbox);
	pthread_attr_destroy(&attr);
	if (good)
		return true;
	atomic_fetch_sub(&inbox->idle, 1);
	pthread_mutex_lock(&inbox->lock);
	inbox->threads--;
	pthread_mutex_unlock(&inbox->lock);
	return false;
}

void inbox_init(struct inbox *inbox, struct ring_end *ring, const struct inbox_ops *ops, void *arg)
{
	memset(inbox, 0, sizeof(*inbox));
	inbox->ring = ring;
	inbox->ops = ops;
	inbox->arg = arg;
	pthread_mutex_init(&inbox->lock, NULL);
	pthread_cond_init(&inbox->left, NULL);
}

int inbox_run(struct inbox *inbox)
{
	atomic_fetch_add(&inbox->idle, 1);
	take_part(inbox);
	return atomic_load(&inbox->ended);
}

void inbox_deinit(struct inbox *inbox)
{
	pthread_mutex_lock(&inbox->lock);
	while (inbox->threads)
		pthread_cond_wait(&inbox->left, &inbox->lock);
	pthread_mutex_unlock(&inbox->lock);
	pthread_cond_destroy(&inbox->left);
	pthread_mutex_destroy(&inbox->lock);
}

bool inbox_yield(struct inbox *inbox)
{
	const void *at;
	size_t size;
	bool pending;

	if (!has_turn)
		return true;
	if (!atomic_load(&inbox->idle) && !thread_add(inbox))
		return false;
	/* Raised first, then looked: a message that comes later finds the bell raised and wakes one that sleeps. */
	ring_raise(inbox->ring);
	pending = ring_next(inbox->ring, &at, &size, 0) != 0;
	turn_leave(inbox);
	if (pending)
		ring_nudge(inbox->ring);
	return true;
}
