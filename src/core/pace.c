/*
 * pace.c: see pace.h. The slow path of a launch: whether it may go now, and waiting when it may not.
 *
 * What is left of the work in flight is what was predicted for it, less the time since the last of it ended, but for no
 * more than its oldest chunk was predicted to take: a prediction that was far too low lets in no more than that.
 *
 * A launch that waits although nothing of this process has ended for WIRE_STUCK_NS beyond what was predicted passes: a
 * kernel in flight may be waiting for this very launch. Of several that pass the closed gate beside the same work in
 * flight, which may never end, all but the first wait until the share has earned the time of those before: else a
 * program could keep one launch waiting in its stream, and run all others without turns. meted sees to that, for all
 * processes of the tenant together; without one each of them does.
 */
#include "core/pace.h"
#include "core/away.h"
#include "core/bell.h"
#include "core/capture.h"
#include "core/door.h"
#include "core/markers.h"
#include "core/marks.h"
#include "core/tick.h"
#include "core/trace.h"
#include "core/waits.h"
#include "core/watcher.h"

#include <string.h>

#define UNKNOWN_NS 1000000u /* stands for the length of what was never measured */
#define LEAD_MOST_NS 200000u
#define WAKE_NS 60000u	  /* what a thread needs to wake up and to launch, about */
#define MANY_AGAIN 16u	  /* ends after which meted is told again that its edges are many */
#define NAP_NS 100000000u /* nobody sleeps longer without looking around */
#define PROMPT_NS 100000u /* within so long after an end the next launch of a program comes that waits for each */

struct pace paces[WIRE_MAX_DEVICES][WIRE_ENGINES];
_Atomic uint32_t pace_count;

static struct wire_turn nothing; /* not gated; what a process without a page sees */
static struct pace capturing;	 /* of a launch that is captured, while its thread holds captures (capture.h) */

enum pass {
	PASS_NOW,
	PASS_FREE,     /* the engine is not gated */
	PASS_GATE,     /* wait for the turn */
	PASS_PROGRESS, /* wait for what is in flight */
};

/* One launch that asks. */
struct asker {
	uint64_t ns; /* predicted; UNKNOWN_NS when it is not known */
	bool unknown;
	uint64_t inc;
	uint64_t since_ns;    /* it waits; 0: not yet */
	uint64_t gate_ns;     /* since when it waits for the turn; 0: it does not */
	uint32_t gate;	      /* as it was when it began to sleep there */
	uint64_t stuck_at_ns; /* it passes then */
	uint32_t progress;    /* of the pace when it began to wait */
	bool wants;	      /* the engine to itself, and is counted in alone_wanted */
	bool bypass;
};

void pace_ring(const struct pace *p, uint32_t about)
{
	if (atomic_load_explicit(&p->wire->listen, memory_order_relaxed) & about)
		bell_ring();
}

/* meted has to take edges, and has not been told of it: or long ago, for it may have missed that. */
static bool many_edges(struct pace *p)
{
	if (wire_edge_many(p->wire))
		return atomic_fetch_add_explicit(&p->many, 1, memory_order_relaxed) % MANY_AGAIN == 0;
	if (atomic_load_explicit(&p->many, memory_order_relaxed))
		atomic_store_explicit(&p->many, 0, memory_order_relaxed);
	return false;
}

void pace_ring_end(struct pace *p, bool idle)
{
	uint32_t about = WIRE_ON_EDGE | (idle ? WIRE_ON_IDLE : 0);
	/* What stands at the gate comes no sooner by waiting for it. */
	if (idle && atomic_load_explicit(&p->wire->waiting, memory_order_relaxed))
		about |= WIRE_ON_PAUSE;
	if (many_edges(p))
		bell_ring();
	else
		pace_ring(p, about);
}

