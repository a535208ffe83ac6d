/*
 * roam_mapped.c: registered and pinned memory that the program writes directly before each launch that reads it. Two
 * streams and a second context work on it at once, a thread of the program writes it all the time, each in words beside
 * the others', and copies go both ways. The program knows what every word has to be, and says so when one is another.
 *
 * The streams wait for the legacy stream, as most programs' do: what the client does in streams of its own has to be in
 * order by itself. The second context's stream waits for none of the first one's.
 */
#include "roamer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORDS (1u << 16)
#define TURNS 12u /* in a round */
#define STREAMS 2u
#define GROUP 8u     /* words: each stream's kernels change one of the first two, */
#define THERE 2u     /* those of the second context this one, */
#define THREAD 3u    /* a thread this one, */
#define OWN 4u	     /* the program, for each stream, those from here on, */
#define COPIED 6u    /* and its copies these */
#define THREADS 512u /* of a launch */
#define PARTS 2u
#define PART (WORDS / GROUP / PARTS)
#define PLAIN (1u << 19) /* words of memory of the first context that the second one's kernels change */

static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			   /* Each thread's group: to[0] += from[0] + n. */
			   ".visible .entry add(.param .u64 to, .param .u64 from, .param .u32 n) {\n"
			   "	.reg .u64 %d<4>; .reg .u32 %r<6>;\n"
			   "	ld.param.u64 %d0, [to]; ld.param.u64 %d1, [from]; ld.param.u32 %r0, [n];\n"
			   "	mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r1, 32, %r2;\n"
			   "	mul.wide.u32 %d2, %r1, 32; add.u64 %d0, %d0, %d2; add.u64 %d1, %d1, %d2;\n"
			   "	ld.global.u32 %r3, [%d0]; ld.global.u32 %r4, [%d1];\n"
			   "	add.u32 %r3, %r3, %r4; add.u32 %r3, %r3, %r0; st.global.u32 [%d0], %r3; ret;\n}\n";

struct memory {
	const char *name;
	uint32_t *here, want[WORDS];
	CUdeviceptr there;
};

static struct {
	CUfunction add, add_there;
	CUstream stream[STREAMS], stream_there;
	CUcontext other;
	CUdeviceptr between, plain;
	uint32_t want[PLAIN];
	struct memory memory[2]; /* registered, pinned */
	uint64_t state;
	pthread_t writer;
	pthread_mutex_t lock; /* guards that the registered memory stays */
} t = { .memory = { { .name = "registered" }, { .name = "pinned" } }, .state = 1, .lock = PTHREAD_MUTEX_INITIALIZER };

static uint32_t any(uint64_t *state, uint32_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(*state >> 33) % below;
}

static void word_is(const struct memory *m, uint32_t at, uint32_t want)
{
	if (m->here[at] == want)
		return;
	printf("failed: %s word %u of group %u is %u, not %u\n", m->name, at % GROUP, at / GROUP, m->here[at], want);
	exit(1);
}

/* ---- making ---- */

static CUfunction add_make(void)
{
	CUmodule module;

	must(cuModuleLoadData(&module, text), "a module");
	return function_of(module, "add");
}

static void other_make(void)
{
	CUcontext first;

	must(cuMemAlloc(&t.plain, PLAIN * 4), "memory");
	must(cuMemsetD32(t.plain, 0, PLAIN), "a fill");
	must(cuCtxSynchronize(), "a wait");
	must(cuCtxGetCurrent(&first), "the context");
	must(cuCtxCreate(&t.other, NULL, 0, 0), "another context");
	t.add_there = add_make();
	must(cuStreamCreate(&t.stream_there, CU_STREAM_DEFAULT), "a stream");
	must(cuCtxSetCurrent(first), "the first context");
}

static void registered_make(void)
{
	struct memory *m = &t.memory[0];

	must(cuMemHostRegister(m->here, WORDS * 4, CU_MEMHOSTREGISTER_DEVICEMAP), "registered memory");
	must(cuMemHostGetDevicePointer(&m->there, m->here, 0), "its address");
}

static void write_one(uint64_t *state, uint32_t n)
{
	static uint32_t wrote[2][WORDS / GROUP];
	const uint32_t i = any(state, 2), group = any(state, WORDS / GROUP), at = group * GROUP + THREAD;

	word_is(&t.memory[i], at, wrote[i][group]);
	t.memory[i].here[at] = wrote[i][group] = n;
}

/* What it has written stays, whatever comes beside it. */
static void *write_on(void *arg)
{
	uint64_t state = 2;

	for (uint32_t n = 1;; n++) {
		pthread_mutex_lock(&t.lock);
		for (unsigned int i = 0; i < 64; i++)
			write_one(&state, n);
		pthread_mutex_unlock(&t.lock);
		nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
	}
	return arg;
}

void mapped_make(void)
{
	struct memory *pinned = &t.memory[1];

	t.add = add_make();
	for (unsigned int i = 0; i < STREAMS; i++)
		must(cuStreamCreate(&t.stream[i], CU_STREAM_DEFAULT), "a stream");
	must(cuMemAlloc(&t.between, WORDS * 4), "memory");
	t.memory[0].here = aligned_alloc(4096, WORDS * 4);
	memset(t.memory[0].here, 0, WORDS * 4);
	must(cuMemHostAlloc((void **)&pinned->here, WORDS * 4, CU_MEMHOSTALLOC_DEVICEMAP), "pinned memory");
	must(cuMemHostGetDevicePointer(&pinned->there, pinned->here, 0), "its address");
	memset(pinned->here, 0, WORDS * 4);
	registered_make();
	other_make();
	pthread_create(&t.writer, NULL, write_on, NULL);
}

