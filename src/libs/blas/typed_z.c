/* typed_z.c: the bodies of routines for complex double; see typed.h. */
#define T double _Complex
#define R double
#define W double _Complex
#define TYPE CUDA_C_64F
#define KIND GEMM_Z
#define IS_COMPLEX 1
#define NAMED(name) name##_z
#define RE(v) creal(v)
#define IM(v) cimag(v)
#define CONJ(v) conj(v)
#define ABS(v) cabs(v)
#define FABS(v) fabs(v)
#define ABS1(v) (fabs(creal(v)) + fabs(cimag(v)))

#include "libs/blas/typed.h"
