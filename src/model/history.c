/*
 * history.c: rings of means; see history.h.
 *
 * A level's steps lie in chunks of HISTORY_CHUNK, each of which is allocated when it gets its first value. A chunk that
 * is over and has the same values all through, as of a tenant that does nothing, keeps one step for all.
 */
#include "model/history.h"

#include <stdlib.h>
#include <string.h>

#define CHUNKS_MOST 25u

struct sum {
	double total;
	unsigned int count;
};

struct chunk {
	int64_t number;	   /* of all chunks that there ever are */
	unsigned int rows; /* HISTORY_CHUNK; 1: that one stands for all */
	uint16_t code[];   /* row by row, the figures of each together */
};

struct level {
	int64_t now;			  /* the step that is being added up; -1: none yet */
	struct sum *sum;		  /* by figure */
	struct chunk *chunk[CHUNKS_MOST]; /* a ring; NULL: nothing in it */
	unsigned int open;		  /* the one that was last written to */
};

struct history {
	unsigned int figures;
	struct level level[HISTORY_LEVELS];
	struct sum sum[];
};

/* One chunk more than the steps need, for the oldest and the newest are parts. */
static const struct {
	unsigned int step_s, steps, chunks;
} levels[HISTORY_LEVELS] = { { 1, 600, 11 }, { 10, 1080, 19 }, { 60, 1440, 25 } };

struct history *history_new(unsigned int figures)
{
	struct history *h = calloc(1, sizeof(*h) + HISTORY_LEVELS * figures * sizeof(struct sum));

	if (!h)
		return NULL;
	h->figures = figures;
	for (unsigned int i = 0; i < HISTORY_LEVELS; i++)
		h->level[i] = (struct level){ .now = -1, .sum = h->sum + i * figures };
	return h;
}

void history_free(struct history *h)
{
	for (unsigned int i = 0; h && i < HISTORY_LEVELS; i++)
		for (unsigned int k = 0; k < CHUNKS_MOST; k++)
			free(h->level[i].chunk[k]);
	free(h);
}

unsigned int history_step(unsigned int level)
{
	return levels[level].step_s;
}

unsigned int history_steps(unsigned int level)
{
	return levels[level].steps;
}

unsigned int history_level(uint64_t span_s)
{
	unsigned int level = 0;

	while (level + 1 < HISTORY_LEVELS && (uint64_t)levels[level].step_s * levels[level].steps < span_s)
		level++;
	return level;
}

/* A number of 11 bits and the power of two that it is multiplied with; 0 stands for none, so all are one higher. */
uint16_t history_encode(uint64_t value)
{
	unsigned int shift = 0;

	if (value == HISTORY_NONE)
		return 0;
	while (value >> shift >= 2048)
		shift++;
	if (shift)
		value = (value >> shift) + (value >> (shift - 1) & 1);
	return (uint16_t)((shift << 10) + value + 1);
}

uint64_t history_decode(uint16_t code)
{
	unsigned int shift, rest;

	if (!code)
		return HISTORY_NONE;
	code--;
	if (code < 2048)
		return code;
	shift = (code >> 10) - 1u;
	rest = (code & 1023u) + 1024;
	return shift > 53 ? HISTORY_NONE - 1 : (uint64_t)rest << shift;
}

/* Chunks. */

/* The codes of a step, or NULL: there are none. */
static const uint16_t *row_find(const struct history *h, unsigned int level, int64_t step)
{
	const struct chunk *c = h->level[level].chunk[step / HISTORY_CHUNK % levels[level].chunks];

	if (!c || c->number != step / HISTORY_CHUNK)
		return NULL;
	return c->code + (c->rows == 1 ? 0 : step % HISTORY_CHUNK * h->figures);
}

static struct chunk *chunk_new(const struct history *h, int64_t number, unsigned int rows)
{
	struct chunk *c = calloc(1, sizeof(*c) + (size_t)rows * h->figures * sizeof(c->code[0]));

	if (c)
		*c = (struct chunk){ .number = number, .rows = rows };
	return c;
}

/* Puts `c` into the ring, in the place of what was there. */
static void chunk_put(struct level *l, unsigned int at, struct chunk *c)
{
	free(l->chunk[at]);
	l->chunk[at] = c;
}

/* One that is over: a row for all, where all are the same. */
static void chunk_shorten(const struct history *h, struct level *l, unsigned int at)
{
	struct chunk *c = l->chunk[at], *one;
	size_t row = h->figures * sizeof(c->code[0]);

	if (!c || c->rows == 1 || memcmp(c->code, c->code + h->figures, (HISTORY_CHUNK - 1) * row))
		return;
	one = chunk_new(h, c->number, 1);
	if (!one)
		return;
	memcpy(one->code, c->code, row);
	chunk_put(l, at, one);
}

/* The chunk of a step, to be written to; NULL: no memory. */
static struct chunk *chunk_open(const struct history *h, unsigned int level, int64_t step)
{
	struct level *l = (struct level *)&h->level[level];
	unsigned int at = (unsigned int)(step / HISTORY_CHUNK % levels[level].chunks);
	struct chunk *c = l->chunk[at], *full;

	if (at != l->open)
		chunk_shorten(h, l, l->open);
	l->open = at;
	if (c && c->number == step / HISTORY_CHUNK && c->rows == HISTORY_CHUNK)
		return c;
	full = chunk_new(h, step / HISTORY_CHUNK, HISTORY_CHUNK);
	for (unsigned int i = 0; full && c && c->number == full->number && i < HISTORY_CHUNK; i++)
		memcpy(full->code + i * h->figures, c->code, h->figures * sizeof(c->code[0]));
	chunk_put(l, at, full);
	return full;
}

