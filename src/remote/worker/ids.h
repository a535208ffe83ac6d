/*
 * ids.h: the objects of a session: the driver's handle for each id, and which objects end together.
 *
 * Ids come from the client (for what it creates) or are chosen here (for what the driver returned on its own). A lookup
 * takes no lock, because it is part of every request; everything else locks. A slot is reused only with another id, so
 * that an old id never names a new object.
 *
 * Another thread may be using the data kept with an id when the id is removed: `gone` is called only when every thread
 * that was reading then (ids_read()) has finished.
 *
 * A thread that is about to wait in the driver with an object uses it (ids_use()): a request that ends the object waits
 * for that thread (ids_await()), or leaves the end to it (ids_later()).
 */
#pragma once

#include "remote/kind.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define IDS_CHUNK 1024u
#define IDS_CHUNKS 1024u /* of each of the two tables: at most 2 x 1 M objects per session */

struct id_entry {
	_Atomic uint64_t id; /* 0: free. Written with release order when the rest is complete; lookups load it with
			      * acquire order */
	_Atomic(void *) handle;
	uint64_t owner;			 /* id, or 0 */
	struct id_entry *parent;	 /* the owner's entry while it exists; this and the rest: under the lock */
	struct id_entry *child;		 /* the child that was added last */
	struct id_entry *before, *after; /* the owner's other children */
	struct id_entry *same;		 /* the next in the bucket of handles */
	struct id_entry *spare;		 /* the next in the list of free slots */
	bool listed;			 /* it is in that list: a client may request the id of a free slot
					  * (ids_want()) */
	uint64_t generation;		 /* of ids chosen here: how often the slot was used */
	_Atomic(void *) kept;
	void (*gone)(void *data);
	_Atomic int32_t deferred; /* contexts: the first error of a call without an answer */
	bool ranges;		  /* it owns ranges of ranges.h */
	_Atomic bool hidden;	  /* in no bucket, and not found by lookups: see ids_hide() */
	_Atomic uint32_t users;	  /* includes users of the slot's previous object, which have not left yet */
	struct ids_await *awaits; /* pending ends that wait for the users; under the lock */
};

/* The end of an object, run when no thread uses it any more. */
struct ids_end {
	void (*run)(struct ids_end *end); /* frees `end` */
	struct id_entry *owner;		  /* of the object; in use until then */
	uint32_t awaited;		  /* number of entries in use; under the lock */
};

/* A thread that reads kept data. */
struct ids_reader {
	struct ids_reader *next;
	_Atomic uint64_t since; /* 1 + the number of retired items when it began; 0: it does not read */
};

struct ids_gone;

struct ids {
	pthread_mutex_t lock;				 /* for changes */
	_Atomic(struct id_entry *) chunk[2][IDS_CHUNKS]; /* [0]: the client's slots, [1]: the worker's */
	struct id_entry **bucket;			 /* by handle and kind */
	uint32_t buckets, count;
	struct id_entry *unused; /* used slots of the worker; an entry with an id is not free any more */
	uint32_t next;		 /* the worker's first slot never used */
	struct ids_reader *readers;
	struct ids_gone *retired;	  /* kept data whose readers have not ended */
	_Atomic uint64_t epoch;		  /* 1 + the number of retirements */
	_Atomic bool waits;		  /* there is retired data */
	pthread_cond_t left;		  /* signalled when a user has left an object that is to end */
	_Atomic uint32_t ends;		  /* waiting ids_await(), and ids_later() not completed */
	uint64_t *wanted;		  /* ids for the objects named next; ids_want() */
	uint32_t wanted_count, wanted_at; /* their number, and the number already used */
	/* Called for each id that is removed, before its kept data; without the lock. */
	void (*on_gone)(void *owner, uint64_t id, void *handle, bool ranges);
	void *owner;
};

int ids_init(struct ids *ids, void (*on_gone)(void *owner, uint64_t id, void *handle, bool ranges), void *owner);
void ids_deinit(struct ids *ids);

/* The entry of a live object of this kind, or NULL. KIND_FUNCTION also finds kernels. Does not find hidden entries. */
struct id_entry *ids_find(struct ids *ids, enum remote_kind kind, uint64_t id);
/* The same, hidden or not. */
struct id_entry *ids_look(struct ids *ids, enum remote_kind kind, uint64_t id);
/* Value: 0; -EPROTO: malformed or in use; -ENOSPC; -ENOMEM. An owner that does not exist (any more) counts as none. */
int ids_add(struct ids *ids, enum remote_kind kind, uint64_t id, void *handle, uint64_t owner);
/* Finds or creates the id of a handle; 0: there is no room. *ret_new says which. */
uint64_t ids_name(struct ids *ids, enum remote_kind kind, void *handle, uint64_t owner, bool *ret_new);
/* 0: no visible object has this handle. */
uint64_t ids_known(struct ids *ids, enum remote_kind kind, const void *handle);
/* The owner of the object; 0: none, or there is no such object. */
uint64_t ids_owner(struct ids *ids, uint64_t id);
/*
 * Sets the ids for the objects named next, in this order; from slot `next` on the worker chooses ids itself. `behind`:
 * appends to the pending ids instead of replacing them. Value: 0; -ENOMEM; -EPROTO: one is not an id of the worker, or
 * there are too many.
 */
int ids_want(struct ids *ids, uint32_t next, const uint64_t *list, uint32_t count, bool behind);
/*
 * Hides the object and all that it owns before the driver ends it: their handles name nothing from now on, because the
 * driver may give them to another thread's objects before it returns, and their ids find nothing. What they get
 * meanwhile is hidden as well. Lasts until ids_remove(), or ids_show() if the driver refuses. Other ids of the same
 * handle are hidden with it. False: it is hidden already, or names nothing or another handle: a client may have reused
 * the id since the handle was found.
 */
bool ids_hide(struct ids *ids, uint64_t id, const void *handle);
void ids_show(struct ids *ids, uint64_t id);

/* Marks a found entry as used by this thread until ids_leave(). Its object may be hidden already. */
void ids_use(struct id_entry *entry);
/* The same while other threads may hide and remove it. False: it does not exist (any more). */
bool ids_use_found(struct ids *ids, struct id_entry *entry, uint64_t id);
void ids_leave(struct ids *ids, struct id_entry *entry);
/* Waits until no thread but this one, which uses `own`, uses the hidden object or what it owns. */
void ids_await(struct ids *ids, uint64_t id, struct id_entry *const *own, unsigned int count);
/*
 * If a thread uses the object or what it owns: removes it as ids_remove() does, and the last user runs `end`. Value: 1;
 * 0: no thread does, and nothing was done; -ENOMEM.
 */
int ids_later(struct ids *ids, uint64_t id, struct ids_end *end);

/* Changes the owner of the object. */
void ids_own(struct ids *ids, uint64_t id, uint64_t owner);
/* Removes the object and all that it owns. An unknown id is no error. */
void ids_remove(struct ids *ids, uint64_t id);
void ids_keep(struct ids *ids, uint64_t id, void *data, void (*gone)(void *data));

void ids_reader_init(struct ids *ids, struct ids_reader *reader);
void ids_reader_deinit(struct ids *ids, struct ids_reader *reader);
/* Keeps all data of ids alive from now on; may be repeated. Must precede the lookup of an id. */
void ids_read(struct ids *ids, struct ids_reader *reader);
/* Ends that: what was found may be freed. */
void ids_read_end(struct ids *ids, struct ids_reader *reader);

static inline enum remote_kind ids_kind(uint64_t id)
{
	return (enum remote_kind)(id >> 56);
}
