/*
 * matrix_quad.h: products of fragments as they lie in registers, for hosts with vectors of 8 or 16 lanes. matrix.c
 * includes it; it does the rest (sparse products, scales, f64, single bits), and all where there are no such vectors.
 *
 * A quad is four neighbouring lanes, 128 bits of a vector. In a tile of A a quad is a row, in an accumulator it is
 * columns 0, 2, 4, 6 or 1, 3, 5, 7 of a row. So one step of a row's sum is: the element of A spread over its quad,
 * times a quad of B's row that all rows share. Accumulators stay where they are; of B's tiles, whose quads are columns,
 * the quads of rows are made first. An element of the sum is number `plane` in the register of its lane.
 *
 * Each sum is computed as matrix.c does it: exact products, added one after the other with a fused multiply-add.
 * Integers may be added in any order; they take the host's dot products of bytes where it has them.
 */
#pragma once

#include "softdev/ptx/fp.h"
#include "softdev/ptx/matrix.h"
#include "softdev/ptx/narrow.h"

#if defined(__AVX2__) && defined(__FMA__)

#define HOST_HAS_QUADS
#define QUAD_TILES_A 16u /* of four-bit integers, unpacked */
#define QUAD_TILES_B 64u
#define QUAD_PLANES_MAX 4u
#define QUAD_SUMS_MAX 128u
#define TILE_WORDS 32u

#if defined(__AVX512F__)
#define VECTOR 16u
#define ROWS_AT_ONCE 2u
typedef __m512 vf;
typedef __m512i vi;
#define VI(op) _mm512_##op
#define SPREAD_F(x, c) _mm512_permute_ps(x, (c)*0x55)
#define SPREAD_I(x, c) _mm512_shuffle_epi32(x, (_MM_PERM_ENUM)((c)*0x55))
#define SHARED_F(p) _mm512_broadcast_f32x4(_mm_load_ps(p))
#define SHARED_I(p) _mm512_broadcast_i32x4(_mm_load_si128((const __m128i *)(p)))
#define LOAD_I(p) _mm512_load_si512(p)
#define STORE_I(p, x) _mm512_store_si512(p, x)
#else
#define VECTOR 8u
#define ROWS_AT_ONCE 1u
typedef __m256 vf;
typedef __m256i vi;
#define VI(op) _mm256_##op
#define SPREAD_F(x, c) _mm256_permute_ps(x, (c)*0x55)
#define SPREAD_I(x, c) _mm256_shuffle_epi32(x, (c)*0x55)
#define SHARED_F(p) _mm256_broadcast_ps((const __m128 *)(p))
#define SHARED_I(p) _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(p)))
#define LOAD_I(p) _mm256_load_si256((const __m256i *)(p))
#define STORE_I(p, x) _mm256_store_si256((__m256i *)(p), x)
#endif
#define VECTORS (LANES / VECTOR) /* of a register */

/* A product, its operands as f32 or as parts of integers; `deep` tiles along the sum. */
struct quads {
	u32 rows, columns, deep; /* in tiles */
	const void *a;		 /* of each tile, downwards first: planes of 32 lanes */
	const void *b;		 /* of each, along the sum first: for each lane of a quad planes of two quads */
	void *sum[QUAD_SUMS_MAX];
};

/*
 * sum += a * b for all tiles. STEP(x, y, sum) is one step; `target` is what else of the host the function may use.
 * Rows of two tiles at once have enough sums under way to hide the latency of a step.
 */
