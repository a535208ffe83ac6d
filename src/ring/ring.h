/*
 * ring.h: a one-way queue of messages in memory that two sides share.
 *
 * It is a buffer whose size is a power of two; positions only grow. One side writes, the other reads; several threads
 * of one side take turns by a lock of their own. A message is contiguous: where it would wrap, a filler precedes it.
 * The other side can change the shared memory at any instant. Each side therefore keeps its own position and the
 * capacity in private memory and checks every position that it reads, and the reader copies a message before it
 * examines it. An impossible position is -EPROTO, permanently. The area contains no pointers.
 *
 * Waiting: a short spin where that shortens waits, then the doorbell. A reader whose waits have similar lengths wakes
 * shortly before the expected ring and polls (forecast.h); so does one whose messages follow an event that this side
 * knows of (sequel.h). The sleeper raises the lowest bit of `..._waits` and checks again; the other side publishes its
 * position, then checks that bit, and if it is set clears it and wakes the sleeper: at least one of the two sees the
 * other. The bits above count how often it was raised, so that a late sleeper finds another value. The bell is a futex
 * on the shared word, or a hook where the two sides have no futex in common. Every sleep ends after RING_PATIENCE_NS
 * at the latest, to call `alive`: the death of the other side at any instruction is therefore noticed within a second.
 */
#pragma once

#include "ring/forecast.h"
#include "ring/sequel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_ALIGN 8u
#define RING_LEAST_BYTES 4096u /* capacities are powers of two from here ... */
#define RING_MOST_BYTES (1u << 30) /* ... to here */
#define RING_PATIENCE_NS 200000000u
#define RING_FOREVER UINT64_MAX

/* In the shared memory; one cache line for what each side writes. */
struct ring_shared {
	_Alignas(64) uint64_t written; /* by the writer: seq_cst; the reader: acquire */
	uint32_t reader_waits; /* raised by the reader before it sleeps, cleared by the writer, which then wakes it */
	uint32_t closed; /* either side: no more will come */
	_Alignas(64) uint64_t taken; /* by the reader: seq_cst; the writer: acquire */
	uint32_t writer_waits; /* as reader_waits, the other way round */
	uint32_t unused;
	_Alignas(64) uint8_t bytes[];
};

struct ring_doorbell {
	/* Sleeps while *word == value, RING_PATIENCE_NS or `ns` at most, whichever is less. May return early. */
	void (*wait)(struct ring_doorbell *bell, uint32_t *word, uint32_t value, uint64_t ns);
	/* Wakes one or all of the threads that sleep on the word, on either side. */
	void (*wake)(struct ring_doorbell *bell, uint32_t *word, bool all);
	/* Whether the other side lives. Any thread. */
	bool (*alive)(struct ring_doorbell *bell);
};

/*
 * Decides whether waits begin with a spin. A spin helps if the other side runs and answers soon. It harms if the other
 * side needs the processor that spins. So from time to time a few waits use the other method, and the method with the
 * shorter waits is kept. Spinning is kept only if its waits are shorter by a quarter.
 */
struct ring_spin {
	bool never, on, trial;
	uint32_t count; /* waits until the next trial, or left in this one */
	uint32_t interval; /* between trials; doubles while they change nothing */
	uint64_t since; /* when the present wait began; 0: there is none */
	uint64_t mean_ns; /* of waits by the present method; long ones count as RING_LONG_WAIT_NS */
	uint64_t trial_ns; /* sum of the waits in this trial */
};

#define RING_LONG_WAIT_NS 50000u

/* A task that a reader does shortly before the next message is expected. */
struct ring_ahead {
	void (*due)(void *arg); /* called by the waiting thread, at most once in a wait; NULL: no task */
	void *arg;
	uint64_t ns; /* how long before the forecast's wake-up it is called */
};

