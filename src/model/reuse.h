/*
 * reuse.h: stream-ordered memory that a program frees and asks for again, kept at hand by who stands between it and a
 * pool that is far away: what is given back to the program without asking the pool, and what is asked for beforehand.
 *
 * A pool keeps what was freed until the program waits, and gives it out again in the stream's order. So a block that
 * the program frees stays here instead, and is the program's again when it asks for as much in the same stream. Before
 * the program waits, or looks at memory, all that is here goes to the pool (reuse_pop), which then does what it does at
 * a wait. What went so in two periods, and had been used, is asked for together when the first of it is asked for again
 * (reuse_foresee): a period costs one question. Never is more held of a pool, the program's own included, than the
 * program has held of it at once: the pool's highest mark stays the program's.
 *
 * No lock of its own, no allocation. Sizes of blocks count in units of REUSE_UNIT_BYTES, as pools round them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define REUSE_UNIT_BYTES UINT64_C(512)
#define REUSE_BLOCKS 256u
#define REUSE_WISHES 256u
#define REUSE_POOLS 32u

/* What makes a block as good as another. The numbers are the caller's, but for `bytes`. */
struct reuse_kind {
	uint64_t device, pool;	  /* these two: which pool */
	uint64_t context, stream; /* what lies behind the free in this stream comes later on the device too */
	uint64_t bytes;
};

struct reuse_block {
	struct reuse_kind kind;
	uint64_t at;
	bool used; /* the program has had it */
};

/* Has been given to the pool, and may be asked for again. */
struct reuse_wish {
	struct reuse_kind kind;
	uint32_t periods; /* how many in succession; 0: no wish */
	bool met;	  /* in this period it was asked for */
};

/* Bytes of one pool. */
struct reuse_pool {
	uint64_t device, pool;
	uint64_t live, kept, asked; /* the program's; here; on their way from the pool */
	uint64_t high;		    /* the most that `live` was */
	bool doubted;		    /* what was asked for beforehand was in the way once: never again */
};

struct reuse {
	struct reuse_block blocks[REUSE_BLOCKS]; /* the oldest first */
	uint32_t count, coming;			 /* blocks; those on their way that are to lie here */
	struct reuse_wish wishes[REUSE_WISHES];
	uint32_t next_wish;
	struct reuse_pool pools[REUSE_POOLS];
	uint32_t pool_count;
};

/* The program frees it. True: it stays here; false: it goes to the pool. */
bool reuse_free(struct reuse *r, const struct reuse_kind *kind, uint64_t at);
/* The program's memory has gone to the pool in another way. */
void reuse_gone(struct reuse *r, const struct reuse_kind *kind);
/* The program asks. The address of what was freed last, or 0: the pool is to be asked. */
uint64_t reuse_take(struct reuse *r, const struct reuse_kind *kind);

/* The pool will be asked for the program's block; reuse_answered() follows. False: it cannot be kept account of. */
bool reuse_ask(struct reuse *r, const struct reuse_kind *kind);
void reuse_answered(struct reuse *r, const struct reuse_kind *kind, bool good);
/* What has to go to the pool meanwhile, lest more be held than ever: true while there is any. */
bool reuse_excess(struct reuse *r, const struct reuse_kind *kind, struct reuse_block *ret);
/* What is to be asked for too, after reuse_ask(): how many. For each, reuse_arrived() follows. */
unsigned int reuse_foresee(struct reuse *r, const struct reuse_kind *kind, struct reuse_kind *ret, unsigned int most);
/* `at`: 0: it was not granted. False: it does not stay here, and goes to the pool. */
bool reuse_arrived(struct reuse *r, const struct reuse_kind *kind, uint64_t at);

/* One that goes to the pool, the oldest; false: there is none. `looks`: because the program looks at memory. */
bool reuse_pop(struct reuse *r, bool looks, struct reuse_block *ret);
/* Whether the address is of a block that is here. */
bool reuse_has(const struct reuse *r, uint64_t at);
/* The pools' highest marks begin anew. */
void reuse_mark(struct reuse *r);
/* Everything is forgotten; what is on its way is not kept. */
void reuse_forget(struct reuse *r);
