/* sequel.c: see sequel.h. */
#include "ring/sequel.h"

#define LEARN_LEAST 4u
#define BEFORE_NS 10000u
#define AFTER_NS 15000u
#define LATE_NS 15000u /* of a sleeper that is woken */

bool sequel_cause(struct sequel *s, uint64_t now_ns)
{
	__atomic_store_n(&s->cause_ns, now_ns, __ATOMIC_RELAXED);
	return __atomic_load_n(&s->wanted, __ATOMIC_RELAXED);
}

/* From a cause on, when it is known well enough; of `spare_ns` at most. */
static struct forecast_window usual_window(const struct sequel *s, uint64_t spare_ns)
{
	uint64_t off = 2 * s->usual.off_ns, from = s->usual.mean_ns, until = from + AFTER_NS + off;

	if (s->usual.learnt < LEARN_LEAST)
		return (struct forecast_window){ 0 };
	from = from > BEFORE_NS + LATE_NS + off ? from - BEFORE_NS - LATE_NS - off : 0;
	if (from < SEQUEL_AWAKE_NS && until <= spare_ns)
		from = 0;
	if (until - from > spare_ns && spare_ns >= BEFORE_NS + AFTER_NS + s->usual.off_ns)
		from = until - spare_ns;
	return until - from > spare_ns ? (struct forecast_window){ 0 } : (struct forecast_window){ from, until };
}

static void fill(struct sequel *s, uint64_t now_ns)
{
	if (now_ns <= s->filled_ns)
		return;
	s->spare_ns += (now_ns - s->filled_ns) / SEQUEL_SHARE;
	if (s->spare_ns > SEQUEL_SPARE_NS || !s->filled_ns)
		s->spare_ns = SEQUEL_SPARE_NS;
	s->filled_ns = now_ns;
}

struct forecast_window sequel_window(struct sequel *s, uint64_t now_ns)
{
	uint64_t cause = __atomic_load_n(&s->cause_ns, __ATOMIC_RELAXED);
	struct forecast_window w = { 0 };

	if (!cause)
		return w;
	fill(s, now_ns);
	w = usual_window(s, s->spare_ns);
	if (!w.until_ns || cause + w.until_ns <= now_ns)
		return (struct forecast_window){ 0 };
	return (struct forecast_window){ cause + w.from_ns, cause + w.until_ns };
}

void sequel_looked(struct sequel *s, uint64_t ns)
{
	s->spare_ns -= ns < s->spare_ns ? ns : s->spare_ns;
}

void sequel_crowded(struct sequel *s, uint64_t now_ns)
{
	/* Soon after the last rest: it was too short. */
	bool again = s->rest_ns && now_ns < s->crowded_ns + 3 * s->rest_ns;

	s->rest_ns = again && s->rest_ns < SEQUEL_REST_MOST_NS ? 2 * s->rest_ns : again ? s->rest_ns : SEQUEL_REST_NS;
	s->crowded_ns = now_ns;
	s->spare_ns = 0;
	s->filled_ns = now_ns + s->rest_ns;
}

void sequel_follows(struct sequel *s, uint64_t now_ns, bool asleep)
{
	uint64_t cause = __atomic_exchange_n(&s->cause_ns, 0, __ATOMIC_RELAXED), took;
	struct forecast_window w;

	if (!cause)
		return;
	took = now_ns > cause ? now_ns - cause : 0;
	if (asleep)
		took = took > LATE_NS ? took - LATE_NS : 0;
	if (took > SEQUEL_MOST_NS)
		took = SEQUEL_MOST_NS;
	usual_learn(&s->usual, took, s->usual.mean_ns / 2 + LATE_NS);
	w = usual_window(s, SEQUEL_SPARE_NS);
	__atomic_store_n(&s->wanted, w.until_ns != 0, __ATOMIC_RELAXED);
}
