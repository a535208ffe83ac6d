/*
 * matrix_test.c: the matrix instructions against plain products. Texts are made here, one kernel for each shape and
 * type.
 *
 * Values are small whole numbers, which every format holds and whose sums are exact in any order, so results must be
 * equal to the bit. Fragments of mma are taken from the formulas of the PTX manual; those of wmma only through memory.
 */
#include "numbers.h"
#include "softdev/ptx/engine.h"

#include <stdlib.h>

static void say_head(void)
{
	text_bytes = 0;
	say(".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 pa, .param .u64 pb, .param "
	    ".u64 pc, "
	    ".param .u64 pd)\n{\n.reg .b64 %%p<8>; .reg .b32 %%r<100>; .reg .f64 %%g<64>; .reg .b32 %%l;\n"
	    "ld.param.u64 %%p0, [pa]; ld.param.u64 %%p1, [pb]; ld.param.u64 %%p2, [pc]; ld.param.u64 %%p3, [pd];\n"
	    "mov.u32 %%l, %%tid.x;\n");
}

static bool run_text(const char *what, const struct ptx_options *o, void *a, void *b, void *c, void *d)
{
	struct ptx_module *m;
	int r;

	m = load_text(text, text_bytes, o);
	if (!m)
		printf("# %s\n%s\n", what, text);
	r = m ? launch(m, "k", DIM(1), DIM(32), ARGS(PTR(a), PTR(b), PTR(c), PTR(d))) : -1;
	ptx_module_free(m);
	return !r;
}

/* Registers of a lane: its words one behind the other in memory. */
static void say_registers(const char *what, unsigned first, unsigned count, unsigned bytes, unsigned pointer,
			  bool store)
{
	say("mad.wide.u32 %%p7, %%l, %u, %%p%u;\n", count * bytes, pointer);
	for (unsigned i = 0; i < count; i++) {
		if (store)
			say("st.global.b%u [%%p7+%u], %s%u;\n", bytes * 8, i * bytes, what, first + i);
		else
			say("ld.global.%s %s%u, [%%p7+%u];\n", bytes == 8 ? "f64" : "b32", what, first + i, i * bytes);
	}
}

static void say_list(const char *reg, unsigned first, unsigned count)
{
	say("{");
	for (unsigned i = 0; i < count; i++)
		say("%s%s%u", i ? ", " : "", reg, first + i);
	say("}");
}

struct shape {
	unsigned m, n, k;
	enum kind d, a, b, c;
	const char *tail, *types; /* types as written, NULL: all four */
};

static unsigned registers(unsigned rows, unsigned columns, enum kind k)
{
	const unsigned bits = rows * columns * kinds[k].bits / 32;

	return kinds[k].bits == 64 ? bits / 64 : bits / 32;
}

static int matrix_a[64][256], matrix_b[256][64], matrix_c[64][64];

static void fill(const struct shape *s)
{
	for (unsigned i = 0; i < s->m; i++)
		for (unsigned x = 0; x < s->k; x++)
			matrix_a[i][x] = any_value(s->a);
	for (unsigned x = 0; x < s->k; x++)
		for (unsigned j = 0; j < s->n; j++)
			matrix_b[x][j] = any_value(s->b);
	for (unsigned i = 0; i < s->m; i++)
		for (unsigned j = 0; j < s->n; j++)
			matrix_c[i][j] = any_value(s->c);
}

static int expected(const struct shape *s, unsigned i, unsigned j)
{
	int sum = matrix_c[i][j];

	for (unsigned x = 0; x < s->k; x++) {
		const int a = matrix_a[i][x], b = matrix_b[x][j];

		sum += s->a != B1 ? a * b : strstr(s->tail, "and") ? (a & b) : (a ^ b);
	}
	return sum;
}

/* The manual's formulas: element i of a lane's fragment of A, of B (k, n), of an accumulator. */
static void place_a(const struct shape *s, unsigned lane, unsigned i, unsigned *row, unsigned *column)
{
	const unsigned per = kinds[s->a].bits >= 32 ? 1 : 32 / kinds[s->a].bits, group = lane >> 2, in = lane % 4;

	*row = s->m == 8 ? group : group + (i / per % 2 ? 8 : 0);
	*column = in * per + i % per + (s->m == 8 ? 0 : i / per / 2 * per * 4);
}

static void place_b(const struct shape *s, unsigned lane, unsigned i, unsigned *row, unsigned *column)
{
	const unsigned per = kinds[s->b].bits >= 32 ? 1 : 32 / kinds[s->b].bits;

	*row = lane % 4 * per + i % per + i / per * per * 4;
	*column = lane >> 2;
}

static void place_c(unsigned lane, unsigned i, unsigned *row, unsigned *column)
{
	*row = (lane >> 2) + (i < 2 ? 0 : 8);
	*column = lane % 4 * 2 + (i & 1);
}

