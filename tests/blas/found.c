/* found.c: a program whose RPATH names another cuBLAS (stub.c): its status is that of cublasCreate(). */
int cublasCreate_v2(void **handle);
int cublasDestroy_v2(void *handle);

int main(void)
{
	void *handle = 0;
	int status = cublasCreate_v2(&handle);

	return status ? status : cublasDestroy_v2(handle);
}
