/* worker.c: a forwarded call at the worker; see blas_worker.h. */
#include "remote/blas/blas_worker.h"

#include "base/cleanup.h"
#include "remote/worker/fence.h"
#include "remote/worker/memory.h"
#include "wire/soft_native.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#define POINTER_MODE_UNKNOWN (-1)

static void *libraries[FORWARD_LIBRARIES];
static void *functions[CUBLAS_CALL_COUNT];

static void *open_one(const char *variable, const char *const names[])
{
	const char *chosen = getenv(variable);
	void *library = NULL;

	if (chosen && *chosen) {
		library = dlopen(chosen, RTLD_LAZY | RTLD_LOCAL);
		if (!library)
			worker_log("%s=%s: %s", variable, chosen, dlerror());
		return library;
	}
	for (size_t i = 0; names[i] && !library; i++)
		library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
	return library;
}

static bool driver_is_soft(const struct cuda_table *driver)
{
	static const CUuuid id = { SOFT_NATIVE_ID };
	const void *table = NULL;

	return driver->cuGetExportTable && driver->cuGetExportTable(&table, &id) == CUDA_SUCCESS && table;
}

/* The software device's library beside the driver's folder: allocated; NULL: no memory. */
static char *own_library(const char *driver_path, const char *name)
{
	char *path = NULL, *slash;
	_cleanup_free_ char *folder = strdup(driver_path);

	for (int i = 0; folder && i < 2 && (slash = strrchr(folder, '/')); i++)
		*slash = 0;
	return folder && asprintf(&path, "%s/libs/blas/%s", folder, name) >= 0 ? path : NULL;
}

/* It opens what it needs while files can be opened, and is told the driver that this process's calls go to. */
static void prepare(void *library, const char *driver_path)
{
	void (*f)(const char *) = library ? (void (*)(const char *))dlsym(library, "mete_blas_prepare") : NULL;

	if (f)
		f(driver_path);
}

void forward_libraries_open(const struct cuda_table *driver, const char *driver_path)
{
	bool soft = driver_is_soft(driver);
	_cleanup_free_ char *own_blas = soft ? own_library(driver_path, "libcublas.so.13") : NULL;
	_cleanup_free_ char *own_lt = soft ? own_library(driver_path, "libcublasLt.so.13") : NULL;
	const char *const blas[] = { own_blas ? own_blas : "libcublas.so.13", "libcublas.so.12", NULL };
	const char *const lt[] = { own_lt ? own_lt : "libcublasLt.so.13", "libcublasLt.so.12", NULL };

	if (soft)
		setenv("OPENBLAS_NUM_THREADS", "1", 1); /* the device's threads share products among themselves */
	libraries[FORWARD_CUBLAS] = open_one("METE_FORWARD_CUBLAS", blas);
	libraries[FORWARD_CUBLASLT] = open_one("METE_FORWARD_CUBLASLT", lt);
	for (size_t i = 0; i < FORWARD_LIBRARIES; i++)
		prepare(libraries[i], driver_path);
	for (size_t i = 0; i < CUBLAS_CALL_COUNT; i++) {
		void *library =
			libraries[strncmp(cublas_call_name[i], "cublasLt", 8) ? FORWARD_CUBLAS : FORWARD_CUBLASLT];

		functions[i] = library ? dlsym(library, cublas_call_name[i]) : NULL;
	}
}

void *forward_function(enum cublas_call call)
{
	return functions[call];
}

/* Values. */

void forward_get(struct forward_work *w, void *value, size_t bytes)
{
	remote_get(&w->work->in, value, bytes);
}

/*
 * How far it reaches from there only the library knows; kernels go there, which reach what the device reaches. That
 * it does not begin in this process's own memory is what matters here.
 */
bool forward_device_good(struct forward_work *w, uint64_t at)
{
	return !at || memory_good(w->work, at, 1);
}

void forward_get_device(struct forward_work *w, uint64_t *at)
{
	*at = 0;
	remote_get(&w->work->in, at, sizeof(*at));
	if (!w->work->in.bad && !forward_device_good(w, *at))
		w->strange = w->unsound = true;
}

CUstream forward_get_stream(struct forward_work *w)
{
	CUstream stream;
	uint64_t id;
	bool known;

	remote_get(&w->work->in, &id, sizeof(id));
	stream = worker_find_stream(w->work, id, &known);
	if (!known)
		w->unsound = true;
	return stream;
}

