/* cusparse_waits_test.c: what cuSPARSE waits for behind a wall and over the network; see waits.h. */
#include "waits.h"

#include "cusparse_table.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static struct cusparse_table t;
static CUcontext context;

static void products(CUdeviceptr data)
{
	static const int offsets[] = { 0, 1, 2, 3, 4 }, columns[] = { 0, 1, 2, 3 };
	static const float values[] = { 1, 2, 3, 4 }, ones[] = { 1, 1, 1, 1 };
	float one = 1, zero = 0, got[4] = { 0 };
	cusparseConstSpMatDescr_t matrix = NULL;
	cusparseDnVecDescr_t x = NULL, y = NULL;
	cusparsePointerMode_t mode = CUSPARSE_POINTER_MODE_DEVICE;
	cusparseHandle_t handle = NULL;
	uint64_t before;
	int bad = 0;

	is(t.cusparseCreate(&handle), CUSPARSE_STATUS_SUCCESS);
	CU(cuMemcpyHtoD(data, offsets, sizeof(offsets)));
	CU(cuMemcpyHtoD(data + 256, columns, sizeof(columns)));
	CU(cuMemcpyHtoD(data + 512, values, sizeof(values)));
	CU(cuMemcpyHtoD(data + 768, ones, sizeof(ones)));
	before = waits();
	for (int i = 0; i < TIMES; i++) {
		bad += t.cusparseCreateConstCsr(&matrix, 4, 4, 4, at(data), at(data + 256), at(data + 512),
						CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
						CUDA_R_32F) != CUSPARSE_STATUS_SUCCESS;
		bad += t.cusparseCreateDnVec(&x, 4, at(data + 768), CUDA_R_32F) != CUSPARSE_STATUS_SUCCESS;
		bad += t.cusparseCreateDnVec(&y, 4, at(data + 1024), CUDA_R_32F) != CUSPARSE_STATUS_SUCCESS;
		bad += t.cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, x, &zero, y, CUDA_R_32F,
				      CUSPARSE_SPMV_ALG_DEFAULT, at(data + 2048)) != CUSPARSE_STATUS_SUCCESS;
		bad += t.cusparseGetPointerMode(handle, &mode) != CUSPARSE_STATUS_SUCCESS;
		bad += t.cusparseDestroySpMat(matrix) != CUSPARSE_STATUS_SUCCESS;
		bad += t.cusparseDestroyDnVec(x) != CUSPARSE_STATUS_SUCCESS;
		bad += t.cusparseDestroyDnVec(y) != CUSPARSE_STATUS_SUCCESS;
	}
	is(bad, 0);
	is(mode, CUSPARSE_POINTER_MODE_HOST);
	WAITS(0, "a hundred products, each with descriptors of its own");
	CU(cuMemcpyDtoH(got, data + 1024, sizeof(got)));
	is(got[0] == 1 && got[1] == 2 && got[2] == 3 && got[3] == 4, 1);
	is(t.cusparseDestroy(handle), CUSPARSE_STATUS_SUCCESS);
}

/* ---- a call that waits, and other objects' calls beside it ---- */

#define HANDLES 512

struct held {
	cusparseHandle_t handle;
	cusparseDnMatDescr_t dense;
	cusparseSpMatDescr_t sparse;
	CUdeviceptr data;
	int status;
};

static atomic_bool asks, goes_on, gave_up;

/* In the stream: until the other handles have been used, or they are not. */
static void CUDA_CB hold(void *unused)
{
	for (int i = 0; i < 10000 && !atomic_load(&goes_on); i++)
		usleep(1000);
	atomic_store(&gave_up, !atomic_load(&goes_on));
}

static void *wait_for(void *given)
{
	struct held *h = given;

	cuCtxSetCurrent(context);
	atomic_store(&asks, true);
	h->status = (int)t.cusparseDenseToSparse_analysis(h->handle, h->dense, h->sparse,
							  CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, at(h->data + 8192));
	return NULL;
}

/* What one handle's call waits for may come behind another handle's. */
static void others(CUdeviceptr data)
{
	static cusparseHandle_t handle[HANDLES];
	struct held h = { .data = data };
	CUstream stream;
	pthread_t thread;
	int bad = 0;

	CU(cuCtxGetCurrent(&context));
	for (int i = 0; i < HANDLES; i++)
		bad += t.cusparseCreate(&handle[i]) != CUSPARSE_STATUS_SUCCESS;
	is(bad, 0);
	CU(cuMemsetD8(data, 0, 8192));
	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	is(t.cusparseCreate(&h.handle), CUSPARSE_STATUS_SUCCESS);
	is(t.cusparseSetStream(h.handle, stream), CUSPARSE_STATUS_SUCCESS);
	is(t.cusparseCreateDnMat(&h.dense, 4, 4, 4, at(data), CUDA_R_32F, CUSPARSE_ORDER_COL), CUSPARSE_STATUS_SUCCESS);
	is(t.cusparseCreateCsr(&h.sparse, 4, 4, 0, at(data + 1024), NULL, NULL, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
			       CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F),
	   CUSPARSE_STATUS_SUCCESS);
	CU(cuLaunchHostFunc(stream, hold, NULL));
	is(pthread_create(&thread, NULL, wait_for, &h), 0);
	while (!atomic_load(&asks))
		usleep(1000);
	usleep(200000);
	for (int i = 0; i < HANDLES; i++)
		bad += t.cusparseSetStream(handle[i], NULL) != CUSPARSE_STATUS_SUCCESS;
	is(bad, 0);
	atomic_store(&goes_on, true);
	pthread_join(thread, NULL);
	is(h.status, CUSPARSE_STATUS_SUCCESS);
	tap_ok(!atomic_load(&gave_up), "no handle's call waits for another handle's");
	is(t.cusparseDestroySpMat(h.sparse), CUSPARSE_STATUS_SUCCESS);
	is(t.cusparseDestroyDnMat(h.dense), CUSPARSE_STATUS_SUCCESS);
	is(t.cusparseDestroy(h.handle), CUSPARSE_STATUS_SUCCESS);
	for (int i = 0; i < HANDLES; i++)
		bad += t.cusparseDestroy(handle[i]) != CUSPARSE_STATUS_SUCCESS;
	is(bad, 0);
	CU(cuStreamDestroy(stream));
}

int main(void)
{
	CUdeviceptr data;

	for (int i = 0; i < CUSPARSE_CALL_COUNT; i++)
		((void **)&t)[i] = dlsym(RTLD_DEFAULT, cusparse_call_name[i]);
	data = waits_begin();
	products(data);
	others(data);
	return waits_end();
}
