/* typed_c.c: the bodies of routines for complex float; see typed.h. */
#define T float _Complex
#define R float
#define W double _Complex
#define TYPE CUDA_C_32F
#define KIND GEMM_C
#define IS_COMPLEX 1
#define NAMED(name) name##_c
#define RE(v) crealf(v)
#define IM(v) cimagf(v)
#define CONJ(v) conjf(v)
#define ABS(v) cabsf(v)
#define FABS(v) fabsf(v)
#define ABS1(v) (fabsf(crealf(v)) + fabsf(cimagf(v)))

#include "libs/blas/typed.h"
