/*
 * lock_within_test.c: a mutex that is free, one that is given back in time and one that is not. The wall clock is ten
 * years ahead in this program, as it was before somebody has set it back: who waits by it waits for ten years.
 */
#include "base/lock_within.h"

#include "base/tap.h"

#include <sys/syscall.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
#define AHEAD_S (10 * 365 * 86400L)
#define PATIENCE_S 60

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int r = (int)syscall(SYS_clock_gettime, clock, ret);

	if (clock == CLOCK_REALTIME)
		ret->tv_sec += AHEAD_S;
	return r;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int has_it[2], may_end[2];

/* Has the mutex until it is told, or for a tenth of a second when it is told nothing. */
static void *holder(void *told)
{
	char byte = 0;

	pthread_mutex_lock(&mutex);
	if (write(has_it[1], &byte, 1) == 1) {
		if (told)
			told = read(may_end[0], &byte, 1) == 1 ? told : NULL;
		else
			usleep(100000);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static pthread_t begin(void *told)
{
	pthread_t thread;
	char byte;

	pthread_create(&thread, NULL, holder, told);
	ok(read(has_it[0], &byte, 1) == 1);
	return thread;
}

static void is_had_by_another(void)
{
	uint64_t began = clock_now_ns();
	pthread_t thread = begin(&mutex);

	ok(!lock_within(&mutex, SECOND / 20));
	ok(clock_now_ns() - began >= SECOND / 20);
	ok(write(may_end[1], "", 1) == 1);
	pthread_join(thread, NULL);
}

static void is_given_back(void)
{
	pthread_t thread = begin(NULL);

	ok(lock_within(&mutex, PATIENCE_S / 2 * SECOND));
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
}

int main(void)
{
	struct timespec real, mono;

	tap_begin();
	alarm(PATIENCE_S); /* who waits for years is ended */
	ok(!pipe(has_it) && !pipe(may_end));
	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	ok(real.tv_sec - mono.tv_sec > AHEAD_S);
	ok(lock_within(&mutex, 0));
	pthread_mutex_unlock(&mutex);
	is_had_by_another();
	is_given_back();
	for (int i = 0; i < 2; i++) {
		close(has_it[i]);
		close(may_end[i]);
	}
	return tap_end();
}
