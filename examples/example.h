/*
 * example.h: what the example programs share: options, checked calls, the device they run on, the verdict.
 *
 * The programs use the driver API alone and carry their kernels as PTX text, so that one file runs wherever a
 * libcuda.so.1 is found: NVIDIA's, the software device's, or mete's in front of either. They ask for primary contexts
 * and for no call younger than CUDA 11, so that old drivers serve too.
 */
#pragma once

#include <cuda.h>

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct example {
	const char *name;
	const char *sizes;	    /* what the positional arguments mean, for --help */
	const char *what;	    /* one sentence, for --help */
	int device;		    /* --device */
	double seconds;		    /* --seconds: repeat the work for this long */
	double hold;		    /* --hold: sleep this long with the memory held */
	unsigned long long size[2]; /* the positional arguments; defaults are set by the program */
	CUdevice dev;
	CUcontext context;
};

static inline const char *example_error(CUresult r)
{
	const char *name = NULL;

	if (cuGetErrorName(r, &name) != CUDA_SUCCESS || !name)
		name = "an unknown error";
	return name;
}

/* Ends the program with FAIL when the call does not succeed. */
#define must(call)                                                                                                     \
	do {                                                                                                           \
		CUresult must_r = (call);                                                                              \
		if (must_r != CUDA_SUCCESS) {                                                                          \
			printf("%s: %s\nFAIL\n", #call, example_error(must_r));                                        \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

static inline double example_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline void example_sleep(double seconds)
{
	struct timespec t = { .tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

__attribute__((noreturn)) static inline void example_usage(const struct example *e, int status)
{
	fprintf(status ? stderr : stdout,
		"usage: %s [--device N] [--seconds S] [--hold S] %s\n%s\n\n"
		"  --device N   the device to use, as this program counts them (default 0)\n"
		"  --seconds S  repeat the work for S seconds\n"
		"  --hold S     sleep S seconds with the memory still allocated\n"
		"  --help       this text\n\n"
		"The last line is PASS (exit status 0) or FAIL (exit status 1).\n",
		e->name, e->sizes, e->what);
	exit(status);
}

/* A number with an optional K, M or G (powers of 1024). Ends with the usage text on anything else. */
static inline unsigned long long example_number(const struct example *e, const char *text)
{
	char *end;
	unsigned long long n;
	int shift = 0;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (*end == 'K' || *end == 'M' || *end == 'G') {
		shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 30;
		end++;
	}
	if (errno || end == text || *end || *text == '-' || n > ~0ull >> shift) {
		fprintf(stderr, "%s: %s is not a size; write a number, K, M or G may follow\n", e->name, text);
		example_usage(e, 2);
	}
	return n << shift;
}

static inline double example_seconds(const struct example *e, const char *text)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end || !(s >= 0 && s < 1e6)) {
		fprintf(stderr, "%s: %s is not a number of seconds\n", e->name, text);
		example_usage(e, 2);
	}
	return s;
}

/* Reads the arguments into *e. */
static inline void example_options(struct example *e, int argc, char **argv)
{
	unsigned int places = 0;

	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!strcmp(argv[i], "--help"))
			example_usage(e, 0);
		if (argv[i][0] == '-' && !value)
			example_usage(e, 2);
		if (!strcmp(argv[i], "--device")) {
			e->device = (int)example_number(e, value);
			i++;
		} else if (!strcmp(argv[i], "--seconds")) {
			e->seconds = example_seconds(e, value);
			i++;
		} else if (!strcmp(argv[i], "--hold")) {
			e->hold = example_seconds(e, value);
			i++;
		} else if (argv[i][0] != '-' && places < 2) {
			e->size[places++] = example_number(e, argv[i]);
		} else {
			fprintf(stderr, "%s: %s is not an option of this program\n", e->name, argv[i]);
			example_usage(e, 2);
		}
	}
}

/* Prepares the device, and says what it is and how much memory this program sees. */
static inline void example_begin(struct example *e)
{
	char name[256];
	size_t free_bytes, total_bytes;

	setvbuf(stdout, NULL, _IOLBF, 0);
	must(cuInit(0));
	must(cuDeviceGet(&e->dev, e->device));
	must(cuDeviceGetName(name, sizeof name, e->dev));
	must(cuDevicePrimaryCtxRetain(&e->context, e->dev));
	must(cuCtxSetCurrent(e->context));
	must(cuMemGetInfo(&free_bytes, &total_bytes));
	printf("%s: device %d is \"%s\", %.1f of %.1f MiB free\n", e->name, e->device, name,
	       (double)free_bytes / 1048576.0, (double)total_bytes / 1048576.0);
}

static inline CUfunction example_kernel(const char *ptx, const char *name)
{
	CUmodule module;
	CUfunction kernel;

	must(cuModuleLoadData(&module, ptx));
	must(cuModuleGetFunction(&kernel, module, name));
	return kernel;
}

/* Releases the device, prints the verdict; value: the exit status. */
static inline int example_end(struct example *e, bool good)
{
	must(cuCtxSetCurrent(NULL));
	must(cuDevicePrimaryCtxRelease(e->dev));
	printf("%s\n", good ? "PASS" : "FAIL");
	return good ? 0 : 1;
}