void forward_get_scalar(struct forward_work *w, struct forward_scalar *s, size_t bytes, unsigned int direction)
{
	uint64_t place, at;

	*s = (struct forward_scalar){ .size = bytes };
	remote_get(&w->work->in, &place, sizeof(place));
	if (place != FORWARD_IN_HOST && place != FORWARD_IN_DEVICE) {
		w->work->in.bad = true;
		return;
	}
	w->unsound = w->unsound || !bytes || bytes > sizeof(s->bytes) || (w->place && w->place != place);
	w->place = place;
	s->at = s->bytes;
	if (place == FORWARD_IN_DEVICE) {
		forward_get_device(w, &at);
		s->at = (void *)(uintptr_t)at;
	} else if (direction & FORWARD_IN && !w->unsound) {
		remote_get(&w->work->in, s->bytes, bytes);
	}
	s->given_out = place == FORWARD_IN_HOST && direction & FORWARD_OUT;
}

void forward_put(struct forward_work *w, const void *value, size_t bytes)
{
	remote_put(&w->work->out, value, bytes);
}

void forward_put_scalar(struct forward_work *w, const struct forward_scalar *s)
{
	if (s->given_out && w->status == CUBLAS_STATUS_SUCCESS)
		forward_put(w, s->bytes, s->size);
}

bool forward_ready(struct forward_work *w)
{
	cublasPointerMode_t mode =
		w->place == FORWARD_IN_DEVICE ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST;
	__typeof__(cublasSetPointerMode_v2) *set = functions[CUBLAS_CALL_cublasSetPointerMode_v2];

	if (w->work->in.bad || w->work->in.used != w->work->in.size || w->unsound || !w->function)
		return false;
	if (w->place && w->named->pointer_mode != (int)mode) {
		if (!set || set(w->handle, mode) != CUBLAS_STATUS_SUCCESS)
			return false;
		w->named->pointer_mode = (int)mode;
	}
	/* A result in the client's memory is waited for by the library. */
	if (w->work->head.flags & CALL_WAITS)
		worker_yield(w->work);
	return true;
}

int forward_refuse(struct forward_work *w)
{
	w->status = CUBLAS_STATUS_NOT_SUPPORTED;
	if (w->function)
		w->status = w->strange ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_INVALID_VALUE;
	return w->work->in.bad || (w->work->in.used != w->work->in.size && !w->unsound) ? -EPROTO : 0;
}

/* Handles. */

static int create(struct forward_work *w, enum forward_library library)
{
	struct forward_named *named;
	void *handle = NULL;
	int64_t version = 0;
	uint64_t id;
	int number = 0, r;

	forward_get(w, &id, sizeof(id));
	if (w->work->in.bad || w->work->in.used != w->work->in.size)
		return -EPROTO;
	if (!w->function) {
		w->status = CUBLAS_STATUS_NOT_INITIALIZED;
		worker_log("a program wants %s: it is not installed here",
			   library == FORWARD_CUBLAS ? "cuBLAS" : "cuBLASLt");
		return 0;
	}
	named = calloc(1, sizeof(*named));
	if (!named) {
		w->status = CUBLAS_STATUS_ALLOC_FAILED;
		return 0;
	}
	worker_yield(w->work);
	w->status = (int)((cublasStatus_t(*)(void **))w->function)(&handle);
	if (w->status != CUBLAS_STATUS_SUCCESS) {
		free(named);
		return 0;
	}
	*named = (struct forward_named){ library, handle, POINTER_MODE_UNKNOWN };
	r = worker_add(w->work, KIND_FORWARDED, id, handle, 0);
	if (r) {
		enum cublas_call end =
			library == FORWARD_CUBLAS ? CUBLAS_CALL_cublasDestroy_v2 : CUBLAS_CALL_cublasLtDestroy;

		if (functions[end])
			((cublasStatus_t(*)(void *))functions[end])(handle);
		free(named);
		w->status = CUBLAS_STATUS_ALLOC_FAILED;
		return r == -ENOSPC ? 0 : r;
	}
	worker_keep(w->work, id, named, free);
	if (library == FORWARD_CUBLAS && functions[CUBLAS_CALL_cublasGetVersion_v2])
		((__typeof__(cublasGetVersion_v2) *)functions[CUBLAS_CALL_cublasGetVersion_v2])(handle, &number);
	version = number;
	forward_put(w, &version, sizeof(version));
	return 0;
}

static int destroy(struct forward_work *w)
{
	if (w->work->in.bad || w->work->in.used != w->work->in.size)
		return -EPROTO;
	w->status =
		w->function ? (int)((cublasStatus_t(*)(void *))w->function)(w->handle) : CUBLAS_STATUS_NOT_SUPPORTED;
	worker_remove(w->work, w->id);
	return 0;
}

static int set_stream(struct forward_work *w)
{
	CUstream stream = forward_get_stream(w);

	if (!forward_ready(w))
		return forward_refuse(w);
	w->status = (int)((__typeof__(cublasSetStream_v2) *)w->function)(w->handle, (cudaStream_t)stream);
	return 0;
}

