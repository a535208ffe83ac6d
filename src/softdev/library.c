/* library.c: libraries and kernels: images that belong to no context. See module.h. */
#include "softdev/module.h"

#include "base/cleanup.h"
#include "softdev/jit.h"
#include "softdev/stream.h"

#include <stdlib.h>
#include <string.h>

static CUresult library_find(CUlibrary h, struct library **ret)
{
	CUresult e = driver_ready();

	if (e)
		return e;
	*ret = handle_find(HANDLE_LIBRARY, h);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult kernel_find(CUkernel h, struct kernel **ret)
{
	CUresult e = driver_ready();

	if (e)
		return e;
	*ret = handle_find(HANDLE_KERNEL, h);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- life ---- */

static CUresult library_load(CUlibrary *ret, const void *image, size_t bytes, const struct jit *j,
			     unsigned option_count, const CUlibraryOption *option)
{
	struct library *l;
	char log[1024];
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!ret || !image || (option_count && !option))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < option_count; i++)
		if ((unsigned)option[i] >= CU_LIBRARY_NUM_OPTIONS)
			return CUDA_ERROR_INVALID_VALUE;
	l = handle_begin(HANDLE_LIBRARY);
	if (!l)
		return CUDA_ERROR_OUT_OF_MEMORY;
	l->source.max_registers = j->max_registers;
	e = source_load(image, bytes, &l->source, &l->first, log, sizeof(log));
	jit_report(j, e ? log : "", e ? NULL : l->first);
	if (e) {
		handle_free(l);
		return e;
	}
	handle_publish(l);
	*ret = (CUlibrary)l;
	return e;
}

CUresult soft_cuLibraryLoadData(CUlibrary *ret, const void *code, CUjit_option *option, void **value, unsigned count,
				CUlibraryOption *library_option, void **library_value, unsigned library_count)
{
	struct jit j;
	CUresult e = jit_read(count, option, value, &j);

	return e ? e : library_load(ret, code, 0, &j, library_count, library_option);
}

CUresult soft_cuLibraryLoadFromFile(CUlibrary *ret, const char *path, CUjit_option *option, void **value,
				    unsigned count, CUlibraryOption *library_option, void **library_value,
				    unsigned library_count)
{
	_cleanup_free_ char *image = NULL;
	size_t bytes;
	struct jit j;
	CUresult e = jit_read(count, option, value, &j);

	if (!e)
		e = driver_ready();
	if (e)
		return e;
	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	e = image_read_file(path, &image, &bytes);
	return e ? e : library_load(ret, image, bytes, &j, library_count, library_option);
}

/* From here on no call finds it, its modules, or what is in them. */
static CUresult library_leaves(CUlibrary h, struct library **ret)
{
	CUresult e = library_find(h, ret);

	if (e)
		return e;
	if (!handle_retire(*ret))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&module_mutex); /* a context that ends beside it takes modules out */
	for (struct kernel *k = (*ret)->kernels; k; k = k->next)
		handle_retire(k);
	for (struct module *m = (*ret)->modules; m; m = m->next)
		m->leaving = true;
	pthread_mutex_unlock(&module_mutex);
	return CUDA_SUCCESS;
}

CUresult soft_cuLibraryUnload(CUlibrary h)
{
	struct library *l;
	CUresult e;

	pthread_rwlock_wrlock(&module_life);
	e = library_leaves(h, &l);
	pthread_rwlock_unlock(&module_life);
	if (e)
		return e;
	for (uint32_t i = 0; i < driver.device_count; i++)
		stream_wait_device(&driver.device[i]);
	pthread_mutex_lock(&module_ending); /* a context that ends beside it has the same modules, and waits for them */
	while (l->modules) {
		struct module *m = l->modules;

		stream_drain_context(m->context); /* one that ends is no device's any more */
		l->modules = m->next;
		if (handle_retire(m))
			module_free(m);
	}
	pthread_mutex_unlock(&module_ending);
	ptx_module_free(l->first);
	source_deinit(&l->source);
	pthread_rwlock_wrlock(&module_life); /* as in module_free() */
	while (l->kernels) {
		struct kernel *k = l->kernels;

		l->kernels = k->next;
		handle_free(k);
	}
	handle_free(l);
	pthread_rwlock_unlock(&module_life);
	return CUDA_SUCCESS;
}

