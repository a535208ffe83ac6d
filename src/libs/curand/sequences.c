/*
 * sequences.c: XORWOW and MRG32K3A: where their subsequences begin, and numbers from them.
 *
 * Both are linear: a jump ahead is a matrix, of bits or modulo a prime, and a power of it by squaring. XORWOW's
 * subsequences lie 2^67 numbers apart, MRG32K3A's 2^76.
 */
#include "libs/curand/rand.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#define WORDS 5 /* of XORWOW's state, without its counter */
#define BITS (32 * WORDS)
#define COUNTER_STEP 362437u
#define XORWOW_APART 67
#define MRG_APART 76
#define SEEDS_APART 3133713u /* measured: tests/libs */
#define M1 UINT64_C(4294967087)
#define M2 UINT64_C(4294944443)
#define MRG_NORM 2.3283065498378288e-10 /* a little less than 1 / M1: 1 is not reached from below */
#define MRG_TO_BITS 1.000000048662	/* spreads [1, M1] over 32 bits */
#define CHUNK 64			/* subsequences that are worked on together */
#define SEEDED_AT_ONCE 1024		/* subsequences that begin before the device is told */
#define SKIP_WORK 65536			/* warp instructions of a jump ahead by numbers */

static bool is_mrg(const struct rand_work *w)
{
	return w->type == CURAND_RNG_PSEUDO_MRG32K3A;
}

uint32_t rand_sequences(curandRngType_t type, curandOrdering_t order)
{
	if (type == CURAND_RNG_PSEUDO_MRG32K3A)
		return order == CURAND_ORDERING_PSEUDO_LEGACY ? 4096 : 81920;
	return type == CURAND_RNG_PSEUDO_XORWOW ? 4096 : 0;
}

/* Subsequence s has begun. False: the launch has ended; without `n` there is none. */
static bool told(int64_t s, struct soft_native *n)
{
	return !n || s % SEEDED_AT_ONCE != SEEDED_AT_ONCE - 1 || n->go_on(n, SEEDED_AT_ONCE);
}

/* ---- XORWOW ---- */

/* Row i is what bit i of a state becomes. */
struct bit_matrix {
	uint32_t row[BITS][WORDS];
};

static inline uint32_t xorwow_next(uint32_t v[6])
{
	uint32_t t = v[0] ^ (v[0] >> 2);

	v[0] = v[1];
	v[1] = v[2];
	v[2] = v[3];
	v[3] = v[4];
	v[4] = (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1));
	v[5] += COUNTER_STEP;
	return v[4] + v[5];
}

static void bits_times(const struct bit_matrix *m, const uint32_t from[WORDS], uint32_t ret[WORDS])
{
	uint32_t sum[WORDS] = { 0 };

	for (int i = 0; i < BITS; i++) {
		uint32_t mask = 0u - (from[i / 32] >> (i % 32) & 1u);

		for (int k = 0; k < WORDS; k++)
			sum[k] ^= mask & m->row[i][k];
	}
	memcpy(ret, sum, sizeof(sum));
}

static void bits_square(struct bit_matrix *m)
{
	struct bit_matrix squared;

	for (int i = 0; i < BITS; i++)
		bits_times(m, m->row[i], squared.row[i]);
	*m = squared;
}

static void bits_step(struct bit_matrix *m)
{
	for (int i = 0; i < BITS; i++) {
		uint32_t v[6] = { 0 };

		v[i / 32] = 1u << (i % 32);
		xorwow_next(v);
		memcpy(m->row[i], v, sizeof(m->row[i]));
	}
}

static void xorwow_skip(uint32_t v[6], uint64_t numbers)
{
	struct bit_matrix m;

	v[5] += COUNTER_STEP * (uint32_t)numbers;
	bits_step(&m);
	for (; numbers; numbers >>= 1, bits_square(&m))
		if (numbers & 1)
			bits_times(&m, v, v);
}

static void xorwow_begin(uint64_t seed, uint32_t v[6])
{
	uint32_t low = 1099087573u * ((uint32_t)seed ^ 0xaad26b49u);
	uint32_t high = 2591861531u * ((uint32_t)(seed >> 32) ^ 0xf7dcefddu);

	v[0] = 123456789u + low;
	v[1] = 362436069u ^ low;
	v[2] = 521288629u + high;
	v[3] = 88675123u ^ high;
	v[4] = 5783321u + low;
	v[5] = 6615241u + high + low;
}

/* jumps[i]: 2^(67 + i) numbers, which the counter does not notice. */
static struct bit_matrix jumps[12];
static pthread_once_t jumps_once = PTHREAD_ONCE_INIT;

static void jumps_make(void)
{
	struct bit_matrix m;

	bits_step(&m);
	for (int i = 0; i < XORWOW_APART; i++)
		bits_square(&m);
	for (size_t i = 0; i < sizeof(jumps) / sizeof(*jumps); i++, bits_square(&m))
		jumps[i] = m;
}

