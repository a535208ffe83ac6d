/*
 * unseen_cases.c: see engine_cases.h. The kernels of kernels/unseen.cu, each beside a loop of C that computes the same.
 */
#include "engine_cases.h"

#include <math.h>
#include <stdlib.h>

#define UNUSED __attribute__((unused))
#define NODES 65536
#define STRING_BYTES 24

/* Where lists of 0 to `most` elements begin, few of them long; and where the last one ends. */
static int *lists_take(int count, uint32_t most)
{
	int *begin = device_take((size_t)(count + 1) * 4), used = 0;

	for (int i = 0; i < count; i++) {
		begin[i] = used;
		used += (int)(random_next() % (random_next() % 8 ? most / 8 + 1 : most + 1));
	}
	begin[count] = used;
	return begin;
}

static int *numbers_take(int count, uint32_t below)
{
	int *n = device_take((size_t)count * 4 + 4);

	for (int i = 0; i < count; i++)
		n[i] = (int)(random_next() % below);
	return n;
}

static void rank(struct setup *s)
{
	int *row, *degree;

	s->n = 128 << 10;
	out_take(s, (size_t)s->n * 4);
	row = lists_take(s->n, 64);
	degree = numbers_take(s->n, 20);
	for (int i = 0; i < s->n; i++)
		degree[i]++;
	param_pointer(s, s->in[0] = row);
	param_pointer(s, s->in[1] = numbers_take(row[s->n], (uint32_t)s->n));
	param_pointer(s, s->in[2] = floats_take((size_t)s->n));
	param_pointer(s, s->in[3] = degree);
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void rank_loop(UNUSED const struct loops *l, struct setup *s)
{
	const int *row = s->in[0], *col = s->in[1], *degree = s->in[3];
	const float *share = s->in[2];
	float *out = s->expect;

	for (int i = 0; i < s->n; i++) {
		float sum = 0;

		for (int k = row[i]; k < row[i + 1]; k++)
			sum += share[col[k]] / (float)degree[col[k]];
		out[i] = 0.15f + 0.85f * sum;
	}
}

static void trie(struct setup *s)
{
	int *child, used = 1;
	uint32_t *key;

	s->n = 256 << 10;
	out_take(s, (size_t)s->n * 4);
	child = s->in[0] = device_take((size_t)NODES * 16 * 4);
	for (int i = 0; i < NODES * 16; i++)
		child[i] = -1;
	key = s->in[1] = words_take((size_t)s->n);
	for (int i = 0; i < s->n && used < NODES - 8; i += 3) {
		uint32_t rest = key[i];
		int at = 0, deep = 2 + (int)(random_next() % 7);

		for (int k = 0; k < deep; k++, rest >>= 4) {
			int *to = &child[at * 16 + (int)(rest & 15)];

			if (*to < 0)
				*to = used++;
			at = *to;
		}
	}
	param_pointer(s, child);
	param_pointer(s, key);
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 128, 1, 128, 1);
}

static void trie_loop(UNUSED const struct loops *l, struct setup *s)
{
	const int *child = s->in[0];
	const uint32_t *key = s->in[1];
	int *out = s->expect;

	for (int i = 0; i < s->n; i++) {
		uint32_t rest = key[i];
		int at = 0, depth = 0, next;

		for (; depth < 8 && (next = child[at * 16 + (int)(rest & 15)]) >= 0; depth++, rest >>= 4)
			at = next;
		out[i] = at * 16 + depth;
	}
}

