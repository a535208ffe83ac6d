/* softrow_avx2.c: rows of softmax for processors that have AVX2 and FMA. */
#include "libs/cudnn/softrow.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__) && !defined(__clang__)
#pragma GCC target("avx2,fma")
#endif

#include "libs/common/exponential.h"

#define NAMED(name) name##_avx2
#define LANES 8
#include "libs/cudnn/softrow_typed.h"
