/*
 * mapper.c: a program that makes and maps memory itself, as frameworks do that grow their segments: mapper BYTES ROUNDS
 *
 * One allocation is mapped at two addresses, one only to be read, one nowhere; of one the handle is given back at once.
 * In each round segments are unmapped, and others mapped in their place. A kernel changes one word in STEP of all of
 * them. ROUNDS 0: until its input ends. A third argument: "export": one of the segments is exported. "hand": one after
 * the other, until one is refused ("exported N"). "attack": other threads retain, release, map, ask and export all the
 * while; "race": the same without exports. Lines as those of resider.c.
 */
#include <cuda.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SEGMENTS 64u
#define M ((size_t)1 << 20)
#define SEGMENT (4 * M)
#define STEP 8u /* the kernel's as well */

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry change(.param .u64 p, .param .u32 n, .param .u32 seed) {\n"
	"	.reg .u32 %r<8>; .reg .u64 %d<3>; .reg .pred %q;\n"
	"	ld.param.u64 %d0, [p]; ld.param.u32 %r0, [n]; ld.param.u32 %r1, [seed];\n"
	"	mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
	"	mad.lo.u32 %r2, %r2, %r3, %r4; and.b32 %r3, %r1, 7; mad.lo.u32 %r2, %r2, 8, %r3;\n"
	"	setp.ge.u32 %q, %r2, %r0; @%q ret;\n"
	"	mul.wide.u32 %d1, %r2, 4; add.u64 %d0, %d0, %d1;\n"
	"	ld.global.u32 %r5, [%d0]; mul.lo.u32 %r5, %r5, 1664525; add.u32 %r5, %r5, %r2; add.u32 %r5, %r5, %r1;\n"
	"	st.global.u32 [%d0], %r5; ret;\n}\n";

struct segment {
	CUmemGenericAllocationHandle handle;
	uint32_t seed;
	unsigned int since; /* the round that it was mapped after */
	bool released;	    /* the handle is given back: the mapping keeps it */
};

static struct segment segment[SEGMENTS];
static unsigned int count, rounds_done;
static CUdeviceptr base, twice; /* of all segments; the first one's second place */
static CUfunction change;
static CUcontext context;
static CUmemGenericAllocationHandle nowhere;
static CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				    .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
static const CUmemAccessDesc both = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
				      .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
static const CUmemAccessDesc reads = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
				       .flags = CU_MEM_ACCESS_FLAGS_PROT_READ };
static _Atomic uint64_t wrong;
static _Atomic bool ends;
static bool attacks, exports;

