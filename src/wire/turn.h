/*
 * turn.h: how a client and meted share the time of an engine: the turn, the work in flight, and the measurements.
 *
 * The client's page has one struct wire_turn per device and engine. meted opens and closes the gate. The client
 * submits work while the gate is open, keeps the work in flight below the bound, and reports when the engine was busy
 * with its work, by the device's own clock. Each half is written by one side only and has cache lines of its own, so
 * that a launch through an open gate reads one line and sends no request.
 *
 * What each side never does:
 *   - The client never submits with the gate closed, except after a wait of WIRE_STUCK_NS in which none of its own work
 *     has ended: the work in flight may depend on this very launch. It asks meted then, which lets one of the tenant's
 *     processes pass after the other (`asks`, `passes`).
 *   - meted never waits for a client: a turn ends when its time is over, whatever the process does.
 *   - A submission and a closing gate cannot miss each other: the client writes busy_since_ns and then reads the gate;
 *     meted closes the gate and then reads busy_since_ns. Both are sequentially consistent.
 *
 * The doorbell wakes meted. It is a pipe whose descriptor comes with the page. The client rings it only for what
 * `listen` requests, with a write of 8 bytes that never blocks: a full pipe means that it has been rung. A futex on
 * `gate` (shared, not private) wakes clients.
 *
 * This keeps honest clients within their turns. It does not stop a client that writes its page at will or bypasses the
 * shim (docs/protection.md).
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An engine of a device; each has turns of its own. */
enum wire_engine {
	WIRE_COMPUTE, /* kernels, graphs */
	WIRE_COPY,    /* copies and fills between host and device */
	WIRE_ENGINES,
};

#define WIRE_EDGES 128u /* a power of two */
#define WIRE_STUCK_NS 100000000ull
#define WIRE_PASSES (1u << 31)
#define WIRE_LEAST_PPM 10000u /* of a tenant that is guaranteed nothing: what its launches that pass may count on */

/* wire_turn.gate. The bits above are a serial that changes with every change, so that a futex wait misses none. */
enum wire_gate {
	WIRE_GATED = 1 << 0, /* work must pass the gate; without it nothing is counted or measured */
	WIRE_OPEN = 1 << 1,
	WIRE_GATE_SERIAL = 1 << 2,
};

/* wire_turn.listen: ring the doorbell when ... */
enum wire_listen {
	WIRE_ON_DEMAND =
		1 << 0, /* ... a thread begins to wait at the gate, or work is submitted with nothing in flight */
	WIRE_ON_IDLE = 1 << 1,	/* ... the last work in flight has completed */
	WIRE_ON_EDGE = 1 << 2,	/* ... any work has completed */
	WIRE_ON_WAIT = 1 << 3,	/* ... a thread begins to wait at the gate */
	WIRE_ON_PAUSE = 1 << 4, /* ... the last work has completed, and nothing has followed for WIRE_PAUSE_NS or can
				 * follow at once */
	/* ... work is submitted with nothing in flight that is not short, or less than WIRE_LATE_NS before until_ns */
	WIRE_ON_LATE = 1 << 5,
};

#define WIRE_LATE_NS 1000000ull
#define WIRE_SHORT_NS 50000ull /* predicted length: waking meted would take about as long */

/* A program that waits for each of its kernels continues within this time: meted is not woken for such a pause. */
#define WIRE_PAUSE_NS 100000ull

#define WIRE_CUTS 32u

/* Interval in which the channels were off, by CLOCK_MONOTONIC: work in flight made no progress. */
struct wire_cut {
	_Atomic uint64_t off_ns, on_ns;
};

