/*
 * ipc.h: plain memory that several processes hold by hipIpc* handles. Its charge is an object of the grant
 * (core/sharing.h), and stays until the last of them lets go. Who opens what nobody has exported under this grant is
 * charged for it, because it can outlive its owner's hold.
 */
#pragma once

#include "core/records.h"

#include <stdbool.h>

/* The memory is an object, or was opened: ipc_let_go() ends the record after the library has let go. */
static inline bool ipc_is(const struct record *r)
{
	return r->kind == RECORD_IMPORTED || r->flags & RECORD_SHARED;
}

/* Outside the gate; asks meted. */
void ipc_let_go(const struct record *r);
