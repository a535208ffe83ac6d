/*
 * resider.c: a program whose memory may move under it: resider BYTES ROUNDS [PAUSE_MS | endless | waiting | exit]
 *
 * Holds BYTES in allocations of many sizes. In each round a kernel changes one word in STEP of all of them, and so each
 * page changes in each round. In the end each word is compared with what it must be. A line for each round, with the
 * addresses' sum, which must stay; the last one says how many words were wrong, and how long the longest round took.
 *
 * It goes on with the next round when a line comes on standard input, or PAUSE_MS after the last, without waiting
 * where that is 0. exit: the end of standard input ends it at once, without another call. endless: after the first
 * round a kernel runs that waits for a word of the host's, which a line sets. waiting: its stream waits for that, which
 * uses no processor. With RESIDER_ORDERED in the environment all of it is allocated and freed in the order of a stream,
 * from the device's memory pool.
 */
#include <cuda.h>

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
	"	st.global.u32 [%d0], %r5; ret;\n}\n"
	".visible .entry wait(.param .u64 p) {\n"
	"	.reg .u32 %r; .reg .u64 %d; .reg .pred %q;\n"
	"	ld.param.u64 %d, [p];\n"
	"again: ld.volatile.global.u32 %r, [%d]; setp.eq.u32 %q, %r, 0; @%q bra again; ret;\n}\n";

#define STEP 8u /* the kernel's as well */
#define MOST 4096u

struct block {
	CUdeviceptr at;
	size_t bytes;
	uint32_t seed;
};

static struct block blocks[MOST];
static unsigned int count;
static CUfunction change, wait_for;
static CUstream stream; /* NULL: the memory is plain */
static unsigned int rounds_done;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void must(CUresult r, const char *what)
{
	if (!r)
		return;
	printf("%s: %d\n", what, (int)r);
	fflush(stdout);
	exit(1);
}

/* Some small ones, some large ones, whose ends lie anywhere. */
static void take(size_t bytes)
{
	static const size_t sizes[] = { 4, 600, 4096, 100000, 3 << 20, 40 << 20, 70000, 1 << 20 };
	size_t n;

	for (unsigned int i = 0; bytes && count < MOST; i++) {
		struct block *b = &blocks[count];

		n = i % 8 == 7 ? bytes / 3 / 4 * 4 + 4 : sizes[i % 8];
		if (n > bytes)
			n = bytes;
		if (stream)
			must(cuMemAllocAsync(&b->at, n, stream), "cuMemAllocAsync");
		else
			must(cuMemAlloc(&b->at, n), "cuMemAlloc");
		b->bytes = n;
		b->seed = i * 77;
		must(cuMemsetD32(b->at, b->seed, n / 4), "cuMemsetD32");
		bytes -= n;
		count++;
	}
}

static void round_once(void)
{
	for (unsigned int i = 0; i < count; i++) {
		uint32_t n = (uint32_t)(blocks[i].bytes / 4), seed = rounds_done;
		void *args[] = { &blocks[i].at, &n, &seed };

		must(cuLaunchKernel(change, (n / STEP + 256) / 256, 1, 1, 256, 1, 1, 0, NULL, args, NULL),
		     "cuLaunchKernel");
	}
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	rounds_done++;
}

static uint32_t expected(const struct block *b, uint32_t i)
{
	uint32_t word = b->seed;

	for (unsigned int k = i % STEP; k < rounds_done; k += STEP)
		word = word * 1664525u + i + k;
	return word;
}

/* The pool knows of all of it, and of each block that it is its own. */
static uint64_t wrong_figures(void)
{
	uint64_t used = 0, all = 0, wrong = 0;
	CUmemoryPool pool, is;

	must(cuDeviceGetDefaultMemPool(&pool, 0), "cuDeviceGetDefaultMemPool");
	must(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used), "cuMemPoolGetAttribute");
	for (unsigned int i = 0; i < count; i++) {
		all += blocks[i].bytes;
		must(cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, blocks[i].at), "its pool");
		wrong += is != pool;
	}
	return wrong + (used < all);
}

static uint64_t wrong_words(void)
{
	uint64_t wrong = stream ? wrong_figures() : 0;

	for (unsigned int i = 0; i < count; i++) {
		struct block *b = &blocks[i];
		uint32_t *host = malloc(b->bytes);
		CUdeviceptr base;
		size_t size;

		must(cuMemcpyDtoH(host, b->at, b->bytes), "cuMemcpyDtoH");
		for (uint32_t w = 0; w < b->bytes / 4; w++)
			wrong += host[w] != expected(b, w);
		free(host);
		must(cuMemGetAddressRange(&base, &size, b->at + b->bytes / 2), "cuMemGetAddressRange");
		wrong += base != b->at || size != b->bytes;
	}
	return wrong;
}

