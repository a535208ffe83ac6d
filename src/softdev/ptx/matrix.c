/*
 * matrix.c: D = A * B + C of one warp. Built once per instruction set of the host, like exec.c.
 *
 * Every element is widened (to f32, f64 or s32), the product is a small dense one with the columns of B innermost, so
 * that the compiler makes vectors of them. Products of narrow floats are exact in f32; they are added in f32 one after
 * the other, in the order of k, starting from C, with a fused multiply-add where the host has one; 16-bit results are
 * rounded once, at the end. The manual leaves order and inner precision open. f64 is fused, in the order of k. Integers
 * wrap, or clamp at the end with .satfinite.
 */
#include "softdev/ptx/fp.h"
#include "softdev/ptx/isa.h"
#include "softdev/ptx/matrix.h"
#include "softdev/ptx/matrix_quad.h"
#include "softdev/ptx/narrow.h"
#include "softdev/ptx/tile.h"

/* Of a sparse product A is half as wide. */
struct floats {
	f32 a[1024], b[1024], c[512] __attribute__((aligned(64)));
};

#if defined(__FMA__) || defined(__aarch64__)
#define MULADD(a, b, c) fmaf(a, b, c)
#else
#define MULADD(a, b, c) ((a) * (b) + (c))
#endif

/* The elements of `bytes` bytes, one behind the other: of a tile register, 8 rows of e values, e = count / 8. */
static inline void widen_bytes(f32 *to, const void *from, u32 bytes, enum element element)
{
	const u16 *half = from;
	const u8 *byte = from;
	const u32 *word = from;

	switch (element) {
	case EL_f16:
		for (u32 i = 0; i < bytes / 2; i++)
			to[i] = h2f(half[i]);
		break;
	case EL_bf16:
		for (u32 i = 0; i < bytes / 2; i++)
			to[i] = b2f(half[i]);
		break;
	case EL_tf32: /* the lower bits are not looked at */
		for (u32 i = 0; i < bytes / 4; i++)
			to[i] = f32_of(word[i] & ~0x1fffu);
		break;
	case EL_e4m3:
		for (u32 i = 0; i < bytes; i++)
			to[i] = narrow_value(byte[i], &narrow_e4m3);
		break;
	case EL_e3m2: /* six bits of a byte */
		for (u32 i = 0; i < bytes; i++)
			to[i] = narrow_value(byte[i] & 63, &narrow_e3m2);
		break;
	case EL_e2m3:
		for (u32 i = 0; i < bytes; i++)
			to[i] = narrow_value(byte[i] & 63, &narrow_e2m3);
		break;
	case EL_e2m1_byte: /* four bits in the middle of a byte */
		for (u32 i = 0; i < bytes; i++)
			to[i] = narrow_value(byte[i] >> 2 & 15, &narrow_e2m1);
		break;
	case EL_e2m1:
		for (u32 i = 0; i < bytes * 2; i++)
			to[i] = narrow_value(byte[i / 2] >> i % 2 * 4 & 15, &narrow_e2m1);
		break;
	default:
		for (u32 i = 0; i < bytes; i++)
			to[i] = narrow_value(byte[i], &narrow_e5m2);
	}
}

static void widen(f32 *to, const void *tile, enum element element)
{
	widen_bytes(to, tile, TILE_BYTES, element);
}

static u32 per_row(enum element e)
{
	switch (e) {
	case EL_f16:
	case EL_bf16:
		return 8;
	case EL_tf32:
	case EL_f64:
		return 4;
	case EL_s4:
	case EL_u4:
	case EL_e2m1:
		return 32;
	case EL_b1:
		return 128;
	default:
		return 16;
	}
}

static const void *tile_of(const struct warp *w, const struct op_list *l, const struct fragment *f, u32 i)
{
	return at(w, l->loc[f->first + i]);
}

/* Columns that A's fragment has. */
static u32 a_width(const struct matrix_use *u)
{
	return u->sparse ? u->k / 2u : u->k;
}

/* A, row by row. */
static void take_a_f32(const struct warp *w, const struct op_list *l, const struct matrix_use *u, f32 *a)
{
	const u32 rows = u->m / 8, e = per_row((enum element)u->a.element);
	f32 tile[256];

	for (u32 t = 0; t < u->a.tiles; t++) {
		widen(tile, tile_of(w, l, &u->a, t), (enum element)u->a.element);
		for (u32 r = 0; r < 8; r++)
			memcpy(a + ((t % rows) * 8 + r) * a_width(u) + t / rows * e, tile + r * e, e * sizeof(*a));
	}
}

