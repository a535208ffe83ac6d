/*
 * ranges.h: what lies at an address: device memory, pinned and registered host memory. Answers of pointer queries,
 * directions of copies, what may be copied without asking first.
 *
 * Device addresses are the workers'. A place of that address is reserved in this process before the program learns it,
 * so that nothing else can come to lie there: in pieces of RANGES_PIECE where possible, which stay reserved. The map is
 * under one lock; what is found is copied out of it.
 */
#pragma once

#include "cuda_table.h"
#include "remote/client/session.h"

#include <stdbool.h>
#include <stdint.h>

#define RANGES_PIECE (UINT64_C(32) << 20)

enum range_kind {
	RANGE_DEVICE, /* cuMemAlloc and the like: goes with its context */
	RANGE_POOL,
	RANGE_VARIABLE,	  /* of a module or library */
	RANGE_RESERVED,	  /* addresses without memory */
	RANGE_MAPPED,	  /* memory mapped there */
	RANGE_HOST,	  /* pinned, in the arena */
	RANGE_REGISTERED, /* the program's own */
	RANGE_ALIAS,	  /* the worker's address of pinned memory that lies elsewhere here */
};

struct range {
	uint64_t begin, bytes;
	enum range_kind kind;
	struct session *session;
	uint64_t context; /* handle, of the current context when it was made */
	CUdevice device;
	unsigned int flags; /* host memory: as given; mapped: access */
	uint64_t id;	    /* the buffer's */
	uint64_t owner;	    /* handle: of its pool, module; mapped: its struct physical; or 0 */
	/* Registered, with another address at the worker: where that lies in the arena. Mapped: the offset. */
	uint64_t copy;
	uint64_t other;	    /* pinned: the worker's address; alias: the address here */
	unsigned long long handle_types;
	bool sync_memops;
	bool wide;    /* mapped: others than its device may come there */
	bool managed; /* the program reaches it as well: unified.h */
};

/* Mapped, but not open to reading and writing: a call that touches it may be refused. */
static inline bool range_closed(const struct range *r)
{
	return r->kind == RANGE_MAPPED && r->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

/*
 * 0; -EEXIST: the place is taken, by something of this program or of another session: the worker is to be asked for
 * another one. -ENOMEM.
 */
int ranges_add(const struct range *range);
/* The one that contains the address. */
bool ranges_find(uint64_t address, struct range *ret);
/* The workers' addresses around it are kept in this process: it is no memory of the program, known or not. */
bool ranges_kept(uint64_t address);
/* The reserved addresses around it. */
bool ranges_find_reserved(uint64_t address, struct range *ret);
/* Takes out the one that begins there and is of one of these kinds (bits). */
bool ranges_take(uint64_t begin, unsigned int kinds, struct range *ret);
/* Whether all of it lies in memory of this session (mappings side by side are one); *ret: the first one. */
bool ranges_cover(uint64_t address, uint64_t bytes, struct range *ret);
/* All that was made in this context goes. Pinned memory of the arena is told to `host`. */
void ranges_drop_context(uint64_t context, void (*host)(const struct range *range));
/* All of this owner's go. */
void ranges_drop_owner(uint64_t owner);
/* Copies of all that are of this session, by their addresses. NULL without memory. The caller frees them. */
struct range *ranges_all(const struct session *session, size_t *ret_count);
/* False: nothing contains the address. */
bool ranges_set_sync(uint64_t address, bool sync);
/* Of mappings. `device`: that may come there, as the program calls it; else several, or another kind of place. */
void ranges_set_access(uint64_t address, uint64_t bytes, unsigned int flags, CUdevice device);
void ranges_forget(void);