void pace_wake_gate(struct pace *p)
{
	int saved = errno;

	syscall(SYS_futex, &p->wire->gate, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	errno = saved;
}

void pace_await(struct pace *p, uint32_t progress, uint64_t most_ns)
{
	/* Sequentially consistent: pairs with progress() in markers.c, which looks here when it has counted. */
	atomic_fetch_add(&p->awaited, 1);
	tick_wait(&p->progress, progress, most_ns, false);
	atomic_fetch_sub(&p->awaited, 1);
}

void pace_kick(struct pace *p)
{
	watcher_start(p);
	atomic_fetch_add(&p->kick, 1);
	if (atomic_load(&p->asleep))
		tick_wake(&p->kick);
}

/* Predicted, of all that is in flight and not given up. */
static uint64_t in_flight_locked(struct pace *p)
{
	uint64_t ns = pace_ns(atomic_load(&p->admitted) - p->completed);

	if (p->written_off_ns > ns)
		p->written_off_ns = ns;
	return ns - p->written_off_ns;
}

static uint64_t oldest_locked(const struct pace *p, uint64_t otherwise)
{
	for (uint32_t i = p->chunk_tail; i != p->chunk_head; i++) {
		const struct chunk *c = &p->chunk[i % CHUNKS];
		uint64_t left;

		if (!c->stream)
			continue;
		/* One whose context has gone may have another stream in its place: nothing is left of it. */
		left = c->word - __atomic_load_n(&c->stream->flow[p->engine].completed, __ATOMIC_RELAXED);
		if ((int64_t)left > 0)
			return pace_ns(left);
	}
	return otherwise;
}

uint64_t pace_beside(const struct pace *p)
{
	uint32_t n = atomic_load_explicit(&p->wire->beside, memory_order_relaxed);

	return n ? n : 1;
}

/* Of the engine's time, which it shares with others. */
static uint64_t remaining_locked(struct pace *p, uint64_t now_ns)
{
	uint64_t ns = in_flight_locked(p), oldest = oldest_locked(p, ns);
	uint64_t run = now_ns > p->anchor_ns ? (now_ns - p->anchor_ns) / pace_beside(p) : 0;

	if (run > oldest)
		run = oldest;
	return ns > run ? ns - run : 0;
}

bool pace_room_locked(struct pace *p, uint64_t now_ns)
{
	uint64_t until = atomic_load_explicit(&p->wire->until_ns, memory_order_relaxed);
	uint64_t needs = atomic_load_explicit(&p->wire->needs_ns, memory_order_relaxed);

	return atomic_load_explicit(&p->wire->waiting, memory_order_relaxed) &&
	       atomic_load(&p->wire->gate) & WIRE_OPEN && until &&
	       now_ns + (remaining_locked(p, now_ns) + needs) * pace_beside(p) <= until;
}

static uint64_t bound_of(const struct pace *p)
{
	uint64_t bound = atomic_load_explicit(&p->wire->bound_ns, memory_order_relaxed);

	return bound ? bound : 4000000;
}

void pace_refresh_locked(struct pace *p, uint64_t now_ns)
{
	uint32_t gate = atomic_load(&p->wire->gate);
	uint64_t until = atomic_load_explicit(&p->wire->until_ns, memory_order_relaxed);
	uint64_t remaining = remaining_locked(p, now_ns), bound = bound_of(p), room, unmarked;
	uint64_t admitted = atomic_load(&p->admitted), beside = pace_beside(p);

	atomic_store_explicit(&p->wire->done_by_ns, p->busy ? now_ns + remaining * beside : 0, memory_order_relaxed);
	if (!p->busy || p->alone || p->alone_wanted || !(gate & WIRE_GATED) || !(gate & WIRE_OPEN) || capture_going() ||
	    trace_on() || away_is()) {
		atomic_store(&p->limit, p->completed);
		return;
	}
	room = remaining < bound ? bound - remaining : 0;
	if (until && now_ns + (remaining + room) * beside > until)
		room = now_ns + remaining * beside < until ? (until - now_ns) / beside - remaining : 0;
	unmarked = pace_ns(admitted - p->marked);
	if (unmarked + room > bound / 4)
		room = unmarked < bound / 4 ? bound / 4 - unmarked : 0;
	atomic_store_explicit(&p->gate_seen, gate, memory_order_relaxed);
	atomic_store(&p->limit, admitted + (room << ESTIMATE_SHIFT) + 1);
}

/*
 * Does it fit into what may be in flight? What is longer than the bound goes when the work before it is about to end:
 * so early that the engine does not idle, but no more than a part of its own length, which the bound is about.
 */
static uint64_t lead_of(uint64_t bound, uint64_t ns)
{
	uint64_t lead = bound / 8 < LEAD_MOST_NS ? bound / 8 : LEAD_MOST_NS;
	uint64_t least = ns / 16 < WAKE_NS ? ns / 16 : WAKE_NS;

	return lead < least ? least : lead;
}

static bool fits_bound(uint64_t bound, uint64_t remaining, uint64_t ns)
{
	return !remaining || remaining + ns <= bound || (ns > bound && remaining <= lead_of(bound, ns));
}

/* A further launch may pass the closed gate beside work that does not end. What that takes itself does not count. */
static bool has_earned_locked(const struct pace *p, uint64_t now_ns)
{
	return !p->passed_since_ns ||
	       (now_ns - p->passed_since_ns) / 1000 * pace_own_ppm(p) / 1000 / pace_beside(p) >= p->passed_ns;
}

/* Tier T3 has all channels off: nothing can end, and nothing waits for a launch. */
static bool stands_still(const struct pace *p)
{
	return atomic_load_explicit(&p->wire->cut_since_ns, memory_order_relaxed);
}

/*
 * meted lets the launch pass. The ask has a number, so that none is answered twice, and stands until it is used, by
 * this launch or another one. *ret_rings: meted has to be told.
 */
static bool is_let_pass_locked(struct pace *p, uint32_t passes, bool *ret_rings)
{
	uint32_t ask = (p->passes + 1) & ~WIRE_PASSES;

	if (passes == (WIRE_PASSES | ask))
		return true;
	if (atomic_load_explicit(&p->wire->asks, memory_order_relaxed) != ask) {
		atomic_store(&p->wire->asks, ask);
		*ret_rings = true;
	}
	return false;
}

/* It has waited for so long that what is in flight may wait for it. */
static bool is_stuck_locked(struct pace *p, const struct asker *a, uint32_t gate, uint32_t progress, uint64_t now_ns,
			    bool *ret_rings)
{
	uint32_t passes = away_is() ? 0 : atomic_load(&p->wire->passes);

	*ret_rings = false;
	if (!a->since_ns || now_ns < a->stuck_at_ns || !p->busy || progress != a->progress || stands_still(p) ||
	    p->held)
		return false;
	if (gate & WIRE_OPEN)
		return true;
	return passes & WIRE_PASSES ? is_let_pass_locked(p, passes, ret_rings) : has_earned_locked(p, now_ns);
}

static enum pass may_pass_locked(struct pace *p, const struct asker *a, uint32_t gate, uint64_t now_ns)
{
	uint64_t until = atomic_load_explicit(&p->wire->until_ns, memory_order_relaxed);
	uint64_t remaining = remaining_locked(p, now_ns);
	bool empty = in_flight_locked(p) == 0;

	if (!(gate & WIRE_GATED))
		return PASS_FREE;
	if (a->bypass)
		return PASS_NOW;
	if (!(gate & WIRE_OPEN) || away_is())
		return away_open(p, now_ns) ? (empty ? PASS_NOW : PASS_PROGRESS) : PASS_GATE;
	if ((p->alone_wanted && !a->wants) || (!empty && (a->unknown || p->alone)))
		return PASS_PROGRESS;
	if (until && now_ns + (remaining + a->ns) * pace_beside(p) > until && !(empty && p->turn_used != gate))
		return away_open(p, now_ns) && empty ? PASS_NOW : PASS_GATE;
	return fits_bound(bound_of(p), remaining, a->ns) ? PASS_NOW : PASS_PROGRESS;
}

/* Begins a busy period. False: the gate has been closed meanwhile (wire/turn.h: who sees whom). */
static bool begin_busy_locked(struct pace *p, const struct asker *a, uint32_t gate, uint64_t now_ns)
{
	p->anchor_ns = now_ns;
	atomic_store(&p->wire->busy_since_ns, now_ns);
	if (!a->bypass && !away_is() && atomic_load(&p->wire->gate) != gate) {
		atomic_store(&p->wire->busy_since_ns, 0);
		return false;
	}
	p->busy = true;
	return true;
}

/*
 * The program knows that work has ended, and launches again: so quickly that it has waited for it, or not. It may come
 * before anybody has taken the end.
 */
static void note_prompt_locked(struct pace *p, uint64_t asked_ns)
{
	uint32_t prompt = atomic_load_explicit(&p->prompt, memory_order_relaxed);

	prompt = !p->busy && asked_ns > p->anchor_ns + PROMPT_NS ? 0 : prompt < PACE_PROMPT ? prompt + 1 : prompt;
	atomic_store_explicit(&p->prompt, prompt, memory_order_relaxed);
}

/* Nothing is gated, or in flight, on the device's other engines. */
static bool others_idle(const struct pace *own)
{
	for (int e = 0; e < WIRE_ENGINES; e++) {
		const struct pace *p = &paces[own->device][e];

		if (p != own && (!pace_is_gated(p) || atomic_load(&p->wire->busy_since_ns)))
			return false;
	}
	return true;
}

/* Nothing holds the launch back that is to be the first in flight: it will begin at once. */
static bool is_free_locked(const struct pace *p, struct launch *l)
{
	l->holds = atomic_load_explicit(&lane_holds, memory_order_relaxed);
	return p->unheld == l->stream && p->unheld_holds == l->holds && others_idle(p);
}

/* Whether a launch that is free could do without markers: the program will wait for it. */
static bool could_go_unmarked_locked(const struct pace *p, const struct launch *l, const struct asker *a, uint32_t slow)
{
	return slow == FLOW_FRESH && !l->first && !l->waits && !a->unknown && !a->bypass && pace_beside(p) == 1 &&
	       atomic_load_explicit(&p->prompt, memory_order_relaxed) == PACE_PROMPT && !capture_going() &&
	       !trace_on() && !away_is();
}

static bool admit_locked(struct pace *p, struct launch *l, const struct asker *a, uint32_t gate, uint64_t now_ns)
{
	struct flow *f = &l->stream->flow[p->engine];
	uint32_t slow = atomic_load_explicit(&f->slow, memory_order_relaxed);
	bool began = !p->busy;
	uint64_t admitted;

	if (slow & FLOW_FRESH && !l->stream->lane->is_beside)
		note_prompt_locked(p, a->since_ns ? a->since_ns : now_ns);
	if (began && !begin_busy_locked(p, a, gate, now_ns))
		return false;
	if (a->bypass) {
		p->written_off_ns = pace_ns(atomic_load(&p->admitted) - p->completed);
		pace_alone_locked(p, false);
		if (!(gate & WIRE_OPEN) && !p->passed_since_ns) {
			p->passed_since_ns = now_ns;
			p->passed_ns = 0;
		}
		p->passes += !(gate & WIRE_OPEN) &&
			     atomic_load(&p->wire->passes) == (WIRE_PASSES | ((p->passes + 1) & ~WIRE_PASSES));
		atomic_fetch_add_explicit(&p->wire->bypassed, 1, memory_order_relaxed);
	}
	l->first = began && p->turn_used != gate;
	p->turn_used = gate;
	if (a->unknown)
		pace_alone_locked(p, true);
	if (atomic_load(&f->submitted) == f->completed)
		f->busy_from_ns = now_ns;
	if (slow & FLOW_SINGLE && f->single && !--f->single)
		atomic_fetch_and_explicit(&f->slow, ~(uint32_t)FLOW_SINGLE, memory_order_relaxed);
	if (slow & FLOW_FRESH)
		atomic_fetch_and_explicit(&f->slow, ~(uint32_t)FLOW_FRESH, memory_order_relaxed);
	admitted = atomic_fetch_add(&p->admitted, a->inc) + a->inc;
	/* A captured stream cannot be marked later, so while there is one everything is marked at once. */
	l->mark = slow || a->unknown || began || capture_going() ||
		  pace_ns(atomic_load(&p->admitted) - p->marked) >= bound_of(p) / 4;
	l->start_ns = slow & FLOW_FRESH ? now_ns : 0;
	l->began = began;
	l->free = began && is_free_locked(p, l);
	l->drawn = l->free && could_go_unmarked_locked(p, l, a, slow);
	l->left = l->drawn && waits_may_leave_locked(p, a->ns);
	l->admitted = admitted;
	pace_refresh_locked(p, now_ns);
	return true;
}

/* The page tells of those who stand at the gate. */
static void wait_begins_locked(struct pace *p, struct asker *a, uint64_t now_ns)
{
	if (a->gate_ns)
		return;
	a->gate_ns = now_ns;
	atomic_store_explicit(&p->wire->needs_ns, a->unknown ? 0 : a->ns, memory_order_relaxed);
	if (!atomic_load_explicit(&p->wire->waiting, memory_order_relaxed))
		atomic_store_explicit(&p->wire->waiting_since_ns, now_ns, memory_order_relaxed);
	atomic_fetch_add(&p->wire->waiting, 1);
}

/*
 * It was woken for a turn that is over: the processor had other things to do. meted, which takes it for stopped, is
 * told that it waits anew. Value: so it is.
 */
static bool missed_locked(struct pace *p, struct asker *a, uint32_t gate, uint64_t now_ns)
{
	bool missed = a->gate_ns && gate != a->gate && !(gate & WIRE_OPEN) && !(a->gate & WIRE_OPEN);

	a->gate = gate;
	if (missed)
		atomic_store_explicit(&p->wire->waiting_since_ns, now_ns, memory_order_relaxed);
	return missed;
}

static void wait_ends_locked(struct pace *p, struct asker *a, uint64_t now_ns)
{
	uint32_t waiting = atomic_load_explicit(&p->wire->waiting, memory_order_relaxed);

	if (!a->gate_ns)
		return;
	if (waiting) /* a new page knows nothing of those who waited at the old one */
		atomic_store(&p->wire->waiting, waiting - 1);
	if (waiting <= 1) {
		atomic_store_explicit(&p->wire->waiting_since_ns, 0, memory_order_relaxed);
		atomic_store_explicit(&p->wire->needs_ns, 0, memory_order_relaxed);
	}
	atomic_fetch_add_explicit(&p->wire->waited_ns, now_ns - a->gate_ns, memory_order_relaxed);
	a->gate_ns = 0;
}

/* When the asker passes whatever stands in its way; it has been refused. */
static void stuck_locked(struct pace *p, struct asker *a, uint64_t now_ns)
{
	uint32_t progress = atomic_load_explicit(&p->progress, memory_order_relaxed);

	if (a->since_ns && progress == a->progress && !stands_still(p))
		return;
	if (!a->since_ns)
		a->since_ns = now_ns;
	a->progress = progress;
	a->stuck_at_ns = now_ns + remaining_locked(p, now_ns) + WIRE_STUCK_NS;
}

/* How long to sleep at most. */
static uint64_t nap(const struct pace *p, const struct asker *a, uint64_t now_ns, enum pass why, uint64_t remaining)
{
	uint64_t most = NAP_NS, bound = bound_of(p), lead = lead_of(bound, a->ns);

	if (why == PASS_GATE)
		most = away_nap(most);
	else if (remaining && remaining + a->ns > bound && a->ns <= bound)
		most = (remaining + a->ns - bound) * pace_beside(p);
	else if (remaining && a->ns > bound)
		most = (remaining > lead ? remaining - lead : 0) * pace_beside(p);
	if (most > NAP_NS)
		most = NAP_NS;
	return most < 20000 ? 20000 : most;
}

/* What a refused asker does until something may have changed. No lock is held. */
static void sleep_on(struct pace *p, enum pass why, uint32_t gate, uint32_t progress, uint64_t most_ns)
{
	if (why == PASS_GATE)
		tick_wait(&p->wire->gate, gate, most_ns, true);
	else
		pace_await(p, progress, most_ns);
}

/* A launch of unknown length holds the known ones up, or it would wait for ever beside a busy thread. */
static void want_locked(struct pace *p, struct asker *a, bool wants)
{
	if (a->wants != wants)
		p->alone_wanted += wants ? 1 : (uint32_t)-1;
	a->wants = wants;
}

/* One try. True: it is decided, *ret_free says how. */
static bool try(struct pace *p, struct launch *l, struct asker *a, bool *ret_free)
{
	uint32_t gate, progress;
	uint64_t now, most, until;
	bool several, rings, asks;
	enum pass pass;

	pthread_mutex_lock(&p->lock);
	now = tick_now();
	gate = atomic_load(&p->wire->gate);
	progress = atomic_load(&p->progress);
	a->bypass = is_stuck_locked(p, a, gate, progress, now, &asks);
	pass = may_pass_locked(p, a, gate, now);
	*ret_free = pass == PASS_FREE;
	if (pass == PASS_FREE || (pass == PASS_NOW && admit_locked(p, l, a, gate, now))) {
		rings = p->wire->busy_since_ns == now;
		until = atomic_load_explicit(&p->wire->until_ns, memory_order_relaxed);
		wait_ends_locked(p, a, now);
		want_locked(p, a, false);
		pthread_mutex_unlock(&p->lock);
		if (rings)
			pace_ring(p, wire_listen_begin(until, now, a->ns));
		return true;
	}
	if (pass == PASS_NOW) { /* the gate changed under our hands */
		pthread_mutex_unlock(&p->lock);
		return false;
	}
	rings = pass == PASS_GATE && (missed_locked(p, a, gate, now) || !a->gate_ns);
	if (pass == PASS_GATE)
		wait_begins_locked(p, a, now);
	else
		wait_ends_locked(p, a, now);
	want_locked(p, a, a->unknown && pass == PASS_PROGRESS);
	stuck_locked(p, a, now);
	pace_refresh_locked(p, now);
	several = !markers_one_stream_locked(p);
	most = nap(p, a, now, pass, remaining_locked(p, now));
	pthread_mutex_unlock(&p->lock);
	if (asks)
		bell_ring();
	else if (rings)
		pace_ring(p, WIRE_ON_DEMAND | WIRE_ON_WAIT);
	/* The watcher may be waiting for another stream's work. */
	if (!several || !markers_reap(p))
		sleep_on(p, pass, gate, progress, most);
	return false;
}

/* The prediction for the work: known, guessed from its family, or unknown. */
static void predict(struct launch *l, struct asker *a, const struct work *w)
{
	uint64_t guess;

	l->key = estimate_find(w->key, &a->inc);
	if (l->key == ESTIMATE_NONE) {
		guess = estimate_guess(w->family, w->size);
		l->key = estimate_add(w->key, w->family, w->size, guess);
		a->unknown = !guess;
		a->inc = estimate_packed(guess ? guess : UNKNOWN_NS);
	}
	a->ns = pace_ns(a->inc);
	l->inc = a->inc;
}

/*
 * A call that waits, with nothing in flight before it and nothing that holds its stream back: its work begins when it
 * is called. An event before it would tell the same, but costs more than a small copy does. The first of a turn has
 * one: it may wait for another process's work, or for what was launched while nothing was gated.
 */
static bool begins_at_once(const struct launch *l)
{
	const struct lane *lane = l->stream->lane;

	return l->began && !l->first && lane_is_free(lane) && others_idle(l->pace);
}

/* The event before work whose stream may have been idle. */
static void record_start(struct launch *l)
{
	struct stream *s = l->stream;
	uint64_t now = l->start_ns, holds;

	if (l->left && lane_enter(s->lane)) {
		lane_base(s->lane, l->handle, l->per_thread, now);
		lane_leave(s->lane);
	}
	if (l->left)
		l->host_ns = tick_now();
	if (!now || l->left || (l->waits && begins_at_once(l)) || !lane_enter(s->lane))
		return;
	holds = atomic_load_explicit(&lane_holds, memory_order_relaxed);
	l->free &= l->holds == holds;
	l->holds = holds;
	lane_base(s->lane, l->handle, l->per_thread, now);
	l->start = lane_event(s->lane);
	l->start_ns = tick_now();
	if (l->start && !s->lane->face->marker_put(l->start, l->handle, l->per_thread)) {
		lane_return(s->lane, l->start);
		l->start = NULL;
	}
	lane_leave(s->lane);
	l->host_ns = tick_now();
}

/* Memory is about to leave, and does not until this thread is out of the way. */
static void stand_aside(struct pace *p, struct asker *a)
{
	pthread_mutex_lock(&p->lock);
	wait_ends_locked(p, a, tick_now());
	want_locked(p, a, false);
	a->since_ns = 0;
	pthread_mutex_unlock(&p->lock);
	door_step_out();
	door_step_in();
}

/*
 * What a program has waited for is taken by its own thread: the watcher is not there for it (watcher.c), and may not
 * have come yet to mark work that has ended. During a capture the driver is asked nothing.
 */
static void take_end(struct pace *p, struct stream *s)
{
	if (capture_going() || !(atomic_load_explicit(&s->flow[p->engine].slow, memory_order_relaxed) & FLOW_FRESH))
		return;
	waits_missed(p, s);
	marks_stream(p, s);
	if (atomic_load_explicit(&p->prompt, memory_order_relaxed) == PACE_PROMPT)
		markers_reap(p);
}

/*
 * No capture ends before the driver has made a node of the launch: it would be work that nobody has admitted. False: it
 * is work.
 */
static bool is_captured(const struct face *f, struct launch *l, const struct work *w)
{
	if (!capture_going() || !f->captured(w->stream, w->per_thread))
		return false;
	capture_hold();
	if (f->captured(w->stream, w->per_thread)) {
		l->pace = &capturing;
		l->mark = true;
		return true;
	}
	capture_release();
	return false;
}

struct stream *pace_record(const struct face *f, const struct work *w)
{
	struct stream *s;
	bool full;

	while (!(s = stream_add(f, w->stream, w->per_thread, &full)) && full)
		tick_wait(&paces[0][w->engine].kick, atomic_load(&paces[0][w->engine].kick), NAP_NS, false);
	return s;
}

/* Waits for the turn of the device that l->stream is of. */
static void begin(const struct face *f, struct launch *l, const struct work *w)
{
	uint64_t submitted = trace_on() ? tick_now() : 0;
	struct asker a = { 0 };
	struct pace *p;
	bool free_pass;

	l->pace = NULL;
	l->start = NULL;
	l->start_ns = 0;
	l->left = l->free = l->drawn = false;
	l->handle = w->stream;
	l->per_thread = w->per_thread;
	l->waits = w->waits;
	if (!l->stream || is_captured(f, l, w))
		return;
	p = &paces[l->stream->lane->device][w->engine];
	if (!pace_is_gated(p))
		return;
	marks_arm();
	take_end(p, l->stream);
	predict(l, &a, w);
	while (!try(p, l, &a, &free_pass))
		if (door_is_shut() && door_is_inside())
			stand_aside(p, &a);
	if (!free_pass) {
		l->pace = p;
		if (submitted)
			trace_note(w, l, submitted, tick_now());
		record_start(l);
	}
}

void pace_begin_slow_by(const struct face *f, struct launch *l, const struct work *w)
{
	int saved = errno;

	l->stream = pace_record(f, w);
	begin(f, l, w);
	errno = saved;
}

/* As pace_record(). */
static struct stream *record_beside(struct lane *home, enum wire_engine engine, unsigned int device)
{
	struct pace *p = &paces[device][engine];
	struct stream *s = NULL;
	struct lane *l;

	while (home->context && !((l = lane_beside(home, device)) && (s = stream_beside(l))))
		tick_wait(&p->kick, atomic_load(&p->kick), NAP_NS, false);
	return s;
}

/* Each launch has an event before it: what its queue did since the last one was on its own device. */
void pace_begin_beside_by(const struct face *f, struct launch *l, const struct work *w, unsigned int device)
{
	struct stream *home;
	int saved = errno;

	home = pace_record(f, w);
	l->stream = home && home->lane->device != device ? record_beside(home->lane, w->engine, device) : NULL;
	if (l->stream)
		atomic_fetch_or_explicit(&l->stream->flow[w->engine].slow, FLOW_FRESH, memory_order_relaxed);
	begin(f, l, w);
	errno = saved;
}

bool pace_is_capturing(const struct launch *l)
{
	return l->pace == &capturing;
}

static bool is_admitted(const struct launch *l)
{
	return l->pace && !pace_is_capturing(l);
}

void pace_hold(struct launch *l)
{
	if (!is_admitted(l))
		return;
	pthread_mutex_lock(&l->pace->lock);
	l->pace->held++;
	pthread_mutex_unlock(&l->pace->lock);
}

void pace_let_go(struct launch *l)
{
	if (!is_admitted(l))
		return;
	pthread_mutex_lock(&l->pace->lock);
	l->pace->held -= l->pace->held > 0;
	pthread_mutex_unlock(&l->pace->lock);
}

static void undo(struct pace *p, struct launch *l)
{
	struct flow *f = &l->stream->flow[p->engine];

	pthread_mutex_lock(&p->lock);
	atomic_fetch_sub(&p->admitted, l->inc);
	if (l->start || (l->mark && l->left))
		atomic_fetch_or_explicit(&f->slow, FLOW_FRESH, memory_order_relaxed);
	pace_idle_locked(p, tick_now());
	pthread_mutex_unlock(&p->lock);
	lane_return(l->stream->lane, l->start);
}

void pace_end_slow(struct launch *l, bool launched)
{
	struct pace *p = l->pace;
	struct flow *f = &l->stream->flow[p->engine];
	int saved = errno;

	if (p == &capturing) {
		capture_release();
		return;
	}
	if (!launched) {
		undo(p, l);
		errno = saved;
		return;
	}
	flow_note(f, l->key);
	if (l->left)
		waits_leave(p, l);
	atomic_fetch_add(&f->submitted, l->inc);
	if (!l->left && lane_enter(l->stream->lane)) {
		marker_record(p, l->stream, l);
		lane_leave(l->stream->lane);
	} else {
		pace_kick(p);
	}
	errno = saved;
}

void pace_end_host(struct launch *l, bool launched)
{
	struct pace *p = l->pace;
	struct lane *lane = l->stream->lane;
	uint64_t begin = l->host_ns, end = tick_now(), at;
	int saved = errno;

	if (p == &capturing) {
		capture_release();
		return;
	}
	if (!launched) {
		undo(p, l);
		errno = saved;
		return;
	}
	/* Where an event stood before it in the stream, the time before that was spent waiting for other work. */
	if (l->start && lane_enter(lane)) {
		at = lane_time(lane, l->start, l->start_ns, end);
		if (at > begin)
			begin = at;
		if (at && !l->handle && !l->per_thread)
			atomic_store_explicit(&lane->free_of, l->holds, memory_order_relaxed);
		lane_leave(lane);
	}
	lane_return(lane, l->start);
	atomic_fetch_add(&l->stream->flow[p->engine].submitted, l->inc);
	marker_done(p, l, begin, end);
	errno = saved;
}

void pace_attach(struct wire_page *page, unsigned int devices)
{
	for (unsigned int d = 0; d < devices; d++) {
		for (int e = 0; e < WIRE_ENGINES; e++) {
			paces[d][e].device = d;
			paces[d][e].engine = e;
			__atomic_store_n(&paces[d][e].wire, &page->turn[d][e], __ATOMIC_RELEASE);
		}
	}
	atomic_store_explicit(&pace_count, devices, memory_order_release);
}

static void reset(struct pace *p)
{
	memset(p, 0, sizeof *p);
	p->wire = &nothing;
}

void pace_reset(void)
{
	atomic_store_explicit(&pace_count, 0, memory_order_relaxed);
	for (unsigned int d = 0; d < WIRE_MAX_DEVICES; d++)
		for (int e = 0; e < WIRE_ENGINES; e++)
			reset(&paces[d][e]);
	lane_reset();
	streams_reset();
	estimate_reset();
	capture_reset();
	trace_reset();
	watcher_reset();
	away_reset();
	waits_reset();
}