static void row_write(struct history *h, unsigned int level, int64_t step, const uint16_t *code)
{
	struct chunk *c = chunk_open(h, level, step);

	if (c)
		memcpy(c->code + step % HISTORY_CHUNK * h->figures, code, h->figures * sizeof(*code));
}

/* The means of the step that is going on, as far as it has gone. */
static void write_means(const struct history *h, unsigned int level, uint16_t code[HISTORY_FIGURES])
{
	for (unsigned int i = 0; i < h->figures; i++) {
		const struct sum *s = &h->level[level].sum[i];

		code[i] = history_encode(s->count ? (uint64_t)(s->total / s->count + 0.5) : HISTORY_NONE);
	}
}

/* The step that was going on is over, and those up to `step` had nothing. */
static void close_steps(struct history *h, unsigned int level, int64_t step)
{
	struct level *l = &h->level[level];
	uint16_t code[HISTORY_FIGURES];

	write_means(h, level, code);
	memset(l->sum, 0, h->figures * sizeof(*l->sum));
	row_write(h, level, l->now, code);
	l->now = step;
}

void history_add(struct history *h, int64_t at_s, const uint64_t *value)
{
	for (unsigned int i = 0; at_s >= 0 && i < HISTORY_LEVELS; i++) {
		struct level *l = &h->level[i];
		int64_t step = at_s / levels[i].step_s;

		if (step < l->now)
			continue;
		if (l->now < 0)
			l->now = step;
		if (step > l->now)
			close_steps(h, i, step);
		for (unsigned int k = 0; k < h->figures; k++)
			if (value[k] != HISTORY_NONE) {
				l->sum[k].total += (double)value[k];
				l->sum[k].count++;
			}
	}
}

void history_add_span(struct history *h, int64_t from_s, int64_t to_s, const uint64_t *value)
{
	for (int64_t at = from_s; at <= to_s; at++)
		history_add(h, at, value);
}

static int64_t step_of(unsigned int level, int64_t at_s)
{
	int64_t step_s = levels[level].step_s;

	return at_s / step_s - (at_s % step_s < 0);
}

static void shift_level(struct history *h, unsigned int level, int64_t steps)
{
	struct level old = h->level[level], *l = &h->level[level];
	int64_t first = old.now - (int64_t)levels[level].steps;

	if (old.now < 0 || !steps)
		return;
	/* Of its own, so that the old one is read while the new one is written. */
	*l = (struct level){ .now = old.now + steps < 0 ? -1 : old.now + steps, .sum = old.sum };
	for (int64_t step = first < 0 ? 0 : first; step < old.now; step++) {
		const struct chunk *c = old.chunk[step / HISTORY_CHUNK % levels[level].chunks];

		if (c && c->number == step / HISTORY_CHUNK && step + steps >= 0)
			row_write(h, level, step + steps,
				  c->code + (c->rows == 1 ? 0 : step % HISTORY_CHUNK * h->figures));
	}
	for (unsigned int i = 0; i < CHUNKS_MOST; i++)
		free(old.chunk[i]);
	for (unsigned int i = 0; l->now < 0 && i < h->figures; i++)
		l->sum[i] = (struct sum){ 0 };
}

void history_shift(struct history *h, int64_t from_s, int64_t to_s)
{
	for (unsigned int i = 0; i < HISTORY_LEVELS; i++)
		shift_level(h, i, step_of(i, to_s) - step_of(i, from_s));
}

static bool kept(const struct history *h, unsigned int level, int64_t step)
{
	return step >= 0 && step < h->level[level].now && step > h->level[level].now - (int64_t)levels[level].steps;
}

void history_read(const struct history *h, unsigned int figure, unsigned int level, int64_t first, unsigned int count,
		  uint64_t *ret)
{
	for (unsigned int i = 0; i < count; i++) {
		const uint16_t *row = kept(h, level, first + i) ? row_find(h, level, first + i) : NULL;

		ret[i] = row ? history_decode(row[figure]) : HISTORY_NONE;
	}
}

int64_t history_now(const struct history *h, unsigned int level)
{
	return h->level[level].now;
}

/* Keeping. Numbers are little-endian. */

size_t history_chunk_bytes(const struct history *h)
{
	return HISTORY_CHUNK * h->figures * sizeof(uint16_t);
}

void history_save(const struct history *h, unsigned int level, int64_t chunk, uint8_t *ret)
{
	uint16_t present[HISTORY_FIGURES];

	/* Of the finest level the step that is going on has all that it will have. */
	write_means(h, level, present);
	for (unsigned int i = 0; i < HISTORY_CHUNK; i++) {
		int64_t step = chunk * (int64_t)HISTORY_CHUNK + i;
		const uint16_t *row = kept(h, level, step) ? row_find(h, level, step) : NULL;

		if (!level && step == h->level[level].now)
			row = present;
		for (unsigned int k = 0; k < h->figures; k++) {
			uint16_t code = row ? row[k] : 0;

			*ret++ = (uint8_t)code;
			*ret++ = (uint8_t)(code >> 8);
		}
	}
}

void history_load(struct history *h, unsigned int level, int64_t chunk, const uint8_t *data)
{
	struct level *l = &h->level[level];
	uint16_t code[HISTORY_FIGURES];

	for (unsigned int i = 0; i < HISTORY_CHUNK; i++) {
		int64_t step = chunk * (int64_t)HISTORY_CHUNK + i;
		bool any = false;

		for (unsigned int k = 0; k < h->figures; k++, data += 2) {
			code[k] = (uint16_t)(data[0] | data[1] << 8);
			any |= code[k] != 0;
		}
		if (!any || step < l->now)
			continue;
		if (l->now < 0)
			l->now = step;
		close_steps(h, level, step + 1);
		row_write(h, level, step, code);
	}
}
