/*
 * share_watch.c: writes down, every few milliseconds, how much time each process has had of the software devices.
 *
 *   share_watch FILE MILLISECONDS
 *
 * The figures are the device's own (src/softdev/segment.h), whatever is between it and the programs. Keeps the devices
 * alive while it runs. FILE grows by records of four 64-bit words: CLOCK_MONOTONIC ns, pid, device, ns had so far. Of
 * pid 0 it is what the device was not idle, changes of context and all.
 */
#include "softdev/segment.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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
	puts("ready");
	fflush(stdout);
	pause.tv_nsec = atol(argv[2]) * 1000000;
	for (;;) {
		look(place.segment, out);
		fflush(out);
		nanosleep(&pause, NULL);
	}
}