static void must(CUresult r, const char *what)
{
	if (!r)
		return;
	printf("failed: %s: %d\n", what, (int)r);
	fflush(stdout);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static CUdeviceptr place(unsigned int i)
{
	return base + i * SEGMENT;
}

static void segment_make(unsigned int i)
{
	struct segment *s = &segment[i];

	*s = (struct segment){ .seed = i * 77 + rounds_done, .since = rounds_done, .released = i % 3 == 2 };
	must(cuMemCreate(&s->handle, SEGMENT, &prop, 0), "cuMemCreate");
	must(cuMemMap(place(i), SEGMENT, 0, s->handle, 0), "cuMemMap");
	must(cuMemSetAccess(place(i), SEGMENT, &both, 1), "cuMemSetAccess");
	must(cuMemsetD32(place(i), s->seed, SEGMENT / 4), "cuMemsetD32");
	if (s->released)
		must(cuMemRelease(s->handle), "cuMemRelease");
}

static void segment_end(unsigned int i)
{
	must(cuMemUnmap(place(i), SEGMENT), "cuMemUnmap");
	if (!segment[i].released)
		must(cuMemRelease(segment[i].handle), "cuMemRelease");
}

static uint32_t expected(unsigned int i, uint32_t at)
{
	uint32_t word = segment[i].seed;
	unsigned int k = segment[i].since;

	for (k += (at - k) % STEP; k < rounds_done; k += STEP)
		word = word * 1664525u + at + k;
	return word;
}

static void look(CUdeviceptr at, unsigned int i)
{
	uint32_t *host = malloc(SEGMENT);

	must(cuMemcpyDtoH(host, at, SEGMENT), "cuMemcpyDtoH");
	for (uint32_t w = 0; w < SEGMENT / 4; w++)
		wrong += host[w] != expected(i, w);
	free(host);
}

/* What is asked about answers as if nothing had ever moved. */
static void ask(unsigned int i)
{
	CUmemGenericAllocationHandle again;
	CUmemAllocationProp is;
	CUdeviceptr begin;
	unsigned long long flags;
	size_t bytes;
	int ordinal;

	must(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(place(i) + 4096)), "cuMemRetainAllocationHandle");
	wrong += !segment[i].released && again != segment[i].handle;
	must(cuMemGetAllocationPropertiesFromHandle(&is, again), "its properties");
	wrong += is.type != prop.type || is.location.id || is.requestedHandleTypes != prop.requestedHandleTypes;
	must(cuMemRelease(again), "cuMemRelease");
	must(cuMemGetAccess(&flags, &both.location, place(i)), "cuMemGetAccess");
	wrong += flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	must(cuMemGetAddressRange(&begin, &bytes, place(i) + 1000), "cuMemGetAddressRange");
	wrong += begin != place(i) || bytes != SEGMENT;
	must(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, place(i)), "its device");
	wrong += ordinal != 0;
}

static void round_once(void)
{
	const unsigned int renewed = 1 + rounds_done % (count - 1);

	for (unsigned int i = 0; i < count; i++) {
		CUdeviceptr at = place(i);
		uint32_t n = SEGMENT / 4, seed = rounds_done;
		void *args[] = { &at, &n, &seed };

		must(cuLaunchKernel(change, n / STEP / 256, 1, 1, 256, 1, 1, 0, NULL, args, NULL), "cuLaunchKernel");
	}
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	rounds_done++;
	look(place(renewed), renewed);
	look(twice, 0);
	ask(renewed);
	segment_end(renewed);
	segment_make(renewed);
}

/* ---- beside ---- */

/* Of a segment that is never renewed, and of handles of its own. */
static void *attack(void *arg)
{
	uint32_t random = (uint32_t)(uintptr_t)arg * 2654435761u;
	CUdeviceptr mine;

	must(cuCtxSetCurrent(context), "a context");
	must(cuMemAddressReserve(&mine, 2 * SEGMENT, 0, 0, 0), "cuMemAddressReserve");
	while (!ends) {
		CUmemGenericAllocationHandle h, again, last;
		int fd = -1;

		random = random * 1664525u + 1013904223u;
		must(cuMemRetainAllocationHandle(&last, (void *)(uintptr_t)place(0)), "retain");
		wrong += last != segment[0].handle;
		must(cuMemCreate(&h, SEGMENT, &prop, 0), "create");
		must(cuMemMap(mine, SEGMENT / 2, 0, h, 0), "map of a part");
		must(cuMemMap(mine + SEGMENT, SEGMENT, 0, h, 0), "map");
		if (random >> 31)
			must(cuMemRelease(h), "release before unmap");
		must(cuMemSetAccess(mine + SEGMENT, SEGMENT, &both, 1), "access");
		must(cuMemsetD32(mine + SEGMENT, random, SEGMENT / 4), "a fill");
		wrong += cuMemUnmap(mine, SEGMENT / 4) != CUDA_ERROR_INVALID_VALUE;
		must(cuMemUnmap(mine, SEGMENT / 2), "unmap of a part");
		must(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(mine + SEGMENT)), "retain");
		wrong += !(random >> 31) && again != h; /* of what nobody held meanwhile the name may be another */
		if (exports && random >> 28 & 1) {
			must(cuMemExportToShareableHandle(&fd, again, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
			     "export");
			close(fd);
		}
		must(cuMemUnmap(mine + SEGMENT, SEGMENT), "unmap");
		must(cuMemRelease(again), "release");
		if (!(random >> 31))
			must(cuMemRelease(h), "release");
		wrong += cuMemRelease(h) != CUDA_ERROR_INVALID_VALUE;
		must(cuMemRelease(last), "release");
	}
	must(cuMemAddressFree(mine, 2 * SEGMENT), "cuMemAddressFree");
	return NULL;
}