/* One side's end; private memory. */
struct ring_end {
	struct ring_shared *shared;
	struct ring_doorbell *bell;
	uint64_t at; /* own position: written or taken */
	uint64_t other; /* the other side's, as last seen */
	uint64_t told; /* reader: the last published `at`; it lags by an eighth of the capacity at most */
	struct ring_spin spin;
	struct forecast forecast; /* reader: of long waits */
	struct sequel sequel; /* reader: of messages that follow a reported event (ring_expect()) */
	struct forecast_window window; /* of the present wait */
	struct ring_ahead ahead;
	bool asleep, timed; /* the waiting thread sleeps; it sleeps until the window begins */
	bool early; /* the window begins early enough for the task `ahead`, which is still to be done */
	uint64_t asked; /* when `alive` was last called */
	uint32_t capacity; /* of bytes[], a power of two */
	uint32_t filler; /* writer: bytes of filler before the message begun */
	uint32_t held; /* reader: size of the message given out by ring_next() */
	bool bad; /* the other side broke the rules */
};

/* Returns the size of a ring of this capacity in shared memory. */
size_t ring_area_bytes(uint32_t capacity);
/* Returns the size of the longest message: a quarter of the capacity, less 8 bytes. */
size_t ring_longest(uint32_t capacity);
/* Both sides: `shared` is all zero at first. Starts at position 0. */
void ring_attach(struct ring_end *end, struct ring_shared *shared, uint32_t capacity, struct ring_doorbell *bell);

/*
 * Writer: room for a message of at most `size` bytes (<= ring_longest), aligned to RING_ALIGN; waits for it.
 * 0; -EPIPE: the other side is gone or the ring is closed; -EPROTO; -EMSGSIZE.
 */
int ring_begin(struct ring_end *end, size_t size, void **ret_at);
/* The same, for at most `ns`. Value: 1 there is room; 0 not in this time; or as above. */
int ring_begin_within(struct ring_end *end, size_t size, uint64_t ns, void **ret_at);
/* Publishes `size` bytes of the message begun, at most the size that was requested; 0: none. Wakes the reader. */
void ring_commit(struct ring_end *end, size_t size);
/* The same without waking the reader; ring_wake() does that once for several messages. */
void ring_commit_quiet(struct ring_end *end, size_t size);
void ring_wake(struct ring_end *end);

/*
 * Reader: the next message, where it lies (the other side can still change it: copy it first). Waits for at most `ns`:
 * 0 only looks. Value: 1 there is one; 0 none came; -EPIPE: closed or dead, and nothing is left to read; -EPROTO.
 */
int ring_next(struct ring_end *end, const void **ret_at, size_t *ret_size, uint64_t ns);
/* Releases the message that ring_next() returned. Wakes the writer if it waits for room. */
void ring_release(struct ring_end *end);

/*
 * Several threads that take turns as the reader use these two functions to sleep without holding the turn. The thread
 * with the turn raises, checks once more with ring_next(0), and gives up the turn. A thread without the turn reads the
 * value with ring_bell(), then checks whether the turn is free. Each sleeps with its value, and wakes when the writer
 * wakes it or when the value is out of date.
 */
uint32_t ring_raise(struct ring_end *end);
/*
 * With the turn: spins and polls as a wait of ring_next() does. Returns whether a message came; if not, *ret_ns is the
 * time after which one of the threads must try again.
 */
bool ring_spin(struct ring_end *end, uint64_t *ret_ns);
uint32_t ring_bell(const struct ring_end *end);
void ring_sleep(struct ring_end *end, uint32_t value, uint64_t ns);
/* Undoes ring_raise(), because a message was there. */
void ring_lower(struct ring_end *end);
/* Wakes one sleeping thread, as the writer would. */
void ring_nudge(struct ring_end *end);

/*
 * Reader's side, any thread: reports an event that a message usually follows, such as the reply to the last one
 * (sequel.h). `wake`: a sleeping thread is woken to read it; else the caller itself is about to read.
 */
void ring_expect(struct ring_end *end, bool wake);

/* Either side, any thread: ends writing and wakes all threads. Published messages can still be read. */
void ring_close(struct ring_end *end);
bool ring_closed(const struct ring_end *end);
