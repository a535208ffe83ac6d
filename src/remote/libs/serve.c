/* serve.c: see serve.h. */
#include "remote/libs/serve.h"

#include "base/cleanup.h"
#include "remote/libs/find.h"
#include "remote/worker/fence.h"
#include "remote/worker/memory.h"
#include "wire/soft_native.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define POINTER_MODE_UNKNOWN (-1)
#define TYPE_HANDLE 1u /* in every library: what others are made with, a plan, a generator */
#define SETS_STREAM "SetStream"
extern const struct forward_served blas_served, curand_served, cufft_served, cusolver_served, cusparse_served,
	cudnn_served;

static const struct forward_served *const forward_served[FORWARD_NUMBER_END - CALL_LIBRARY] = {
	[FORWARD_NUMBER_CUBLAS - CALL_LIBRARY] = &blas_served,
	[FORWARD_NUMBER_CURAND - CALL_LIBRARY] = &curand_served,
	[FORWARD_NUMBER_CUFFT - CALL_LIBRARY] = &cufft_served,
	[FORWARD_NUMBER_CUSOLVER - CALL_LIBRARY] = &cusolver_served,
	[FORWARD_NUMBER_CUSPARSE - CALL_LIBRARY] = &cusparse_served,
	[FORWARD_NUMBER_CUDNN - CALL_LIBRARY] = &cudnn_served,
};

#define LIBRARIES (sizeof(forward_served) / sizeof(forward_served[0]))

static void *open_one(const struct forward_file *file, const char *own)
{
	const char *chosen = getenv(file->variable);
	void *library = NULL;

	if (chosen && *chosen) {
		library = library_find(chosen);
		if (!library)
			worker_log("%s=%s: %s", file->variable, chosen, dlerror());
		return library;
	}
	if (own)
		return dlopen(own, RTLD_LAZY | RTLD_LOCAL);
	for (size_t i = 0; file->names[i] && !library; i++)
		library = library_find(file->names[i]);
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
	return folder && asprintf(&path, "%s/libs/%s", folder, name) >= 0 ? path : NULL;
}

/* Value: whether one of them is NVIDIA's. */
static bool open_served(const struct forward_served *s, bool soft, const char *driver_path)
{
	void *opened[2] = { NULL };
	bool foreign = false;

	for (unsigned int i = 0; i < 2 && s->files[i].own; i++) {
		_cleanup_free_ char *own = soft ? own_library(driver_path, s->files[i].own) : NULL;
		void (*prepare)(const char *);

		opened[i] = open_one(&s->files[i], own);
		/* It opens what it needs while files can be opened, and is told the driver that calls go to. */
		prepare = opened[i] ? (void (*)(const char *))dlsym(opened[i], s->prepare) : NULL;
		if (prepare)
			prepare(driver_path);
		else if (opened[i] && s->parts)
			library_open_beside(opened[i], s->parts);
		foreign = foreign || (opened[i] && !prepare);
	}
	for (unsigned int i = 0; i < s->count; i++) {
		void *library = opened[s->file_of ? s->file_of(s->names[i]) : 0];

		s->functions[i] = library ? dlsym(library, s->names[i]) : NULL;
	}
	if (s->more && opened[0])
		*s->more_function = dlsym(opened[0], s->more);
	return foreign;
}

void forward_libraries_open(const struct cuda_table *driver, const char *driver_path)
{
	bool soft = driver_is_soft(driver), foreign = false;

	if (soft)
		setenv("OPENBLAS_NUM_THREADS", "1", 1); /* the device's threads share products among themselves */
	for (size_t i = 0; i < LIBRARIES; i++) {
		if (forward_served[i]->begin)
			forward_served[i]->begin();
		foreign = open_served(forward_served[i], soft, driver_path) || foreign;
	}
	if (foreign)
		library_open_compilers();
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
	*at = worker_at(*at);
	if (!w->work->in.bad && !forward_device_good(w, *at))
		w->strange = w->unsound = true;
}

CUstream forward_get_stream(struct forward_work *w)
{
	CUstream stream;
	uint64_t id = 0;
	bool known;

	remote_get(&w->work->in, &id, sizeof(id));
	stream = worker_find_stream(w->work, id, &known);
	if (!known)
		w->unsound = true;
	else if (strstr(w->library->names[w->call], SETS_STREAM))
		w->stream = id;
	return stream;
}

