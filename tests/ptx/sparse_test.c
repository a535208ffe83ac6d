/*
 * sparse_test.c: products of a sparse A, mma.sp, against plain sums over the elements that A keeps.
 *
 * Which elements of a row are kept comes by chance. Fragments and metadata are placed by the formulas and figures of
 * the PTX manual ("Matrix fragments for multiply-accumulate operation with sparse matrix A"), without the engine's.
 * Lanes that a selector leaves out hold other bits.
 */
#include "numbers.h"

enum { M = 16, N = 8, K_MAX = 128 };

struct shape {
	unsigned k;
	enum kind d, a, b;
	const char *head, *tail; /* words before and behind the types */
	unsigned blocks;	 /* along the sum, each with a scale; 0: none */
	bool e4m3;
};

static const struct ptx_options newest = { .arch = 120 };
static int matrix_a[M][K_MAX / 2], matrix_b[K_MAX][N], matrix_c[M][N];
static unsigned column[M][K_MAX / 2]; /* of the whole A */
static double scale_a[M][4], scale_b[N][4];

/* Elements of a group, and how many of them are one unit that is kept or not. */
static unsigned group_of(enum kind k)
{
	return kinds[k].bits == 32 ? 2 : kinds[k].bits == 4 ? 8 : 4;
}

static void choose(const struct shape *s)
{
	for (unsigned r = 0; r < M; r++)
		for (unsigned g = 0; g < s->k / group_of(s->a); g++) {
			unsigned first = (unsigned)(random_bits() % 4), second = (unsigned)(random_bits() % 3);

			second += second >= first;
			if (first > second) { /* indices ascend, as ::ordered_metadata asks for */
				const unsigned swap = first;

				first = second;
				second = swap;
			}
			if (group_of(s->a) == 2) {
				column[r][g] = g * 2 + (first & 1);
			} else if (group_of(s->a) == 4) {
				column[r][g * 2] = g * 4 + first;
				column[r][g * 2 + 1] = g * 4 + second;
			} else {
				for (unsigned i = 0; i < 2; i++) {
					column[r][g * 4 + i] = g * 8 + first * 2 + i;
					column[r][g * 4 + 2 + i] = g * 8 + second * 2 + i;
				}
			}
		}
}

/* The words of the lanes of each four that take part, from `first` on. */
static void put_metadata(const struct shape *s, uint32_t *word, unsigned first)
{
	const unsigned wide = kinds[s->a].bits;

	for (unsigned lane = 0; lane < 32; lane++)
		word[lane] = (uint32_t)random_bits();
	for (unsigned r = 0; r < M; r++) {
		uint32_t bits[4] = { 0 }; /* 32 bits of row r each */

		for (unsigned j = 0; j < s->k / 2; j++) {
			const unsigned c = column[r][j];

			if (wide == 32) /* one of two: 0100 or 1110 */
				bits[j / 8] |= (c & 1 ? 14u : 4u) << j % 8 * 4;
			else if (wide == 4)
				bits[j / 32] |= (c % 8 / 2) << j / 2 % 16 * 2;
			else
				bits[j / 16] |= (c % 4) << j % 16 * 2;
		}
		if (wide >= 16) /* halves: lane t has 16 bits of row g below and of row g + 8 above */
			for (unsigned t = 0; t < s->k * (wide == 32 ? 2 : 1) / 16; t++) {
				uint32_t *w = &word[r % 8 * 4 + first + t];

				*w = r < 8 ? (*w & 0xffff0000u) | (bits[t / 2] >> t % 2 * 16 & 0xffffu)
					   : (*w & 0xffffu) | (bits[t / 2] >> t % 2 * 16) << 16;
			}
		else /* two lanes have 32 bits of row g and of row g + 8, the next two the next 32 bits */
			for (unsigned t = 0; t < s->k / (wide == 4 ? 64 : 32); t++)
				word[r % 8 * 4 + first + t * 2 + r / 8] = bits[t];
	}
}

