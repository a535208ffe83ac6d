/*
 * textures.c: see textures.h. Drivers number such objects by the lowest free place of a table, so they are made in the
 * order of their numbers; what lies in between is taken by stand-ins, which end when all are made.
 */
#include "remote/client/textures.h"

#include "cuda_remote.h"
#include "remote/client/context.h"
#include "remote/client/handles.h"
#include "remote/client/ranges.h"
#include "remote/client/thread.h"

#include <pthread.h>
#include <stdlib.h>

#define STAND_INS (1u << 20) /* at most, of one session: as many as devices have numbers */

struct texture {
	struct texture *next;
	struct session *session;
	uint64_t context; /* handle */
	enum remote_kind kind;
	enum remote_kind real; /* of what has the number at the worker; KIND_NONE: nothing */
	uint64_t number;
	bool lost, has_view; /* lost: the worker that takes the session up has nothing behind it */
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC sampling;
	CUDA_RESOURCE_VIEW_DESC view;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list; never held over a call */
static struct texture *all;				 /* by their numbers */

/* ---- the list ---- */

static void add(struct texture *t, const struct context *context)
{
	struct texture **at = &all;

	t->session = context->session;
	t->context = context->handle;
	pthread_mutex_lock(&lock);
	while (*at && (*at)->number < t->number)
		at = &(*at)->next;
	t->next = *at;
	*at = t;
	pthread_mutex_unlock(&lock);
}

static struct texture **find_locked(enum remote_kind kind, uint64_t number, const struct context *context)
{
	struct texture **at = &all;

	while (*at && ((*at)->kind != kind || (*at)->number != number || (*at)->session != context->session ||
		       (*at)->context != context->handle))
		at = &(*at)->next;
	return at;
}

/* What has the number at the worker: of this kind, if it is not known here. */
static enum remote_kind real_kind(enum remote_kind kind, uint64_t number)
{
	struct context *context;
	struct texture *t;

	if (context_current(thread_get(), &context) != CUDA_SUCCESS)
		return kind;
	pthread_mutex_lock(&lock);
	t = *find_locked(kind, number, context);
	kind = t ? t->real : kind;
	pthread_mutex_unlock(&lock);
	return kind;
}

/*
 * The number is that of an object of the program's behind which nothing stands: what was made has it from now on in
 * that one's place, for two cannot have one number.
 */
static bool stands_behind(enum remote_kind made, uint64_t number, const struct context *context)
{
	struct texture *t;

	pthread_mutex_lock(&lock);
	for (t = all;
	     t && (t->number != number || t->real || t->session != context->session || t->context != context->handle);)
		t = t->next;
	if (t)
		t->real = made;
	pthread_mutex_unlock(&lock);
	return t;
}

static void ended(enum remote_kind kind, uint64_t number)
{
	struct context *context;
	struct texture **at, *t;

	if (context_current(thread_get(), &context) != CUDA_SUCCESS)
		return;
	pthread_mutex_lock(&lock);
	at = find_locked(kind, number, context);
	t = *at;
	if (t)
		*at = t->next;
	pthread_mutex_unlock(&lock);
	free(t);
}

void textures_drop_context(uint64_t context)
{
	pthread_mutex_lock(&lock);
	for (struct texture **at = &all; *at;) {
		struct texture *t = *at;

		if (t->context != context) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		free(t);
	}
	pthread_mutex_unlock(&lock);
}

void textures_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	all = NULL;
}

/* ---- the calls ---- */

static CUresult make(const struct texture *t, uint64_t *ret)
{
	unsigned long long number = 0;
	CUresult r;

	if (t->kind == KIND_SURFACE_OBJECT)
		r = client_plain_cuSurfObjectCreate(&number, &t->resource);
	else
		r = client_plain_cuTexObjectCreate(&number, &t->resource, &t->sampling, t->has_view ? &t->view : NULL);
	*ret = number;
	return r;
}

static CUresult end(enum remote_kind kind, uint64_t number)
{
	return kind == KIND_SURFACE_OBJECT ? client_plain_cuSurfObjectDestroy(number)
					   : client_plain_cuTexObjectDestroy(number);
}

/* Takes the object over. */
static CUresult create(struct texture *t, unsigned long long *ret)
{
	struct context *context;
	CUresult r;

	do
		r = make(t, &t->number);
	while (r == CUDA_SUCCESS && (r = context_current(thread_get(), &context)) == CUDA_SUCCESS &&
	       stands_behind(t->kind, t->number, context));
	if (r != CUDA_SUCCESS) {
		free(t);
		return r;
	}
	t->real = t->kind;
	*ret = t->number;
	add(t, context);
	return r;
}