static bool mma_case(const struct shape *s, const char *isa)
{
	const struct ptx_options options = { .isa = isa };
	const unsigned na = registers(s->m, s->k, s->a), nb = registers(s->k, s->n, s->b);
	const unsigned nc = registers(s->m, s->n, s->c), nd = registers(s->m, s->n, s->d);
	const unsigned ea = s->m * s->k / 32, eb = s->k * s->n / 32, ec = s->m * s->n / 32;
	const unsigned bytes = s->a == F64 ? 8 : 4;
	const char *reg = s->a == F64 ? "%g" : "%r";
	char types[64];
	unsigned row, column;
	uint8_t *a, *b, *c, *d;
	bool good = true;

	device_reset();
	a = device_alloc(65536);
	b = device_alloc(65536);
	c = device_alloc(65536);
	d = device_alloc(65536);
	fill(s);
	for (unsigned lane = 0; lane < 32; lane++) {
		for (unsigned i = 0; i < ea; i++) {
			place_a(s, lane, i, &row, &column);
			put(a, lane * ea + i, s->a, matrix_a[row][column]);
		}
		for (unsigned i = 0; i < eb; i++) {
			place_b(s, lane, i, &row, &column);
			put(b, lane * eb + i, s->b, matrix_b[row][column]);
		}
		for (unsigned i = 0; i < ec; i++) {
			place_c(lane, i, &row, &column);
			put(c, lane * ec + i, s->c, matrix_c[row][column]);
		}
	}
	snprintf(types, sizeof(types), ".%s.%s.%s.%s", kinds[s->d].name, kinds[s->a].name, kinds[s->b].name,
		 kinds[s->c].name);
	say_head();
	say_registers(reg, 0, na, bytes, 0, false);
	say_registers(reg, 20, nb, bytes, 1, false);
	say_registers(reg, 40, nc, bytes, 2, false);
	say("mma.sync.aligned.m%un%uk%u.row.col%s%s ", s->m, s->n, s->k, types, s->tail);
	/* the result goes where A was: sources are read before results are written */
	say_list(reg, 0, nd);
	say(", ");
	say_list(reg, 0, na);
	say(", ");
	say_list(reg, 20, nb);
	say(", ");
	say_list(reg, 40, nc);
	say(";\n");
	say_registers(reg, 0, nd, bytes, 3, true);
	say("ret;\n}\n");
	if (!run_text(types, &options, a, b, c, d))
		return false;
	for (unsigned lane = 0; lane < 32; lane++)
		for (unsigned i = 0; i < ec; i++) {
			place_c(lane, i, &row, &column);
			if (get(d, lane * ec + i, s->d) != encode(s->d, expected(s, row, column)) && good) {
				printf("# m%un%uk%u%s: row %u column %u: %llx instead of %d\n", s->m, s->n, s->k, types,
				       row, column, (unsigned long long)get(d, lane * ec + i, s->d),
				       expected(s, row, column));
				good = false;
			}
		}
	return good;
}

static void test_mma(const char *isa)
{
	static const struct shape shapes[] = {
		{ 16, 8, 8, F32, F16, F16, F32, "", NULL },
		{ 16, 8, 16, F32, F16, F16, F32, "", NULL },
		{ 16, 8, 8, F16, F16, F16, F16, "", NULL },
		{ 16, 8, 16, F16, F16, F16, F16, "", NULL },
		{ 16, 8, 8, F32, BF16, BF16, F32, "", NULL },
		{ 16, 8, 16, F32, BF16, BF16, F32, "", NULL },
		{ 16, 8, 4, F32, TF32, TF32, F32, "", NULL },
		{ 16, 8, 8, F32, TF32, TF32, F32, "", NULL },
		{ 8, 8, 4, F64, F64, F64, F64, "", NULL },
		{ 16, 8, 4, F64, F64, F64, F64, "", NULL },
		{ 16, 8, 8, F64, F64, F64, F64, "", NULL },
		{ 16, 8, 16, F64, F64, F64, F64, "", NULL },
		{ 16, 8, 32, F32, E4M3, E5M2, F32, "", NULL },
		{ 16, 8, 32, F32, E5M2, E4M3, F32, "", NULL },
		{ 16, 8, 16, F16, E4M3, E4M3, F16, "", NULL },
		{ 8, 8, 16, S32, S8, U8, S32, "", NULL },
		{ 16, 8, 16, S32, U8, S8, S32, "", NULL },
		{ 16, 8, 32, S32, S8, S8, S32, "", NULL },
		{ 8, 8, 32, S32, S4, U4, S32, "", NULL },
		{ 16, 8, 32, S32, U4, U4, S32, "", NULL },
		{ 16, 8, 64, S32, S4, S4, S32, "", NULL },
		{ 8, 8, 128, S32, B1, B1, S32, ".xor.popc", NULL },
		{ 16, 8, 128, S32, B1, B1, S32, ".and.popc", NULL },
		{ 16, 8, 256, S32, B1, B1, S32, ".xor.popc", NULL },
	};
	bool good = true;

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		good = mma_case(&shapes[i], isa) && good;
	tap_ok(good, "mma.sync, %zu shapes and types, %s", sizeof(shapes) / sizeof(shapes[0]), isa ? isa : "best");
}

