/*
 * gate.c: see gate.h.
 *
 * A thread that enters counts itself and then looks at the gate; whoever closes it does so and then looks at the
 * counts. Both in one order for all, so that one of the two sees the other. The counts lie apart, so that threads that
 * enter at once do not share a line of the cache.
 */
#include "remote/client/gate.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PARTS 16u
#define LOOK_NS 200000 /* between two looks at threads that are inside */

static struct {
	_Alignas(64) uint32_t inside;
} parts[PARTS];
static uint32_t closed; /* a futex: 1 while nobody may enter */
static uint32_t threads;

static __thread uint32_t depth;
static __thread uint32_t part; /* + 1; 0: none yet */

static void futex(uint32_t *word, int op, uint32_t value)
{
	int saved = errno;

	syscall(SYS_futex, word, op, value, NULL, NULL, 0);
	errno = saved;
}

static void wait_open(uint32_t *inside)
{
	while (__atomic_load_n(&closed, __ATOMIC_SEQ_CST)) {
		__atomic_fetch_sub(inside, 1, __ATOMIC_RELEASE);
		futex(&closed, FUTEX_WAIT_PRIVATE, 1);
		__atomic_fetch_add(inside, 1, __ATOMIC_SEQ_CST);
	}
}

int gate_enter(void)
{
	uint32_t *inside;

	if (depth++)
		return 0;
	if (!part)
		part = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED) % PARTS + 1;
	inside = &parts[part - 1].inside;
	__atomic_fetch_add(inside, 1, __ATOMIC_SEQ_CST); /* gate_close() */
	if (__atomic_load_n(&closed, __ATOMIC_SEQ_CST))
		wait_open(inside);
	return 0;
}

void gate_leave(const int *entered)
{
	(void)entered;
	if (!--depth)
		__atomic_fetch_sub(&parts[part - 1].inside, 1, __ATOMIC_RELEASE); /* gate_wait() */
}

void gate_exempt(void)
{
	depth++;
}

void gate_close(void)
{
	__atomic_store_n(&closed, 1, __ATOMIC_SEQ_CST); /* gate_enter() */
}

void gate_open(void)
{
	__atomic_store_n(&closed, 0, __ATOMIC_SEQ_CST);
	futex(&closed, FUTEX_WAKE_PRIVATE, INT_MAX);
}

static uint64_t now_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool all_left(void)
{
	for (unsigned int i = 0; i < PARTS; i++)
		if (__atomic_load_n(&parts[i].inside, __ATOMIC_SEQ_CST))
			return false;
	return true;
}

bool gate_wait(uint64_t until_ns)
{
	while (!all_left()) {
		if (now_ns() >= until_ns)
			return false;
		syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
	}
	return true;
}

void gate_forget(void)
{
	for (unsigned int i = 0; i < PARTS; i++)
		parts[i].inside = 0;
	closed = 0;
	/* The thread that forked is in no call. */
	depth = 0;
}
