/*
 * mem.h: loads, stores and atomics of a warp.
 *
 * The addresses of the lanes are examined together first: all equal, consecutive, or scattered. The first two need one
 * check and move the data as vectors. A check tests whether [begin, end) lies in a range that is known to be
 * accessible; warp_reach() finds new ranges. A lane that fails stops the launch with a fault; its result is 0.
 */
#pragma once

#include "softdev/ptx/quads.h"

/* Of all lanes, or of each half of a full warp: blocks of 16 columns make two rows of a warp. */
enum pattern { UNIFORM, ROW, UNIFORM_HALVES, ROW_HALVES, SCATTERED };

struct access {
	u64 address[LANES] __attribute__((aligned(64)));
	u64 first[2]; /* of the first active lane; a full warp: of each half */
	enum pattern pattern;
	bool good; /* everything checked: do it */
};

static inline u32 first_lane(u32 mask)
{
	return (u32)__builtin_ctz(mask);
}

static inline bool in_range(const struct ptx_range *r, u64 begin, u64 end, bool write)
{
	return begin >= r->begin && end <= r->end && end >= begin && !(write && r->read_only);
}

static inline bool reach(struct warp *w, u64 begin, u64 end, bool write)
{
	const struct block *b = w->block;

	return in_range(&b->range[b->range_last], begin, end, write) || warp_reach(w, begin, end, write);
}

/* Checks lane by lane. False: a fault was recorded. */
static __attribute__((noinline)) bool check_scattered(struct warp *w, const struct op *o, struct access *x, u32 bytes,
						      u32 align, bool write)
{
	bool good = true;

	for (u32 i = 0; i < LANES; i++) {
		if (!(w->mask & lane_bit[i]))
			continue;
		w->checked = i;
		if (x->address[i] & (align - 1))
			warp_fault_access(w, PTX_FAULT_MISALIGNED, o, i, PTX_SPACE_DEVICE, x->address[i], bytes);
		else if (o->flags & OP_ATOMIC && warp_off_limits(w, x->address[i]))
			warp_fault_access(w, PTX_FAULT_ADDRESS_SPACE, o, i, PTX_SPACE_DEVICE, x->address[i], bytes);
		else if (!reach(w, x->address[i], x->address[i] + bytes, write))
			warp_fault_access(w, PTX_FAULT_ILLEGAL_ADDRESS, o, i, PTX_SPACE_DEVICE, x->address[i], bytes);
		else
			continue;
		good = false;
	}
	w->checked = LANES;
	return good;
}

/* True if all lanes (inactive ones have the address of an active one) lie in the range that was last used. */
static inline bool in_last_range(const struct warp *w, const struct access *x, u32 bytes, u32 align, bool write)
{
	const struct ptx_range *r = &w->block->range[w->block->range_last];
	const u64 begin = r->begin, last = r->end - begin - bytes;
	const vec64 *a = (const vec64 *)x->address;
	vec64 bad = { 0 };

	if (r->end - begin < bytes || (write && r->read_only))
		return false;
	for (u32 k = 0; k < VEC64_COUNT; k++)
		bad |= (a[k] & (align - 1)) | (vec64)(a[k] - begin > last);
	return vec_is_zero(bad);
}

/* Makes the range of the first lane the last one, for a program that accesses several in turn. */
static __attribute__((noinline)) bool range_follow(struct warp *w, u64 begin, u64 end, bool write)
{
	struct block *b = w->block;

	for (u32 i = 0; i < RANGES; i++) {
		/* where local memory is checked thread by thread, that takes the slow path */
		if ((i == 1 && b->launch->exact) || !in_range(&b->range[i], begin, end, write))
			continue;
		b->range_last = i;
		return true;
	}
	return false;
}

static inline bool reach_aligned(struct warp *w, u64 begin, u64 end, u32 align, bool write)
{
	return !(begin & (align - 1)) && end > begin && reach(w, begin, end, write);
}

/* Determines the pattern of a full warp's addresses. */
static inline void find_pattern(const u64 *p, u64 imm, u32 bytes, struct access *x)
{
	const vec64 *from = (const vec64 *)p, *number = (const vec64 *)half_number64;
	vec64 *address = (vec64 *)x->address, other[2] = { { 0 }, { 0 } }, gap[2] = { { 0 }, { 0 } };

	x->first[0] = p[0] + imm;
	x->first[1] = p[LANES / 2] + imm;
	for (u32 k = 0; k < VEC64_COUNT; k++) {
		const u32 half = k / (VEC64_COUNT / 2);
		const vec64 a = from[k] + imm, off = a - x->first[half];

		address[k] = a;
		other[half] |= off;
		gap[half] |= off ^ number[k] * bytes;
	}
	if (vec_is_zero(other[0] | other[1]))
		x->pattern = x->first[0] == x->first[1] ? UNIFORM : UNIFORM_HALVES;
	else if (vec_is_zero(gap[0] | gap[1]))
		x->pattern = x->first[1] - x->first[0] == LANES / 2 * bytes ? ROW : ROW_HALVES;
	else
		x->pattern = SCATTERED;
}

