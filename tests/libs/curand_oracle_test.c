/*
 * curand_oracle_test.c: the numbers of the software device's cuRAND against NVIDIA's own generator of the host, where a
 * toolkit is there (METE_TEST_CUDA or /usr/local/cuda), and against fingerprints of its numbers, which are always
 * there.
 *
 * Whole numbers and uniform ones are the same to the bit; those that go through logarithms and sines agree to some
 * units in the last place.
 */
#include "softdev/soft.h"

#include "curand_table.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 400000

curandStatus_t curandGetVersion(int *version);

/* The library that is tested, and NVIDIA's, by name. */
static struct curand_table ours, theirs;
static bool theirs_there;

static void table_fill(struct curand_table *t, void *library)
{
	for (int i = 0; library && i < CURAND_CALL_COUNT; i++)
		((void **)t)[i] = dlsym(library, curand_call_name[i]);
}

static void theirs_open(void)
{
	const char *root = getenv("METE_TEST_CUDA");
	char path[512];
	void *library;

	snprintf(path, sizeof(path), "%s/lib64/libcurand.so", root ? root : "/usr/local/cuda");
	/* A sanitizer's runtime ends the process at RTLD_DEEPBIND; then the fingerprints alone judge. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	library = NULL;
#else
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
#endif
	table_fill(&theirs, library);
	theirs_there = library && theirs.curandCreateGeneratorHost;
}

struct job {
	int type, order;
	unsigned long long seed, offset;
	unsigned int dimensions;
	char kind;	      /* i, I, u, d(ouble), n, N, l, L, p */
	uint64_t fingerprint; /* of NVIDIA's numbers; 0: not of whole or uniform numbers */
};

static uint64_t fingerprint(const void *data, size_t bytes)
{
	const unsigned char *p = data;
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < bytes; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}

static size_t kind_bytes(char kind)
{
	return strchr("IdNL", kind) ? 8 : 4;
}

static curandStatus_t make(const struct curand_table *t, curandGenerator_t g, const struct job *j, void *to,
			   size_t some)
{
	switch (j->kind) {
	case 'i':
		return t->curandGenerate(g, to, some);
	case 'I':
		return t->curandGenerateLongLong(g, to, some);
	case 'u':
		return t->curandGenerateUniform(g, to, some);
	case 'd':
		return t->curandGenerateUniformDouble(g, to, some);
	case 'n':
		return t->curandGenerateNormal(g, to, some, 1.0f, 2.0f);
	case 'N':
		return t->curandGenerateNormalDouble(g, to, some, 1.0, 2.0);
	case 'l':
		return t->curandGenerateLogNormal(g, to, some, 0.5f, 0.25f);
	case 'L':
		return t->curandGenerateLogNormalDouble(g, to, some, 0.5, 0.25);
	default:
		return t->curandGeneratePoisson(g, to, some, 10.0);
	}
}

/* COUNT numbers. A first call takes a part, so that the second one begins somewhere between the subsequences. */
static bool numbers(const struct curand_table *t, bool device, const struct job *j, void *ret)
{
	size_t part = j->type < 200 ? 100006 : 0, each = kind_bytes(j->kind);
	curandGenerator_t g = NULL;
	curandStatus_t e = device ? t->curandCreateGenerator(&g, (curandRngType_t)j->type)
				  : t->curandCreateGeneratorHost(&g, (curandRngType_t)j->type);

	if (!e && j->type < 200)
		e = t->curandSetPseudoRandomGeneratorSeed(g, j->seed);
	else if (!e)
		e = t->curandSetQuasiRandomGeneratorDimensions(g, j->dimensions);
	if (!e)
		e = t->curandSetGeneratorOffset(g, j->offset);
	if (!e && j->order)
		e = t->curandSetGeneratorOrdering(g, (curandOrdering_t)j->order);
	if (!e && part)
		e = make(t, g, j, ret, part);
	if (!e)
		e = make(t, g, j, (char *)ret + part * each, COUNT - part);
	return !t->curandDestroyGenerator(g) && !e;
}

