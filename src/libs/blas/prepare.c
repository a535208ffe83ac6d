/* prepare.c: see mete_blas_prepare() in blas.h. Of each library itself, not of what they share, so that it is exported.
 */
#include "libs/blas/blas.h"
#include "libs/blas/gemm.h"

void mete_blas_prepare(const char *driver_path)
{
	device_driver_path(driver_path);
	gemm_open();
}
