/*
 * roamer.c: a program whose results depend on all that it has held so far: roamer KIND ROUNDS
 *
 * Each round does the work of KIND ("textures", ...; "all": of each), takes a digest of what it reads back, and prints
 * "round N DIGEST". Beside a run that nothing has moved every line is the same. "holds" comes before the first round.
 */
#include "roamer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So many rounds are made until somebody ends them. Each of them is made once more, by a run that nothing moves. */
#define ENDLESS 1000000u
#define PAUSE_US 2000

void must(CUresult r, const char *what)
{
	if (!r)
		return;
	printf("failed: %s: %d\n", what, (int)r);
	exit(1);
}

void digest(uint64_t *d, const void *data, size_t bytes)
{
	const uint8_t *at = data;

	for (size_t i = 0; i < bytes; i++)
		*d = (*d ^ at[i]) * UINT64_C(0x100000001b3);
}

void run(CUfunction f, unsigned int threads, CUstream stream, void **args)
{
	must(cuLaunchKernel(f, threads / 32, 1, 1, 32, 1, 1, 0, stream, args, NULL), "a launch");
}

CUfunction function_of(CUmodule m, const char *name)
{
	CUfunction f;

	must(cuModuleGetFunction(&f, m, name), name);
	return f;
}

static const struct {
	const char *name;
	void (*make)(void);
	void (*round)(unsigned int n, uint64_t *d);
} kinds[] = {
	{ "captures", captures_make, captures_round },
	{ "kernels", kernels_make, kernels_round },
	{ "many", many_make, many_round },
	{ "mapped", mapped_make, mapped_round },
	{ "products", products_make, products_round },
	{ "shared", shared_make, shared_round },
	{ "symbols", symbols_make, symbols_round },
	{ "textures", textures_make, textures_round },
};

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "all";
	unsigned int rounds = argc > 2 ? (unsigned int)atoi(argv[2]) : 1;
	CUcontext context;
	uint64_t d = UINT64_C(0xcbf29ce484222325);

	setvbuf(stdout, NULL, _IOLBF, 0);
	must(cuInit(0), "the driver");
	must(cuDevicePrimaryCtxRetain(&context, 0), "a context");
	must(cuCtxSetCurrent(context), "a context");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kind, "all") || !strcmp(kind, kinds[i].name))
			kinds[i].make();
	must(cuCtxSynchronize(), "a wait");
	puts("holds");
	for (unsigned int n = 1; n <= rounds; n++) {
		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			if (!strcmp(kind, "all") || !strcmp(kind, kinds[i].name))
				kinds[i].round(n, &d);
		printf("round %u %llx\n", n, (unsigned long long)d);
		if (rounds >= ENDLESS)
			usleep(PAUSE_US);
	}
	puts("wrong 0");
	return 0;
}
