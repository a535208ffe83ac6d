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
#include "softdev/ptx/narrow.h"

struct floats {
	f32 a[512], b[512], c[512] __attribute__((aligned(64)));
};

#if defined(__FMA__) || defined(__aarch64__)
#define MULADD(a, b, c) fmaf(a, b, c)
#else
#define MULADD(a, b, c) ((a) * (b) + (c))
#endif

/* One tile register -> 8 rows of e values, e = count / 8. */
static void widen(f32 *to, const void *tile, enum element element)
{
	const u16 *half = tile;
	const u8 *byte = tile;
	const u32 *word = tile;

	switch (element) {
	case EL_f16:
		for (u32 i = 0; i < 64; i++)
			to[i] = h2f(half[i]);
		break;
	case EL_bf16:
		for (u32 i = 0; i < 64; i++)
			to[i] = b2f(half[i]);
		break;
	case EL_tf32: /* the lower bits are not looked at */
		for (u32 i = 0; i < 32; i++)
			to[i] = f32_of(word[i] & ~0x1fffu);
		break;
	case EL_e4m3:
		for (u32 i = 0; i < 128; i++)
			to[i] = narrow_value(byte[i], &narrow_e4m3);
		break;
	default:
		for (u32 i = 0; i < 128; i++)
			to[i] = narrow_value(byte[i], &narrow_e5m2);
	}
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

/* A, row by row. */
static void take_a_f32(const struct warp *w, const struct op_list *l, const struct matrix_use *u, f32 *a)
{
	const u32 rows = u->m / 8, e = per_row((enum element)u->a.element);
	f32 tile[128];

	for (u32 t = 0; t < u->a.tiles; t++) {
		widen(tile, tile_of(w, l, &u->a, t), (enum element)u->a.element);
		for (u32 r = 0; r < 8; r++)
			memcpy(a + ((t % rows) * 8 + r) * u->k + t / rows * e, tile + r * e, e * sizeof(*a));
	}
}

/* B, row by row: a tile holds columns. */
static void take_b_f32(const struct warp *w, const struct op_list *l, const struct matrix_use *u, f32 *b)
{
	const u32 e = per_row((enum element)u->b.element), deep = u->k / e;
	f32 tile[128];

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

static void multiply_f32(struct warp *w, const struct op_list *l, const struct matrix_use *u)
{
	struct floats x;

	take_a_f32(w, l, u, x.a);
	take_b_f32(w, l, u, x.b);
	if (u->c.element == EL_f16)
		take_c_f16(w, l, u, x.c);
	else
		take_c_f32(w, l, u, x.c);
	product_f32(x.c, x.a, x.b, u->m, u->n, u->k);
	if (u->d.element == EL_f16)
		give_d_f16(w, l, u, x.c);
	else
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
	const u32 rows = u->m / 8, ea = per_row((enum element)u->a.element), deep = u->k / ea;
	s32 a[1024], b[512], c[512], before[512] = { 0 };

	for (u32 t = 0; t < u->a.tiles; t++) {
		const u8 *tile = tile_of(w, l, &u->a, t);

		for (u32 i = 0; i < 8 * ea; i++)
			a[(t % rows * 8 + i / ea) * u->k + t / rows * ea + i % ea] =
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
	product_s32(c, a, b, u->m, u->n, u->k);
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

extern exec_fn ISA_NAME(matrix_multiply);
void ISA_NAME(matrix_multiply)(struct warp *w, const struct op *o)
{
	const struct matrix_use *u = o->list->what;

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