/* The same for the active lanes; the others get the address of the first one. */
static inline void find_pattern_masked(const struct warp *w, const u64 *p, u64 imm, u32 bytes, struct access *x)
{
	const u32 lane = first_lane(w->mask);
	const u64 first = p[lane] + imm, row = first - (u64)lane * bytes;
	vec64 not_uniform = { 0 }, not_row = { 0 };

	x->first[0] = first;
	for (u32 k = 0; k < VEC64_COUNT; k++) {
		typedef s32 half __attribute__((vector_size(VEC_BYTES / 2)));
		typedef s64 wide __attribute__((vector_size(VEC_BYTES)));
		const vec64 keep = (vec64)__builtin_convertvector(((const half *)w->lanes)[k], wide);
		const vec64 off = (((const vec64 *)p)[k] + imm - first) & keep;

		((vec64 *)x->address)[k] = off + first;
		not_uniform |= off;
		not_row |= (off + first - (row + ((const vec64 *)lane_number64)[k] * bytes)) & keep;
	}
	x->pattern = vec_is_zero(not_uniform) ? UNIFORM : vec_is_zero(not_row) ? ROW : SCATTERED;
}

/* Addresses of generic and global accesses of `bytes` each, checked. */
static inline void find_access(struct warp *w, const struct op *o, u32 loc, u32 bytes, u32 align, bool write,
			       struct access *x)
{
	const bool full = w->mask == ~0u;
	struct block *b = w->block;
	u32 span = bytes;

	if (full)
		find_pattern(at(w, loc), o->imm, bytes, x);
	else
		find_pattern_masked(w, at(w, loc), o->imm, bytes, x);
	switch (x->pattern) {
	case ROW:
		span = bytes * (full ? LANES : 32 - (u32)__builtin_clz(w->mask) - first_lane(w->mask));
		b->sectors += bytes;
		x->good = reach_aligned(w, x->first[0], x->first[0] + span, align, write);
		break;
	case UNIFORM:
		b->sectors += 1;
		x->good = reach_aligned(w, x->first[0], x->first[0] + span, align, write);
		break;
	case ROW_HALVES:
		span = bytes * (LANES / 2);
		b->sectors += bytes;
		x->good = reach_aligned(w, x->first[0], x->first[0] + span, align, write) &&
			  reach_aligned(w, x->first[1], x->first[1] + span, align, write);
		break;
	case UNIFORM_HALVES:
		b->sectors += 2;
		x->good = reach_aligned(w, x->first[0], x->first[0] + span, align, write) &&
			  reach_aligned(w, x->first[1], x->first[1] + span, align, write);
		break;
	case SCATTERED:
		/* far apart, the lanes may lie in different ranges with a gap between them */
		b->sectors += (u32)__builtin_popcount(w->mask);
		x->good = in_last_range(w, x, bytes, align, write) ||
			  (range_follow(w, x->first[0], x->first[0] + bytes, write) &&
			   in_last_range(w, x, bytes, align, write));
	}
	x->good = x->good || check_scattered(w, o, x, bytes, align, write);
}

/* Offsets in shared memory of accesses of `bytes` each, checked. */
struct shared_access {
	u32 offset[LANES] __attribute__((aligned(64)));
	u32 first[2]; /* of the first active lane; a full warp: of each half */
	enum pattern pattern;
	bool good;
};

static __attribute__((noinline)) bool fault_shared(struct warp *w, const struct op *o, const struct shared_access *x,
						   u32 bytes, u32 align)
{
	bool good = true;

	for (u32 i = 0; i < LANES; i++) {
		if (!(w->mask & lane_bit[i]))
			continue;
		if (x->offset[i] & (align - 1))
			warp_fault_access(w, PTX_FAULT_MISALIGNED, o, i, PTX_SPACE_SHARED, x->offset[i], bytes);
		else if ((u64)x->offset[i] + bytes > w->block->shared_bytes)
			warp_fault_access(w, PTX_FAULT_ILLEGAL_ADDRESS, o, i, PTX_SPACE_SHARED, x->offset[i], bytes);
		else
			continue;
		good = false;
	}
	return good;
}

static inline void find_offsets(const u32 *p, u32 imm, u32 bytes, struct shared_access *x)
{
	const vec32 *from = (const vec32 *)p, *number = (const vec32 *)half_number32;
	vec32 *offset = (vec32 *)x->offset, other[2] = { { 0 }, { 0 } }, gap[2] = { { 0 }, { 0 } };

	x->first[0] = p[0] + imm;
	x->first[1] = p[LANES / 2] + imm;
	for (u32 k = 0; k < VEC32_COUNT; k++) {
		const u32 half = k / (VEC32_COUNT / 2);
		const vec32 a = from[k] + imm, off = a - x->first[half];

		offset[k] = a;
		other[half] |= off;
		gap[half] |= off ^ number[k] * bytes;
	}
	if (vec_is_zero((vec64)(other[0] | other[1])))
		x->pattern = x->first[0] == x->first[1] ? UNIFORM : UNIFORM_HALVES;
	else if (vec_is_zero((vec64)(gap[0] | gap[1])))
		x->pattern = x->first[1] - x->first[0] == LANES / 2 * bytes ? ROW : ROW_HALVES;
	else
		x->pattern = SCATTERED;
}

