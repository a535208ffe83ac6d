/* pools.h: the device of each memory pool. */
#pragma once

#include "cuda_table.h"

/* -1: not known, or not a pool of this program. */
CUdevice pools_device(CUmemoryPool pool);
