/*
 * pace.h: an engine of a device as this process uses it: what may be launched now, what is in flight, what was done.
 *
 * The launch path adds what it is about to launch to `admitted` and goes on when the sum is within `limit`, which the
 * slow path and the watcher compute from the turn on the page (wire/turn.h): not more predicted work in flight than the
 * bound, none that would last beyond the turn, and a marker before too much is unmarked. Everything else (the gate has
 * changed, nothing is in flight, an unknown kind of work, a stream that may have been idle, a capture) takes the slow
 * path, under a lock; nobody waits, and nobody calls the driver, with it held.
 *
 * Amounts are packed as in estimate.h, so sums of launches and of time run side by side, and "all that was admitted is
 * done" is one comparison. The limit is looked at after `admitted` was raised, and the watcher lowers the limit before
 * it looks at `admitted`: so an engine is never found idle with a launch on its way.
 */
#pragma once

#include "core/estimate.h"
#include "core/streams.h"
#include "wire/page.h"

#include <pthread.h>

#define CHUNKS 512u    /* a power of two */
#define PACE_PROMPT 4u /* so many prompt launches: the program waits for each of its kernels */

/* Work between two events of a stream, the second of which has been recorded. */
struct chunk {
	struct stream *stream; /* NULL: done */
	struct lane *lane;     /* its markers'; the stream may be another context's by the time they are asked for */
	face_marker start;     /* NULL: it began when what was before it ended */
	face_marker end;
	uint64_t word;		   /* of the flow's `submitted` that it reaches */
	uint64_t start_ns, end_ns; /* of their submission */
	uint64_t least_ns;	   /* with `start` or `left`: the work behind it did not begin before */
	uint64_t most_ns;	   /* and, in a stream that was free, not after this: its call had returned */
	uint64_t begun_ns;	   /* with `start`: when it began, where that was seen before its end; else 0 */
	bool free;		   /* as struct launch has it */
	bool drawn;		   /* likewise */
	bool left;		   /* it had gone without a marker, and got `end` later */
	bool first;		   /* of a turn: it may have waited for the end of another process's work */
	uint64_t holds;		   /* with `start`: lane_holds before it was recorded */
	uint32_t key;
	bool claimed; /* somebody asks the driver for it */
	bool gone;    /* its context is, since it was claimed: who claimed it drops it */
};

/* Recent values of a delay (waits.h). */
struct delay {
	double mean_ns, deviation_ns;
	uint32_t seen;
};

/* The launch that has no marker (waits.h). */
struct left {
	struct stream *stream; /* NULL: there was none */
	uint64_t word;
	uint64_t ns;		    /* predicted */
	uint64_t least_ns, most_ns; /* as in struct chunk */
	uint64_t admitted;	    /* of the pace, with this launch and nothing after it */
};

struct pace {
	/* read by every launch */
	_Alignas(64) struct wire_turn *wire;
	_Atomic uint32_t gate_seen; /* the gate with which `limit` was computed; 0: take the slow path */
	_Atomic uint32_t asleep;    /* the watcher sleeps and wants to hear of launches */
	_Atomic uint64_t limit;
	/* written by every launch */
	_Alignas(64) _Atomic uint64_t admitted;
	/* the rest is not touched on the fast path */
	_Alignas(64) pthread_mutex_t lock; /* guards what follows, and flows of its engine where streams.h says so */
	enum wire_engine engine;
	unsigned int device;
	uint64_t completed, marked;
	uint64_t written_off_ns; /* in flight, but so long that nobody waits for it any more */
	uint64_t anchor_ns;	 /* what is in flight has been running since then */
	bool alone;		 /* what is in flight is of unknown length */
	uint32_t alone_wanted;	 /* launches of unknown length that wait for the rest to end */
	uint32_t held;		 /* launches admitted that wait for a further device's turn */
	/* since the first launch that passed the closed gate, while something is in flight; 0: none has */
	uint64_t passed_since_ns;
	uint64_t passed_ns;	/* what was launched since then has run for so long, added up */
	uint32_t passes;	/* launches that passed the closed gate because meted let them */
	uint32_t turn_used;	/* the gate of the turn in which something was admitted */
	bool busy;		/* the page says so */
	uint64_t idle_from_ns;	/* it has not been since then */
	uint64_t pause_told_ns; /* the idle_from_ns that meted has been told of as a pause */
	bool edge_open;		/* the last edge on the page is a begin */
	/* since when the engine has been busy, and for how long it was before, of which the page has no edges */
	uint64_t untold_from_ns, untold_ns;
	uint64_t span_begin_ns, span_end_ns; /* busy without a gap; begin 0: none yet */
	uint32_t chunk_head, chunk_tail;
	struct chunk chunk[CHUNKS];
	_Atomic uint32_t many; /* ends that found many edges on the page */
	/* the watcher's (watcher.c) */
	_Atomic uint32_t kick;	   /* a futex: something is to be done */
	_Atomic uint32_t progress; /* a futex: something has ended */
	_Atomic uint32_t awaited;  /* threads that sleep on it */
	_Atomic uint32_t watched;  /* the watcher runs */
	/* launches in a row, up to PACE_PROMPT, that came right behind the end of the work before them */
	_Atomic uint32_t prompt;
	/* waits.c's: from a launch's call to the begin of its work, from the end of work to the return of a wait */
	struct delay begin_delay, end_delay;
	struct left left;
	_Atomic(struct stream *) left_of; /* for a look without the lock: the stream of `left`, or of an older one */
	_Atomic(face_marker) left_event;  /* the program's own event, recorded right behind `left`; NULL: none known */
	struct stream *waited; /* whose work, up to waited_word, the program knew at waited_ns to have ended */
	uint64_t waited_word, wait_begun_ns, waited_ns;
	struct stream *unheld; /* nothing but an engine's work held it back when lane_holds was unheld_holds */
	uint64_t unheld_holds;
	uint32_t unmarked_launches;
	uint32_t to_mark;  /* so many launches get markers before others go without */
	uint64_t doubt_ns; /* so much of what nobody saw may be left uncharged (markers.c) */
	uint32_t lates;	   /* recent ends that a program was late to see, by its own event (waits.c) */
	uint32_t strikes;  /* of late so many times the host's clock could not be trusted */
	/* of a program that paces itself (away.c) */
	uint64_t away_since_ns, away_busy_ns;
};

