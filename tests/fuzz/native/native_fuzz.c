/*
 * native_fuzz.c: kernels of the software device's libraries with parameters that are forged (wire/soft_native.h): any
 * client behind a wall can launch them so, and they run in its worker.
 *
 * An input is the kernel, a few numbers from which sound parameters are made, what the device's memory holds, and edits
 * of single fields: with numbers that overflow, addresses at the ends of memory, values of other fields. The memory is
 * four pieces with unmapped pages between them, one of them read-only: a kernel that touches what `reach` has not
 * allowed ends the process, in OpenBLAS as well, which no sanitizer sees; and so does one that takes seconds without
 * asking whether to go on, or goes on when it may not. OpenBLAS reads, and does not use, up to a
 * column behind a matrix (zgemv of 0.3.21): a page behind each piece may be read where it is there.
 */
#include "../ptx/fuzz.h"
#include "libs/common/library.h"
#include "native.h"

#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#define PIECES 4u /* the last one is read-only */
#define PIECE_BYTES ((size_t)1 << 15)
#define GUARD_BYTES ((size_t)1 << 16)
#define READ_BEHIND 4096
#define EDITS_MOST 12
#define GO_ON_MOST 64  /* then the launch is stopped */
#define SECONDS_MOST 8 /* of the processor's time, between two questions whether to go on */

/* ---- input ---- */

struct input {
	const uint8_t *at;
	size_t left;
};

static uint8_t take(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

static uint64_t take_number(struct input *in, unsigned int bytes)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < bytes; i++)
		v |= (uint64_t)take(in) << 8 * i;
	return v;
}

/* ---- the device's memory ---- */

static char *piece[PIECES];

uint64_t address(unsigned int which, int64_t from_begin)
{
	return (uint64_t)(uintptr_t)piece[which % PIECES] + (uint64_t)from_begin;
}

static void memory_make(void)
{
	size_t each = PIECE_BYTES + GUARD_BYTES;
	char *all =
		mmap(NULL, PIECES * each + GUARD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	check(all != MAP_FAILED);
	for (unsigned int i = 0; i < PIECES; i++) {
		piece[i] = all + GUARD_BYTES + i * each;
		check(!mprotect(piece[i], PIECE_BYTES, PROT_READ | PROT_WRITE));
#ifndef NATIVE_LOOPS
		check(!mprotect(piece[i] + PIECE_BYTES, READ_BEHIND, PROT_READ));
#endif
	}
	for (size_t i = 0; i < PIECE_BYTES; i += 4)
		memcpy(piece[PIECES - 1] + i, &(uint32_t){ (uint32_t)(i / 4 % 8) }, 4);
	check(!mprotect(piece[PIECES - 1], PIECE_BYTES, PROT_READ));
}

enum content { CONTENT_FLOATS, CONTENT_INDICES, CONTENT_WIDE, CONTENT_ADDRESSES, CONTENT_ODD, CONTENT_BYTES };

static uint64_t content_of(enum content how, uint64_t seed, size_t i)
{
	static const uint64_t odd[] = { 0x7fc000007fc00000, 0x7f8000007f800000, 0x7ff8000000000000, 0x7ff0000000000000,
					0xffffffffffffffff, 0x8000000080000000, 0x8000000000000000, 0,
					0x0000000100000001 };
	uint64_t mixed = (seed + i) * 0x9e3779b97f4a7c15u;
	float f = (float)(int)(mixed >> 60) - 7.5f;
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	switch (how) {
	case CONTENT_FLOATS:
		return (uint64_t)bits << 32 | bits;
	case CONTENT_INDICES:
		return (seed & 1 ? i * 2 : mixed >> 61) | (uint64_t)(seed & 1 ? i * 2 + 1 : mixed >> 58 & 7) << 32;
	case CONTENT_WIDE:
		return seed & 1 ? i : mixed >> 61;
	case CONTENT_ADDRESSES:
		return address((unsigned int)(mixed >> 62), (int64_t)(mixed >> 40 & 0x3f0));
	case CONTENT_ODD:
		return odd[(mixed >> 32) % (sizeof(odd) / sizeof(*odd))];
	default:
		return mixed;
	}
}

/* What a piece may hold, by a byte of the input: worked out once. */
static uint64_t *contents[256];

static void contents_make(void)
{
	for (unsigned int how = 0; how < 256; how++) {
		contents[how] = malloc(PIECE_BYTES);
		check(contents[how]);
		for (size_t i = 0; i < PIECE_BYTES / 8; i++)
			contents[how][i] = content_of((enum content)(how % 6), how / 6, i);
	}
}

static void memory_fill(struct input *in)
{
	for (unsigned int p = 0; p < PIECES - 1; p++)
		memcpy(piece[p], contents[take(in)], PIECE_BYTES);
}

/* ---- what a kernel asks of the device ---- */

static unsigned int went_on;
static bool ended; /* it has its fault, or was stopped: it must return */

static bool reach(struct soft_native *n, uint64_t at, uint64_t bytes, bool write)
{
	if (!bytes)
		return true;
	for (unsigned int i = 0; i < PIECES - (write ? 1 : 0); i++)
		if (at >= address(i, 0) && at - address(i, 0) <= PIECE_BYTES &&
		    bytes <= PIECE_BYTES - (at - address(i, 0)))
			return true;
	ended = true;
	return false;
}

/* From now on so much time is allowed; 0: any. */
static void watch(time_t seconds)
{
	setitimer(ITIMER_PROF, &(struct itimerval){ .it_value.tv_sec = seconds }, NULL);
}

static void too_long(int signal)
{
	static const char line[] = "a kernel cannot be stopped\n";

	if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0)
		_exit(1);
	abort();
}