static inline void find_offsets_masked(const struct warp *w, const u32 *p, u32 imm, u32 bytes, struct shared_access *x)
{
	const u32 lane = first_lane(w->mask), first = p[lane] + imm, row = first - lane * bytes;
	vec32 not_uniform = { 0 }, not_row = { 0 };

	x->first[0] = first;
	for (u32 k = 0; k < VEC32_COUNT; k++) {
		const vec32 keep = ((const vec32 *)w->lanes)[k], off = (((const vec32 *)p)[k] + imm - first) & keep;

		((vec32 *)x->offset)[k] = off + first;
		not_uniform |= off;
		not_row |= (off + first - (row + ((const vec32 *)lane_number32)[k] * bytes)) & keep;
	}
	x->pattern = vec_is_zero((vec64)not_uniform) ? UNIFORM : vec_is_zero((vec64)not_row) ? ROW : SCATTERED;
}

static inline void find_shared(struct warp *w, const struct op *o, u32 loc, u32 bytes, u32 align,
			       struct shared_access *x)
{
	const u32 size = w->block->shared_bytes, last = size - bytes;
	vec32 bad = { 0 };

	if (w->mask == ~0u)
		find_offsets(at(w, loc), (u32)o->imm, bytes, x);
	else
		find_offsets_masked(w, at(w, loc), (u32)o->imm, bytes, x);
	for (u32 k = 0; k < VEC32_COUNT; k++) {
		const vec32 a = ((const vec32 *)x->offset)[k];

		bad |= (a & (align - 1)) | (vec32)(a > last);
	}
	x->good = (size >= bytes && vec_is_zero((vec64)bad)) || fault_shared(w, o, x, bytes, align);
}

/* How a loaded element becomes a lane, and back. */
#define LANE_u8 u32
#define LANE_s8 s32
#define LANE_u16 u32
#define LANE_s16 s32
#define LANE_b32 u32
#define LANE_b64 u64
#define LANE_b128 b128
#define MEM_u8 u8
#define MEM_s8 s8
#define MEM_u16 u16
#define MEM_s16 s16
#define MEM_b32 u32
#define MEM_b64 u64
#define MEM_b128 b128

#define COLLECT_u8 COLLECT32
#define COLLECT_s8 COLLECT32
#define COLLECT_u16 COLLECT32
#define COLLECT_s16 COLLECT32
#define COLLECT_b32 COLLECT32
#define COLLECT_b64 COLLECT64
#define COLLECT_b128 COLLECT128
#define COLLECT_MASKED_u8 COLLECT32_MASKED
#define COLLECT_MASKED_s8 COLLECT32_MASKED
#define COLLECT_MASKED_u16 COLLECT32_MASKED
#define COLLECT_MASKED_s16 COLLECT32_MASKED
#define COLLECT_MASKED_b32 COLLECT32_MASKED
#define COLLECT_MASKED_b64 COLLECT64_MASKED
#define COLLECT_MASKED_b128 COLLECT128_MASKED

static inline const u32 *element_loc(const struct op *o, u32 k, bool store)
{
	return k == 0 ? (store ? &o->b : &o->d) : k == 1 ? (store ? &o->d : &o->b) : k == 2 ? &o->c : &o->e;
}

/*
 * Element k of a checked load of N elements into d: `first` holds where the halves begin, place(i) is where lane i's
 * own stands.
 */
