/*
 * register.c: what the constructors of programs that nvcc built tell: images, kernels, variables, and the way back from
 * the address of a stub or of a variable's shadow to them.
 *
 * Registering costs a few allocations and no driver: an image is loaded when something in it is used first, into a
 * library, which belongs to no context, so that one load serves every device. Names live in a table that is read
 * without a lock: nodes are only added, and an image that is unregistered (dlclose) leaves its nodes empty, to be
 * filled again when the same address is registered anew.
 */
#include "runtime/rt.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1024 };

struct binary {
	void *handle; /* first: programs hold the address of this, and look at nothing behind it */
	void *image;
	pthread_mutex_t mutex; /* guards loading */
	_Atomic(CUlibrary) library;
	struct managed *managed;
	struct binary *next;
};

struct managed {
	struct managed *next;
	void **host; /* the program's pointer to the variable */
	const char *name;
	CUdeviceptr address; /* 0 until the image is loaded */
	size_t size_bytes;
};

struct rt_function {
	struct rt_function *next; /* set before the node can be found */
	const void *key;
	bool is_variable;
	_Atomic(struct binary *) binary; /* NULL: unregistered */
	const char *name;
	size_t size_bytes; /* of a variable */
	_Atomic(CUkernel) kernel;
};

static pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER; /* guards adding, and the list of binaries */
static _Atomic(struct rt_function *) table[BUCKETS];
static struct binary *binaries;

static size_t bucket_of(const void *key)
{
	return ((uintptr_t)key * 0x9E3779B97F4A7C15u) >> 54;
}

static struct rt_function *node_find(const void *key, bool is_variable)
{
	struct rt_function *f =
		atomic_load_explicit(&table[bucket_of(key)], memory_order_acquire); /* pairs with node_add */

	while (f && (f->key != key || f->is_variable != is_variable))
		f = f->next;
	return f;
}

static struct rt_function *node_add(struct binary *b, const void *key, bool is_variable, const char *name,
				    size_t size_bytes)
{
	struct rt_function *f;

	pthread_mutex_lock(&table_mutex);
	f = node_find(key, is_variable);
	if (!f) {
		f = calloc(1, sizeof(*f));
		if (f) {
			f->key = key;
			f->is_variable = is_variable;
			f->name = name;
			f->size_bytes = size_bytes;
			atomic_store_explicit(&f->binary, b, memory_order_relaxed);
			f->next = atomic_load_explicit(&table[bucket_of(key)], memory_order_relaxed);
			atomic_store_explicit(&table[bucket_of(key)], f, memory_order_release); /* node_find */
		}
	} else if (!atomic_load_explicit(&f->binary, memory_order_relaxed)) {
		f->name = name;
		f->size_bytes = size_bytes;
		atomic_store_explicit(&f->kernel, NULL, memory_order_relaxed);
		atomic_store_explicit(&f->binary, b, memory_order_release);
	}
	pthread_mutex_unlock(&table_mutex);
	return f;
}

/* ---- what the constructors call ---- */

void **__cudaRegisterFatBinary(void *fatCubin)
{
	struct binary *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->image = fatCubin;
	pthread_mutex_init(&b->mutex, NULL);
	pthread_mutex_lock(&table_mutex);
	b->next = binaries;
	binaries = b;
	pthread_mutex_unlock(&table_mutex);
	return &b->handle;
}

void __cudaRegisterFatBinaryEnd(void **fatCubinHandle)
{
}

void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun, const char *deviceName,
			    int thread_limit, struct uint3 *tid, struct uint3 *bid, struct dim3 *bDim,
			    struct dim3 *gDim, int *wSize)
{
	if (fatCubinHandle)
		node_add((struct binary *)fatCubinHandle, hostFun, false, deviceName, 0);
}

void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress, const char *deviceName, int ext,
		       size_t size, int constant, int global)
{
	if (fatCubinHandle)
		node_add((struct binary *)fatCubinHandle, hostVar, true, deviceName, size);
}

void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress, char *deviceAddress,
			      const char *deviceName, int ext, size_t size, int constant, int global)
{
	struct binary *b = (struct binary *)fatCubinHandle;
	struct managed *m = b ? calloc(1, sizeof(*m)) : NULL;

	if (!m)
		return;
	m->host = hostVarPtrAddress;
	m->name = deviceName;
	m->size_bytes = size;
	m->next = b->managed;
	b->managed = m;
}