static unsigned lanes_of(const struct shape *s)
{
	const unsigned wide = kinds[s->a].bits;

	return wide == 32 ? s->k / 8 : wide == 16 ? s->k / 16 : wide == 8 ? s->k / 16 : s->k / 32;
}

static void put_scales(const struct shape *s, uint32_t *word, double (*scale)[4], unsigned rows, unsigned byte,
		       unsigned thread)
{
	for (unsigned lane = 0; lane < 32; lane++)
		word[lane] = (uint32_t)random_bits();
	for (unsigned r = 0; r < rows; r++) {
		const unsigned lane = r % 8 * 4 + (rows == N ? thread : thread * 2 + r / 8);

		for (unsigned i = 0; i < s->blocks; i++) {
			const int v = (int)(random_bits() % 3) + (s->e4m3 ? 1 : -1);
			const uint32_t bits = s->e4m3 ? (uint32_t)float_bits(v, 4, 3) : (uint32_t)(127 + v);

			word[lane] = (word[lane] & ~(255u << (byte + i) * 8)) | bits << (byte + i) * 8;
			scale[r][i] = s->e4m3 ? v : ldexp(1, v);
		}
	}
}

static void say_registers(unsigned first, unsigned count, unsigned pointer, bool store)
{
	say("mad.wide.u32 %%p7, %%l, %u, %%p%u;\n", count * 4, pointer);
	for (unsigned i = 0; i < count; i++)
		if (store)
			say("st.global.b32 [%%p7+%u], %%r%u;\n", i * 4, first + i);
		else
			say("ld.global.b32 %%r%u, [%%p7+%u];\n", first + i, i * 4);
}

static void say_list(unsigned first, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		say("%s%%r%u", i ? ", " : "{", first + i);
	say("}, ");
}

static void say_head(void)
{
	text_bytes = 0;
	say(".version 9.0\n.target sm_120a\n.address_size 64\n.visible .entry k(.param .u64 pa, .param .u64 pb, .param "
	    ".u64 pc, .param .u64 pd)\n{\n.reg .b64 %%p<8>; .reg .b32 %%r<80>, %%l; .reg .b16 %%h<2>;\n"
	    "ld.param.u64 %%p0, [pa]; ld.param.u64 %%p1, [pb]; ld.param.u64 %%p2, [pc]; ld.param.u64 %%p3, [pd];\n"
	    "mov.u32 %%l, %%tid.x;\n");
}

static double expected(const struct shape *s, unsigned r, unsigned c)
{
	double sum = matrix_c[r][c];

	for (unsigned j = 0; j < s->k / 2; j++) {
		const unsigned x = column[r][j], block = s->blocks ? x / (s->k / s->blocks) : 0;
		const double scale = s->blocks ? scale_a[r][block] * scale_b[c][block] : 1;

		sum += matrix_a[r][j] * matrix_b[x][c] * scale;
	}
	if (strstr(s->tail, "satfinite") || strstr(s->head, "satfinite"))
		sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
	return sum;
}

enum { META = 32768, SCALES = 33792 };

