/*
 * away.c: see away.h.
 *
 * A thread sleeps in poll() on the connection, so that the end of meted is learnt when it happens, however it ended. It
 * is there only while something is gated (the watcher makes it), wakes up by itself once a second, and takes part in
 * nothing else.
 */
#include "core/away.h"
#include "core/attach.h"
#include "core/thread.h"
#include "core/tick.h"

#define PATIENCE_NS 4000000u /* a meted that is only being replaced by another one is back by then, often */
#define LOOK_MS 1000u
#define AGAIN_NS 5000000u /* how often a connection is tried, at first */
#define SELDOM_NS 50000000u
#define BURST_NS 10000000u /* the bucket holds no more */
#define NAP_NS 1000000u

static _Atomic uint32_t kept; /* the thread is there */
static _Atomic bool gone;
static _Atomic uint32_t never; /* a futex that nobody wakes: to sleep on */

/* Whoever stands at a gate looks around. */
static void wake_gates(void)
{
	uint32_t count = atomic_load_explicit(&pace_count, memory_order_acquire);

	for (uint32_t d = 0; d < count; d++)
		for (int e = 0; e < WIRE_ENGINES; e++)
			if (pace_is_gated(&paces[d][e]))
				pace_wake_gate(&paces[d][e]);
}

static void be_away(void)
{
	uint64_t nap = AGAIN_NS;

	tick_wait(&never, 0, PATIENCE_NS, false);
	if (attach_alive())
		return;
	atomic_store(&gone, true);
	do {
		wake_gates();
		tick_wait(&never, 0, nap, false);
		nap = nap < SELDOM_NS ? nap * 5 / 4 : nap;
	} while (!attach_alive());
	atomic_store(&gone, false);
	wake_gates();
}

static void *keep(void *unused)
{
	thread_begin("mete-away");
	for (;;)
		if (attach_wait_end(LOOK_MS))
			be_away();
	return unused;
}

void away_keep(void)
{
	uint32_t none = 0;

	if (atomic_load_explicit(&kept, memory_order_relaxed) || !atomic_compare_exchange_strong(&kept, &none, 1))
		return;
	if (!thread_start(keep, NULL))
		atomic_store(&kept, 0);
}

bool away_is(void)
{
	return atomic_load_explicit(&gone, memory_order_relaxed);
}

bool away_open(struct pace *p, uint64_t now_ns)
{
	uint64_t busy = atomic_load_explicit(&p->wire->busy_ns, memory_order_relaxed), earned, spent;

	if (!away_is()) {
		p->away_since_ns = 0;
		return false;
	}
	if (!p->away_since_ns) {
		p->away_since_ns = now_ns;
		p->away_busy_ns = busy;
	}
	earned = (now_ns - p->away_since_ns) / 1000 * pace_own_ppm(p) / 1000;
	spent = busy - p->away_busy_ns;
	if (earned > spent + BURST_NS) { /* what was not used for long is forgotten */
		p->away_since_ns = now_ns;
		p->away_busy_ns = busy;
	}
	return earned >= spent;
}

uint64_t away_nap(uint64_t most_ns)
{
	return away_is() && most_ns > NAP_NS ? NAP_NS : most_ns;
}

void away_reset(void)
{
	atomic_store(&kept, 0);
	atomic_store(&gone, false);
}
