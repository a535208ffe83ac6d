/* exec_int.c: executes the rows of rows_int.h: integers, comparisons, selection and moves. See exec.c. */
#include "softdev/ptx/fp.h"
#include "softdev/ptx/int.h"

#define ROWS "softdev/ptx/rows_int.h"
#define ROWS_NAME rows_int
#include "softdev/ptx/rows.h"
