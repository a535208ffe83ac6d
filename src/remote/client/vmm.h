/*
 * vmm.h: physical memory of a session (cuMemCreate): what the program holds of it by a handle, and what by mappings.
 *
 * The program's references are counted here; the worker has one for as long as the handle is the program's.
 */
#pragma once

#include "cuda_table.h"
#include "remote/client/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct physical {
	struct physical *next;
	struct session *session;
	CUmemGenericAllocationHandle handle; /* 0: the program has none any more; mappings keep it */
	uint32_t references;		     /* the program's */
	uint32_t mappings;
	uint64_t bytes;
	unsigned long long flags;
	CUmemAllocationProp prop; /* as the program gave it */
};

/* As its worker is asked for it: nothing that other processes could open. */
CUmemAllocationProp physical_asked(const struct physical *p);
/* All of the session, the oldest first; they stand still while the gate is closed. NULL: no memory. */
struct physical **physical_all(const struct session *session, size_t *ret_count);
/* The worker's reference ends; the handle is not touched. */
CUresult physical_release(CUmemGenericAllocationHandle handle);
/* In the child of fork(). */
void physical_forget(void);
