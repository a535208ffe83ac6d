/*
 * positions.c: generators that are functions of a position: Philox4x32-10, Sobol's with 32 and 64 bits.
 *
 * Philox: 65536 sequences, four numbers from each in turn; doubles are made of two numbers, and four from each in turn.
 * Sobol: all points of a dimension, then the next dimension; a point is the exclusive or of direction numbers by the
 * bits of its number's Gray code.
 */
#include "libs/curand/rand.h"

#include <math.h>
#include <string.h>

#define PHILOX_SEQUENCES 65536u
#define PIECE 4096 /* numbers between two reports to the device */

void philox(uint64_t counter, uint32_t sequence, uint64_t seed, uint32_t ret[4])
{
	uint32_t c[4] = { (uint32_t)counter, (uint32_t)(counter >> 32), sequence, 0 };
	uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);

	for (int i = 0; i < 10; i++) {
		uint64_t a = (uint64_t)0xd2511f53u * c[0], b = (uint64_t)0xcd9e8d57u * c[2];

		c[0] = (uint32_t)(b >> 32) ^ c[1] ^ k0;
		c[1] = (uint32_t)b;
		c[2] = (uint32_t)(a >> 32) ^ c[3] ^ k1;
		c[3] = (uint32_t)a;
		k0 += 0x9e3779b9u;
		k1 += 0xbb67ae85u;
	}
	memcpy(ret, c, sizeof(c));
}

/*
 * The counter of group `group` since the position that has been set, and its sequence. A position counts whole numbers
 * of 32 bits, so that sequences before it have had one counter more than the others; doubles take two at a time.
 */
static uint64_t philox_counter(const struct rand_place *at, uint64_t group, unsigned int each, uint32_t *ret_sequence)
{
	uint64_t begun = at->offset / 4, place = begun % PHILOX_SEQUENCES + group;

	*ret_sequence = (uint32_t)(place % PHILOX_SEQUENCES);
	return begun / PHILOX_SEQUENCES + each * (place / PHILOX_SEQUENCES) -
	       (*ret_sequence < begun % PHILOX_SEQUENCES ? each - 1 : 0);
}

static void philox_bits(const struct rand_place *at, uint64_t group, uint32_t ret[4])
{
	uint32_t sequence;
	uint64_t counter = philox_counter(at, group, 1, &sequence);

	philox(counter, sequence, at->seed, ret);
}

static void philox_doubles(const struct rand_place *at, uint64_t group, double ret[4])
{
	uint32_t v[4], sequence;
	uint64_t counter = philox_counter(at, group, 2, &sequence);

	for (unsigned int half = 0; half < 2; half++) {
		philox(counter + half, sequence, at->seed, v);
		for (int i = 0; i < 2; i++)
			ret[2 * half + (unsigned int)i] =
				(double)(v[2 * i] ^ (uint64_t)v[2 * i + 1] << 21) * 0x1p-53 + 0x1p-54;
	}
}

/* Four numbers of the kind that is wanted. */
static void philox_group(const struct rand_work *w, const struct rand_place *at, uint64_t group, void *ret)
{
	uint32_t v[4];
	double d[4], *doubles = ret;
	float *floats = ret;

	if (rand_bytes((enum rand_output)w->output) == 8)
		philox_doubles(at, group, d);
	else
		philox_bits(at, group, v);
	switch ((enum rand_output)w->output) {
	case RAND_UNIFORM:
		for (int i = 0; i < 4; i++)
			floats[i] = (float)v[i] * 0x1p-32f + 0x1p-33f;
		break;
	case RAND_UNIFORM_DOUBLE:
		memcpy(ret, d, sizeof(d));
		break;
	case RAND_NORMAL:
	case RAND_LOG_NORMAL:
		for (int i = 0; i < 4; i += 2)
			rand_pair((float)v[i] * 0x1p-32f + 0x1p-33f,
				  (float)v[i + 1] * (0x1p-32f * 6.2831855f) + 0x1p-33f * 6.2831855f, floats + i);
		for (int i = 0; i < 4; i++) {
			floats[i] = (float)w->mean + floats[i] * (float)w->deviation;
			floats[i] = w->output == RAND_LOG_NORMAL ? expf(floats[i]) : floats[i];
		}
		break;
	case RAND_NORMAL_DOUBLE:
	case RAND_LOG_NORMAL_DOUBLE:
		for (int i = 0; i < 4; i += 2)
			rand_pair_double(d[i], d[i + 1], doubles + i);
		for (int i = 0; i < 4; i++) {
			doubles[i] = w->mean + doubles[i] * w->deviation;
			doubles[i] = w->output == RAND_LOG_NORMAL_DOUBLE ? exp(doubles[i]) : doubles[i];
		}
		break;
	case RAND_POISSON:
		for (int i = 0; i < 4; i++)
			v[i] = rand_poisson_at(w->mean, (v[i] + 0.5) * 0x1p-32);
		memcpy(ret, v, sizeof(v));
		break;
	default:
		memcpy(ret, v, sizeof(v));
		break;
	}
}