/* B, row by row: a tile holds columns. */
static void take_b_f32(const struct warp *w, const struct op_list *l, const struct matrix_use *u, f32 *b)
{
	const u32 e = per_row((enum element)u->b.element), deep = u->k / e;
	f32 tile[256];

	for (u32 t = 0; t < u->b.tiles; t++) {
		f32 *to = b + t % deep * e * u->n + t / deep * 8;

		widen(tile, tile_of(w, l, &u->b, t), (enum element)u->b.element);
		for (u32 i = 0; i < e; i++)
			for (u32 r = 0; r < 8; r++)
				to[i * u->n + r] = tile[r * e + i];
	}
}

/* Accumulators of 4 or 8 bytes an element: a pair of registers holds even and odd columns. */
#define ACCUMULATOR(T, name)                                                                                           \
	static void take_c_##name(const struct warp *w, const struct op_list *l, const struct matrix_use *u, T *c)     \
	{                                                                                                              \
		const u32 rows = u->m / 8;                                                                             \
		for (u32 t = 0; t < u->c.count; t++) {                                                                 \
			const T *from = tile_of(w, l, &u->c, t);                                                       \
			T *to = c + t / 2 % rows * 8 * u->n + t / 2 / rows * 8 + t % 2;                                \
			for (u32 i = 0; i < LANES; i++)                                                                \
				to[i / 4 * u->n + i % 4 * 2] = from[i];                                                \
		}                                                                                                      \
	}                                                                                                              \
	static void give_d_##name(struct warp *w, const struct op_list *l, const struct matrix_use *u, const T *c)     \
	{                                                                                                              \
		const u32 rows = u->m / 8;                                                                             \
		for (u32 t = 0; t < u->d.count; t++) {                                                                 \
			T *to = at(w, l->loc[u->d.first + t]);                                                         \
			const T *from = c + t / 2 % rows * 8 * u->n + t / 2 / rows * 8 + t % 2;                        \
			for (u32 i = 0; i < LANES; i++)                                                                \
				to[i] = w->mask & lane_bit[i] ? from[i / 4 * u->n + i % 4 * 2] : to[i];                \
		}                                                                                                      \
	}
ACCUMULATOR(f32, f32)
ACCUMULATOR(f64, f64)
ACCUMULATOR(s32, s32)

static void take_c_f16(const struct warp *w, const struct op_list *l, const struct matrix_use *u, f32 *c)
{
	const u32 rows = u->m / 8;
	f32 tile[64];

	for (u32 t = 0; t < u->c.count; t++) {
		widen(tile, tile_of(w, l, &u->c, t), EL_f16);
		for (u32 r = 0; r < 8; r++)
			memcpy(c + (t % rows * 8 + r) * u->n + t / rows * 8, tile + r * 8, 8 * sizeof(*c));
	}
}

static void give_d_f16(struct warp *w, const struct op_list *l, const struct matrix_use *u, const f32 *c)
{
	const u32 rows = u->m / 8;

	for (u32 t = 0; t < u->d.count; t++) {
		u32 *to = at(w, l->loc[u->d.first + t]);
		const f32 *from = c + t % rows * 8 * u->n + t / rows * 8;

		for (u32 i = 0; i < LANES; i++) {
			const f32 *pair = from + i / 4 * u->n + i % 4 * 2;
			const u32 v = f2h(pair[0]) | f2h(pair[1]) << 16;

			to[i] = w->mask & lane_bit[i] ? v : to[i];
		}
	}
}

/* c += a * b, eight columns at a time; n is a multiple of 8. */
#define PRODUCT(T, name, step)                                                                                         \
	static void product_##name(T *restrict c, const T *restrict a, const T *restrict b, u32 m, u32 n, u32 k)       \
	{                                                                                                              \
		for (u32 i = 0; i < m; i++)                                                                            \
			for (u32 j = 0; j < n; j += 8) {                                                               \
				T sum[8];                                                                              \
				memcpy(sum, c + i * n + j, sizeof(sum));                                               \
				for (u32 x = 0; x < k; x++) {                                                          \
					const T v = a[i * k + x];                                                      \
					const T *row = b + x * n + j;                                                  \
					for (u32 y = 0; y < 8; y++)                                                    \
						sum[y] = step(v, row[y], sum[y]);                                      \
				}                                                                                      \
				memcpy(c + i * n + j, sum, sizeof(sum));                                               \
			}                                                                                              \
	}
#define FUSED(a, b, c) fma(a, b, c)
#define WRAPPING(a, b, c) ((s32)((u32)(a) * (u32)(b) + (u32)(c)))
PRODUCT(f32, f32, MULADD)
PRODUCT(f64, f64, FUSED)
PRODUCT(s32, s32, WRAPPING)