static void managed_free(struct binary *b)
{
	while (b->managed) {
		struct managed *m = b->managed;

		b->managed = m->next;
		free(m);
	}
}

void __cudaUnregisterFatBinary(void **fatCubinHandle)
{
	struct binary *b = (struct binary *)fatCubinHandle, **at;
	CUlibrary library;

	if (!b)
		return;
	pthread_mutex_lock(&table_mutex);
	for (at = &binaries; *at && *at != b; at = &(*at)->next)
		;
	if (*at)
		*at = b->next;
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct rt_function *f = atomic_load_explicit(&table[i], memory_order_relaxed); f; f = f->next)
			if (atomic_load_explicit(&f->binary, memory_order_relaxed) == b) {
				atomic_store_explicit(&f->kernel, NULL, memory_order_relaxed);
				atomic_store_explicit(&f->binary, NULL, memory_order_release);
			}
	pthread_mutex_unlock(&table_mutex);
	library = atomic_load_explicit(&b->library, memory_order_acquire);
	/* Unloading waits for the device: a program that ends leaves it to the driver, whatever still runs there. */
	if (library && !rt_exiting())
		rt_driver.cuLibraryUnload(library);
	managed_free(b);
	pthread_mutex_destroy(&b->mutex);
	free(b);
}

/* ---- loading ---- */

static cudaError_t managed_place(struct binary *b, CUlibrary library)
{
	for (struct managed *m = b->managed; m; m = m->next) {
		size_t bytes;
		cudaError_t e = rt_error(rt_driver.cuLibraryGetManaged(&m->address, &bytes, library, m->name));

		if (e)
			return e == cudaErrorSymbolNotFound ? cudaErrorInvalidSymbol : e;
		*m->host = (void *)(uintptr_t)m->address;
	}
	return cudaSuccess;
}

static cudaError_t load_locked(struct binary *b, CUlibrary *ret)
{
	cudaError_t e = rt_error(rt_driver.cuLibraryLoadData(ret, b->image, NULL, NULL, 0, NULL, NULL, 0));

	if (e)
		return e;
	e = managed_place(b, *ret);
	if (e)
		rt_driver.cuLibraryUnload(*ret);
	else
		atomic_store_explicit(&b->library, *ret, memory_order_release); /* pairs with binary_load */
	return e;
}

/* The image's library; a context must be current. */
static cudaError_t binary_load(struct binary *b, CUlibrary *ret)
{
	cudaError_t e = cudaSuccess;

	*ret = atomic_load_explicit(&b->library, memory_order_acquire);
	if (*ret)
		return cudaSuccess;
	pthread_mutex_lock(&b->mutex);
	*ret = atomic_load_explicit(&b->library, memory_order_relaxed);
	if (!*ret)
		e = load_locked(b, ret);
	pthread_mutex_unlock(&b->mutex);
	return e;
}

char __cudaInitModule(void **fatCubinHandle)
{
	CUlibrary library;
	cudaError_t e = fatCubinHandle ? rt_ready() : cudaErrorInvalidValue;

	if (!e)
		e = binary_load((struct binary *)fatCubinHandle, &library);
	return !rt_done(e);
}

/* ---- kernels ---- */

struct rt_function *rt_function_find(const void *entry)
{
	return node_find(entry, false);
}

cudaError_t rt_function_kernel(struct rt_function *f, CUkernel *ret)
{
	struct binary *b;
	CUlibrary library;
	cudaError_t e;

	*ret = f ? atomic_load_explicit(&f->kernel, memory_order_acquire) : NULL;
	if (*ret)
		return cudaSuccess;
	b = f ? atomic_load_explicit(&f->binary, memory_order_acquire) : NULL;
	if (!b)
		return cudaErrorInvalidDeviceFunction;
	e = binary_load(b, &library);
	if (!e)
		e = rt_error(rt_driver.cuLibraryGetKernel(ret, library, f->name));
	if (!e)
		atomic_store_explicit(&f->kernel, *ret, memory_order_release);
	return e == cudaErrorSymbolNotFound ? cudaErrorInvalidDeviceFunction : e;
}

void rt_kernel_remember(CUkernel kernel)
{
	/* A node of no image whose kernel is itself. */
	struct rt_function *f = node_add(NULL, kernel, false, NULL, 0);

	if (f)
		atomic_store_explicit(&f->kernel, kernel, memory_order_release);
}

