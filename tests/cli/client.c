/*
 * client.c: a CUDA program for the tests of mete that does what its words say, in order, and prints one line for each.
 *
 *   device N      makes device N current         alloc BYTES   "alloc BYTES RESULT"
 *   count         "count N"                      free          frees the last allocation: "free RESULT"
 *   info          "info FREE TOTAL"              hold FILE     waits until FILE exists
 *   mark FILE     makes FILE                     die           ends by SIGKILL
 *   poke OFFSET   a kernel writes 4 bytes at that place of the last allocation: "poke OFFSET RESULT"
 *   ask NAME      asks the driver for a call by name: "ask NAME FOUND"
 *   spin          waits for a kernel without end: "spin RESULT"
 *   copy S        copies 8 MiB there and back and compares, for S seconds or until it fails: "copying" after the first
 *                 time, "copy RESULT" at the end; -1: something else came back
 *   rest MS       what follows rests so long between two copies
 */
#include <cuda.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST 1024

static CUdeviceptr allocation[MOST];
static int allocations;
static int started;
static long rest_ms;

static void fail(const char *what, int result)
{
	printf("%s failed: %d\n", what, result);
	exit(9);
}

static void use_device(int number)
{
	CUcontext context;
	CUdevice device;
	int r;

	r = (int)cuInit(0);
	if (r)
		fail("cuInit", r);
	r = (int)cuDeviceGet(&device, number);
	if (r)
		fail("cuDeviceGet", r);
	r = (int)cuDevicePrimaryCtxRetain(&context, device);
	if (r)
		fail("cuDevicePrimaryCtxRetain", r);
	r = (int)cuCtxSetCurrent(context);
	if (r)
		fail("cuCtxSetCurrent", r);
	started = 1;
}

static void alloc(const char *bytes)
{
	int r;

	if (allocations == MOST)
		fail("alloc: too many", MOST);
	r = (int)cuMemAlloc(&allocation[allocations], strtoull(bytes, NULL, 10));
	allocations += !r;
	printf("alloc %s %d\n", bytes, r);
}

static const char kernels[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			      ".visible .entry poke(.param .u64 p)\n{\n"
			      "\t.reg .b64 %rd<2>;\n"
			      "\tld.param.u64 %rd1, [p];\n"
			      "\tst.global.u32 [%rd1], 7;\n"
			      "\tret;\n}\n"
			      ".visible .entry spin(.param .u64 p)\n{\n"
			      "again:\n\tbra again;\n}\n";

/* Runs a kernel of one thread. Value: the first error. */
static int launch(const char *name, CUdeviceptr p)
{
	void *args[] = { &p };
	CUmodule module;
	CUfunction f;
	int r;

	r = (int)cuModuleLoadData(&module, kernels);
	if (!r)
		r = (int)cuModuleGetFunction(&f, module, name);
	if (!r)
		r = (int)cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
	return r ? r : (int)cuCtxSynchronize();
}

static void ask(const char *name)
{
	void *f = NULL;

	cuGetProcAddress(name, &f, 13050, 0, NULL);
	printf("ask %s %d\n", name, f != NULL);
}

static void poke(const char *offset)
{
	CUdeviceptr p = allocations ? allocation[allocations - 1] : 0;

	printf("poke %s %d\n", offset, launch("poke", p + strtoull(offset, NULL, 10)));
}

static int copy_once(CUdeviceptr there, unsigned char *from, unsigned char *to, size_t bytes, unsigned int round)
{
	int r;

	for (size_t i = 0; i < bytes; i += 61)
		from[i] = (unsigned char)(i * 7 + round);
	memset(to, 0, bytes);
	r = (int)cuMemcpyHtoD(there, from, bytes);
	if (!r)
		r = (int)cuMemcpyDtoH(to, there, bytes);
	return r ? r : memcmp(from, to, bytes) ? -1 : 0;
}

static void copy(const char *seconds)
{
	size_t bytes = 8 << 20;
	unsigned char *from = calloc(1, bytes), *to = malloc(bytes);
	time_t end = time(NULL) + atoi(seconds);
	CUdeviceptr there;
	int r = (int)cuMemAlloc(&there, bytes);

	for (unsigned int round = 0; !r && from && to && (!round || time(NULL) < end); round++) {
		r = copy_once(there, from, to, bytes, round);
		if (!round && !r)
			printf("copying\n");
		nanosleep(&(struct timespec){ .tv_nsec = rest_ms * 1000000 }, NULL);
	}
	printf("copy %d\n", r);
	free(from);
	free(to);
}

static void info(void)
{
	size_t available, total;
	int r = (int)cuMemGetInfo(&available, &total);

	if (r)
		fail("cuMemGetInfo", r);
	printf("info %zu %zu\n", available, total);
}

static void count(void)
{
	int n = 0, r = (int)cuInit(0);

	if (!r)
		r = (int)cuDeviceGetCount(&n);
	if (r)
		fail("cuDeviceGetCount", r);
	printf("count %d\n", n);
}

/* Not for ever: a test that failed leaves nobody behind. */
static void hold(const char *file)
{
	time_t end = time(NULL) + 120;

	while (access(file, F_OK)) {
		if (time(NULL) > end)
			fail(file, -3);
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
}

static void mark(const char *file)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		fail(file, fd);
	close(fd);
}

static const char *argument(char **argv, int *at)
{
	if (!argv[*at + 1])
		fail(argv[*at], -1);
	return argv[++*at];
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];

		if (!started &&
		    (!strcmp(word, "alloc") || !strcmp(word, "info") || !strcmp(word, "spin") || !strcmp(word, "copy")))
			use_device(0);
		if (!strcmp(word, "device"))
			use_device(atoi(argument(argv, &i)));
		else if (!strcmp(word, "alloc"))
			alloc(argument(argv, &i));
		else if (!strcmp(word, "free") && allocations)
			printf("free %d\n", (int)cuMemFree(allocation[--allocations]));
		else if (!strcmp(word, "info"))
			info();
		else if (!strcmp(word, "count"))
			count();
		else if (!strcmp(word, "hold"))
			hold(argument(argv, &i));
		else if (!strcmp(word, "mark"))
			mark(argument(argv, &i));
		else if (!strcmp(word, "ask"))
			ask(argument(argv, &i));
		else if (!strcmp(word, "poke"))
			poke(argument(argv, &i));
		else if (!strcmp(word, "spin"))
			printf("spin %d\n", launch("spin", 0));
		else if (!strcmp(word, "copy"))
			copy(argument(argv, &i));
		else if (!strcmp(word, "rest"))
			rest_ms = atol(argument(argv, &i));
		else if (!strcmp(word, "die"))
			raise(SIGKILL);
		else
			fail(word, -2);
	}
	return 0;
}