static bool sparse_case(const struct shape *s, bool ordered, unsigned selector)
{
	const unsigned na = M * s->k / 2 * kinds[s->a].bits / 1024, nb = s->k * N * kinds[s->b].bits / 1024;
	const unsigned nc = s->d == F16 ? 2 : 4, per_a = 32 / kinds[s->a].bits, per_b = 32 / kinds[s->b].bits;
	const unsigned byte = s->blocks == 1 ? (unsigned)random_bits() & 3 : 0, thread = (unsigned)random_bits() & 1;
	uint8_t *a, *b, *c, *d;
	struct ptx_module *m;
	unsigned bad = 0;

	device_reset();
	a = device_alloc(65536);
	b = device_alloc(65536);
	c = device_alloc(65536);
	d = device_alloc(65536);
	choose(s);
	for (unsigned i = 0; i < M * s->k / 2; i++)
		matrix_a[i / (s->k / 2)][i % (s->k / 2)] = any_value(s->a);
	for (unsigned i = 0; i < s->k * N; i++)
		matrix_b[i / N][i % N] = any_value(s->b);
	for (unsigned i = 0; i < M * N; i++)
		matrix_c[i / N][i % N] = s->d != S32 || i % 3 ? any_value(s->d) : INT32_MAX - 50;
	for (unsigned lane = 0; lane < 32; lane++) {
		const unsigned g = lane / 4, t = lane % 4;

		/* A's registers, as if it were a whole matrix of half the width */
		for (unsigned i = 0; i < na * per_a; i++)
			put(a, lane * na * per_a + i, s->a,
			    matrix_a[g + i / per_a % 2 * 8][t * per_a + i % per_a + i / per_a / 2 * per_a * 4]);
		for (unsigned i = 0; i < nb * per_b; i++)
			put(b, lane * nb * per_b + i, s->b, matrix_b[t * per_b + i % per_b + i / per_b * per_b * 4][g]);
		for (unsigned i = 0; i < 4; i++)
			put(c, lane * 4 + i, s->d, matrix_c[g + i / 2 * 8][t * 2 + i % 2]);
	}
	put_metadata(s, (uint32_t *)(void *)(a + META), selector * lanes_of(s) % 4);
	if (s->blocks) {
		put_scales(s, (uint32_t *)(void *)(a + SCALES), scale_a, M, byte, thread);
		put_scales(s, (uint32_t *)(void *)(b + SCALES), scale_b, N, byte, thread + 2);
	}
	say_head();
	say_registers(0, na, 0, false);
	say_registers(10, nb, 1, false);
	say_registers(20, nc, 2, false);
	say("mad.wide.u32 %%p7, %%l, 4, %%p0; ld.global.b32 %%r40, [%%p7+%u]; ld.global.b32 %%r41, [%%p7+%u];\n"
	    "mad.wide.u32 %%p7, %%l, 4, %%p1; ld.global.b32 %%r42, [%%p7+%u]; mov.u16 %%h0, %u; mov.u16 %%h1, %u;\n",
	    META, SCALES, SCALES, byte, thread + 2);
	say("mma.sp%s.sync.aligned.m16n8k%u.row.col%s.%s.%s.%s.%s%s ", ordered ? "::ordered_metadata" : "", s->k,
	    s->head, kinds[s->d].name, kinds[s->a].name, kinds[s->b].name, kinds[s->d].name, s->tail);
	say_list(0, nc); /* the result goes where A was */
	say_list(0, na);
	say_list(10, nb);
	say_list(20, nc);
	say("%%r40, %u", selector);
	if (s->blocks)
		say(", %%r41, {%u, %u}, %%r42, {%%h0, %%h1}", byte, thread);
	say(";\n");
	say_registers(0, nc, 3, true);
	say("ret;\n}\n");
	m = load_text(text, text_bytes, &newest);
	bad = !m || launch(m, "k", DIM(1), DIM(32), ARGS(PTR(a), PTR(b), PTR(c), PTR(d)));
	ptx_module_free(m);
	for (unsigned lane = 0; lane < 32 && !bad; lane++)
		for (unsigned i = 0; i < 4; i++) {
			const unsigned r = lane / 4 + i / 2 * 8, x = lane % 4 * 2 + i % 2;
			const double want = expected(s, r, x);
			const float narrow = (float)want;
			uint32_t bits;

			memcpy(&bits, &narrow, 4);
			if (s->d != F32)
				bits = (uint32_t)encode(s->d, (int)(int64_t)want);
			if (get(d, lane * 4 + i, s->d) != bits && !bad++)
				printf("# m16n8k%u%s %s %s %s%s, selector %u: row %u column %u: %llx instead of %g\n",
				       s->k, s->head, kinds[s->d].name, kinds[s->a].name, kinds[s->b].name, s->tail,
				       selector, r, x, (unsigned long long)get(d, lane * 4 + i, s->d), want);
		}
	return !bad;
}