/* As to other processes. Value: so many. */
static unsigned int hand_on(void)
{
	CUmemGenericAllocationHandle h;
	unsigned int n = 0;
	CUresult r;
	int fd;

	for (;; n++) {
		must(cuMemRetainAllocationHandle(&h, (void *)(uintptr_t)place(n)), "retain");
		r = cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
		must(cuMemRelease(h), "release");
		if (r != CUDA_SUCCESS || n + 1 == count)
			break;
	}
	wrong += r != CUDA_ERROR_OUT_OF_MEMORY;
	return n;
}

/* Nobody writes to it: what can be read is its end. */
static bool input_ended(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, 0) > 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 3 ? argv[3] : "";
	const unsigned int rounds = argc > 2 ? (unsigned int)atoi(argv[2]) : 1;
	double longest = 0, began, took;
	pthread_t thread[3];
	CUmodule module;
	int fd = -1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	exports = !strcmp(mode, "attack") || !strcmp(mode, "export");
	attacks = !strcmp(mode, "attack") || !strcmp(mode, "race");
	count = (unsigned int)((argc > 1 ? strtoull(argv[1], NULL, 10) : 0) / SEGMENT);
	if (count < 2 || count > SEGMENTS)
		return 2;
	must(cuInit(0), "the driver");
	must(cuDevicePrimaryCtxRetain(&context, 0), "a context");
	must(cuCtxSetCurrent(context), "a context");
	must(cuModuleLoadData(&module, ptx), "a module");
	must(cuModuleGetFunction(&change, module, "change"), "a function");
	must(cuMemAddressReserve(&base, SEGMENTS * SEGMENT, 0, 0, 0), "cuMemAddressReserve");
	must(cuMemAddressReserve(&twice, SEGMENT, 0, 0, 0), "cuMemAddressReserve");
	for (unsigned int i = 0; i < count; i++)
		segment_make(i);
	must(cuMemMap(twice, SEGMENT, 0, segment[0].handle, 0), "a second place");
	must(cuMemSetAccess(twice, SEGMENT, &reads, 1), "access to read");
	must(cuMemCreate(&nowhere, 2 * M, &prop, 0), "cuMemCreate");
	if (exports && !attacks)
		must(cuMemExportToShareableHandle(&fd, segment[1].handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
		     "export");
	if (!strcmp(mode, "hand"))
		printf("exported %u\n", hand_on());
	puts("holds");
	for (uintptr_t i = 0; attacks && i < 3; i++)
		pthread_create(&thread[i], NULL, attack, (void *)(i + 1));
	while (rounds ? rounds_done < rounds : !input_ended()) {
		began = now();
		round_once();
		took = now() - began;
		longest = took > longest ? took : longest;
		printf("round %u %llx %.3f\n", rounds_done, (unsigned long long)base, took);
	}
	ends = true;
	for (unsigned int i = 0; attacks && i < 3; i++)
		pthread_join(thread[i], NULL);
	for (unsigned int i = 0; i < count; i++)
		look(place(i), i);
	must(cuMemUnmap(twice, SEGMENT), "cuMemUnmap");
	for (unsigned int i = 0; i < count; i++)
		segment_end(i);
	must(cuMemRelease(nowhere), "cuMemRelease");
	must(cuMemAddressFree(base, SEGMENTS * SEGMENT), "cuMemAddressFree");
	must(cuMemAddressFree(twice, SEGMENT), "cuMemAddressFree");
	printf("wrong %llu longest %.3f\n", (unsigned long long)wrong, longest);
	return 0;
}
