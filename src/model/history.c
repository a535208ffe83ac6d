/* history.c: rings of means; see history.h. */
#include "model/history.h"

#include <stdlib.h>
#include <string.h>

struct sum {
	double total;
	unsigned int count;
};

struct level {
	int64_t now; /* the step that is being added up; -1: none yet */
	struct sum *sum; /* by figure */
	uint16_t *code; /* step by step, the figures of each together */
};

struct history {
	unsigned int figures;
	struct level level[HISTORY_LEVELS];
};

static const struct {
	unsigned int step_s, steps;
} levels[HISTORY_LEVELS] = { { 1, 600 }, { 10, 1080 }, { 60, 1440 } };

struct history *history_new(unsigned int figures)
{
	size_t sums = HISTORY_LEVELS * figures * sizeof(struct sum), codes = 0;
	struct history *h;
	uint16_t *code;

	for (unsigned int i = 0; i < HISTORY_LEVELS; i++)
		codes += (size_t)levels[i].steps * figures;
	h = calloc(1, sizeof(*h) + sums + codes * sizeof(*code));
	if (!h)
		return NULL;
	h->figures = figures;
	code = (uint16_t *)((char *)(h + 1) + sums);
	for (unsigned int i = 0; i < HISTORY_LEVELS; i++) {
		h->level[i] = (struct level){ .now = -1, .sum = (struct sum *)(h + 1) + i * figures, .code = code };
		code += (size_t)levels[i].steps * figures;
	}
	return h;
}

void history_free(struct history *h)
{
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

static uint16_t *slot(const struct history *h, unsigned int level, int64_t step)
{
	return h->level[level].code + (size_t)(step % levels[level].steps) * h->figures;
}

/* The step that was going on is over, and those up to `step` had nothing. */
static void close_steps(struct history *h, unsigned int level, int64_t step)
{
	struct level *l = &h->level[level];
	uint16_t *at = slot(h, level, l->now);
	int64_t first = l->now + 1;

	for (unsigned int i = 0; i < h->figures; i++) {
		struct sum *s = &l->sum[i];

		at[i] = history_encode(s->count ? (uint64_t)(s->total / s->count + 0.5) : HISTORY_NONE);
		*s = (struct sum){ 0 };
	}
	if (step - first > levels[level].steps)
		first = step - levels[level].steps;
	for (; first <= step; first++)
		memset(slot(h, level, first), 0, h->figures * sizeof(*at));
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

static bool kept(const struct history *h, unsigned int level, int64_t step)
{
	return step >= 0 && step < h->level[level].now && step > h->level[level].now - (int64_t)levels[level].steps;
}

void history_read(const struct history *h, unsigned int figure, unsigned int level, int64_t first, unsigned int count,
		  uint64_t *ret)
{
	for (unsigned int i = 0; i < count; i++)
		ret[i] = kept(h, level, first + i) ? history_decode(slot(h, level, first + i)[figure]) : HISTORY_NONE;
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
	for (unsigned int i = 0; i < HISTORY_CHUNK; i++) {
		int64_t step = chunk * (int64_t)HISTORY_CHUNK + i;

		for (unsigned int k = 0; k < h->figures; k++) {
			uint16_t code = kept(h, level, step) ? slot(h, level, step)[k] : 0;

			*ret++ = (uint8_t)code;
			*ret++ = (uint8_t)(code >> 8);
		}
	}
}

void history_load(struct history *h, unsigned int level, int64_t chunk, const uint8_t *data)
{
	struct level *l = &h->level[level];

	for (unsigned int i = 0; i < HISTORY_CHUNK; i++) {
		int64_t step = chunk * (int64_t)HISTORY_CHUNK + i;
		bool any = false;

		for (unsigned int k = 0; k < h->figures; k++)
			any |= data[2 * (i * h->figures + k)] || data[2 * (i * h->figures + k) + 1];
		if (!any || step < l->now)
			continue;
		if (l->now < 0)
			l->now = step;
		close_steps(h, level, step + 1);
		for (unsigned int k = 0; k < h->figures; k++)
			slot(h, level, step)[k] = (uint16_t)(data[2 * (i * h->figures + k)] |
							     data[2 * (i * h->figures + k) + 1] << 8);
	}
}