/* ---- products of which half of A is zeroes that nobody holds ---- */

#define SPARSE_ROWS 16u
#define SPARSE_WIDTH_MAX 64u

/* Bits of metadata of a row. */
static u32 metadata_bits(const struct matrix_use *u)
{
	return u->sparse == SPARSE_of_2 ? u->k * 2u : u->sparse == SPARSE_of_4 ? u->k : u->k / 2u;
}

/*
 * The index of two bits at bit `at` of row r's metadata (PTX ISA, "Matrix fragments for ... sparse matrix A"). Elements
 * of 16 and 32 bits: a lane has 16 bits of row r in its lower half and of row r + 8 in its upper half. Smaller ones: of
 * two lanes the first has 32 bits of row r, the second of row r + 8. The selector says which of the four lanes of a
 * row take part, where not all do.
 */
static u32 metadata_index(const u32 *meta, const struct matrix_use *u, u32 r, u32 at)
{
	const bool halves = u->a.element == EL_f16 || u->a.element == EL_bf16 || u->a.element == EL_tf32;
	const u32 lanes = metadata_bits(u) / 16;
	const u32 lane = halves ? at / 16 : at / 32 * 2 + r / 8, shift = halves ? at % 16 + r / 8 * 16 : at % 32;

	return meta[r % 8 * 4 + (u->selector * lanes + lane) % 4] >> shift & 3;
}

/* The column of the whole A that element j of row r belongs to. */
static u8 sparse_column(const u32 *meta, const struct matrix_use *u, u32 r, u32 j)
{
	switch ((enum sparsity)u->sparse) {
	case SPARSE_of_2: /* 0100 or 1110: the halves of the element, as if they were two of four */
		return (u8)(j * 2 + (metadata_index(meta, u, r, j * 4) >> 1));
	case SPARSE_of_8:
		return (u8)(j / 4 * 8 + metadata_index(meta, u, r, j / 2 * 2) * 2 + j % 2);
	default:
		return (u8)(j / 2 * 4 + metadata_index(meta, u, r, j * 2));
	}
}

static void take_columns(const struct warp *w, const struct op_list *l, const struct matrix_use *u, u8 *column)
{
	const u32 *meta = at(w, l->loc[u->meta]), width = a_width(u);

	for (u32 r = 0; r < SPARSE_ROWS; r++)
		for (u32 j = 0; j < width; j++)
			column[r * width + j] = sparse_column(meta, u, r, j);
}

/* c += a * b, where element x of a row of A, of `width`, meets row column[x] of B. */
#define SPARSE_PRODUCT(T, name, step)                                                                                  \
	static void sparse_##name(T *restrict c, const T *restrict a, const T *restrict b, const u8 *column, u32 n,    \
				  u32 width)                                                                           \
	{                                                                                                              \
		for (u32 i = 0; i < SPARSE_ROWS; i++)                                                                  \
			for (u32 x = 0; x < width; x++) {                                                              \
				const T v = a[i * width + x];                                                          \
				const T *row = b + column[i * width + x] * n;                                          \
				T *sum = c + i * n;                                                                    \
				for (u32 j = 0; j < n; j++)                                                            \
					sum[j] = step(v, row[j], sum[j]);                                              \
			}                                                                                              \
	}
SPARSE_PRODUCT(f32, f32, MULADD)
SPARSE_PRODUCT(s32, s32, WRAPPING)

/* The product of either kind. */
#define ANY_PRODUCT(T, name)                                                                                           \
	static void any_##name(const struct warp *w, const struct op_list *l, const struct matrix_use *u, T *c,        \
			       const T *a, const T *b)                                                                 \
	{                                                                                                              \
		u8 column[SPARSE_ROWS * SPARSE_WIDTH_MAX];                                                             \
		if (!u->sparse) {                                                                                      \
			product_##name(c, a, b, u->m, u->n, u->k);                                                     \
			return;                                                                                        \
		}                                                                                                      \
		take_columns(w, l, u, column);                                                                         \
		sparse_##name(c, a, b, column, u->n, a_width(u));                                                      \
	}
ANY_PRODUCT(f32, f32)
ANY_PRODUCT(s32, s32)

static void multiply_f32(struct warp *w, const struct op_list *l, const struct matrix_use *u)
{
	struct floats x;

	take_a_f32(w, l, u, x.a);
	take_b_f32(w, l, u, x.b);
	if (u->c.element == EL_f16)
		take_c_f16(w, l, u, x.c);
	else
		take_c_f32(w, l, u, x.c);
	any_f32(w, l, u, x.c, x.a, x.b);
	if (u->d.element == EL_f16)
		give_d_f16(w, l, u, x.c);
	else
		give_d_f32(w, l, u, x.c);
}

