/*
 * image_client.c: a program whose image is as large as is wanted, and differs by its name.
 *
 *   image_client NAME BYTES [wait]
 *
 * Prints how many milliseconds loading took, and with "wait" goes on only when its standard input ends. Exit status: 0;
 * 1: the kernel did not do what it is for; 2: the arguments; 100 + N: a call answered error N.
 */
#include "basic_ptx.h"

#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORDS 64u

static void must(CUresult r)
{
	if (r)
		exit(100 + (int)r);
}

/* The kernels, and behind them comments. */
static char *make_image(const char *name, size_t bytes)
{
	size_t used = strlen(basic_ptx);
	char *text = malloc(used + bytes + 256);
	uint64_t state = 1;

	if (!text)
		exit(2);
	memcpy(text, basic_ptx, used);
	used += (size_t)sprintf(text + used, "\n// %.64s", name);
	while (used < bytes) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		used += (size_t)sprintf(text + used, "\n// %016llx%016llx%016llx%016llx", (unsigned long long)state,
					(unsigned long long)(state >> 7), (unsigned long long)(state * 3),
					(unsigned long long)(state ^ state << 20));
	}
	text[used] = '\n';
	text[used + 1] = 0;
	return text;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void compute(CUmodule module)
{
	unsigned int n = WORDS, value = 77, word[WORDS] = { 0 };
	CUfunction fill;
	CUdeviceptr at;
	void *args[] = { &at, &n, &value };

	must(cuModuleGetFunction(&fill, module, "fill"));
	must(cuMemAlloc(&at, sizeof(word)));
	must(cuLaunchKernel(fill, 1, 1, 1, WORDS, 1, 1, 0, NULL, args, NULL));
	must(cuMemcpyDtoH(word, at, sizeof(word)));
	for (unsigned int i = 0; i < WORDS; i++)
		if (word[i] != value)
			exit(1);
}

int main(int argc, char **argv)
{
	CUcontext context;
	CUdevice device;
	CUmodule module;
	double began;
	char *image;

	if (argc < 3)
		return 2;
	image = make_image(argv[1], strtoul(argv[2], NULL, 0));
	must(cuInit(0));
	must(cuDeviceGet(&device, 0));
	must(cuDevicePrimaryCtxRetain(&context, device));
	must(cuCtxSetCurrent(context));
	began = now_ms();
	must(cuModuleLoadData(&module, image));
	printf("%.2f\n", now_ms() - began);
	fflush(stdout);
	compute(module);
	if (argc > 3)
		while (getchar() != EOF)
			;
	must(cuModuleUnload(module));
	free(image);
	return 0;
}