static void tally(struct setup *s)
{
	int *begin;

	s->n = 64 << 10;
	out_take(s, 4096 * 4);
	begin = lists_take(s->n, 48);
	param_pointer(s, s->in[0] = begin);
	param_pointer(s, s->in[1] = words_take((size_t)begin[s->n] + 1));
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void tally_loop(UNUSED const struct loops *l, struct setup *s)
{
	const int *begin = s->in[0], *value = s->in[1];
	int *count = s->expect;

	for (int i = 0; i < s->n; i++)
		for (int k = begin[i]; k < begin[i + 1]; k++)
			count[value[k] & 4095]++;
}

static void sets(struct setup *s)
{
	int *parent;

	s->n = 256 << 10;
	out_take(s, (size_t)s->n * 4);
	parent = s->in[0] = device_take((size_t)s->n * 4);
	for (int i = 0; i < s->n; i++) {
		const int near = i - 1 - (int)(random_next() % 4096);

		parent[i] = near < 0 || !(random_next() % 16) ? i : near;
	}
	param_pointer(s, parent);
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void sets_loop(UNUSED const struct loops *l, struct setup *s)
{
	const int *parent = s->in[0];
	int *size = s->expect;

	for (int i = 0; i < s->n; i++) {
		int at = i;

		while (parent[at] != at)
			at = parent[at];
		size[at]++;
	}
}

static void order(struct setup *s)
{
	const int strings = 32 << 10;
	uint8_t *text;
	int *at[2];

	s->n = 256 << 10;
	out_take(s, (size_t)s->n * 4);
	text = s->in[0] = device_take((size_t)strings * STRING_BYTES);
	for (int i = 0; i < strings; i++) {
		const uint32_t length = random_next() % STRING_BYTES, same = random_next() % STRING_BYTES;

		for (uint32_t k = 0; k < STRING_BYTES; k++)
			text[i * STRING_BYTES + (int)k] =
				k >= length ? 0 : (uint8_t)('a' + (k < same ? k % 5 : random_next() % 26));
	}
	for (int k = 0; k < 2; k++) {
		s->in[k + 1] = at[k] = numbers_take(s->n, (uint32_t)strings);
		for (int i = 0; i < s->n; i++)
			at[k][i] *= STRING_BYTES;
	}
	param_pointer(s, text);
	param_pointer(s, at[0]);
	param_pointer(s, at[1]);
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void order_loop(UNUSED const struct loops *l, struct setup *s)
{
	const uint8_t *text = s->in[0];
	const int *first = s->in[1], *second = s->in[2];
	int *out = s->expect;

	for (int i = 0; i < s->n; i++) {
		int a = first[i], b = second[i];

		for (; text[a] == text[b] && text[a]; a++)
			b++;
		out[i] = text[a] - text[b];
	}
}

static void ragged(struct setup *s)
{
	int *begin;

	s->n = 32 << 10;
	begin = lists_take(s->n, 64);
	out_take(s, (size_t)begin[s->n] * 4);
	param_pointer(s, s->in[0] = begin);
	param_pointer(s, s->in[1] = floats_take((size_t)begin[s->n] + 1));
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 128, 1, 128, 1);
}

static void ragged_loop(UNUSED const struct loops *l, struct setup *s)
{
	const int *begin = s->in[0];
	const float *in = s->in[1];
	float *out = s->expect;

	for (int i = 0; i < s->n; i++) {
		float most = -1e30f, sum = 0;

		for (int k = begin[i]; k < begin[i + 1]; k++)
			most = fmaxf(most, in[k]);
		for (int k = begin[i]; k < begin[i + 1]; k++)
			sum += expf(in[k] - most);
		for (int k = begin[i]; k < begin[i + 1]; k++)
			out[k] = expf(in[k] - most) / sum;
	}
}

const struct bench_case unseen_cases[] = {
	{ "rank", "rank of nodes, one step", 0, false, rank, rank_loop, CLOSE_F32, 1e-4 },
	{ "trie", "keys in a trie", 0, false, trie, trie_loop, SAME, 0 },
	{ "tally", "values in lists, counted", 0, true, tally, tally_loop, SAME, 0 },
	{ "sets", "sets as trees, counted", 0, true, sets, sets_loop, SAME, 0 },
	{ "order", "pairs of strings", 0, false, order, order_loop, SAME, 0 },
	{ "ragged", "softmax, rows of different lengths", 0, false, ragged, ragged_loop, CLOSE_F32, 1e-4 },
};
const unsigned unseen_case_count = sizeof(unseen_cases) / sizeof(unseen_cases[0]);
