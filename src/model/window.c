/* window.c: see window.h. */
#include "model/window.h"

#include <stdlib.h>

struct window {
	uint64_t step_ns;
	unsigned int capacity;
	unsigned int count; /* samples there are */
	unsigned int next;  /* where the next one goes */
	struct window_sample sample[];
};

struct window *window_new(unsigned int capacity, uint64_t step_ns)
{
	struct window *w = calloc(1, sizeof(*w) + capacity * sizeof(w->sample[0]));

	if (!w)
		return NULL;
	w->capacity = capacity;
	w->step_ns = step_ns;
	return w;
}

void window_free(struct window *w)
{
	free(w);
}

/* The i-th newest. */
static const struct window_sample *newest(const struct window *w, unsigned int i)
{
	return &w->sample[(w->next + w->capacity - 1 - i) % w->capacity];
}

void window_add(struct window *w, const struct window_sample *sample, bool force)
{
	if (w->count &&
	    (sample->at_ns < newest(w, 0)->at_ns || (!force && sample->at_ns - newest(w, 0)->at_ns < w->step_ns)))
		return;
	w->sample[w->next] = *sample;
	w->next = (w->next + 1) % w->capacity;
	if (w->count < w->capacity)
		w->count++;
}

unsigned int window_save(const struct window *w, struct window_sample *ret, unsigned int most)
{
	unsigned int count = w->count < most ? w->count : most;

	for (unsigned int i = 0; i < count; i++)
		ret[i] = *newest(w, count - 1 - i);
	return count;
}

/* One is put in front of the oldest. False: there is no room. */
static bool add_oldest(struct window *w, const struct window_sample *sample)
{
	if (w->count == w->capacity)
		return false;
	if (!w->count)
		w->next = 0;
	w->count++;
	w->sample[(w->next + w->capacity - w->count) % w->capacity] = *sample;
	return true;
}

void window_load(struct window *w, const struct window_sample *before, unsigned int count)
{
	uint64_t end_ns = w->count ? newest(w, w->count - 1)->at_ns : UINT64_MAX;

	while (count--) {
		if (before[count].at_ns > end_ns)
			continue;
		end_ns = before[count].at_ns;
		if (!add_oldest(w, &before[count]))
			return;
	}
}

/* The part of the time from from_ns to to_ns that has passed at at_ns. */
static double passed(uint64_t from_ns, uint64_t to_ns, uint64_t at_ns)
{
	if (at_ns >= to_ns)
		return 1;
	return at_ns <= from_ns ? 0 : (double)(at_ns - from_ns) / (double)(to_ns - from_ns);
}

void window_learn(struct window *w, enum window_total total, uint64_t from_ns, uint64_t to_ns, int64_t ns)
{
	for (unsigned int i = 0; i < w->count; i++) {
		struct window_sample *s = &w->sample[(w->next + w->capacity - 1 - i) % w->capacity];

		s->total[total] += (uint64_t)(int64_t)((double)ns * passed(from_ns, to_ns, s->at_ns));
	}
}

static double between(const struct window_sample *a, const struct window_sample *b, enum window_total total,
		      uint64_t at_ns)
{
	double part = b->at_ns > a->at_ns ? (double)(at_ns - a->at_ns) / (double)(b->at_ns - a->at_ns) : 0;

	return (double)a->total[total] + part * ((double)b->total[total] - (double)a->total[total]);
}

bool window_rate(const struct window *w, const struct window_sample *now, enum window_total total, uint64_t length_ns,
		 double *ret)
{
	uint64_t from_ns = now->at_ns > length_ns ? now->at_ns - length_ns : 0;
	const struct window_sample *after = now;
	double before;

	for (unsigned int i = 0; i < w->count; i++) {
		const struct window_sample *s = newest(w, i);

		if (s->at_ns <= from_ns) {
			before = between(s, after, total, from_ns);
			*ret = ((double)now->total[total] - before) / (double)length_ns;
			return true;
		}
		after = s;
	}
	/* All that is known is younger. */
	if (after == now || now->at_ns <= after->at_ns)
		return false;
	*ret = ((double)now->total[total] - (double)after->total[total]) / (double)(now->at_ns - after->at_ns);
	return true;
}
