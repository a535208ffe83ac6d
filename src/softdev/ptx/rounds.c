/* rounds.c: see rounds.h. */
#include "softdev/ptx/rounds.h"

/* Whether the lanes lie `step` bytes from one another. */
static bool in_steps(const uint64_t *at, uint32_t lanes, uint64_t step)
{
	const uint32_t first = (uint32_t)__builtin_ctz(lanes);
	const uint64_t begin = at[first * COMPILE_ROUNDS] - first * step;

	for (lanes &= lanes - 1; lanes; lanes &= lanes - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(lanes);

		if (at[i * COMPILE_ROUNDS] - i * step != begin)
			return false;
	}
	return true;
}

/* The same of all lanes, or of each half of them. */
static bool halves_in_steps(const uint64_t *at, uint32_t lanes, uint64_t step)
{
	if (lanes != ~0u)
		return in_steps(at, lanes, step);
	return in_steps(at, 0xffffu, step) && in_steps(at, 0xffff0000u, step);
}

int64_t rounds_alike(const uint64_t *at, uint32_t lanes, uint32_t bytes)
{
	const int64_t count = __builtin_popcount(lanes);

	if (halves_in_steps(at, lanes, 0))
		return count - (lanes == ~0u && at[0] != at[LANES / 2 * COMPILE_ROUNDS] ? 2 : 1);
	return halves_in_steps(at, lanes, bytes) ? count - bytes : 0;
}
