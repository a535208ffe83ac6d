/*
 * shortcuts_test.c: the ways that the engine takes when a warp's values or lanes allow it, on each of its builds:
 * divisions of 64 bits whose operands are small, accesses that go to local and global memory by turns, warps whose
 * lanes have ended, loops that every lane leaves elsewhere, vectors of four at places of many kinds, steps that become
 * one, and atomics that ask nothing.
 */
#include "harness.h"

#include "softdev/ptx/engine.h"

#define THREADS 128u

static const char text[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	/* out[i] = { a / b, a % b, signed a / b, signed a % b } of 64 bits, then of their lower 32 */
	".visible .entry divide(.param .u64 pa, .param .u64 pb, .param .u64 po)\n{\n"
	"\t.reg .b32 %r<20>; .reg .b64 %d<20>;\n"
	"\tmov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r1, %r2, 128, %r1;\n"
	"\tld.param.u64 %d1, [pa]; ld.param.u64 %d2, [pb]; ld.param.u64 %d3, [po];\n"
	"\tmad.wide.u32 %d1, %r1, 8, %d1; mad.wide.u32 %d2, %r1, 8, %d2; mad.wide.u32 %d3, %r1, 64, %d3;\n"
	"\tld.global.u64 %d1, [%d1]; ld.global.u64 %d2, [%d2];\n"
	"\tdiv.u64 %d4, %d1, %d2; st.global.u64 [%d3], %d4; rem.u64 %d4, %d1, %d2; st.global.u64 [%d3+8], %d4;\n"
	"\tdiv.s64 %d4, %d1, %d2; st.global.u64 [%d3+16], %d4; rem.s64 %d4, %d1, %d2; st.global.u64 [%d3+24], %d4;\n"
	"\tcvt.u32.u64 %r3, %d1; cvt.u32.u64 %r4, %d2;\n"
	"\tdiv.u32 %r5, %r3, %r4; st.global.u32 [%d3+32], %r5; rem.u32 %r5, %r3, %r4; st.global.u32 [%d3+36], %r5;\n"
	"\tdiv.s32 %r5, %r3, %r4; st.global.u32 [%d3+40], %r5; rem.s32 %r5, %r3, %r4; st.global.u32 [%d3+44], %r5;\n"
	"\tret;\n}\n"
	/* a walk over own memory and global memory by turns; odd lanes end before it */
	".visible .entry walk(.param .u64 pin, .param .u64 po)\n{\n"
	"\t.local .align 4 .b8 own[64];\n"
	"\t.reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %d<20>;\n"
	"\tmov.u32 %r1, %tid.x; ld.param.u64 %d1, [pin]; ld.param.u64 %d2, [po];\n"
	"\tand.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 1; @%p1 ret;\n"
	"\tmov.u64 %d3, own; cvta.local.u64 %d3, %d3; mov.u32 %r3, 0; mov.u32 %r4, 0;\n"
	"L1:\n"
	"\tmad.lo.u32 %r5, %r3, 7, %r1; and.b32 %r5, %r5, 15; mad.wide.u32 %d4, %r5, 4, %d3;\n"
	"\tmul.lo.u32 %r6, %r1, 37; add.u32 %r6, %r6, %r3; and.b32 %r6, %r6, 1023; mad.wide.u32 %d5, %r6, 4, %d1;\n"
	"\tld.u32 %r7, [%d5]; st.u32 [%d4], %r7; ld.u32 %r8, [%d4]; add.u32 %r4, %r4, %r8;\n"
	"\tadd.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, %r1; @%p2 bra L1;\n"
	"\tmad.wide.u32 %d6, %r1, 4, %d2; st.global.u32 [%d6], %r4; ret;\n}\n"
	/* every lane turns as often as its number says, and counts who is left by votes */
	".visible .entry leave(.param .u64 po)\n{\n"
	"\t.reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %d<20>;\n"
	"\tmov.u32 %r1, %tid.x; ld.param.u64 %d1, [po]; mad.wide.u32 %d1, %r1, 4, %d1;\n"
	"\tand.b32 %r2, %r1, 31; mov.u32 %r3, 0; mov.u32 %r9, 0;\n"
	"L1:\n\tsetp.ge.u32 %p1, %r3, %r2; @%p1 bra L2;\n"
	"\tactivemask.b32 %r4; popc.b32 %r5, %r4; add.u32 %r9, %r9, %r5; add.u32 %r3, %r3, 1; bra L1;\n"
	"L2:\n\tbar.warp.sync 0xffffffff; shfl.sync.bfly.b32 %r6, %r9, 1, 0x1f, 0xffffffff;\n"
	"\tmad.lo.u32 %r9, %r6, 1000, %r9; st.global.u32 [%d1], %r9; ret;\n}\n";

/* Shifts and widenings in front of sums; after the first eight the shift must not be drawn into the sum. */
static const char sums[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".visible .entry sums(.param .u64 pa, .param .u64 po)\n{\n"
	"\t.reg .b32 %r<40>; .reg .b64 %d<40>; .reg .pred %p;\n"
	"\tmov.u32 %r1, %tid.x; ld.param.u64 %d1, [pa]; ld.param.u64 %d2, [po];\n"
	"\tmad.wide.u32 %d1, %r1, 4, %d1; mad.wide.u32 %d2, %r1, 128, %d2; ld.global.u32 %r2, [%d1];\n"
	"\tmul.wide.s32 %d20, %r2, -7; setp.lt.s32 %p, %r2, 0;\n"
	"\tcvt.s64.s32 %d3, %r2; add.s64 %d4, %d3, %d20; st.global.u64 [%d2], %d4;\n"
	"\tcvt.u64.u32 %d5, %r2; add.s64 %d6, %d20, %d5; st.global.u64 [%d2+8], %d6;\n"
	"\tshl.b64 %d7, %d20, 3; add.s64 %d8, %d7, %d2; sub.s64 %d8, %d8, %d2; st.global.u64 [%d2+16], %d8;\n"
	"\tshl.b64 %d9, %d20, %r1; add.s64 %d10, %d20, %d9; st.global.u64 [%d2+24], %d10;\n"
	"\tshl.b32 %r3, %r2, 5; add.s32 %r4, %r3, %r1; st.global.u32 [%d2+32], %r4;\n"
	"\tshl.b32 %r5, %r2, %r1; add.s32 %r6, %r1, %r5; st.global.u32 [%d2+36], %r6;\n"
	"\tcvt.s64.s32 %d11, %r2; add.s64 %d12, %d11, %d20; shl.b64 %d13, %d12, 2; add.s64 %d14, %d13, 1000;\n"
	"\tst.global.u64 [%d2+40], %d14;\n"
	/* the source changes in between; twice read; read behind a guarded sum; the sum itself guarded */
	"\tmov.u32 %r7, %r2; shl.b32 %r8, %r7, 4; add.s32 %r7, %r7, 1; add.s32 %r9, %r8, %r7; st.global.u32 [%d2+48], "
	"%r9;\n"
	"\tshl.b32 %r10, %r2, 2; add.s32 %r11, %r10, %r1; add.s32 %r12, %r11, %r10; st.global.u32 [%d2+52], %r12;\n"
	"\tmov.u32 %r14, 5; shl.b32 %r13, %r2, 3; @%p add.s32 %r14, %r13, %r1; st.global.u32 [%d2+56], %r14;\n"
	"\tshl.b32 %r15, %r2, 1; @%p shl.b32 %r15, %r2, 6; add.s32 %r16, %r15, 9; st.global.u32 [%d2+60], %r16;\n"
	"\tret;\n}\n";

/* Vectors of four: from the input to shared memory at place[t], from there at place[64 + t], to the output at place[128
 * + t]. */
static const char quads[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".visible .entry quads(.param .u64 pin, .param .u64 pp, .param .u64 po)\n{\n"
	"\t.reg .b32 %r<20>; .reg .b64 %d<20>; .shared .align 16 .b8 s[2048];\n"
	"\tmov.u32 %r1, %tid.x; ld.param.u64 %d1, [pin]; ld.param.u64 %d2, [pp]; ld.param.u64 %d3, [po];\n"
	"\tmad.wide.u32 %d2, %r1, 4, %d2; ld.global.u32 %r2, [%d2]; ld.global.u32 %r3, [%d2+256]; ld.global.u32 %r4, "
	"[%d2+512];\n"
	"\tmov.u32 %r5, s; shl.b32 %r6, %r1, 5; add.u32 %r6, %r6, %r5; mov.u32 %r7, 0;\n"
	"\tst.shared.v4.b32 [%r6], {%r7, %r7, %r7, %r7}; st.shared.v4.b32 [%r6+16], {%r7, %r7, %r7, %r7};\n"
	"\tcvt.u64.u32 %d4, %r2; add.u64 %d4, %d4, %d1; ld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%d4];\n"
	"\tadd.u32 %r8, %r8, %r1; add.u32 %r11, %r11, %r1; bar.sync 0;\n"
	"\tadd.u32 %r12, %r5, %r2; st.shared.v4.b32 [%r12], {%r8, %r9, %r10, %r11}; bar.sync 0;\n"
	"\tadd.u32 %r13, %r5, %r3; ld.shared.v4.b32 {%r14, %r15, %r16, %r17}, [%r13];\n"
	"\tcvt.u64.u32 %d5, %r4; add.u64 %d5, %d5, %d3; st.global.v4.b32 [%d5], {%r14, %r15, %r16, %r17}; ret;\n}\n";

/* Eight warps: small numbers, edges, one large lane among small ones, products and what is one below them. */
static uint64_t operand(uint32_t i, bool divisor)
{
	static const uint64_t edges[] = { 0, 1, 2, 3, 7, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff };
	const uint32_t warp = i / 32, lane = i % 32;
	const uint64_t by = lane * 2654435761u % 65521 + 1, times = (lane + 1) * 40503u % 65521;

	switch (warp % 8) {
	case 0:
		return divisor ? lane % 5 : lane * 1000003ull;
	case 1:
		return edges[divisor ? lane % 9 : lane / 4 % 9];
	case 2:
		return edges[divisor ? lane % 6 : lane / 4 % 6];
	case 3:
		return divisor ? (lane == 9 ? 1ull << 40 : 3) : lane * 77777ull;
	case 4:
		return divisor ? by : by * times - 1;
	case 5:
		return divisor ? by : by * times;
	case 6:
		return divisor ? -(uint64_t)(lane % 3) : (lane % 2 ? 1ull << 63 : -(uint64_t)lane);
	default:
		return divisor ? lane + 1 : 0xffffffffu - lane;
	}
}

#define COUNT (2 * THREADS)

static void test_divide(struct ptx_module *m, const char *isa)
{
	uint64_t *a = device_alloc(COUNT * 8), *b = device_alloc(COUNT * 8), *o = device_alloc(COUNT * 64);
	int wrong = 0;

	for (uint32_t i = 0; i < COUNT; i++) {
		a[i] = operand(i, false);
		b[i] = operand(i, true);
	}
	tap_ok(!launch(m, "divide", DIM(2, 1, 1), DIM(THREADS, 1, 1), ARGS(PTR(a), PTR(b), PTR(o))),
	       "%s: divisions run", isa);
	for (uint32_t i = 0; i < COUNT; i++) {
		const int64_t x = (int64_t)a[i], y = (int64_t)b[i];
		const uint32_t u = (uint32_t)a[i], v = (uint32_t)b[i];
		const int32_t s = (int32_t)u, t = (int32_t)v;
		const uint64_t want[4] = { b[i] ? a[i] / b[i] : ~0ull, b[i] ? a[i] % b[i] : a[i],
					   y == -1 ? 0 - a[i]
					   : y	   ? (uint64_t)(x / y)
						   : ~0ull,
					   y == -1 ? 0
					   : y	   ? (uint64_t)(x % y)
						   : a[i] };
		const uint32_t narrow[4] = { v ? u / v : ~0u, v ? u % v : u,
					     t == -1 ? 0 - u
					     : t     ? (uint32_t)(s / t)
						     : ~0u,
					     t == -1 ? 0
					     : t     ? (uint32_t)(s % t)
						     : u };

		if (memcmp(o + i * 8, want, sizeof(want)) || memcmp(o + i * 8 + 4, narrow, sizeof(narrow)))
			if (wrong++ < 5)
				printf("# %llx by %llx is wrong\n", (unsigned long long)a[i], (unsigned long long)b[i]);
	}
	tap_ok(!wrong, "%s: quotients and remainders of small, large and mixed warps", isa);
}

static void test_walk(struct ptx_module *m, const char *isa)
{
	uint32_t *in = device_alloc(1024 * 4), *o = device_alloc(THREADS * 4);
	int wrong = 0;

	for (uint32_t i = 0; i < 1024; i++)
		in[i] = i * 2654435761u;
	for (uint32_t i = 0; i < THREADS; i++)
		o[i] = 7;
	tap_ok(!launch(m, "walk", DIM(1, 1, 1), DIM(THREADS, 1, 1), ARGS(PTR(in), PTR(o))), "%s: walks run", isa);
	for (uint32_t i = 0; i < THREADS; i++) {
		uint32_t sum = 0, k = 0;

		do
			sum += in[(i * 37 + k) & 1023];
		while (++k < i);
		wrong += o[i] != (i & 1 ? 7 : sum);
	}
	tap_ok(!wrong, "%s: local and global memory by turns, half of the lanes ended", isa);
}

static void test_leave(struct ptx_module *m, const char *isa)
{
	uint32_t *o = device_alloc(THREADS * 4), own[32];
	int wrong = 0;

	tap_ok(!launch(m, "leave", DIM(1, 1, 1), DIM(THREADS, 1, 1), ARGS(PTR(o))), "%s: loops run", isa);
	for (uint32_t i = 0; i < 32; i++) {
		own[i] = 0;
		for (uint32_t k = 0; k < i; k++)
			own[i] += 31 - k;
	}
	for (uint32_t i = 0; i < THREADS; i++)
		wrong += o[i] != own[(i % 32) ^ 1] * 1000 + own[i % 32];
	tap_ok(!wrong, "%s: lanes that leave a loop one by one meet behind it", isa);
}

static uint64_t shifted(uint64_t v, uint32_t by, uint32_t width)
{
	return by < width ? v << by : 0;
}

static void test_sums(const char *isa)
{
	struct ptx_module *m = load_text(sums, sizeof(sums) - 1, &(struct ptx_options){ .isa = isa });
	uint32_t *a = device_alloc(THREADS * 4), *o = device_alloc(THREADS * 128);
	int wrong = 0;

	for (uint32_t i = 0; i < THREADS; i++)
		a[i] = i % 3 ? (uint32_t)random_bits() : i;
	if (!tap_ok(m && !launch(m, "sums", DIM(1, 1, 1), DIM(THREADS, 1, 1), ARGS(PTR(a), PTR(o))), "%s: sums run",
		    isa))
		return;
	for (uint32_t i = 0; i < THREADS; i++) {
		const uint32_t v = a[i];
		const uint64_t wide = (uint64_t)(int64_t)(int32_t)v, product = wide * (uint64_t)-7;
		const uint64_t want64[] = { wide + product, v + product, product << 3,
					    product + shifted(product, i, 64) };
		const uint64_t chain = ((wide + product) << 2) + 1000;
		const bool negative = (int32_t)v < 0;
		const uint32_t want32[] = { (v << 5) + i, i + (uint32_t)shifted(v, i, 32) };
		const uint32_t kept[] = { (v << 4) + v + 1, (v << 2) + i + (v << 2), negative ? (v << 3) + i : 5,
					  (negative ? v << 6 : v << 1) + 9 };
		const uint8_t *got = (const uint8_t *)o + i * 128;

		wrong += memcmp(got, want64, sizeof(want64)) || memcmp(got + 32, want32, sizeof(want32)) ||
			 memcmp(got + 40, &chain, sizeof(chain)) || memcmp(got + 48, kept, sizeof(kept));
	}
	tap_ok(!wrong, "%s: shifts and widenings with their sums", isa);
	ptx_module_free(m);
}

enum { QUADS = 64, QUAD_WAYS = 8 };

/* The place of a thread's 16 bytes, in the kilobyte of its warp. */
static uint32_t quad_place(uint32_t way, uint32_t t)
{
	const uint32_t lane = t % 32, warp = t / 32 * 1024;

	switch (way % QUAD_WAYS) {
	case 0:
		return warp + (uint32_t)random_bits() % 64 * 16;
	case 1:
		return warp + lane / 8 * 128;
	case 2:
		return warp + lane % 8 * 16;
	case 3:
		return warp + lane / 16 * 32;
	case 4:
		return warp + lane * 16;
	case 5:
		return warp + (31 - lane) * 32;
	case 6:
		return warp + lane % 16 * 16 + lane / 16 * 512;
	default:
		return warp + 48;
	}
}

static void test_quads(const char *isa)
{
	struct ptx_module *m = load_text(quads, sizeof(quads) - 1, &(struct ptx_options){ .isa = isa });
	uint32_t *in = device_alloc(2048), *place = device_alloc(3 * QUADS * 4), *o = device_alloc(2048);
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < 512; i++)
		in[i] = (uint32_t)random_bits();
	for (uint32_t way = 0; way < QUAD_WAYS * QUAD_WAYS; way++) {
		uint32_t shared[512] = { 0 }, want[512] = { 0 };

		memset(o, 0, 2048);
		for (uint32_t t = 0; t < QUADS; t++) {
			place[t] = quad_place(way, t);
			place[QUADS + t] = quad_place(way / QUAD_WAYS, t);
			place[2 * QUADS + t] = quad_place(way + way / QUAD_WAYS, t);
		}
		for (uint32_t t = 0; t < QUADS; t++) {
			memcpy(&shared[place[t] / 4], &in[place[t] / 4], 16);
			shared[place[t] / 4] += t;
			shared[place[t] / 4 + 3] += t;
		}
		for (uint32_t t = 0; t < QUADS; t++)
			memcpy(&want[place[2 * QUADS + t] / 4], &shared[place[QUADS + t] / 4], 16);
		wrong += !m || launch(m, "quads", DIM(1, 1, 1), DIM(QUADS, 1, 1), ARGS(PTR(in), PTR(place), PTR(o))) ||
			 memcmp(o, want, sizeof(want));
	}
	tap_ok(!wrong, "%s: vectors of four at places of many kinds, %u wrong", isa, wrong);
	ptx_module_free(m);
}

/* Two atomics whose results nobody reads, one of them without a name; then one whose result is read. */
static const char atomics[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".visible .entry counts(.param .u64 po)\n{\n"
	"\t.reg .b32 %r<9>; .reg .b64 %d<3>;\n"
	"\tld.param.u64 %d1, [po]; atom.global.add.u32 %r1, [%d1], 1; red.global.add.u32 [%d1+4], 2;\n"
	"\tatom.global.add.u32 %r2, [%d1+8], 3; add.u32 %r3, %r2, 1; st.global.u32 [%d1+12], %r3; ret;\n}\n";

/* How often the mark of memory that others change was executed, by one warp. */
static void test_marks(const char *isa)
{
	struct ptx_module *m = load_text(atomics, sizeof(atomics) - 1, &(struct ptx_options){ .isa = isa });
	const struct ptx_kernel *k = m ? ptx_module_kernel_find(m, "counts") : NULL;
	const size_t count = k ? ptx_form_count(k) : 0;
	_Atomic uint64_t *forms = calloc(count + 1, sizeof(*forms));
	struct ptx_launch l = { .forms = forms };
	uint32_t *o = device_alloc(16);
	uint64_t marks = 0;

	if (!tap_ok(k && forms && !launch_with(&l, m, "counts", DIM(1, 1, 1), DIM(32, 1, 1), ARGS(PTR(o))),
		    "%s: atomics run", isa))
		return;
	for (size_t i = 0; i < count; i++)
		marks += strcmp(ptx_form_name(k, i), "%strong") ? 0 : forms[i];
	tap_ok(o[0] == 32 && o[1] == 64 && o[2] == 96 && marks == 1,
	       "%s: of three atomics the one whose result is read has a mark, %llu have", isa,
	       (unsigned long long)marks);
	free((void *)forms);
	ptx_module_free(m);
}

int main(void)
{
	static const char *const isas[] = { "base", "avx2", "avx512" };

	tap_begin();
	device_open(1);
	for (int i = 0; i < 3; i++) {
		struct ptx_module *m;

		if (!isa_find(isas[i]))
			continue;
		device_reset();
		m = load_text(text, sizeof(text) - 1, &(struct ptx_options){ .isa = isas[i] });
		if (!tap_ok(m != NULL, "loaded for %s", isas[i]))
			break;
		test_divide(m, isas[i]);
		test_walk(m, isas[i]);
		test_leave(m, isas[i]);
		test_sums(isas[i]);
		test_quads(isas[i]);
		test_marks(isas[i]);
		ptx_module_free(m);
	}
	device_close();
	return tap_end();
}
