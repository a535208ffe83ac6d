/* typed_d.c: the bodies of routines for double; see typed.h. */
#define T double
#define R double
#define W double
#define TYPE CUDA_R_64F
#define KIND GEMM_D
#define IS_COMPLEX 0
#define NAMED(name) name##_d
#define RE(v) (v)
#define IM(v) ((void)(v), (R)0)
#define CONJ(v) (v)
#define ABS(v) fabs(v)
#define FABS(v) fabs(v)
#define ABS1(v) fabs(v)

#include "libs/blas/typed.h"