#define QUAD_PRODUCT(name, target, T, V, LOAD, STORE, SPREAD, SHARED, STEP)                                            \
	target static inline __attribute__((always_inline)) void name##_tiles(                                         \
		const struct quads *q, u32 column, u32 row, const u32 planes, const u32 tiles)                         \
	{                                                                                                              \
		V sum[ROWS_AT_ONCE][2][VECTORS];                                                                       \
		T *const *at = (T *const *)q->sum + (column * q->rows + row) * 2;                                      \
		for (u32 t = 0; t < tiles; t++)                                                                        \
			for (u32 v = 0; v < VECTORS; v++) {                                                            \
				sum[t][0][v] = LOAD(at[t * 2] + v * VECTOR);                                           \
				sum[t][1][v] = LOAD(at[t * 2 + 1] + v * VECTOR);                                       \
			}                                                                                              \
		for (u32 deep = 0; deep < q->deep; deep++) {                                                           \
			const T *a = (const T *)q->a + (deep * q->rows + row) * planes * LANES;                        \
			const T *b = (const T *)q->b + (column * q->deep + deep) * planes * LANES;                     \
			name##_steps(sum, a, b, 0, planes, tiles);                                                     \
			name##_steps(sum, a, b, 1, planes, tiles);                                                     \
			name##_steps(sum, a, b, 2, planes, tiles);                                                     \
			name##_steps(sum, a, b, 3, planes, tiles);                                                     \
		}                                                                                                      \
		for (u32 t = 0; t < tiles; t++)                                                                        \
			for (u32 v = 0; v < VECTORS; v++) {                                                            \
				STORE(at[t * 2] + v * VECTOR, sum[t][0][v]);                                           \
				STORE(at[t * 2 + 1] + v * VECTOR, sum[t][1][v]);                                       \
			}                                                                                              \
	}                                                                                                              \
	target static inline                                                                                           \
		__attribute__((always_inline)) void name##_planes(const struct quads *q, const u32 planes)             \
	{                                                                                                              \
		for (u32 column = 0; column < q->columns; column++) {                                                  \
			u32 row = 0;                                                                                   \
			for (; row + ROWS_AT_ONCE <= q->rows; row += ROWS_AT_ONCE)                                     \
				name##_tiles(q, column, row, planes, ROWS_AT_ONCE);                                    \
			for (; row < q->rows; row++)                                                                   \
				name##_tiles(q, column, row, planes, 1);                                               \
		}                                                                                                      \
	}                                                                                                              \
	target static void name(const struct quads *q, u32 planes)                                                     \
	{                                                                                                              \
		switch (planes) {                                                                                      \
		case 1:                                                                                                \
			name##_planes(q, 1);                                                                           \
			break;                                                                                         \
		case 2:                                                                                                \
			name##_planes(q, 2);                                                                           \
			break;                                                                                         \
		default:                                                                                               \
			name##_planes(q, 4);                                                                           \
		}                                                                                                      \
	}

/* The steps of lane c of the quads: elements c * planes to c * planes + planes - 1 of a tile. */
#define QUAD_STEPS(name, target, T, V, LOAD, SPREAD, SHARED, STEP)                                                     \
	target static inline __attribute__((always_inline)) void name##_steps(                                         \
		V sum[][2][VECTORS], const T *a, const T *b, const int c, const u32 planes, const u32 tiles)           \
	{                                                                                                              \
		for (u32 p = 0; p < planes; p++) {                                                                     \
			const T *quad = b + ((u32)c * planes + p) * 8;                                                 \
			const V even = SHARED(quad), odd = SHARED(quad + 4);                                           \
			for (u32 t = 0; t < tiles; t++)                                                                \
				for (u32 v = 0; v < VECTORS; v++) {                                                    \
					const T *from = a + (t * planes + p) * LANES + v * VECTOR;                     \
					const V x = c == 0   ? SPREAD(LOAD(from), 0)                                   \
						    : c == 1 ? SPREAD(LOAD(from), 1)                                   \
						    : c == 2 ? SPREAD(LOAD(from), 2)                                   \
							     : SPREAD(LOAD(from), 3);                                  \
					sum[t][0][v] = STEP(x, even, sum[t][0][v]);                                    \
					sum[t][1][v] = STEP(x, odd, sum[t][1][v]);                                     \
				}                                                                                      \
		}                                                                                                      \
	}
#define QUADS(name, target, T, V, LOAD, STORE, SPREAD, SHARED, STEP)                                                   \
	QUAD_STEPS(name, target, T, V, LOAD, SPREAD, SHARED, STEP)                                                     \
	QUAD_PRODUCT(name, target, T, V, LOAD, STORE, SPREAD, SHARED, STEP)

