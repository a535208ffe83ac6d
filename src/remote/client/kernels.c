/*
 * kernels.c: what is in modules and libraries, and what is to be known of functions and kernels: answered from what the
 * load told, or asked for once.
 */
#include "remote/client/context.h"
#include "remote/client/functions.h"
#include "remote/client/thread.h"
#include "remote/client/twins.h"

#include "cuda_remote.h"

#include <string.h>

/* ---- by name ---- */

static CUresult by_name(enum cuda_call call, enum remote_kind kind, const void *handle, const char *name, void **ret)
{
	struct function *f = NULL;
	struct client_call c;
	struct code *code;

	client_call(&c, call);
	code = code_use(&c, kind, handle);
	if (code && (!ret || !name || (kind == KIND_MODULE && !name[0])))
		c.result = CUDA_ERROR_INVALID_VALUE;
	if (c.result == CUDA_SUCCESS)
		f = code_function(&c, code, name);
	if (f)
		*ret = f->handle;
	return client_end(&c);
}

CUresult client_cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
	return by_name(CUDA_CALL_cuModuleGetFunction, KIND_MODULE, hmod, name, (void **)hfunc);
}

CUresult client_cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
	return by_name(CUDA_CALL_cuLibraryGetKernel, KIND_LIBRARY, library, name, (void **)pKernel);
}

static CUresult count_of(enum cuda_call call, enum remote_kind kind, const void *handle, unsigned int *ret)
{
	struct client_call c;
	struct code *code;

	client_call(&c, call);
	code = code_use(&c, kind, handle);
	if (code && !ret)
		c.result = CUDA_ERROR_INVALID_VALUE;
	if (c.result == CUDA_SUCCESS && code_count(&c, code))
		*ret = atomic_load(&code->count);
	return client_end(&c);
}

CUresult client_cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
	return count_of(CUDA_CALL_cuModuleGetFunctionCount, KIND_MODULE, mod, count);
}

CUresult client_cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
	return count_of(CUDA_CALL_cuLibraryGetKernelCount, KIND_LIBRARY, lib, count);
}

static CUresult enumerate(enum cuda_call call, enum remote_kind kind, const void *handle, void **list,
			  unsigned int most)
{
	struct client_call c;
	struct code *code;

	client_call(&c, call);
	code = code_use(&c, kind, handle);
	if (code && (!list || !most))
		c.result = CUDA_ERROR_INVALID_VALUE;
	if (c.result == CUDA_SUCCESS)
		code_enumerate(&c, code, list, most);
	return client_end(&c);
}

CUresult client_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions, CUmodule mod)
{
	return enumerate(CUDA_CALL_cuModuleEnumerateFunctions, KIND_MODULE, mod, (void **)functions, numFunctions);
}

CUresult client_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib)
{
	return enumerate(CUDA_CALL_cuLibraryEnumerateKernels, KIND_LIBRARY, lib, (void **)kernels, numKernels);
}

/* ---- what belongs to what ---- */

CUresult client_cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
	struct context *context;
	struct function *k, *f = NULL;
	struct client_call c;

	client_call(&c, CUDA_CALL_cuKernelGetFunction);
	if (c.result == CUDA_SUCCESS)
		c.result = context_current(c.thread, &context);
	k = kernel_use(&c, kernel);
	if (k && !pFunc)
		c.result = CUDA_ERROR_INVALID_VALUE;
	if (c.result == CUDA_SUCCESS)
		f = kernel_function(&c, k);
	if (f)
		*pFunc = f->handle;
	return client_end(&c);
}

CUresult client_cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
	struct client_call c;
	struct function *k;

	client_call(&c, CUDA_CALL_cuKernelGetLibrary);
	k = kernel_use(&c, kernel);
	if (k && !pLib)
		c.result = CUDA_ERROR_INVALID_VALUE;
	else if (k && !k->code)
		c.result = CUDA_ERROR_NOT_SUPPORTED; /* a driver's own kernel, out of a graph that a library made */
	if (c.result == CUDA_SUCCESS)
		*pLib = twin_first(k->code)->handle;
	return client_end(&c);
}

static CUresult name_of(enum cuda_call call, enum remote_kind kind, const void *handle, const char **ret)
{
	struct client_call c;
	struct function *f;

	client_call(&c, call);
	f = kind == KIND_KERNEL ? kernel_use(&c, handle) : function_use(&c, handle);
	if (f && !ret)
		c.result = CUDA_ERROR_INVALID_VALUE;
	/* A kernel's function was asked for without its name. */
	if (c.result == CUDA_SUCCESS)
		*ret = f->name[0] || !f->kernel ? f->name : f->kernel->name;
	return client_end(&c);
}

CUresult client_cuKernelGetName(const char **name, CUkernel hfunc)
{
	return name_of(CUDA_CALL_cuKernelGetName, KIND_KERNEL, hfunc, name);
}

CUresult client_cuFuncGetName(const char **name, CUfunction hfunc)
{
	return name_of(CUDA_CALL_cuFuncGetName, KIND_FUNCTION, hfunc, name);
}

/* The library's module in the current context, for a function of a kernel. */
CUresult client_cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
	LOOKING;
	struct client_call c;
	struct function *f;
	struct code *code;

	client_call(&c, CUDA_CALL_cuFuncGetModule);
	f = function_use(&c, hfunc);
	if (f && !hmod)
		c.result = CUDA_ERROR_INVALID_VALUE;
	else if (f && !f->code)
		c.result = CUDA_ERROR_NOT_SUPPORTED;
	if (client_end(&c) != CUDA_SUCCESS)
		return c.result;
	code = f->code;
	if (code->kind == KIND_LIBRARY)
		return client_cuLibraryGetModule(hmod, code->handle);
	*hmod = code->handle;
	return CUDA_SUCCESS;
}

