/* exec_mem.c: executes the rows of rows_mem.h: memory, atomics, and what looks across a warp. See exec.c. */
#include "softdev/ptx/fp.h"
#include "softdev/ptx/mem.h"
#include "softdev/ptx/cross.h"

#define ROWS "softdev/ptx/rows_mem.h"
#define ROWS_NAME rows_mem
#include "softdev/ptx/rows.h"
