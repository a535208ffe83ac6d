/*
 * fresh_cases.c: see engine_cases.h. The kernels of kernels/fresh.cu, each beside a loop of C that computes the same.
 */
#include "engine_cases.h"

#include <stdlib.h>
#include <string.h>

#define UNUSED __attribute__((unused))

static int *numbers_take(int count, uint32_t below)
{
	int *n = device_take((size_t)count * 4 + 4);

	for (int i = 0; i < count; i++)
		n[i] = (int)(random_next() % below);
	return n;
}

/* Where lists of up to `most` elements begin, few of them long; and where the last one ends. */
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

static void hook(struct setup *s)
{
	const int nodes = 256 << 10;
	int *label, *next, *expect;

	s->n = 1 << 20;
	out_take(s, (size_t)nodes * 4);
	next = s->out;
	expect = s->expect;
	s->in[0] = numbers_take(s->n, (uint32_t)nodes);
	s->in[1] = numbers_take(s->n, (uint32_t)nodes);
	label = s->in[2] = numbers_take(nodes, (uint32_t)nodes);
	for (int i = 0; i < nodes; i++)
		next[i] = expect[i] = label[i];
	param_pointer(s, s->in[0]);
	param_pointer(s, s->in[1]);
	param_pointer(s, label);
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void hook_loop(UNUSED const struct loops *l, struct setup *s)
{
	const int *from = s->in[0], *to = s->in[1], *label = s->in[2];
	int *next = s->expect;

	for (int i = 0; i < s->n; i++) {
		const int a = label[from[i]], b = label[to[i]], at = a < b ? to[i] : from[i], v = a < b ? a : b;

		if (a != b && v < next[at])
			next[at] = v;
	}
}

static void frontier(struct setup *s)
{
	const int nodes = 256 << 10;
	int *row, *level;

	s->n = 64 << 10;
	row = s->in[0] = lists_take(nodes, 32);
	s->in[1] = numbers_take(row[nodes], (uint32_t)nodes);
	s->in[2] = numbers_take(s->n, (uint32_t)nodes);
	level = s->in[3] = device_take((size_t)nodes * 4);
	for (int i = 0; i < nodes; i++)
		level[i] = random_next() % 3 ? 4 : -1;
	out_take(s, (size_t)(nodes + 1) * 4);
	param_pointer(s, row);
	param_pointer(s, s->in[1]);
	param_pointer(s, s->in[2]);
	param_pointer(s, level);
	param_pointer(s, device_take((size_t)4 << 20));
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void frontier_loop(UNUSED const struct loops *l, struct setup *s)
{
	const int *row = s->in[0], *col = s->in[1], *queue = s->in[2], *level = s->in[3];
	int *out = s->expect;

	for (int i = 0; i < s->n; i++)
		for (int k = row[queue[i]]; k < row[queue[i] + 1]; k++)
			if (level[col[k]] < 0) {
				out[0]++;
				out[1 + col[k]] = 1;
			}
}

/*
 * A code of 4, 6, 8 and 10 bits, lowest bit first: 8 symbols begin with 0, 16 with 01, 32 with 011, and 64 with 111
 * and more; the rest of each is its number.
 */
static uint32_t code_of(uint32_t symbol, uint32_t *ret_bits)
{
	if (symbol < 8) {
		*ret_bits = 4;
		return symbol << 1;
	}
	if (symbol < 24) {
		*ret_bits = 6;
		return (symbol - 8) << 2 | 1;
	}
	if (symbol < 56) {
		*ret_bits = 8;
		return (symbol - 24) << 3 | 3;
	}
	*ret_bits = 10;
	return (symbol - 56) << 3 | 7;
}

static void huffman(struct setup *s)
{
	uint32_t *bits, *table;
	uint64_t used = 0;
	int *begin, *tree;

	s->n = 16 << 10;
	s->m = 64;
	bits = s->in[0] = device_take((size_t)s->n * (size_t)s->m * 10 / 8 + 64);
	begin = s->in[1] = device_take((size_t)s->n * 4);
	memset(bits, 0, (size_t)s->n * (size_t)s->m * 10 / 8 + 64);
	table = s->in[2] = device_take(256 * 4);
	tree = s->in[3] = device_take(32 * 3 * 2 * 4);
	for (uint32_t symbol = 0; symbol < 120; symbol++) {
		uint32_t size;
		const uint32_t code = code_of(symbol, &size);

		for (uint32_t i = 0; size <= 8 && i < 256; i++)
			if ((i & ((1u << size) - 1)) == code)
				table[i] = size << 16 | symbol;
	}
	for (uint32_t i = 0; i < 32; i++) { /* two more bits: three nodes for each beginning */
		const int node = (int)i * 3;

		table[i << 3 | 7] = 8u << 16 | 0x8000 | (uint32_t)node;
		for (int bit = 0; bit < 2; bit++) {
			tree[2 * node + bit] = node + 1 + bit;
			for (int last = 0; last < 2; last++)
				tree[2 * (node + 1 + bit) + last] = ~(56 + (int)i + 32 * (bit + 2 * last));
		}
	}
	for (int i = 0; i < s->n; i++) {
		begin[i] = (int)used;
		for (int k = 0; k < s->m; k++) {
			const uint32_t odds[4] = { 8, 24, 56, 120 };
			const uint32_t symbol = random_next() % odds[random_next() % 16 ? random_next() % 3 : 3];
			uint32_t size, code = code_of(symbol, &size);

			for (; size; size--, code >>= 1, used++)
				bits[used / 32] |= (code & 1) << used % 32;
		}
	}
	out_take(s, (size_t)s->n * (size_t)s->m);
	param_pointer(s, bits);
	param_pointer(s, begin);
	param_pointer(s, table);
	param_pointer(s, tree);
	param_pointer(s, s->out);
	param_int(s, s->m);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 128, 1, 128, 1);
}

static void huffman_loop(UNUSED const struct loops *l, struct setup *s)
{
	const uint32_t *bits = s->in[0], *table = s->in[2];
	const int *begin = s->in[1], *tree = s->in[3];
	uint8_t *out = s->expect;

	for (int i = 0; i < s->n; i++) {
		uint32_t at = (uint32_t)begin[i];

		for (int k = 0; k < s->m; k++) {
			const uint64_t both = (uint64_t)bits[(at >> 5) + 1] << 32 | bits[at >> 5];
			uint32_t entry = table[both >> (at & 31) & 255];

			at += entry >> 16;
			if (entry & 0x8000) {
				int node = (int)(entry & 0x7fff);

				for (; node >= 0; at++)
					node = tree[2 * node + (int)(bits[at >> 5] >> (at & 31) & 1)];
				entry = (uint32_t)~node;
			}
			out[i * s->m + k] = (uint8_t)entry;
		}
	}
}

#define QUEENS 9

static void queens(struct setup *s)
{
	s->n = 8 << 10;
	out_take(s, (size_t)s->n * 4);
	param_pointer(s, s->out);
	param_int(s, QUEENS);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 64, 1, 64, 1);
}

