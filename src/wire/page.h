/*
 * page.h: the page that a client and meted share, and the account word on it.
 *
 * Each client has one page, which meted creates and passes on as a descriptor: sealed memory, or a file in the
 * daemon's runtime directory (tmpfs), see src/daemon/tenants/page.h. Per device it has one 64-bit account word: the
 * upper half is what meted has granted to this client, the lower half what the client holds, both in units of
 * WIRE_UNIT_BYTES. Both sides change it by compare-and-swap. It is therefore consistent after a kill -9 of either side
 * at any instruction, and a restarted meted reads the valid account from it:
 *
 *   only meted changes `granted` (it raises it on RESERVE, and lowers it, never below `held`, when it recalls credit);
 *   only the client changes `held` (it raises it before it asks the driver, and lowers it after the driver has freed);
 *   credit = granted - held: what the client may take without asking.
 *   One exception: on SHARE meted lowers both halves by the same units and flips the word's top bit in the same
 *   compare-and-swap, so that a restarted meted can tell whether the charge has moved to the object.
 *
 * Other processes of the tenant may map the first WIRE_PEER_BYTES of it read-only: the tenant holds the sum of its
 * pages' `held` and of its objects (src/core/others.c).
 *
 * The page is an account between honest sides, not a barrier. meted keeps its own copy of `granted` and reports a page
 * whose upper half the client has written. The worker and the guard are the barriers against a tenant who cheats.
 */
#pragma once

#include "wire/turn.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define WIRE_UNIT_BYTES 512u
#define WIRE_MAX_UNITS 0x7fffffffu  /* of either half: just under 1 TiB a device */
#define WIRE_MOVED (1ull << 63)	    /* top bit of an account word: flips whenever meted moves held units to an object */
#define WIRE_PAGE_MAGIC 0x6574656du /* "mete" */
/*
 * The layout of the page. It changes only together with WIRE_VERSION (message.h), and for a client of the previous
 * version meted creates a page with that version's layout. A page of another layout is refused before its contents are
 * used: by the client when it comes with a WELCOME, by meted when it finds it, and before an upgrade takes place.
 */
#ifndef WIRE_PAGE_VERSION /* a test builds a meted that makes others */
#define WIRE_PAGE_VERSION 2u
#endif
#define WIRE_MAX_DEVICES 16u
#define WIRE_MAX_OBJECTS 1024u
#define WIRE_KEY_BYTES 32u

/* One device of the grant in one client's page. */
struct wire_account {
	_Atomic uint64_t word;	      /* moved bit, granted << 32, held, in units; changed by both sides with
				       * compare-and-swap */
	_Atomic uint64_t peak_units;  /* the maximum that this client has held; written by the client */
	_Atomic uint64_t quota_bytes; /* the tenant's current quota; written by meted */
	/*
	 * Counts the client's reservations of unknown size (WIRE_RESERVE_ALL): raised before the request is sent,
	 * lowered when `held` contains what the driver took. While it is above the number of requests that await their
	 * answer, meted recalls no credit from this client, and other clients of the tenant that find no room wait
	 * instead of failing.
	 */
	_Atomic uint32_t measuring;
	_Atomic uint32_t tight; /* 1: held is above the quota: every allocation needs a request; written by meted */
	/*
	 * What the tenant holds besides this client's `word`, so that the client need not ask. Written by meted, which
	 * raises others_serial before and after. Odd or 0: not valid now; ask meted. The words of other processes have
	 * what they hold (WIRE_PEER).
	 */
	_Atomic uint32_t others_serial;
	_Atomic uint32_t others_crew;  /* changes whenever a process of the tenant comes or goes */
	_Atomic uint32_t others_count; /* number of the tenant's other processes */
	_Atomic uint32_t object_units; /* of its shared objects */
	/*
	 * Memory that moves (docs/memory.md). A client of an older release leaves `place` at 0: it cannot be asked. An
	 * older meted leaves `wish` at 0: it never asks. Memory that is away is in neither half of `word`.
	 */
	_Atomic uint32_t wish;		/* enum wire_wish; a futex; written by meted */
	_Atomic uint32_t place;		/* enum wire_place; written by the client, as are the next two */
	_Atomic uint32_t away_units;	/* in the host's memory: raised before `held` falls, lowered after `held` has
					 * risen */
	_Atomic uint32_t movable_units; /* the part of `held` that can leave */
};

