/*
 * ranges.h: what is at an address: device memory, pinned and registered host memory. It answers pointer queries, and
 * decides directions of copies and what may be copied without a request first.
 *
 * Device addresses are the workers'. The same addresses are reserved in this process before the program learns them, so
 * that nothing else is placed there: in pieces of RANGES_PIECE where possible, which stay reserved. The map has one
 * lock; results are copied out of it.
 */
#pragma once

#include "cuda_table.h"
#include "remote/client/session.h"

#include <stdbool.h>
#include <stdint.h>

#define RANGES_PIECE (UINT64_C(32) << 20)

enum range_kind {
	RANGE_DEVICE, /* cuMemAlloc and similar: ends with its context */
	RANGE_POOL,
	RANGE_VARIABLE,	  /* of a module or library */
	RANGE_RESERVED,	  /* addresses without memory */
	RANGE_MAPPED,	  /* memory mapped there */
	RANGE_HOST,	  /* pinned, in the arena */
	RANGE_REGISTERED, /* memory of the program's own */
	RANGE_ALIAS,	  /* the worker's address of pinned memory whose address differs here */
};

struct range {
	uint64_t begin, bytes;
	enum range_kind kind;
	struct session *session;
	uint64_t context; /* handle of the context that was current at its creation */
	CUdevice device;
	unsigned int flags; /* host memory: as given; mapped: the access */
	uint64_t id;	    /* the buffer's */
	uint64_t owner;	    /* handle: of its pool, module; mapped: its struct physical; or 0 */
	/* Registered memory with another address at the worker: its offset in the arena. Mapped memory: the offset. */
	uint64_t copy;
	uint64_t other;	    /* pinned: the worker's address; alias: the address here */
	unsigned long long handle_types;
	bool sync_memops;
	bool wide;    /* mapped: others than its device may come there */
	bool managed; /* mapped: devices other than its own may access it */
};

/* Mapped, but not readable and writable: a call that accesses it may be refused. */
static inline bool range_closed(const struct range *r)
{
	return r->kind == RANGE_MAPPED && r->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

/*
 * Value: 0; -EEXIST: the place is occupied by something of this program or of another session, and the worker must be
 * asked for another one; -ENOMEM.
 */
int ranges_add(const struct range *range);
/* Finds the range that contains the address. */
bool ranges_find(uint64_t address, struct range *ret);
/*
 * True if this process reserves the address for a worker: it is not the program's own memory, whether a range is known
 * or not.
 */
bool ranges_kept(uint64_t address);
/* Finds the reserved addresses around it. */
bool ranges_find_reserved(uint64_t address, struct range *ret);
/* Removes the range that begins there, if it is of one of these kinds (bits). */
bool ranges_take(uint64_t begin, unsigned int kinds, struct range *ret);
/* True if all of it lies in memory of this session (adjacent mappings count as one); *ret: the first range. */
bool ranges_cover(uint64_t address, uint64_t bytes, struct range *ret);
/* Removes all ranges created in this context. Calls `host` for pinned memory of the arena. */
void ranges_drop_context(uint64_t context, void (*host)(const struct range *range));
/* Removes all ranges of this owner. */
void ranges_drop_owner(uint64_t owner);
/* Copies of all ranges of this session, ordered by address. NULL: no memory. The caller frees them. */
struct range *ranges_all(const struct session *session, size_t *ret_count);
/* False: no range contains the address. */
bool ranges_set_sync(uint64_t address, bool sync);
/*
 * For mappings. `device`: the program's ordinal of the device that gets access; otherwise several devices, or another
 * kind of location.
 */
void ranges_set_access(uint64_t address, uint64_t bytes, unsigned int flags, CUdevice device);
void ranges_forget(void);
