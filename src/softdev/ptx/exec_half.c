/* exec_half.c: executes the rows of rows_half.h: f16 and bf16, one and two at a time. See exec.c. */
#include "softdev/ptx/vmath.h"

#define ROWS "softdev/ptx/rows_half.h"
#define ROWS_NAME rows_half
#include "softdev/ptx/rows.h"
