/*
 * door_test.c: nobody is inside a door that is shut, however many threads come and go, end inside, or find no slot;
 * with barriers of the kernel's and without.
 */
#include "core/door.h"
#include "core/tick.h"
#include "base/tap.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>

#define THREADS 6
#ifndef SLOTS
#define SLOTS 4096u /* of door.c */
#endif
#define CROWD (SLOTS + 104) /* more than there are slots */

static _Atomic bool ends;
static _Atomic uint32_t seen_shut, entered, stands;
static uint32_t kept; /* is written by whoever is inside, and by whoever has shut the door */

static uint64_t in(uint64_t ms)
{
	return tick_now() + ms * 1000000u;
}

static void *come_and_go(void *arg)
{
	uint32_t n = 0;

	while (!atomic_load_explicit(&ends, memory_order_relaxed)) {
		door_enter();
		door_enter(); /* nested */
		atomic_fetch_add_explicit(&seen_shut, __atomic_load_n(&kept, __ATOMIC_RELAXED) & 1,
					  memory_order_relaxed);
		door_leave();
		if (++n % 64 == 0) {
			atomic_fetch_add(&entered, 64);
			door_step_out();
			door_step_in();
			atomic_fetch_add_explicit(&seen_shut, __atomic_load_n(&kept, __ATOMIC_RELAXED) & 1,
						  memory_order_relaxed);
		}
		door_leave();
	}
	return arg;
}

/* An odd number stands there only while the door is shut. */
static void shut_often(const char *how)
{
	pthread_t thread[THREADS];
	unsigned int shut = 0;

	ends = false;
	entered = seen_shut = 0;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, come_and_go, NULL);
	/* On a busy machine threads get their turns late. */
	for (uint64_t end = in(400), last = in(20000); tick_now() < (entered > 1000 && shut > 10 ? end : last);) {
		if (!door_shut(in(2000)))
			continue;
		shut++;
		__atomic_add_fetch(&kept, 1, __ATOMIC_RELAXED);
		for (volatile int i = 0; i < 2000; i++)
			;
		__atomic_add_fetch(&kept, 1, __ATOMIC_RELAXED);
		door_open();
		if (entered <= 1000)
			sched_yield();
	}
	ends = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	tap_ok(shut > 10 && entered > 1000 && !seen_shut,
	       "%s: shut %u times, entered %u times; nobody was inside while it was shut (%u)", how, shut,
	       (unsigned int)entered, (unsigned int)seen_shut);
}

static void *stay_inside(void *until)
{
	door_enter();
	atomic_store(&stands, 1);
	while (!atomic_load((_Atomic bool *)until))
		tick_wait(&stands, 1, 1000000, false);
	door_leave();
	return NULL;
}

static void *end_inside(void *arg)
{
	door_enter();
	return arg;
}

static void waits(void)
{
	static _Atomic bool may_go;
	pthread_t thread;

	pthread_create(&thread, NULL, stay_inside, &may_go);
	while (!atomic_load(&stands))
		;
	tap_ok(!door_shut(in(30)) && !door_is_shut(), "a thread that stays inside: it is not shut, and is open again");
	tap_ok(door_used() && door_used(), "it is used");
	atomic_store(&may_go, true);
	tap_ok(door_shut(in(5000)), "when the thread has left it is shut");
	door_open();
	pthread_join(thread, NULL);
	door_used();
	tap_ok(!door_used(), "it is not used any more");
	door_enter();
	door_leave();
	tap_ok(door_used() && !door_used(), "a call between two looks is seen once");
	pthread_create(&thread, NULL, end_inside, NULL);
	pthread_join(thread, NULL);
	tap_ok(door_shut(in(5000)), "a thread that has ended inside is in nobody's way");
	door_open();
}

static _Atomic uint32_t all_in, may_end;

static void *one_of_many(void *arg)
{
	door_enter();
	atomic_fetch_add(&all_in, 1);
	while (!atomic_load(&may_end))
		tick_wait(&may_end, 0, 100000000, false);
	door_leave();
	return arg;
}

