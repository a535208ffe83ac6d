/* gate.c: see gate.h. Waiting is polling with growing pauses: it happens around calls that take milliseconds. */
#include "core/gate.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define GATE_PATIENCE_NS 20000000u /* in which others go in and out */
#define GATE_SPELL_NS 200000000u   /* in which they are held up, before they get another chance */

_Atomic uint32_t gate_state;
static pthread_mutex_t closer = PTHREAD_MUTEX_INITIALIZER; /* held from gate_close() to gate_open() */

static uint64_t pause_once(unsigned int round)
{
	struct timespec t = { .tv_nsec = round < 4 ? 1000 : round < 20 ? 50000 : 500000 };
	int saved = errno;

	syscall(SYS_nanosleep, &t, NULL);
	errno = saved;
	return (uint64_t)t.tv_nsec + 50000;
}

void gate_enter_slow(void)
{
	for (unsigned int round = 0;;) {
		gate_leave();
		while (atomic_load_explicit(&gate_state, memory_order_relaxed) & GATE_CLOSED)
			pause_once(round++);
		if (!(atomic_fetch_add_explicit(&gate_state, 1, memory_order_acquire) & GATE_CLOSED))
			return;
	}
}

void gate_close(void)
{
	uint64_t waited = 0;
	uint32_t nobody = 0;
	unsigned int round = 0;

	pthread_mutex_lock(&closer);
	while (waited < GATE_PATIENCE_NS) {
		if (atomic_compare_exchange_strong_explicit(&gate_state, &nobody, GATE_CLOSED, memory_order_acquire,
							    memory_order_relaxed))
			return;
		nobody = 0;
		waited += pause_once(round++);
	}
	/* Others are held up, but not for ever: whoever is inside may be waiting for one of them. */
	for (;;) {
		atomic_fetch_or_explicit(&gate_state, GATE_CLOSED, memory_order_acquire);
		for (waited = 0; waited < GATE_SPELL_NS; waited += pause_once(round++))
			if (atomic_load_explicit(&gate_state, memory_order_acquire) == GATE_CLOSED)
				return;
		atomic_fetch_and_explicit(&gate_state, ~GATE_CLOSED, memory_order_release);
		pause_once(round);
	}
}

void gate_open(void)
{
	atomic_fetch_and_explicit(&gate_state, ~GATE_CLOSED, memory_order_release);
	pthread_mutex_unlock(&closer);
}

void gate_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	closer = unlocked;
	atomic_store_explicit(&gate_state, 0, memory_order_relaxed);
}
