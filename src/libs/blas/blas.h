/*
 * blas.h: cuBLAS and cuBLASLt of the software device: handles, and the execution of calls.
 *
 * A call fills a struct blas_work (generated from api/cublas-soft.toml) and goes to blas_call(), which checks it
 * (checks.h). The body's begin takes scalars from host memory or notes their addresses, and launches a kernel with the
 * struct as its parameters, or a struct product. The kernel calls run_native() on the device's threads, in stream
 * order.
 *
 * A handle of cuBLAS is also one of cuBLASLt. Scalars and results follow the handle's pointer mode as documented: a
 * call with a result in host memory waits for it.
 */
#pragma once

#include "cublas_forward.h"
#include "cublas_soft.h"
#include "libs/common/device.h"
#include "libs/blas/product.h"
#include "libs/blas/status.h"
#include "libs/blas/work.h"

#include <pthread.h>

/*
 * The value of cublasGetVersion. Its major number is the one in the library's name (BLAS_MAJOR), because programs check
 * that. 13.1: the headers from which api/cublas.toml was made.
 */
#define BLAS_VERSION(major) ((major) == 12 ? 120900 : 130100)

_Static_assert(sizeof(struct blas_work) <= DEVICE_PARAM_BYTES, "a kernel's parameters");

#define BLAS_MAGIC UINT64_C(0x6d6574652d626c61)

/* struct cublasContext and struct cublasLtContext of the headers. */
struct blas_handle {
	uint64_t magic;
	const struct device_driver *driver;
	CUcontext context;
	cudaStream_t stream;
	cublasPointerMode_t pointer_mode;
	cublasMath_t math_mode;
	cublasAtomicsMode_t atomics_mode;
	cublasEmulationStrategy_t emulation;
	int sm_count;
	CUdeviceptr workspace; /* charged as the real library's; its first bytes receive results; 0: of cuBLASLt */
	pthread_mutex_t result_mutex;
};

/*
 * For a process that cannot open files later, such as mete's worker: opens what the library needs, and takes the driver
 * by its path. Exported under a name that NVIDIA's libraries do not have.
 */
__attribute__((visibility("default"))) void mete_blas_prepare(const char *driver_path);

/* The size of `workspace`, by the device's compute capability. */
size_t blas_workspace_bytes(int major, int minor);

/* NULL: not a handle of this library. */
struct blas_handle *blas_handle_find(const void *handle);
cublasStatus_t blas_handle_new(void **ret, bool with_workspace);
cublasStatus_t blas_handle_free(void *handle);

cublasStatus_t blas_status_of(CUresult result);

/* Checks a generated call (checks.h), and runs it. */
cublasStatus_t blas_call(cublasHandle_t handle, struct blas_work *w, const char *symbol);
/* Logs one line, once per call. */
void blas_refused(const char *symbol);

/* Launches on the stream, with the handle's context. `work`: as device_launch()'s. */
cublasStatus_t blas_launch(struct blas_handle *h, uint32_t body, uint32_t blocks, cudaStream_t stream, const void *work,
			   size_t bytes);

/* ---- bodies: begin_BODY at the call, run_BODY on the device's threads ---- */

/* Begins what blas_check() found no fault with. */
typedef cublasStatus_t (*blas_begin)(struct blas_handle *h, struct blas_work *w);
typedef void (*blas_run)(struct soft_native *n, const struct blas_work *w);

#define BLAS_DECLARE(number, name) cublasStatus_t begin_##name(struct blas_handle *h, struct blas_work *w);
BLAS_EACH_BODY(BLAS_DECLARE)
#undef BLAS_DECLARE
