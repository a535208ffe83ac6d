/* top_history.c: see top_history.h. Pure: no terminal, no clock. */
#include "cli/top_history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* From nothing to full. Block elements: U+2581 to U+2588. */
static const char *const blocks[] = { " ",	"\u2581", "\u2582", "\u2583", "\u2584",
				      "\u2585", "\u2586", "\u2587", "\u2588" };
static const char *const letters[] = { " ", ".", ":", "-", "=", "+", "*", "#", "@" };
#define HEIGHTS (sizeof(blocks) / sizeof(*blocks) - 1)

static struct top_series *find(const struct top_history *h, const char *key)
{
	for (size_t i = 0; i < h->count; i++)
		if (!strcmp(h->series[i].key, key))
			return &h->series[i];
	return NULL;
}

const struct top_series *top_history_find(const struct top_history *h, const char *key)
{
	return find(h, key);
}

static struct top_series *make(struct top_history *h, const char *key, uint64_t slot)
{
	struct top_series *more = realloc(h->series, (h->count + 1) * sizeof(*more)), *s;
	char *copy;

	if (!more)
		return NULL;
	h->series = more;
	copy = strdup(key);
	if (!copy)
		return NULL;
	s = &h->series[h->count++];
	*s = (struct top_series){ .key = copy, .slot = slot };
	for (unsigned int i = 0; i < TOP_HISTORY_SLOTS; i++)
		s->value[i] = NAN;
	return s;
}

/* Moves on by some slots, which are empty. */
static void move(struct top_series *s, uint64_t slots)
{
	unsigned int n = slots < TOP_HISTORY_SLOTS ? (unsigned int)slots : TOP_HISTORY_SLOTS;

	memmove(s->value, s->value + n, (TOP_HISTORY_SLOTS - n) * sizeof(*s->value));
	for (unsigned int i = TOP_HISTORY_SLOTS - n; i < TOP_HISTORY_SLOTS; i++)
		s->value[i] = NAN;
	s->slot += slots;
	s->samples = 0;
}

static void take_reading(struct top_series *s, double pct)
{
	double *newest = &s->value[TOP_HISTORY_SLOTS - 1];

	if (isnan(pct))
		return;
	*newest = s->samples ? *newest + (pct - *newest) / (s->samples + 1) : pct;
	s->samples++;
}

void top_history_begin(struct top_history *h)
{
	for (size_t i = 0; i < h->count; i++)
		h->series[i].seen = false;
}

void top_history_add(struct top_history *h, const char *key, double pct, uint64_t now_ns, uint64_t interval_ns)
{
	uint64_t slot = now_ns / TOP_HISTORY_SLOT_NS, between = interval_ns / TOP_HISTORY_SLOT_NS + 1;
	struct top_series *s = find(h, key);
	uint64_t passed;

	if (!s)
		s = make(h, key, slot);
	if (!s)
		return;
	s->seen = true;
	passed = slot > s->slot ? slot - s->slot : 0;
	if (passed)
		move(s, passed);
	if (passed > 1 && passed <= between && passed <= TOP_HISTORY_SLOTS)
		for (uint64_t i = 1; i < passed; i++)
			s->value[TOP_HISTORY_SLOTS - 1 - i] = pct;
	take_reading(s, pct);
}

void top_history_end(struct top_history *h)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->count; i++) {
		if (h->series[i].seen)
			h->series[kept++] = h->series[i];
		else
			free(h->series[i].key);
	}
	h->count = kept;
}

void top_history_free(struct top_history *h)
{
	for (size_t i = 0; i < h->count; i++)
		free(h->series[i].key);
	free(h->series);
	*h = (struct top_history){ 0 };
}

/* Whatever is above nothing is seen; only what is nearly 100 fills a mark. */
static unsigned int height_of(double pct)
{
	double h = pct * HEIGHTS / 100;

	if (isnan(pct) || pct <= 0)
		return 0;
	if (h < 1)
		return pct >= 0.5 ? 1 : 0;
	return h >= HEIGHTS ? HEIGHTS : (unsigned int)(h + 0.5);
}

static double mean(const double *value, unsigned int count)
{
	double sum = 0;
	unsigned int known = 0;

	for (unsigned int i = 0; i < count; i++)
		if (!isnan(value[i])) {
			sum += value[i];
			known++;
		}
	return known ? sum / known : (double)NAN;
}

void top_history_draw(const struct top_series *series, unsigned int columns, bool utf8, char text[TOP_HISTORY_BYTES])
{
	const char *const *marks = utf8 ? blocks : letters;
	unsigned int each;

	*text = 0;
	if (!series || !columns || columns > TOP_HISTORY_SLOTS)
		return;
	each = TOP_HISTORY_SLOTS / columns;
	for (unsigned int i = 0; i < columns; i++)
		strcat(text, marks[height_of(mean(series->value + (TOP_HISTORY_SLOTS - (columns - i) * each), each))]);
}

void top_bar_draw(double pct, unsigned int columns, bool utf8, char text[TOP_HISTORY_BYTES])
{
	unsigned int full;

	*text = 0;
	if (columns > TOP_HISTORY_SLOTS)
		columns = TOP_HISTORY_SLOTS;
	full = isnan(pct) || pct <= 0 ? 0 : (unsigned int)(pct * columns / 100 + 0.5);
	if (!full && pct >= 0.5)
		full = 1;
	for (unsigned int i = 0; i < columns; i++)
		strcat(text, i >= full ? (utf8 ? "\u00b7" : ".") : utf8 ? "\u2588" : "#");
}