/* A power of two, or an e4m3 without a sign. */
static f64 scale_of(u32 bits, bool e4m3)
{
	if (e4m3)
		return (f64)narrow_value(bits & 0x7f, &narrow_e4m3);
	return bits == 255 ? (f64)f32_of(F32_NAN) : f64_of((u64)(bits + 1023 - 127) << 52);
}

/*
 * Scales of `rows` rows, one for each block along the sum: in the bytes of a register from `byte` on, of the lanes
 * that `thread` selects of each four: two for A, with rows r and r + 8, one for B.
 */
static void take_scales(const struct warp *w, const struct op_list *l, const struct matrix_use *u, bool of_b, f64 *to)
{
	const u32 *loc = l->loc + u->scales + (of_b ? 3 : 0), lane = (u32)__builtin_ctz(w->mask);
	const u32 *data = at(w, loc[0]), *byte = at(w, loc[1]), *thread = at(w, loc[2]);

	for (u32 r = 0; r < (of_b ? u->n : u->m); r++) {
		const u32 from = r % 8 * 4 + (of_b ? thread[lane] & 3 : (thread[lane] & 1) * 2 + r / 8);

		for (u32 i = 0; i < u->blocks; i++)
			to[r * 4 + i] = scale_of(data[from] >> ((byte[lane] + i) & 3) * 8 & 255, u->scale_e4m3);
	}
}

/* Each block's sum is exact enough in f32; scaled and added in f64, so that no scale overflows by itself. */
static void multiply_scaled(struct warp *w, const struct op_list *l, const struct matrix_use *u)
{
	const u32 width = a_width(u), each = width / u->blocks; /* a block's elements of A */
	u8 column[SPARSE_ROWS * SPARSE_WIDTH_MAX];
	struct floats x;
	f64 sa[64], sb[32];

	if (u->sparse)
		take_columns(w, l, u, column);
	for (u32 i = 0; !u->sparse && i < u->m * width; i++)
		column[i] = (u8)(i % width);

	take_a_f32(w, l, u, x.a);
	take_b_f32(w, l, u, x.b);
	take_c_f32(w, l, u, x.c);
	take_scales(w, l, u, false, sa);
	take_scales(w, l, u, true, sb);
	for (u32 block = 0; block < u->blocks; block++)
		for (u32 i = 0; i < u->m; i++) {
			f32 sum[8] = { 0 }, *c = x.c + i * u->n;

			for (u32 k = block * each; k < (block + 1) * each; k++)
				for (u32 j = 0; j < 8; j++)
					sum[j] = MULADD(x.a[i * width + k], x.b[column[i * width + k] * u->n + j],
							sum[j]);
			for (u32 j = 0; j < 8; j++)
				c[j] = (f32)((f64)c[j] + (f64)sum[j] * sa[i * 4 + block] * sb[j * 4 + block]);
		}
	give_d_f32(w, l, u, x.c);
}

static void multiply_f64(struct warp *w, const struct op_list *l, const struct matrix_use *u)
{
	f64 a[256], b[128], c[128];
	const u32 rows = u->m / 8;

	for (u32 t = 0; t < u->a.tiles; t++) {
		const f64 *tile = tile_of(w, l, &u->a, t);

		for (u32 i = 0; i < LANES; i++)
			a[(t % rows * 8 + i / 4) * u->k + t / rows * 4 + i % 4] = tile[i];
	}
	for (u32 t = 0; t < u->b.tiles; t++) {
		const f64 *tile = tile_of(w, l, &u->b, t);

		for (u32 i = 0; i < LANES; i++)
			b[(t * 4 + i % 4) * u->n + i / 4] = tile[i];
	}
	take_c_f64(w, l, u, c);
	product_f64(c, a, b, u->m, u->n, u->k);
	give_d_f64(w, l, u, c);
}

static s32 integer_of(const u8 *tile, u32 i, enum element e)
{
	switch (e) {
	case EL_s8:
		return (s8)tile[i];
	case EL_u8:
		return tile[i];
	case EL_s4:
		return (s8)((tile[i / 2] >> i % 2 * 4) << 4) >> 4;
	default:
		return tile[i / 2] >> i % 2 * 4 & 15;
	}
}