struct wire_turn {
	/* written by meted */
	_Alignas(64) _Atomic uint32_t gate; /* a futex */
	_Atomic uint32_t listen;
	_Atomic uint64_t until_ns; /* CLOCK_MONOTONIC: submitted work should have completed by then; 0: no end is set */
	_Atomic uint64_t bound_ns; /* limit of the predicted work in flight; a single launch may be longer */
	_Atomic uint32_t guarantee_ppm; /* the tenant's share and limit, for a client without meted */
	_Atomic uint32_t limit_ppm;
	/*
	 * Number of the tenant's processes that use the engine or wait for it, this one included, plus one for other
	 * tenants' work of unknown length in flight: this client's work takes so many times as long.
	 */
	_Atomic uint32_t beside;
	/* WIRE_PASSES and the latest of `asks` that may pass; 0: meted does not know of them */
	_Atomic uint32_t passes;
	_Atomic uint64_t charged_ns; /* the device time that meted has charged to this client's tenant so far */
	_Atomic int64_t lag_ns;	     /* how far the tenant is behind (above 0) or ahead of its share */
	/* tier T3 sizes its slices by these, of the tenant's terms (model/arbiter.h) */
	_Atomic uint32_t class_1; /* 1 + enum arbiter_class; 0: not said */
	_Atomic uint32_t weight;
	_Atomic uint64_t charged_at_ns;	  /* CLOCK_MONOTONIC: the time of charged_ns and lag_ns */
	_Atomic uint64_t charged_busy_ns; /* the value of busy_ns below at that time: the next meted charges what
					   * came after it */
	_Atomic int64_t arrears_ns; /* by how much the tenant is behind its guarantee at that time (model/arrears.h) */
	/* for the next meted, of the same time (struct arbiter_rights of model/arbiter.h) */
	_Atomic int64_t by_clock_ns, tokens_ns;
	_Atomic uint64_t put_off_ns, put_off_free_ns, put_off_from_ns;
	/* written by the client */
	_Alignas(64) _Atomic uint64_t busy_since_ns; /* CLOCK_MONOTONIC; 0: nothing is in flight */
	_Atomic uint64_t done_by_ns;		     /* the predicted end of work in flight */
	_Atomic uint32_t waiting;		     /* threads at the closed gate */
	_Atomic uint32_t flags;			     /* enum wire_turn_flags */
	_Atomic uint64_t waiting_since_ns;	     /* or since it was last awake there and had missed its turn */
	_Atomic uint64_t needs_ns;		     /* predicted length of the launch that waits; 0: not known */
	_Atomic uint64_t waited_ns;		     /* the total time that threads have spent at the gate */
	/* number of the launch that asks to pass the closed gate, or was the last to ask; from 1 */
	_Atomic uint32_t asks;
	/* the total time of work that was submitted since a launch had passed a closed gate */
	_Atomic uint64_t passed_ns;
	/* written by the client, read for display */
	_Alignas(64) _Atomic uint64_t launches;
	_Atomic uint64_t busy_ns;      /* total, measured by the device's clock */
	_Atomic uint64_t longest_ns;   /* the longest measured launch */
	_Atomic uint64_t bypassed;     /* launches that passed a closed gate after WIRE_STUCK_NS */
	_Atomic uint32_t edge_head;    /* edges written so far; the client writes, meted reads */
	_Atomic uint32_t cuts;	       /* tier T3: number of times that the channels were switched off and on again */
	_Atomic uint64_t cut_ns;       /* total time for that */
	_Atomic uint64_t cut_since_ns; /* since when they are off; 0: they are on */
	/* written by meted */
	_Alignas(64) _Atomic uint32_t edge_tail; /* edges read so far */
	/*
	 * The times at which the engine began and ceased to be busy with this client's work, alternating:
	 * CLOCK_MONOTONIC ns, ascending; the lowest bit is 1 for a begin. A client that finds the ring full adds what
	 * it cannot note to the next period, which begins so much earlier. If two begins follow each other, the time
	 * between them is charged. After the last end, busy_since_ns, which is written after the end, shows that
	 * nothing is in flight.
	 */
	_Alignas(64) _Atomic uint64_t edge[WIRE_EDGES];
	struct wire_cut cut[WIRE_CUTS]; /* the latest; written by tier T3, read by the same process's shim */
};

enum wire_turn_flags {
	WIRE_TURN_LONG = 1 << 0,    /* a single launch exceeded the bound: T2 cannot interrupt it */
	WIRE_TURN_SLICED = 1 << 1,  /* tier T3 is proven and active for this process */
	WIRE_TURN_UNKNOWN = 1 << 2, /* the work in flight has an unknown length and runs alone */
};

/* A client of the previous meted may have the page: what came later stands where there was nothing. */
_Static_assert(offsetof(struct wire_turn, charged_ns) == 40 && offsetof(struct wire_turn, launches) == 192,
	       "the page's layout");

/* One launch or copy, while meted traces (wire_trace.on). */
struct wire_record {
	uint64_t submitted_ns; /* CLOCK_MONOTONIC: the program called */
	uint64_t passed_ns;    /* it passed the gate */
	uint64_t predicted_ns;
	uint64_t bytes;	 /* of a copy; for a kernel the number of threads */
	uint64_t stream; /* identifies the stream in this process */
	uint16_t device; /* index in the grant */
	uint16_t engine; /* enum wire_engine */
	uint32_t thread;
	char name[48]; /* of the kernel, "graph", "copy to device", ...; NUL-terminated, truncated */
};

#define WIRE_RECORDS 2048u /* a power of two */