/* CURAND_ORDERING_PSEUDO_SEEDED: a seed for each. */
static bool xorwow_seed_each(const struct rand_work *w, struct rand_state *states, int64_t from, int64_t to,
			     struct soft_native *n)
{
	for (int64_t s = from; s < to; s++) {
		xorwow_begin(w->seed + (uint64_t)s * SEEDS_APART, states[s].v);
		if (!w->offset)
			continue;
		xorwow_skip(states[s].v, w->offset / w->sequences + (s < (int64_t)(w->offset % w->sequences)));
		if (n && !n->go_on(n, SKIP_WORK))
			return false;
	}
	return true;
}

static bool xorwow_seed(const struct rand_work *w, struct rand_state *states, int64_t from, int64_t to,
			struct soft_native *n)
{
	uint32_t v[6], begun[6];

	if (w->seeded)
		return xorwow_seed_each(w, states, from, to, n);
	pthread_once(&jumps_once, jumps_make);
	xorwow_begin(w->seed, v);
	xorwow_skip(v, w->offset / w->sequences);
	memcpy(begun, v, sizeof(v));
	for (size_t i = 0; i < sizeof(jumps) / sizeof(*jumps); i++)
		if (from >> i & 1)
			bits_times(&jumps[i], begun, begun);
	for (int64_t s = from; s < to; s++) {
		memcpy(states[s].v, begun, sizeof(begun));
		if (s < (int64_t)(w->offset % w->sequences))
			xorwow_next(states[s].v);
		bits_times(&jumps[0], begun, begun);
		if (!told(s, n))
			return false;
	}
	return true;
}

/* ---- MRG32K3A ---- */

struct mrg_matrix {
	uint64_t a[2][3][3]; /* of each component, modulo M1 and M2 */
};

static const uint64_t moduli[2] = { M1, M2 };

static inline uint32_t mrg_next(uint32_t v[6])
{
	/* the modulus is added as often as keeps the difference above 0 */
	uint64_t a = (1403580u * (uint64_t)v[1] + 810728u * (M1 - v[0])) % M1;
	uint64_t b = (527612u * (uint64_t)v[5] + 1370589u * (M2 - v[3])) % M2;

	v[0] = v[1];
	v[1] = v[2];
	v[2] = (uint32_t)a;
	v[3] = v[4];
	v[4] = v[5];
	v[5] = (uint32_t)b;
	return (uint32_t)(a > b ? a - b : a + M1 - b);
}

static void mrg_times(const struct mrg_matrix *m, uint32_t v[6])
{
	uint32_t from[6];

	memcpy(from, v, sizeof(from));
	for (int c = 0; c < 2; c++)
		for (int i = 0; i < 3; i++) {
			uint64_t sum = 0;

			for (int k = 0; k < 3; k++)
				sum = (sum + m->a[c][i][k] * from[3 * c + k]) % moduli[c];
			v[3 * c + i] = (uint32_t)sum;
		}
}

static void mrg_square(struct mrg_matrix *m)
{
	struct mrg_matrix squared = { 0 };

	for (int c = 0; c < 2; c++)
		for (int i = 0; i < 9; i++)
			for (int k = 0; k < 3; k++)
				squared.a[c][i / 3][i % 3] = (squared.a[c][i / 3][i % 3] +
							      m->a[c][i / 3][k] * m->a[c][k][i % 3] % moduli[c]) %
							     moduli[c];
	*m = squared;
}

static struct mrg_matrix mrg_power_of_two(int squarings)
{
	struct mrg_matrix m = { { { { 0, 1, 0 }, { 0, 0, 1 }, { M1 - 810728u, 1403580u, 0 } },
				  { { 0, 1, 0 }, { 0, 0, 1 }, { M2 - 1370589u, 0, 527612u } } } };

	for (int i = 0; i < squarings; i++)
		mrg_square(&m);
	return m;
}

static void mrg_skip(uint32_t v[6], uint64_t times, int apart)
{
	struct mrg_matrix m = mrg_power_of_two(apart);

	for (; times; times >>= 1, mrg_square(&m))
		if (times & 1)
			mrg_times(&m, v);
}

static void mrg_begin(uint64_t seed, uint32_t v[6])
{
	uint64_t low = (uint32_t)seed ^ 0x55555555u, high = (uint32_t)(seed >> 32) ^ 0xaaaaaaaau;

	for (int i = 0; i < 6; i++) {
		v[i] = (uint32_t)(seed ? (i % 2 ? high : low) * 12345u % moduli[i / 3] : 12345u);
	}
}

static bool mrg_seed(const struct rand_work *w, struct rand_state *states, int64_t from, int64_t to,
		     struct soft_native *n)
{
	struct mrg_matrix jump = mrg_power_of_two(MRG_APART);
	uint32_t v[6];

	mrg_begin(w->seed, v);
	mrg_skip(v, w->offset / w->sequences, 0);
	mrg_skip(v, (uint64_t)from, MRG_APART);
	for (int64_t s = from; s < to; s++) {
		memcpy(states[s].v, v, sizeof(v));
		if (s < (int64_t)(w->offset % w->sequences))
			mrg_next(states[s].v);
		mrg_times(&jump, v);
		if (!told(s, n))
			return false;
	}
	return true;
}

