/* stub.c: stands where a package keeps NVIDIA's cuBLAS, and refuses as that does on another driver. */
int cublasCreate_v2(void **handle);
int cublasDestroy_v2(void *handle);
int cublasSgemm_v2(void);

__attribute__((visibility("default"))) int cublasCreate_v2(void **handle)
{
	return 1;
}

__attribute__((visibility("default"))) int cublasDestroy_v2(void *handle)
{
	return 1;
}

__attribute__((visibility("default"))) int cublasSgemm_v2(void)
{
	return 1;
}
