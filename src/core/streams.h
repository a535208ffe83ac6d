/*
 * streams.h: the streams that work was submitted to, and how much of it is marked and done.
 *
 * A record per stream, found without a lock by the launch path. The default stream has one per context, a per-thread
 * default stream one per context for all threads together: such a stream can be marked only by its own thread, so each
 * launch into it is marked at once.
 *
 * Records are fixed places that are used again once their stream has been destroyed and its last work was seen to end.
 */
#pragma once

#include "core/lane.h"
#include "wire/turn.h"

#define STREAMS 2048u
#define STREAMS_PROBES 16u
#define STREAM_GONE UINT64_MAX

enum flow_slow {
	FLOW_FRESH = 1 << 0,	 /* it may have been idle: the next launch is preceded by an event */
	FLOW_IMMEDIATE = 1 << 1, /* every launch is marked */
	FLOW_SINGLE = 1 << 2,	 /* the next few launches are measured one by one */
};

#define FLOW_MIXED UINT32_MAX

/* A stream's work on one engine. Amounts are packed (estimate.h). */
struct flow {
	_Alignas(64) _Atomic uint64_t submitted; /* by calls that have returned */
	_Atomic uint32_t slow;			 /* enum flow_slow; the fast path wants 0 */
	_Atomic uint32_t key;			 /* the place of what all unmarked work is like; 0: none; FLOW_MIXED */
	/* guarded by the lock of the pace */
	uint64_t marked, completed;
	uint64_t last_end_ns; /* of what was completed last */
	uint64_t busy_from_ns; /* submission of the first of what is in flight */
	uint32_t single;      /* launches to be measured one by one */
	bool claimed;	      /* a thread is about to mark it */
};

struct stream {
	_Atomic uint64_t key; /* 0: never used; STREAM_GONE */
	face_queue handle;
	bool per_thread;
	bool shared; /* a record that several streams share, or that only its own thread may mark: always IMMEDIATE */
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
 * What names the stream here. The default streams belong to a context: where the process has several, the driver is
 * asked for the current one. 0: there is none.
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

/* The record of the stream, made when it is new. NULL: not to be gated (no context, none of a granted device). */
struct stream *stream_add(const struct face *f, face_queue handle, bool per_thread);

/* The stream is about to be destroyed: nobody marks it any more. Its work has been marked. */
void stream_retire(struct stream *s);
/* All streams of a lane, which is frozen. `gone`: what is in flight there counts as done. */
void streams_retire(struct lane *l);

/* The streams that are known, by numbers below streams_known(); NULL where one has gone. No lock is taken. */
uint32_t streams_known(void);
struct stream *stream_known(uint32_t i);
void streams_each(void (*f)(struct stream *s));

/* In the child of fork(). */
void streams_reset(void);
