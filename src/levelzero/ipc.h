/* ipc.h: memory that several processes share by handles; the tenant is charged for it once. */
#pragma once

#include "core/records.h"
#include "levelzero/start.h"

/* Call when the process has released the memory of an exported or imported record. */
void ipc_let_go(const struct record *r);
/* Call after the driver has closed one opening of imported memory, with its removed record. */
void ipc_closed(ze_result_t r, struct record *record);