extern struct pace paces[WIRE_MAX_DEVICES][WIRE_ENGINES];
extern _Atomic uint32_t pace_count; /* devices */

/* One launch or copy on its way. */
struct launch {
	struct pace *pace; /* NULL: it is not gated; else it must come to pace_end() or pace_end_host() */
	struct stream *stream;
	uint64_t inc;
	uint32_t key;
	bool mark;
	face_queue handle; /* as the program named it */
	bool per_thread;
	bool began; /* nothing was in flight before it */
	bool first; /* and nothing has been in this turn */
	bool waits; /* the program waits in the call until the work is done */
	/* nothing was in flight on the device's engines, and nothing else held its stream back when `holds` was counted
	 */
	bool free;
	bool left;  /* without a marker, because the program waits for it (waits.h) */
	bool drawn; /* it could have gone without as well */
	face_marker start;
	uint64_t start_ns;
	uint64_t host_ns;  /* when it went to the driver: with `start` or `left`, or of a call that waits */
	uint64_t holds;	   /* with `start` or `free`: lane_holds before it was recorded */
	uint64_t admitted; /* with `left`: of the pace, with this launch */
};

/* What is launched. */
struct work {
	enum wire_engine engine;
	uint64_t key, family;
	uint64_t size; /* blocks, bytes */
	face_queue stream;
	bool per_thread;
	bool waits; /* the program waits in the call until the work is done */
	/* for a trace */
	face_function function; /* NULL: `what` names it */
	const char *what;
	uint64_t threads; /* of a kernel; bytes of a copy */
};

/* Some device's engine is gated. */
static inline bool pace_gated(enum wire_engine engine)
{
	uint32_t count = atomic_load_explicit(&pace_count, memory_order_acquire);

	for (uint32_t d = 0; d < count; d++)
		if (atomic_load_explicit(&paces[d][engine].wire->gate, memory_order_relaxed) & WIRE_GATED)
			return true;
	return false;
}

/* Whether the kind at `key` is all there is between two markers of the flow. */
static inline void flow_note(struct flow *f, uint32_t key)
{
	uint32_t is = atomic_load_explicit(&f->key, memory_order_relaxed);

	if (__builtin_expect(is != key && is != FLOW_MIXED, 0))
		atomic_store_explicit(&f->key, is ? FLOW_MIXED : key, memory_order_relaxed);
}

