/*
 * wgmma_test.c: products of a warp group against plain ones: types, widths, ways of lying in shared memory.
 *
 * The reference places every element by the formulas of the PTX manual ("Canonical Layouts", "Matrix Descriptor
 * Format", register fragments), and knows nothing of the engine. Half of the kernels let one warp spoil the operands
 * after it has waited for the product: the other three must have read them by then.
 */
#include "numbers.h"

#include <stdlib.h>

enum { ROWS = 64, SHARED = 65536, B_START = 32768 };

struct product {
	unsigned n, k;
	enum kind d, a, b;
	unsigned swizzle_a, swizzle_b; /* 0 to 3: none, 32, 64, 128 bytes */
	bool trans_a, trans_b, registers, adds, negate_a, negate_b, saturate, spoils;
	unsigned step;	   /* of 32 bytes, into a row that is longer */
	bool sparse;	   /* A has half of its columns */
	unsigned selector; /* of the lanes with the metadata */
};

/* Of a sparse A what is kept, and to which column it belongs. */
static int matrix_a[ROWS][256], matrix_b[256][256], matrix_d[ROWS][256];
static unsigned kept[ROWS][256];

static unsigned width_a(const struct product *p)
{
	return p->sparse ? p->k / 2 : p->k;
}

static unsigned log_bits(enum kind k)
{
	return kinds[k].bits;
}

/* Swizzle<B, 4, 3> of the manual: B bits from bit 4 on are mixed with those from bit 7 on. */
static unsigned mixed(unsigned address, unsigned swizzle)
{
	return address ^ (address >> 3 & ((1u << swizzle) - 1) << 4);
}

/* Bit address of element (row, k) of a matrix that begins at `start`. */
static unsigned place(unsigned start, unsigned row, unsigned k, enum kind kind, bool trans, unsigned swizzle,
		      unsigned rows, unsigned step, unsigned deep)
{
	const unsigned bits = log_bits(kind), t = 128 / bits, x = 1u << swizzle, pitch = 16 * x;
	unsigned at;

	if (!trans && !swizzle) /* ((8,m),(T,2k)):((1T,SBO),(1,LBO)): SBO 128, LBO 16 times the rows */
		at = row % 8 * 16 + row / 8 * 128 + k / t * 16 * rows;
	else if (!trans) /* ((8,m),(T,2k)):((xT,SBO),(1,T)): SBO 8 rows */
		at = row % 8 * pitch + row / 8 * 8 * pitch + k / t * 16 + step * 32;
	else if (!swizzle) /* ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO)): SBO 128, LBO 16 times the rows */
		at = row / t * 128 + k % 8 * 16 + k / 8 * 16 * rows;
	else /* ((T,x,m),(8,k)):((1,T,LBO),(xT,SBO)): SBO 8 lines, LBO all */
		at = row / t % x * 16 + row / t / x * deep * pitch + k % 8 * pitch + k / 8 * 8 * pitch;
	return mixed(start + at, swizzle) * 8 + (trans ? row % t : k % t) * bits;
}

static uint64_t described(unsigned start, bool trans, unsigned swizzle, unsigned rows, unsigned step, unsigned deep)
{
	static const uint64_t code[4] = { 0, 3, 2, 1 };
	const unsigned pitch = 16u << swizzle;
	const unsigned leading = !swizzle ? 16 * rows : trans ? deep * pitch : 16, stride = !swizzle ? 128 : 8 * pitch;

	return (uint64_t)((start + (trans ? 0 : step * 32)) >> 4) | (uint64_t)(leading >> 4) << 16 |
	       (uint64_t)(stride >> 4) << 32 | code[swizzle] << 62;
}

static void put_bit_address(uint8_t *at, unsigned bit, enum kind k, int v)
{
	put(at + bit / 128 * 16, bit % 128 / kinds[k].bits, k, v);
}

