/*
 * varied_cases.c: see engine_cases.h. The kernels of kernels/varied.cu, each beside a loop of C that computes the same.
 * Nothing in the engine was written for them.
 */
#include "engine_cases.h"

#include <math.h>
#include <string.h>

#define UNUSED __attribute__((unused))

static void gather(struct setup *s)
{
	int *index;

	s->n = 4 << 20;
	out_take(s, (size_t)s->n * 4);
	param_pointer(s, s->in[0] = floats_take((size_t)s->n));
	index = words_take((size_t)s->n);
	for (int i = 0; i < s->n; i++)
		index[i] &= s->n - 1;
	param_pointer(s, s->in[1] = index);
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void gather_loop(UNUSED const struct loops *l, struct setup *s)
{
	const float *in = s->in[0];
	const int *index = s->in[1];
	float *out = s->expect;

	for (int i = 0; i < s->n; i++)
		out[i] = in[index[i]];
}

static uint32_t mixed(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x85ebca6bu;
	x ^= x >> 13;
	x *= 0xc2b2ae35u;
	return x ^ x >> 16;
}

#define TABLE_PLACES (1u << 20)

struct place {
	uint32_t key, value;
};

static void hash_probe(struct setup *s)
{
	struct place *table;
	uint32_t *key;

	s->n = 1 << 20;
	out_take(s, (size_t)s->n * 4);
	table = s->in[0] = device_take(TABLE_PLACES * sizeof(*table));
	key = words_take((size_t)s->n);
	memset(table, 0, TABLE_PLACES * sizeof(*table));
	for (uint32_t i = 0; i < TABLE_PLACES / 2; i++) {
		uint32_t at;

		key[i] |= 1;
		at = mixed(key[i]) & (TABLE_PLACES - 1);
		while (table[at].key)
			at = (at + 1) & (TABLE_PLACES - 1);
		table[at] = (struct place){ key[i], i };
	}
	param_pointer(s, table);
	param_pointer(s, s->in[1] = key);
	param_pointer(s, s->out);
	param_int(s, s->n);
	param_int(s, TABLE_PLACES - 1);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void hash_probe_loop(UNUSED const struct loops *l, struct setup *s)
{
	const struct place *table = s->in[0];
	const uint32_t *key = s->in[1];
	uint32_t *value = s->expect;

	for (int i = 0; i < s->n; i++) {
		uint32_t at = mixed(key[i]) & (TABLE_PLACES - 1);

		while (table[at].key && table[at].key != key[i])
			at = (at + 1) & (TABLE_PLACES - 1);
		value[i] = table[at].key == key[i] ? table[at].value : ~0u;
	}
}

#define TREE_NODES ((1 << 16) - 1)

/* Places in the order of levels, values in the order of the tree. */
static int tree_fill(float *split, int at, int next)
{
	if (at >= TREE_NODES)
		return next;
	next = tree_fill(split, 2 * at + 1, next);
	split[at] = (float)next++;
	return tree_fill(split, 2 * at + 2, next);
}

static void tree_walk(struct setup *s)
{
	float *range;

	s->n = 32 << 10;
	out_take(s, (size_t)s->n * 4);
	param_pointer(s, s->in[0] = device_take(TREE_NODES * 4));
	tree_fill(s->in[0], 0, 0);
	param_int(s, TREE_NODES);
	range = s->in[1] = floats_take((size_t)s->n * 2);
	for (int i = 0; i < s->n; i++) {
		range[2 * i] *= 65536;
		range[2 * i + 1] = range[2 * i] + 40 * range[2 * i + 1];
	}
	param_pointer(s, range);
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void tree_walk_loop(UNUSED const struct loops *l, struct setup *s)
{
	const float *split = s->in[0], *range = s->in[1];
	int *count = s->expect;

	for (int i = 0; i < s->n; i++) {
		int stack[32], depth = 0, found = 0;
		const float low = range[2 * i], high = range[2 * i + 1];

		stack[depth++] = 0;
		while (depth) {
			const int at = stack[--depth];
			const float v = split[at];

			found += v >= low && v <= high;
			if (v > low && 2 * at + 1 < TREE_NODES)
				stack[depth++] = 2 * at + 1;
			if (v < high && 2 * at + 2 < TREE_NODES)
				stack[depth++] = 2 * at + 2;
		}
		count[i] = found;
	}
}

static void collatz(struct setup *s)
{
	s->n = 64 << 10;
	out_take(s, (size_t)s->n * 4);
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void collatz_loop(UNUSED const struct loops *l, struct setup *s)
{
	int *length = s->expect;

	for (int i = 0; i < s->n; i++) {
		uint64_t v = (uint64_t)i + 1;
		int steps = 0;

		for (; v != 1; steps++)
			v = v & 1 ? 3 * v + 1 : v / 2;
		length[i] = steps;
	}
}

static void softmax(struct setup *s)
{
	s->n = 1024;
	s->m = 1024;
	out_take(s, (size_t)s->n * (size_t)s->m * 4);
	param_pointer(s, s->in[0] = floats_take((size_t)s->n * (size_t)s->m));
	param_pointer(s, s->out);
	param_int(s, s->m);
	shape(s, (uint32_t)s->n, 1, 256, 1);
}

static void softmax_loop(UNUSED const struct loops *l, struct setup *s)
{
	for (int i = 0; i < s->n; i++) {
		const float *x = (const float *)s->in[0] + (size_t)i * (size_t)s->m;
		float *y = (float *)s->expect + (size_t)i * (size_t)s->m, most = -1e30f, sum = 0;

		for (int k = 0; k < s->m; k++)
			most = x[k] > most ? x[k] : most;
		for (int k = 0; k < s->m; k++)
			sum += y[k] = expf(x[k] - most);
		for (int k = 0; k < s->m; k++)
			y[k] /= sum;
	}
}

static void layernorm(struct setup *s)
{
	s->n = 2048;
	s->m = 1024;
	out_take(s, (size_t)s->n * (size_t)s->m * 4);
	param_pointer(s, s->in[0] = floats_take((size_t)s->n * (size_t)s->m));
	param_pointer(s, s->in[1] = floats_take((size_t)s->m));
	param_pointer(s, s->out);
	param_int(s, s->m);
	shape(s, (uint32_t)s->n, 1, 256, 1);
}

static void layernorm_loop(UNUSED const struct loops *l, struct setup *s)
{
	const float *scale = s->in[1];

	for (int i = 0; i < s->n; i++) {
		const float *x = (const float *)s->in[0] + (size_t)i * (size_t)s->m;
		float *y = (float *)s->expect + (size_t)i * (size_t)s->m, sum = 0, squares = 0, mean, root;

		for (int k = 0; k < s->m; k++) {
			sum += x[k];
			squares += x[k] * x[k];
		}
		mean = sum / (float)s->m;
		root = 1 / sqrtf(squares / (float)s->m - mean * mean + 1e-5f);
		for (int k = 0; k < s->m; k++)
			y[k] = (x[k] - mean) * root * scale[k];
	}
}

static void box_muller(struct setup *s)
{
	s->n = 16 << 10;
	s->m = 32;
	out_take(s, (size_t)s->n * 4);
	param_pointer(s, s->in[0] = words_take((size_t)s->n));
	param_pointer(s, s->out);
	param_int(s, s->m);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void box_muller_loop(UNUSED const struct loops *l, struct setup *s)
{
	const uint32_t *seed = s->in[0];
	float *out = s->expect;

	for (int i = 0; i < s->n; i++) {
		uint32_t state = seed[i];
		float sum = 0;

		for (int k = 0; k < s->m; k++) {
			float u, v;

			state = state * 1664525u + 1013904223u;
			u = (float)((state >> 8) + 1) * (1.0f / 16777216.0f);
			state = state * 1664525u + 1013904223u;
			v = (float)(state >> 8) * (6.2831853f / 16777216.0f);
			sum += sqrtf(-2.0f * logf(u)) * (cosf(v) + sinf(v));
		}
		out[i] = sum;
	}
}

static void hamming(struct setup *s)
{
	s->n = 64 << 10;
	out_take(s, (size_t)s->n * 4);
	param_pointer(s, s->in[0] = words_take((size_t)s->n * 8));
	param_pointer(s, s->in[1] = words_take(128 * 8));
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void hamming_loop(UNUSED const struct loops *l, struct setup *s)
{
	const uint32_t *query = s->in[0], *other = s->in[1];
	int *least = s->expect;

	for (int i = 0; i < s->n; i++) {
		least[i] = 1000;
		for (int j = 0; j < 128; j++) {
			int d = 0;

			for (int k = 0; k < 8; k++)
				d += __builtin_popcount(query[k * s->n + i] ^ other[j * 8 + k]);
			least[i] = d < least[i] ? d : least[i];
		}
	}
}

static void quantized(struct setup *s)
{
	s->n = 2048;
	s->m = 128;
	out_take(s, (size_t)s->n * 4);
	param_pointer(s, s->in[0] = words_take((size_t)s->n * (size_t)s->m * 4));
	param_pointer(s, s->in[1] = floats_take((size_t)s->n * (size_t)s->m));
	param_pointer(s, s->in[2] = words_take((size_t)s->m * 8));
	param_pointer(s, s->out);
	param_int(s, s->m);
	shape(s, (uint32_t)s->n / 4, 1, 32, 4);
}

static void quantized_loop(UNUSED const struct loops *l, struct setup *s)
{
	const uint8_t *weight = s->in[0];
	const float *scale = s->in[1];
	const int8_t *x = s->in[2];
	float *y = s->expect;

	for (int row = 0; row < s->n; row++) {
		y[row] = 0;
		for (int b = 0; b < s->m; b++) {
			const uint8_t *packed = weight + (row * s->m + b) * 16;
			int dot = 0;

			for (int k = 0; k < 16; k++)
				dot += (packed[k] & 15) * x[b * 32 + k] + (packed[k] >> 4) * x[b * 32 + 16 + k];
			y[row] += (float)dot * scale[row * s->m + b];
		}
	}
}

static void vote_sort(struct setup *s)
{
	s->n = 256 << 10;
	out_take(s, (size_t)s->n * 4);
	param_pointer(s, s->in[0] = words_take((size_t)s->n));
	param_pointer(s, s->out);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

/* By their bits as well, from the lowest on. */
static void vote_sort_loop(UNUSED const struct loops *l, struct setup *s)
{
	const uint32_t *in = s->in[0];

	for (int i = 0; i < s->n; i += 32) {
		uint32_t *v = (uint32_t *)s->expect + i, next[32];

		for (int k = 0; k < 32; k++)
			v[k] = in[i + k] & 0xffff;
		for (int bit = 0; bit < 16; bit++) {
			int to = 0;

			for (uint32_t which = 0; which < 2; which++)
				for (int k = 0; k < 32; k++)
					if ((v[k] >> bit & 1) == which)
						next[to++] = v[k];
			memcpy(v, next, sizeof(next));
		}
	}
}

static void hotspot(struct setup *s)
{
	s->n = 1024;
	out_take(s, (size_t)s->n * (size_t)s->n * 4);
	param_pointer(s, s->in[0] = floats_take((size_t)s->n * (size_t)s->n));
	param_pointer(s, s->in[1] = floats_take((size_t)s->n * (size_t)s->n));
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 16, (uint32_t)s->n / 16, 16, 16);
}

static void hotspot_loop(UNUSED const struct loops *l, struct setup *s)
{
	const float *power = s->in[0], *in = s->in[1];
	float *out = s->expect;
	const int n = s->n;

	for (int y = 0; y < n; y++)
		for (int x = 0; x < n; x++) {
			const int i = y * n + x;
			const float c = in[i], north = in[y > 0 ? i - n : i], south = in[y < n - 1 ? i + n : i];
			const float west = in[x > 0 ? i - 1 : i], east = in[x < n - 1 ? i + 1 : i];

			out[i] = c + 0.1f * (power[i] + (north + south - 2 * c) * 0.5f + (west + east - 2 * c) * 0.25f +
					     (80.0f - c) * 0.01f);
		}
}

static void alignment(struct setup *s)
{
	int *score;

	s->n = 4096;
	out_take(s, (size_t)s->n * 1024);
	score = words_take((size_t)s->n * 256);
	for (int i = 0; i < s->n * 256; i++)
		score[i] = (int)((uint32_t)score[i] % 21) - 10;
	param_pointer(s, s->in[0] = score);
	param_pointer(s, s->out);
	param_int(s, 3);
	shape(s, (uint32_t)s->n, 1, 16, 1);
}

static void alignment_loop(UNUSED const struct loops *l, struct setup *s)
{
	for (int b = 0; b < s->n; b++) {
		const int *score = (const int *)s->in[0] + b * 256;
		int *out = (int *)s->expect + b * 256, t[17][17];

		t[0][0] = 0;
		for (int k = 1; k <= 16; k++)
			t[0][k] = t[k][0] = -3 * k;
		for (int y = 0; y < 16; y++)
			for (int x = 0; x < 16; x++) {
				const int gap = (t[y][x + 1] > t[y + 1][x] ? t[y][x + 1] : t[y + 1][x]) - 3;
				const int both = t[y][x] + score[y * 16 + x];

				out[y * 16 + x] = t[y + 1][x + 1] = both > gap ? both : gap;
			}
	}
}

static void graph_take(struct setup *s, int nodes, uint32_t most)
{
	int *row, *col, used = 0;

	row = s->in[0] = device_take((size_t)(nodes + 1) * 4);
	col = s->in[1] = device_take((size_t)nodes * most * 4);
	for (int i = 0; i < nodes; i++) {
		row[i] = used;
		for (uint32_t k = random_next() % most; k; k--)
			col[used++] = (int)(random_next() % (uint32_t)nodes);
	}
	row[nodes] = used;
	param_pointer(s, row);
	param_pointer(s, col);
}

static void breadth(struct setup *s)
{
	int *level, *expect;

	s->n = 512 << 10;
	out_take(s, ((size_t)s->n + 1) * 4);
	level = s->out;
	expect = s->expect;
	graph_take(s, s->n, 16);
	for (int i = 0; i < s->n; i++)
		expect[i] = level[i] = random_next() % 4 ? -1 : 5;
	param_pointer(s, level);
	param_pointer(s, level + s->n);
	param_int(s, 5);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void breadth_loop(UNUSED const struct loops *l, struct setup *s)
{
	const int *row = s->in[0], *col = s->in[1];
	int *level = s->expect;

	for (int i = 0; i < s->n; i++) {
		if (level[i] != 5)
			continue;
		for (int k = row[i]; k < row[i + 1]; k++) {
			if (level[col[k]] != -1)
				continue;
			level[col[k]] = 6;
			level[s->n]++;
		}
	}
}

static void nearest(struct setup *s)
{
	s->n = 64 << 10;
	out_take(s, (size_t)s->n * 4);
	param_pointer(s, s->in[0] = floats_take((size_t)s->n * 16));
	param_pointer(s, s->in[1] = floats_take(8 * 16));
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void nearest_loop(UNUSED const struct loops *l, struct setup *s)
{
	const float *feature = s->in[0], *centre = s->in[1];
	int *which = s->expect;

	for (int i = 0; i < s->n; i++) {
		float least = 1e30f;

		for (int c = 0; c < 8; c++) {
			float d = 0;

			for (int k = 0; k < 16; k++) {
				const float e = feature[i * 16 + k] - centre[c * 16 + k];

				d += e * e;
			}
			if (d < least) {
				least = d;
				which[i] = c;
			}
		}
	}
}

static void table_cipher(struct setup *s)
{
	s->n = 64 << 10;
	s->m = 10;
	out_take(s, (size_t)s->n * 16);
	param_pointer(s, s->in[0] = words_take(256));
	param_pointer(s, s->in[1] = words_take((size_t)s->n * 4));
	param_pointer(s, s->out);
	param_int(s, s->m);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static uint32_t rotated(uint32_t x, int by)
{
	return x << by | x >> (32 - by);
}

static void table_cipher_loop(UNUSED const struct loops *l, struct setup *s)
{
	const uint32_t *t = s->in[0], *in = s->in[1];

	for (int i = 0; i < s->n; i++) {
		uint32_t v[4], next[4];

		memcpy(v, in + (size_t)i * 4, sizeof(v));
		for (int k = 0; k < s->m; k++) {
			for (int j = 0; j < 4; j++)
				next[j] = t[v[j] & 255] ^ rotated(t[v[(j + 1) & 3] >> 8 & 255], 8) ^
					  rotated(t[v[(j + 2) & 3] >> 16 & 255], 16) ^
					  rotated(t[v[(j + 3) & 3] >> 24], 24);
			memcpy(v, next, sizeof(v));
		}
		memcpy((uint32_t *)s->expect + (size_t)i * 4, v, sizeof(v));
	}
}

const struct bench_case varied_cases[] = {
	{ "gather", "gather, 4 M", 0, false, gather, gather_loop, SAME, 0 },
	{ "hash_probe", "keys in a hash table, 1 M", 0, false, hash_probe, hash_probe_loop, SAME, 0 },
	{ "tree_walk", "walks in a tree, own stacks", 0, false, tree_walk, tree_walk_loop, SAME, 0 },
	{ "collatz", "Collatz, divergent, 64 bits", 0, false, collatz, collatz_loop, SAME, 0 },
	{ "softmax", "softmax, rows of 1024", 0, false, softmax, softmax_loop, CLOSE_F32, 1e-4 },
	{ "layernorm", "layer norm, rows of 1024", 0, false, layernorm, layernorm_loop, CLOSE_F32, 1e-3 },
	{ "box_muller", "normal deviates", 0, false, box_muller, box_muller_loop, CLOSE_F32, 1e-3 },
	{ "hamming", "distances of bit vectors", 0, false, hamming, hamming_loop, SAME, 0 },
	{ "quantized", "4-bit matrix times vector, dp4a", 0, false, quantized, quantized_loop, CLOSE_F32, 1e-3 },
	{ "vote_sort", "sort of 32s by votes", 0, false, vote_sort, vote_sort_loop, SAME, 0 },
	{ "hotspot", "heat in a chip, tiles with edges", 0, false, hotspot, hotspot_loop, CLOSE_F32, 1e-5 },
	{ "alignment", "alignment, blocks of 16", 0, false, alignment, alignment_loop, SAME, 0 },
	{ "breadth", "breadth-first search, one level", 0, true, breadth, breadth_loop, SAME, 0 },
	{ "nearest", "nearest of 8 centres", 0, false, nearest, nearest_loop, SAME, 0 },
	{ "table_cipher", "cipher by a table, shared", 0, false, table_cipher, table_cipher_loop, SAME, 0 },
};
const unsigned varied_case_count = sizeof(varied_cases) / sizeof(varied_cases[0]);
