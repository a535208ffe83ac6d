/* library.c: images that a program loads itself, and their kernels. */
#include "runtime/rt.h"

#if CUDART_MAJOR >= 12

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *jitOptions,
				void **jitOptionsValues, unsigned int numJitOptions,
				enum cudaLibraryOption *libraryOptions, void **libraryOptionValues,
				unsigned int numLibraryOptions)
{
	return RT_CALL(cuLibraryLoadData, (CUlibrary *)library, code, (CUjit_option *)jitOptions, jitOptionsValues,
		       numJitOptions, (CUlibraryOption *)libraryOptions, libraryOptionValues, numLibraryOptions);
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName, enum cudaJitOption *jitOptions,
				    void **jitOptionsValues, unsigned int numJitOptions,
				    enum cudaLibraryOption *libraryOptions, void **libraryOptionValues,
				    unsigned int numLibraryOptions)
{
	return RT_CALL(cuLibraryLoadFromFile, (CUlibrary *)library, fileName, (CUjit_option *)jitOptions,
		       jitOptionsValues, numJitOptions, (CUlibraryOption *)libraryOptions, libraryOptionValues,
		       numLibraryOptions);
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
	return RT_CALL(cuLibraryUnload, (CUlibrary)library);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library, const char *name)
{
	CUkernel k = NULL;
	cudaError_t e = pKernel ? RT_TRY(cuLibraryGetKernel, &k, (CUlibrary)library, name) : cudaErrorInvalidValue;

	if (!e) {
		rt_kernel_remember(k);
		*pKernel = (cudaKernel_t)k;
	}
	return rt_done(e);
}

cudaError_t cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib)
{
	return RT_CALL(cuLibraryGetKernelCount, count, (CUlibrary)lib);
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels, cudaLibrary_t lib)
{
	unsigned count = 0;
	cudaError_t e = RT_TRY(cuLibraryGetKernelCount, &count, (CUlibrary)lib);

	if (!e)
		e = rt_error(rt_driver.cuLibraryEnumerateKernels((CUkernel *)kernels, numKernels, (CUlibrary)lib));
	for (unsigned i = 0; !e && i < numKernels && i < count; i++)
		rt_kernel_remember((CUkernel)kernels[i]);
	return rt_done(e);
}

typedef CUresult find_fn(CUdeviceptr *, size_t *, CUlibrary, const char *);

static cudaError_t variable(find_fn *find, void **ret, size_t *ret_bytes, cudaLibrary_t library, const char *name)
{
	CUdeviceptr p = 0;
	cudaError_t e = rt_error(find(&p, ret_bytes, (CUlibrary)library, name));

	if (!e && ret)
		*ret = (void *)(uintptr_t)p;
	return e;
}

cudaError_t cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
	cudaError_t e = rt_ready();

	return rt_done(e ? e : variable(rt_driver.cuLibraryGetGlobal, dptr, bytes, library, name));
}

cudaError_t cudaLibraryGetManaged(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
	cudaError_t e = rt_ready();

	return rt_done(e ? e : variable(rt_driver.cuLibraryGetManaged, dptr, bytes, library, name));
}

cudaError_t cudaLibraryGetUnifiedFunction(void **fptr, cudaLibrary_t library, const char *symbol)
{
	return RT_CALL(cuLibraryGetUnifiedFunction, fptr, (CUlibrary)library, symbol);
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attr, int value, int device)
{
	cudaError_t e = rt_device_good(device);

	return rt_done(e ? e
			 : rt_error(rt_driver.cuKernelSetAttribute((CUfunction_attribute)attr, value, (CUkernel)kernel,
								   device)));
}

#endif
