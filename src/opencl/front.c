/* front.c: see front.h. */
#include "opencl/front.h"
#include "core/account.h"
#include "core/attach.h"
#include "core/behind.h"
#include "core/log.h"
#include "opencl/layer.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

static const char *const versions[] = { ".1", "", NULL };
static const char *const folders[] = {
	"/usr/local/cuda/lib64",
	"/opt/intel/oneapi/compiler/latest/lib",
	"/opt/rocm/lib",
	NULL,
};
static const struct behind behind = { .stem = "libOpenCL.so",
				      .versions = versions,
				      .last = folders,
				      .symbol = "clGetPlatformIDs",
				      .setting = "METE_OPENCL_LOADER",
				      .remedy = "install an ICD loader (Debian: ocl-icd-libopencl1)" };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the start */
static bool started;
static __thread bool asking;
static struct _cl_icd_dispatch loader;

/* Any call may land in these: the caller cleans its arguments away, in every convention that we build for. */
static cl_int no_loader(void)
{
	return CL_PLATFORM_NOT_FOUND_KHR;
}

static cl_int no_call(void)
{
	return CL_INVALID_OPERATION;
}

static void *no_handle(void)
{
	return NULL;
}

static void **entry_of(const struct _cl_icd_dispatch *table, const struct front_call *c)
{
	return (void **)(void *)((char *)table + c->offset);
}

/* What the loader lacks, fails. Release: whoever jumps to a body of ours sees its tables filled. */
static void put_all(void **to, const struct _cl_icd_dispatch *table, void *otherwise)
{
	for (unsigned int i = 0; i < front_count; i++) {
		void *entry = *entry_of(table, &front_calls[i]);

		if (!*entry_of(&loader, &front_calls[i]))
			entry = front_calls[i].handle ? (void *)no_handle : otherwise;
		__atomic_store_n(&to[i], entry, __ATOMIC_RELEASE);
	}
}

/* The loader finds its drivers and layers within a program's first call of it. */
static void ask_platforms(void)
{
	cl_uint count;

	asking = true;
	loader.clGetPlatformIDs(0, NULL, &count);
	asking = false;
}

/* False: there is none, or one that is older than what the face calls. */
static bool find_loader(void)
{
	void *library = behind_find(&behind);

	if (!library)
		return false;
	if (attach_wanted() && !dlsym(library, "clEnqueueBarrierWithWaitList")) {
		log_line("the OpenCL loader is older than OpenCL 1.2, and mete meters none such; install a newer one");
		return false;
	}
	for (unsigned int i = 0; i < front_count; i++)
		*entry_of(&loader, &front_calls[i]) = dlsym(library, front_calls[i].symbol);
	return true;
}

static void start_locked(void)
{
	account_init();
	if (!find_loader()) {
		put_all(shim_table, &loader, (void *)no_loader);
		return;
	}
	put_all(front_own, &loader, (void *)no_call);
	if (attach_wanted())
		ask_platforms();
	put_all(shim_table, attach_wanted() ? layer_front(&loader) : &loader, (void *)no_call);
}

/*
 * A driver or a layer may itself call what the loader exports: this thread gets the loader's own meanwhile. Others
 * wait: a context that they made now would be of devices that nobody meters.
 */
void **shim_start(void)
{
	int saved = errno;

	if (asking)
		return front_own;
	pthread_mutex_lock(&lock);
	if (!started)
		start_locked();
	started = true;
	pthread_mutex_unlock(&lock);
	errno = saved;
	return shim_table;
}