#define STEP_F32(x, y, sum) VI(fmadd_ps)(x, y, sum)
QUADS(quads_f32, , f32, vf, VI(load_ps), VI(store_ps), SPREAD_F, SHARED_F, STEP_F32)

/* Pairs of 16 bits. */
#define STEP_PAIRS(x, y, sum) VI(add_epi32)(sum, VI(madd_epi16)(x, y))
QUADS(quads_pairs, , s32, vi, LOAD_I, STORE_I, SPREAD_I, SHARED_I, STEP_PAIRS)

#if defined(__AVX512F__)
#define QUADS_BYTES
/* Four bytes: of A without a sign and of B with one, or the other way round. */
#define VNNI __attribute__((target("avx512vnni")))
#define STEP_BYTES(x, y, sum) _mm512_dpbusd_epi32(sum, x, y)
#define STEP_BYTES_TURNED(x, y, sum) _mm512_dpbusd_epi32(sum, y, x)
QUADS(quads_bytes, VNNI, s32, vi, LOAD_I, STORE_I, SPREAD_I, SHARED_I, STEP_BYTES)
QUADS(quads_bytes_turned, VNNI, s32, vi, LOAD_I, STORE_I, SPREAD_I, SHARED_I, STEP_BYTES_TURNED)
#endif

/* ---- operands ---- */

/* Elements in a register. */
static inline u32 quad_planes(enum element e)
{
	return e == EL_tf32 ? 1 : e == EL_f16 || e == EL_bf16 ? 2 : 4;
}

static inline f32 e4m3_value(u32 x)
{
	const u32 rest = x & 0x7f, r = bits32(f32_of(rest << 20) * 0x1p120f) | (x & 0x80) << 24;

	return f32_of(rest == 0x7f ? F32_NAN : r);
}

/* Formats of numbers alone: their exponent and mantissa at the place of f32's. */
static inline void plane_numbers(f32 *to, const u32 *tile, u32 shift, const struct narrow *n)
{
	const u32 bits = n->exponent + n->mantissa;
	const f32 scale = f32_of((254 - n->bias) << 23);

	EACH_LANE
	{
		const u32 x = tile[i] >> shift;
		const f32 r = f32_of((x & ((1u << bits) - 1)) << (23 - n->mantissa)) * scale;

		to[i] = f32_of(bits32(r) | (x >> bits & 1) << 31);
	}
}

static inline void planes_f16(f32 *to, const u32 *tile)
{
#if defined(__AVX512F__)
	for (u32 i = 0; i < LANES; i += VECTOR) {
		const __m512i x = _mm512_loadu_si512(tile + i);

		_mm512_store_ps(to + i, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x)));
		_mm512_store_ps(to + LANES + i, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(x, 16))));
	}
#else
	EACH_LANE
	to[i] = h2f(tile[i] & 0xffff);
	EACH_LANE
	to[LANES + i] = h2f(tile[i] >> 16);
#endif
}

/* The planes of a tile. */
static void quad_widen(f32 *to, const u32 *tile, enum element e)
{
	const u32 planes = quad_planes(e);

	switch (e) {
	case EL_f16:
		planes_f16(to, tile);
		return;
	case EL_bf16:
		EACH_LANE
		to[i] = f32_of(tile[i] << 16);
		EACH_LANE
		to[LANES + i] = f32_of(tile[i] & 0xffff0000u);
		return;
	case EL_tf32: /* the lower bits are not looked at */
		EACH_LANE
		to[i] = f32_of(tile[i] & ~0x1fffu);
		return;
	default:
		break;
	}
	for (u32 p = 0; p < planes; p++, to += LANES)
		switch (e) {
		case EL_e4m3:
			EACH_LANE
			to[i] = e4m3_value(tile[i] >> p * 8);
			break;
		case EL_e3m2:
			plane_numbers(to, tile, p * 8, &narrow_e3m2);
			break;
		case EL_e2m3:
			plane_numbers(to, tile, p * 8, &narrow_e2m3);
			break;
		case EL_e2m1_byte:
			plane_numbers(to, tile, p * 8 + 2, &narrow_e2m1);
			break;
		default: /* e5m2 is the upper half of an f16 */
			EACH_LANE
			to[i] = h2f(tile[i] >> p * 8 << 8 & 0xff00);
		}
}

