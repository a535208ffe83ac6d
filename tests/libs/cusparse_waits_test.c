/* cusparse_waits_test.c: what cuSPARSE waits for behind a wall and over the network; see waits.h. */
#include "waits.h"

#include "cusparse_table.h"

#include <dlfcn.h>

static struct cusparse_table t;

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

int main(void)
{
	CUdeviceptr data;

	for (int i = 0; i < CUSPARSE_CALL_COUNT; i++)
		((void **)&t)[i] = dlsym(RTLD_DEFAULT, cusparse_call_name[i]);
	data = waits_begin();
	products(data);
	return waits_end();
}
