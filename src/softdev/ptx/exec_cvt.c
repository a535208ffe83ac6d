/* exec_cvt.c: executes the rows of rows_cvt.h: conversions. See exec.c. */
#include "softdev/ptx/cvt.h"

#define ROWS "softdev/ptx/rows_cvt.h"
#define ROWS_NAME rows_cvt
#include "softdev/ptx/rows.h"
