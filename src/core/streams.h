/*
 * streams.h: the streams that received work, and how much of that work is marked and done.
 *
 * Each stream has a record, which the launch path finds without a lock. The default stream has one record per context.
 * The per-thread default stream has one per context for all threads together: only the thread itself can mark such a
 * stream, so each launch into it is marked at once.
 *
 * Records are a fixed array. A record is reused when its stream was destroyed and its last work has ended. The streams
 * of a context that find no place share one record more, which is made when it is needed: no stream is without.
 */
#pragma once

#include "core/lane.h"
#include "wire/turn.h"

#define STREAMS 2048u
#define STREAMS_PROBES 16u
#define STREAM_GONE UINT64_MAX

enum flow_slow {
	FLOW_FRESH = 1 << 0,	 /* it may have been idle: record an event before the next launch */
	FLOW_IMMEDIATE = 1 << 1, /* every launch is marked */
	FLOW_SINGLE = 1 << 2,	 /* measure the next few launches one by one */
};

#define FLOW_MIXED UINT32_MAX

/* A stream's work on one engine. Amounts are packed (estimate.h). */
struct flow {
	_Alignas(64) _Atomic uint64_t submitted; /* by calls that have returned */
	_Atomic uint32_t slow;			 /* enum flow_slow; the fast path wants 0 */
	_Atomic uint32_t key;			 /* the kind of all unmarked work (estimate.h); 0: none; FLOW_MIXED */
	/* guarded by the lock of the pace */
	uint64_t marked, completed;
	uint64_t last_end_ns;  /* end of the last completed work */
	uint64_t busy_from_ns; /* submission of the oldest work in flight */
	uint32_t single;       /* number of launches still to be measured one by one */
	bool claimed;	       /* a thread is about to mark it */
};

struct stream {
	_Atomic uint64_t key; /* 0: never used; STREAM_GONE */
	face_queue handle;
	bool per_thread;
	bool shared; /* several streams share it, or only its own thread may mark it: always IMMEDIATE */
	struct lane *lane;
	struct flow flow[WIRE_ENGINES];
};

extern struct stream streams[STREAMS];

static inline uint32_t stream_place(uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 53) % STREAMS;
}

static inline struct stream *stream_lookup(uint64_t key)
{
	uint32_t place = stream_place(key);

	for (uint32_t i = 0; i < STREAMS_PROBES; i++) {
		struct stream *s = &streams[(place + i) % STREAMS];
		/* Acquire: pairs with the release in stream_add(); the record is filled before. */
		uint64_t is = atomic_load_explicit(&s->key, memory_order_acquire);

		if (is == key)
			return s;
		if (!is)
			return NULL;
	}
	return NULL;
}

/*
 * Returns the key of a default stream, which belongs to a context: if the process has several contexts, the driver is
 * asked for the current one. 0: there is no context.
 */
uint64_t stream_key_default(const struct face *f, bool per_thread);

static inline uint64_t stream_key_by(const struct face *f, face_queue handle, bool per_thread)
{
	uintptr_t word = (uintptr_t)handle;

	if (__builtin_expect(word > 2, 1))
		return word;
	return stream_key_default(f, word == 2 || (per_thread && word == 0));
}

static inline uint64_t stream_key(face_queue handle, bool per_thread)
{
	return stream_key_by(face, handle, per_thread);
}

/*
 * Returns the record of the stream; creates it if need be. NULL: the stream is not gated (no context, or none of a
 * granted device), or (*ret_full) there is no memory for a record.
 */
struct stream *stream_add(const struct face *f, face_queue handle, bool per_thread, bool *ret_full);

/*
 * Returns the record of what the context submits to another device than its own (lane_beside()): one for all of its
 * streams. NULL: there is no memory for it.
 */
struct stream *stream_beside(struct lane *l);

/* Call before a stream is destroyed: no thread marks it from then on. Its work has been marked. */
void stream_retire(struct stream *s);
/* Retires all streams of a frozen lane. `gone`: their work in flight counts as done. */
void streams_retire(struct lane *l);

/* Return the streams by numbers below streams_known(); NULL: a retired one. Take no lock. */
uint32_t streams_known(void);
struct stream *stream_known(uint32_t i);
void streams_each(void (*f)(struct stream *s));
/* Between these two calls no record is reused for another stream. Inside a pace's lock, never around it. */
void streams_hold(void);
void streams_let_go(void);

/* In the child of fork(): removes all. */
void streams_reset(void);
