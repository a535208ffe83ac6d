/* twins.c: see twins.h. Nothing is locked while a worker is asked: of two threads that load one twin, one unloads it.
 */
#include "remote/client/twins.h"

#include "remote/client/context.h"
#include "remote/client/images.h"
#include "remote/client/loads.h"
#include "remote/client/thread.h"
#include "remote/image.h"

#include "cuda_remote.h"

#include <stdlib.h>
#include <string.h>

struct twins {
	pthread_mutex_t lock; /* guards the following */
	bool ending;
	struct code *list; /* by next_twin */
	/* Never changed. */
	uint64_t bytes;
	uint8_t bundle[];
};

/* ---- the image ---- */

static void count_piece(void *to, const void *data, size_t bytes)
{
	*(uint64_t *)to += bytes;
}

struct copying {
	struct twins *to;
	uint64_t used;
};

/* A program that changes its image meanwhile makes it longer, not our copy. */
static void copy_piece(void *to, const void *data, size_t bytes)
{
	struct copying *c = to;

	if (bytes <= c->to->bytes - c->used)
		memcpy(c->to->bundle + c->used, data, bytes);
	c->used += bytes <= c->to->bytes - c->used ? bytes : 0;
}

void twins_keep(struct code *code, const void *image, size_t bound)
{
	const struct image_archs all = { .count = 0 };
	struct copying copying = { .used = 0 };
	struct twins *t;
	uint64_t bytes = 0;

	if (session_count < 2 || !image_bundle(image, bound, &all, count_piece, &bytes) || bytes > CODE_IMAGE_MOST)
		return;
	t = malloc(sizeof(*t) + bytes);
	if (!t)
		return;
	*t = (struct twins){ .bytes = bytes };
	pthread_mutex_init(&t->lock, NULL);
	copying.to = t;
	if (!image_bundle(image, bound, &all, copy_piece, &copying) || copying.used != bytes)
		twins_free(t);
	else
		code->twins = t;
}

void twins_free(struct twins *t)
{
	if (!t)
		return;
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* ---- libraries ---- */

static struct code *find(struct twins *t, const struct session *session)
{
	struct code *twin;

	pthread_mutex_lock(&t->lock);
	for (twin = t->list; twin && twin->session != session;)
		twin = twin->next_twin;
	pthread_mutex_unlock(&t->lock);
	return twin;
}

/* The twin that there is from now on: this one, unless another thread was faster. NULL: the library is ending. */
static struct code *add(struct code *code, struct code *new)
{
	struct twins *t = code->twins;
	struct code *twin;

	pthread_mutex_lock(&t->lock);
	for (twin = t->list; twin && twin->session != new->session;)
		twin = twin->next_twin;
	if (!twin && !t->ending) {
		new->twin_of = code;
		new->next_twin = t->list;
		t->list = twin = new;
	}
	pthread_mutex_unlock(&t->lock);
	return twin;
}

static struct code *library_in(struct client_call *c, struct session *session, struct code *code)
{
	struct code *new, *twin = find(code->twins, session);
	void *handle;

	if (twin)
		return twin;
	c->result = load_bundle(session, code->twins->bundle, code->twins->bytes, &handle);
	if (c->result != CUDA_SUCCESS)
		return NULL;
	new = client_kept(KIND_LIBRARY, handle);
	twin = new ? add(code, new) : NULL;
	if (twin != new || !twin)
		client_plain_cuLibraryUnload((CUlibrary)handle);
	if (!twin)
		c->result = CUDA_ERROR_INVALID_HANDLE;
	return twin;
}

CUresult client_cuLibraryUnload(CUlibrary library)
{
	struct code *code = client_kept(KIND_LIBRARY, library), *twin = NULL, *next;

	if (code && code->twins) {
		pthread_mutex_lock(&code->twins->lock);
		code->twins->ending = true;
		twin = code->twins->list;
		code->twins->list = NULL;
		pthread_mutex_unlock(&code->twins->lock);
	}
	for (; twin; twin = next) {
		next = twin->next_twin;
		client_plain_cuLibraryUnload((CUlibrary)twin->handle);
	}
	return client_plain_cuLibraryUnload(library);
}

struct code *twin_first(struct code *code)
{
	return code->twin_of ? code->twin_of : code;
}

/* ---- handles ---- */

static bool has_twin(const struct code *code, const struct session *session)
{
	return code && code->session != session && code->twins && !code->twins->ending;
}

static const void *kernel_in(struct client_call *c, struct session *session, struct function *kernel)
{
	struct code *twin = library_in(c, session, kernel->code);
	struct function *f = twin ? code_function(c, twin, kernel->name) : NULL;

	return f ? f->handle : NULL;
}

const void *twin_of(struct client_call *c, struct session *session, const void *handle)
{
	struct function *kernel;
	struct code *code;

	if (session_count < 2 || c->result != CUDA_SUCCESS)
		return handle;
	kernel = client_kept(KIND_KERNEL, handle);
	if (kernel)
		return has_twin(kernel->code, session) ? kernel_in(c, session, kernel) : handle;
	code = client_kept(KIND_LIBRARY, handle);
	if (!has_twin(code, session))
		return handle;
	code = library_in(c, session, code);
	return code ? code->handle : NULL;
}

const void *twin_here(struct client_call *c, const void *handle)
{
	struct context *context;

	if (session_count < 2 || c->result != CUDA_SUCCESS)
		return handle;
	if (c->session)
		return twin_of(c, c->session, handle);
	return context_current(c->thread, &context) == CUDA_SUCCESS ? twin_of(c, context->session, handle) : handle;
}