static void write_kernel(const struct product *p, unsigned nd, unsigned na)
{
	text_bytes = 0;
	say(".version 8.7\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 sm[];\n"
	    ".visible .entry k(.param .u64 pi, .param .u64 pa, .param .u64 pb, "
	    ".param .u64 pc, .param .u64 pd, .param .u32 pn)\n{\n"
	    ".reg .b64 %%p<8>, %%da, %%db; .reg .b32 %%r<140>, %%a<4>, %%x<8>; .reg .pred %%q<4>;\n"
	    "ld.param.u64 %%p0, [pi]; ld.param.u64 %%p1, [pa]; ld.param.u64 %%da, [pa]; ld.param.u64 %%db, [pb];\n"
	    "ld.param.u64 %%p2, [pc]; ld.param.u64 %%p3, [pd]; ld.param.u32 %%x5, [pn]; mov.u32 %%x0, %%tid.x;\n"
	    /* the image of shared memory, and the registers of A behind it */
	    "shl.b32 %%x1, %%x0, 2; mov.u32 %%x4, sm;\n"
	    "copy: cvt.u64.u32 %%p4, %%x1; add.u64 %%p4, %%p4, %%p0; ld.global.u32 %%x2, [%%p4]; add.u32 %%x3, %%x4, "
	    "%%x1;\n"
	    "st.shared.u32 [%%x3], %%x2; add.u32 %%x1, %%x1, 512; setp.lt.u32 %%q0, %%x1, %u; @%%q0 bra copy;\n"
	    "bar.sync 0; setp.ne.u32 %%q1, %%x5, 0;\nmad.wide.u32 %%p5, %%x0, %u, %%p2; mad.wide.u32 %%p6, %%x0, %u, "
	    "%%p3;\n"
	    "mad.wide.u32 %%p4, %%x0, %u, %%p0;\n",
	    SHARED, nd * 4, nd * 4, na * 4);
	for (unsigned i = 0; i < nd; i++)
		say("ld.global.b32 %%r%u, [%%p5+%u];\n", i, i * 4);
	for (unsigned i = 0; i < na; i++)
		say("ld.global.b32 %%a%u, [%%p4+%u];\n", i, SHARED + i * 4);
	say("mad.wide.u32 %%p4, %%x0, 4, %%p0; ld.global.b32 %%x6, [%%p4+%u];\n", SHARED + 2048);
	say("wgmma.fence.sync.aligned;\nwgmma.mma_async%s.sync.aligned.m64n%uk%u%s.%s.%s.%s%s {", p->sparse ? ".sp" : "",
	    p->n, p->k, p->saturate ? ".satfinite" : "", kinds[p->d].name, kinds[p->a].name, kinds[p->b].name,
	    p->a == B1 ? ".and.popc" : "");
	for (unsigned i = 0; i < nd; i++)
		say("%s%%r%u", i ? ", " : "", i);
	say("}, %s, %%db, ", p->registers ? "{%a0, %a1, %a2, %a3}" : "%da");
	if (p->sparse)
		say("%%x6, %u, ", p->selector);
	say("%%q1");
	if (p->d != S32)
		say(", %s, %s", p->negate_a ? "-1" : "1", p->negate_b ? "-1" : "1");
	if (kinds[p->a].bits == 16 && !p->registers)
		say(", %d", p->trans_a);
	if (kinds[p->a].bits == 16)
		say(", %d", p->trans_b);
	say(";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
	if (p->spoils) /* by the first warp: 512 bytes of A and B each */
		say("setp.ge.u32 %%q2, %%x0, 32; @%%q2 bra left; mov.u32 %%x2, 0x12345678; shl.b32 %%x1, %%x0, 4;\n"
		    "add.u32 %%x1, %%x1, %%x4; st.shared.v4.u32 [%%x1], {%%x2, %%x2, %%x2, %%x2};\n"
		    "st.shared.v4.u32 [%%x1+%u], {%%x2, %%x2, %%x2, %%x2};\nleft:\n",
		    B_START);
	for (unsigned i = 0; i < nd; i++)
		say("st.global.b32 [%%p6+%u], %%r%u;\n", i * 4, i);
	say("ret;\n}\n");
}

static int64_t expected(const struct product *p, unsigned row, unsigned column)
{
	const int sign = p->negate_a == p->negate_b ? 1 : -1;
	int64_t sum = p->adds ? matrix_d[row][column] : 0;

	for (unsigned x = 0; x < width_a(p); x++)
		sum += sign * matrix_a[row][x] * matrix_b[p->sparse ? kept[row][x] : x][column];
	return p->saturate && sum > INT32_MAX ? INT32_MAX : p->saturate && sum < INT32_MIN ? INT32_MIN : sum;
}

/* Element i of a thread's accumulator, and of its registers of A. */
static void place_d(unsigned thread, unsigned i, unsigned *row, unsigned *column)
{
	*row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
	*column = i / 4 * 8 + thread % 4 * 2 + i % 2;
}

static void place_a(const struct product *p, unsigned thread, unsigned i, unsigned *row, unsigned *k)
{
	const unsigned per = 32 / kinds[p->a].bits;

	*row = thread / 32 * 16 + thread % 32 / 4 + i / per % 2 * 8;
	*k = thread % 4 * per + i % per + i / per / 2 * per * 4;
}

/* Which columns A keeps, and the metadata of the 128 threads, by the manual's figures for products of a warp group. */
static void choose(const struct product *p, uint32_t *word)
{
	const unsigned bits = kinds[p->a].bits, group = bits == 32 ? 2 : 4, each = bits == 32 ? 4 : 2;

	for (unsigned i = 0; i < 128; i++)
		word[i] = (uint32_t)random_bits();
	for (unsigned row = 0; row < ROWS; row++)
		for (unsigned j = 0; j < p->k / 2; j++) {
			const unsigned in = j % (group / 2) ? 2 + (unsigned)(random_bits() & 1)
							    : (unsigned)(random_bits() & 1);
			const uint32_t index = bits == 32 ? (in ? 14 : 4) : in, mask = (1u << each) - 1;
			const unsigned bit = j * each, up = row % 16 / 8;
			/* 8 bits: two threads for each 32 bits; else 16 bits of two rows in one */
			const unsigned lane = bits == 8 ? bit / 32 * 2 + up : p->selector * 2 + bit / 16;
			const unsigned shift = bits == 8 ? bit % 32 : bit % 16 + up * 16;
			uint32_t *w = &word[row / 16 * 32 + row % 8 * 4 + lane];

			kept[row][j] = j / (group / 2) * group + in;
			*w = (*w & ~(mask << shift)) | index << shift;
		}
}

static bool product_case(const struct product *p)
{
	const struct ptx_options options = { .arch = 90 };
	const unsigned each = p->n / 2, nd = each * kinds[p->d].bits / 32, na = p->registers ? 4 : 0;
	const unsigned ea = ROWS * width_a(p) / 128;
	uint8_t *image, *c, *d;
	unsigned row, column, k, bad = 0;
	struct ptx_launch l = { .shared_bytes = SHARED };
	struct ptx_module *m;

	device_reset();
	image = device_alloc(SHARED + 2048 + 512);
	c = device_alloc(128 * 512);
	d = device_alloc(128 * 512);
	for (unsigned i = 0; i < SHARED; i++)
		image[i] = (uint8_t)random_bits(); /* what is not part of a matrix must not be read */
	memset(image + SHARED, 0, 2048);
	if (p->sparse)
		choose(p, (uint32_t *)(void *)(image + SHARED + 2048));
	for (unsigned i = 0; i < ROWS; i++)
		for (unsigned x = 0; x < width_a(p); x++) {
			matrix_a[i][x] = any_value(p->a);
			if (!p->registers)
				put_bit_address(image, place(0, i, x, p->a, p->trans_a, p->swizzle_a, ROWS, p->step, width_a(p)),
						p->a, matrix_a[i][x]);
		}
	for (unsigned x = 0; x < p->k; x++)
		for (unsigned j = 0; j < p->n; j++) {
			matrix_b[x][j] = any_value(p->b);
			put_bit_address(image, place(B_START, j, x, p->b, p->trans_b, p->swizzle_b, p->n, p->step, p->k),
					p->b, matrix_b[x][j]);
		}
	for (unsigned thread = 0; thread < 128; thread++) {
		for (unsigned i = 0; i < each; i++) {
			place_d(thread, i, &row, &column);
			matrix_d[row][column] = any_value(p->d == F16 ? F16 : S32);
			if (p->saturate)
				matrix_d[row][column] = column % 2 ? INT32_MAX - 9 : INT32_MIN + 9;
			put(c, thread * each + i, p->d, matrix_d[row][column]);
		}
		for (unsigned i = 0; p->registers && i < ea; i++) {
			place_a(p, thread, i, &row, &k);
			put(image + SHARED, thread * ea + i, p->a, matrix_a[row][k]);
		}
	}
	write_kernel(p, nd, na);
	m = load_text(text, text_bytes, &options);
	if (!m || launch_with(&l, m, "k", DIM(1), DIM(128),
			 ARGS(PTR(image), described(0, p->trans_a, p->swizzle_a, ROWS, p->step, width_a(p)),
			      described(B_START, p->trans_b, p->swizzle_b, p->n, p->step, p->k), PTR(c), PTR(d), p->adds)))
		bad = 1;
	ptx_module_free(m);
	for (unsigned thread = 0; thread < 128 && !bad; thread++)
		for (unsigned i = 0; i < each; i++) {
			place_d(thread, i, &row, &column);
			if (get(d, thread * each + i, p->d) != encode(p->d, (int)expected(p, row, column)) && !bad++)
				printf("# row %u column %u: %llx instead of %lld\n", row, column,
				       (unsigned long long)get(d, thread * each + i, p->d),
				       (long long)expected(p, row, column));
		}
	if (bad)
		printf("# m64n%uk%u %s %s %s: swizzle %u %u, trans %d %d, registers %d, adds %d, step %u, spoils %d\n",
		       p->n, p->k, kinds[p->d].name, kinds[p->a].name, kinds[p->b].name, p->swizzle_a, p->swizzle_b,
		       p->trans_a, p->trans_b, p->registers, p->adds, p->step, p->spoils);
	return !bad;
}

static unsigned any_of(unsigned count)
{
	return (unsigned)(random_bits() % count);
}

/* Every pair of types with widths, layouts and signs by chance, the same in each run. */
static void test_types(void)
{
	static const struct {
		unsigned k;
		enum kind d, a, b;
	} types[] = {
		{ 16, F32, F16, F16 },	 { 16, F16, F16, F16 },	  { 16, F32, BF16, BF16 }, { 8, F32, TF32, TF32 },
		{ 32, F32, E4M3, E5M2 }, { 32, F16, E5M2, E4M3 }, { 32, F32, E5M2, E5M2 }, { 32, S32, S8, S8 },
		{ 32, S32, U8, S8 },	 { 32, S32, S8, U8 },	  { 256, S32, B1, B1 },
	};
	static const unsigned widths[] = { 8, 16, 24, 64, 128, 256, 96, 208 };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		bool good = true;

		for (unsigned x = 0; x < 8; x++) {
			const bool wide = kinds[types[i].a].bits == 16, whole = types[i].d == S32;
			struct product p = { .n = widths[x],
					     .k = types[i].k,
					     .d = types[i].d,
					     .a = types[i].a,
					     .b = types[i].b,
					     .swizzle_a = x % 4,
					     .swizzle_b = any_of(4),
					     .trans_a = wide && any_of(2),
					     .trans_b = wide && any_of(2),
					     .registers = any_of(3) == 0,
					     .adds = any_of(3) != 0,
					     .negate_a = !whole && any_of(2),
					     .negate_b = !whole && any_of(2),
					     .spoils = x & 1 };

			if (whole && types[i].a != B1)
				p.saturate = any_of(2);
			/* deeper into the rows of the narrower of both */
			p.step = p.swizzle_a && p.swizzle_b
					 ? any_of(1u << ((p.swizzle_a < p.swizzle_b ? p.swizzle_a : p.swizzle_b) - 1))
					 : 0;
			good = product_case(&p) && good;
		}
		tap_ok(good, "wgmma, %s of %s and %s", kinds[types[i].d].name, kinds[types[i].a].name,
		       kinds[types[i].b].name);
	}
}

