/* away.c: see away.h. */
#include "shim/away.h"
#include "shim/attach.h"
#include "shim/tick.h"

#define PATIENCE_NS 30000000u /* meted is gone for certain: nobody takes connections any more */
#define LOOK_NS 20000000u
#define LEAST_PPM 10000u      /* of a tenant that is guaranteed nothing */
#define BURST_NS 10000000u    /* the bucket holds no more */
#define NAP_NS 1000000u

static _Atomic uint64_t looked_ns;
static _Atomic uint64_t gone_ns; /* since when meted is known to be gone; 0: it is there */

void away_look(struct pace *p)
{
	uint64_t now = tick_now(), last = atomic_load_explicit(&looked_ns, memory_order_relaxed);
	uint64_t there = 0;

	if (now - last < LOOK_NS || !atomic_compare_exchange_strong(&looked_ns, &last, now))
		return;
	if (attach_alive())
		atomic_store(&gone_ns, 0);
	else
		atomic_compare_exchange_strong(&gone_ns, &there, now);
}

bool away_is(const struct pace *p)
{
	uint64_t gone = atomic_load_explicit(&gone_ns, memory_order_relaxed);

	/* looked_ns is the newest time that anybody here knows without asking the clock. */
	return gone && atomic_load_explicit(&looked_ns, memory_order_relaxed) - gone >= PATIENCE_NS;
}

bool away_open(struct pace *p, uint64_t now_ns)
{
	uint64_t busy = atomic_load_explicit(&p->wire->busy_ns, memory_order_relaxed), earned, spent;
	uint64_t ppm = atomic_load_explicit(&p->wire->guarantee_ppm, memory_order_relaxed);

	if (!away_is(p)) {
		p->away_since_ns = 0;
		return false;
	}
	if (ppm < LEAST_PPM)
		ppm = LEAST_PPM;
	if (!p->away_since_ns) {
		p->away_since_ns = now_ns;
		p->away_busy_ns = busy;
	}
	earned = (now_ns - p->away_since_ns) / 1000 * ppm / 1000;
	spent = busy - p->away_busy_ns;
	if (earned > spent + BURST_NS) { /* what was not used for long is forgotten */
		p->away_since_ns = now_ns;
		p->away_busy_ns = busy;
	}
	return earned >= spent;
}

uint64_t away_nap(const struct pace *p, uint64_t now_ns, uint64_t most_ns)
{
	uint64_t nap = atomic_load_explicit(&gone_ns, memory_order_relaxed) ? NAP_NS : LOOK_NS;

	return nap < most_ns ? nap : most_ns;
}

void away_reset(void)
{
	atomic_store(&gone_ns, 0);
	atomic_store(&looked_ns, 0);
}