static bool kernel_is(CUkernel kernel, CUkernel wanted, CUfunction function)
{
	CUfunction f = NULL;

	if (!kernel || wanted)
		return kernel && kernel == wanted;
	return !rt_driver.cuKernelGetFunction(&f, kernel) && f == function;
}

const void *rt_kernel_entry(CUkernel kernel, CUfunction function)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct rt_function *f = atomic_load_explicit(&table[i], memory_order_acquire); f; f = f->next)
			if (!f->is_variable &&
			    kernel_is(atomic_load_explicit(&f->kernel, memory_order_acquire), kernel, function))
				return f->key;
	return kernel ? (const void *)kernel : (const void *)function;
}

cudaError_t rt_kernel(const void *func, CUkernel *ret)
{
	cudaError_t e = rt_ready();

	return e ? e : rt_function_kernel(rt_function_find(func), ret);
}

cudaError_t rt_func(const void *func, CUfunction *ret)
{
	CUkernel k;
	cudaError_t e = rt_kernel(func, &k);

	return e ? e : rt_error(rt_driver.cuKernelGetFunction(ret, k));
}

#if CUDART_MAJOR >= 12
/* What the stub keeps and gives back to __cudaLaunchKernel is ours alone: the node, so that the image is loaded at the
 * launch. */
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *entry)
{
	struct rt_function *f = rt_function_find(entry);

	if (!kernel || !f)
		return rt_done(kernel ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue);
	*kernel = (cudaKernel_t)f;
	return cudaSuccess;
}

cudaError_t cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
	CUkernel k = NULL;
	cudaError_t e = kernelPtr && entryFuncAddr ? rt_kernel(entryFuncAddr, &k) : cudaErrorInvalidValue;

	if (!e) {
		rt_kernel_remember(k);
		*kernelPtr = k;
	}
	return rt_done(e);
}
#endif

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr)
{
	CUfunction f = NULL;
	cudaError_t e = functionPtr ? rt_func(symbolPtr, &f) : cudaErrorInvalidValue;

	if (!e)
		*functionPtr = f;
	return rt_done(e);
}

/* ---- variables ---- */

static bool managed_find(const void *symbol, struct rt_symbol *ret)
{
	bool found = false;

	pthread_mutex_lock(&table_mutex);
	for (struct binary *b = binaries; b && !found; b = b->next)
		for (struct managed *m = b->managed; m && !found; m = m->next)
			if (symbol == (void *)m->host || (m->address && m->address == (uintptr_t)symbol)) {
				*ret = (struct rt_symbol){ m->address, m->size_bytes };
				found = m->address != 0;
			}
	pthread_mutex_unlock(&table_mutex);
	return found;
}

cudaError_t rt_symbol_find(const void *symbol, struct rt_symbol *ret)
{
	struct rt_function *f = symbol ? node_find(symbol, true) : NULL;
	struct binary *b = f ? atomic_load_explicit(&f->binary, memory_order_acquire) : NULL;
	cudaError_t e = rt_ready();
	CUlibrary library;

	if (e)
		return e;
	if (!b)
		return symbol && managed_find(symbol, ret) ? cudaSuccess : cudaErrorInvalidSymbol;
	e = binary_load(b, &library);
	if (!e)
		e = rt_error(rt_driver.cuLibraryGetGlobal(&ret->address, &ret->size_bytes, library, f->name));
	return e == cudaErrorSymbolNotFound ? cudaErrorInvalidSymbol : e;
}

cudaError_t rt_symbol_at(const struct rt_symbol *s, size_t offset, size_t count, void **ret)
{
	size_t end;

	if (__builtin_add_overflow(offset, count, &end) || end > s->size_bytes)
		return cudaErrorInvalidValue;
	*ret = (void *)(uintptr_t)(s->address + offset);
	return cudaSuccess;
}

cudaError_t rt_symbol_place(const void *symbol, size_t offset, size_t count, void **ret)
{
	struct rt_symbol s;
	cudaError_t e = rt_symbol_find(symbol, &s);

	return e ? e : rt_symbol_at(&s, offset, count, ret);
}

cudaError_t cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
	struct rt_symbol s;
	cudaError_t e = devPtr ? rt_symbol_find(symbol, &s) : cudaErrorInvalidValue;

	if (!e)
		*devPtr = (void *)(uintptr_t)s.address;
	return rt_done(e);
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
	struct rt_symbol s;
	cudaError_t e = size ? rt_symbol_find(symbol, &s) : cudaErrorInvalidValue;

	if (!e)
		*size = s.size_bytes;
	return rt_done(e);
}
