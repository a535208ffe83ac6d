/* line_f_avx2.c: line_run() in floats, for processors that have AVX2 and FMA. */
#include "libs/cufft/line.h"

#include <string.h>

#if defined(__x86_64__) && !defined(__clang__)
#pragma GCC target("avx2,fma")
#endif

#define T float
#define RUN line_run_f_avx2
#include "libs/cufft/line_run.h"