/* A child has one thread, whichever it was, and its slot. */
static int in_child(void)
{
	door_reset();
	door_begin();
	if (door_shut(in(20)))
		return 1; /* this thread is inside */
	door_leave();
	if (!door_shut(in(1000)))
		return 2;
	door_open();
	door_enter();
	if (door_shut(in(20)))
		return 3;
	door_leave();
	return 0;
}

static void *fork_inside(void *what)
{
	int status = -1;
	pid_t pid;

	door_enter();
	pid = fork();
	if (!pid)
		_exit(in_child());
	door_leave();
	waitpid(pid, &status, 0);
	tap_ok(WIFEXITED(status) && !WEXITSTATUS(status), "a child of fork() has a door of its own, %s (%d)",
	       what ? "also where the thread had found no slot" : "with its thread's slot", WEXITSTATUS(status));
	return what;
}

static void run(void *(*body)(void *), void *arg)
{
	pthread_t thread;

	pthread_create(&thread, NULL, body, arg);
	pthread_join(thread, NULL);
}

static _Atomic uint32_t last_in, last_may;

/* Of the crowd, it comes again when the others have gone. */
static void *last_of_many(void *arg)
{
	door_enter();
	door_leave();
	for (uint32_t turn = 1; turn <= 2; turn++) {
		atomic_store(&last_in, turn);
		while (atomic_load(&last_may) < turn)
			tick_wait(&last_may, turn - 1, 100000000, false);
		if (turn == 1)
			door_enter();
	}
	door_leave();
	return arg;
}

static void wait_for_last(uint32_t turn)
{
	while (atomic_load(&last_in) < turn)
		tick_wait(&last_in, turn - 1, 1000000, false);
}

static void let_last(uint32_t turn)
{
	atomic_store(&last_may, turn);
	tick_wake(&last_may);
}

static void crowd(void)
{
	pthread_t *thread = calloc(CROWD, sizeof(*thread)), last;
	pthread_attr_t small;
	unsigned int n = 0;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64u << 10);
	while (n < CROWD && !pthread_create(&thread[n], &small, one_of_many, NULL))
		n++;
	for (uint64_t end = in(20000); atomic_load(&all_in) < n && tick_now() < end;)
		tick_wait(&all_in, atomic_load(&all_in), 1000000, false);
	tap_ok(!door_shut(in(30)), "%u threads are inside, more than there are slots: it is not shut", n);
	run(fork_inside, &all_in);
	run(end_inside, NULL);
	pthread_create(&last, NULL, last_of_many, NULL);
	wait_for_last(1);
	atomic_store(&may_end, 1);
	tick_wake(&may_end);
	for (unsigned int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	tap_ok(door_shut(in(5000)), "and is when all have gone, one of them inside");
	door_open();
	door_begin();
	let_last(1);
	wait_for_last(2);
	tap_ok(!door_shut(in(30)), "begun anew it knows of one that had found no slot");
	let_last(2);
	pthread_join(last, NULL);
	tap_ok(door_shut(in(5000)), "which has gone now");
	door_open();
	free(thread);
}

/* A program with all keys there are: the first one is another library's. */
static int without_keys(void)
{
	const pthread_key_t first = 0;
	const void *is = pthread_getspecific(first);
	pthread_key_t key;

	while (!pthread_key_create(&key, NULL))
		if (key == first)
			pthread_setspecific(key, is = &ends);
	door_begin();
	door_enter();
	if (pthread_getspecific(first) != is)
		return 1;
	if (door_shut(in(20)))
		return 2;
	door_leave();
	return door_shut(in(1000)) ? 0 : 3;
}

static void keys(void)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(without_keys());
	waitpid(pid, &status, 0);
	tap_ok(WIFEXITED(status) && !WEXITSTATUS(status), "a program that has all keys keeps them (%d)", status);
}

int main(void)
{
	tap_begin();
	keys();
	shut_often("with barriers of its own");
	door_begin();
	if (atomic_load(&door_state))
		printf("# this kernel, or a filter, refuses membarrier(2)\n");
	shut_often("with the kernel's");
	waits();
	fork_inside(NULL);
	crowd();
	shut_often("after a crowd");
	return tap_end();
}
