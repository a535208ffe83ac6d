/* ipc.h: memory that several processes have open by handles: the grant's tenant is charged for it once. */
#pragma once

#include "core/records.h"
#include "levelzero/start.h"

/* The memory of an exported or imported record is gone from this process. */
void ipc_let_go(const struct record *r);
/* After the driver's call that closes what the imported record, which was taken out, is of: one opening of it. */
void ipc_closed(ze_result_t r, struct record *record);