/* wire_account.wish. */
enum wire_wish {
	WIRE_LEAVE = 1 << 0,	   /* the memory must leave the device or stay away; otherwise it may be there */
	WIRE_WISH_SERIAL = 1 << 1, /* a serial of 15 bits from here, different in each wish */
	WIRE_DRAIN_SHIFT = 16,	   /* above: the time limit for work in flight, in units of WIRE_DRAIN_NS */
};

#define WIRE_WISH_SERIALS 0x7fffu
#define WIRE_DRAIN_NS 10000000ull

/* wire_account.place. */
enum wire_place {
	WIRE_RESIDENT,
	WIRE_LEAVING,
	WIRE_AWAY,
	WIRE_RETURNING,
	WIRE_PLACE_STATE = 3,	      /* mask of the above */
	WIRE_PLACE_MOVES = 1 << 2,    /* the client can be asked */
	WIRE_PLACE_WAITED = 1 << 3,   /* a thread of the program waits for the memory to return */
	WIRE_PLACE_USED = 1 << 4,     /* the program has called the driver recently, or waits in it */
	WIRE_PLACE_REASON_SHIFT = 5,  /* enum wire_stay, 3 bits: why the last wish was not fulfilled */
	WIRE_PLACE_PERCENT_SHIFT = 8, /* progress, 7 bits */
	WIRE_PLACE_DISK = 1 << 15,    /* memory that is away is in the file from meted (WIRE_STORE), or goes there */
	WIRE_PLACE_SERIAL_SHIFT = 16, /* the serial of the wish that this answers, 15 bits */
	WIRE_PLACE_STORES = 1u << 31, /* the client asks where its memory goes (WIRE_STORE) */
};

/* Why memory stays. */
enum wire_stay {
	WIRE_STAY_NOT,
	WIRE_STAY_CALL,	   /* a call of the program did not return in time */
	WIRE_STAY_WORK,	   /* its work did not complete in time */
	WIRE_STAY_CAPTURE, /* a stream was in capture for the whole time */
	WIRE_STAY_FAULT,   /* a context has failed */
	WIRE_STAY_HOST,	   /* the host has no memory for it */
	WIRE_STAY_DEVICE,  /* the device has no room for it */
	WIRE_STAY_DISK,	   /* the disk answers an error, or gives back other bytes than it was given */
};

static inline enum wire_place wire_place_state(uint32_t place)
{
	return (enum wire_place)(place & WIRE_PLACE_STATE);
}

static inline enum wire_stay wire_place_reason(uint32_t place)
{
	return (enum wire_stay)(place >> WIRE_PLACE_REASON_SHIFT & 7);
}

static inline uint32_t wire_place_percent(uint32_t place)
{
	return place >> WIRE_PLACE_PERCENT_SHIFT & 127;
}

static inline uint32_t wire_place_serial(uint32_t place)
{
	return place >> WIRE_PLACE_SERIAL_SHIFT & WIRE_WISH_SERIALS;
}

static inline uint32_t wire_wish_serial(uint32_t wish)
{
	return wish / WIRE_WISH_SERIAL & WIRE_WISH_SERIALS;
}

/*
 * Device memory that several processes can hold (an exported allocation). It is charged to the grant, not to a client's
 * account word, until the last client that references it drops it. Written only by meted.
 */
struct wire_object {
	uint8_t key[WIRE_KEY_BYTES];
	uint32_t device;	/* index into wire_page.account, and during a SHARE enum wire_object_flags */
	_Atomic uint32_t units; /* 0: the entry is free; written last when an entry is filled, first when it is freed */
};