struct wire_trace {
	_Atomic uint32_t on; /* written by meted, after it has reserved the space */
	_Atomic uint32_t
		head; /* number of records written: raised after an entry is filled; old ones are overwritten */
	struct wire_record record[WIRE_RECORDS];
};

/* True if there are so many unread edges that meted should read them early: its doorbell is rung. */
static inline bool wire_edge_many(struct wire_turn *t)
{
	return atomic_load_explicit(&t->edge_head, memory_order_relaxed) -
		       atomic_load_explicit(&t->edge_tail, memory_order_relaxed) >=
	       WIRE_EDGES / 2;
}

/*
 * The events for which the doorbell may be rung when work of a predicted length is submitted with nothing in flight: of
 * enum wire_listen.
 */
static inline uint32_t wire_listen_begin(uint64_t until_ns, uint64_t now_ns, uint64_t length_ns)
{
	bool late = until_ns && (length_ns > WIRE_SHORT_NS || now_ns + WIRE_LATE_NS > until_ns);

	return WIRE_ON_DEMAND | (late ? WIRE_ON_LATE : 0);
}

/* So many edges the client can add. */
static inline uint32_t wire_edge_room(struct wire_turn *t)
{
	uint32_t head = atomic_load_explicit(&t->edge_head, memory_order_relaxed);

	/* Acquire: pairs with the release in wire_edge_get(): the entries have been read. */
	return WIRE_EDGES - (head - atomic_load_explicit(&t->edge_tail, memory_order_acquire));
}

/* The client adds an edge. False: the ring is full. */
static inline bool wire_edge_put(struct wire_turn *t, uint64_t at_ns, bool begins)
{
	uint32_t head = atomic_load_explicit(&t->edge_head, memory_order_relaxed);

	/* Acquire: pairs with the release in wire_edge_get(): the entry has been read. */
	if (head - atomic_load_explicit(&t->edge_tail, memory_order_acquire) >= WIRE_EDGES)
		return false;
	atomic_store_explicit(&t->edge[head % WIRE_EDGES], (at_ns & ~1ull) | begins, memory_order_relaxed);
	atomic_store_explicit(&t->edge_head, head + 1, memory_order_release);
	return true;
}

/*
 * meted takes the oldest edge. False: there is none. A cheating client may write the page: do not trust the order of
 * times.
 */
static inline bool wire_edge_get(struct wire_turn *t, uint64_t *ret_at_ns, bool *ret_begins)
{
	uint32_t tail = atomic_load_explicit(&t->edge_tail, memory_order_relaxed);
	uint64_t edge;

	/* Acquire: pairs with the release in wire_edge_put(). */
	if (atomic_load_explicit(&t->edge_head, memory_order_acquire) == tail)
		return false;
	edge = atomic_load_explicit(&t->edge[tail % WIRE_EDGES], memory_order_relaxed);
	atomic_store_explicit(&t->edge_tail, tail + 1, memory_order_release);
	*ret_at_ns = edge & ~1ull;
	*ret_begins = edge & 1;
	return true;
}

/* Tier T3 records that the channels were off. */
static inline void wire_cut_put(struct wire_turn *t, uint64_t off_ns, uint64_t on_ns)
{
	uint32_t n = atomic_load_explicit(&t->cuts, memory_order_relaxed);

	atomic_store_explicit(&t->cut[n % WIRE_CUTS].off_ns, off_ns, memory_order_relaxed);
	atomic_store_explicit(&t->cut[n % WIRE_CUTS].on_ns, on_ns, memory_order_relaxed);
	atomic_fetch_add_explicit(&t->cut_ns, on_ns - off_ns, memory_order_relaxed);
	/* Release: pairs with the acquire in wire_cut_next(). */
	atomic_store_explicit(&t->cuts, n + 1, memory_order_release);
}

/* The first interval between the two times in which the channels were off, clipped to them. False: none is known. */
static inline bool wire_cut_next(const struct wire_turn *t, uint64_t from_ns, uint64_t to_ns, uint64_t *ret_off_ns,
				 uint64_t *ret_on_ns)
{
	uint32_t n = atomic_load_explicit(&t->cuts, memory_order_acquire);

	for (uint32_t i = n > WIRE_CUTS ? n - WIRE_CUTS : 0; i != n; i++) {
		uint64_t off = atomic_load_explicit(&t->cut[i % WIRE_CUTS].off_ns, memory_order_relaxed);
		uint64_t on = atomic_load_explicit(&t->cut[i % WIRE_CUTS].on_ns, memory_order_relaxed);

		if (on <= from_ns || off >= to_ns || on <= off)
			continue;
		*ret_off_ns = off > from_ns ? off : from_ns;
		*ret_on_ns = on < to_ns ? on : to_ns;
		return true;
	}
	return false;
}
