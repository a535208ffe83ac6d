/*
 * ring_attach.c: how long a program takes until it has a device: from before its first call to a current context.
 *
 *   ring_attach TIMES
 *
 * Each time is a process of its own, forked before any call of the driver, one after the other with a pause in which
 * what was used up (a worker of the pool) can be made again. Prints a JSON object, nanoseconds: least, median, most.
 */
#include "base/clock.h"
#include "ring_program.h"

#include <sys/wait.h>
#include <unistd.h>

#define PAUSE_US 300000

static double attach(void)
{
	uint64_t begin = clock_now_ns();
	CUcontext context;

	must(cuInit(0), "cuInit");
	must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	return (double)(clock_now_ns() - begin);
}

/* The time of another process; the end when that fails. */
static double attach_apart(void)
{
	double took = 0;
	int ends[2], status;
	pid_t child;

	if (pipe(ends) || (child = fork()) < 0) {
		perror("ring_attach");
		exit(1);
	}
	if (!child) {
		took = attach();
		_exit(write(ends[1], &took, sizeof(took)) != sizeof(took));
	}
	close(ends[1]);
	if (read(ends[0], &took, sizeof(took)) != sizeof(took) || waitpid(child, &status, 0) < 0 || status)
		exit(1);
	close(ends[0]);
	return took;
}

int main(int argc, char **argv)
{
	static double took[BATCHES_MOST];
	int times = argc == 2 ? atoi(argv[1]) : 0;

	if (times < 1 || times > BATCHES_MOST) {
		fprintf(stderr, "usage: ring_attach TIMES\n");
		return 2;
	}
	for (int i = 0; i < times; i++) {
		usleep(PAUSE_US);
		took[i] = attach_apart();
	}
	qsort(took, (size_t)times, sizeof(*took), by_size);
	printf("{\"row\": \"attach\", \"min\": %.0f, \"median\": %.0f, \"max\": %.0f}\n", took[0], took[times / 2],
	       took[times - 1]);
	return 0;
}
