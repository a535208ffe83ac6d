/*
 * ipc.h: plain memory that several processes share by hipIpc* handles. Its charge is an object of the grant
 * (core/sharing.h), until the last process releases it. A process that opens memory that was not exported under this
 * grant is charged for it, because the memory can outlive its owner's reference.
 */
#pragma once

#include "core/records.h"

#include <stdbool.h>

/* True if the memory is an object, or was opened: then ipc_let_go() follows the library's release. */
static inline bool ipc_is(const struct record *r)
{
	return r->kind == RECORD_IMPORTED || r->flags & RECORD_SHARED;
}

/* Drops the reference of a removed record. Outside the gate; asks meted. */
void ipc_let_go(const struct record *r);
