/*
 * irregular_cases.c: see engine_cases.h. The kernels of kernels/irregular.cu, each beside a loop of C that computes the
 * same.
 */
#include "engine_cases.h"

#include <stdlib.h>

#define UNUSED __attribute__((unused))
#define SORTED_BITS 18

static void chase(struct setup *s)
{
	int *head, *next;

	s->n = 64 << 10;
	out_take(s, (size_t)s->n * 4);
	head = words_take((size_t)s->n);
	next = words_take((size_t)s->n * 8);
	for (int i = 0; i < s->n * 8; i++) { /* a list ends at every 12th place on the average, and goes in no circle */
		next[i] = i + 1 + (int)(random_next() % 4096);
		if (next[i] >= s->n * 8 || !(random_next() % 12))
			next[i] = -1;
	}
	for (int i = 0; i < s->n; i++)
		head[i] = (int)(random_next() % (uint32_t)(s->n * 8));
	param_pointer(s, s->in[0] = head);
	param_pointer(s, s->in[1] = next);
	param_pointer(s, s->in[2] = floats_take((size_t)s->n * 8));
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 128, 1, 128, 1);
}

static void chase_loop(UNUSED const struct loops *l, struct setup *s)
{
	const int *head = s->in[0], *next = s->in[1];
	const float *value = s->in[2];
	float *out = s->expect;

	for (int i = 0; i < s->n; i++) {
		float sum = 0;

		for (int at = head[i]; at >= 0; at = next[at])
			sum += value[at];
		out[i] = sum;
	}
}

