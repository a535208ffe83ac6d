/* cell_avx2.c: the cells of float for processors that have AVX2 and FMA. */
#include "libs/cudnn/cell.h"

#include <string.h>

#if defined(__x86_64__) && !defined(__clang__)
#pragma GCC target("avx2,fma")
#endif

#include "libs/common/exponential.h"

#define T float
#define NAMED(name) name##_f_avx2
#define SIGMOID sigmoid_float
#define TANH tanh_float
#include "libs/cudnn/cell_typed.h"
