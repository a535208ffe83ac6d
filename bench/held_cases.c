/*
 * held_cases.c: see engine_cases.h. The kernels of kernels/held.cu, each beside a loop of C that computes the same.
 */
#include "engine_cases.h"

#include <stdlib.h>

#define UNUSED __attribute__((unused))
#define NODES 32768

/* Lengths of lists: few of them long. */
static int length_next(int most)
{
	return (int)(random_next() % (random_next() % 8 ? (uint32_t)most / 8 + 1 : (uint32_t)most + 1));
}

static void unpack(struct setup *s)
{
	int *from, *to, used = 0, made = 0;
	uint8_t *bytes;

	s->n = 64 << 10;
	from = s->in[1] = device_take((size_t)(s->n + 1) * 4);
	to = s->in[2] = device_take((size_t)(s->n + 1) * 4);
	bytes = s->in[0] = device_take((size_t)s->n * 48 * 5);
	for (int i = 0; i < s->n; i++) {
		from[i] = used;
		to[i] = made;
		for (int k = length_next(48); k; k--, made++) {
			for (uint32_t more = random_next() % 4; more; more--)
				bytes[used++] = (uint8_t)(random_next() % 128 | 128);
			bytes[used++] = (uint8_t)(random_next() % 128);
		}
	}
	from[s->n] = used;
	to[s->n] = made;
	out_take(s, (size_t)made * 4);
	param_pointer(s, bytes);
	param_pointer(s, from);
	param_pointer(s, to);
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 128, 1, 128, 1);
}

static void unpack_loop(UNUSED const struct loops *l, struct setup *s)
{
	const uint8_t *bytes = s->in[0];
	const int *from = s->in[1], *to = s->in[2];
	uint32_t *out = s->expect;

	for (int i = 0; i < s->n; i++) {
		uint32_t value = 0, shift = 0;
		int put = to[i];

		for (int at = from[i]; at < from[i + 1]; at++) {
			value |= (uint32_t)(bytes[at] & 127) << shift;
			shift += 7;
			if (bytes[at] < 128) {
				out[put++] = value;
				value = shift = 0;
			}
		}
	}
}

static int compare_ints(const void *a, const void *b)
{
	const int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static void merge(struct setup *s)
{
	int *begin, *in, used = 0;

	s->n = 32 << 10;
	begin = s->in[0] = device_take((size_t)(2 * s->n + 1) * 4);
	for (int i = 0; i < 2 * s->n; i++) {
		begin[i] = used;
		used += length_next(64);
	}
	begin[2 * s->n] = used;
	in = s->in[1] = words_take((size_t)used + 1);
	for (int i = 0; i < 2 * s->n; i++)
		qsort(in + begin[i], (size_t)(begin[i + 1] - begin[i]), sizeof(*in), compare_ints);
	out_take(s, (size_t)used * 4);
	param_pointer(s, begin);
	param_pointer(s, in);
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 128, 1, 128, 1);
}

static void merge_loop(UNUSED const struct loops *l, struct setup *s)
{
	const int *begin = s->in[0], *in = s->in[1];
	int *out = s->expect;

	for (int i = 0; i < s->n; i++) {
		const int middle = begin[2 * i + 1], end = begin[2 * i + 2];
		int a = begin[2 * i], b = middle;

		for (int put = a; a < middle || b < end; put++)
			out[put] = b >= end || (a < middle && in[a] <= in[b]) ? in[a++] : in[b++];
	}
}

static void triangles(struct setup *s)
{
	int *row, *col, used = 0, *end[2];

	s->n = 64 << 10;
	out_take(s, NODES * 4);
	row = s->in[0] = device_take((NODES + 1) * 4);
	col = s->in[1] = device_take((size_t)NODES * 48 * 4);
	for (int i = 0; i < NODES; i++) {
		row[i] = used;
		for (int k = length_next(48), at = (int)(random_next() % 256); k; k--) {
			col[used++] = at;
			at += 1 + (int)(random_next() % 512);
		}
	}
	row[NODES] = used;
	param_pointer(s, row);
	param_pointer(s, col);
	for (int k = 0; k < 2; k++) {
		end[k] = s->in[2 + k] = device_take((size_t)s->n * 4);
		for (int i = 0; i < s->n; i++)
			end[k][i] = (int)(random_next() % NODES);
		param_pointer(s, end[k]);
	}
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void triangles_loop(UNUSED const struct loops *l, struct setup *s)
{
	const int *row = s->in[0], *col = s->in[1], *first = s->in[2], *second = s->in[3];
	int *count = s->expect;

	for (int i = 0; i < s->n; i++)
		for (int a = row[first[i]], b = row[second[i]]; a < row[first[i] + 1] && b < row[second[i] + 1];) {
			const int x = col[a], y = col[b];

			count[x] += x == y;
			a += x <= y;
			b += y <= x;
		}
}

const struct bench_case held_cases[] = {
	{ "unpack", "numbers of 7 bits a byte", 0, false, unpack, unpack_loop, SAME, 0 },
	{ "merge", "pairs of sorted lists", 0, false, merge, merge_loop, SAME, 0 },
	{ "triangles", "common neighbours, counted", 0, true, triangles, triangles_loop, SAME, 0 },
};
const unsigned held_case_count = sizeof(held_cases) / sizeof(held_cases[0]);
