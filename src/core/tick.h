/*
 * tick.h: the clock and the futexes of the gate. The functions use system calls directly and preserve errno.
 */
#pragma once

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* CLOCK_MONOTONIC. */
static inline uint64_t tick_now(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Sleeps until the word is woken or differs from `value`, or the time has passed. May return early. */
static inline void tick_wait(_Atomic uint32_t *word, uint32_t value, uint64_t most_ns, bool shared)
{
	struct timespec t = { .tv_sec = (time_t)(most_ns / 1000000000u), .tv_nsec = (long)(most_ns % 1000000000u) };
	int saved = errno;

	syscall(SYS_futex, word, shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, value, &t, NULL, 0);
	errno = saved;
}

static inline void tick_wake(_Atomic uint32_t *word)
{
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
	errno = saved;
}