static uint64_t places(void)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < count; i++)
		sum = sum * 31 + blocks[i].at;
	return sum;
}

/* Neither the parent's connection nor its pipes are used. */
static void fork_child(void)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	printf("child %d\n", (int)pid);
	fflush(stdout);
}

/* As programs do that close whatever they find open; of memory a file without a name is none. */
static void close_unnamed(void)
{
	char path[64], text[4096];

	for (int fd = 3; fd < 65536; fd++) {
		ssize_t n;

		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		n = readlink(path, text, sizeof text - 1);
		text[n > 0 ? n : 0] = 0;
		if (strstr(text, " (deleted)") && strncmp(text, "/memfd:", 7) && strncmp(text, "/dev/", 5))
			close(fd);
	}
}

/* False: standard input has ended. "f" in a line: it forks; "d": it closes descriptors. */
static bool next_line(int most_ms)
{
	struct pollfd p = { .fd = 0, .events = POLLIN };
	char c;

	if (poll(&p, 1, most_ms) <= 0)
		return true;
	do {
		if (read(0, &c, 1) != 1)
			return false;
		if (c == 'f')
			fork_child();
		if (c == 'd')
			close_unnamed();
	} while (c != '\n');
	return true;
}

static void hang(volatile uint32_t *word, CUdeviceptr at, bool idly)
{
	void *args[] = { &at };

	if (idly)
		must(cuStreamWaitValue32(NULL, at, 1, CU_STREAM_WAIT_VALUE_EQ), "cuStreamWaitValue32");
	else
		must(cuLaunchKernel(wait_for, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL), "cuLaunchKernel");
	puts("hangs");
	fflush(stdout);
	next_line(-1);
	*word = 1;
	must(cuCtxSynchronize(), "cuCtxSynchronize");
}

/* As a destructor of a static object of C++ does. */
static void free_at_exit(void)
{
	unsigned int freed = 0;

	for (unsigned int i = 0; i < count; i++)
		freed += cuMemFree(blocks[i].at) == CUDA_SUCCESS;
	printf("freed %u of %u\n", freed, count);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 3 ? argv[3] : "";
	bool idly = !strcmp(mode, "waiting"), endless = idly || !strcmp(mode, "endless");
	bool late = !strcmp(mode, "late"), exits = late || !strcmp(mode, "exit");
	unsigned int rounds = argc > 2 ? (unsigned int)atoi(argv[2]) : 0;
	int pause_ms = *mode && !endless && !exits ? atoi(mode) : -1;
	double longest = 0, began, took;
	uint32_t *word = NULL;
	CUdeviceptr word_at;
	CUcontext context;
	CUmodule module;

	if (!rounds)
		return 2;
	if (late)
		atexit(free_at_exit);
	must(cuInit(0), "cuInit");
	must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	must(cuModuleGetFunction(&change, module, "change"), "cuModuleGetFunction");
	must(cuModuleGetFunction(&wait_for, module, "wait"), "cuModuleGetFunction");
	if (endless) {
		must(cuMemHostAlloc((void **)&word, 4096, CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
		must(cuMemHostGetDevicePointer(&word_at, word, 0), "cuMemHostGetDevicePointer");
		*word = 0;
	}
	if (getenv("RESIDER_ORDERED"))
		must(cuStreamCreate(&stream, CU_STREAM_DEFAULT), "cuStreamCreate");
	began = now();
	take(strtoull(argv[1], NULL, 10));
	printf("holds %.3f\n", now() - began);
	fflush(stdout);
	while (rounds_done < rounds) {
		if (pause_ms && !next_line(pause_ms)) {
			if (exits)
				exit(0);
			break;
		}
		began = now();
		round_once();
		took = now() - began;
		if (took > longest)
			longest = took;
		printf("round %u %llx %.3f\n", rounds_done, (unsigned long long)places(), took);
		fflush(stdout);
		if (endless && rounds_done == 1)
			hang(word, word_at, idly);
	}
	printf("wrong %llu longest %.3f\n", (unsigned long long)wrong_words(), longest);
	fflush(stdout);
	for (unsigned int i = 0; i < count; i++)
		must(stream ? cuMemFreeAsync(blocks[i].at, stream) : cuMemFree(blocks[i].at), "cuMemFree");
	return 0;
}