/* The same with half of A kept. A row of B has 64 bytes, for which a swizzle of 32 has no layout. */
static void test_sparse(void)
{
	static const struct {
		unsigned k;
		enum kind d, a, b;
	} types[] = {
		{ 32, F32, F16, F16 },	 { 32, F16, F16, F16 },	  { 32, F32, BF16, BF16 }, { 16, F32, TF32, TF32 },
		{ 64, F32, E4M3, E5M2 }, { 64, F16, E5M2, E4M3 }, { 64, S32, S8, U8 },	   { 64, S32, U8, S8 },
	};
	static const unsigned widths[] = { 8, 16, 64, 208, 128, 32 };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		bool good = true;

		for (unsigned x = 0; x < 6; x++) {
			const bool wide = kinds[types[i].a].bits == 16, whole = types[i].d == S32;
			struct product p = { .n = widths[x],
					     .k = types[i].k,
					     .d = types[i].d,
					     .a = types[i].a,
					     .b = types[i].b,
					     .swizzle_a = any_of(4),
					     .swizzle_b = x % 4,
					     .trans_a = wide && any_of(2),
					     .trans_b = wide && any_of(2),
					     .registers = any_of(2),
					     .adds = any_of(3) != 0,
					     .negate_a = !whole && any_of(2),
					     .saturate = whole && any_of(2),
					     .sparse = true,
					     .selector = kinds[types[i].a].bits == 8 ? 0 : any_of(2) };

			if (p.swizzle_b == 1 && !p.trans_b)
				p.swizzle_b = 3;
			good = product_case(&p) && good;
		}
		tap_ok(good, "wgmma of a sparse A, %s of %s and %s", kinds[types[i].d].name, kinds[types[i].a].name,
		       kinds[types[i].b].name);
	}
}

