/* start.c: see start.h. */
#include "hip/start.h"
#include "base/own_note.h"
#include "core/account.h"
#include "core/attach.h"
#include "core/faces.h"
#include "core/shape.h"
#include "hip/devices.h"
#include "hip/inside.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

OWN_NOTE("HIP's face");

_Atomic int start_is;
__thread unsigned int inside_depth;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards bound and the start */
static bool bound;
static __thread hipError_t last_refusal;

static void *find_exported(void *handle, const char *name)
{
	return dlsym(handle, name);
}

static void *find_symbol(void *handle, const char *name)
{
	return shape_find(find_exported, handle, name);
}

static void pass_all(void)
{
	for (unsigned int i = 0; i < HIP_CALL_COUNT; i++)
		__atomic_store_n(&((void **)&shim_table)[i], ((void **)&shim_real)[i], __ATOMIC_RELEASE);
}

static void bind_locked(void)
{
	void *library;

	account_init();
	library = behind_find(shape.behind);
	if (attach_wanted() && !faces_join_as(face, shape.library))
		library = NULL;
	if (!library) {
		shim_refuse(hipErrorNoDevice);
		shape_pass(NULL, NULL);
		return;
	}
	shape_pass(find_exported, library);
	shim_bind(find_symbol, library);
	if (!attach_wanted())
		pass_all();
}

void **shim_start(void)
{
	int saved = errno;

	pthread_mutex_lock(&lock);
	if (!bound)
		bind_locked();
	bound = true;
	pthread_mutex_unlock(&lock);
	errno = saved;
	return (void **)&shim_table;
}

static enum start_state start_locked(void)
{
	enum start_state is = (enum start_state)atomic_load_explicit(&start_is, memory_order_relaxed);

	if (is == START_METERED || is == START_OPEN)
		return is;
	switch (faces_begin(face)) {
	case FACES_METERED:
		devices_match();
		return START_METERED;
	case FACES_OPEN:
		devices_keep();
		return START_OPEN;
	default:
		return START_REFUSED;
	}
}

enum start_state start_now(void)
{
	enum start_state is;
	int saved = errno;

	pthread_mutex_lock(&lock);
	is = start_locked();
	atomic_store_explicit(&start_is, (int)is, memory_order_release);
	pthread_mutex_unlock(&lock);
	errno = saved;
	return is;
}

hipError_t start_no_memory(void)
{
	last_refusal = hipErrorOutOfMemory;
	return hipErrorOutOfMemory;
}

/* The library knows nothing of what was refused here. */
static hipError_t told(hipError_t theirs)
{
	return last_refusal == hipSuccess ? theirs : last_refusal;
}

hipError_t shim_hipGetLastError(void)
{
	hipError_t r = told(shim_real.hipGetLastError());

	last_refusal = hipSuccess;
	return r;
}

hipError_t shim_hipExtGetLastError(void)
{
	hipError_t r = told(shim_real.hipExtGetLastError());

	last_refusal = hipSuccess;
	return r;
}

hipError_t shim_hipPeekAtLastError(void)
{
	return told(shim_real.hipPeekAtLastError());
}

/* What a look-up by name gave becomes what programs reach under that name. */
static void lead_here(hipError_t r, void **function)
{
	for (unsigned int i = 0; r == hipSuccess && function && *function && i < HIP_CALL_COUNT; i++)
		if (((void **)&shim_real)[i] == *function) {
			*function = ((void **)&shim_table)[i];
			return;
		}
}

hipError_t shim_hipGetProcAddress(const char *symbol, void **pfn, int hipVersion, uint64_t flags, int *symbolStatus)
{
	hipError_t r = shim_real.hipGetProcAddress(symbol, pfn, hipVersion, flags, symbolStatus);

	lead_here(r, pfn);
	return r;
}

hipError_t shim_hipGetProcAddress_spt(const char *symbol, void **pfn, int hipVersion, uint64_t flags, int *symbolStatus)
{
	hipError_t r = shim_real.hipGetProcAddress_spt(symbol, pfn, hipVersion, flags, symbolStatus);

	lead_here(r, pfn);
	return r;
}

hipError_t shim_hipGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags, int *status)
{
	hipError_t r = shim_real.hipGetDriverEntryPoint(symbol, funcPtr, flags, status);

	lead_here(r, funcPtr);
	return r;
}

hipError_t shim_hipGetDriverEntryPoint_spt(const char *symbol, void **funcPtr, unsigned long long flags, int *status)
{
	hipError_t r = shim_real.hipGetDriverEntryPoint_spt(symbol, funcPtr, flags, status);

	lead_here(r, funcPtr);
	return r;
}

void start_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	inside_depth = 0;
	atomic_store_explicit(&start_is, START_UNKNOWN, memory_order_relaxed);
}