/* Scales of one matrix: `blocks` of each row, in a word of the lane that has the row, other bytes by chance. */
static void fill_scales(uint32_t *word, double scale[16][4], unsigned rows, unsigned blocks, bool e4m3, unsigned byte,
			unsigned thread)
{
	for (unsigned lane = 0; lane < 32; lane++)
		word[lane] = (uint32_t)random_bits();
	for (unsigned r = 0; r < rows; r++) {
		const unsigned lane = r % 8 * 4 + (rows == 8 ? thread : thread * 2 + r / 8);

		for (unsigned i = 0; i < blocks; i++) {
			const int v = (int)(random_bits() % 3) + (e4m3 ? 1 : -1);
			const uint32_t bits = e4m3 ? (uint32_t)float_bits(v, 4, 3) : (uint32_t)(127 + v);

			word[lane] = (word[lane] & ~(255u << (byte + i) * 8)) | bits << (byte + i) * 8;
			scale[r][i] = e4m3 ? v : ldexp(1, v);
		}
	}
}

/* Products whose blocks along the sum have scales (blocks 0: none), of kind::... */
static bool scaled_case(const char *kind, unsigned k, enum kind ka, enum kind kb, unsigned blocks, bool e4m3)
{
	const struct shape s = { 16, 8, k, F32, ka, kb, F32, "", NULL };
	const unsigned byte[2] = { blocks ? (unsigned)(random_bits() % (5 - blocks)) & (blocks == 2 ? 2 : 3) : 0,
				   blocks == 1 ? (unsigned)random_bits() & 3 : 0 };
	const unsigned thread[2] = { (unsigned)random_bits() & 1, (unsigned)random_bits() & 3 };
	const unsigned ea = 16 * k / 32, eb = k * 8 / 32;
	double scale_a[16][4] = { { 1 } }, scale_b[16][4] = { { 1 } };
	unsigned row, column, bad = 0;
	uint8_t *a, *b, *c, *d;

	device_reset();
	a = device_alloc(65536);
	b = device_alloc(65536);
	c = device_alloc(65536);
	d = device_alloc(65536);
	fill(&s);
	for (unsigned lane = 0; lane < 32; lane++) {
		for (unsigned i = 0; i < ea; i++) {
			place_a(&s, lane, i, &row, &column);
			put(a, lane * ea + i, ka, matrix_a[row][column]);
		}
		for (unsigned i = 0; i < eb; i++) {
			place_b(&s, lane, i, &row, &column);
			put(b, lane * eb + i, kb, matrix_b[row][column]);
		}
		for (unsigned i = 0; i < 4; i++) {
			place_c(lane, i, &row, &column);
			put(c, lane * 4 + i, F32, matrix_c[row][column]);
		}
	}
	if (blocks) {
		fill_scales((uint32_t *)(void *)(a + 32768), scale_a, 16, blocks, e4m3, byte[0], thread[0]);
		fill_scales((uint32_t *)(void *)(b + 32768), scale_b, 8, blocks, e4m3, byte[1], thread[1]);
	}
	say_head();
	say_registers("%r", 0, 4, 4, 0, false);
	say_registers("%r", 20, 2, 4, 1, false);
	say_registers("%r", 40, 4, 4, 2, false);
	say(".reg .b16 %%h<4>;\nmad.wide.u32 %%p7, %%l, 4, %%p0; ld.global.b32 %%r60, [%%p7+32768];\n"
	    "mad.wide.u32 %%p7, %%l, 4, %%p1; ld.global.b32 %%r61, [%%p7+32768]; mov.u16 %%h0, %u; mov.u16 %%h1, %u;\n",
	    byte[0], thread[0]);
	say("mma.sync.aligned.m16n8k%u.row.col.%s.f32.%s.%s.f32%s {%%r40, %%r41, %%r42, %%r43}, {%%r0, %%r1, %%r2, "
	    "%%r3}, "
	    "{%%r20, %%r21}, {%%r40, %%r41, %%r42, %%r43}",
	    k, kind, kinds[ka].name, kinds[kb].name, blocks ? e4m3 ? ".ue4m3" : ".ue8m0" : "");
	if (blocks)
		say(", %%r60, {%%h0, %%h1}, %%r61, {%u, %u}", byte[1], thread[1]);
	say(";\n");
	say_registers("%r", 40, 4, 4, 3, true);
	say("ret;\n}\n");
	if (!run_text(kind, NULL, a, b, c, d))
		return false;
	for (unsigned lane = 0; lane < 32; lane++)
		for (unsigned i = 0; i < 4; i++) {
			const unsigned deep = blocks ? k / blocks : k;
			double want;
			float got;

			place_c(lane, i, &row, &column);
			want = matrix_c[row][column];
			for (unsigned x = 0; x < k; x++)
				want += matrix_a[row][x] * matrix_b[x][column] * scale_a[row][x / deep] *
					scale_b[column][x / deep];
			memcpy(&got, d + (lane * 4 + i) * 4, 4);
			if (blocks ? got != want : got != (float)expected(&s, row, column)) {
				if (!bad++)
					printf("# %s %s %s: row %u column %u: %g instead of %g\n", kind, kinds[ka].name,
					       kinds[kb].name, row, column, (double)got, want);
			}
		}
	return !bad;
}