/* A descriptor that leads out of shared memory is a fault; what PTX does not have is refused. */
static void test_refusals(void)
{
	static const char *const bad[] = {
		"wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {%r0, %r1, %r2, %r3}, %da, %da, %q, 1, 1, 0, 0;",
		"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r0, %r1}, %da, %da, %q, 1, 1, 0, 0;",
		"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r0, %r1, %r2, %r3}, %da, %da, %q, 2, 1, 0, 0;",
		"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r0, %r1, %r2, %r3}, %da, %da, %q, 1, 1;",
		"wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.f16.f16 {%r0, %r1, %r2, %r3}, %da, %da, %r0, 0, %q, 1, 1, 0, 0;",
		"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%r0, %r1, %r2, %r3}, %da, %da, %r0, 4, %q, 1, 1, 0, 0;",
		"wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3 {%r0, %r1, %r2, %r3}, %da, %da, %r0, 1, %q, 1, 1;",
		"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%r0, %r1, %r2, %r3}, %da, %da, %q, 1, 1, 0, 0;",
	};
	static const char head[] = ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n"
				   ".shared .align 1024 .b8 sm[1024];\n.reg .b64 %da; .reg .b32 %r<8>; .reg .pred %q;\n"
				   "mov.u64 %da, 0x0000000800400000; setp.ne.u64 %q, %da, 0;\nmov.u32 %r5, sm;\n";
	const struct ptx_options options = { .arch = 90 }, other = { .arch = 120 };
	struct ptx_launch l = { 0 };
	struct ptx_module *m;
	bool good = true;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		text_bytes = 0;
		say("%s%s\nret;\n}\n", head, bad[i]);
		m = NULL;
		good = ptx_module_load(&(struct ptx_text){ text, text_bytes }, 1, &options, &m, NULL, 0) ==
			       PTX_INVALID &&
		       good;
	}
	tap_ok(good, "what there is not is refused");
	text_bytes = 0;
	say("%swgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%%r0, %%r1, %%r2, %%r3}, %%da, %%da, %%q, 1, 1, 0, "
	    "0;\nret;\n}\n",
	    head);
	m = NULL;
	is(ptx_module_load(&(struct ptx_text){ text, text_bytes }, 1, &other, &m, NULL, 0), PTX_TOO_NEW_TARGET);
	m = load_text(text, text_bytes, &options);
	is(launch_with(&l, m, "k", DIM(1), DIM(128), ARGS(0)), 1);
	is(l.fault.kind, PTX_FAULT_ILLEGAL_ADDRESS);
	is(l.fault.space, PTX_SPACE_SHARED);
	ptx_module_free(m);
}

int main(void)
{
	tap_begin();
	device_open(1);
	test_types();
	test_sparse();
	test_refusals();
	device_close();
	return tap_end();
}