static void test_types(void)
{
	static const struct shape shapes[] = {
		{ 16, F32, F16, F16, "", "", 0, false },
		{ 32, F32, F16, F16, "", "", 0, false },
		{ 16, F16, F16, F16, "", "", 0, false },
		{ 32, F16, F16, F16, "", "", 0, false },
		{ 16, F32, BF16, BF16, "", "", 0, false },
		{ 32, F32, BF16, BF16, "", "", 0, false },
		{ 8, F32, TF32, TF32, "", "", 0, false },
		{ 16, F32, TF32, TF32, "", "", 0, false },
		{ 64, F32, E4M3, E5M2, "", "", 0, false },
		{ 64, F16, E5M2, E5M2, "", "", 0, false },
		{ 32, S32, S8, U8, "", "", 0, false },
		{ 64, S32, U8, S8, "", "", 0, false },
		{ 32, S32, U8, U8, ".satfinite", "", 0, false },
		{ 64, S32, S4, U4, "", "", 0, false },
		{ 128, S32, U4, U4, ".satfinite", "", 0, false },
		{ 128, S32, S4, S4, "", "", 0, false },
	};
	bool good = true;

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const unsigned ways = 4 / lanes_of(&shapes[i]);

		for (unsigned x = 0; x < ways * 2; x++)
			good = sparse_case(&shapes[i], x % 2, x / 2) && good;
	}
	tap_ok(good, "mma.sp, %zu shapes and types, each selector", sizeof(shapes) / sizeof(shapes[0]));
}

static void test_narrow(void)
{
	static const enum kind bytes[] = { E4M3, E5M2, E3M2, E2M3, E2M1_BYTE };
	static const struct shape four[] = {
		{ 128, F32, E2M1, E2M1, ".kind::mxf4.block_scale.scale_vec::2X", ".ue8m0", 2, false },
		{ 128, F32, E2M1, E2M1, ".kind::mxf4.block_scale", ".ue8m0", 2, false },
		{ 128, F32, E2M1, E2M1, ".kind::mxf4nvf4.block_scale.scale_vec::2X", ".ue8m0", 2, false },
		{ 128, F32, E2M1, E2M1, ".kind::mxf4nvf4.block_scale.scale_vec::4X", ".ue4m3", 4, true },
		{ 128, F32, E2M1, E2M1, ".kind::mxf4nvf4.block_scale.scale_vec::4X", ".ue8m0", 4, false },
	};
	bool plain = true, scaled = true;

	for (unsigned i = 0; i < 25; i++) {
		const enum kind a = bytes[i / 5], b = bytes[i % 5];

		plain = sparse_case(&(struct shape){ 64, i % 2 ? F32 : F16, a, b, ".kind::f8f6f4", "", 0, false }, true,
				    0) &&
			plain;
		scaled = sparse_case(&(struct shape){ 64, F32, a, b,
						      i % 2 ? ".kind::mxf8f6f4.block_scale.scale_vec::1X"
							    : ".kind::mxf8f6f4.block_scale",
						      ".ue8m0", 1, false },
				     true, 0) &&
			 scaled;
	}
	for (size_t i = 0; i < sizeof(four) / sizeof(four[0]); i++)
		for (unsigned x = 0; x < 4; x++)
			scaled = sparse_case(&four[i], true, 0) && scaled;
	tap_ok(plain, "mma.sp of floats of 4, 6 and 8 bits");
	tap_ok(scaled, "the same with scales");
}

