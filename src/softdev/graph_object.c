/*
 * graph_object.c: user objects: things of the program that live as long as some graph refers to them.
 *
 * References are held by the program, by graphs, and by what was instantiated from them, until its last launch is over.
 * The destructor runs on a thread of the driver that holds no lock and does nothing else.
 */
#include "softdev/graph.h"

#include "softdev/log.h"
#include "softdev/thread.h"

#include <stdlib.h>

#define REFERENCES_MOST INT32_MAX

static pthread_mutex_t object_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t object_cond = PTHREAD_COND_INITIALIZER;
static struct user_object *ending;
static struct user_object **ending_last = &ending;
static bool reaper_runs;

static void *reaper_main(void *unused)
{
	driver_in_callback = true;
	pthread_mutex_lock(&object_mutex);
	for (;;) {
		struct user_object *o = ending;

		if (!o) {
			pthread_cond_wait(&object_cond, &object_mutex);
			continue;
		}
		ending = o->next;
		if (!ending)
			ending_last = &ending;
		pthread_mutex_unlock(&object_mutex);
		o->destroy(o->data);
		handle_free(o);
		pthread_mutex_lock(&object_mutex);
	}
	return NULL;
}

static bool reaper_start_locked(void)
{
	if (reaper_runs)
		return true;
	reaper_runs = thread_start(reaper_main, NULL);
	return reaper_runs;
}

/* The last reference has gone. */
static void object_end_locked(struct user_object *o)
{
	handle_retire(o);
	o->next = NULL;
	*ending_last = o;
	ending_last = &o->next;
	if (!reaper_start_locked())
		log_line("a user object of a graph is not destroyed: no thread for it");
	pthread_cond_signal(&object_cond);
}

/* `held`: by a graph. */
static CUresult object_ref(struct user_object *o, uint64_t count, bool held)
{
	CUresult e = CUDA_SUCCESS;

	pthread_mutex_lock(&object_mutex);
	if (!o->references || o->references + count > REFERENCES_MOST) {
		e = CUDA_ERROR_INVALID_VALUE;
	} else {
		o->references += count;
		o->held += held ? count : 0;
	}
	pthread_mutex_unlock(&object_mutex);
	return e;
}

/* What graphs hold is theirs: the program gives up what is its own. */
static CUresult object_unref(struct user_object *o, uint64_t count, bool held)
{
	CUresult e = CUDA_SUCCESS;

	pthread_mutex_lock(&object_mutex);
	if ((held ? o->held : o->references - o->held) < count) {
		e = CUDA_ERROR_INVALID_VALUE;
	} else {
		o->held -= held ? count : 0;
		o->references -= count;
		if (!o->references)
			object_end_locked(o);
	}
	pthread_mutex_unlock(&object_mutex);
	return e;
}

/* From the program to a graph. */
static CUresult object_move(struct user_object *o, uint64_t count)
{
	CUresult e = CUDA_SUCCESS;

	pthread_mutex_lock(&object_mutex);
	if (o->references - o->held < count)
		e = CUDA_ERROR_INVALID_VALUE;
	else
		o->held += count;
	pthread_mutex_unlock(&object_mutex);
	return e;
}

/* ---- what graphs hold ---- */

CUresult object_use_copy(const struct object_use *from, struct object_use **ret)
{
	for (; from; from = from->next) {
		struct object_use *u = malloc(sizeof(*u));

		if (!u)
			return CUDA_ERROR_OUT_OF_MEMORY;
		/* a copy refers to each object once, however often its original does */
		if (object_ref(from->object, 1, true)) {
			free(u);
			return CUDA_ERROR_INVALID_VALUE;
		}
		*u = (struct object_use){ *ret, from->object, 1 };
		*ret = u;
	}
	return CUDA_SUCCESS;
}

void object_use_free(struct object_use *u)
{
	while (u) {
		struct object_use *next = u->next;

		object_unref(u->object, u->count, true);
		free(u);
		u = next;
	}
}

void object_use_append(struct object_use **list, struct object_use *more)
{
	while (*list)
		list = &(*list)->next;
	*list = more;
}

/* ---- calls ---- */

static CUresult object_find(CUuserObject h, struct user_object **ret)
{
	CUresult e = driver_ready();

	if (e)
		return e;
	*ret = handle_find(HANDLE_USER_OBJECT, h);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuUserObjectCreate(CUuserObject *ret, void *data, CUhostFn destroy, unsigned count, unsigned flags)
{
	struct user_object *o;
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!ret || !destroy || !count || count > REFERENCES_MOST || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
		return CUDA_ERROR_INVALID_VALUE;
	o = handle_new(HANDLE_USER_OBJECT);
	if (!o)
		return CUDA_ERROR_OUT_OF_MEMORY;
	o->references = count;
	o->destroy = destroy;
	o->data = data;
	*ret = (CUuserObject)o;
	return CUDA_SUCCESS;
}

CUresult soft_cuUserObjectRetain(CUuserObject h, unsigned count)
{
	struct user_object *o;
	CUresult e = object_find(h, &o);

	if (e)
		return e;
	return count && count <= REFERENCES_MOST ? object_ref(o, count, false) : CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuUserObjectRelease(CUuserObject h, unsigned count)
{
	struct user_object *o;
	CUresult e = object_find(h, &o);

	if (e)
		return e;
	return count && count <= REFERENCES_MOST ? object_unref(o, count, false) : CUDA_ERROR_INVALID_VALUE;
}

static struct object_use *use_find(struct graph *g, const struct user_object *o)
{
	struct object_use *u;

	for (u = g->objects; u && u->object != o; u = u->next)
		;
	return u;
}

CUresult soft_cuGraphRetainUserObject(CUgraph h, CUuserObject object, unsigned count, unsigned flags)
{
	struct object_use *u, *made;
	struct user_object *o;
	struct graph *g;
	CUresult e = graph_find(h, &g);

	if (!e)
		e = object_find(object, &o);
	if (e)
		return e;
	if (!count || count > REFERENCES_MOST || flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE)
		return CUDA_ERROR_INVALID_VALUE;
	u = use_find(g, o);
	made = u ? NULL : calloc(1, sizeof(*u));
	if (!u && !made)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e = flags & CU_GRAPH_USER_OBJECT_MOVE ? object_move(o, count) : object_ref(o, count, true);
	if (e) {
		free(made);
		return e;
	}
	if (made) {
		*made = (struct object_use){ g->objects, o, 0 };
		g->objects = u = made;
	}
	u->count += count;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphReleaseUserObject(CUgraph h, CUuserObject object, unsigned count)
{
	struct user_object *o;
	struct object_use *u;
	struct graph *g;
	CUresult e = graph_find(h, &g);

	if (!e)
		e = object_find(object, &o);
	if (e)
		return e;
	u = use_find(g, o);
	if (!count || !u || u->count < count)
		return CUDA_ERROR_INVALID_VALUE;
	u->count -= count;
	if (!u->count) {
		struct object_use **at = &g->objects;

		while (*at != u)
			at = &(*at)->next;
		*at = u->next;
		free(u);
	}
	return object_unref(o, count, true);
}