static void philox_run(const struct rand_work *w, const struct rand_place *at, int64_t from, int64_t to)
{
	uint32_t each = rand_bytes((enum rand_output)w->output);
	char *out = (char *)(uintptr_t)w->to;
	char four[32] __attribute__((aligned(8)));

	for (int64_t i = from; i < to;) {
		uint64_t position = at->offset % 4 + at->done + (uint64_t)i, skip = position % 4;
		int64_t some = 4 - (int64_t)skip < to - i ? 4 - (int64_t)skip : to - i;

		philox_group(w, at, position / 4, four);
		memcpy(out + i * each, four + skip * each, (size_t)some * each);
		i += some;
	}
}

/* ---- Sobol ---- */

static bool is_wide(const struct rand_work *w)
{
	return w->type == CURAND_RNG_QUASI_SOBOL64;
}

static void sobol_put(const struct rand_work *w, void *out, int64_t i, uint64_t point)
{
	/* a point as cuRAND converts it: 32 bits with twice the half step for doubles */
	double p = is_wide(w) ? (double)(point >> 11) * 0x1p-53 + 0x1p-54 : (double)point * 0x1p-32 + 0x1p-32;
	uint32_t top = is_wide(w) ? (uint32_t)(point >> 32) : (uint32_t)point;
	float f = (float)top * 0x1p-32f + 0x1p-33f;
	double value;

	switch ((enum rand_output)w->output) {
	case RAND_BITS64:
		((uint64_t *)out)[i] = point;
		break;
	case RAND_UNIFORM:
		((float *)out)[i] = f;
		break;
	case RAND_UNIFORM_DOUBLE:
		((double *)out)[i] = p;
		break;
	case RAND_NORMAL:
	case RAND_LOG_NORMAL:
		value = w->mean + rand_normal_at(((double)top + 0.5) * 0x1p-32) * w->deviation;
		((float *)out)[i] = (float)(w->output == RAND_LOG_NORMAL ? exp(value) : value);
		break;
	case RAND_NORMAL_DOUBLE:
	case RAND_LOG_NORMAL_DOUBLE:
		p = is_wide(w) ? p : ((double)top + 0.5) * 0x1p-32;
		value = w->mean + rand_normal_at(p < 1 ? p : 1 - 0x1p-53) * w->deviation;
		((double *)out)[i] = w->output == RAND_LOG_NORMAL_DOUBLE ? exp(value) : value;
		break;
	case RAND_POISSON:
		((uint32_t *)out)[i] = rand_poisson_at(w->mean, ((double)top + 0.5) * 0x1p-32);
		break;
	default:
		((uint32_t *)out)[i] = (uint32_t)point;
		break;
	}
}

static uint64_t sobol_point(const uint64_t *directions, uint64_t number)
{
	uint64_t point = 0, gray = number ^ number >> 1;

	for (; gray; gray &= gray - 1)
		point ^= directions[__builtin_ctzll(gray)];
	return point;
}

static void sobol_run(const struct rand_work *w, const struct rand_place *at, int64_t from, int64_t to)
{
	void *out = (void *)(uintptr_t)w->to;
	int64_t points = w->count / w->dimensions;
	uint64_t directions[64], point = 0;
	uint64_t mask = is_wide(w) ? UINT64_MAX : UINT32_MAX;

	for (int64_t i = from; i < to; i++) {
		uint64_t number = (at->offset + at->done + (uint64_t)(i % points)) & mask;

		if (i == from || !(i % points)) {
			uint32_t narrow[32];

			memset(directions, 0, sizeof(directions));
			if (is_wide(w)) {
				sobol_directions64((uint32_t)(i / points), directions);
			} else {
				sobol_directions32((uint32_t)(i / points), narrow);
				for (int k = 0; k < 32; k++)
					directions[k] = narrow[k];
			}
			point = sobol_point(directions, number);
		} else {
			point = number ? point ^ directions[__builtin_ctzll(number)] : 0;
		}
		sobol_put(w, out, i, point);
	}
}

bool rand_positions_run(const struct rand_work *w, const struct rand_place *at, int64_t from, int64_t to,
			struct soft_native *n)
{
	for (int64_t i = from; i < to; i += PIECE) {
		int64_t end = to - i < PIECE ? to : i + PIECE;

		if (w->type == CURAND_RNG_PSEUDO_PHILOX4_32_10)
			philox_run(w, at, i, end);
		else
			sobol_run(w, at, i, end);
		if (n && !n->go_on(n, PIECE))
			return false;
	}
	return true;
}