/* What A does not keep takes no part: infinities of B that meet nothing leave the sum a number. */
static void test_left_out(void)
{
	const uint16_t one = 0x3c00, infinite = 0x7c00;
	uint16_t *a, *b;
	uint32_t *meta;
	float *c, *d;
	struct ptx_module *m;
	bool good;

	device_reset();
	a = device_alloc(4096);
	b = device_alloc(4096);
	c = device_alloc(4096);
	d = device_alloc(4096);
	meta = (uint32_t *)(void *)(a + 1024);
	for (unsigned i = 0; i < 32 * 4; i++) {
		a[i] = one;
		b[i] = i % 2 ? infinite : one; /* odd rows of B */
		c[i] = 0;
	}
	for (unsigned lane = 0; lane < 32; lane++)
		meta[lane] = 0x88888888; /* of each four the first and the third */
	say_head();
	say_registers(0, 2, 0, false);
	say_registers(10, 2, 1, false);
	say_registers(20, 4, 2, false);
	say("mad.wide.u32 %%p7, %%l, 4, %%p0; ld.global.b32 %%r40, [%%p7+2048];\n"
	    "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%%r20, %%r21, %%r22, %%r23}, {%%r0, %%r1}, {%%r10, "
	    "%%r11}, {%%r20, %%r21, %%r22, %%r23}, %%r40, 2;\n");
	say_registers(20, 4, 3, true);
	say("ret;\n}\n");
	m = load_text(text, text_bytes, &newest);
	good = m && !launch(m, "k", DIM(1), DIM(32), ARGS(PTR(a), PTR(b), PTR(c), PTR(d)));
	ptx_module_free(m);
	for (unsigned i = 0; i < 128 && good; i++)
		good = d[i] == 8; /* exactly */
	tap_ok(good, "elements of B that meet nothing take no part");
}

static void test_refusals(void)
{
	static const struct {
		const char *insn, *says;
	} cases[] = {
#define F "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0, %r1, %r2, %r3}, "
		{ F "{%r4, %r5}, {%r6, %r7}, {%r0, %r1, %r2, %r3}, %r8, 4;", "a number from 0 to 3" },
		{ F "{%r4, %r5}, {%r6, %r7}, {%r0, %r1, %r2, %r3}, %r8, %r9;", "a number from 0 to 3" },
		{ F "{%r4, %r5}, {%r6, %r7}, {%r0, %r1, %r2, %r3}, %r8;", "operands" },
		{ F "{%r4, %r5, %r6, %r7}, {%r6, %r7}, {%r0, %r1, %r2, %r3}, %r8, 0;",
		  "a fragment of 4 registers instead of 2" },
		{ F "{%r4, %r5}, {%r6}, {%r0, %r1, %r2, %r3}, %r8, 0;", "a fragment of 1 registers instead of 2" },
#undef F
		{ "mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 {%r0, %r1, %r2, %r3}, {%r4, %r5, %r6, %r7}, "
		  "{%r8, "
		  "%r9, %r10, %r11}, {%r0, %r1, %r2, %r3}, %r12, 1;",
		  "a number from 0 to 0" },
		{ "mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r8, %r9}, "
		  "{%r0, "
		  "%r1, %r2, %r3}, %r12, 2;",
		  "a number from 0 to 1" },
		{ "mma.sp.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r0, %r1, %r2, %r3}, {%r4}, {%r5}, {%r0, %r1, "
		  "%r2, %r3}, %r12, 0;",
		  "no such combination" },
		{ "mma.sp.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e3m2.e3m2.f32 {%r0, %r1, %r2, %r3}, {%r4, "
		  "%r5, "
		  "%r6, %r7}, {%r8, %r9, %r10, %r11}, {%r0, %r1, %r2, %r3}, %r12, 0;",
		  "no such combination" },
	};
	bool good = true;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ptx_module *m = NULL;
		struct ptx_text t = { text, 0 };
		char log[512] = "";

		say_head();
		say("%s\nret;\n}\n", cases[i].insn);
		t.bytes = text_bytes;
		if (ptx_module_load(&t, 1, &newest, &m, log, sizeof(log)) != PTX_INVALID ||
		    !strstr(log, cases[i].says)) {
			printf("# %s: %s\n", cases[i].insn, log);
			good = false;
		}
	}
	tap_ok(good, "what there is not is refused by name");
}

int main(void)
{
	tap_begin();
	device_open(1);
	test_types();
	test_narrow();
	test_left_out();
	test_refusals();
	device_close();
	return tap_end();
}
