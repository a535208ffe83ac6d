/*
 * ending_test.c: eight threads with the kernels, modules and variables of libraries, while their contexts and
 * libraries end. A call beside an end works or answers an error; nothing is touched that is gone (the sanitizers
 * look), and at the end all memory is back.
 */
#include "soft.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define CONTEXTS 2
#define LIBRARIES 2
#define USERS 6
#define SECONDS 2
#define WAITS 300 /* of a tenth of a second */

static const char image[] = ".version 8.0 .target sm_50 .address_size 64\n"
			    ".visible .global .align 4 .u32 v[1024];\n"
			    ".visible .entry k(.param .u64 p) { .reg .u64 %a; .reg .u32 %x;\n"
			    "mov.u64 %a, v; ld.global.u32 %x, [%a]; add.u32 %x, %x, 1; st.global.u32 [%a], %x; ret; }\n";

static _Atomic(CUcontext) contexts[CONTEXTS];
static _Atomic(CUlibrary) libraries[LIBRARIES];
static atomic_bool over;
static atomic_ulong done[8], odd;

static bool is_expected(CUresult r)
{
	switch (r) {
	case CUDA_SUCCESS:
	case CUDA_ERROR_INVALID_HANDLE:
	case CUDA_ERROR_INVALID_CONTEXT:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
	case CUDA_ERROR_INVALID_VALUE:
	case CUDA_ERROR_NOT_FOUND:
		return true;
	default:
		return false;
	}
}

static CUresult use(unsigned int what, CUlibrary library)
{
	uint64_t nothing = 0;
	void *params[] = { &nothing };
	CUfunction function;
	CUdeviceptr p;
	CUmodule module;
	CUkernel kernel;
	size_t bytes;
	CUresult r;

	switch (what) {
	case 0:
		return cuLibraryGetModule(&module, library);
	case 1:
		return cuLibraryGetGlobal(&p, &bytes, library, "v");
	case 2:
		r = cuLibraryGetModule(&module, library);
		return r ? r : cuModuleGetFunction(&function, module, "k");
	case 3:
		r = cuLibraryGetKernel(&kernel, library, "k");
		return r ? r : cuKernelGetFunction(&function, kernel);
	case 4:
		r = cuModuleLoadData(&module, image);
		if (!r)
			cuModuleGetGlobal(&p, &bytes, module, "v");
		return r ? r : cuModuleUnload(module);
	default:
		r = cuLibraryGetKernel(&kernel, library, "k");
		return r ? r : cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
	}
}

static void *user(void *seed)
{
	unsigned int s = (unsigned int)(uintptr_t)seed;

	while (!over) {
		CUcontext context = contexts[rand_r(&s) % CONTEXTS], popped;
		CUlibrary library = libraries[rand_r(&s) % LIBRARIES];
		unsigned int what = (unsigned int)rand_r(&s) % 7;
		CUresult r;

		if (!context || !library || cuCtxPushCurrent(context))
			continue;
		r = use(what, library);
		done[what] += r == CUDA_SUCCESS;
		if (!is_expected(r) && !odd++)
			printf("# %u: error %d\n", what, (int)r);
		cuCtxPopCurrent(&popped);
	}
	return NULL;
}

static void *end_contexts(void *seed)
{
	unsigned int s = (unsigned int)(uintptr_t)seed;

	while (!over) {
		int i = rand_r(&s) % CONTEXTS;
		CUcontext c = atomic_exchange(&contexts[i], NULL), popped;

		usleep(rand_r(&s) % 2000);
		if (c)
			odd += cuCtxDestroy(c) != CUDA_SUCCESS;
		odd += cuCtxCreate(&c, NULL, 0, 0) != CUDA_SUCCESS;
		cuCtxPopCurrent(&popped);
		contexts[i] = c;
	}
	return NULL;
}

static void *end_libraries(void *seed)
{
	unsigned int s = (unsigned int)(uintptr_t)seed;

	while (!over) {
		int i = rand_r(&s) % LIBRARIES;
		CUlibrary l = atomic_exchange(&libraries[i], NULL);

		usleep(rand_r(&s) % 1000);
		if (l)
			odd += cuLibraryUnload(l) != CUDA_SUCCESS;
		odd += cuLibraryLoadData(&l, image, NULL, NULL, 0, NULL, NULL, 0) != CUDA_SUCCESS;
		libraries[i] = l;
	}
	return NULL;
}

static bool all_done(void)
{
	for (int what = 0; what < 7; what++)
		if (!done[what])
			return false;
	return true;
}

int main(void)
{
	pthread_t threads[USERS + 2];
	CUcontext c;
	size_t all;

	soft_begin("1", "1G");
	c = soft_context();
	all = soft_free();
	for (int i = 0; i < USERS + 2; i++)
		pthread_create(&threads[i], NULL,
			       i == 0   ? end_contexts
			       : i == 1 ? end_libraries
					: user,
			       (void *)(uintptr_t)(i + 1));
	sleep(SECONDS);
	for (int i = 0; i < WAITS && !all_done(); i++) /* on a busy machine */
		usleep(100000);
	over = true;
	for (int i = 0; i < USERS + 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < CONTEXTS; i++)
		if (contexts[i])
			CU(cuCtxDestroy(contexts[i]));
	for (int i = 0; i < LIBRARIES; i++)
		if (libraries[i])
			CU(cuLibraryUnload(libraries[i]));
	is(odd, 0);
	for (int what = 0; what < 7; what++)
		ok(done[what] > 0);
	CU(cuCtxSetCurrent(c));
	is(soft_free(), all);
	return soft_end();
}
