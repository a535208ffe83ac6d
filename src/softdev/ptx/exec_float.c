/* exec_float.c: executes the rows of rows_float.h: f32 and f64. See exec.c. */
#include "softdev/ptx/fp.h"

#define ROWS "softdev/ptx/rows_float.h"
#define ROWS_NAME rows_float
#include "softdev/ptx/rows.h"
