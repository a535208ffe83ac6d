/*
 * vmm.h: physical memory of a session (cuMemCreate): the program's references by its handle, and those by mappings.
 *
 * The program's references are counted here; the worker has one reference as long as the program has the handle.
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
	CUmemGenericAllocationHandle handle; /* 0: the program has released it; mappings keep the memory */
	uint32_t references;		     /* by the program */
	uint32_t mappings;
	uint64_t bytes;
	unsigned long long flags;
	CUmemAllocationProp prop; /* as given by the program */
};

/* The properties for the request to the worker: without handles that other processes could open. */
CUmemAllocationProp physical_asked(const struct physical *p);
/* An allocation as it is at a moment. What `it` points to stays only while the gate is closed. */
struct physical_seen {
	struct physical *it;
	uint64_t bytes;
	CUmemLocationType at;
};

/* All of the session, oldest first. NULL: no memory. */
struct physical_seen *physical_all(const struct session *session, size_t *ret_count);
/* Ends the worker's reference; the handle is not changed. */
CUresult physical_release(CUmemGenericAllocationHandle handle);
/* In the child of fork(). */
void physical_forget(void);