/* The sum of an integer product may pass 32 bits only through C, so clamping is done on the sum alone. */
static void clamp_sum(s32 *c, const s32 *before, u32 count)
{
	for (u32 i = 0; i < count; i++) {
		const s64 sum = (s64)before[i] + c[i];

		c[i] = (s32)(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
	}
}

static void multiply_s32(struct warp *w, const struct op_list *l, const struct matrix_use *u)
{
	const u32 rows = u->m / 8, ea = per_row((enum element)u->a.element), deep = u->k / ea, width = a_width(u);
	s32 a[1024], b[1024], c[512], before[512] = { 0 };

	for (u32 t = 0; t < u->a.tiles; t++) {
		const u8 *tile = tile_of(w, l, &u->a, t);

		for (u32 i = 0; i < 8 * ea; i++)
			a[(t % rows * 8 + i / ea) * width + t / rows * ea + i % ea] =
				integer_of(tile, i, (enum element)u->a.element);
	}
	for (u32 t = 0; t < u->b.tiles; t++) {
		const u8 *tile = tile_of(w, l, &u->b, t);

		for (u32 i = 0; i < 8 * ea; i++)
			b[(t % deep * ea + i % ea) * u->n + t / deep * 8 + i / ea] =
				integer_of(tile, i, (enum element)u->b.element);
	}
	take_c_s32(w, l, u, c);
	if (u->saturate) {
		memcpy(before, c, sizeof(c[0]) * u->m * u->n);
		memset(c, 0, sizeof(c[0]) * u->m * u->n);
	}
	any_s32(w, l, u, c, a, b);
	if (u->saturate)
		clamp_sum(c, before, (u32)u->m * u->n);
	give_d_s32(w, l, u, c);
}

/* Single bits: the number of ones of a & b or a ^ b, four words of 32 to a row of a tile. */
static void multiply_b1(struct warp *w, const struct op_list *l, const struct matrix_use *u)
{
	const u32 rows = u->m / 8, deep = u->k == 256 ? 2 : 1;
	s32 c[128];

	take_c_s32(w, l, u, c);
	for (u32 t = 0; t < u->a.tiles; t++) {
		const u32 *a = tile_of(w, l, &u->a, t), *b = tile_of(w, l, &u->b, t / rows % deep);

		for (u32 r = 0; r < 8; r++)
			for (u32 n = 0; n < 8; n++)
				for (u32 i = 0; i < 4; i++) {
					const u32 x = a[r * 4 + i], y = b[n * 4 + i];

					c[(t % rows * 8 + r) * u->n + n] +=
						__builtin_popcount(u->bits_and ? x & y : x ^ y);
				}
	}
	give_d_s32(w, l, u, c);
}

/* The quads 4p to 4p + 3 and 16 + 4p to 16 + 4p + 3 compute product p. */
static void multiply_volta(struct warp *w, const struct op_list *l, const struct matrix_use *u)
{
	f32 a[4][8][4], b[4][4][8], c[4][8][8];

	for (u32 lane = 0; lane < LANES; lane++) {
		const u32 p = lane / 4 % 4, low = lane % 4, high = lane / 16 * 4;

		for (u32 i = 0; i < 4; i++) {
			const u32 *ra = tile_of(w, l, &u->a, i / 2), *rb = tile_of(w, l, &u->b, i / 2);
			const f32 x = h2f(ra[lane] >> i % 2 * 16 & 0xffff), y = h2f(rb[lane] >> i % 2 * 16 & 0xffff);

			if (u->a_col)
				a[p][i + high][low] = x;
			else
				a[p][low + high][i] = x;
			if (u->b_col)
				b[p][i][low + high] = y;
			else
				b[p][low][i + high] = y;
		}
		for (u32 i = 0; i < 8; i++) {
			if (u->c.element == EL_f16) {
				const u32 *r = tile_of(w, l, &u->c, i / 2);

				c[p][low + high][i] = h2f(r[lane] >> i % 2 * 16 & 0xffff);
			} else {
				const f32 *r = tile_of(w, l, &u->c, i);

				c[p][(lane & 1) + (i & 2) + high][(i & 4) + (lane & 2) + (i & 1)] = r[lane];
			}
		}
	}
	for (u32 p = 0; p < 4; p++)
		product_f32(&c[p][0][0], &a[p][0][0], &b[p][0][0], 8, 8, 4);
	for (u32 lane = 0; lane < LANES; lane++) {
		const u32 p = lane / 4 % 4, low = lane % 4, high = lane / 16 * 4;

		if (!(w->mask & lane_bit[lane]))
			continue;
		for (u32 i = 0; i < 8; i++) {
			if (u->d.element == EL_f16) {
				u32 *r = at(w, l->loc[u->d.first + i / 2]);
				const u32 v = f2h(c[p][low + high][i]);

				r[lane] = i % 2 ? (r[lane] & 0xffff) | v << 16 : v;
			} else {
				f32 *r = at(w, l->loc[u->d.first + i]);

				r[lane] = c[p][(lane & 1) + (i & 2) + high][(i & 4) + (lane & 2) + (i & 1)];
			}
		}
	}
}

/* ---- products of a warp group ---- */

#define CHUNK_BYTES 16u /* how shared memory is arranged for them */
#define GROUP_K_MAX 64u /* of a sparse product; A is at most 32 wide */
#define GROUP_A_MAX 32u
#define GROUP_N_MAX 256u
#define GROUP_DEEP 2u /* of a product that is not sparse: 16 bytes along the sum, twice */

/*
 * Where a matrix lies in shared memory, as its descriptor says (PTX ISA, "Matrix Descriptor Format" and "Strides").
 * Rows are M of A or N of B. `swizzle` bits of a chunk's address are mixed with the bits above the 128 bytes.
 */
struct described {
	u32 start, leading, stride, swizzle, base;
	bool transposed; /* rows are neighbours in memory, and not the elements of one */
};

static struct described described_by(u64 d, bool transposed)
{
	static const u8 swizzle[4] = { 0, 3, 2, 1 };

	return (struct described){
		.start = (u32)(d & 0x3fff) << 4,
		.leading = (u32)(d >> 16 & 0x3fff) << 4,
		.stride = (u32)(d >> 32 & 0x3fff) << 4,
		.base = (u32)(d >> 49 & 7),
		.swizzle = swizzle[d >> 62],
		.transposed = transposed,
	};
}

/* The chunk with row i, chunk j along the sum; transposed: with row chunk i and element j of the sum. NULL: a fault. */
static const u8 *described_chunk(struct warp *w, const struct op *o, const struct described *m, u32 i, u32 j)
{
	const struct block *b = w->block;
	const u32 bits = m->swizzle, chunks = 1u << bits, pitch = CHUNK_BYTES << bits;
	u32 at;

	if (!m->transposed)
		at = i % 8 * pitch + i / 8 * m->stride + j * (bits ? CHUNK_BYTES : m->leading);
	else if (bits)
		at = i % chunks * CHUNK_BYTES + i / chunks * m->leading + j % 8 * pitch + j / 8 * m->stride;
	else
		at = j % 8 * CHUNK_BYTES + j / 8 * m->leading + i * m->stride;
	at += m->start;
	at ^= (((at >> 7) - m->base) & (chunks - 1)) << 4;
	if ((u64)at + CHUNK_BYTES <= b->shared_bytes)
		return b->shared + at;
	warp_fault_access(w, PTX_FAULT_ILLEGAL_ADDRESS, o, (u32)__builtin_ctz(w->mask), PTX_SPACE_SHARED, at,
			  CHUNK_BYTES);
	return NULL;
}

static void widen_integers(s32 *to, const void *chunk, u32 bytes, enum element e)
{
	const u8 *byte = chunk;

	for (u32 i = 0; i < bytes; i++)
		to[i] = e == EL_s8 ? (s8)byte[i] : byte[i];
}

/*
 * Rows `first` to first + rows - 1 as values: value (r, k) at to[r * row_step + k * k_step]. False: the launch has got
 * a fault.
 */
#define DESCRIBED(T, name, widen_chunk)                                                                                \
	static bool take_described_##name(struct warp *w, const struct op *o, const struct described *m,               \
					  enum element e, u32 first, u32 rows, u32 deep, T *to, u32 row_step,          \
					  u32 k_step)                                                                  \
	{                                                                                                              \
		const u32 per = e == EL_f16 || e == EL_bf16 ? 8 : e == EL_tf32 ? 4 : 16;                               \
		const u32 lines = m->transposed ? rows / per : rows, across = m->transposed ? deep : deep / per;       \
		const u32 begin = m->transposed ? first / per : first;                                                 \
		T value[CHUNK_BYTES];                                                                                  \
		for (u32 i = 0; i < lines; i++)                                                                        \
			for (u32 j = 0; j < across; j++) {                                                             \
				const u8 *chunk = described_chunk(w, o, m, begin + i, j);                              \
				T *out = to + (m->transposed ? i * per * row_step + j * k_step                         \
							     : i * row_step + j * per * k_step);                       \
				if (!chunk)                                                                            \
					return false;                                                                  \
				widen_chunk(value, chunk, CHUNK_BYTES, e);                                             \
				for (u32 x = 0; x < per; x++)                                                          \
					out[x * (m->transposed ? row_step : k_step)] = value[x];                       \
			}                                                                                              \
		return true;                                                                                           \
	}
