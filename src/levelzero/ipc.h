/* ipc.h: memory that several processes have open by handles: the grant's tenant is charged for it once. */
#pragma once

#include "core/records.h"

/* The memory of an exported or imported record is gone from this process. */
void ipc_let_go(const struct record *r);
