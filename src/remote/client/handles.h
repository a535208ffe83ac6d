/*
 * handles.h: what the program holds in its hands: values that name objects of the workers.
 *
 * A handle says which session, kind, slot and how often the slot was used; it is looked up and never dereferenced, so
 * any wrong value is found out here. It is no canonical address, so that a program that dereferences one is told at
 * once. A lookup takes no lock: one load of the slot's present handle. Slots of ended objects are used again with the
 * next generation.
 */
#pragma once

#include "remote/kind.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HANDLES_CHUNK 1024u
#define HANDLES_CHUNKS 1024u /* 1 M objects of a session at most */
#define HANDLES_BUCKETS 8192u

struct object {
	_Atomic uint64_t handle; /* 0: free. Release when the rest is there; acquire by lookups */
	_Atomic uint64_t id;	 /* this and the context: believed when the handle is still the same afterwards */
	_Atomic(void *) kept;
	_Atomic uint32_t word; /* for whoever made it; 0 at first */
	void (*gone)(void *kept);
	/* The handle of the context that it belongs to, or 0: what is sent when no other fits. */
	_Atomic uint64_t context;
	struct deed *deeds; /* under the lock: what made and changed it; deeds.h */
	uint64_t *want;	    /* of graphs, under the lock: when deeds of others were done that need it */
	uint32_t wanted, want_room;
	_Atomic bool covered;		       /* a deed of its own, or of what it came with, makes it */
	uint32_t owner, first, next, previous; /* slots, 0: none; under the lock, as the rest */
	uint32_t chain;			       /* next with the same hash of an id of the worker's; or next free slot */
	uint32_t generation;
};

struct handles {
	pthread_mutex_t lock; /* for changes */
	unsigned int session;
	_Atomic(struct object *) chunk[HANDLES_CHUNKS];
	uint32_t used;			  /* slots that were ever used; slot 0 never is */
	uint32_t unused;		  /* first of the free ones, or 0 */
	uint32_t bucket[HANDLES_BUCKETS]; /* of objects that the worker named */
};

void handles_init(struct handles *h, unsigned int session);
/* Frees the slots; what is kept with objects is told that it goes. */
void handles_deinit(struct handles *h);
/* A new object. `id` 0: it is minted here, *ret_id names it. Value: the handle, or 0 without memory. */
uint64_t handles_add(struct handles *h, enum remote_kind kind, uint64_t owner, uint64_t id, uint64_t *ret_id);
/* The handle of an object that the worker named: found, or made when it is new. */
uint64_t handles_meet(struct handles *h, enum remote_kind kind, uint64_t owner, uint64_t id);
/* The object ends, with all that it owns. */
void handles_drop(struct handles *h, uint64_t handle);
/* What it owns ends; the object goes on and has another id from now on. */
void handles_renew(struct handles *h, uint64_t handle, uint64_t id);
/* What is kept with the object. False: it is no live object. */
bool handles_keep(struct handles *h, uint64_t handle, void *data, void (*gone)(void *kept));
struct deed;
/*
 * Takes the deed over. One that makes the object covers it; one that changes it leaves that as it is; one that cannot
 * be repeated, or NULL, ends that for good. False: it is no live object.
 */
bool handles_deed(struct handles *h, uint64_t handle, struct deed *take);
/* All of a list, which ends with `oldest`; they make the object. */
void handles_deeds(struct handles *h, uint64_t handle, struct deed *newest, struct deed *oldest);
/* A copy of what made the object of an id, or NULL. */
struct deed *handles_deed_copy(struct handles *h, uint64_t id);
/* The first id of a kind in the newest deed of the object that has any, or 0. */
uint64_t handles_deed_word(struct handles *h, uint64_t handle, enum remote_kind kind);
/* Whether an id names a live object. */
bool handles_names(struct handles *h, uint64_t id);
/* The handle of what it goes away with, or 0. */
uint64_t handles_owner(struct handles *h, uint64_t handle);
/* How many deeds of other objects name this one, which is a graph: it is needed to make those again. */
uint32_t handles_wanted(struct handles *h, uint64_t handle);
bool handles_covered(struct handles *h, uint64_t handle);
void handles_cover(struct handles *h, uint64_t handle);
/* Told of each live object; with the lock held. `fn` is to make no call of these. */
void handles_each(struct handles *h, void (*fn)(void *arg, uint64_t handle, const struct object *o), void *arg);
/* The object of a live handle of this session, of any kind, or NULL. */
struct object *handles_find(struct handles *h, uint64_t handle);

/* Which session a value names; it may be none that exists. -1: the value is no handle. */
int handle_session(uint64_t handle);
enum remote_kind handle_kind(uint64_t handle);
