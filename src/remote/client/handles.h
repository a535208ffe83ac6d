/*
 * handles.h: the handles that the program has: values that name objects of the workers.
 *
 * A handle contains the session, the kind, the slot and the slot's generation. It is looked up and never dereferenced,
 * so any wrong value is detected. It is not a canonical address, so a program that dereferences it faults at once. A
 * lookup takes no lock: it loads the slot's current handle. Slots of ended objects are reused with the next generation.
 */
#pragma once

#include "remote/kind.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HANDLES_CHUNK 1024u
#define HANDLES_CHUNKS 1024u /* at most 1 M objects per session */
#define HANDLES_BUCKETS 8192u

struct object {
	_Atomic uint64_t handle; /* 0: free. Written with release order when the rest is complete; lookups load it
				  * with acquire order */
	_Atomic uint64_t id;	 /* this and `context` are valid if the handle is unchanged after they were read */
	_Atomic(void *) kept;
	_Atomic uint32_t word; /* for the file that created the object; 0 at first */
	void (*gone)(void *kept);
	/* The handle of its context, or 0: sent if no other context fits. */
	_Atomic uint64_t context;
	struct deed *deeds; /* under the lock: the requests that created and changed it; deeds.h */
	uint64_t *want;	    /* of graphs, under the lock: the numbers of other objects' deeds that need it */
	uint32_t wanted, want_room;
	_Atomic bool covered;		       /* its own deed, or that of the object it came with, creates it */
	uint32_t owner, first, next, previous; /* slots, 0: none; these and the rest are under the lock */
	uint32_t chain;			       /* the next slot with the same hash of an id that the worker chose; or
						* the next free slot */
	uint32_t generation;
};

struct handles {
	pthread_mutex_t lock; /* for changes */
	unsigned int session;
	_Atomic(struct object *) chunk[HANDLES_CHUNKS];
	uint32_t used;			  /* number of slots ever used; slot 0 never is */
	uint32_t unused;		  /* the first free slot, or 0 */
	uint32_t bucket[HANDLES_BUCKETS]; /* of objects that the worker named */
};

void handles_init(struct handles *h, unsigned int session);
/* Frees the slots; calls `gone` for data kept with objects. */
void handles_deinit(struct handles *h);
/* Adds an object. `id` 0: the id is minted here and returned in *ret_id. Value: the handle; 0: no memory. */
uint64_t handles_add(struct handles *h, enum remote_kind kind, uint64_t owner, uint64_t id, uint64_t *ret_id);
/* The handle of an object that the worker named; created if it is new. */
uint64_t handles_meet(struct handles *h, enum remote_kind kind, uint64_t owner, uint64_t id);
/* Ends the object, and all that it owns. */
void handles_drop(struct handles *h, uint64_t handle);
/* Ends what the object owns; the object continues under another id. */
void handles_renew(struct handles *h, uint64_t handle, uint64_t id);
/* Keeps data with the object. False: it is not a live object. */
bool handles_keep(struct handles *h, uint64_t handle, void *data, void (*gone)(void *kept));
struct deed;
/*
 * Takes over the deed. One that creates the object marks it as covered; one that changes it leaves the mark; one that
 * cannot be repeated, or NULL, clears the mark for good. False: it is not a live object.
 */
bool handles_deed(struct handles *h, uint64_t handle, struct deed *take);
/* Adds a list of deeds, which ends with `oldest`; they create the object. */
void handles_deeds(struct handles *h, uint64_t handle, struct deed *newest, struct deed *oldest);
/* A copy of the deed that created the object of an id, or NULL. */
struct deed *handles_deed_copy(struct handles *h, uint64_t id);
/* The first id of a kind in the object's newest deed that has any, or 0. */
uint64_t handles_deed_word(struct handles *h, uint64_t handle, enum remote_kind kind);
/* True if the id names a live object. */
bool handles_names(struct handles *h, uint64_t id);
/* The handle of its owner, or 0. */
uint64_t handles_owner(struct handles *h, uint64_t handle);
/* The number of other objects' deeds that name this graph, which is needed to repeat them. */
uint32_t handles_wanted(struct handles *h, uint64_t handle);
bool handles_covered(struct handles *h, uint64_t handle);
void handles_cover(struct handles *h, uint64_t handle);
/* Calls `fn` for each live object, with the lock held. `fn` must not call these functions. */
void handles_each(struct handles *h, void (*fn)(void *arg, uint64_t handle, const struct object *o), void *arg);
/* The object of a live handle of this session, of any kind, or NULL. */
struct object *handles_find(struct handles *h, uint64_t handle);

/* The session that a value names, which need not exist. -1: the value is not a handle. */
int handle_session(uint64_t handle);
enum remote_kind handle_kind(uint64_t handle);
