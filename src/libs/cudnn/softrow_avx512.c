/* softrow_avx512.c: rows of softmax for processors that have AVX-512. */
#include "libs/cudnn/softrow.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__) && !defined(__clang__)
#pragma GCC target("avx512f,avx512dq,fma,prefer-vector-width=512")
#endif

#include "libs/common/exponential.h"

#define NAMED(name) name##_avx512
#define LANES 16
#include "libs/cudnn/softrow_typed.h"