static bool numbers_of_device(const struct job *j, void *ret)
{
	CUdeviceptr at = 0;
	bool good = !cuMemAlloc(&at, COUNT * 8) && numbers(&ours, true, j, (void *)(uintptr_t)at) &&
		    !cuMemcpyDtoH(ret, at, COUNT * kind_bytes(j->kind));

	return !cuMemFree(at) && good;
}

/* The share of numbers that are not near: some of NVIDIA's normal ones near 0 differ in more bits. */
static double far(const struct job *j, const void *a, const void *b)
{
	size_t bad = 0;

	for (size_t i = 0; i < COUNT; i++) {
		double x, y;

		if (j->kind == 'p') {
			x = ((const uint32_t *)a)[i];
			y = ((const uint32_t *)b)[i];
			bad += x != y;
		} else if (kind_bytes(j->kind) == 8) {
			x = ((const double *)a)[i];
			y = ((const double *)b)[i];
			bad += !(fabs(x - y) <= 1e-11 * (1 + fabs(y)));
		} else {
			x = ((const float *)a)[i];
			y = ((const float *)b)[i];
			bad += !(fabs(x - y) <= 4e-6 * (1 + fabs(y)));
		}
	}
	return (double)bad / COUNT;
}

static const struct job jobs[] = {
#include "curand_fingerprints.h"
};

static void job_test(const struct job *j, void *mine, void *here, void *other)
{
	size_t bytes = COUNT * kind_bytes(j->kind);
	double few = soft_theirs() ? 1.5 / COUNT : 1e-9;
	char what[80];

	snprintf(what, sizeof(what), "type %d, ordering %d, offset %llu, %c", j->type, j->order, j->offset, j->kind);
	tap_ok(numbers_of_device(j, mine), "%s", what);
	/* NVIDIA's device and its host round normal numbers otherwise; one of MRG32K3A's in 400000 is further off */
	tap_ok(numbers(&ours, false, j, here) &&
		       (soft_theirs() && !j->fingerprint ? far(j, mine, here) < few : !memcmp(mine, here, bytes)),
	       "%s: a generator of the host gives the same", what);
	if (j->fingerprint)
		tap_ok(fingerprint(mine, bytes) == j->fingerprint, "%s: the fingerprint of NVIDIA's", what);
	/* NVIDIA's generator takes most of the time here, and what has its fingerprint has been judged by that. */
	if (!theirs_there || (j->fingerprint && !getenv("METE_TEST_LONG")))
		return;
	tap_ok(numbers(&theirs, false, j, other), "%s: NVIDIA's generator of the host", what);
	if (j->fingerprint)
		tap_ok(!memcmp(mine, other, bytes), "%s: NVIDIA's to the bit", what);
	else if (j->kind != 'p' || j->type > 200) /* Poisson's of pseudorandom numbers are of another way */
		tap_ok(far(j, mine, other) < few, "%s: NVIDIA's but for rounding (%g are not)", what,
		       far(j, mine, other));
}

int main(int argc, char **argv)
{
	void *mine = malloc(COUNT * 8), *here = malloc(COUNT * 8), *other = malloc(COUNT * 8);
	int version = 0;

	theirs_open();
	table_fill(&ours, dlopen(NULL, RTLD_NOW));
	if (argc > 1) { /* writes curand_fingerprints.h anew, by NVIDIA's library */
		puts("/* curand_fingerprints.h: of NVIDIA's generator of the host; `soft_curand_oracle_test write` "
		     "writes it anew. */");
		for (size_t i = 0; theirs_there && i < sizeof(jobs) / sizeof(*jobs); i++) {
			struct job j = jobs[i];
			bool whole = strchr("iIud", j.kind);

			if (!numbers(&theirs, false, &j, other))
				return 1;
			printf("{ %d, %d, %llu, %llu, %u, '%c', UINT64_C(0x%016" PRIx64 ") },\n", j.type, j.order,
			       j.seed, j.offset, j.dimensions, j.kind,
			       whole ? fingerprint(other, COUNT * kind_bytes(j.kind)) : 0);
		}
		return !theirs_there;
	}
	soft_begin("1", "256M");
	soft_context();
	is(curandGetVersion(&version), CURAND_STATUS_SUCCESS);
	is(version / 1000, 10);
	for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++)
		job_test(&jobs[i], mine, here, other);
	free(mine);
	free(here);
	free(other);
	return soft_end();
}