void library_forget(struct module *m)
{
	struct library *l = m->library;

	pthread_mutex_lock(&module_mutex);
	for (struct module **at = &l->modules; *at; at = &(*at)->next)
		if (*at == m) {
			*at = m->next;
			break;
		}
	pthread_mutex_unlock(&module_mutex);
}

static struct module *library_module_locked(struct library *l, struct context *c)
{
	for (struct module *m = l->modules; m; m = m->next)
		if (m->context == c)
			return m;
	return NULL;
}

CUresult library_module(struct library *l, struct context *c, struct module **ret)
{
	static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
	struct ptx_module *ptx = NULL;
	struct module *m;
	char log[1024];
	CUresult e = CUDA_SUCCESS;

	pthread_mutex_lock(&module_mutex);
	m = library_module_locked(l, c);
	pthread_mutex_unlock(&module_mutex);
	if (m) {
		*ret = m;
		return CUDA_SUCCESS;
	}
	pthread_mutex_lock(&making);
	pthread_mutex_lock(&module_mutex);
	m = library_module_locked(l, c);
	pthread_mutex_unlock(&module_mutex);
	if (!m) {
		e = source_decode(&l->source, &ptx, log, sizeof(log));
		if (!e)
			e = module_new(c, ptx, l, &m);
		if (!e) {
			pthread_mutex_lock(&module_mutex);
			m->next = l->modules;
			l->modules = m;
			pthread_mutex_unlock(&module_mutex);
		}
	}
	pthread_mutex_unlock(&making);
	if (!e)
		*ret = m;
	return e;
}

/* ---- what is in a library ---- */

static struct kernel *library_kernel(struct library *l, const struct ptx_kernel *p)
{
	struct kernel *k;

	pthread_mutex_lock(&module_mutex);
	for (k = l->kernels; k && k->kernel != p; k = k->next)
		;
	if (!k && (k = handle_begin(HANDLE_KERNEL))) {
		k->library = l;
		k->kernel = p;
		for (uint32_t i = 0; i < SEGMENT_MAX_DEVICES; i++)
			k->settings[i] = FUNCTION_SETTINGS_NONE;
		k->next = l->kernels;
		l->kernels = k;
		handle_publish(k);
	}
	pthread_mutex_unlock(&module_mutex);
	return k;
}

CUresult soft_cuLibraryGetKernel(CUkernel *ret, CUlibrary h, const char *name)
{
	MODULES_STAY;
	const struct ptx_kernel *p;
	struct library *l;
	struct kernel *k;
	CUresult e = library_find(h, &l);

	if (e)
		return e;
	if (!ret || !name)
		return CUDA_ERROR_INVALID_VALUE;
	p = ptx_module_kernel_find(l->first, name);
	if (!p)
		return CUDA_ERROR_NOT_FOUND;
	k = library_kernel(l, p);
	if (k)
		*ret = (CUkernel)k;
	return k ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult soft_cuLibraryGetKernelCount(unsigned *ret, CUlibrary h)
{
	MODULES_STAY;
	struct library *l;
	CUresult e = library_find(h, &l);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (unsigned)ptx_module_kernel_count(l->first);
	return CUDA_SUCCESS;
}

CUresult soft_cuLibraryEnumerateKernels(CUkernel *ret, unsigned count, CUlibrary h)
{
	MODULES_STAY;
	struct library *l;
	CUresult e = library_find(h, &l);

	if (e)
		return e;
	if (!ret || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count && i < ptx_module_kernel_count(l->first); i++) {
		struct kernel *k = library_kernel(l, ptx_module_kernel_at(l->first, i));

		if (!k)
			return CUDA_ERROR_OUT_OF_MEMORY;
		ret[i] = (CUkernel)k;
	}
	return CUDA_SUCCESS;
}

static CUresult library_module_here(CUlibrary h, struct module **ret)
{
	struct context *c;
	struct library *l;
	CUresult e = context_current(&c);

	if (!e)
		e = library_find(h, &l);
	return e ? e : library_module(l, c, ret);
}

CUresult soft_cuLibraryGetModule(CUmodule *ret, CUlibrary h)
{
	MODULES_STAY;
	struct module *m;
	CUresult e = library_module_here(h, &m);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUmodule)m;
	return CUDA_SUCCESS;
}

