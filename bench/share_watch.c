/*
 * share_watch.c: writes down, every few milliseconds, how much time each process has had of the software devices.
 *
 *   share_watch FILE MILLISECONDS
 *
 * The figures are the device's own (src/softdev/segment.h), whatever is between it and the programs. Keeps the devices
 * alive while it runs. FILE grows by records of four 64-bit words: CLOCK_MONOTONIC ns, pid, device, ns had so far. Of
 * pid 0 it is what the device was not idle, changes of context and all.
 *
 * Of pid UINT64_MAX it is how long a processor stood still so far, and the device is its number: a thread on each
 * processor sleeps for a millisecond again and again, and adds up by how much it wakes up late. With a real-time
 * priority these threads have the next higher one, so that only the machine itself delays them: another guest of its
 * host, for example, or an interrupt.
 */
#include "softdev/segment.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NAP_NS UINT64_C(1000000)
#define LATE_NS UINT64_C(100000) /* what is less is the timer's own */

static _Atomic uint64_t still_ns[CPU_SETSIZE];
static cpu_set_t processors;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void put(FILE *out, uint64_t pid, uint64_t device, uint64_t had_ns)
{
	const uint64_t record[4] = { now_ns(), pid, device, had_ns };

	if (!fwrite(record, sizeof(record), 1, out))
		exit(1);
}

static void look(const struct segment *s, FILE *out)
{
	const uint32_t places = atomic_load(&s->places);

	for (uint32_t d = 0; d < s->device_count; d++)
		put(out, 0, d, segment_busy_ns(s, d));
	for (size_t n = 0; n < CPU_SETSIZE; n++)
		if (CPU_ISSET(n, &processors))
			put(out, UINT64_MAX, n, atomic_load(&still_ns[n]));
	for (uint32_t i = 0; i < places && i < SEGMENT_MAX_PROCESSES; i++) {
		const struct segment_process *p = &s->process[i];
		const uint64_t pid = (uint64_t)atomic_load(&p->pid);

		if (atomic_load(&p->kind) != SEGMENT_DRIVER)
			continue;
		for (uint32_t d = 0; d < s->device_count; d++) {
			if (atomic_load(&p->share[d].contexts))
				put(out, pid, d, segment_share_busy_ns(s, i, d));
		}
	}
}

static void *watch_processor(void *data)
{
	const size_t processor = (_Atomic uint64_t *)data - still_ns;
	struct sched_param priority;
	cpu_set_t own;
	int policy;

	CPU_ZERO(&own);
	CPU_SET(processor, &own);
	pthread_setaffinity_np(pthread_self(), sizeof(own), &own);
	if (!pthread_getschedparam(pthread_self(), &policy, &priority) && policy != SCHED_OTHER) {
		priority.sched_priority++;
		pthread_setschedparam(pthread_self(), policy, &priority);
	}
	for (uint64_t due = now_ns() + NAP_NS;; due += NAP_NS) {
		const struct timespec at = { (time_t)(due / 1000000000u), (long)(due % 1000000000u) };
		uint64_t now;

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		now = now_ns();
		if (now < due + LATE_NS)
			continue;
		atomic_fetch_add(&still_ns[processor], now - due);
		due = now;
	}
	return NULL;
}

static void watch_processors(void)
{
	pthread_t thread;

	if (sched_getaffinity(0, sizeof(processors), &processors))
		return;
	for (size_t n = 0; n < CPU_SETSIZE; n++)
		if (CPU_ISSET(n, &processors) && pthread_create(&thread, NULL, watch_processor, &still_ns[n]))
			CPU_CLR(n, &processors);
}

int main(int argc, char **argv)
{
	struct segment_place place;
	struct timespec pause = { 0, 0 };
	char why[256];
	FILE *out;

	if (argc != 3 || !(out = fopen(argv[1], "wb"))) {
		fprintf(stderr, "share_watch: share_watch FILE MILLISECONDS\n");
		return 2;
	}
	if (segment_attach(SEGMENT_OBSERVER, &place, why, sizeof(why))) {
		fprintf(stderr, "share_watch: %s\n", why);
		return 1;
	}
	watch_processors();
	puts("ready");
	fflush(stdout);
	pause.tv_nsec = atol(argv[2]) * 1000000;
	for (;;) {
		look(place.segment, out);
		fflush(out);
		nanosleep(&pause, NULL);
	}
}