static int queens_below(uint32_t columns, uint32_t left, uint32_t right, int rows)
{
	const uint32_t all = (1u << QUEENS) - 1;
	int found = 0;

	if (!rows)
		return 1;
	for (uint32_t open = all & ~(columns | left | right), bit; open; open ^= bit) {
		bit = open & -open;
		found += queens_below(columns | bit, (left | bit) << 1, (right | bit) >> 1, rows - 1);
	}
	return found;
}

static void queens_loop(UNUSED const struct loops *l, struct setup *s)
{
	int *count = s->expect;

	for (int i = 0; i < s->n; i++) {
		const uint32_t first = 1u << (i / QUEENS % QUEENS), second = 1u << (i % QUEENS);

		count[i] = 0;
		if (!(second & (first | first << 1 | first >> 1)))
			count[i] = queens_below(first | second, (first << 1 | second) << 1, (first >> 1 | second) >> 1,
						QUEENS - 2);
	}
}

static void runs(struct setup *s)
{
	uint8_t *in, *value, *length;

	s->n = 32 << 10;
	s->m = 64 * s->n;
	in = s->in[0] = device_take((size_t)s->m);
	for (int i = 0; i < s->m; i++)
		in[i] = i && random_next() % 5 ? in[i - 1] : (uint8_t)(random_next() % 7);
	out_take(s, (size_t)s->m * 2 + (size_t)s->n * 4);
	value = s->out;
	length = value + s->m;
	param_pointer(s, in);
	param_pointer(s, value);
	param_pointer(s, length);
	param_pointer(s, length + s->m);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 128, 1, 128, 1);
}

static void runs_loop(UNUSED const struct loops *l, struct setup *s)
{
	const uint8_t *in = s->in[0];
	uint8_t *value = s->expect, *length = value + s->m;
	int *count = (int *)(void *)(length + s->m);

	for (int i = 0; i < s->n; i++) {
		int made = i * 64, k;

		for (int at = i * 64; at < i * 64 + 64; at += k, made++) {
			for (k = 1; at + k < i * 64 + 64 && in[at + k] == in[at];)
				k++;
			value[made] = in[at];
			length[made] = (uint8_t)k;
		}
		count[i] = made - i * 64;
	}
}

static void prefix(struct setup *s)
{
	s->n = 1 << 20;
	out_take(s, (size_t)s->n * 4);
	param_pointer(s, s->in[0] = numbers_take(s->n, 1000));
	param_pointer(s, s->out);
	shape(s, (uint32_t)s->n / 512, 1, 256, 1);
}

static void prefix_loop(UNUSED const struct loops *l, struct setup *s)
{
	const int *in = s->in[0];
	int *out = s->expect, sum = 0;

	for (int i = 0; i < s->n; i++) {
		sum = i % 512 ? sum + in[i - 1] : 0;
		out[i] = sum;
	}
}

static void least(struct setup *s)
{
	s->n = 16 << 10;
	s->m = 128;
	out_take(s, (size_t)s->n * 8 * 4);
	param_pointer(s, s->in[0] = floats_take((size_t)s->n * (size_t)s->m));
	param_pointer(s, s->out);
	param_int(s, s->m);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 128, 1, 128, 1);
}