void forward_get_scalar(struct forward_work *w, struct forward_scalar *s, size_t bytes, unsigned int direction)
{
	uint64_t place = 0, at;

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

void forward_get_list(struct forward_work *w, struct forward_list *l)
{
	uint64_t bytes = 0;

	*l = (struct forward_list){ .at = NULL };
	remote_get(&w->work->in, &bytes, sizeof(bytes));
	if (!bytes || w->work->in.bad)
		return;
	if (bytes - 1 > sizeof(l->bytes)) {
		w->work->in.bad = true;
		return;
	}
	remote_get(&w->work->in, l->bytes, bytes - 1);
	l->at = l->bytes;
	l->size = bytes - 1;
}

void forward_check_list(struct forward_work *w, const struct forward_list *l, uint64_t count, size_t each)
{
	if (l->at && (count > FORWARD_LIST_MOST || l->size != count * each))
		w->unsound = true;
}

/* An object of the session's is in this call. */
static void use(struct forward_work *w, struct forward_named *named)
{
	for (unsigned int i = 0; i < w->used_count; i++)
		if (w->used[i] == named)
			return;
	if (w->used_count < FORWARD_USED_MOST)
		w->used[w->used_count++] = named;
	else if (!w->stays)
		w->unsound = true;
}

struct forward_named *forward_get_named(struct forward_work *w, unsigned int type)
{
	struct forward_named *named;
	uint64_t id = 0;

	remote_get(&w->work->in, &id, sizeof(id));
	if (!id || w->work->in.bad)
		return NULL;
	named = worker_kept(w->work, KIND_FORWARDED, id);
	if (named && named->library == w->library && named->type == type) {
		use(w, named);
		return named;
	}
	w->unsound = true;
	return NULL;
}

void *forward_get_object(struct forward_work *w, unsigned int type)
{
	struct forward_named *named = forward_get_named(w, type);

	return named ? named->handle : NULL;
}

void *forward_scratch(struct forward_work *w, uint64_t bytes)
{
	struct forward_named *named = w->named;
	void *more;

	if (!bytes || !named)
		return NULL;
	if (named->busy > w->waits)
		return w->scratch ? NULL : (w->scratch = malloc(bytes));
	if (bytes <= named->scratch_bytes)
		return named->scratch;
	more = realloc(named->scratch, bytes);
	if (!more)
		return NULL;
	named->scratch = more;
	named->scratch_bytes = bytes;
	return more;
}

void forward_put(struct forward_work *w, const void *value, size_t bytes)
{
	remote_put(&w->work->out, value, bytes);
}

void forward_put_scalar(struct forward_work *w, const struct forward_scalar *s)
{
	if (s->given_out && !w->status)
		forward_put(w, s->bytes, s->size);
}

static bool mode_set(struct forward_work *w)
{
	int mode = w->place == FORWARD_IN_DEVICE; /* in every library 0 is the host and 1 the device */
	int (*set)(void *, int) = (int (*)(void *, int))w->library->functions[w->library->pointer_mode];

	if (!w->place || !w->library->pointer_mode || w->named->pointer_mode == mode)
		return true;
	if (w->named->busy || !set || set(w->handle, mode))
		return false;
	w->named->pointer_mode = mode;
	return true;
}

/*
 * No client of mete's has a call wait that is about an object of such a library, and no program may have two at once. A
 * client that says of any call that it waits would have the library do what it is not made for, in this process.
 */
static bool is_beside(const struct forward_work *w)
{
	bool busy = w->named && w->named->busy;

	for (unsigned int i = 0; i < w->used_count && !busy; i++)
		busy = w->used[i]->busy;
	return w->library->alone && busy;
}

static int end_later(void *handle)
{
	(void)handle;
	return 0;
}

/* What others refer to is gone for the client alone. */
static bool may_end(struct forward_work *w)
{
	if (w->named->busy)
		return false;
	if (w->named->held && held_ends(w->named->held))
		w->function = (void *)end_later;
	return true;
}

bool forward_ready(struct forward_work *w)
{
	if (is_beside(w) || w->work->in.bad || w->work->in.used != w->work->in.size || w->unsound || !w->function ||
	    !mode_set(w))
		return false;
	if (w->ends)
		return may_end(w);
	/* A result in the client's memory is waited for by the library. */
	if (w->work->head.flags & CALL_WAITS && !w->stays) {
		for (unsigned int i = 0; i < w->used_count; i++)
			w->used[i]->busy++;
		w->waits = true;
		worker_yield(w->work);
	}
	return true;
}

/* What it took is for others again. */
static void leave(struct forward_work *w)
{
	for (unsigned int i = 0; w->waits && i < w->used_count; i++)
		w->used[i]->busy--;
	free(w->scratch);
}

void forward_lacks(const struct forward_work *w)
{
	const struct forward_served *s = w->library;
	const struct forward_file *file = &s->files[s->file_of ? s->file_of(s->names[w->call]) : 0];

	worker_log("a program wants %s: %s was not found here; install it, or name its folder in workers.libraries "
		   "(meted.yaml) or the file in %s",
		   w->library->title, file->names[0], file->variable);
}

/* One line for each call that the library here is too old, or too new, for. */
static void lacks_call(const struct forward_work *w)
{
	static const char *told[64];
	const char *name = w->library->names[w->call];

	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++) {
		if (told[i] == name)
			return;
		if (told[i])
			continue;
		told[i] = name;
		worker_log("a program calls %s: the %s here has no such call; install another version", name,
			   w->library->title);
		return;
	}
}

int forward_refuse(struct forward_work *w)
{
	const struct forward_statuses *s = &w->library->status;

	w->unsound |= is_beside(w);
	if (w->function)
		w->status = w->strange ? s->failed : s->invalid;
	else
		w->status = w->library->about[w->call] ? s->not_supported : s->not_initialized;
	if (!w->function && !w->library->about[w->call])
		forward_lacks(w);
	else if (!w->function)
		lacks_call(w);
	return w->work->in.bad || (w->work->in.used != w->work->in.size && !w->unsound) ? -EPROTO : 0;
}