static void march(struct setup *s)
{
	float *slope;

	s->n = 64 << 10;
	out_take(s, (size_t)s->n * 4);
	param_pointer(s, s->in[0] = floats_take(64 * 64 * 64));
	slope = floats_take((size_t)s->n * 2);
	param_pointer(s, s->in[1] = slope);
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void march_loop(UNUSED const struct loops *l, struct setup *s)
{
	const float *density = s->in[0], *slope = s->in[1];
	float *out = s->expect;

	for (int i = 0; i < s->n; i++) {
		float x = (float)(i % 64), y = (float)(i / 64 % 64), light = 1, sum = 0;

		for (int z = 0; z < 64 && light > 0.05f; z++) {
			const float d = density[(z * 64 + ((int)y & 63)) * 64 + ((int)x & 63)];

			if (d > 0.5f) {
				sum += light * d;
				light *= 1.0f - d * 0.25f;
			}
			x += slope[2 * i];
			y += slope[2 * i + 1];
		}
		out[i] = sum;
	}
}

static void long_rows(struct setup *s)
{
	int *row, *col, used = 0;
	double *value, *x;

	s->n = 128 << 10;
	out_take(s, (size_t)s->n * 8);
	row = s->in[0] = words_take((size_t)s->n + 1);
	for (int i = 0; i < s->n; i++) {
		row[i] = used;
		used += random_next() % 16 ? 2 + (int)(random_next() % 4) : 16 + (int)(random_next() % 48);
	}
	row[s->n] = used;
	col = s->in[1] = words_take((size_t)used);
	value = s->in[2] = device_take((size_t)used * sizeof(*value));
	x = s->in[3] = device_take((size_t)s->n * sizeof(*x));
	for (int k = 0; k < used; k++) {
		col[k] = (int)(random_next() % (uint32_t)s->n);
		value[k] = (double)(random_next() >> 8) / (1 << 24);
	}
	for (int i = 0; i < s->n; i++)
		x[i] = (double)(random_next() >> 8) / (1 << 24);
	param_pointer(s, row);
	param_pointer(s, col);
	param_pointer(s, value);
	param_pointer(s, x);
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void long_rows_loop(UNUSED const struct loops *l, struct setup *s)
{
	const int *row = s->in[0], *col = s->in[1];
	const double *value = s->in[2], *x = s->in[3];
	double *y = s->expect;

	for (int i = 0; i < s->n; i++) {
		double sum = 0;

		for (int k = row[i]; k < row[i + 1]; k++)
			sum += value[k] * x[col[k]];
		y[i] = sum;
	}
}

static void match(struct setup *s)
{
	uint8_t *text, *pattern;

	s->n = 1 << 20;
	s->m = 24;
	out_take(s, (size_t)s->n * 4);
	text = s->in[0] = device_take((size_t)s->n + 64);
	pattern = s->in[1] = device_take(64);
	for (int i = 0; i < s->n + 64; i++)
		text[i] = random_next() % 4 ? 'a' : 'b';
	for (int k = 0; k < 64; k++)
		pattern[k] = random_next() % 4 ? 'a' : 'b';
	param_pointer(s, text);
	param_pointer(s, pattern);
	param_pointer(s, s->out);
	param_int(s, s->m);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void match_loop(UNUSED const struct loops *l, struct setup *s)
{
	const uint8_t *text = s->in[0], *pattern = s->in[1];
	int *out = s->expect;

	for (int i = 0; i < s->n; i++) {
		int k = 0;

		while (k < s->m && text[i + k] == pattern[k])
			k++;
		out[i] = k;
	}
}

static void edits(struct setup *s)
{
	uint8_t *word;
	int *size;

	s->n = 16 << 10;
	out_take(s, (size_t)s->n * 4);
	word = s->in[0] = device_take((size_t)s->n * 32);
	size = s->in[1] = words_take((size_t)s->n * 2);
	for (int i = 0; i < s->n * 32; i++)
		word[i] = (uint8_t)('a' + random_next() % 6);
	for (int i = 0; i < s->n * 2; i++)
		size[i] = 4 + (int)(random_next() % 13);
	param_pointer(s, word);
	param_pointer(s, size);
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 64, 1, 64, 1);
}

static int edits_of(const uint8_t *word, int a, int b)
{
	int row[17];

	for (int k = 0; k <= b; k++)
		row[k] = k;
	for (int j = 1; j <= a; j++) {
		int before = row[0];

		row[0] = j;
		for (int k = 1; k <= b; k++) {
			const int same = before + (word[j - 1] != word[16 + k - 1]);
			const int less = row[k] < row[k - 1] ? row[k] : row[k - 1];

			before = row[k];
			row[k] = same < less + 1 ? same : less + 1;
		}
	}
	return row[b];
}

static void edits_loop(UNUSED const struct loops *l, struct setup *s)
{
	const uint8_t *word = s->in[0];
	const int *size = s->in[1];
	int *out = s->expect;

	for (int i = 0; i < s->n; i++)
		out[i] = edits_of(word + (size_t)32 * (size_t)i, size[2 * i], size[2 * i + 1]);
}

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void places(struct setup *s)
{
	uint32_t *sorted, *key;

	s->n = 256 << 10;
	out_take(s, 4097 * 4);
	sorted = s->in[0] = words_take(1u << SORTED_BITS);
	qsort(sorted, 1u << SORTED_BITS, sizeof(*sorted), compare);
	key = s->in[1] = words_take((size_t)s->n);
	for (int i = 0; i < s->n; i += 2) /* half of them are there */
		key[i] = sorted[random_next() >> (32 - SORTED_BITS)];
	param_pointer(s, sorted);
	param_pointer(s, key);
	param_pointer(s, s->out);
	param_int(s, SORTED_BITS);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void places_loop(UNUSED const struct loops *l, struct setup *s)
{
	const uint32_t *sorted = s->in[0], *key = s->in[1];
	int *count = s->expect;

	for (int i = 0; i < s->n; i++) {
		int low = 0, high = 1 << SORTED_BITS;

		while (low < high) {
			const int middle = (low + high) / 2;

			if (sorted[middle] == key[i])
				break;
			if (sorted[middle] < key[i])
				low = middle + 1;
			else
				high = middle;
		}
		count[low >> (SORTED_BITS - 12)]++;
	}
}

const struct bench_case irregular_cases[] = {
	{ "chase", "lists of different lengths", 0, false, chase, chase_loop, CLOSE_F32, 1e-5 },
	{ "march", "rays through a volume", 0, false, march, march_loop, CLOSE_F32, 1e-4 },
	{ "long_rows", "sparse matrix, f64, few long rows", 0, false, long_rows, long_rows_loop, CLOSE_F64, 1e-12 },
	{ "match", "prefixes in a text, bytes", 0, false, match, match_loop, SAME, 0 },
	{ "edits", "distances of words, own rows", 0, false, edits, edits_loop, SAME, 0 },
	{ "places", "places in a sorted array, counted", 0, true, places, places_loop, SAME, 0 },
};
const unsigned irregular_case_count = sizeof(irregular_cases) / sizeof(irregular_cases[0]);
