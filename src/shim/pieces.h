/*
 * pieces.h: the pieces of movable memory: each of one handle of the driver, or of several where it has grown. The
 * blocks that movable.c gives to the program lie in pieces with addresses of their own. Memory that the program creates
 * and maps itself (vmm.c) is a piece each, mapped at the program's addresses.
 */
#pragma once

#include "core/charge.h"
#include "core/pack.h"
#include "cuda_table.h"
#include "shim/stash.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define PIECES 16384u
#define PIECE_PARTS 31u
#define PACKED_ROOM_BYTES (64ull << 20) /* the addresses of a packed piece, which grows within them */
#define LARGE_ROOM_BYTES (256ull << 20) /* of one that large blocks share: most that a packed piece has */

/* By which a packed piece has grown: a handle of its own behind those before it, until the piece leaves. */
struct piece_part {
	CUmemGenericAllocationHandle handle;
	uint64_t bytes;
};

struct piece {
	CUdeviceptr at;
	uint64_t bytes; /* its present size; 0: a free entry */
	uint64_t room;	/* packed: the size of its reserved address range */
	CUmemGenericAllocationHandle handle;
	struct piece_part *parts; /* packed: PIECE_PARTS of them */
	uint32_t part_count;
	bool grows; /* packed: a thread makes a part for it */
	CUdevice real;
	unsigned int device;
	bool packed;
	bool resident;
	bool whole;	     /* not packed: the block exists */
	uint64_t emptied_ns; /* since when no block exists in it */
	struct pack pack;
	void *host;		/* while it is away or moving; otherwise NULL */
	struct stash_part part; /* if it is away and `host` is NULL: its place on the disk */
	/* Of memory that the program has created itself: */
	bool own;		  /* `at` is an address of this file's for a copy, otherwise 0 */
	uint32_t fixed;		  /* above 0: it does not leave, because others have it as well */
	uint64_t id;		  /* assigned by vmm.c */
	unsigned long long flags; /* as given at its creation; so is `prop` */
	CUmemAllocationProp prop;
};

extern pthread_mutex_t pieces_lock; /* guards the table */
extern struct piece pieces[PIECES];
extern uint32_t piece_count; /* number of entries ever used */

/* Of all packed pieces; the lock must be held, or no other thread is inside the door. */
uint64_t pieces_packed_bytes(void);
/* The size of a packed piece that was trimmed a moment ago: a program that allocates anew in each step needs it again.
 */
uint64_t pieces_ended_bytes(void);
uint32_t piece_units(const struct piece *p);
/* Publishes on the page what can leave. */
void pieces_publish(unsigned int device);
/* Adds to the units that are away (a difference modulo 2^32). */
void pieces_away(unsigned int device, uint32_t units);

/* The minimum size of the driver's handles; 0: not known. */
uint64_t pieces_granularity(CUdevice real);
/* Backs the piece's addresses with memory. Inside the gate, charged. */
CUresult piece_back(struct piece *p);
void piece_unback(struct piece *p);
/* Maps a resident piece of the program's own at an address for copies; unmaps it. */
CUresult piece_show(struct piece *p);
void piece_hide(struct piece *p);

/*
 * Creates a piece with addresses of its own, charged and resident. `room`: the size to which a packed piece may grow;
 * 0: a piece for one block.
 */
CUresult piece_new(unsigned int device, CUdevice real, uint64_t bytes, uint64_t room, uint32_t *ret_place);
/*
 * Finds a packed piece that can grow so that a block of `bytes` fits at its end. *ret_must, *ret_most: by how many
 * bytes it must grow, and can. Value: PIECES: there is none. piece_grow() follows.
 */
uint32_t piece_to_grow(unsigned int device, uint64_t bytes, uint64_t least, uint64_t *ret_must, uint64_t *ret_most);
/* Grows the piece, or (`bytes` 0) releases it without growing. */
CUresult piece_grow(uint32_t place, uint64_t bytes);
/* Frees grown parts that no block uses. Value: something was freed. */
bool pieces_drop_tails(void);
/* True if it can contain blocks and contains none. */
bool piece_is_empty(const struct piece *p);
bool piece_host_new(struct piece *p);
void piece_host_free(struct piece *p);
/* In the child of fork(). */
void pieces_reset(void);