static bool go_on(struct soft_native *n, uint64_t instructions)
{
	watch(SECONDS_MOST);
	check(!ended || went_on <= GO_ON_MOST + 1);
	ended |= went_on++ == GO_ON_MOST;
	return !ended;
}

static void refuse(struct soft_native *n)
{
	ended = true;
}

/* What the libraries ask of a device where calls are made, which is not here. */
const struct device_driver *device_open(const char *library, const char *const *kernels, uint32_t count,
					soft_native_function f)
{
	return NULL;
}

void device_driver_path(const char *path)
{
}

CUresult device_context(CUcontext *ret)
{
	return CUDA_ERROR_NOT_INITIALIZED;
}

uint32_t device_threads(void)
{
	return 4;
}

CUresult library_launch(const struct device_driver *driver, CUcontext context, uint32_t kernel, uint32_t blocks,
			CUstream stream, const void *work, size_t bytes)
{
	return CUDA_ERROR_NOT_INITIALIZED;
}

/* ---- parameters ---- */

union params {
	char bytes[DEVICE_PARAM_BYTES];
	uint64_t aligned;
};

static struct plain take_plain(struct input *in)
{
	struct plain p;

	p.m = 1 + take(in) % 24;
	p.n = 1 + take(in) % 24;
	p.k = 1 + take(in) % 24;
	p.ld = 24 + take(in) % 8;
	p.type = take(in) % 4;
	p.choice = take(in);
	p.more = take(in);
	return p;
}

/* ---- edits ---- */

/* A value that is likely to matter. */
static uint64_t take_value(struct input *in, const union params *p, const struct field *fields, unsigned int count,
			   uint64_t now)
{
	uint8_t how = take(in), what = take(in), more = take(in);
	const struct field *other = &fields[what % count];
	uint64_t v = 0;

	switch (how % 8) {
	case 0:
		return what;
	case 1: /* near a power of two */
		return (UINT64_C(1) << what % 64) + (uint64_t)(int64_t)(int8_t)more;
	case 2: /* near the begin of a piece of memory */
		return address(what, (int8_t)more);
	case 3: /* near its end */
		return address(what, (int64_t)PIECE_BYTES - more);
	case 4: /* as another field has it */
		memcpy(&v, p->bytes + other->offset, other->bytes);
		return v + (uint64_t)(int64_t)(int8_t)more;
	case 5:
		return now + (uint64_t)(int64_t)(int8_t)what;
	case 6: /* an inverse of an odd number: a product of the two wraps around to one */
		for (v = what | 1u; v * (what | 1u) != 1;)
			v *= 2 - v * (what | 1u);
		return v >> more % 32;
	default:
		return what | (uint64_t)more << 8 | take_number(in, 6) << 16;
	}
}

static void edit(struct input *in, union params *p, const struct field *fields, unsigned int count)
{
	for (int i = 0; i < EDITS_MOST && in->left; i++) {
		const struct field *f = &fields[take(in) % count];
		uint64_t v = 0;

		memcpy(&v, p->bytes + f->offset, f->bytes);
		v = take_value(in, p, fields, count, v);
		memcpy(p->bytes + f->offset, &v, f->bytes);
	}
}

/* ---- kernels ---- */

static const struct native_kernel *const kernels[] = { &native_product, &native_routine, &native_transform, &native_fft,
						       &native_rand,	&native_solver,	 &native_sparse,    &native_dnn,
						       &native_conv,	&native_pool,	 &native_rnn };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	struct input in = { data, length };
	unsigned int which = take(&in) % (sizeof(kernels) / sizeof(*kernels));
	struct plain plain = take_plain(&in);
	static const uint32_t grids[] = { 1, 1, 2, 3, 1000, UINT32_MAX };
	union params p;
	struct soft_native n = { .params = &p, .bytes = sizeof(p), .reach = reach, .go_on = go_on, .refuse = refuse };
	uint8_t grid = take(&in);

	if (!*piece) {
#ifdef NATIVE_LOOPS
		setenv("METE_OPENBLAS", "/nowhere", 1);
#endif
		setenv("METE_ONEDNN", "/nowhere", 1);
		signal(SIGPROF, too_long);
		memory_make();
		contents_make();
	}
	memset(&p, 0, sizeof(p));
	kernels[which]->make(&p, &plain);
	memory_fill(&in);
	edit(&in, &p, kernels[which]->fields, kernels[which]->count);
	n.blocks = grids[grid % 6];
	n.block = (grid / 6) % n.blocks;
	went_on = 0;
	ended = false;
	watch(SECONDS_MOST);
	kernels[which]->run(&n);
	watch(0);
	return 0;
}

#ifndef FUZZ_ENGINE
int main(int argc, char **argv)
{
	return fuzz_main(argc, argv, "\1\2\3\4\5\6\7\10\20\37\40\50\77\100\177\200\377");
}
#endif