/* From planes of columns to the quads of rows: place (4 n + c) of plane p becomes place n / 2 of a quad. */
static void quad_turn(void *to, const void *planes, u32 count)
{
	for (u32 p = 0; p < count; p++) {
		const f32 *from = (const f32 *)planes + p * LANES;
		f32 *out = (f32 *)to + p * 8;
		const u32 step = count * 8;
#if defined(__AVX512F__)
		const __m512i first = _mm512_setr_epi32(0, 8, 16, 24, 4, 12, 20, 28, 1, 9, 17, 25, 5, 13, 21, 29);
		const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(2));
		const __m512 x = _mm512_load_ps(from), y = _mm512_load_ps(from + 16);
		const __m512 r = _mm512_permutex2var_ps(x, first, y), s = _mm512_permutex2var_ps(x, second, y);

		_mm256_store_ps(out, _mm512_castps512_ps256(r));
		_mm256_store_ps(out + step, _mm512_extractf32x8_ps(r, 1));
		_mm256_store_ps(out + step * 2, _mm512_castps512_ps256(s));
		_mm256_store_ps(out + step * 3, _mm512_extractf32x8_ps(s, 1));
#else
		for (u32 odd = 0; odd < 2; odd++) {
			__m128 r0 = _mm_load_ps(from + odd * 4), r1 = _mm_load_ps(from + odd * 4 + 8);
			__m128 r2 = _mm_load_ps(from + odd * 4 + 16), r3 = _mm_load_ps(from + odd * 4 + 24);

			_MM_TRANSPOSE4_PS(r0, r1, r2, r3);
			_mm_store_ps(out + odd * 4, r0);
			_mm_store_ps(out + odd * 4 + step, r1);
			_mm_store_ps(out + odd * 4 + step * 2, r2);
			_mm_store_ps(out + odd * 4 + step * 3, r3);
		}
#endif
	}
}

/* ---- accumulators ---- */

/* Sums of 32 bits that are computed in the registers themselves: the result goes where C is. */
static inline bool quads_in_place(const struct warp *w, const struct op_list *l, const struct matrix_use *u, bool adds)
{
	if (w->mask != ~0u || u->saturate || u->c.element == EL_f16 || u->d.element == EL_f16)
		return false;
	return !adds || !memcmp(l->loc + u->c.first, l->loc + u->d.first, u->d.count * sizeof(l->loc[0]));
}

/* Pointers to the sums, with C in them: registers, or `room`. */
static void quads_take_sums(struct warp *w, const struct op_list *l, const struct matrix_use *u, bool adds,
			    bool in_place, void *room, struct quads *q)
{
	const bool half = u->c.element == EL_f16;

	for (u32 t = 0; t < q->rows * q->columns * 2; t++) {
		u32 *sum = in_place ? at(w, l->loc[u->d.first + t]) : (u32 *)room + t * LANES;
		const u32 *c = adds ? at(w, l->loc[u->c.first + (half ? t / 2 : t)]) : NULL;

		q->sum[t] = sum;
		if (!adds)
			memset(sum, 0, LANES * sizeof(*sum));
		else if (half && t % 2)
			EACH_LANE
		sum[i] = bits32(h2f(c[i] >> 16));
		else if (half) EACH_LANE sum[i] = bits32(h2f(c[i] & 0xffff));
		else if (!in_place) memcpy(sum, c, LANES * sizeof(*sum));
	}
}

static void quads_give_sums(struct warp *w, const struct op_list *l, const struct matrix_use *u, const struct quads *q)
{
	const bool half = u->d.element == EL_f16;
	u32 lanes[LANES] __attribute__((aligned(64)));

	lanes_of(lanes, w->mask);
	for (u32 t = 0; t < q->rows * q->columns * (half ? 1 : 2); t++) {
		u32 *d = at(w, l->loc[u->d.first + t]);
		const u32 *sum = q->sum[t];
		const f32 *even = q->sum[t * 2 % QUAD_SUMS_MAX], *odd = q->sum[(t * 2 + 1) % QUAD_SUMS_MAX];

		if (half)
			EACH_LANE
		d[i] = lanes[i] ? f2h(even[i]) | f2h(odd[i]) << 16 : d[i];
		else EACH_LANE d[i] = lanes[i] ? sum[i] : d[i];
	}
}