/* False: take pace_begin_slow(). */
static inline bool pace_begin_fast(struct launch *l, enum wire_engine engine, uint64_t key, face_queue handle)
{
	struct stream *s;
	struct pace *p;
	uint64_t inc;

	if ((uintptr_t)handle == 2 || !(s = stream_lookup(stream_key(handle, false))))
		return false;
	p = &paces[s->lane->device][engine];
	l->key = estimate_find(key, &inc);
	if (l->key == ESTIMATE_NONE || atomic_load_explicit(&s->flow[engine].slow, memory_order_relaxed))
		return false;
	/* Sequentially consistent: pairs with pace_idle_locked() and, across the page, with meted (wire/turn.h). */
	if ((int64_t)(atomic_fetch_add(&p->admitted, inc) + inc - atomic_load(&p->limit)) > 0 ||
	    atomic_load(&p->wire->gate) != atomic_load_explicit(&p->gate_seen, memory_order_relaxed)) {
		atomic_fetch_sub(&p->admitted, inc);
		return false;
	}
	l->pace = p;
	l->stream = s;
	l->inc = inc;
	l->mark = false;
	l->start = NULL;
	return true;
}

/* Waits for the launch's turn and admits it, or finds that it is none of our business (pace NULL). */
void pace_begin_slow_by(const struct face *f, struct launch *l, const struct work *w);

/*
 * For the core: the record of the launch's queue. What has none cannot be charged, so this waits until there is memory
 * for one. NULL: it is not gated.
 */
struct stream *pace_record(const struct face *f, const struct work *w);
/*
 * The same for a device that the work runs on beside that of its queue: its time there is taken to be all the time that
 * it runs, by markers in its queue.
 */
void pace_begin_beside_by(const struct face *f, struct launch *l, const struct work *w, unsigned int device);

/*
 * An admitted launch that goes when it has the turn of a further device, and until pace_let_go() is not the program's
 * work that another launch of the process may wait in vain for.
 */
void pace_hold(struct launch *l);
void pace_let_go(struct launch *l);
/* The launch is captured: its pace is none of a device. */
bool pace_is_capturing(const struct launch *l);

static inline void pace_begin_slow(struct launch *l, const struct work *w)
{
	pace_begin_slow_by(face, l, w);
}

void pace_end_slow(struct launch *l, bool launched);
/* After a call that returned when its work was done. */
void pace_end_host(struct launch *l, bool launched);
void pace_kick(struct pace *p);
/* Sleeps until something has ended that had not when p->progress was `progress`, or the time has passed. */
void pace_await(struct pace *p, uint32_t progress, uint64_t most_ns);

/* After the driver's call. */
static inline void pace_end(struct launch *l, bool launched)
{
	if (!l->pace)
		return;
	if (__builtin_expect(l->mark || !launched, 0)) {
		pace_end_slow(l, launched);
		return;
	}
	flow_note(&l->stream->flow[l->pace->engine], l->key);
	atomic_fetch_add(&l->stream->flow[l->pace->engine].submitted, l->inc);
	if (__builtin_expect(atomic_load_explicit(&l->pace->asleep, memory_order_relaxed), 0))
		pace_kick(l->pace);
}

/* The page is there, or was replaced. */
void pace_attach(struct wire_page *page, unsigned int devices);

/* For markers.c and watcher.c, with the lock of the pace held. */
void pace_refresh_locked(struct pace *p, uint64_t now_ns);
void pace_ring(const struct pace *p, uint32_t about);
/* Something has ended; `idle`: and nothing is left. No lock is held. */
void pace_ring_end(struct pace *p, bool idle);
/* Whether a thread that waits at the open gate because of work in flight would have room now. With the lock held. */
bool pace_room_locked(struct pace *p, uint64_t now_ns);
/* Wakes that thread. No lock is held. */
void pace_wake_gate(struct pace *p);
/* So many times as long takes what is launched now, for others use the engine as well (wire/turn.h). */
uint64_t pace_beside(const struct pace *p);

/* Of the engine's time, what a launch may count on that meted gives no turn to. */
static inline uint64_t pace_own_ppm(const struct pace *p)
{
	uint64_t ppm = atomic_load_explicit(&p->wire->guarantee_ppm, memory_order_relaxed);

	return ppm < WIRE_LEAST_PPM ? WIRE_LEAST_PPM : ppm;
}

static inline bool pace_is_gated(const struct pace *p)
{
	return atomic_load_explicit(&p->wire->gate, memory_order_acquire) & WIRE_GATED;
}

/* What is in flight is of unknown length, or is not; the page says so. With the lock held. */
static inline void pace_alone_locked(struct pace *p, bool alone)
{
	if (p->alone == alone)
		return;
	p->alone = alone;
	if (alone)
		atomic_fetch_or_explicit(&p->wire->flags, WIRE_TURN_UNKNOWN, memory_order_relaxed);
	else
		atomic_fetch_and_explicit(&p->wire->flags, ~(uint32_t)WIRE_TURN_UNKNOWN, memory_order_relaxed);
}

static inline uint64_t pace_ns(uint64_t packed)
{
	return packed >> ESTIMATE_SHIFT;
}

/* In the child of fork(). */
void pace_reset(void);
