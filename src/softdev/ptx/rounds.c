/* rounds.c: see rounds.h. */
#include "softdev/ptx/rounds.h"

/* What the interpreter counts for an access of `lanes` lanes in this round. */
static uint32_t pieces(const struct compiled_visits *v, const struct compiled_spot *s, uint32_t round, uint32_t lanes,
		       uint32_t bytes)
{
	const bool both = v->seen[0] >> round & v->seen[1] >> round & 1;
	const uint64_t gap = both ? s->at[1][round] - s->at[0][round] : 0;
	const uint64_t far = both ? (uint64_t)(v->first[1][round] - v->first[0][round]) * bytes : 0;
	const bool one = !(s->apart[0] >> round & 1), row = !(s->apart[1] >> round & 1);

	if (lanes == LANES) /* each half by itself */
		return one ? (gap ? 2 : 1) : row ? bytes : lanes;
	return one && !gap ? 1 : row && gap == far ? bytes : lanes;
}

int64_t rounds_alike(const struct compiled_visits *v, const struct compiled_spot *spot, uint64_t rounds, uint32_t bytes,
		     uint32_t loads)
{
	int64_t fewer = 0;

	for (; rounds; rounds &= rounds - 1) {
		const uint32_t round = (uint32_t)__builtin_ctzll(rounds);
		uint32_t lanes = 0;

		for (uint32_t half = 0; half < 2; half++)
			lanes += v->seen[half] >> round & 1 ? v->count[half][round] : 0;
		fewer += (int64_t)loads * ((int64_t)lanes - pieces(v, spot, round, lanes, bytes));
	}
	return fewer;
}
