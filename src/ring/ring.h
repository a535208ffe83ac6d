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
	/* Wakes one (or all) of those who sleep on the word, on either side. */
	void (*wake)(struct ring_doorbell *bell, uint32_t *word, bool all);
	/* Whether the other side lives. Any thread. */
	bool (*alive)(struct ring_doorbell *bell);
};

/*
 * Whether waits begin with a spin. It helps when the other side runs and answers soon; it harms when the other side
 * wants the processor that spins. So now and then some waits are made the other way, and the way that had the shorter
 * ones is kept; sleeping, unless spinning is better by a quarter.
 */
struct ring_spin {
	bool never, on, trial;
	uint32_t count; /* of waits: up to the next trial, or of this one */
	uint32_t interval; /* between trials; doubles while they change nothing */
	uint64_t since; /* when the wait that is going on began; 0: none is */
	uint64_t mean_ns; /* of waits the present way; long ones count as RING_LONG_WAIT_NS */
	uint64_t trial_ns; /* sum, of this trial's */
};

#define RING_LONG_WAIT_NS 50000u

/* Of a reader that has something to do shortly before the next message comes. */
struct ring_ahead {
	void (*due)(void *arg); /* called by the thread that waits, once in a wait at most; NULL: there is nothing */
	void *arg;
	uint64_t ns; /* how much earlier than it would wake up by the forecast */
};

/* One side's end; private memory. */
struct ring_end {
	struct ring_shared *shared;
	struct ring_doorbell *bell;
	uint64_t at; /* own position: written or taken */
	uint64_t other; /* the other side's, as last seen */
	uint64_t told; /* reader: what the writer knows of `at`; it lags by an eighth of the capacity at most */
	struct ring_spin spin;
	struct forecast forecast; /* reader: of long waits */
	struct sequel sequel; /* reader: of what follows something that others have told of */
	struct forecast_window window; /* of the wait that is going on */
	struct ring_ahead ahead;
	bool asleep, timed; /* who waits sleeps; until the window begins */
	bool early; /* it begins early enough for what is to be done ahead, which has not been done */
	uint64_t asked; /* when it was last asked whether the other side lives */
	uint32_t capacity; /* of bytes[], a power of two */
	uint32_t filler; /* writer: bytes of filler before the message begun */
	uint32_t held; /* reader: what the message that was given out takes */
	bool bad; /* the other side broke the rules */
};

/* What a ring of this capacity takes in shared memory. */
size_t ring_area_bytes(uint32_t capacity);
/* The longest message: a quarter of the capacity, less 8 bytes. */
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
/* Publishes what was begun: `size` bytes, at most what was asked for; 0 publishes nothing. Wakes the reader. */
void ring_commit(struct ring_end *end, size_t size);
/* The same without waking; ring_wake() does it for several at once. */
void ring_commit_quiet(struct ring_end *end, size_t size);
void ring_wake(struct ring_end *end);

/*
 * Reader: the next message, where it lies (the other side can still change it: copy it first). Waits for at most `ns`:
 * 0 only looks. Value: 1 there is one; 0 none came; -EPIPE: closed or dead, and nothing is left to read; -EPROTO.
 */
int ring_next(struct ring_end *end, const void **ret_at, size_t *ret_size, uint64_t ns);
/* Gives back what ring_next() gave. Wakes the writer if it waits for room. */
void ring_release(struct ring_end *end);

/*
 * Several threads that take turns as the reader use these two functions to sleep without holding the turn. The thread
 * with the turn raises, checks once more with ring_next(0), and gives up the turn. A thread without the turn reads the
 * value with ring_bell(), then checks whether the turn is free. Each sleeps with its value, and wakes when the writer
 * wakes it or when the value is out of date.
 */
uint32_t ring_raise(struct ring_end *end);
/*
 * With the turn: spins and looks as a wait of ring_next() would. Value: whether something came; if not, *ret_ns: after
 * how long one of them is to try again.
 */
bool ring_spin(struct ring_end *end, uint64_t *ret_ns);
uint32_t ring_bell(const struct ring_end *end);
void ring_sleep(struct ring_end *end, uint32_t value, uint64_t ns);
/* Takes it back: there was something after all. */
void ring_lower(struct ring_end *end);
/* Wakes one that sleeps, as the writer would. */
void ring_nudge(struct ring_end *end);

/*
 * Reader's side, any thread: something has happened that a message usually follows, say the reply to the last one
 * (sequel.h). `wake`: a thread that sleeps is to look for it; else the caller itself is about to read.
 */
void ring_expect(struct ring_end *end, bool wake);

/* Either side, any thread: nothing more will be written or read; wakes everybody. What was published can be read. */
void ring_close(struct ring_end *end);
bool ring_closed(const struct ring_end *end);