static void test_scaled(void)
{
	static const enum kind bytes[] = { E4M3, E5M2, E3M2, E2M3, E2M1_BYTE };
	bool plain = true, eight = true, four = true;

	for (size_t i = 0; i < 5; i++)
		for (size_t j = 0; j < 5; j++) {
			plain = scaled_case("kind::f8f6f4", 32, bytes[i], bytes[j], 0, false) && plain;
			eight = scaled_case(i % 2 ? "kind::mxf8f6f4.block_scale.scale_vec::1X"
						  : "kind::mxf8f6f4.block_scale",
					    32, bytes[i], bytes[j], 1, false) &&
				eight;
		}
	tap_ok(plain, "mma.sync of floats of 4, 6 and 8 bits");
	tap_ok(eight, "the same with a scale for each row");
	for (unsigned i = 0; i < 8; i++) {
		four = scaled_case("kind::mxf4.block_scale.scale_vec::2X", 64, E2M1, E2M1, 2, false) && four;
		four = scaled_case("kind::mxf4nvf4.block_scale.scale_vec::2X", 64, E2M1, E2M1, 2, false) && four;
		four = scaled_case("kind::mxf4nvf4.block_scale.scale_vec::4X", 64, E2M1, E2M1, 4, true) && four;
		four = scaled_case("kind::mxf4nvf4.block_scale.scale_vec::4X", 64, E2M1, E2M1, 4, false) && four;
	}
	four = scaled_case("kind::mxf4.block_scale", 64, E2M1, E2M1, 2, false) && four;
	tap_ok(four, "mma.sync of floats of 4 bits with two and four scales for each row");
}

/* m8n8k4 of f16: four products, one for each pair of quads. */
static void test_volta(void)
{
	int a[4][8][4], b[4][4][8], c[4][8][8];
	bool good = true;

	for (unsigned layout = 0; layout < 8; layout++) {
		const bool a_col = layout & 1, b_col = layout & 2, wide = layout & 4;
		uint8_t *pa, *pb, *pc, *pd;

		device_reset();
		pa = device_alloc(4096);
		pb = device_alloc(4096);
		pc = device_alloc(4096);
		pd = device_alloc(4096);
		for (unsigned i = 0; i < 128; i++) {
			(&a[0][0][0])[i] = any_value(F16);
			(&b[0][0][0])[i] = any_value(F16);
		}
		for (unsigned i = 0; i < 256; i++)
			(&c[0][0][0])[i] = any_value(F16);
		for (unsigned lane = 0; lane < 32; lane++) {
			const unsigned p = lane % 16 / 4, q = lane % 4 + (lane >= 16 ? 4 : 0);

			for (unsigned i = 0; i < 4; i++) {
				put(pa, lane * 4 + i, F16,
				    a_col ? a[p][i + (lane >= 16 ? 4 : 0)][lane % 4] : a[p][q][i]);
				put(pb, lane * 4 + i, F16,
				    b_col ? b[p][i][q] : b[p][lane % 4][i + (lane >= 16 ? 4 : 0)]);
			}
			for (unsigned i = 0; i < 8; i++) {
				const unsigned row = (lane & 1) + (i & 2) + (lane >= 16 ? 4 : 0);

				put(pc, lane * 8 + i, wide ? F32 : F16,
				    wide ? c[p][row][(i & 4) + (lane & 2) + (i & 1)] : c[p][q][i]);
			}
		}
		say_head();
		say_registers("%r", 0, 2, 4, 0, false);
		say_registers("%r", 10, 2, 4, 1, false);
		say_registers("%r", 20, wide ? 8 : 4, 4, 2, false);
		say("mma.sync.aligned.m8n8k4.%s.%s.%s.f16.f16.%s ", a_col ? "col" : "row", b_col ? "col" : "row",
		    wide ? "f32" : "f16", wide ? "f32" : "f16");
		say_list("%r", 20, wide ? 8 : 4);
		say(", {%%r0, %%r1}, {%%r10, %%r11}, ");
		say_list("%r", 20, wide ? 8 : 4);
		say(";\n");
		say_registers("%r", 20, wide ? 8 : 4, 4, 3, true);
		say("ret;\n}\n");
		good = run_text("m8n8k4", NULL, pa, pb, pc, pd) && good;
		for (unsigned lane = 0; lane < 32; lane++)
			for (unsigned i = 0; i < 8; i++) {
				const unsigned p = lane % 16 / 4;
				const unsigned row = wide ? (lane & 1) + (i & 2) + (lane >= 16 ? 4 : 0)
							  : lane % 4 + (lane >= 16 ? 4 : 0);
				const unsigned column = wide ? (i & 4) + (lane & 2) + (i & 1) : i;
				const enum kind k = wide ? F32 : F16;
				int sum = c[p][row][column];

				for (unsigned x = 0; x < 4; x++)
					sum += a[p][row][x] * b[p][x][column];
				good = good && get(pd, lane * 8 + i, k) == encode(k, sum);
			}
	}
	tap_ok(good, "mma.sync m8n8k4 of f16, all layouts");
}

