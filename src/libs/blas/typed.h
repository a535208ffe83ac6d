/*
 * typed.h: the bodies of routines for one type. A file for each type defines
 *   T, R, W                  the type, its real type, what sums are kept in
 *   TYPE, KIND, IS_COMPLEX   cudaDataType_t, enum gemm_kind, 0 or 1
 *   NAMED(name)              its own name for a function
 *   RE, IM, CONJ, ABS, ABS1, FABS   of an element; ABS1 is |re| + |im|, as BLAS compares and adds up
 */
#include "libs/blas/body.h"
#include "libs/blas/typed_runs.h"

#include "libs/blas/level1.h"
#include "libs/blas/level2.h"
#include "libs/blas/level3.h"
#include "libs/blas/factor.h"

const blas_run NAMED(blas_runs)[BLAS_BODIES] = {
#define RUN(name, number) [number] = NAMED(name),
	BODY_EACH(RUN)
#undef RUN
};

void NAMED(blas_host_rotg)(const struct blas_work *w)
{
	NAMED(rotation)((T *)(uintptr_t)w->a, (T *)(uintptr_t)w->b, (R *)(uintptr_t)w->c, (T *)(uintptr_t)w->s);
}

void NAMED(blas_host_rotmg)(const struct blas_work *w)
{
	NAMED(modified)
	((R *)(uintptr_t)w->d1, (R *)(uintptr_t)w->d2, (R *)(uintptr_t)w->x1, *(const R *)(uintptr_t)w->y1,
	 (R *)(uintptr_t)w->param);
}
