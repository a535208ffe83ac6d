/* found.c: a program whose RPATH names another cuBLAS (stub.c): its status is of cublasCreate(), or of a product. */
#include <dlfcn.h>

int cublasCreate_v2(void **handle);
int cublasDestroy_v2(void *handle);
int cublasSgemm_v2(void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha, const float *a, int lda,
		   const float *b, int ldb, const float *beta, float *c, int ldc);

int main(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *handle = 0;
	int (*take)(unsigned long long *, unsigned long) = 0;
	int (*wait)(void) = 0;
	const float one = 1, zero = 0;
	unsigned long long at = 0;
	int status = cublasCreate_v2(&handle);
	float *m;

	if (status)
		return status;
	if (driver) {
		*(void **)&take = dlsym(driver, "cuMemAlloc_v2");
		*(void **)&wait = dlsym(driver, "cuCtxSynchronize");
	}
	if (!take || !wait || take(&at, 3 * 16 * sizeof(float)))
		return 40;
	m = (float *)at;
	status = cublasSgemm_v2(handle, 0, 0, 4, 4, 4, &one, m, 4, m + 16, 4, &zero, m + 32, 4);
	if (!status && wait())
		status = 41;
	return status ? status : cublasDestroy_v2(handle);
}