/* Where the tiles of A and B are. */
struct quad_tiles {
	const u32 *a[QUAD_TILES_A], *b[QUAD_TILES_B];
};

static void quad_tiles_of(const struct warp *w, const struct op_list *l, const struct matrix_use *u,
			  struct quad_tiles *ret)
{
	for (u32 t = 0; t < u->a.tiles; t++)
		ret->a[t] = at(w, l->loc[u->a.first + t]);
	for (u32 t = 0; t < u->b.tiles; t++)
		ret->b[t] = at(w, l->loc[u->b.first + t]);
}

/* ---- products ---- */

/* The places of sums, a kilobyte, are left as they are. */
static inline void quads_shape(struct quads *q, const struct matrix_use *u, u32 deep)
{
	q->rows = u->m / 8;
	q->columns = u->n / 8;
	q->deep = deep;
}

/* f32 sums. `adds`: C counts. */
static void quads_multiply_f32(struct warp *w, const struct op_list *l, const struct matrix_use *u,
			       const struct quad_tiles *tiles, u32 deep, bool adds)
{
	const u32 planes = quad_planes((enum element)u->a.element);
	const bool in_place = quads_in_place(w, l, u, adds);
	struct quads q;
	f32 a[QUAD_TILES_A * 2 * LANES] __attribute__((aligned(64)));
	f32 b[QUAD_TILES_B * QUAD_PLANES_MAX * LANES] __attribute__((aligned(64)));
	f32 plane[QUAD_PLANES_MAX * LANES] __attribute__((aligned(64)));
	u32 room[QUAD_SUMS_MAX * LANES] __attribute__((aligned(64)));

	quads_shape(&q, u, deep);
	for (u32 t = 0; t < q.rows * deep; t++)
		quad_widen(a + t * planes * LANES, tiles->a[t], (enum element)u->a.element);
	for (u32 i = 0; u->negate && i < q.rows * deep * planes * LANES; i++)
		a[i] = -a[i];
	for (u32 t = 0; t < q.columns * deep; t++) {
		quad_widen(plane, tiles->b[t], (enum element)u->b.element);
		quad_turn(b + t * planes * LANES, plane, planes);
	}
	q.a = a;
	q.b = b;
	quads_take_sums(w, l, u, adds, in_place, room, &q);
	quads_f32(&q, planes);
	if (!in_place)
		quads_give_sums(w, l, u, &q);
}

static inline bool quad_signed(enum element e)
{
	return e == EL_s8 || e == EL_s4;
}

/* Registers of bytes that a tile of integers becomes: of those of four bits the even and the odd ones. */
static inline u32 quad_parts(enum element e)
{
	return e == EL_s4 || e == EL_u4 ? 2 : 1;
}

static inline u32 quad_part(u32 x, u32 part, enum element e)
{
	if (e != EL_s4 && e != EL_u4)
		return x;
	x = x >> part * 4 & 0x0f0f0f0fu;
	return e == EL_s4 ? x | (x & 0x08080808u) * 0x1e : x;
}

/* The bytes of a tile's part, with `mix` in each; or its even and its odd bytes as pairs of 16 bits. */
static void quad_bytes(s32 *to, const u32 *tile, u32 part, enum element e, u32 mix)
{
	EACH_LANE
	to[i] = (s32)(quad_part(tile[i], part, e) ^ mix);
}

static void quad_pairs(s32 *to, const u32 *tile, u32 part, enum element e)
{
	const bool with_sign = quad_signed(e);

	EACH_LANE
	{
		const u32 x = quad_part(tile[i], part, e), even = x & 0x00ff00ffu, odd = x >> 8 & 0x00ff00ffu;

		to[i] = (s32)(with_sign ? even | (even & 0x00800080u) * 0x1fe : even);
		to[LANES + i] = (s32)(with_sign ? odd | (odd & 0x00800080u) * 0x1fe : odd);
	}
}

