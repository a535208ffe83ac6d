/* cusolver_waits_test.c: what cuSOLVER waits for behind a wall and over the network; see waits.h. */
#include "waits.h"

#include "cusolver_table.h"

#include <dlfcn.h>

static struct cusolver_table t;

static void factors(CUdeviceptr a)
{
	cusolverDnHandle_t handle = NULL;
	cusolverDnParams_t params = NULL;
	uint64_t before = waits();
	int size = 0, bad = 0;

	is(t.cusolverDnCreate(&handle), CUSOLVER_STATUS_SUCCESS);
	WAITS(1, "a handle");
	before = waits();
	is(t.cusolverDnCreateParams(&params), CUSOLVER_STATUS_SUCCESS);
	for (int i = 0; i < TIMES; i++) {
		bad += t.cusolverDnSpotrf_bufferSize(handle, CUBLAS_FILL_MODE_LOWER, 8, at(a), 8, &size) !=
		       CUSOLVER_STATUS_SUCCESS;
		bad += t.cusolverDnSpotrf(handle, CUBLAS_FILL_MODE_LOWER, 8, at(a), 8, at(a + 4096), size,
					  at(a + 2048)) != CUSOLVER_STATUS_SUCCESS;
	}
	is(bad, 0);
	WAITS(1, "a hundred factorisations of one size");
	before = waits();
	is(t.cusolverDnSpotrf((cusolverDnHandle_t)params, CUBLAS_FILL_MODE_LOWER, 8, at(a), 8, at(a + 4096), size,
			      at(a + 2048)),
	   CUSOLVER_STATUS_NOT_INITIALIZED);
	is(t.cusolverDnSpotrf(handle, CUBLAS_FILL_MODE_LOWER, 8, at(a), 4, at(a + 4096), size, at(a + 2048)),
	   CUSOLVER_STATUS_INVALID_VALUE);
	is(t.cusolverDnDestroyParams(params), CUSOLVER_STATUS_SUCCESS);
	is(t.cusolverDnDestroy(handle), CUSOLVER_STATUS_SUCCESS);
	is(t.cusolverDnDestroy(handle), CUSOLVER_STATUS_NOT_INITIALIZED);
	WAITS(0, "wrong objects, and the end");
}

int main(void)
{
	CUdeviceptr data;

	for (int i = 0; i < CUSOLVER_CALL_COUNT; i++)
		((void **)&t)[i] = dlsym(RTLD_DEFAULT, cusolver_call_name[i]);
	data = waits_begin();
	factors(data);
	return waits_end();
}
