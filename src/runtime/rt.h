/*
 * rt.h: what the files of the runtime library share.
 *
 * The library is compiled once per major version of the API (CUDART_MAJOR 11, 12, 13), against the types and prototypes
 * of that version. Each call of the API is a plain function of its own name in the file of its noun; it is exported
 * when api/cudart-done.toml lists it. Everything reaches the device through the driver's table, rt_driver.
 *
 * A call's last act is rt_done(): it keeps the error for cudaGetLastError(). Inside the library, functions return
 * cudaError_t without recording it.
 */
#pragma once

#include "cuda_table.h"

#if CUDART_MAJOR == 11
#include "cudart11_calls.h"
#elif CUDART_MAJOR == 12
#include "cudart12_calls.h"
#elif CUDART_MAJOR == 13
#include "cudart13_calls.h"
#else
#error "CUDART_MAJOR is 11, 12 or 13"
#endif

#include <stdbool.h>

enum { RT_DEVICES_MAX = 64 };

/* ---- the driver (driver.c) ---- */

/* The driver's calls; valid after rt_loaded(). What a driver lacks answers CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER. */
extern struct cuda_table rt_driver;
extern int rt_driver_version; /* as cuDriverGetVersion tells; 0: there is no driver */

cudaError_t rt_find(void);   /* the driver's library is loaded; needs no device */
cudaError_t rt_loaded(void); /* ... and cuInit succeeded */
bool rt_exiting(void);	     /* exit() has begun */

/* ---- threads (thread.c) ---- */

struct rt_launch {
	dim3 grid, block;
	size_t shared_bytes;
	cudaStream_t stream;
};

struct rt_thread {
	cudaError_t last, sticky;
	int device;	     /* chosen by cudaSetDevice, or 0 */
	unsigned per_thread; /* above 0: the call runs as its per-thread twin */
	CUcontext context;   /* what this library made current here */
	unsigned generation; /* of its device when it did */
	unsigned depth;	     /* of the stack of launch configurations */
	struct rt_launch launch[8];
};

extern __thread struct rt_thread rt_thread;

/* The generated per-thread twins of calls without a stream stand between these. */
void rt_per_thread_begin(void);
void rt_per_thread_end(void);

static inline cudaStream_t rt_stream_of_thread(cudaStream_t stream)
{
	return stream ? stream : (cudaStream_t)CU_STREAM_PER_THREAD;
}

/* ---- errors (error.c) ---- */

struct rt_error_name {
	int code;
	const char *name;
};

extern const struct rt_error_name rt_error_names[]; /* generated; ends with a name of NULL */

cudaError_t rt_error(CUresult r);	      /* the runtime's word for a driver's error */
cudaError_t rt_done(cudaError_t e);	      /* records; value: e */
cudaError_t rt_unsupported(const char *call); /* one line in the log per call; recorded */
void rt_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- contexts (context.c) ---- */

cudaError_t rt_ready(void); /* a context is current on this thread: the program's own, or the device's primary */
cudaError_t rt_context_use(int device);		    /* makes the device's primary context current */
cudaError_t rt_device(int *ret);		    /* the current device; makes no context */
cudaError_t rt_device_good(int device);		    /* success, cudaErrorInvalidDevice, or why there is no driver */
cudaError_t rt_primary(int device, CUcontext *ret); /* retained once per process */

/* A whole call that is one call of the driver, in the current context. */
#define RT_CALL(call, ...) rt_done(RT_TRY(call, __VA_ARGS__))
/* The same without recording, to go on with. */
#define RT_TRY(call, ...)                                                                                              \
	({                                                                                                             \
		cudaError_t rt_e = rt_ready();                                                                         \
		rt_e ? rt_e : rt_error(rt_driver.call(__VA_ARGS__));                                                   \
	})
/* A driver's call that has a twin named `twin` for the per-thread default stream. */
#define RT_TWIN(call, twin) (rt_thread.per_thread ? rt_driver.call##_##twin : rt_driver.call)

/* ---- what programs registered (register.c) ---- */

struct rt_function; /* a kernel, found by the address of its stub */

struct rt_symbol {
	CUdeviceptr address; /* in the current context */
	size_t size_bytes;
};

struct rt_function *rt_function_find(const void *entry);
cudaError_t rt_function_kernel(struct rt_function *f, CUkernel *ret); /* loads its module when needed */
/* For calls that take `const void *func`: a stub's address, or a kernel that the runtime gave out. */
cudaError_t rt_kernel(const void *func, CUkernel *ret);
cudaError_t rt_func(const void *func, CUfunction *ret); /* in the current context */
void rt_kernel_remember(CUkernel kernel);		/* given out: may be passed as func */
/* What a program calls the kernel that the driver tells of, as one or the other; slow. */
const void *rt_kernel_entry(CUkernel kernel, CUfunction function);
cudaError_t rt_symbol_find(const void *symbol, struct rt_symbol *ret);
/* The address of `count` bytes at `offset` in a variable; cudaErrorInvalidValue: they do not lie in it. */
cudaError_t rt_symbol_at(const struct rt_symbol *s, size_t offset, size_t count, void **ret);
cudaError_t rt_symbol_place(const void *symbol, size_t offset, size_t count, void **ret);

/* ---- texels (channel.c) ---- */

/* The driver's format of a description, and back; cudaErrorInvalidChannelDescriptor where there is none. */
cudaError_t rt_channel_format(const struct cudaChannelFormatDesc *d, CUarray_format *ret, unsigned *ret_channels);
cudaError_t rt_channel_desc(CUarray_format format, unsigned channels, struct cudaChannelFormatDesc *ret);
size_t rt_channel_bytes(CUarray_format format, unsigned channels); /* of one texel; 0: unknown format */

/* ---- arrays (array.c, copy_array.c) ---- */

struct rt_array {
	size_t width_bytes; /* of a row */
	size_t texel_bytes;
	CUDA_ARRAY3D_DESCRIPTOR desc;
};

cudaError_t rt_array_get(CUarray array, struct rt_array *ret); /* a context is current */
/* Translates; for copies and for nodes of graphs. A context is current. */
cudaError_t rt_copy3d(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *ret);
void rt_copy3d_tell(const CUDA_MEMCPY3D *c, struct cudaMemcpy3DParms *ret); /* and back */