static int set_workspace(struct forward_work *w)
{
	uint64_t at, bytes;

	forward_get(w, &at, sizeof(at));
	forward_get(w, &bytes, sizeof(bytes));
	if (!w->work->in.bad && at && !worker_reaches(w->work, at, bytes))
		w->unsound = true;
	if (!forward_ready(w))
		return forward_refuse(w);
	w->status = (int)((__typeof__(cublasSetWorkspace_v2) *)w->function)(w->handle, (void *)(uintptr_t)at, bytes);
	return 0;
}

/* One word that the library remembers: all such functions have this shape. */
static int set_word(struct forward_work *w)
{
	int64_t value;

	forward_get(w, &value, sizeof(value));
	if (!forward_ready(w))
		return forward_refuse(w);
	w->status = (int)((cublasStatus_t(*)(void *, int))w->function)(w->handle, (int)value);
	return 0;
}

static int run(struct forward_work *w)
{
	switch ((int)w->call) {
	case CUBLAS_CALL_cublasCreate_v2:
		return create(w, FORWARD_CUBLAS);
	case CUBLAS_CALL_cublasLtCreate:
		return create(w, FORWARD_CUBLASLT);
	case CUBLAS_CALL_cublasDestroy_v2:
	case CUBLAS_CALL_cublasLtDestroy:
		return destroy(w);
	case CUBLAS_CALL_cublasSetStream_v2:
		return set_stream(w);
	case CUBLAS_CALL_cublasSetWorkspace_v2:
		return set_workspace(w);
	case CUBLAS_CALL_cublasSetMathMode:
	case CUBLAS_CALL_cublasSetAtomicsMode:
	case CUBLAS_CALL_cublasSetSmCountTarget:
		return set_word(w);
	case CUBLAS_CALL_cublasLtMatmul:
	case CUBLAS_CALL_cublasLtMatrixTransform:
	case CUBLAS_CALL_cublasLtMatmulAlgoGetHeuristic:
		return forward_lt(w);
	default:
		return cublas_forward_handlers[w->call] ? cublas_forward_handlers[w->call](w) : -EPROTO;
	}
}

/* What a call that nobody waited for leaves behind, in words of the driver's API. */
static CUresult later(int status)
{
	switch (status) {
	case CUBLAS_STATUS_SUCCESS:
		return CUDA_SUCCESS;
	case CUBLAS_STATUS_INVALID_VALUE:
		return CUDA_ERROR_INVALID_VALUE;
	case CUBLAS_STATUS_ALLOC_FAILED:
		return CUDA_ERROR_OUT_OF_MEMORY;
	case CUBLAS_STATUS_NOT_SUPPORTED:
	case CUBLAS_STATUS_ARCH_MISMATCH:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_UNKNOWN;
	}
}

/* A handle of cuBLAS may be used as one of cuBLASLt, but for its end. */
static bool handle_fits(const struct forward_named *named, enum cublas_call call)
{
	bool lt = !strncmp(cublas_call_name[call], "cublasLt", 8);

	return (named->library == FORWARD_CUBLASLT) == lt || (lt && call != CUBLAS_CALL_cublasLtDestroy);
}

static bool needs_handle(enum cublas_call call)
{
	return call != CUBLAS_CALL_cublasCreate_v2 && call != CUBLAS_CALL_cublasLtCreate;
}

int worker_other_library(struct work *work)
{
	struct forward_work w = { .work = work };
	uint64_t number;
	bool known;
	int r;

	remote_get(&work->in, &number, sizeof(number));
	remote_get(&work->in, &w.id, sizeof(w.id));
	if (work->in.bad || work->head.call != FORWARD_BLAS || number >= CUBLAS_CALL_COUNT)
		return -EPROTO;
	w.call = (enum cublas_call)number;
	w.function = functions[w.call];
	if (needs_handle(w.call)) {
		w.handle = worker_find(work, KIND_FORWARDED, w.id, &known);
		w.named = w.handle ? worker_kept(work, KIND_FORWARDED, w.id) : NULL;
		if (!w.named || !handle_fits(w.named, w.call)) {
			work->result = CUDA_ERROR_INVALID_HANDLE;
			return 0;
		}
	}
	fence_lift(true);
	r = run(&w);
	fence_lift(false);
	if (r)
		return r;
	if (work->out.bad)
		return -EMSGSIZE;
	if (w.status != CUBLAS_STATUS_SUCCESS)
		work->out.used = 0;
	work->result = w.status == CUBLAS_STATUS_SUCCESS || !(work->head.flags & CALL_WAITS)
			       ? (int32_t)later(w.status)
			       : FORWARD_STATUS + w.status;
	return 0;
}
