/*
 * rows.h: makes the functions and the table of one file of rows. An exec_*.c file defines ROWS, the file's name in
 * quotes, and ROWS_NAME, the table's, and includes this header last.
 *
 * The file of rows is read twice: first the macros R1 ... R4 make two functions of each row, one for all 32 lanes and
 * one for the lanes of a mask, then they make the table. A new instruction that computes lane by lane is one line in
 * it.
 */
#include "softdev/ptx/isa.h"
#include "softdev/ptx/fp.h"
#include "softdev/ptx/vec.h"

static __attribute__((noinline, cold, unused)) void settle_nan(f32 *d)
{
	for (u32 i = 0; i < LANES; i++)
		d[i] = settled(d[i]);
}

/*
 * The compiler may compute an expression for inactive lanes too and then drop the result: expressions must be
 * harmless for any bits (division guards zero).
 */
#define LOOPS(name, td, sources, values, expr, settle, settle_masked)                                          \
	static void name##_full(struct warp *w, const struct op *o)                                                   \
	{                                                                                                              \
		ST_##td *d = at(w, o->d);                                                                              \
		sources EACH_LANE                                                                                      \
		{                                                                                                      \
			values d[i] = (ST_##td)(expr);                                                                 \
		}                                                                                                      \
		settle                                                                                                 \
	}                                                                                                              \
	static void name##_masked(struct warp *w, const struct op *o)                                                 \
	{                                                                                                              \
		ST_##td *d = at(w, o->d);                                                                              \
		const u32 *m = w->lanes;                                                                               \
		sources EACH_LANE                                                                                      \
		{                                                                                                      \
			values ST_##td r_ = (ST_##td)(expr);                                                           \
			settle_masked d[i] = m[i] ? r_ : d[i];                                                         \
		}                                                                                                      \
	}
#define SOURCE(x, t) const ST_##t *p##x = at(w, o->x);
#define VALUE(x, t) const VT_##t x __attribute__((unused)) = (VT_##t)p##x[i];

#define R1(pattern, name, td, ta, ...) LOOPS(name, td, SOURCE(a, ta), VALUE(a, ta), (__VA_ARGS__), , )
#define R2(pattern, name, td, ta, tb, ...)                                                                            \
	LOOPS(name, td, SOURCE(a, ta) SOURCE(b, tb), VALUE(a, ta) VALUE(b, tb), (__VA_ARGS__), , )
#define R2F(pattern, name, form, td, ta, tb, ...) R2(pattern, name, td, ta, tb, __VA_ARGS__)
#define R3(pattern, name, td, ta, tb, tc, ...)                                                                        \
	LOOPS(name, td, SOURCE(a, ta) SOURCE(b, tb) SOURCE(c, tc), VALUE(a, ta) VALUE(b, tb) VALUE(c, tc),             \
	      (__VA_ARGS__), , )
#define R4(pattern, name, td, ta, tb, tc, te, ...)                                                                    \
	LOOPS(name, td, SOURCE(a, ta) SOURCE(b, tb) SOURCE(c, tc) SOURCE(e, te),                                       \
	      VALUE(a, ta) VALUE(b, tb) VALUE(c, tc) VALUE(e, te), (__VA_ARGS__), , )

/*
 * f32 whose NaN is the canonical one. The host's own differs, and is so rare that results are looked at after they have
 * been stored: nothing waits for it.
 */
#define SETTLE                                                                                                        \
	if (__builtin_expect(any_nan(d), 0))                                                                           \
		settle_nan(d);
#define SETTLE_MASKED r_ = settled(r_);
#define N1(pattern, name, td, ta, ...)                                                                                \
	LOOPS(name, td, SOURCE(a, ta), VALUE(a, ta), (__VA_ARGS__), SETTLE, SETTLE_MASKED)
#define N2(pattern, name, td, ta, tb, ...)                                                                            \
	LOOPS(name, td, SOURCE(a, ta) SOURCE(b, tb), VALUE(a, ta) VALUE(b, tb), (__VA_ARGS__), SETTLE, SETTLE_MASKED)
#define N3(pattern, name, td, ta, tb, tc, ...)                                                                        \
	LOOPS(name, td, SOURCE(a, ta) SOURCE(b, tb) SOURCE(c, tc), VALUE(a, ta) VALUE(b, tb) VALUE(c, tc),             \
	      (__VA_ARGS__), SETTLE, SETTLE_MASKED)
#define N4(pattern, name, td, ta, tb, tc, te, ...)                                                                    \
	LOOPS(name, td, SOURCE(a, ta) SOURCE(b, tb) SOURCE(c, tc) SOURCE(e, te),                                       \
	      VALUE(a, ta) VALUE(b, tb) VALUE(c, tc) VALUE(e, te), (__VA_ARGS__), SETTLE, SETTLE_MASKED)

/* Two f32 side by side in a lane of 64 bits. */
#define SOURCE_PAIR(x) const f32 *p##x = at(w, o->x);
#define VALUE_PAIR(x) const f32 x = p##x[i];
#define EACH_OF_PAIRS EVERY(2 * LANES)
#define PAIRS(name, sources, values, expr)                                                                             \
	static void name##_full(struct warp *w, const struct op *o)                                                   \
	{                                                                                                              \
		f32 *d = at(w, o->d);                                                                                  \
		sources EACH_OF_PAIRS                                                                                  \
		{                                                                                                      \
			values d[i] = (expr);                                                                          \
		}                                                                                                      \
		SETTLE                                                                                                 \
		d += LANES;                                                                                            \
		SETTLE                                                                                                 \
	}                                                                                                              \
	static void name##_masked(struct warp *w, const struct op *o)                                                 \
	{                                                                                                              \
		f32 *d = at(w, o->d);                                                                                  \
		const u32 *m = w->lanes;                                                                               \
		sources EACH_OF_PAIRS                                                                                  \
		{                                                                                                      \
			values f32 r_ = (expr);                                                                        \
			SETTLE_MASKED d[i] = m[i / 2] ? r_ : d[i];                                                     \
		}                                                                                                      \
	}
#define P2(pattern, name, ...)                                                                                        \
	PAIRS(name, SOURCE_PAIR(a) SOURCE_PAIR(b), VALUE_PAIR(a) VALUE_PAIR(b), (__VA_ARGS__))
#define P3(pattern, name, ...)                                                                                        \
	PAIRS(name, SOURCE_PAIR(a) SOURCE_PAIR(b) SOURCE_PAIR(c), VALUE_PAIR(a) VALUE_PAIR(b) VALUE_PAIR(c),           \
	      (__VA_ARGS__))

#define RH(...)
#define RF(...)

#include ROWS

#undef P2
#undef P3
#undef N1
#undef N2
#undef N3
#undef N4
#undef R1
#undef R2
#undef R2F
#undef R3
#undef R4
#undef RH
#undef RF

#define R1(pattern, name, td, ta, ...) { pattern, name##_full, name##_masked, FORM_PLAIN, 2, { TY_##td, TY_##ta } },
#define R2(pattern, name, td, ta, tb, ...)                                                                            \
	{ pattern, name##_full, name##_masked, FORM_PLAIN, 3, { TY_##td, TY_##ta, TY_##tb } },
#define R2F(pattern, name, form, td, ta, tb, ...)                                                                     \
	{ pattern, name##_full, name##_masked, form, 3, { TY_##td, TY_##ta, TY_##tb } },
#define R3(pattern, name, td, ta, tb, tc, ...)                                                                        \
	{ pattern, name##_full, name##_masked, FORM_PLAIN, 4, { TY_##td, TY_##ta, TY_##tb, TY_##tc } },
#define P2(pattern, name, ...) R2(pattern, name, u64, u64, u64, __VA_ARGS__)
#define P3(pattern, name, ...) R3(pattern, name, u64, u64, u64, u64, __VA_ARGS__)
#define N1 R1
#define N2 R2
#define N3 R3
#define N4 R4
#define R4(pattern, name, td, ta, tb, tc, te, ...)                                                                    \
	{ pattern, name##_full, name##_masked, FORM_PLAIN, 5, { TY_##td, TY_##ta, TY_##tb, TY_##tc, TY_##te } },
#define RH(pattern, fn, form, count, ...) { pattern, fn, fn, form, count, { __VA_ARGS__ } },
#define RF(pattern, form, count, ...) { pattern, NULL, NULL, form, count, { __VA_ARGS__ } },

static const struct row rows[] = {
#include ROWS
};

extern const struct rows ISA_NAME(ROWS_NAME);
const struct rows ISA_NAME(ROWS_NAME) = { rows, sizeof(rows) / sizeof(rows[0]) };
