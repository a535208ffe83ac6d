/*
 * seen.c: see seen.h. Each place carries a turn number: 2n when it is free for the n-th round, 2n + 1 when filled.
 */
#include "shim/rm/seen.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PLACES 4096u

static struct {
	_Atomic uint32_t round;
	struct seen what;
} places[PLACES];

static _Atomic uint32_t head; /* next to be written */
static uint32_t tail;	      /* next to be read; the reader's */
static _Atomic uint32_t lost;
static _Atomic uint32_t bell; /* a futex: changes with everything that is put */
static uint32_t heard;	      /* the bell when the reader last looked; the reader's */

void seen_wake(void)
{
	atomic_fetch_add_explicit(&bell, 1, memory_order_release);
	syscall(SYS_futex, &bell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void seen_put(const struct seen *s)
{
	uint32_t at = atomic_load_explicit(&head, memory_order_relaxed);

	for (;;) {
		uint32_t want = at / PLACES * 2;
		/* Acquire: pairs with the release in seen_get(), which has read the place. */
		uint32_t round = atomic_load_explicit(&places[at % PLACES].round, memory_order_acquire);

		if (round == want) {
			if (atomic_compare_exchange_weak_explicit(&head, &at, at + 1, memory_order_relaxed,
								  memory_order_relaxed))
				break;
		} else if ((int32_t)(round - want) < 0) {
			atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
			seen_wake();
			return;
		} else {
			at = atomic_load_explicit(&head, memory_order_relaxed);
		}
	}
	places[at % PLACES].what = *s;
	/* Release: pairs with the acquire in seen_get(). */
	atomic_store_explicit(&places[at % PLACES].round, at / PLACES * 2 + 1, memory_order_release);
	seen_wake();
}

bool seen_get(struct seen *ret)
{
	uint32_t round;

	heard = atomic_load_explicit(&bell, memory_order_acquire);
	round = atomic_load_explicit(&places[tail % PLACES].round, memory_order_acquire);
	if (round != tail / PLACES * 2 + 1)
		return false;
	*ret = places[tail % PLACES].what;
	atomic_store_explicit(&places[tail % PLACES].round, round + 1, memory_order_release);
	tail++;
	return true;
}

bool seen_lost(void)
{
	return atomic_exchange_explicit(&lost, 0, memory_order_relaxed);
}

void seen_wait(uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };

	syscall(SYS_futex, &bell, FUTEX_WAIT_PRIVATE, heard, ns == UINT64_MAX ? NULL : &t, NULL, 0);
}

void seen_reset(void)
{
	memset(places, 0, sizeof places);
	atomic_store(&head, 0);
	atomic_store(&lost, 0);
	tail = 0;
}