CUresult soft_cuLibraryGetGlobal(CUdeviceptr *ret, size_t *ret_bytes, CUlibrary h, const char *name)
{
	MODULES_STAY;
	struct module *m;
	CUresult e = library_module_here(h, &m);

	if (e)
		return e;
	return name ? module_global(m, name, ret, ret_bytes, false) : CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuLibraryGetManaged(CUdeviceptr *ret, size_t *ret_bytes, CUlibrary h, const char *name)
{
	MODULES_STAY;
	struct module *m;
	CUresult e = library_module_here(h, &m);

	if (e)
		return e;
	return name ? module_global(m, name, ret, ret_bytes, true) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- kernels ---- */

CUresult soft_cuKernelGetFunction(CUfunction *ret, CUkernel h)
{
	MODULES_STAY;
	struct function *f;
	struct context *c;
	struct kernel *k;
	CUresult e = context_current(&c);

	if (!e)
		e = kernel_find(h, &k);
	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	e = function_find((CUfunction)k, c, &f);
	if (!e)
		*ret = (CUfunction)f;
	return e;
}

CUresult soft_cuKernelGetLibrary(CUlibrary *ret, CUkernel h)
{
	MODULES_STAY;
	struct kernel *k;
	CUresult e = kernel_find(h, &k);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUlibrary)k->library;
	return CUDA_SUCCESS;
}

CUresult soft_cuKernelGetName(const char **ret, CUkernel h)
{
	MODULES_STAY;
	struct kernel *k;
	CUresult e = kernel_find(h, &k);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = k->kernel->name;
	return CUDA_SUCCESS;
}

CUresult soft_cuKernelGetParamInfo(CUkernel h, size_t index, size_t *ret_offset, size_t *ret_bytes)
{
	MODULES_STAY;
	struct kernel *k;
	CUresult e = kernel_find(h, &k);

	return e ? e : function_param_info(k->kernel, index, ret_offset, ret_bytes);
}

CUresult soft_cuKernelGetParamCount(CUkernel h, size_t *ret)
{
	MODULES_STAY;
	struct kernel *k;
	CUresult e = kernel_find(h, &k);

	return e ? e : function_param_count(k->kernel, ret);
}

CUresult soft_cuKernelGetAttribute(int *ret, CUfunction_attribute attribute, CUkernel h, CUdevice ordinal)
{
	MODULES_STAY;
	struct kernel *k;
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (!e)
		e = kernel_find(h, &k);
	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	return function_attribute(k->kernel, &k->settings[ordinal], attribute, ret);
}

CUresult soft_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel h, CUdevice ordinal)
{
	MODULES_STAY;
	struct kernel *k;
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (!e)
		e = kernel_find(h, &k);
	if (e)
		return e;
	e = settings_set(&k->settings[ordinal], k->kernel, attribute, value);
	if (!e)
		k->settings_made[ordinal] = true;
	return e;
}

CUresult soft_cuKernelSetCacheConfig(CUkernel h, CUfunc_cache config, CUdevice ordinal)
{
	MODULES_STAY;
	struct kernel *k;
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (!e)
		e = kernel_find(h, &k);
	if (e)
		return e;
	return (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
