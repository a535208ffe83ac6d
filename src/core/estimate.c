/*
 * estimate.c: see estimate.h.
 *
 * Mean and mean deviation move by an eighth per measurement, as a network stack estimates round trips. The prediction
 * is their sum: the mean of what does not vary, and a little above it for what does. The first few measurements weigh
 * more, so that a first run that loads code is soon forgotten.
 */
#include "core/estimate.h"

#include <pthread.h>
#include <string.h>

struct figures {
	uint64_t family, size;
	double mean_ns, deviation_ns;
	uint32_t samples;
};

struct rate {
	uint64_t family;
	double ns_per_size; /* the most that was seen lately */
};

#define RATES 1024u
#define WAIT_NS 300000u /* for the rest of what a turn before left in flight, and for the change of context */

struct estimate_slot estimate_table[ESTIMATE_SETS][ESTIMATE_WAYS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows, and writing to the table */
static struct figures figures[ESTIMATE_SETS * ESTIMATE_WAYS];
static struct rate rates[RATES];
static uint32_t turn;

uint64_t estimate_guess(uint64_t family, uint64_t size)
{
	const struct rate *r = &rates[family % RATES];
	double ns = 0;

	pthread_mutex_lock(&lock);
	if (r->family == family && size)
		ns = r->ns_per_size * (double)size * 1.25 + 1000;
	pthread_mutex_unlock(&lock);
	return ns < 1e13 ? (uint64_t)ns : (uint64_t)1e13;
}

static uint32_t place_locked(uint64_t key)
{
	uint32_t set = (uint32_t)(key >> 40) % ESTIMATE_SETS, way;

	for (way = 0; way < ESTIMATE_WAYS; way++) {
		uint64_t is = atomic_load_explicit(&estimate_table[set][way].key, memory_order_relaxed);

		if (is == key || !is)
			return set * ESTIMATE_WAYS + way;
	}
	return set * ESTIMATE_WAYS + turn++ % ESTIMATE_WAYS;
}

uint32_t estimate_add(uint64_t key, uint64_t family, uint64_t size, uint64_t guess_ns)
{
	struct estimate_slot *s;
	struct figures *f;
	uint32_t place;

	pthread_mutex_lock(&lock);
	place = place_locked(key);
	s = &estimate_table[place / ESTIMATE_WAYS][place % ESTIMATE_WAYS];
	f = &figures[place];
	if (atomic_load_explicit(&s->key, memory_order_relaxed) != key) {
		memset(f, 0, sizeof *f);
		f->family = family;
		f->size = size;
		atomic_store_explicit(&s->packed, 0, memory_order_relaxed);
		atomic_store_explicit(&s->key, key, memory_order_relaxed);
	}
	if (guess_ns && !f->samples)
		atomic_store_explicit(&s->packed, estimate_packed(guess_ns), memory_order_relaxed);
	pthread_mutex_unlock(&lock);
	return place + 1;
}

static void learn_rate_locked(const struct figures *f, uint64_t ns)
{
	struct rate *r = &rates[f->family % RATES];
	double per = f->size ? (double)ns / (double)f->size : 0;

	if (!f->size)
		return;
	if (r->family != f->family) {
		r->family = f->family;
		r->ns_per_size = per;
	}
	r->ns_per_size = per > r->ns_per_size ? per : r->ns_per_size + (per - r->ns_per_size) / 16;
}

uint64_t estimate_mean(uint32_t place)
{
	uint64_t ns;

	if (place == ESTIMATE_NONE || place > ESTIMATE_SETS * ESTIMATE_WAYS)
		return 0;
	pthread_mutex_lock(&lock);
	ns = figures[place - 1].samples ? (uint64_t)figures[place - 1].mean_ns : 0;
	pthread_mutex_unlock(&lock);
	return ns;
}

uint64_t estimate_less(uint32_t place, uint64_t ns)
{
	const struct figures *f;
	uint64_t expected;

	if (place == ESTIMATE_NONE || place > ESTIMATE_SETS * ESTIMATE_WAYS)
		return ns;
	f = &figures[place - 1];
	pthread_mutex_lock(&lock);
	expected = f->samples ? (uint64_t)f->mean_ns : ns;
	pthread_mutex_unlock(&lock);
	if (ns <= expected)
		return ns;
	return ns - expected > WAIT_NS ? ns - WAIT_NS : expected;
}

void estimate_learn(uint32_t place, uint64_t ns, uint32_t launches)
{
	struct estimate_slot *s;
	double off, weight;
	struct figures *f;

	if (place == ESTIMATE_NONE || place > ESTIMATE_SETS * ESTIMATE_WAYS || !launches)
		return;
	place--;
	s = &estimate_table[place / ESTIMATE_WAYS][place % ESTIMATE_WAYS];
	f = &figures[place];
	pthread_mutex_lock(&lock);
	off = (double)ns - f->mean_ns;
	if (!f->samples) {
		f->mean_ns = (double)ns;
		f->deviation_ns = 0;
	} else {
		weight = f->samples < 4 ? 0.5 : launches > 4 ? 0.25 : 0.125;
		f->deviation_ns += ((off < 0 ? -off : off) - f->deviation_ns) * weight;
		f->mean_ns += off * weight;
	}
	if (f->samples < 1000)
		f->samples++;
	learn_rate_locked(f, ns);
	atomic_store_explicit(&s->packed, estimate_packed((uint64_t)(f->mean_ns + f->deviation_ns)),
			      memory_order_relaxed);
	pthread_mutex_unlock(&lock);
}

void estimate_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
}
