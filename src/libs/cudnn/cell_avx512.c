/* cell_avx512.c: the cells of float for processors that have AVX-512. */
#include "libs/cudnn/cell.h"

#include <string.h>

#if defined(__x86_64__) && !defined(__clang__)
#pragma GCC target("avx512f,avx512dq,fma,prefer-vector-width=512")
#endif

#include "libs/common/exponential.h"

#define T float
#define NAMED(name) name##_f_avx512
#define SIGMOID sigmoid_float
#define TANH tanh_float
#include "libs/cudnn/cell_typed.h"
