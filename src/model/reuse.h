/*
 * reuse.h: a cache of stream-ordered memory between a program and a distant pool: which freed blocks the program gets
 * again without a request to the pool, and which blocks are requested in advance.
 *
 * A pool keeps freed memory until the program waits, and reuses it in stream order. A block that the program frees
 * therefore stays in the cache, and is reused when the program asks for the same size in the same stream. Before the
 * program waits or looks at memory, all cached blocks go to the pool (reuse_pop), which handles the wait. Blocks that
 * went to the pool in two successive periods, and had been used, are requested together when the first of them is
 * requested again (reuse_foresee), so that a period costs one request. The cache and the program together never hold
 * more of a pool than the program alone has held at once, so the pool's highest mark is the program's.
 *
 * It has no lock and allocates nothing. Block sizes count in units of REUSE_UNIT_BYTES, as pools round them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define REUSE_UNIT_BYTES UINT64_C(512)
#define REUSE_BLOCKS 256u
#define REUSE_WISHES 256u
#define REUSE_POOLS 32u

/* The properties that make two blocks interchangeable. The numbers are the caller's, except for `bytes`. */
struct reuse_kind {
	uint64_t device, pool;	  /* these two: which pool */
	uint64_t context, stream; /* what lies behind the free in this stream comes later on the device too */
	uint64_t bytes;
};

struct reuse_block {
	struct reuse_kind kind;
	uint64_t at;
	bool used; /* the program has used it */
};

/* A block that went to the pool and may be requested again. */
struct reuse_wish {
	struct reuse_kind kind;
	uint32_t periods; /* how many in succession; 0: no wish */
	bool met;	  /* it was requested in this period */
};

/* Bytes of one pool. */
struct reuse_pool {
	uint64_t device, pool;
	uint64_t live, kept, asked; /* held by the program; in the cache; on their way from the pool */
	uint64_t high;		    /* the most that `live` was */
	bool doubted;		    /* advance requests were in the way once, so there are none any more */
};

struct reuse {
	struct reuse_block blocks[REUSE_BLOCKS]; /* the oldest first */
	uint32_t count, coming;			 /* blocks; those on their way to the cache */
	struct reuse_wish wishes[REUSE_WISHES];
	uint32_t next_wish;
	struct reuse_pool pools[REUSE_POOLS];
	uint32_t pool_count;
};

/* The program frees a block. True: it stays in the cache; false: it goes to the pool. */
bool reuse_free(struct reuse *r, const struct reuse_kind *kind, uint64_t at);
/* The program's memory has gone to the pool in another way. */
void reuse_gone(struct reuse *r, const struct reuse_kind *kind);
/* The program requests a block. Returns the address of the last matching free, or 0: ask the pool. */
uint64_t reuse_take(struct reuse *r, const struct reuse_kind *kind);

/*
 * The pool will be asked for the program's block; call reuse_answered() afterwards. False: the block cannot be
 * accounted for.
 */
bool reuse_ask(struct reuse *r, const struct reuse_kind *kind);
void reuse_answered(struct reuse *r, const struct reuse_kind *kind, bool good);
/*
 * Returns a block that must go to the pool meanwhile so that no more is held than ever before; true while there is one.
 */
bool reuse_excess(struct reuse *r, const struct reuse_kind *kind, struct reuse_block *ret);
/* Returns the blocks to request in advance, after reuse_ask(), and their number. Call reuse_arrived() for each. */
unsigned int reuse_foresee(struct reuse *r, const struct reuse_kind *kind, struct reuse_kind *ret, unsigned int most);
/* A block requested in advance has arrived; `at` 0: refused. False: it does not stay here and goes to the pool. */
bool reuse_arrived(struct reuse *r, const struct reuse_kind *kind, uint64_t at);

/*
 * Returns the oldest block, which goes to the pool; false: there is none. `looks`: because the program looks at memory.
 */
bool reuse_pop(struct reuse *r, bool looks, struct reuse_block *ret);
/* True if the address is in a cached block. */
bool reuse_has(const struct reuse *r, uint64_t at);
/* Resets the pools' highest marks. */
void reuse_mark(struct reuse *r);
/* Forgets everything; blocks on their way are not kept. */
void reuse_forget(struct reuse *r);
