/* typed_runs.h: the bodies of each type, and rotations that are computed in host memory, during the call. */
#pragma once

#include "libs/blas/blas.h"

#define TYPED_DECLARE(letter)                                                                                          \
	extern const blas_run blas_runs_##letter[BLAS_BODIES];                                                         \
	void blas_host_rotg_##letter(const struct blas_work *w);                                                       \
	void blas_host_rotmg_##letter(const struct blas_work *w);

TYPED_DECLARE(s)
TYPED_DECLARE(d)
TYPED_DECLARE(c)
TYPED_DECLARE(z)
#undef TYPED_DECLARE
