/*
 * forks.c: a parent whose children each use the device, as data loaders and launchers do.
 *
 * A child may use the device when its parent had not yet done so at the fork; so the children are started first, then
 * the parent works beside them. A second set of children, started when the parent has its context, must be told
 * CUDA_ERROR_NOT_INITIALIZED instead of being given a broken one.
 */
#include "example.h"
#include "saxpy_ptx.h"

#include <sys/wait.h>

#define CHILDREN 4

/* One sum on the device; value: the number of wrong elements. */
static unsigned int work(unsigned int n, float a)
{
	CUfunction kernel = example_kernel(saxpy_ptx, "saxpy");
	size_t bytes = n * sizeof(float);
	float *host = calloc(n, sizeof *host);
	unsigned int wrong = 0;
	CUdeviceptr x, y;
	void *args[] = { &y, &x, &a, &n };

	if (!host)
		return n;
	for (unsigned int i = 0; i < n; i++)
		host[i] = (float)(i % 1024);
	must(cuMemAlloc(&x, bytes));
	must(cuMemAlloc(&y, bytes));
	must(cuMemcpyHtoD(x, host, bytes));
	must(cuMemsetD8(y, 0, bytes));
	must(cuLaunchKernel(kernel, 64, 1, 1, 256, 1, 1, 0, NULL, args, NULL));
	must(cuMemcpyDtoH(host, y, bytes));
	for (unsigned int i = 0; i < n; i++)
		wrong += host[i] != a * (float)(i % 1024);
	must(cuMemFree(x));
	must(cuMemFree(y));
	free(host);
	return wrong;
}

static int child(struct example *e, int number)
{
	unsigned int wrong;

	example_begin(e);
	wrong = work((unsigned int)e->size[0], (float)(number + 2));
	example_sleep(e->hold);
	printf("forks: child %d, process %d: %u elements, %u wrong\n", number, (int)getpid(), (unsigned int)e->size[0],
	       wrong);
	return example_end(e, wrong == 0);
}

/* Waits for one child; value: whether it ended with status 0. */
static bool ended_well(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A child of a process that already uses the device. */
static int late_child(void)
{
	CUdeviceptr p = 0;
	CUresult r = cuMemAlloc(&p, 4096);

	printf("forks: a child of a process that uses the device is told %s\n", example_error(r));
	return r == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct example e = {
		.name = "forks",
		.sizes = "[ELEMENTS]",
		.size = { 1 << 16 },
		.what = "Forks four children which each use the device with ELEMENTS floats (default 64K)."
	};
	pid_t pid[CHILDREN], late;
	unsigned int wrong;
	bool good = true;

	example_options(&e, argc, argv);
	if (e.size[0] == 0 || e.size[0] > 1u << 28) {
		fprintf(stderr, "forks: ELEMENTS must lie between 1 and 256M\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < CHILDREN; i++) {
		pid[i] = fork();
		if (pid[i] < 0) {
			perror("forks: fork");
			return 1;
		}
		if (pid[i] == 0)
			exit(child(&e, i));
	}
	example_begin(&e);
	wrong = work((unsigned int)e.size[0], 1.5f);
	printf("forks: parent, process %d: %u wrong\n", (int)getpid(), wrong);
	good = wrong == 0;
	for (int i = 0; i < CHILDREN; i++)
		good = ended_well(pid[i]) && good;

	late = fork();
	if (late == 0)
		_exit((fflush(stdout), late_child()));
	good = late > 0 && ended_well(late) && good;
	good = work(1024, 3.0f) == 0 && good;
	return example_end(&e, good);
}