bool rand_seed(const struct rand_work *w, int64_t from, int64_t to, struct soft_native *n)
{
	return is_mrg(w) ? mrg_seed(w, rand_states(w), from, to, n) : xorwow_seed(w, rand_states(w), from, to, n);
}

/* ---- numbers ---- */

static inline uint32_t bits_of(uint32_t v[6], bool mrg)
{
	return mrg ? (uint32_t)(uint64_t)(mrg_next(v) * MRG_TO_BITS) : xorwow_next(v);
}

static inline float uniform_of(uint32_t v[6], bool mrg)
{
	return mrg ? (float)(mrg_next(v) * MRG_NORM) : (float)xorwow_next(v) * 0x1p-32f + 0x1p-33f;
}

static inline double uniform_double_of(uint32_t v[6], bool mrg)
{
	uint64_t low;

	if (mrg)
		return mrg_next(v) * MRG_NORM;
	low = xorwow_next(v);
	return (double)(low ^ (uint64_t)xorwow_next(v) << 21) * 0x1p-53 + 0x1p-54;
}

static inline void pair_of(const struct rand_work *w, uint32_t v[6], bool mrg, float *out)
{
	float u = uniform_of(v, mrg), pair[2];

	rand_pair(u,
		  mrg ? uniform_of(v, mrg) * 6.2831855f
		      : (float)xorwow_next(v) * (0x1p-32f * 6.2831855f) + 0x1p-33f * 6.2831855f,
		  pair);
	for (int i = 0; i < 2; i++) {
		out[i] = (float)w->mean + pair[i] * (float)w->deviation;
		out[i] = w->output == RAND_LOG_NORMAL ? expf(out[i]) : out[i];
	}
}

static inline void pair_double_of(const struct rand_work *w, uint32_t v[6], bool mrg, double *out)
{
	double u = uniform_double_of(v, mrg), pair[2];

	rand_pair_double(u, uniform_double_of(v, mrg), pair);
	for (int i = 0; i < 2; i++) {
		out[i] = w->mean + pair[i] * w->deviation;
		out[i] = w->output == RAND_LOG_NORMAL_DOUBLE ? exp(out[i]) : out[i];
	}
}

static inline void one_of(const struct rand_work *w, uint32_t v[6], bool mrg, void *out, int64_t unit)
{
	switch ((enum rand_output)w->output) {
	case RAND_BITS:
		((uint32_t *)out)[unit] = bits_of(v, mrg);
		break;
	case RAND_UNIFORM:
		((float *)out)[unit] = uniform_of(v, mrg);
		break;
	case RAND_UNIFORM_DOUBLE:
		((double *)out)[unit] = uniform_double_of(v, mrg);
		break;
	case RAND_NORMAL:
	case RAND_LOG_NORMAL:
		pair_of(w, v, mrg, (float *)out + 2 * unit);
		break;
	case RAND_NORMAL_DOUBLE:
	case RAND_LOG_NORMAL_DOUBLE:
		pair_double_of(w, v, mrg, (double *)out + 2 * unit);
		break;
	default:
		((uint32_t *)out)[unit] = rand_poisson_at(w->mean, (bits_of(v, mrg) + 0.5) * 0x1p-32);
		break;
	}
}

/*
 * The subsequences whose turn is from .. to - 1, at most CHUNK, in step, so that what is written lies together.
 * `first`: the one whose turn is 0.
 */
static inline bool chunk_run(const struct rand_work *w, uint64_t first, int64_t from, int64_t to, struct soft_native *n,
			     bool mrg)
{
	int64_t units = w->count / rand_unit(w), rows = (units - from + w->sequences - 1) / w->sequences;
	struct rand_state *states = rand_states(w);
	void *out = (void *)(uintptr_t)w->to;
	uint32_t v[CHUNK][6];

	for (int64_t s = from; s < to; s++)
		memcpy(v[s - from], states[(first + (uint64_t)s) % w->sequences].v, sizeof(v[0]));
	for (int64_t row = 0; row < rows; row++) {
		int64_t at = row * w->sequences, end = units - at < to ? units - at : to;

		for (int64_t s = from; s < end; s++)
			one_of(w, v[s - from], mrg, out, at + s);
		if (row % 64 == 63 && n && !n->go_on(n, 64 * CHUNK))
			return false;
	}
	for (int64_t s = from; s < to; s++)
		memcpy(states[(first + (uint64_t)s) % w->sequences].v, v[s - from], sizeof(v[0]));
	return true;
}

bool rand_sequences_run(const struct rand_work *w, const struct rand_place *at, int64_t from, int64_t to,
			struct soft_native *n)
{
	uint64_t first = (at->offset % w->sequences + at->done % w->sequences) % w->sequences;

	for (int64_t s = from; s < to; s += CHUNK) {
		int64_t end = to - s < CHUNK ? to : s + CHUNK;

		if (is_mrg(w) ? !chunk_run(w, first, s, end, n, true) : !chunk_run(w, first, s, end, n, false))
			return false;
	}
	return true;
}