/* ---- a turn ---- */

/* A word that no kernel touches. */
static void write_word(struct memory *m, uint32_t at, uint32_t value)
{
	m->here[at] = m->want[at] = value;
}

/* The program's word of some groups, then the launches, which add it to their stream's. */
static void launch(struct memory *m, unsigned int s, uint32_t first, uint32_t n)
{
	CUdeviceptr to = m->there + (first * GROUP + s) * 4, from = m->there + (first * GROUP + OWN + s) * 4;
	void *args[] = { &to, &from, &n };

	for (uint32_t i = 0; i < THREADS; i += 1 + any(&t.state, THREADS))
		write_word(m, (first + i) * GROUP + OWN + s, n + i);
	for (unsigned int times = 0; times < 2; times++)
		run(t.add, THREADS, t.stream[s], args);
	for (uint32_t at = first * GROUP; at < (first + THREADS) * GROUP; at += GROUP)
		m->want[at + s] += 2 * (m->want[at + OWN + s] + n);
}

/* There and back by copies in the stream, behind what the program has just written. */
static void copy(struct memory *m, unsigned int s, uint32_t first, uint32_t n)
{
	const uint32_t from = first * GROUP + OWN + s, to = first * GROUP + COPIED + s;
	CUdeviceptr between = t.between + from * 4;

	write_word(m, from, n);
	must(cuMemcpyHtoDAsync(between, &m->here[from], 4, t.stream[s]), "a copy");
	must(cuMemcpyDtoHAsync(&m->here[to], between, 4, t.stream[s]), "a copy back");
	m->want[to] = n;
}

static void run_there(CUdeviceptr at, uint32_t n)
{
	void *args[] = { &at, &at, &n };

	run(t.add_there, THREADS, t.stream_there, args);
}

/* The second context's, behind copies that take a while: registered memory, and the plain memory that a move copies
 * last. */
static void other_begin(uint32_t group, uint32_t n)
{
	static uint32_t nothing[WORDS / 4];
	const uint32_t first = PLAIN - THREADS * GROUP;
	struct memory *m = &t.memory[0];

	must(cuCtxPushCurrent(t.other), "the other context");
	must(cuMemcpyHtoDAsync(t.plain, nothing, sizeof(nothing), t.stream_there), "a copy");
	run_there(t.plain + first * 4, n);
	run_there(m->there + (group * GROUP + THERE) * 4, n);
	must(cuCtxPopCurrent(NULL), "the first context");
	for (uint32_t i = 0; i < THREADS * GROUP; i += GROUP) {
		t.want[first + i] += t.want[first + i] + n;
		m->want[group * GROUP + THERE + i] += m->want[group * GROUP + THERE + i] + n;
	}
}

static void other_end(void)
{
	const uint32_t first = PLAIN - THREADS * GROUP;
	uint32_t back[THREADS * GROUP];

	must(cuStreamSynchronize(t.stream_there), "a wait");
	must(cuMemcpyDtoH(back, t.plain + first * 4, sizeof(back)), "a copy");
	for (uint32_t i = 0; i < THREADS * GROUP; i++)
		if (back[i] != t.want[first + i]) {
			printf("failed: plain word %u is %u, not %u\n", i, back[i], t.want[first + i]);
			exit(1);
		}
}

static void wait(unsigned int how)
{
	if (how % 3 == 0)
		must(cuCtxSynchronize(), "a wait");
	for (unsigned int s = 0; how % 3 && s < STREAMS; s++)
		must(cuStreamSynchronize(t.stream[s]), "a wait");
}

/* All but the thread's, and the second context's while it works. */
static void check(bool there)
{
	for (unsigned int i = 0; i < 2; i++)
		for (uint32_t at = 0; at < WORDS; at++)
			if (at % GROUP != THREAD && (there || at % GROUP != THERE))
				word_is(&t.memory[i], at, t.memory[i].want[at]);
}

/* Both streams on one part, and then on another one: the words of one stand beside those of the other. */
static void turn(unsigned int n, uint32_t value)
{
	uint32_t first = 0;

	if (n % 4 == 0)
		other_begin(any(&t.state, WORDS / GROUP - THREADS), value);
	for (unsigned int k = 0; k <= n % (PARTS * STREAMS); k++) {
		struct memory *m = &t.memory[any(&t.state, 3) == 0];

		if (k % STREAMS == 0)
			first = k / STREAMS * PART + any(&t.state, PART - THREADS);
		if (any(&t.state, 4))
			launch(m, k % STREAMS, first, value + k);
		else
			copy(m, k % STREAMS, first, value + k);
	}
	wait(n);
	check(n % 4);
	if (n % 4)
		return;
	other_end();
	check(true);
}

void mapped_round(unsigned int n, uint64_t *d)
{
	for (unsigned int i = 0; i < TURNS; i++)
		turn(i, n * TURNS + i);
	digest(d, t.memory[0].want, WORDS);
	digest(d, t.memory[1].want, WORDS);
	if (n % 5)
		return;
	pthread_mutex_lock(&t.lock);
	must(cuMemHostUnregister(t.memory[0].here), "the memory is registered no more");
	registered_make();
	pthread_mutex_unlock(&t.lock);
}
