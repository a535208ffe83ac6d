/*
 * newcomer.c: a program that comes for a few kernels, of which nobody knows how long they take, and goes.
 *
 *   newcomer KERNELS     prints "ready" with a context made, waits for a line, launches so many, one after the other
 *   newcomer for SECONDS DEPTH   the tenant beside which they come: for so long, with so many kernels in flight
 *
 * METE_SOFT_DURATION says how long they take. Prints "done KERNELS LONGEST_WAIT_US" at the end.
 */
#include "base/clock.h"

#include <cuda.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MOST 64
#define MUST(call) must(call, #call)

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry once()\n{\nret;\n}\n";

static void must(CUresult r, const char *what)
{
	if (!r)
		return;
	fprintf(stderr, "newcomer: %s: %d\n", what, (int)r);
	exit(1);
}

int main(int argc, char **argv)
{
	bool for_long = argc == 4 && !strcmp(argv[1], "for");
	uint64_t most = for_long || argc < 2 ? UINT64_MAX : strtoull(argv[1], NULL, 10), until = UINT64_MAX;
	uint64_t done = 0, longest = 0, depth = for_long ? strtoull(argv[3], NULL, 10) : 1;
	CUevent ended[DEPTH_MOST];
	CUcontext context;
	CUfunction once;
	CUmodule module;
	char line[16];

	MUST(cuInit(0));
	MUST(cuDevicePrimaryCtxRetain(&context, 0));
	MUST(cuCtxSetCurrent(context));
	MUST(cuModuleLoadData(&module, ptx));
	MUST(cuModuleGetFunction(&once, module, "once"));
	depth = depth < DEPTH_MOST ? depth : DEPTH_MOST;
	for (uint64_t i = 0; i < depth; i++)
		MUST(cuEventCreate(&ended[i], CU_EVENT_BLOCKING_SYNC));
	printf("ready\n");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 0;
	if (for_long)
		until = clock_now_ns() + (uint64_t)(strtod(argv[2], NULL) * 1e9);
	for (uint64_t began = clock_now_ns(); done < most && began < until; done++) {
		uint64_t now;

		MUST(cuLaunchKernel(once, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
		MUST(cuEventRecord(ended[done % depth], NULL));
		if (done + 1 >= depth)
			MUST(cuEventSynchronize(ended[(done + 1) % depth]));
		now = clock_now_ns();
		longest = now - began > longest ? now - began : longest;
		began = now;
	}
	MUST(cuCtxSynchronize());
	printf("done %" PRIu64 " %" PRIu64 "\n", done, longest / 1000);
	fflush(stdout);
	_Exit(0);
}