/* Loads all three matrices, multiplies, stores; leading dimensions leave gaps. */
static bool wmma_case(const struct shape *s, unsigned layout, bool shared)
{
	const bool a_col = layout & 1, b_col = layout & 2, c_col = layout & 4;
	const unsigned gap = kinds[s->a].bits < 8 ? 128 : 16;
	const unsigned la = (a_col ? s->m : s->k) + gap, lb = (b_col ? s->k : s->n) + gap,
		       lc = (c_col ? s->m : s->n) + 16;
	const bool half = s->a == F16, twice = half, big = s->a == F64;
	const unsigned na = twice ? 8 : registers(s->m, s->k, s->a), nb = twice ? 8 : registers(s->k, s->n, s->b);
	const unsigned nc = registers(s->m, s->n, s->c), nd = registers(s->m, s->n, s->d);
	const char *reg = big ? "%g" : "%r", *ka = kinds[s->a].name;
	const char *al = a_col ? "col" : "row", *bl = b_col ? "col" : "row", *cl = c_col ? "col" : "row";
	char shape[32];
	uint8_t *a, *b, *c, *d;
	bool good = true;

	device_reset();
	a = device_alloc(65536);
	b = device_alloc(65536);
	c = device_alloc(65536);
	d = device_alloc(65536);
	fill(s);
	for (unsigned i = 0; i < s->m; i++)
		for (unsigned x = 0; x < s->k; x++)
			put(a, a_col ? x * la + i : i * la + x, s->a, matrix_a[i][x]);
	for (unsigned x = 0; x < s->k; x++)
		for (unsigned j = 0; j < s->n; j++)
			put(b, b_col ? j * lb + x : x * lb + j, s->b, matrix_b[x][j]);
	for (unsigned i = 0; i < s->m; i++)
		for (unsigned j = 0; j < s->n; j++)
			put(c, c_col ? j * lc + i : i * lc + j, s->c, matrix_c[i][j]);
	snprintf(shape, sizeof(shape), "m%un%uk%u", s->m, s->n, s->k);
	say_head();
	if (shared) { /* C goes through shared memory */
		say(".shared .align 128 .b8 area[32768]; .reg .b32 %%s<4>; .reg .pred %%q; mov.u32 %%s0, 0; mov.u32 "
		    "%%s1, area;\n"
		    "copy: cvt.u64.u32 %%p4, %%s0; add.u64 %%p5, %%p2, %%p4; ld.global.b32 %%s2, [%%p5]; add.u32 %%s3, "
		    "%%s1, %%s0;\n"
		    "st.shared.b32 [%%s3], %%s2; add.u32 %%s0, %%s0, 4; setp.lt.u32 %%q, %%s0, 32768; @%%q bra "
		    "copy;\n");
	}
	say("wmma.load.a.sync.aligned.%s.%s.global.%s ", al, shape, ka);
	say_list(reg, 0, na);
	say(", [%%p0], %u;\nwmma.load.b.sync.aligned.%s.%s.global.%s ", la, bl, shape, kinds[s->b].name);
	say_list(reg, 10, nb);
	say(", [%%p1], %u;\nwmma.load.c.sync.aligned.%s.%s%s.%s ", lb, cl, shape, shared ? ".shared" : "",
	    kinds[s->c].name);
	say_list(reg, 20, nc);
	say(", [%s], %u;\n", shared ? "area" : "%p2", lc);
	if (s->a == B1)
		say("wmma.mma%s.sync.aligned.%s.%s.%s.s32.b1.b1.s32 ", s->tail, al, bl, shape);
	else if (half)
		say("wmma.mma.sync.aligned.%s.%s.%s.%s.%s ", al, bl, shape, kinds[s->d].name, kinds[s->c].name);
	else
		say("wmma.mma.sync.aligned.%s.%s.%s.%s.%s.%s.%s ", al, bl, shape, kinds[s->d].name, ka,
		    kinds[s->b].name, kinds[s->c].name);
	say_list(reg, 30, nd);
	say(", ");
	say_list(reg, 0, na);
	say(", ");
	say_list(reg, 10, nb);
	say(", ");
	say_list(reg, 20, nc);
	say(";\nwmma.store.d.sync.aligned.%s.%s.global.%s [%%p3], ", cl, shape, kinds[s->d].name);
	say_list(reg, 30, nd);
	say(", %u;\nret;\n}\n", lc);
	if (!run_text(shape, NULL, a, b, c, d))
		return false;
	for (unsigned i = 0; i < s->m; i++)
		for (unsigned j = 0; j < s->n; j++)
			if (good && get(d, c_col ? j * lc + i : i * lc + j, s->d) != encode(s->d, expected(s, i, j))) {
				printf("# wmma %s.%s layout %u: row %u column %u: %llx instead of %d\n", shape, ka,
				       layout, i, j, (unsigned long long)get(d, c_col ? j * lc + i : i * lc + j, s->d),
				       expected(s, i, j));
				good = false;
			}
	return good;
}

