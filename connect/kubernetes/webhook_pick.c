/* webhook_pick.c: see webhook_pick.h. */
#include "connect/kubernetes/webhook_pick.h"

#include "base/size.h"

#include <stdio.h>

/* Memory of a share and of an ask in one measure, in parts of a million; false: they cannot be compared. */
static bool memory_of(const struct words_options *o, uint64_t bytes, double pct, double *ret)
{
	if (bytes && !o->card_bytes)
		return false;
	*ret = bytes ? (double)bytes / (double)o->card_bytes * 100 : pct;
	return true;
}

/* Value: -1 smaller than asked, 0 holds it, 1 not comparable. *ret_size: for the choice of the smallest. */
static int holds_memory(const struct words_options *o, const struct words_share *s, const struct ask *a,
			double *ret_size)
{
	double own, asked;

	if (!a->bytes && a->memory_pct <= 0) {
		*ret_size = s->bytes ? (double)s->bytes : s->memory_pct;
		return 0;
	}
	if (s->bytes && a->bytes) {
		*ret_size = (double)s->bytes;
		return s->bytes < a->bytes ? -1 : 0;
	}
	if (!s->bytes && a->memory_pct > 0) {
		*ret_size = s->memory_pct;
		return s->memory_pct < a->memory_pct ? -1 : 0;
	}
	if (!memory_of(o, s->bytes, s->memory_pct, &own) || !memory_of(o, a->bytes, a->memory_pct, &asked))
		return 1;
	*ret_size = own;
	return own < asked ? -1 : 0;
}

/* In which measure sizes are compared among shares: all in percent where that can be. */
static double size_of(const struct words_options *o, const struct words_share *s, double size)
{
	double pct;

	return memory_of(o, s->bytes, s->memory_pct, &pct) ? pct : size;
}

struct pick {
	const struct words_share *best;
	double best_size;
	bool cards, memory, cores, measures, class;
	const struct words_share *largest;
};

/*
 * Of class low is given to who says so, and to others where nothing else is large enough; so is memory that is lent.
 * Then the smallest.
 */
static bool is_better(const struct words_share *s, double size, const struct pick *p)
{
	if (s->low != p->best->low)
		return p->best->low;
	if (s->lent != p->best->lent)
		return p->best->lent;
	if (size < p->best_size || size > p->best_size)
		return size < p->best_size;
	return s->cores_pct < p->best->cores_pct;
}

static void consider(const struct words_options *o, const struct words_share *s, const struct ask *a, struct pick *p)
{
	double size;
	int memory;

	if (s->cards != a->cards || s->vendor != a->vendor)
		return;
	p->cards = true;
	memory = holds_memory(o, s, a, &size);
	p->measures |= memory > 0;
	if (memory)
		return;
	p->memory = true;
	if (s->cores_pct < a->cores_pct)
		return;
	p->cores = true;
	if (a->priority >= 0 && s->low != (a->priority == 1))
		return;
	p->class = true;
	size = size_of(o, s, size);
	if (p->best && !is_better(s, size, p))
		return;
	p->best = s;
	p->best_size = size;
}

void pick_say(const struct words_share *s, char text[96])
{
	char size[SIZE_TEXT_BYTES];

	if (s->bytes)
		snprintf(text, 96, "%s: %s, %g %% of the time", s->name, size_format(s->bytes, size), s->cores_pct);
	else
		snprintf(text, 96, "%s: %g %% of the memory, %g %% of the time", s->name, s->memory_pct, s->cores_pct);
}

/* The shares that there are, for a refusal. */
static void list_shares(const struct words_options *o, char *text, size_t size)
{
	size_t used = 0;
	char one[96];

	snprintf(text, size, "none");
	for (unsigned int i = 0; i < o->count && used + 1 < size; i++) {
		pick_say(&o->share[i], one);
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "; " : "", one);
	}
}

static bool refuse_all(struct work *w, const struct ask *a, const struct pick *p, const char *where)
{
	char list[200];

	list_shares(w->options, list, sizeof(list));
	if (!p->cards)
		return work_refuse(w, "%s: no share has %u devices; there are: %s",
				   *a->cards_field ? a->cards_field : where, a->cards, list);
	if (!p->memory && p->measures)
		return work_refuse(
			w,
			"%s: cannot be compared with the shares, which are not in the same measure; the operator "
			"says with --card-memory how much a card has",
			a->memory_field);
	if (!p->memory)
		return work_refuse(w, "%s: more than every share has; there are: %s", a->memory_field, list);
	if (!p->cores)
		return work_refuse(w, "%s: no share that is large enough has so much of a device's time; there are: %s",
				   a->cores_field, list);
	return work_refuse(
		w,
		"%s.resources.limits[nvidia.com/priority]: no share that is large enough is of class %s; there are: %s",
		where, a->priority == 1 ? "low" : "normal or high", list);
}

const struct words_share *pick_share(struct work *w, const struct ask *a, const char *where)
{
	struct pick p = { 0 };

	for (unsigned int i = 0; i < w->options->count; i++)
		consider(w->options, &w->options->share[i], a, &p);
	if (!p.best)
		refuse_all(w, a, &p, where);
	return p.best;
}