DESCRIBED(f32, f32, widen_bytes)
DESCRIBED(s32, s32, widen_integers)

static u64 descriptor(const struct warp *w, u32 loc)
{
	return ((const u64 *)at(w, loc))[__builtin_ctz(w->mask)];
}

static bool counts(const struct warp *w, const struct op *o)
{
	return ((const u32 *)at(w, o->c))[__builtin_ctz(w->mask)];
}

static void group_f32(struct warp *w, const struct op *o, const struct matrix_use *u)
{
	f32 a[16 * GROUP_A_MAX], b[GROUP_K_MAX * GROUP_N_MAX], c[16 * GROUP_N_MAX] __attribute__((aligned(64)));
	const struct described mb = described_by(descriptor(w, o->b), u->b_col);
	const u32 width = a_width(u);

	if (u->a_described) {
		const struct described ma = described_by(descriptor(w, o->a), u->a_col);

		if (!take_described_f32(w, o, &ma, (enum element)u->a.element, w->index % 4 * 16, 16, width, a, width,
					1))
			return;
	} else {
		take_a_f32(w, o->list, u, a);
	}
	if (!take_described_f32(w, o, &mb, (enum element)u->b.element, 0, u->n, u->k, b, 1, u->n))
		return;
	for (u32 i = 0; u->negate && i < 16u * width; i++)
		a[i] = -a[i];
	if (!counts(w, o))
		memset(c, 0, 16 * sizeof(*c) * u->n);
	else if (u->c.element == EL_f16)
		take_c_f16(w, o->list, u, c);
	else
		take_c_f32(w, o->list, u, c);
	any_f32(w, o->list, u, c, a, b);
	if (u->d.element == EL_f16)
		give_d_f16(w, o->list, u, c);
	else
		give_d_f32(w, o->list, u, c);
}