static void test_wmma(void)
{
	static const unsigned sizes[3][3] = { { 16, 16, 16 }, { 8, 32, 16 }, { 32, 8, 16 } };
	static const enum kind sets[5][2] = { { F16, F32 }, { F16, F16 }, { BF16, F32 }, { S8, S32 }, { U8, S32 } };
	static const struct shape others[] = {
		{ 16, 16, 8, F32, TF32, TF32, F32, "", NULL },	    { 8, 8, 4, F64, F64, F64, F64, "", NULL },
		{ 8, 8, 32, S32, S4, S4, S32, "", NULL },	    { 8, 8, 32, S32, U4, U4, S32, "", NULL },
		{ 8, 8, 128, S32, B1, B1, S32, ".xor.popc", NULL }, { 8, 8, 128, S32, B1, B1, S32, ".and.popc", NULL },
	};
	bool good = true;
	unsigned count = 0;

	for (unsigned i = 0; i < 3; i++)
		for (unsigned k = 0; k < 5; k++)
			for (unsigned layout = 0; layout < 8; layout++, count++) {
				const enum kind x = sets[k][0], c = sets[k][1];
				const struct shape s = { sizes[i][0], sizes[i][1], sizes[i][2], c, x, x, c, "", NULL };

				good = wmma_case(&s, layout, layout & 1) && good;
			}
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		for (unsigned layout = 0; layout < 8; layout++) {
			if (kinds[others[i].a].bits < 8 && (layout & 3) != 2)
				continue;
			good = wmma_case(&others[i], layout, false) && good;
			count++;
		}
	tap_ok(good, "wmma: %u shapes, types and layouts", count);
}

/* Rows of 8 x 8 tiles from shared memory into registers and back, turned or not. */
static void test_tiles(void)
{
	bool good = true;

	for (unsigned count = 1; count <= 4; count *= 2)
		for (unsigned trans = 0; trans < 4; trans++) {
			const char *lt = trans & 1 ? ".trans" : "", *st = trans & 2 ? ".trans" : "";
			uint16_t *a, *c, *d;

			device_reset();
			a = device_alloc(4096);
			c = device_alloc(4096);
			d = device_alloc(4096);
			for (unsigned i = 0; i < 256; i++)
				a[i] = (uint16_t)random_bits();
			say_head();
			say(".shared .align 16 .b8 from[512]; .shared .align 16 .b8 into[512]; .reg .b32 %%x<9>;\n"
			    "mad.wide.u32 %%p5, %%l, 16, %%p0; ld.global.v4.b32 {%%x0, %%x1, %%x2, %%x3}, [%%p5]; "
			    "shl.b32 %%x4, %%l, 4; "
			    "mov.u32 %%x5, from; add.u32 %%x5, %%x5, %%x4; mov.u32 %%x6, into; add.u32 %%x6, %%x6, "
			    "%%x4; "
			    "st.shared.v4.b32 [%%x5], {%%x0, %%x1, %%x2, %%x3}; bar.warp.sync 0xffffffff;\n"
			    "ldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 ",
			    count, lt);
			say_list("%r", 0, count);
			say(", [%%x5];\nmovmatrix.sync.aligned.m8n8.trans.b16 %%x7, %%r0; "
			    "movmatrix.sync.aligned.m8n8.trans.b16 %%r50, %%x7;\n"
			    "stmatrix.sync.aligned.m8n8.x%u%s.shared::cta.b16 [%%x6], ",
			    count, st);
			say_list("%r", 0, count);
			say(";\nbar.warp.sync 0xffffffff; ld.shared.v4.b32 {%%x0, %%x1, %%x2, %%x3}, [%%x6];\n"
			    "mad.wide.u32 %%p5, %%l, 16, %%p3; st.global.v4.b32 [%%p5], {%%x0, %%x1, %%x2, %%x3};\n"
			    "mad.wide.u32 %%p5, %%l, 8, %%p2; st.global.b32 [%%p5], %%r0; st.global.b32 [%%p5+4], "
			    "%%r50; ret;\n}\n");
			good = run_text("tiles", NULL, a, a, c, d) && good;
			for (unsigned i = 0; i < count * 64; i++) {
				const unsigned turned = i / 64 * 64 + i % 8 * 8 + i % 64 / 8;

				good = good && d[i] == a[trans == 1 || trans == 2 ? turned : i];
			}
			for (unsigned lane = 0; lane < 32; lane++)
				for (unsigned h = 0; h < 2; h++) {
					const unsigned row = lane / 4, column = lane % 4 * 2 + h;
					const uint16_t v = a[trans & 1 ? column * 8 + row : row * 8 + column];

					good = good && c[lane * 4 + h] == v && c[lane * 4 + 2 + h] == v;
				}
		}
	tap_ok(good, "ldmatrix, stmatrix and movmatrix");
}