#define LOAD_ELEMENT(t, N, first, place)                                                                               \
	if (!x.good) {                                                                                                 \
		memset(d, 0, sizeof(*d) * LANES);                                                                      \
	} else if (x.pattern == UNIFORM) {                                                                             \
		const LANE_##t v = (LANE_##t)((const MEM_##t *)(first(0)))[k];                                         \
		SPREAD(LANE_##t, v)                                                                                    \
	} else if (w->mask == ~0u && (x.pattern == ROW || x.pattern == ROW_HALVES)) {                                  \
		const MEM_##t *s = (const MEM_##t *)(first(0)) + k, *s2 = (const MEM_##t *)(first(1)) + k;             \
		if (N == 1 && sizeof(*d) == sizeof(*s)) {                                                              \
			memcpy(d, s, sizeof(*d) * (LANES / 2));                                                        \
			memcpy(d + LANES / 2, s2, sizeof(*d) * (LANES / 2));                                           \
		} else {                                                                                               \
			HALF_LANES d[i] = (LANE_##t)s[i * N];                                                          \
			HALF_LANES d[LANES / 2 + i] = (LANE_##t)s2[i * N];                                             \
		}                                                                                                      \
	} else if (x.pattern == UNIFORM_HALVES) {                                                                      \
		const LANE_##t v = (LANE_##t)((const MEM_##t *)(first(0)))[k];                                         \
		const LANE_##t v2 = (LANE_##t)((const MEM_##t *)(first(1)))[k];                                        \
		HALF_LANES d[i] = v;                                                                                   \
		HALF_LANES d[LANES / 2 + i] = v2;                                                                      \
	} else if (w->mask == ~0u) {                                                                                   \
		COLLECT_##t(d, LOAD_AT_##t##_##place);                                                                 \
	} else {                                                                                                       \
		COLLECT_MASKED_##t(d, LOAD_AT_##t##_##place, w->lanes);                                                \
	}

#define HALF_LANES for (u32 i = 0; i < LANES / 2; i++)

#define GLOBAL_FIRST(h) x.first[h]
#define SHARED_FIRST(h) shared + x.first[h]
#define LOAD_AT(t, address) ((LANE_##t)((const MEM_##t *)(address))[k])
#define LOAD_AT_u8_GLOBAL(i) LOAD_AT(u8, x.address[i])
#define LOAD_AT_u8_SHARED(i) LOAD_AT(u8, shared + x.offset[i])
#define LOAD_AT_s8_GLOBAL(i) LOAD_AT(s8, x.address[i])
#define LOAD_AT_s8_SHARED(i) LOAD_AT(s8, shared + x.offset[i])
#define LOAD_AT_u16_GLOBAL(i) LOAD_AT(u16, x.address[i])
#define LOAD_AT_u16_SHARED(i) LOAD_AT(u16, shared + x.offset[i])
#define LOAD_AT_s16_GLOBAL(i) LOAD_AT(s16, x.address[i])
#define LOAD_AT_s16_SHARED(i) LOAD_AT(s16, shared + x.offset[i])
#define LOAD_AT_b32_GLOBAL(i) LOAD_AT(b32, x.address[i])
#define LOAD_AT_b32_SHARED(i) LOAD_AT(b32, shared + x.offset[i])
#define LOAD_AT_b64_GLOBAL(i) LOAD_AT(b64, x.address[i])
#define LOAD_AT_b64_SHARED(i) LOAD_AT(b64, shared + x.offset[i])
#define LOAD_AT_b128_GLOBAL(i) LOAD_AT(b128, x.address[i])
#define LOAD_AT_b128_SHARED(i) LOAD_AT(b128, shared + x.offset[i])

#if defined(__AVX2__)
/* Whether all lanes move four elements of 32 bits, to or from more than one place. */
#define IS_QUADS(t, N, x)                                                                                              \
	(N == 4 && sizeof(MEM_##t) == 4 && w->mask == ~0u && (x).good && (x).pattern != UNIFORM)
#define QUAD_COLUMNS(N, store)                                                                                         \
	{                                                                                                              \
		at(w, *element_loc(o, 0, store)), at(w, *element_loc(o, 1 % N, store)),                                \
			at(w, *element_loc(o, 2 % N, store)), at(w, *element_loc(o, 3 % N, store))                     \
	}
#define LOAD_QUADS(t, N, ...)                                                                                          \
	if (IS_QUADS(t, N, x)) {                                                                                       \
		u32 *const d[4] = QUAD_COLUMNS(N, false);                                                              \
		quads_load(d, (struct quad_places){ __VA_ARGS__ });                                                    \
		return;                                                                                                \
	}
#define STORE_QUADS(t, N, ...)                                                                                         \
	if (IS_QUADS(t, N, x)) {                                                                                       \
		const u32 *const s[4] = QUAD_COLUMNS(N, true);                                                         \
		quads_store(s, (struct quad_places){ __VA_ARGS__ });                                                   \
		return;                                                                                                \
	}
#else
#define LOAD_QUADS(t, N, ...)
#define STORE_QUADS(t, N, ...)
#endif

/* Loads of N elements of type t each: generic or global, shared, kernel parameter, frame. */
#define LOAD_N(t, N)                                                                                                   \
	static void ld_##t##_##N(struct warp *w, const struct op *o)                                                   \
	{                                                                                                              \
		struct access x;                                                                                       \
		find_access(w, o, o->a, sizeof(MEM_##t) * N, sizeof(MEM_##t) * N, false, &x);                          \
		LOAD_QUADS(t, N, 0, x.address, NULL)                                                                   \
		for (u32 k = 0; k < N; k++) {                                                                          \
			LANE_##t *d = at(w, *element_loc(o, k, false));                                                \
			LOAD_ELEMENT(t, N, GLOBAL_FIRST, GLOBAL)                                                       \
		}                                                                                                      \
	}                                                                                                              \
	static void lds_##t##_##N(struct warp *w, const struct op *o)                                                  \
	{                                                                                                              \
		struct shared_access x;                                                                                \
		const u8 *shared = w->block->shared;                                                                   \
		find_shared(w, o, o->a, sizeof(MEM_##t) * N, sizeof(MEM_##t) * N, &x);                                 \
		LOAD_QUADS(t, N, (u64)shared, NULL, x.offset)                                                          \
		for (u32 k = 0; k < N; k++) {                                                                          \
			LANE_##t *d = at(w, *element_loc(o, k, false));                                                \
			LOAD_ELEMENT(t, N, SHARED_FIRST, SHARED)                                                       \
		}                                                                                                      \
	}                                                                                                              \
	static void ldk_##t##_##N(struct warp *w, const struct op *o)                                                  \
	{                                                                                                              \
		for (u32 k = 0; k < N; k++) {                                                                          \
			LANE_##t *d = at(w, *element_loc(o, k, false));                                                \
			MEM_##t m;                                                                                     \
			memcpy(&m, (const u8 *)w->block->range[2].begin + o->imm + k * sizeof(m), sizeof(m));          \
			const LANE_##t v = (LANE_##t)m;                                                                \
			SPREAD(LANE_##t, v)                                                                            \
		}                                                                                                      \
	}                                                                                                              \
	static void ldf_##t##_##N(struct warp *w, const struct op *o)                                                  \
	{                                                                                                              \
		for (u32 k = 0; k < N; k++) {                                                                          \
			LANE_##t *d = at(w, *element_loc(o, k, false));                                                \
			const u8 *s = w->local + o->imm + k * sizeof(MEM_##t);                                         \
			for (u32 i = 0; i < LANES; i++) {                                                              \
				MEM_##t m;                                                                             \
				if (!(w->mask & lane_bit[i]))                                                          \
					continue;                                                                      \
				memcpy(&m, s + (size_t)i * w->local_stride, sizeof(m));                                \
				d[i] = (LANE_##t)m;                                                                    \
			}                                                                                              \
		}                                                                                                      \
	}

#define SPREAD(L, v)                                                                                                   \
	if (w->mask == ~0u)                                                                                            \
		EACH_LANE d[i] = v;                                                                                    \
	else                                                                                                           \
		EACH_LANE d[i] = w->lanes[i] ? v : d[i];

/* Element k of a checked store; if several lanes write to one place, the last one wins. */
#define STORE_ELEMENT(t, N, first, place)                                                                              \
	if (w->mask == ~0u && (x.pattern == ROW || x.pattern == ROW_HALVES)) {                                         \
		MEM_##t *d = (MEM_##t *)(first(0)) + k, *d2 = (MEM_##t *)(first(1)) + k;                               \
		if (N == 1 && sizeof(*d) == sizeof(*s)) {                                                              \
			memcpy(d, s, sizeof(*d) * (LANES / 2));                                                        \
			memcpy(d2, s + LANES / 2, sizeof(*d) * (LANES / 2));                                           \
		} else {                                                                                               \
			HALF_LANES d[i * N] = (MEM_##t)s[i];                                                           \
			HALF_LANES d2[i * N] = (MEM_##t)s[LANES / 2 + i];                                              \
		}                                                                                                      \
	} else if (w->mask == ~0u) {                                                                                   \
		for (u32 i = 0; i < LANES; i++)                                                                        \
			((MEM_##t *)(place(i)))[k] = (MEM_##t)s[i];                                                    \
	} else {                                                                                                       \
		for (u32 left = w->mask; left; left &= left - 1) {                                                     \
			const u32 i = first_lane(left);                                                                \
			((MEM_##t *)(place(i)))[k] = (MEM_##t)s[i];                                                    \
		}                                                                                                      \
	}
#define GLOBAL_PLACE(i) x.address[i]
#define SHARED_PLACE(i) shared + x.offset[i]

#define STORE_N(t, N)                                                                                                  \
	static void st_##t##_##N(struct warp *w, const struct op *o)                                                   \
	{                                                                                                              \
		struct access x;                                                                                       \
		find_access(w, o, o->a, sizeof(MEM_##t) * N, sizeof(MEM_##t) * N, true, &x);                           \
		STORE_QUADS(t, N, 0, x.address, NULL)                                                                  \
		for (u32 k = 0; x.good && k < N; k++) {                                                                \
			const LANE_##t *s = at(w, *element_loc(o, k, true));                                           \
			STORE_ELEMENT(t, N, GLOBAL_FIRST, GLOBAL_PLACE)                                                \
		}                                                                                                      \
	}                                                                                                              \
	static void sts_##t##_##N(struct warp *w, const struct op *o)                                                  \
	{                                                                                                              \
		struct shared_access x;                                                                                \
		u8 *shared = w->block->shared;                                                                         \
		find_shared(w, o, o->a, sizeof(MEM_##t) * N, sizeof(MEM_##t) * N, &x);                                 \
		STORE_QUADS(t, N, (u64)shared, NULL, x.offset)                                                         \
		for (u32 k = 0; x.good && k < N; k++) {                                                                \
			const LANE_##t *s = at(w, *element_loc(o, k, true));                                           \
			STORE_ELEMENT(t, N, SHARED_FIRST, SHARED_PLACE)                                                \
		}                                                                                                      \
	}                                                                                                              \
	static void stf_##t##_##N(struct warp *w, const struct op *o)                                                  \
	{                                                                                                              \
		for (u32 k = 0; k < N; k++) {                                                                          \
			const LANE_##t *s = at(w, *element_loc(o, k, true));                                           \
			u8 *d = w->local + o->imm + k * sizeof(MEM_##t);                                               \
			for (u32 i = 0; i < LANES; i++) {                                                              \
				const MEM_##t m = (MEM_##t)s[i];                                                       \
				if (w->mask & lane_bit[i])                                                             \
					memcpy(d + (size_t)i * w->local_stride, &m, sizeof(m));                        \
			}                                                                                              \
		}                                                                                                      \
	}

/*
 * Volatile and ordered accesses to global memory: one access of the host per lane, which other threads of the pool see
 * whole. That also holds for vectors up to 16 bytes: PTX does not promise it, devices do it, and programs (scans that
 * read their neighbours' state and value in one load, such as cub's) rely on it.
 */
typedef u64 vec16 __attribute__((vector_size(16), may_alias));

static inline void whole_16_load(void *to, const void *from)
{
	vec16 v;

#if defined(__x86_64__)
	__asm__ volatile("movdqa %1, %0" : "=x"(v) : "m"(*(const vec16 *)from) : "memory");
#else
	v = *(const volatile vec16 *)from;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
	memcpy(to, &v, sizeof(v));
}

static inline void whole_16_store(void *to, const void *from)
{
	vec16 v;

	memcpy(&v, from, sizeof(v));
#if defined(__x86_64__)
	__asm__ volatile("movdqa %1, %0" : "=m"(*(vec16 *)to) : "x"(v) : "memory");
#else
	__atomic_thread_fence(__ATOMIC_RELEASE);
	*(volatile vec16 *)to = v;
#endif
}

#define WHOLE_LOAD(t, to, from)                                                                                        \
	do {                                                                                                           \
		t whole = __atomic_load_n((const t *)(from), __ATOMIC_ACQUIRE);                                        \
		memcpy(to, &whole, sizeof(whole));                                                                     \
	} while (0)
#define WHOLE_STORE(t, to, from)                                                                                       \
	do {                                                                                                           \
		t whole;                                                                                               \
		memcpy(&whole, from, sizeof(whole));                                                                   \
		__atomic_store_n((t *)(to), whole, __ATOMIC_RELEASE);                                                  \
	} while (0)

/* `bytes` is a constant where these are called; an address is a multiple of it. */
static inline void whole_load(void *to, u64 address, u32 bytes)
{
	const u8 *from = (const u8 *)address;

	switch (bytes) {
	case 1: WHOLE_LOAD(u8, to, from); break;
	case 2: WHOLE_LOAD(u16, to, from); break;
	case 4: WHOLE_LOAD(u32, to, from); break;
	case 8: WHOLE_LOAD(u64, to, from); break;
	default:
		for (u32 k = 0; k < bytes; k += 16)
			whole_16_load((u8 *)to + k, from + k);
	}
}

static inline void whole_store(u64 address, const void *from, u32 bytes)
{
	u8 *to = (u8 *)address;

	switch (bytes) {
	case 1: WHOLE_STORE(u8, to, from); break;
	case 2: WHOLE_STORE(u16, to, from); break;
	case 4: WHOLE_STORE(u32, to, from); break;
	case 8: WHOLE_STORE(u64, to, from); break;
	default:
		for (u32 k = 0; k < bytes; k += 16)
			whole_16_store(to + k, (const u8 *)from + k);
	}
}

#define STRONG_N(t, N)                                                                                                 \
	static void ldv_##t##_##N(struct warp *w, const struct op *o)                                                  \
	{                                                                                                              \
		struct access x;                                                                                       \
		LANE_##t *d[N];                                                                                        \
		MEM_##t value[N] = { 0 };                                                                              \
		find_access(w, o, o->a, sizeof(value), sizeof(value), false, &x);                                      \
		for (u32 k = 0; k < N; k++)                                                                            \
			d[k] = at(w, *element_loc(o, k, false));                                                       \
		for (u32 i = 0; i < LANES; i++) {                                                                      \
			if (!(w->mask & lane_bit[i]))                                                                  \
				continue;                                                                              \
			if (x.good)                                                                                    \
				whole_load(value, x.address[i], sizeof(value));                                        \
			for (u32 k = 0; k < N; k++)                                                                    \
				d[k][i] = (LANE_##t)value[k];                                                          \
		}                                                                                                      \
	}                                                                                                              \
	static void stv_##t##_##N(struct warp *w, const struct op *o)                                                  \
	{                                                                                                              \
		struct access x;                                                                                       \
		const LANE_##t *s[N];                                                                                  \
		MEM_##t value[N];                                                                                      \
		find_access(w, o, o->a, sizeof(value), sizeof(value), true, &x);                                       \
		for (u32 k = 0; k < N; k++)                                                                            \
			s[k] = at(w, *element_loc(o, k, true));                                                        \
		for (u32 i = 0; x.good && i < LANES; i++) {                                                            \
			if (!(w->mask & lane_bit[i]))                                                                  \
				continue;                                                                              \
			for (u32 k = 0; k < N; k++)                                                                    \
				value[k] = (MEM_##t)s[k][i];                                                           \
			whole_store(x.address[i], value, sizeof(value));                                               \
		}                                                                                                      \
	}

#define EACH_STRONG(MAKE) MAKE(s8) MAKE(s16) MAKE(u8) MAKE(u16) MAKE(b32) MAKE(b64)
#define STRONG_ALL(t) STRONG_N(t, 1) STRONG_N(t, 2) STRONG_N(t, 4)
EACH_STRONG(STRONG_ALL)

#define EACH_WIDTH(LOAD, STORE)                                                                                        \
	LOAD(s8)                                                                                                       \
	LOAD(s16)                                                                                                      \
	LOAD(u8) STORE(u8) LOAD(u16) STORE(u16) LOAD(b32) STORE(b32) LOAD(b64) STORE(b64)

#define LOAD_ALL(t) LOAD_N(t, 1) LOAD_N(t, 2) LOAD_N(t, 4)
#define STORE_ALL(t) STORE_N(t, 1) STORE_N(t, 2) STORE_N(t, 4)
EACH_WIDTH(LOAD_ALL, STORE_ALL)
LOAD_N(b128, 1) STORE_N(b128, 1) /* PTX has no vectors of it */

/* Addresses. */
static void local_address(struct warp *w, const struct op *o)
{
	u64 *d = at(w, o->d);
	const u64 base = (u64)(uintptr_t)w->local + o->imm, stride = w->local_stride;

	EACH_LANE d[i] = w->mask & lane_bit[i] ? base + i * stride : d[i];
}

static void param_address(struct warp *w, const struct op *o)
{
	u64 *d = at(w, o->d);
	const u64 v = w->block->range[2].begin + o->imm;

	EACH_LANE d[i] = w->mask & lane_bit[i] ? v : d[i];
}

/* Where a lane's own local memory begins, whatever function it is in. */
static inline u64 local_begin(const struct warp *w, u32 lane)
{
	return (uintptr_t)w->block->local + ((u64)w->index * LANES + lane) * w->local_stride;
}

static inline u64 params_begin(const struct warp *w)
{
	return w->block->range[2].begin;
}

static void local_offset(struct warp *w, const struct op *o)
{
	u32 *d = at(w, o->d);
	const u32 v = (u32)((u64)(uintptr_t)w->local - local_begin(w, 0) + o->imm);

	EACH_LANE d[i] = w->mask & lane_bit[i] ? v : d[i];
}

static void isspacep(struct warp *w, const struct op *o)
{
	const struct block *b = w->block;
	const u64 *a = at(w, o->a);
	u32 *d = at(w, o->d);

	for (u32 i = 0; i < LANES; i++) {
		bool own[3];

		for (u32 k = 0; k < 3; k++)
			own[k] = a[i] >= b->range[k].begin && a[i] < b->range[k].end;
		if (w->mask & lane_bit[i])
			d[i] = P(o->imm == 's'	 ? own[0]
				 : o->imm == 'l' ? own[1]
				 : o->imm == 'p' ? own[2]
				 : o->imm == 'g' ? !own[0] && !own[1] && !own[2]
						 : false);
	}
}

/*
 * Atomics. On shared memory they are plain: a block runs on one thread. Elsewhere the new value is computed from the
 * old one in a compare-and-swap loop, sequentially consistent, which is stronger than any .sem of PTX requires. An
 * atomic that would change nothing (a failed comparison, a maximum that is kept) is a load.
 */
/* Scattered addresses may be far away: the host fetches all of them at once instead of one after each comparison. */
static inline void fetch_ahead(const struct warp *w, const struct access *x)
{
	for (u32 left = x->pattern == SCATTERED ? w->mask : 0; left; left &= left - 1)
		__builtin_prefetch((const void *)x->address[first_lane(left)], 1);
}

#define ATOMIC(name, t, L, expr)                                                                                       \
	static inline t name##_next(t old, t b, t c)                                                                   \
	{                                                                                                              \
		return (t)(expr);                                                                                      \
	}                                                                                                              \
	static void name(struct warp *w, const struct op *o)                                                           \
	{                                                                                                              \
		struct access x;                                                                                       \
		L *d = at(w, o->d);                                                                                    \
		const L *pb = at(w, o->b), *pc = o->c == LOC_NONE ? pb : at(w, o->c);                                  \
		find_access(w, o, o->a, sizeof(t), sizeof(t), true, &x);                                               \
		fetch_ahead(w, &x);                                                                                    \
		for (u32 left = x.good ? w->mask : 0; left; left &= left - 1) {                                        \
			const u32 i = first_lane(left);                                                                \
			t *p = (t *)x.address[i], old, next, b = (t)pb[i], c = (t)pc[i];                               \
			__atomic_load(p, &old, __ATOMIC_SEQ_CST);                                                      \
			do {                                                                                           \
				next = name##_next(old, b, c);                                                         \
			} while (next != old && !__atomic_compare_exchange(p, &old, &next, true, __ATOMIC_SEQ_CST,     \
									   __ATOMIC_SEQ_CST));                         \
			d[i] = (L)old;                                                                                 \
		}                                                                                                      \
	}                                                                                                              \
	static void name##_shared(struct warp *w, const struct op *o)                                                  \
	{                                                                                                              \
		struct shared_access x;                                                                                \
		L *d = at(w, o->d);                                                                                    \
		const L *pb = at(w, o->b), *pc = o->c == LOC_NONE ? pb : at(w, o->c);                                  \
		find_shared(w, o, o->a, sizeof(t), sizeof(t), &x);                                                     \
		for (u32 left = x.good ? w->mask : 0; left; left &= left - 1) {                                        \
			const u32 i = first_lane(left);                                                                \
			t *p = (t *)(w->block->shared + x.offset[i]), old, b = (t)pb[i], c = (t)pc[i];                 \
			old = *p;                                                                                      \
			*p = name##_next(old, b, c);                                                                   \
			d[i] = (L)old;                                                                                 \
		}                                                                                                      \
	}

#define ATOMIC_F32(expr)                                                                                               \
	bits32(({                                                                                                      \
		f32 x = f32_of(old), y = f32_of(b);                                                                    \
		(expr);                                                                                                \
	}))
#define ATOMIC_F64(expr)                                                                                               \
	bits64(({                                                                                                      \
		f64 x = f64_of(old), y = f64_of(b);                                                                    \
		(expr);                                                                                                \
	}))
#define ATOMIC_PAIR(to, from)                                                                                          \
	((to(from(old & 0xffff) + from(b & 0xffff))) | (to(from(old >> 16) + from(b >> 16)) << 16))

ATOMIC(atom_add_32, u32, u32, old + b)
ATOMIC(atom_add_64, u64, u64, old + b)
ATOMIC(atom_add_f32, u32, u32, ATOMIC_F32(settled(x + y)))
ATOMIC(atom_add_f64, u64, u64, ATOMIC_F64(x + y))
ATOMIC(atom_add_f16, u16, u32, f2h(h2f(old) + h2f(b)))
ATOMIC(atom_add_bf16, u16, u32, bfma(0x3f80, old, b))
ATOMIC(atom_add_f16x2, u32, u32, ATOMIC_PAIR(f2h, h2f))
ATOMIC(atom_add_bf16x2, u32, u32, bfma(0x3f80, old & 0xffff, b & 0xffff) | bfma(0x3f80, old >> 16, b >> 16) << 16)
ATOMIC(atom_min_u32, u32, u32, old < b ? old : b)
ATOMIC(atom_min_s32, u32, u32, (s32)old < (s32)b ? old : b)
ATOMIC(atom_min_u64, u64, u64, old < b ? old : b)
ATOMIC(atom_min_s64, u64, u64, (s64)old < (s64)b ? old : b)
ATOMIC(atom_max_u32, u32, u32, old > b ? old : b)
ATOMIC(atom_max_s32, u32, u32, (s32)old > (s32)b ? old : b)
ATOMIC(atom_max_u64, u64, u64, old > b ? old : b)
ATOMIC(atom_max_s64, u64, u64, (s64)old > (s64)b ? old : b)
ATOMIC(atom_inc, u32, u32, old >= b ? 0 : old + 1)
ATOMIC(atom_dec, u32, u32, old == 0 || old > b ? b : old - 1)
ATOMIC(atom_and_32, u32, u32, old &b)
ATOMIC(atom_and_64, u64, u64, old &b)
ATOMIC(atom_or_32, u32, u32, old | b)
ATOMIC(atom_or_64, u64, u64, old | b)
ATOMIC(atom_xor_32, u32, u32, old ^ b)
ATOMIC(atom_xor_64, u64, u64, old ^ b)
ATOMIC(atom_exch_32, u32, u32, b)
ATOMIC(atom_exch_64, u64, u64, b)
ATOMIC(atom_cas_16, u16, u32, old == b ? c : old)
ATOMIC(atom_cas_32, u32, u32, old == b ? c : old)
ATOMIC(atom_cas_64, u64, u64, old == b ? c : old)

static void fence(struct warp *w, const struct op *o)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Precedes volatile, ordered and atomic accesses: marks a thread that may be waiting for another one. */
static void strong_access(struct warp *w, const struct op *o)
{
	w->strong = true;
}