/* A of 8-bit integers, row by row. */
static void take_a_bytes(const struct warp *w, const struct op_list *l, const struct matrix_use *u, s32 *a)
{
	for (u32 t = 0; t < u->a.tiles; t++) {
		const u8 *tile = tile_of(w, l, &u->a, t);

		for (u32 i = 0; i < TILE_BYTES; i++)
			a[(t % 2 * 8 + i / 16) * a_width(u) + t / 2 * 16 + i % 16] =
				integer_of(tile, i, (enum element)u->a.element);
	}
}

static void group_s32(struct warp *w, const struct op *o, const struct matrix_use *u)
{
	s32 a[16 * GROUP_A_MAX], b[GROUP_K_MAX * GROUP_N_MAX], c[16 * GROUP_N_MAX], before[16 * GROUP_N_MAX];
	const struct described mb = described_by(descriptor(w, o->b), false);
	const u32 width = a_width(u);

	if (u->a_described) {
		const struct described ma = described_by(descriptor(w, o->a), false);

		if (!take_described_s32(w, o, &ma, (enum element)u->a.element, w->index % 4 * 16, 16, width, a, width,
					1))
			return;
	} else {
		take_a_bytes(w, o->list, u, a);
	}
	if (!take_described_s32(w, o, &mb, (enum element)u->b.element, 0, u->n, u->k, b, 1, u->n))
		return;
	memset(before, 0, 16 * sizeof(*before) * u->n);
	if (counts(w, o))
		take_c_s32(w, o->list, u, before);
	memcpy(c, before, 16 * sizeof(*c) * u->n);
	if (u->saturate)
		memset(c, 0, 16 * sizeof(*c) * u->n);
	any_s32(w, o->list, u, c, a, b);
	if (u->saturate)
		clamp_sum(c, before, 16u * u->n);
	give_d_s32(w, o->list, u, c);
}

/* Single bits: a row is two chunks. */
static void group_b1(struct warp *w, const struct op *o, const struct matrix_use *u)
{
	const struct described mb = described_by(descriptor(w, o->b), false);
	const struct described ma = u->a_described ? described_by(descriptor(w, o->a), false) : mb;
	u64 a[16][4], b[4];
	s32 c[16 * GROUP_N_MAX];

	memset(c, 0, 16 * sizeof(*c) * u->n);
	if (counts(w, o))
		take_c_s32(w, o->list, u, c);
	for (u32 r = 0; r < 16; r++)
		for (u32 j = 0; j < 2; j++) {
			const u8 *from = u->a_described
						 ? described_chunk(w, o, &ma, w->index % 4 * 16 + r, j)
						 : (const u8 *)tile_of(w, o->list, &u->a, r / 8 + j * 2) + r % 8 * 16;

			if (!from)
				return;
			memcpy(&a[r][j * 2], from, CHUNK_BYTES);
		}
	for (u32 n = 0; n < u->n; n++) {
		for (u32 j = 0; j < 2; j++) {
			const u8 *from = described_chunk(w, o, &mb, n, j);

			if (!from)
				return;
			memcpy(&b[j * 2], from, CHUNK_BYTES);
		}
		for (u32 r = 0; r < 16; r++)
			for (u32 x = 0; x < 4; x++)
				c[r * u->n + n] += __builtin_popcountll(a[r][x] & b[x]);
	}
	give_d_s32(w, o->list, u, c);
}

