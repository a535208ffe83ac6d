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

/*
 * The driver's calls; valid after rt_loaded(). Calls that the driver lacks return
 * CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER.
 */
extern struct cuda_table rt_driver;
extern int rt_driver_version; /* as reported by cuDriverGetVersion; 0: there is no driver */

cudaError_t rt_find(void);   /* loads the driver's library; needs no device */
cudaError_t rt_loaded(void); /* ... and cuInit has succeeded */
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
	CUcontext context;   /* the context that this library made current here */
	unsigned generation; /* the generation of its device at that time */
	unsigned depth;	     /* of the stack of launch configurations */
	struct rt_launch launch[8];
};

extern __thread struct rt_thread rt_thread;

/* Bracket a call in the generated per-thread twins of calls without a stream. */
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

cudaError_t rt_error(CUresult r);	      /* converts a driver's error to the runtime's */
cudaError_t rt_done(cudaError_t e);	      /* records the error. Value: e */
cudaError_t rt_unsupported(const char *call); /* logs one line per call; recorded */
void rt_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- contexts (context.c) ---- */

cudaError_t rt_ready(void); /* makes a context current on this thread: the program's own, or the device's primary */
cudaError_t rt_context_use(int device);		    /* makes the device's primary context current */
cudaError_t rt_device(int *ret);		    /* the current device; creates no context */
cudaError_t rt_device_good(int device);		    /* Value: success, cudaErrorInvalidDevice, or the reason that
						     * there is no driver */
cudaError_t rt_primary(int device, CUcontext *ret); /* retained once per process */

/* A call of the runtime that is one call of the driver, in the current context. */
#define RT_CALL(call, ...) rt_done(RT_TRY(call, __VA_ARGS__))
/* The same without recording the error. */
#define RT_TRY(call, ...)                                                                                              \
	({                                                                                                             \
		cudaError_t rt_e = rt_ready();                                                                         \
		rt_e ? rt_e : rt_error(rt_driver.call(__VA_ARGS__));                                                   \
	})
/* A driver's call with a twin named `twin` for the per-thread default stream. */
#define RT_TWIN(call, twin) (rt_thread.per_thread ? rt_driver.call##_##twin : rt_driver.call)

/* ---- what programs registered (register.c) ---- */

struct rt_function; /* a kernel, found by the address of its stub */

struct rt_symbol {
	CUdeviceptr address; /* in the current context */
	size_t size_bytes;
};

struct rt_function *rt_function_find(const void *entry);
cudaError_t rt_function_kernel(struct rt_function *f, CUkernel *ret); /* loads its module at first use */
/* For calls that take `const void *func`: a stub's address, or a kernel that the runtime returned. */
cudaError_t rt_kernel(const void *func, CUkernel *ret);
cudaError_t rt_func(const void *func, CUfunction *ret); /* in the current context */
void rt_kernel_remember(CUkernel kernel);		/* it was returned to the program: may be passed as func */
/* The program's name of a kernel that the driver reports in either form; slow. */
const void *rt_kernel_entry(CUkernel kernel, CUfunction function);
cudaError_t rt_symbol_find(const void *symbol, struct rt_symbol *ret);
/* The address of `count` bytes at `offset` in a variable; cudaErrorInvalidValue: they are not all in it. */
cudaError_t rt_symbol_at(const struct rt_symbol *s, size_t offset, size_t count, void **ret);
cudaError_t rt_symbol_place(const void *symbol, size_t offset, size_t count, void **ret);

/* ---- texels (channel.c) ---- */

/* Converts a description to the driver's format, and back; cudaErrorInvalidChannelDescriptor: there is none. */
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