/* Rows of 16 elements of 4 or 6 bits, each of which becomes a byte. */
static void test_unpacking(void)
{
	bool good = true;

	for (unsigned bits = 4; bits <= 6; bits += 2) {
		uint8_t *a, *d;

		device_reset();
		a = device_alloc(4096);
		d = device_alloc(4096);
		for (unsigned i = 0; i < 512; i++)
			a[i] = (uint8_t)random_bits();
		say_head();
		say(".shared .align 16 .b8 from[512]; .reg .b32 %%x<9>;\n"
		    "mad.wide.u32 %%p5, %%l, 16, %%p0; ld.global.v4.b32 {%%x0, %%x1, %%x2, %%x3}, [%%p5]; shl.b32 "
		    "%%x4, %%l, 4;\n"
		    "mov.u32 %%x5, from; add.u32 %%x5, %%x5, %%x4; st.shared.v4.b32 [%%x5], {%%x0, %%x1, %%x2, %%x3};\n"
		    "bar.warp.sync 0xffffffff; ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.%s {%%r0, %%r1, %%r2, "
		    "%%r3}, [%%x5];\n",
		    bits == 4 ? "b4x16_p64" : "b6x16_p32");
		say_registers("%r", 0, 4, 4, 3, true);
		say("ret;\n}\n");
		good = run_text("unpacking", NULL, a, a, a, d) && good;
		for (unsigned lane = 0; lane < 32; lane++)
			for (unsigned i = 0; i < 16; i++) {
				const unsigned matrix = i / 4, element = lane % 4 * 4 + i % 4;
				const uint8_t *row = a + (matrix * 8 + lane / 4) * 16;
				unsigned want = 0;

				for (unsigned k = 0; k < bits; k++)
					want |= (row[(element * bits + k) / 8] >> (element * bits + k) % 8 & 1u) << k;
				good = good && d[lane * 16 + i] == want;
			}
	}
	tap_ok(good, "ldmatrix of elements of 4 and 6 bits");
}

/* Matrices of bytes that are turned on their way, by the manual's figures: 16 x 16 of 8, 6 and 4 bits, and 16 x 8. */
static void test_turned(void)
{
	static const char *const formats[] = { "b8", "b8x16.b6x16_p32", "b8x16.b4x16_p64" };
	const struct ptx_options options = { .arch = 120 };
	bool good = true;

	for (unsigned k = 0; k < 12; k++) {
		const unsigned bits = 8 - k % 3 * 2, loads = k / 6 + 1, stores = 1u << k % 3;
		uint8_t *a, *d, *e;
		struct ptx_module *m;

		device_reset();
		a = device_alloc(4096);
		d = device_alloc(4096);
		e = device_alloc(4096);
		for (unsigned i = 0; i < 512; i++)
			a[i] = (uint8_t)random_bits();
		say_head();
		say(".shared .align 16 .b8 from[512]; .shared .align 16 .b8 into[512]; .reg .b32 %%x<9>;\n"
		    "mad.wide.u32 %%p5, %%l, 16, %%p0; ld.global.v4.b32 {%%x0, %%x1, %%x2, %%x3}, [%%p5]; shl.b32 "
		    "%%x4, %%l, 4;\n"
		    "mov.u32 %%x5, from; add.u32 %%x5, %%x5, %%x4; st.shared.v4.b32 [%%x5], {%%x0, %%x1, %%x2, %%x3};\n"
		    "mov.u32 %%x6, into; add.u32 %%x6, %%x6, %%x4; bar.warp.sync 0xffffffff;\n"
		    "stmatrix.sync.aligned.m16n8.x%u.trans.shared.b8 [%%x6], ",
		    stores);
		say_list("%x", 0, stores);
		say(";\nmov.b32 %%r2, 0; mov.b32 %%r3, 0;\nldmatrix.sync.aligned.m16n16.x%u.trans%s.%s ", loads,
		    k % 2 ? ".shared::cta" : ".shared", formats[k % 3]);
		say_list("%r", 0, loads * 2);
		say(", [%%x5]; bar.warp.sync 0xffffffff; ld.shared.v4.b32 {%%x0, %%x1, %%x2, %%x3}, [%%x6];\n"
		    "mad.wide.u32 %%p5, %%l, 16, %%p2; st.global.v4.b32 [%%p5], {%%x0, %%x1, %%x2, %%x3};\n");
		say_registers("%r", 0, 4, 4, 3, true);
		say("ret;\n}\n");
		m = load_text(text, text_bytes, &options);
		good = m && !launch(m, "k", DIM(1), DIM(32), ARGS(PTR(a), PTR(a), PTR(e), PTR(d))) && good;
		ptx_module_free(m);
		for (unsigned lane = 0; lane < 32; lane++)
			for (unsigned i = 0; i < loads * 8; i++) {
				/* four neighbouring columns of rows lane / 4 and 8 more, of the turned matrix */
				const unsigned row = lane / 4 + i / 4 % 2 * 8, column = lane % 4 * 4 + i % 4;
				const uint8_t *line = a + (i / 8 * 16 + column) * 16;
				unsigned want = 0;

				for (unsigned b = 0; b < bits; b++)
					want |= (line[(row * bits + b) / 8] >> (row * bits + b) % 8 & 1u) << b;
				good = good && d[lane * 16 + i] == want;
			}
		for (unsigned i = 0; i < stores; i++)
			for (unsigned row = 0; row < 16; row++)
				for (unsigned column = 0; column < 8; column++) {
					/* bytes 0 and 1 of a register are of its row, 2 and 3 of eight more */
					const unsigned lane = row % 8 * 4 + column / 2;
					const unsigned byte = column % 2 + row / 8 * 2;

					good = good &&
					       e[(i * 8 + column) * 16 + row] == a[lane * 16 + i * 4 + byte];
				}
	}
	tap_ok(good, "ldmatrix and stmatrix of turned bytes");
}

