/*
 * cudnn.c: cuDNN's front on the software device.
 *
 * NVIDIA's cuDNN computes on NVIDIA's driver only, and there is no other: what asks it to compute is refused, with the
 * status NOT_SUPPORTED and a reason. But frameworks make a handle long before they know whether they will ever compute
 * with it (XLA before it compiles anything), and give the device up where they cannot. So a handle can be made, has a
 * stream, and is destroyed. Versions, properties and the names of errors are the real library's, unchanged.
 *
 * Facts: NVIDIA cuDNN API reference 9, "cudnnStatus_t", "cudnnCreate", "cudnnGetLastErrorString".
 */
#include "fronts/cudnn_refused.h"
#include "fronts/real.h"
#include "softdev/log.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	CUDNN_STATUS_SUCCESS = 0,
	CUDNN_STATUS_NOT_INITIALIZED = 1001,
	CUDNN_STATUS_BAD_PARAM_NULL_POINTER = 2002,
	CUDNN_STATUS_NOT_SUPPORTED = 3000,
	CUDNN_STATUS_ALLOC_FAILED = 4003,
};

struct handle {
	void *stream;
};

static const char *const names[] = { "libcudnn.so.9", NULL };
static const char *const wheels[] = { "nvidia/cudnn/lib", NULL };
static struct real real = { .name = names,
			    .wheel = wheels,
			    .variable = "METE_CUDNN",
			    .what = "cuDNN (libcudnn)",
			    .package = "nvidia-cudnn-cu13",
			    .once = PTHREAD_ONCE_INIT };
static _Thread_local const char *refused_call;

static void open_once(void)
{
	real_open(&real);
}

#define EXPORT __attribute__((visibility("default")))
#define REAL(call) ((__typeof__(&call))real_symbol(&real, open_once, #call))

/* A call that goes to the real library as it is; without one it has the answer `otherwise`. */
#define PASS(type, call, parameters, arguments, otherwise)                                                             \
	type call parameters;                                                                                          \
	EXPORT type call parameters                                                                                    \
	{                                                                                                              \
		__typeof__(&call) f = REAL(call);                                                                      \
		return f ? f arguments : otherwise;                                                                    \
	}

PASS(size_t, cudnnGetVersion, (void), (), 0)
PASS(size_t, cudnnGetCudartVersion, (void), (), 0)
PASS(size_t, cudnnGetMaxDeviceVersion, (void), (), 0)
PASS(int, cudnnGetProperty, (int which, int *ret), (which, ret), CUDNN_STATUS_NOT_INITIALIZED)
PASS(int, cudnnGraphVersionCheck, (void), (), CUDNN_STATUS_NOT_INITIALIZED)
PASS(int, cudnnOpsVersionCheck, (void), (), CUDNN_STATUS_NOT_INITIALIZED)
PASS(int, cudnnCnnVersionCheck, (void), (), CUDNN_STATUS_NOT_INITIALIZED)
PASS(int, cudnnAdvVersionCheck, (void), (), CUDNN_STATUS_NOT_INITIALIZED)
PASS(int, cudnnSubquadraticOpsVersionCheck, (void), (), CUDNN_STATUS_NOT_INITIALIZED)
PASS(const char *, cudnnGetErrorString, (int status), (status),
     status ? "CUDNN_STATUS_NOT_INITIALIZED: NVIDIA's cuDNN was not found; install the package nvidia-cudnn-cu13, or "
	      "name it with METE_CUDNN"
	    : "CUDNN_STATUS_SUCCESS")

/* ---- a handle, which computes nothing ---- */

int cudnnCreate(struct handle **ret);
EXPORT int cudnnCreate(struct handle **ret)
{
	if (!ret)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (!REAL(cudnnGetVersion)) {
		log_line("cudnnCreate: NVIDIA's cuDNN was not found; install the package %s, or name it with %s",
			 real.package, real.variable);
		return CUDNN_STATUS_NOT_INITIALIZED;
	}
	*ret = calloc(1, sizeof(**ret));
	return *ret ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED;
}

int cudnnDestroy(struct handle *handle);
EXPORT int cudnnDestroy(struct handle *handle)
{
	free(handle);
	return CUDNN_STATUS_SUCCESS;
}

int cudnnSetStream(struct handle *handle, void *stream);
EXPORT int cudnnSetStream(struct handle *handle, void *stream)
{
	if (!handle)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	handle->stream = stream;
	return CUDNN_STATUS_SUCCESS;
}

int cudnnGetStream(struct handle *handle, void **ret);
EXPORT int cudnnGetStream(struct handle *handle, void **ret)
{
	if (!handle || !ret)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	*ret = handle->stream;
	return CUDNN_STATUS_SUCCESS;
}

/* ---- all else ---- */

static int refuse(const char *call)
{
	static atomic_bool said;

	refused_call = call;
	if (!atomic_exchange(&said, true))
		log_line("%s: NVIDIA's cuDNN computes on NVIDIA's driver only, so that convolutions and what else "
			 "needs it are not supported on the software device; compute them without cuDNN",
			 call);
	return CUDNN_STATUS_NOT_SUPPORTED;
}

#define REFUSE(call)                                                                                                   \
	int cudnn##call(void);                                                                                         \
	EXPORT int cudnn##call(void)                                                                                   \
	{                                                                                                              \
		return refuse("cudnn" #call);                                                                          \
	}

CUDNN_REFUSED(REFUSE)

void cudnnGetLastErrorString(char *ret, size_t bytes);
EXPORT void cudnnGetLastErrorString(char *ret, size_t bytes)
{
	if (!ret || !bytes)
		return;
	*ret = 0;
	if (refused_call)
		snprintf(ret, bytes, "%s: NVIDIA's cuDNN computes on NVIDIA's driver only (mete software device)",
			 refused_call);
}
