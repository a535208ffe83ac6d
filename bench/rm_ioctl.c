/*
 * rm_ioctl.c: what tier T3's library adds to a program's ioctl() calls, in nanoseconds.
 *
 *   rm_ioctl [ROUNDS]
 *
 * One row per kind of call: through the library with an empty ioctl() below it, and that one called directly; the
 * least of several rounds. Runs itself again with the variables that switch the library on.
 */
#include "base/clock.h"
#include "rm/interface.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALLS 200000

typedef int ioctl_call(int fd, unsigned long request, ...);

void *empty_ioctl(void);

static double measure(ioctl_call *call, unsigned long request, void *argument, int rounds)
{
	double best = 1e9;

	for (int i = 0; i < rounds; i++) {
		uint64_t began = clock_now_ns();

		for (int n = 0; n < CALLS; n++)
			call(-1, request, argument);
		if ((double)(clock_now_ns() - began) / CALLS < best)
			best = (double)(clock_now_ns() - began) / CALLS;
	}
	return best;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 20;
	ioctl_call *direct = NULL;
	struct rm_control plain = { .command = 0x20800102 },
			  slice = { .command = RM_GROUP_SET_SLICE, .parameters_size = 8 };
	struct rm_alloc memory = { .class = 0x40 };
	struct rm_free gone = { .object = 5 };
	struct rm_transfer transfer = { RM_ESC_CONTROL, sizeof plain, (uintptr_t)&plain };
	const struct {
		const char *name;
		unsigned long request;
		void *argument;
	} rows[] = {
		{ "another driver's call", 0x5401, &plain },
		{ "control", RM_REQUEST(RM_ESC_CONTROL, sizeof plain), &plain },
		{ "control of a group", RM_REQUEST(RM_ESC_CONTROL, sizeof slice), &slice },
		{ "allocation of memory", RM_REQUEST(RM_ESC_ALLOC, sizeof memory), &memory },
		{ "free", RM_REQUEST(RM_ESC_FREE, sizeof gone), &gone },
		{ "control, described by a transfer", RM_REQUEST(RM_ESC_TRANSFER, sizeof transfer), &transfer },
	};

	if (!getenv("METE_TIER")) {
		setenv("METE_TIER", "T3", 1);
		setenv("METE_SOCKET", "/nonexistent", 1);
		execv("/proc/self/exe", argv);
	}
	*(void **)&direct = empty_ioctl();
	if (direct == ioctl || rounds < 1) {
		fprintf(stderr, "rm_ioctl: libmete-rm.so is not in front\n");
		return 1;
	}
	printf("%-34s %8s %8s %8s\n", "ns a call", "through", "direct", "added");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		double through = measure(ioctl, rows[i].request, rows[i].argument, rounds);
		double plainly = measure(direct, rows[i].request, rows[i].argument, rounds);

		printf("%-34s %8.1f %8.1f %8.1f\n", rows[i].name, through, plainly, through - plainly);
	}
	return 0;
}