#ifdef HOST_HAS_QUADS
/*
 * Eight rows with the 16 bytes number `deep` along the sum, as a tile lies in registers. False: some are outside of
 * shared memory.
 */
static inline bool described_tile(const struct block *b, const struct described *m, u32 row, u32 deep, u32 *tile)
{
	const u32 bits = m->swizzle, chunks = 1u << bits, pitch = CHUNK_BYTES << bits;
	u32 first, step = pitch;

	if (!m->transposed) {
		first = row * m->stride + deep * (bits ? CHUNK_BYTES : m->leading);
	} else if (bits) {
		first = row % chunks * CHUNK_BYTES + row / chunks * m->leading + deep * m->stride;
	} else {
		first = deep * m->leading + row * m->stride;
		step = CHUNK_BYTES;
	}
	for (u32 i = 0; i < 8; i++) {
		u32 at = m->start + first + i * step;

		at ^= (((at >> 7) - m->base) & (chunks - 1)) << 4;
		if ((u64)at + CHUNK_BYTES > b->shared_bytes)
			return false;
		memcpy(tile + i * 4, b->shared + at, CHUNK_BYTES);
	}
	if (m->transposed)
		tile_turn(tile, tile);
	return true;
}

/* False: it is of another kind, or an operand is outside of shared memory. */
static bool quads_group(struct warp *w, const struct op *o, const struct matrix_use *u)
{
	const struct described mb = described_by(descriptor(w, o->b), u->b_col);
	const struct described ma = described_by(u->a_described ? descriptor(w, o->a) : 0, u->a_col);
	u32 a[2 * GROUP_DEEP][LANES] __attribute__((aligned(64))), b[QUAD_TILES_B][LANES] __attribute__((aligned(64)));
	struct quad_tiles tiles;

	if (u->sparse || u->a.element == EL_b1)
		return false;
	for (u32 t = 0; t < 2 * GROUP_DEEP; t++) {
		tiles.a[t] = u->a_described ? a[t] : tile_of(w, o->list, &u->a, t);
		if (u->a_described && !described_tile(w->block, &ma, w->index % 4 * 2 + t % 2, t / 2, a[t]))
			return false;
	}
	for (u32 t = 0; t < u->n / 8u * GROUP_DEEP; t++) {
		tiles.b[t] = b[t];
		if (!described_tile(w->block, &mb, t / GROUP_DEEP, t % GROUP_DEEP, b[t]))
			return false;
	}
	if (u->a.element == EL_s8 || u->a.element == EL_u8)
		quads_multiply_s32(w, o->list, u, &tiles, GROUP_DEEP, counts(w, o));
	else
		quads_multiply_f32(w, o->list, u, &tiles, GROUP_DEEP, counts(w, o));
	return true;
}
#else
static bool quads_group(struct warp *w, const struct op *o, const struct matrix_use *u)
{
	(void)w;
	(void)o;
	(void)u;
	return false;
}
#endif

static void multiply_group(struct warp *w, const struct op *o, const struct matrix_use *u)
{
	if (quads_group(w, o, u))
		return;
	switch ((enum element)u->a.element) {
	case EL_s8:
	case EL_u8:
		group_s32(w, o, u);
		break;
	case EL_b1:
		group_b1(w, o, u);
		break;
	default:
		group_f32(w, o, u);
	}
}

extern exec_fn ISA_NAME(matrix_multiply);
void ISA_NAME(matrix_multiply)(struct warp *w, const struct op *o)
{
	const struct matrix_use *u = o->list->what;

	if (u->group) {
		multiply_group(w, o, u);
		return;
	}
	if (quads_multiply(w, o->list, u))
		return;
	if (u->blocks) {
		multiply_scaled(w, o->list, u);
		return;
	}
	switch ((enum element)u->a.element) {
	case EL_f64:
		multiply_f64(w, o->list, u);
		break;
	case EL_b1:
		multiply_b1(w, o->list, u);
		break;
	case EL_s8:
	case EL_u8:
	case EL_s4:
	case EL_u4:
		multiply_s32(w, o->list, u);
		break;
	default:
		(u->volta ? multiply_volta : multiply_f32)(w, o->list, u);
	}
}