#ifdef QUADS_BYTES
/*
 * Bytes without a sign times bytes with one is what the host has. Where both have one, A has got 128 more, which is
 * taken away here: 128 times the sum of B's column. Where none has one, B has got 128 less.
 */
VNNI static void quads_lessen(const struct quads *q)
{
	const __m512i offset = _mm512_set1_epi8((char)-128);

	for (u32 column = 0; column < q->columns; column++) {
		const s32 *b = (const s32 *)q->b + column * q->deep * LANES;
		__m512i all = _mm512_setzero_si512(), even, odd;
		s32 each[8] __attribute__((aligned(32)));

		for (u32 i = 0; i < q->deep * LANES; i += 16)
			all = _mm512_dpbusd_epi32(all, offset, _mm512_load_si512(b + i));
		_mm256_store_si256((__m256i *)each,
				   _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1)));
		even = SHARED_I(each);
		odd = SHARED_I(each + 4);
		for (u32 row = 0; row < q->rows; row++)
			for (u32 v = 0; v < LANES; v += VECTOR) {
				s32 *first = (s32 *)q->sum[(column * q->rows + row) * 2] + v;
				s32 *second = (s32 *)q->sum[(column * q->rows + row) * 2 + 1] + v;

				STORE_I(first, _mm512_sub_epi32(LOAD_I(first), even));
				STORE_I(second, _mm512_sub_epi32(LOAD_I(second), odd));
			}
	}
}

VNNI static void quads_raise(const struct quads *q)
{
	const __m512i one = _mm512_set1_epi8(1);

	for (u32 row = 0; row < q->rows; row++)
		for (u32 v = 0; v < LANES; v += VECTOR) {
			__m512i all = _mm512_setzero_si512();

			for (u32 deep = 0; deep < q->deep; deep++)
				all = _mm512_dpbusd_epi32(
					all, LOAD_I((const s32 *)q->a + (deep * q->rows + row) * LANES + v), one);
			all = _mm512_add_epi32(all, _mm512_shuffle_epi32(all, (_MM_PERM_ENUM)0xb1)); /* of the quad */
			all = _mm512_add_epi32(all, _mm512_shuffle_epi32(all, (_MM_PERM_ENUM)0x4e));
			all = _mm512_slli_epi32(all, 7);
			for (u32 t = 0; t < q->columns * 2; t++) {
				s32 *sum = (s32 *)q->sum[(t / 2 * q->rows + row) * 2 + t % 2] + v;

				STORE_I(sum, _mm512_add_epi32(LOAD_I(sum), all));
			}
		}
}

static bool host_has_vnni(void)
{
	static int has; /* 0: not asked yet */

	if (!__atomic_load_n(&has, __ATOMIC_RELAXED))
		__atomic_store_n(&has, __builtin_cpu_supports("avx512vnni") ? 1 : -1, __ATOMIC_RELAXED);
	return __atomic_load_n(&has, __ATOMIC_RELAXED) > 0;
}
#endif

/* sum = the result of .satfinite: clamped when C is added, which alone can pass 32 bits. */
static void quads_clamp(struct warp *w, const struct op_list *l, const struct matrix_use *u, const struct quads *q)
{
	for (u32 t = 0; t < q->rows * q->columns * 2; t++) {
		const s32 *c = at(w, l->loc[u->c.first + t]);
		s32 *sum = q->sum[t];

		EACH_LANE
		{
			const s32 r = (s32)((u32)c[i] + (u32)sum[i]), bound = c[i] < 0 ? INT32_MIN : INT32_MAX;

			sum[i] = ((c[i] ^ r) & (sum[i] ^ r)) < 0 ? bound : r;
		}
	}
}

#ifdef QUADS_BYTES
/* Of the sums of 8 or 16 rows and 8 columns, which stay in registers of the host. */
struct square {
	vi sum[2][2][VECTORS]; /* of rows 0 to 7 and 8 to 15: even and odd columns */
	vi less[2];	       /* what A has got too much, times B */
};

