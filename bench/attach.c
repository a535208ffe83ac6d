/*
 * attach.c: what the first driver call costs a process, alone and when many start together.
 *
 *   attach COUNT        starts COUNT copies of itself as fast as it can, and prints the time that opening
 *                       the library and cuInit took in each, in nanoseconds, one a line
 *   attach COUNT gate   the copies wait until all are there, and call cuInit at one moment: most of what they then
 * measure is waiting for a core
 *
 * The copies are executed, not only forked: each loads the library anew.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* One copy: says that it is there, waits, calls cuInit once. */
static int copy(int ready, int go, int out)
{
	int (*init)(unsigned int) = NULL;
	char byte = 0, line[64];
	void *library;
	double t;
	int n;

	if (write(ready, &byte, 1) != 1)
		return 1;
	if (go >= 0 && read(go, &byte, 1) != 0) /* the other end is closed: go */
		return 1;
	/* Both sides load the driver in here: without mete by the first line, with it by the first call. */
	t = now();
	library = dlopen("libcuda.so.1", RTLD_NOW);
	if (library)
		*(void **)&init = dlsym(library, "cuInit");
	if (!init || init(0))
		return 1;
	n = snprintf(line, sizeof line, "%.0f\n", now() - t);
	return write(out, line, (size_t)n) != n;
}

int main(int argc, char **argv)
{
	int ready[2], go[2], count, gate, status, bad = 0;
	char byte, numbers[3][16];

	if (argc == 5 && !strcmp(argv[1], "copy"))
		return copy(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
	count = argc >= 2 ? atoi(argv[1]) : 0;
	gate = argc == 3 && !strcmp(argv[2], "gate");
	if (count < 1 || argc > 2 + gate || pipe(ready) || pipe(go)) {
		fprintf(stderr, "usage: attach COUNT [gate]\n");
		return 2;
	}
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("attach: fork");
			return 1;
		}
		if (pid == 0) {
			close(go[1]);
			snprintf(numbers[0], sizeof numbers[0], "%d", ready[1]);
			snprintf(numbers[1], sizeof numbers[1], "%d", gate ? go[0] : -1);
			snprintf(numbers[2], sizeof numbers[2], "%d", STDOUT_FILENO);
			execl("/proc/self/exe", argv[0], "copy", numbers[0], numbers[1], numbers[2], NULL);
			_exit(127);
		}
	}
	close(ready[1]);
	for (int i = 0; i < count; i++) {
		if (read(ready[0], &byte, 1) != 1) {
			fprintf(stderr, "attach: a copy did not start\n");
			return 1;
		}
	}
	close(go[1]);
	while (wait(&status) > 0)
		bad += status != 0;
	if (bad)
		fprintf(stderr, "attach: %d of %d copies failed\n", bad, count);
	return bad != 0;
}