/* ---- parameters ---- */

static CUresult param_info(enum cuda_call call, enum remote_kind kind, const void *handle, size_t index, size_t *offset,
			   size_t *size)
{
	struct client_call c;
	struct function *f;

	client_call(&c, call);
	f = kind == KIND_KERNEL ? kernel_use(&c, handle) : function_use(&c, handle);
	if (f && !f->layout)
		c.result = CUDA_ERROR_NOT_SUPPORTED;
	else if (f && (!offset || index >= f->params))
		c.result = CUDA_ERROR_INVALID_VALUE;
	if (c.result == CUDA_SUCCESS) {
		*offset = f->param[index].offset;
		if (size)
			*size = f->param[index].bytes;
	}
	return client_end(&c);
}

CUresult client_cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
	return param_info(CUDA_CALL_cuKernelGetParamInfo, KIND_KERNEL, kernel, paramIndex, paramOffset, paramSize);
}

CUresult client_cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
	return param_info(CUDA_CALL_cuFuncGetParamInfo, KIND_FUNCTION, func, paramIndex, paramOffset, paramSize);
}

/* ---- attributes ---- */

static void attributes_void(struct function *f)
{
	for (uint32_t d = 0; d < f->devices; d++)
		__atomic_store_n(&f->attribute[d].known, 0, __ATOMIC_RELEASE);
	atomic_store(&f->passed, 0);
}

/* What was set may show in the kernel of a function, and in the functions of a kernel: all are asked for again. */
static void attribute_changed(struct client_call *c, struct function *f)
{
	struct function *kernel = f->kernel ? f->kernel : f->kind == KIND_KERNEL ? f : NULL;

	attributes_void(f);
	client_memo_forget(c, f->id);
	if (!kernel)
		return;
	attributes_void(kernel);
	client_memo_forget(c, kernel->id);
	for (struct function *of = atomic_load(&kernel->functions); of; of = of->next) {
		attributes_void(of);
		client_memo_forget(c, of->id);
	}
}

CUresult client_cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
	struct code_attributes *a = NULL;
	struct client_call c;
	struct function *f;

	client_call(&c, CUDA_CALL_cuFuncGetAttribute);
	f = function_use(&c, hfunc);
	if (f && f->kind == KIND_KERNEL)
		f = kernel_function(&c, f);
	if (f && !pi)
		c.result = CUDA_ERROR_INVALID_VALUE;
	if (c.result == CUDA_SUCCESS)
		a = function_attribute(&c, f, 0, attrib);
	if (a)
		*pi = __atomic_load_n(&a->value[attrib], __ATOMIC_RELAXED);
	if (client_end(&c) != CUDA_SUCCESS || a)
		return c.result;
	return client_plain_cuFuncGetAttribute(pi, attrib, hfunc);
}

CUresult client_cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev)
{
	struct code_attributes *a = NULL;
	struct client_call c;
	struct function *k;
	int32_t device;

	client_call(&c, CUDA_CALL_cuKernelGetAttribute);
	device = client_use_device(&c, dev);
	k = kernel_use(&c, kernel);
	if (k && pi)
		a = function_attribute(&c, k, device, attrib);
	if (a)
		*pi = __atomic_load_n(&a->value[attrib], __ATOMIC_RELAXED);
	if (client_end(&c) != CUDA_SUCCESS || a)
		return c.result;
	return client_plain_cuKernelGetAttribute(pi, attrib, k ? k->handle : kernel, dev);
}

/* Libraries set these before each launch; what has the value already need not be set. */
static bool is_set(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
	int present;

	return (attrib == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
		attrib == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) &&
	       client_cuFuncGetAttribute(&present, attrib, hfunc) == CUDA_SUCCESS && present == value;
}

CUresult client_cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
	struct client_call c;
	struct function *f;
	CUresult r;

	if (context_sound() == CUDA_SUCCESS && is_set(hfunc, attrib, value))
		return CUDA_SUCCESS;
	r = client_plain_cuFuncSetAttribute(hfunc, attrib, value);
	if (r != CUDA_SUCCESS)
		return r;
	client_call(&c, CUDA_CALL_cuFuncSetAttribute);
	f = function_use(&c, hfunc);
	if (f)
		attribute_changed(&c, f);
	return client_end(&c);
}

/* The kernel as the device's worker has it. */
static CUresult kernel_on(CUkernel *kernel, CUdevice device)
{
	struct client_call c;
	struct function *k;

	client_call(&c, CUDA_CALL_cuKernelSetAttribute);
	client_use_device(&c, device);
	k = kernel_use(&c, *kernel);
	if (k)
		*kernel = k->handle;
	return client_end(&c);
}

CUresult client_cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev)
{
	struct client_call c;
	struct function *k;
	CUresult r = kernel_on(&kernel, dev);

	if (r == CUDA_SUCCESS)
		r = client_plain_cuKernelSetAttribute(attrib, val, kernel, dev);
	if (r != CUDA_SUCCESS)
		return r;
	client_call(&c, CUDA_CALL_cuKernelSetAttribute);
	k = kernel_use(&c, kernel);
	if (k)
		attribute_changed(&c, k);
	return client_end(&c);
}

CUresult client_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
	CUresult r = kernel_on(&kernel, dev);

	return r == CUDA_SUCCESS ? client_plain_cuKernelSetCacheConfig(kernel, config, dev) : r;
}