/* Lane c of the quads of a tile of A, four of its bytes, times those of each column of B. */
VNNI static inline __attribute__((always_inline)) void square_step(struct square *s, vi a[2][VECTORS], vi low, vi high,
								   const int c, const u32 rows, const bool lessens)
{
	static const s32 columns[VECTOR]
		__attribute__((aligned(64))) = { 0, 8, 16, 24, 0, 8, 16, 24, 0, 8, 16, 24, 0, 8, 16, 24 };
	const vi from = _mm512_add_epi32(LOAD_I(columns), _mm512_set1_epi32(c)), offset = _mm512_set1_epi8((char)-128);
	const vi even = _mm512_permutex2var_epi32(low, from, high);
	const vi odd = _mm512_permutex2var_epi32(low, _mm512_add_epi32(from, _mm512_set1_epi32(4)), high);

	if (lessens) {
		s->less[0] = _mm512_dpbusd_epi32(s->less[0], offset, even);
		s->less[1] = _mm512_dpbusd_epi32(s->less[1], offset, odd);
	}
	for (u32 row = 0; row < rows; row++)
		for (u32 v = 0; v < VECTORS; v++) {
			const vi x = c == 0   ? SPREAD_I(a[row][v], 0)
				     : c == 1 ? SPREAD_I(a[row][v], 1)
				     : c == 2 ? SPREAD_I(a[row][v], 2)
					      : SPREAD_I(a[row][v], 3);

			s->sum[row][0][v] = _mm512_dpbusd_epi32(s->sum[row][0][v], x, even);
			s->sum[row][1][v] = _mm512_dpbusd_epi32(s->sum[row][1][v], x, odd);
		}
}

/* `rows`: tiles of A, each of which is `deep` registers. `lessens`: both have signs, so A has got 128 more. */
VNNI static inline __attribute__((always_inline)) void square_of(struct warp *w, const struct op_list *l,
								 const struct matrix_use *u, const u32 rows,
								 const u32 deep, const bool lessens)
{
	const vi mix = _mm512_set1_epi8(lessens ? (char)-128 : 0);
	struct square s = { .less = { _mm512_setzero_si512(), _mm512_setzero_si512() } };

	for (u32 t = 0; t < rows * 2; t++)
		for (u32 v = 0; v < VECTORS; v++)
			s.sum[t / 2][t % 2][v] = LOAD_I((const s32 *)at(w, l->loc[u->c.first + t]) + v * VECTOR);
	for (u32 d = 0; d < deep; d++) {
		const s32 *b = at(w, l->loc[u->b.first + d]);
		const vi low = LOAD_I(b), high = LOAD_I(b + VECTOR);
		vi a[2][VECTORS];

		for (u32 row = 0; row < rows; row++)
			for (u32 v = 0; v < VECTORS; v++)
				a[row][v] = _mm512_xor_si512(
					LOAD_I((const s32 *)at(w, l->loc[u->a.first + d * rows + row]) + v * VECTOR),
					mix);
		square_step(&s, a, low, high, 0, rows, lessens);
		square_step(&s, a, low, high, 1, rows, lessens);
		square_step(&s, a, low, high, 2, rows, lessens);
		square_step(&s, a, low, high, 3, rows, lessens);
	}
	for (u32 t = 0; t < rows * 2; t++)
		for (u32 v = 0; v < VECTORS; v++)
			STORE_I((s32 *)at(w, l->loc[u->d.first + t]) + v * VECTOR,
				_mm512_sub_epi32(s.sum[t / 2][t % 2][v], s.less[t % 2]));
}

/*
 * Products of 8 or 16 rows and 8 columns of bytes, as quantized models have them, of all lanes. False: it is another
 * one.
 */