/* Objects. */

void forward_named_free(void *given)
{
	struct forward_named *named = given;

	held_drop(named->held);
	free(named->scratch);
	free(named);
}

int forward_made_as(struct forward_work *w, uint64_t id, struct forward_named *named, void (*gone)(void *named))
{
	int r = worker_add(w->work, KIND_FORWARDED, id, named, 0);

	if (r) {
		w->status = w->library->status.alloc_failed;
		return r;
	}
	named->library = w->library;
	named->pointer_mode = POINTER_MODE_UNKNOWN;
	if (named->type == TYPE_HANDLE)
		named->context = w->work->head.context;
	worker_keep(w->work, id, named, gone);
	return 0;
}

int forward_made(struct forward_work *w, uint64_t id, unsigned int type, void *handle, unsigned int end)
{
	struct forward_named *named = calloc(1, sizeof(*named));
	int r = -ENOSPC;

	w->status = named ? 0 : w->library->status.alloc_failed;
	if (named) {
		named->type = type;
		named->handle = handle;
		r = forward_made_as(w, id, named, forward_named_free);
	}
	if (!r)
		return 0;
	if (w->library->functions[end])
		((int (*)(void *))w->library->functions[end])(handle);
	free(named);
	return r == -ENOSPC ? 0 : r;
}

void forward_gone(struct forward_work *w)
{
	worker_remove(w->work, w->id);
	w->named = NULL;
}

/* Calls. */

/* What a call that nobody waited for leaves behind, in words of the driver's API. */
static CUresult later(const struct forward_work *w)
{
	const struct forward_statuses *s = &w->library->status;
	int status = w->status;

	if (!status)
		return CUDA_SUCCESS;
	if (w->strange)
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	if (status == s->invalid)
		return CUDA_ERROR_INVALID_VALUE;
	if (status == s->alloc_failed)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return status == s->not_supported ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_UNKNOWN;
}

static int run(struct forward_work *w)
{
	const struct forward_served *s = w->library;

	if (s->handlers[w->call])
		return s->handlers[w->call](w);
	return s->by_hand ? s->by_hand(w) : -EPROTO;
}

/* The context in which the object lives is there, and stays for as long as the call. */
static bool context_stands(struct forward_work *w)
{
	bool known;

	return !w->named->context || (worker_find(w->work, KIND_CONTEXT, w->named->context, &known) && known);
}

static void *stream_setter(const struct forward_served *s)
{
	for (unsigned int i = 0; i < s->count; i++)
		if (strstr(s->names[i], SETS_STREAM))
			return s->functions[i];
	return NULL;
}

/* The library would give the driver a stream that has ended: it is told the legacy one. */
static bool stream_stands(struct forward_work *w)
{
	struct forward_named *named = w->named;
	int (*set)(void *, CUstream);
	bool known;

	if (named->stream <= ID_STREAM_PER_THREAD ||
	    (worker_find(w->work, KIND_STREAM, named->stream, &known) && known))
		return true;
	w->work->result = CUDA_SUCCESS;
	set = (int (*)(void *, CUstream))stream_setter(w->library);
	if (named->busy || !set || set(named->handle, NULL))
		return false;
	named->stream = 0;
	return true;
}

static bool object_find(struct forward_work *w)
{
	unsigned int type = w->library->about[w->call];

	if (!type)
		return !w->id;
	w->named = worker_kept(w->work, KIND_FORWARDED, w->id);
	if (!w->named || w->named->library != w->library || (type != FORWARD_ANY && w->named->type != type))
		return false;
	w->handle = w->named->handle;
	use(w, w->named);
	return context_stands(w) && stream_stands(w);
}

int worker_other_library(struct work *work)
{
	struct forward_work w = { .work = work };
	uint64_t number = 0;
	int r;

	remote_get(&work->in, &number, sizeof(number));
	remote_get(&work->in, &w.id, sizeof(w.id));
	if (work->in.bad || work->head.call < CALL_LIBRARY || work->head.call >= FORWARD_NUMBER_END)
		return -EPROTO;
	w.library = forward_served[work->head.call - CALL_LIBRARY];
	if (number >= w.library->count)
		return -EPROTO;
	w.call = (unsigned int)number;
	w.function = w.library->functions[w.call];
	if (!object_find(&w)) {
		work->result = CUDA_ERROR_INVALID_HANDLE;
		return 0;
	}
	fence_lift(true);
	r = run(&w);
	fence_lift(false);
	if (w.stream && !r && !w.status && w.named)
		w.named->stream = w.stream;
	leave(&w);
	if (r)
		return r;
	if (work->out.bad)
		return -EMSGSIZE;
	if (w.status)
		work->out.used = 0;
	work->result = !w.status || !(work->head.flags & CALL_WAITS) ? (int32_t)later(&w) : FORWARD_STATUS + w.status;
	return 0;
}
