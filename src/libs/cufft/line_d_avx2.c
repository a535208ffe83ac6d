/* line_d_avx2.c: line_run() in doubles, for processors that have AVX2 and FMA. */
#include "libs/cufft/line.h"

#include <string.h>

#if defined(__x86_64__) && !defined(__clang__)
#pragma GCC target("avx2,fma")
#endif

#define T double
#define RUN line_run_d_avx2
#include "libs/cufft/line_run.h"
