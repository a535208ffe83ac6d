/*
 * pieces.h: the pieces that movable memory is made of: each of one handle of the driver's. What movable.c gives to the
 * program in blocks lies in pieces with addresses of their own. Memory that the program makes and maps itself (vmm.c)
 * is a piece each, mapped where the program says.
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

struct piece {
	CUdeviceptr at;
	uint64_t bytes; /* 0: a free place */
	CUmemGenericAllocationHandle handle;
	CUdevice real;
	unsigned int device;
	bool packed;
	bool resident;
	bool whole;	     /* not packed: the block is there */
	uint64_t emptied_ns; /* not packed: since when it is not */
	struct pack pack;
	void *host;		/* while it is away, and on its way; else NULL */
	struct stash_part part; /* where it is away and `host` is NULL: on the disk */
	/* Of what the program has made itself: */
	bool own;		  /* `at` is ours, for a copy, and else 0 */
	uint32_t fixed;		  /* above 0: it does not leave, for others have it as well */
	uint64_t id;		  /* vmm.c's */
	unsigned long long flags; /* what it was made with, as `prop` */
	CUmemAllocationProp prop;
};

extern pthread_mutex_t pieces_lock; /* guards the table */
extern struct piece pieces[PIECES];
extern uint32_t piece_count; /* places that have ever been used are below */

/* Of all packed pieces; the lock is held, or nobody else is inside the door. */
uint64_t pieces_packed_bytes(void);
uint32_t piece_units(const struct piece *p);
/* What can leave, for meted to see. */
void pieces_publish(unsigned int device);
/* More are away, or less (a difference modulo 2^32). */
void pieces_away(unsigned int device, uint32_t units);

/* The least size of the driver's handles; 0: it does not say. */
uint64_t pieces_granularity(CUdevice real);
/* Memory for the piece, at its addresses. Inside the gate, charged. */
CUresult piece_back(struct piece *p);
void piece_unback(struct piece *p);
/* Addresses of ours for a piece of the program's own that is resident, so that it can be copied; and their end. */
CUresult piece_show(struct piece *p);
void piece_hide(struct piece *p);

/* A new piece with addresses of its own, charged and resident. */
CUresult piece_new(unsigned int device, CUdevice real, uint64_t bytes, bool packed, uint32_t *ret_place);
/* A block or more could be in it, and none is. */
bool piece_is_empty(const struct piece *p);
bool piece_host_new(struct piece *p);
void piece_host_free(struct piece *p);
/* In the child of fork(). */
void pieces_reset(void);
