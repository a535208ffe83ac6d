/* typed_s.c: the bodies of routines for float; see typed.h. */
#define T float
#define R float
#define W double
#define TYPE CUDA_R_32F
#define KIND GEMM_S
#define IS_COMPLEX 0
#define NAMED(name) name##_s
#define RE(v) (v)
#define IM(v) ((void)(v), (R)0)
#define CONJ(v) (v)
#define ABS(v) fabsf(v)
#define FABS(v) fabsf(v)
#define ABS1(v) fabsf(v)

#include "libs/blas/typed.h"