VNNI static bool square_multiply(struct warp *w, const struct op_list *l, const struct matrix_use *u)
{
	const bool lessens = u->a.element == EL_s8;
	const u32 rows = u->m / 8u;

	if (w->mask != ~0u || u->saturate || rows > 2 || u->n != 8 || u->a.tiles > rows * 2 || u->b.element != EL_s8 ||
	    (u->a.element != EL_s8 && u->a.element != EL_u8) || !host_has_vnni())
		return false;
	if (rows == 1 && u->a.tiles == 1 && lessens)
		square_of(w, l, u, 1, 1, true);
	else if (rows == 2 && u->a.tiles == 4 && lessens)
		square_of(w, l, u, 2, 2, true);
	else
		square_of(w, l, u, rows, u->a.tiles / rows, lessens);
	return true;
}
#endif

static void quads_multiply_s32(struct warp *w, const struct op_list *l, const struct matrix_use *u,
			       const struct quad_tiles *tiles, u32 deep, bool adds)
{
	const enum element ea = (enum element)u->a.element, eb = (enum element)u->b.element;
	const bool in_place = quads_in_place(w, l, u, adds), sa = quad_signed(ea), sb = quad_signed(eb);
	const u32 parts = quad_parts(ea);
	struct quads q;
	s32 a[QUAD_TILES_A * 2 * LANES] __attribute__((aligned(64)));
	s32 b[QUAD_TILES_B * 2 * LANES] __attribute__((aligned(64)));
	s32 plane[2 * LANES] __attribute__((aligned(64)));
	u32 room[QUAD_SUMS_MAX * LANES] __attribute__((aligned(64)));
	bool bytes = false;

#ifdef QUADS_BYTES
	bytes = host_has_vnni();
#endif
	quads_shape(&q, u, deep * parts);
	for (u32 t = 0; t < q.rows * q.deep; t++) {
		const u32 row = t % q.rows, part = t / q.rows % parts,
			  *tile = tiles->a[t / q.rows / parts * q.rows + row];

		if (bytes)
			quad_bytes(a + t * LANES, tile, part, ea, sa && sb ? 0x80808080u : 0);
		else
			quad_pairs(a + t * 2 * LANES, tile, part, ea);
	}
	for (u32 t = 0; t < q.columns * q.deep; t++) {
		if (bytes)
			quad_bytes(plane, tiles->b[t / parts], t % parts, eb, !sa && !sb ? 0x80808080u : 0);
		else
			quad_pairs(plane, tiles->b[t / parts], t % parts, eb);
		quad_turn(b + t * (bytes ? 1 : 2) * LANES, plane, bytes ? 1 : 2);
	}
	q.a = a;
	q.b = b;
	quads_take_sums(w, l, u, adds && !u->saturate, in_place, room, &q);
#ifdef QUADS_BYTES
	if (bytes && sa && sb)
		quads_lessen(&q);
	if (bytes && !sa && !sb)
		quads_raise(&q);
	if (bytes && sa && !sb)
		quads_bytes_turned(&q, 1);
	else if (bytes)
		quads_bytes(&q, 1);
#endif
	if (!bytes)
		quads_pairs(&q, 2);
	if (u->saturate && adds)
		quads_clamp(w, l, u, &q);
	if (!in_place)
		quads_give_sums(w, l, u, &q);
}

/* The whole instruction mma or wmma. False: it is of another kind. */
static bool quads_multiply(struct warp *w, const struct op_list *l, const struct matrix_use *u)
{
	struct quad_tiles tiles;

	if (u->sparse || u->blocks || u->volta)
		return false;
	switch ((enum element)u->a.element) {
	case EL_f64:
	case EL_b1:
		return false;
	case EL_s8:
	case EL_u8:
	case EL_s4:
	case EL_u4:
#ifdef QUADS_BYTES
		if (square_multiply(w, l, u))
			return true;
#endif
		quad_tiles_of(w, l, u, &tiles);
		quads_multiply_s32(w, l, u, &tiles, u->a.tiles / (u->m / 8u), true);
		return true;
	default:
		quad_tiles_of(w, l, u, &tiles);
		quads_multiply_f32(w, l, u, &tiles, u->a.tiles / (u->m / 8u), true);
		return true;
	}
}

#else

static bool quads_multiply(struct warp *w, const struct op_list *l, const struct matrix_use *u)
{
	(void)w;
	(void)l;
	(void)u;
	return false;
}
#endif
