/* pools.h: on which device the memory of a pool lies. */
#pragma once

#include "cuda_table.h"

/* -1: not known, or no pool of this program. */
CUdevice pools_device(CUmemoryPool pool);