static void least_loop(UNUSED const struct loops *l, struct setup *s)
{
	const float *in = s->in[0];
	float *out = s->expect;

	for (int i = 0; i < s->n; i++) {
		float best[8];

		for (int k = 0; k < 8; k++)
			best[k] = 1e30f;
		for (int k = 0; k < s->m; k++) {
			const float v = in[k * s->n + i];
			int at = 7;

			if (v >= best[7])
				continue;
			for (; at > 0 && best[at - 1] > v; at--)
				best[at] = best[at - 1];
			best[at] = v;
		}
		for (int k = 0; k < 8; k++)
			out[k * s->n + i] = best[k];
	}
}

static void checksum(struct setup *s)
{
	uint32_t *table;
	int *begin;

	s->n = 32 << 10;
	begin = s->in[1] = lists_take(s->n, 96);
	s->in[0] = words_take((size_t)begin[s->n] / 4 + 1);
	table = s->in[2] = device_take(256 * 4);
	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int k = 0; k < 8; k++)
			table[i] = table[i] & 1 ? table[i] >> 1 ^ 0xedb88320u : table[i] >> 1;
	}
	out_take(s, (size_t)s->n * 4);
	param_pointer(s, s->in[0]);
	param_pointer(s, begin);
	param_pointer(s, table);
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void checksum_loop(UNUSED const struct loops *l, struct setup *s)
{
	const uint8_t *bytes = s->in[0];
	const int *begin = s->in[1];
	const uint32_t *table = s->in[2];
	uint32_t *out = s->expect;

	for (int i = 0; i < s->n; i++) {
		uint32_t crc = 0xffffffffu;

		for (int at = begin[i]; at < begin[i + 1]; at++)
			crc = table[(crc ^ bytes[at]) & 255] ^ crc >> 8;
		out[i] = ~crc;
	}
}

#define DIGITS_EACH 16
#define DIGITS_SHIFT 12

static void digits(struct setup *s)
{
	s->n = 1 << 20;
	s->m = s->n / (256 * DIGITS_EACH);
	out_take(s, (size_t)s->m * 16 * 4);
	param_pointer(s, s->in[0] = words_take((size_t)s->n));
	param_pointer(s, s->out);
	param_int(s, DIGITS_SHIFT);
	param_int(s, DIGITS_EACH);
	shape(s, (uint32_t)s->m, 1, 256, 1);
}

static void digits_loop(UNUSED const struct loops *l, struct setup *s)
{
	const uint32_t *key = s->in[0];
	int *count = s->expect;

	memset(count, 0, s->out_bytes);
	for (int i = 0; i < s->n; i++)
		count[i / (256 * DIGITS_EACH) * 16 + (int)(key[i] >> DIGITS_SHIFT & 15)]++;
}

static void life(struct setup *s)
{
	uint8_t *in;

	s->n = 1024;
	in = s->in[0] = device_take((size_t)s->n * (size_t)s->n);
	for (int i = 0; i < s->n * s->n; i++)
		in[i] = random_next() % 3 == 0;
	out_take(s, (size_t)s->n * (size_t)s->n);
	param_pointer(s, in);
	param_pointer(s, s->out);
	param_int(s, s->n);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 32, (uint32_t)s->n / 8, 32, 8);
}

static void life_loop(UNUSED const struct loops *l, struct setup *s)
{
	const uint8_t *in = s->in[0];
	uint8_t *out = s->expect;
	const int n = s->n;

	for (int y = 0; y < n; y++)
		for (int x = 0; x < n; x++) {
			int alive = -in[y * n + x];

			for (int v = y > 0 ? y - 1 : 0; v <= y + 1 && v < n; v++)
				for (int u = x > 0 ? x - 1 : 0; u <= x + 1 && u < n; u++)
					alive += in[v * n + u];
			out[y * n + x] = alive == 3 || (alive == 2 && in[y * n + x]);
		}
}

const struct bench_case fresh_cases[] = {
	{ "hook", "labels of components, one step", 0, true, hook, hook_loop, SAME, 0 },
	{ "frontier", "breadth-first search by a queue", 0, true, frontier, frontier_loop, SAME, 0 },
	{ "huffman", "Huffman code, streams", 0, false, huffman, huffman_loop, SAME, 0 },
	{ "queens", "queens on a board, own stacks", 0, false, queens, queens_loop, SAME, 0 },
	{ "runs", "run lengths of bytes", 0, false, runs, runs_loop, SAME, 0 },
	{ "prefix", "sums up and down a tree, shared", 0, false, prefix, prefix_loop, SAME, 0 },
	{ "least", "eight least, own arrays", 0, false, least, least_loop, SAME, 0 },
	{ "checksum", "CRC-32 of strings", 0, false, checksum, checksum_loop, SAME, 0 },
	{ "digits", "digits of keys, shared atomics", 0, false, digits, digits_loop, SAME, 0 },
	{ "life", "game of life on bytes", 0, false, life, life_loop, SAME, 0 },
};
const unsigned fresh_case_count = sizeof(fresh_cases) / sizeof(fresh_cases[0]);