enum wire_object_flags {
	WIRE_OBJECT_DEVICE = 0xff,    /* mask */
	WIRE_OBJECT_MOVING = 1 << 30, /* the units may still be in the account word */
	WIRE_OBJECT_MOVED = 1u << 31, /* with MOVING: the word's top bit after the units have left it */
};

struct wire_page {
	uint32_t magic; /* written last: a file without it is a page without a client */
	uint32_t version;
	uint32_t device_count;
	int32_t pid;	     /* in meted's pid namespace */
	uint64_t start_time; /* of the process, field 22 of /proc/PID/stat: pid and start time identify a process */
	uint64_t grant_id;
	char command[20];
	uint32_t object_places; /* number of entries of object[] ever used */
	uint64_t image;		/* wire_hello.image */
	struct wire_account account[WIRE_MAX_DEVICES];
	struct wire_object object[WIRE_MAX_OBJECTS];
	struct wire_turn turn[WIRE_MAX_DEVICES][WIRE_ENGINES];
	struct wire_trace trace;
};

static inline uint32_t wire_granted(uint64_t word)
{
	return (uint32_t)(word >> 32) & WIRE_MAX_UNITS;
}

static inline uint32_t wire_held(uint64_t word)
{
	return (uint32_t)word;
}

static inline uint64_t wire_word(uint32_t granted, uint32_t held)
{
	return (uint64_t)granted << 32 | held;
}

/* Converts bytes to units, rounded up. */
static inline uint64_t wire_units(uint64_t bytes)
{
	return bytes / WIRE_UNIT_BYTES + !!(bytes % WIRE_UNIT_BYTES);
}

/*
 * The client takes `units` from its credit. False: not enough credit, nothing changed.
 * Acquire: pairs with the release in wire_grant() of meted.
 */
static inline bool wire_take(struct wire_account *a, uint32_t units)
{
	uint64_t word = atomic_load_explicit(&a->word, memory_order_relaxed);

	do {
		if (wire_granted(word) - wire_held(word) < units || wire_held(word) > wire_granted(word))
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&a->word, &word, word + units, memory_order_acquire,
							memory_order_relaxed));
	return true;
}

/* The client returns `units` to its credit. Release: pairs with the acquire in wire_recall() of meted. */
static inline void wire_give(struct wire_account *a, uint32_t units)
{
	atomic_fetch_sub_explicit(&a->word, units, memory_order_release);
}

/* meted raises the client's grant by `units`. Value: the word after it. */
static inline uint64_t wire_grant(struct wire_account *a, uint32_t units)
{
	uint64_t add = (uint64_t)units << 32;

	return atomic_fetch_add_explicit(&a->word, add, memory_order_release) + add;
}

/* meted takes back up to `most` units of credit. Value: the units taken. */
static inline uint32_t wire_recall(struct wire_account *a, uint32_t most)
{
	uint64_t word = atomic_load_explicit(&a->word, memory_order_relaxed);
	uint32_t units;

	do {
		if (wire_held(word) >= wire_granted(word))
			return 0;
		units = wire_granted(word) - wire_held(word);
		if (units > most)
			units = most;
	} while (!atomic_compare_exchange_weak_explicit(&a->word, &word, word - ((uint64_t)units << 32),
							memory_order_acquire, memory_order_relaxed));
	return units;
}

/*
 * meted moves `units` that the client holds from its account to an object. False: it holds fewer. The word's top bit
 * flips in the same step.
 */
static inline bool wire_move(struct wire_account *a, uint32_t units)
{
	uint64_t word = atomic_load_explicit(&a->word, memory_order_relaxed);

	do {
		if (wire_held(word) < units || wire_granted(word) < units)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&a->word, &word, (word - wire_word(units, units)) ^ WIRE_MOVED,
							memory_order_acq_rel, memory_order_relaxed));
	return true;
}
