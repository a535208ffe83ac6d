/*
 * ids.h: the objects of a session: which id stands for which handle of the driver, and what goes away with what.
 *
 * Ids come from the client (for what it creates) or are made here (for what the driver gave out by itself). A lookup
 * takes no lock: it is part of every request. All else locks. A slot is used again only with another id, so that an old
 * id is never taken for a new object.
 *
 * What is kept with an id may be in the hands of another thread when the id goes: it is told that it is gone when every
 * thread that was reading then (ids_read()) has come to its end.
 *
 * A thread that is about to wait in the driver with an object uses it (ids_use()): what ends the object waits for that
 * thread (ids_await()), or leaves the end to it (ids_later()).
 */
#pragma once

#include "remote/kind.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define IDS_CHUNK 1024u
#define IDS_CHUNKS 1024u /* of each of the two tables: a session has 2 x 1 M objects at most */

struct id_entry {
	_Atomic uint64_t id; /* 0: free. Release when the rest is there; acquire by lookups */
	_Atomic(void *) handle;
	uint64_t owner;			 /* id, or 0 */
	struct id_entry *parent;	 /* the owner's entry while it lives; this and the rest: under the lock */
	struct id_entry *child;		 /* the last one that it was made the owner of */
	struct id_entry *before, *after; /* the owner's other children */
	struct id_entry *same;		 /* next in the bucket of handles */
	struct id_entry *spare;		 /* next in the list of free slots */
	bool listed;			 /* is there: a client may want the id of a slot that is (ids_want()) */
	uint64_t generation;		 /* of ids made here: how often the slot was used */
	_Atomic(void *) kept;
	void (*gone)(void *data);
	_Atomic int32_t deferred; /* contexts: the first error of a call that nobody waited for */
	bool ranges;		  /* it owns some of ranges.h */
	_Atomic bool hidden;	  /* in no bucket, and found by nobody: see ids_hide() */
	_Atomic uint32_t users;	  /* also of what had the slot before: whoever uses that is not done */
	struct ids_await *awaits; /* ends that the users have to come to; under the lock */
};

/* What is done when nobody uses an object any more. */
struct ids_end {
	void (*run)(struct ids_end *end); /* which frees it */
	struct id_entry *owner;		  /* of the object; it is in use until then */
	uint32_t awaited;		  /* entries that are in use; under the lock */
};

/* A thread that looks at what is kept. */
struct ids_reader {
	struct ids_reader *next;
	_Atomic uint64_t since; /* how much had been retired when it began, and 1; 0: it looks at nothing */
};

struct ids_gone;

struct ids {
	pthread_mutex_t lock;				 /* for changes */
	_Atomic(struct id_entry *) chunk[2][IDS_CHUNKS]; /* [0]: the client's slots, [1]: the worker's */
	struct id_entry **bucket;			 /* by handle and kind */
	uint32_t buckets, count;
	struct id_entry *unused; /* slots of the worker's that were used; those with an id are not free any more */
	uint32_t next;		 /* the worker's first slot that was never used */
	struct ids_reader *readers;
	struct ids_gone *retired;	  /* kept data whose readers have not ended */
	_Atomic uint64_t epoch;		  /* how often something was retired, and 1 */
	_Atomic bool waits;		  /* there is something retired */
	pthread_cond_t left;		  /* somebody has left what others want to end */
	_Atomic uint32_t ends;		  /* ids_await() that wait, and ids_later() that are not done */
	uint64_t *wanted;		  /* ids of what is named next; ids_want() */
	uint32_t wanted_count, wanted_at; /* how many, and how many of them have been named */
	/* Told of each id that goes, before its kept data; without the lock. */
	void (*on_gone)(void *owner, uint64_t id, void *handle, bool ranges);
	void *owner;
};

int ids_init(struct ids *ids, void (*on_gone)(void *owner, uint64_t id, void *handle, bool ranges), void *owner);
void ids_deinit(struct ids *ids);

/* The entry of a live object of this kind, or NULL. KIND_FUNCTION finds kernels as well. None that is hidden. */
struct id_entry *ids_find(struct ids *ids, enum remote_kind kind, uint64_t id);
/* The same, hidden or not. */
struct id_entry *ids_look(struct ids *ids, enum remote_kind kind, uint64_t id);
/* 0; -EPROTO: malformed or taken; -ENOSPC; -ENOMEM. An owner that is not there (any more) is none. */
int ids_add(struct ids *ids, enum remote_kind kind, uint64_t id, void *handle, uint64_t owner);
/* Found, or made: 0 when there is no room. *ret_new says which. */
uint64_t ids_name(struct ids *ids, enum remote_kind kind, void *handle, uint64_t owner, bool *ret_new);
/* 0: no object that anybody may find has this handle. */
uint64_t ids_known(struct ids *ids, enum remote_kind kind, const void *handle);
/* What the object goes with; 0: nothing, or there is none. */
uint64_t ids_owner(struct ids *ids, uint64_t id);
/*
 * What is named next has these ids, in this order; from slot `next` on names are the worker's own. `behind`: after
 * those that are wanted already, not in their place. 0; -ENOMEM; -EPROTO: one is none of the worker's, or they are too
 * many.
 */
int ids_want(struct ids *ids, uint32_t next, const uint64_t *list, uint32_t count, bool behind);
/*
 * The driver is about to end the object and all that it owns: their handles name nothing from now on, for the driver
 * may give them to another thread's objects before it answers, and their ids find nothing. What they get meanwhile is
 * hidden as well. Until ids_remove(); or ids_show(), where the driver has refused. Other ids of the same handle go with
 * it from now on. False: it is hidden, or names nothing or another handle: a client may have given the id again to what
 * it made since the handle was found.
 */
bool ids_hide(struct ids *ids, uint64_t id, const void *handle);
void ids_show(struct ids *ids, uint64_t id);

/* An entry that was found is in use until ids_leave(), by this thread. Its object may be hidden already. */
void ids_use(struct id_entry *entry);
/* The same at a time at which other threads may hide and remove it. False: it is not there (any more). */
bool ids_use_found(struct ids *ids, struct id_entry *entry, uint64_t id);
void ids_leave(struct ids *ids, struct id_entry *entry);
/* Until nobody but this thread, which uses `own`, uses the object or what it owns. It is hidden. */
void ids_await(struct ids *ids, uint64_t id, struct id_entry *const *own, unsigned int count);
/*
 * Where somebody uses the object or what it owns: it goes from here, as by ids_remove(), and `end` is done by the last
 * one who leaves it. 1; 0: nobody does, and nothing was done; -ENOMEM.
 */
int ids_later(struct ids *ids, uint64_t id, struct ids_end *end);

/* The object goes with another one from now on. */
void ids_own(struct ids *ids, uint64_t id, uint64_t owner);
/* The object and all that it owns go. An id that is not there is no error. */
void ids_remove(struct ids *ids, uint64_t id);
void ids_keep(struct ids *ids, uint64_t id, void *data, void (*gone)(void *data));

void ids_reader_init(struct ids *ids, struct ids_reader *reader);
void ids_reader_deinit(struct ids *ids, struct ids_reader *reader);
/* From now on nothing goes that is kept with an id; several times. Before an id is looked up. */
void ids_read(struct ids *ids, struct ids_reader *reader);
/* What was found may be gone. */
void ids_read_end(struct ids *ids, struct ids_reader *reader);

static inline enum remote_kind ids_kind(uint64_t id)
{
	return (enum remote_kind)(id >> 56);
}