/* Sums that pass 32 bits clamp with .satfinite and wrap without. */
static void test_saturation(void)
{
	int32_t *a, *b, *c, *d;
	bool good = true;

	for (unsigned clamp = 0; clamp < 2; clamp++) {
		device_reset();
		a = device_alloc(4096);
		b = device_alloc(4096);
		c = device_alloc(4096);
		d = device_alloc(4096);
		memset(a, 0x7f, 512);
		memset(b, 0x7f, 512);
		for (unsigned i = 0; i < 64; i++)
			c[i] = INT32_MAX - 5;
		say_head();
		say_registers("%r", 0, 1, 4, 0, false);
		say_registers("%r", 1, 1, 4, 1, false);
		say_registers("%r", 2, 2, 4, 2, false);
		say("mma.sync.aligned.m8n8k16.row.col%s.s32.s8.s8.s32 {%%r4, %%r5}, {%%r0}, {%%r1}, {%%r2, %%r3};\n",
		    clamp ? ".satfinite" : "");
		say_registers("%r", 4, 2, 4, 3, true);
		say("ret;\n}\n");
		good = run_text("clamp", NULL, a, b, c, d) && good;
		good = good && d[0] == (clamp ? INT32_MAX : (int32_t)(INT32_MAX - 5u + 16u * 127 * 127));
	}
	tap_ok(good, "integer products clamp or wrap");
}

static void test_refusals(void)
{
	static const struct {
		const char *insn, *says;
	} cases[] = {
		{ "tcgen05.wait::ld.sync.aligned;", "line 9, kernel k: unsupported instruction tcgen05" },
		{ "mma.sync.aligned.m16n8k17.row.col.f32.f16.f16.f32 %r0, %r0, %r0, %r0;", "no such combination" },
		{ "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r0, %r1, %r2, %r3}, {%r0}, {%r1}, {%r2, %r3, "
		  "%r4, %r5};",
		  "a fragment of 1 registers instead of 2" },
	};
	bool good = true;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ptx_module *m = NULL;
		struct ptx_text t = { text, 0 };
		char log[512];

		say_head();
		say("%s\nret;\n}\n", cases[i].insn);
		t.bytes = text_bytes;
		if (ptx_module_load(&t, 1, NULL, &m, log, sizeof(log)) != PTX_INVALID || !strstr(log, cases[i].says)) {
			printf("# %s: %s\n", cases[i].insn, log);
			good = false;
		}
	}
	text_bytes = 0;
	say(".version 8.0\n.target sm_90\n.address_size 64\n.extern .func (.param .b32 r) cudaDeviceSynchronize(.param "
	    ".b64 a, "
	    ".param .b64 b);\n.visible .entry parent()\n{\n{ .param .b64 x; .param .b64 y; .param .b32 z;\n"
	    "call.uni (z), cudaDeviceSynchronize, (x, y);\n}\nret;\n}\n");
	struct ptx_module *none = NULL;
	char why[512];

	if (ptx_module_load(&(struct ptx_text){ text, text_bytes }, 1, NULL, &none, why, sizeof(why)) !=
		    PTX_UNRESOLVED ||
	    !strstr(why, "line 8, kernel parent: no function cudaDeviceSynchronize") ||
	    !strstr(why, "runtime library in kernels")) {
		printf("# %s\n", why);
		good = false;
	}
	tap_ok(good, "what is not there is refused by name");
}

int main(void)
{
	tap_begin();
	device_open(1);
	if (isa_find("base"))
		test_mma("base");
	test_mma(NULL);
	test_scaled();
	test_volta();
	test_wmma();
	test_tiles();
	test_unpacking();
	test_turned();
	test_saturation();
	test_refusals();
	device_close();
	return tap_end();
}