CUresult client_cuTexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
				  const CUDA_TEXTURE_DESC *pTexDesc, const CUDA_RESOURCE_VIEW_DESC *pResViewDesc)
{
	struct texture *t;

	if (!pTexObject || !pResDesc || !pTexDesc)
		return client_plain_cuTexObjectCreate(pTexObject, pResDesc, pTexDesc, pResViewDesc);
	t = calloc(1, sizeof(*t));
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->kind = KIND_TEXTURE_OBJECT;
	t->resource = *pResDesc;
	t->sampling = *pTexDesc;
	t->has_view = pResViewDesc;
	if (pResViewDesc)
		t->view = *pResViewDesc;
	return create(t, pTexObject);
}

CUresult client_cuSurfObjectCreate(CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc)
{
	struct texture *t;

	if (!pSurfObject || !pResDesc)
		return client_plain_cuSurfObjectCreate(pSurfObject, pResDesc);
	t = calloc(1, sizeof(*t));
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->kind = KIND_SURFACE_OBJECT;
	t->resource = *pResDesc;
	return create(t, pSurfObject);
}

static CUresult destroy(enum remote_kind kind, uint64_t number)
{
	const enum remote_kind real = real_kind(kind, number);
	CUresult r = real ? end(real, number) : CUDA_SUCCESS;

	if (r == CUDA_SUCCESS)
		ended(kind, number);
	return r;
}

CUresult client_cuTexObjectDestroy(CUtexObject texObject)
{
	return destroy(KIND_TEXTURE_OBJECT, texObject);
}

CUresult client_cuSurfObjectDestroy(CUsurfObject surfObject)
{
	return destroy(KIND_SURFACE_OBJECT, surfObject);
}

/* ---- again ---- */

/* What took a number that is another's, or nobody's. */
struct stand_in {
	struct stand_in *next;
	enum remote_kind kind;
	uint64_t number, context;
};

static void enter(uint64_t context)
{
	struct thread *t = thread_get();

	if (!t)
		return;
	t->contexts[0] = context;
	t->depth = 1;
}

/* Whether what it reads from is there. */
static bool has_source(const struct texture *t)
{
	const void *array = NULL;
	CUdeviceptr at = 0;
	struct range range;

	switch (t->resource.resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		array = t->resource.res.array.hArray;
		break;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		array = t->resource.res.mipmap.hMipmappedArray;
		break;
	case CU_RESOURCE_TYPE_LINEAR:
		at = t->resource.res.linear.devPtr;
		break;
	case CU_RESOURCE_TYPE_PITCH2D:
		at = t->resource.res.pitch2D.devPtr;
		break;
	default:
		break;
	}
	return array ? handles_find(&t->session->handles, (uint64_t)(uintptr_t)array) != NULL : ranges_find(at, &range);
}

static bool keep(struct stand_in **list, const struct texture *t, uint64_t number)
{
	struct stand_in *s = malloc(sizeof(*s));

	if (!s)
		return false;
	*s = (struct stand_in){ .next = *list, .kind = t->kind, .number = number, .context = t->context };
	*list = s;
	return true;
}

static CUresult make_again(struct texture *t, struct stand_in **stand_ins, unsigned int *left)
{
	uint64_t number;
	CUresult r;

	t->lost = false;
	enter(t->context);
	while ((r = make(t, &number)) == CUDA_SUCCESS && number != t->number) {
		if (!*left || !keep(stand_ins, t, number)) {
			end(t->kind, number);
			return CUDA_ERROR_NOT_FOUND;
		}
		--*left;
	}
	if (r == CUDA_SUCCESS || r == CLIENT_LOST || has_source(t))
		return r;
	t->lost = true;
	return CUDA_SUCCESS;
}

CUresult textures_again(struct session *session)
{
	struct stand_in *stand_ins = NULL;
	unsigned int left = STAND_INS;
	CUresult r = CUDA_SUCCESS;

	/* The gate is closed: nobody else changes the list. */
	for (struct texture *t = all; t && r == CUDA_SUCCESS; t = t->next)
		if (t->session == session && t->real)
			r = make_again(t, &stand_ins, &left);
	while (stand_ins) {
		struct stand_in *s = stand_ins;

		stand_ins = s->next;
		enter(s->context);
		if (r == CUDA_SUCCESS)
			r = end(s->kind, s->number);
		free(s);
	}
	return r;
}

void textures_settle(const struct session *session)
{
	for (struct texture *t = all; t; t = t->next)
		if (t->session == session && t->real)
			t->real = t->lost ? KIND_NONE : t->kind;
}
