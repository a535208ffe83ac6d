/*
 * hosts.c: see hosts.h and remote/host.h.
 *
 * A thread of the driver's waits in hosts_run() until the executor has read CALL_HOST_DONE; the executor never waits
 * for it. How long a function of a graph is needed only the driver knows, for graphs are cloned and instantiated: a
 * user object of the graph's tells.
 */
#include "remote/worker/hosts.h"

#include "remote/host.h"
#include "remote/worker/payload.h"
#include "remote/worker/session.h"

#include "cuda_remote.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct host {
	struct worker *worker;
	uint64_t token;
	enum host_kind kind;
	uint64_t object;	    /* id, of whose destructor it is */
	struct call_payload brings; /* bytes 0: nothing */
};

struct waiting {
	struct waiting *next;
	const struct worker *worker;
	uint64_t ticket;
	uint64_t serial; /* of the payload that came with the answer */
	bool done;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the following */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct waiting *waiting;
static uint64_t tickets;

void hosts_end(struct worker *worker)
{
	pthread_mutex_lock(&lock);
	worker->hosts_ended = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void begin(struct waiting *w, const struct worker *worker)
{
	pthread_mutex_lock(&lock);
	*w = (struct waiting){ .next = waiting, .worker = worker, .ticket = ++tickets };
	waiting = w;
	pthread_mutex_unlock(&lock);
}

static void end(struct waiting *w, bool sent)
{
	struct waiting **at = &waiting;

	pthread_mutex_lock(&lock);
	while (sent && !w->done && !w->worker->hosts_ended)
		pthread_cond_wait(&changed, &lock);
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	pthread_mutex_unlock(&lock);
	/* What stands behind it in the stream reads these bytes. */
	if (w->serial)
		payload_arrive((struct worker *)w->worker, w->serial);
}

/* Has the client call it, and waits until it has. */
static void call(const struct host *h, CUresult status)
{
	struct host_run run = { .token = h->token, .kind = h->kind, .status = (int32_t)status };
	struct call_reply mirror = { .call = CALL_NOTICE_MIRROR };
	struct waiting w;

	payload_settle(h->worker);
	if (h->brings.bytes && !worker_coherent(h->worker))
		worker_reply(h->worker, &mirror, &h->brings, NULL, 0);
	begin(&w, h->worker);
	run.ticket = w.ticket;
	end(&w, worker_notice(h->worker, CALL_NOTICE_HOST, &run, sizeof(run)) == 0);
}

static void tell(const struct host *h, enum host_kind kind)
{
	struct host_run run = { .token = h->token, .kind = kind };

	worker_notice(h->worker, CALL_NOTICE_HOST, &run, sizeof(run));
}

int worker_other_host_done(struct work *work)
{
	struct host_done done;

	remote_get(&work->in, &done, sizeof(done));
	if (work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	pthread_mutex_lock(&lock);
	for (struct waiting *w = waiting; w; w = w->next)
		if (w->ticket == done.ticket) {
			w->serial = work->payload.bytes ? work->payload.serial : 0;
			w->done = true;
		}
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return 0;
}

struct host *hosts_new(struct work *work, uint64_t token)
{
	struct host *h = malloc(sizeof(*h));

	if (h)
		*h = (struct host){ .worker = work->worker, .token = token, .kind = HOST_RUN };
	else
		work->result = CUDA_ERROR_OUT_OF_MEMORY;
	return h;
}

void hosts_bring(struct host *h, uint64_t offset, uint64_t bytes)
{
	h->brings = (struct call_payload){ .offset = offset, .bytes = bytes };
}

void CUDA_CB hosts_run(void *data)
{
	struct host *h = data;

	call(h, CUDA_SUCCESS);
	if (h->kind == HOST_RUN_ONCE)
		free(h);
}

uint64_t hosts_token(CUhostFn fn, const void *data)
{
	return fn == hosts_run ? ((const struct host *)data)->token : 0;
}

static void CUDA_CB callback(CUstream stream, CUresult status, void *data)
{
	call(data, status);
	free(data);
}

static void CUDA_CB gone(void *data)
{
	tell(data, HOST_GONE);
	free(data);
}

static void CUDA_CB destroy(void *data)
{
	struct host *h = data;

	ids_remove(&h->worker->ids, h->object);
	tell(h, HOST_DESTROY);
	free(h);
}

/* Where the driver has no user objects, it stays until the session ends. */
void hosts_belong(struct work *work, struct host *h, CUgraph graph)
{
	CUuserObject object;

	if (work->driver->cuUserObjectCreate(&object, h, gone, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) != CUDA_SUCCESS)
		return;
	if (work->driver->cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE) != CUDA_SUCCESS) {
		h->kind = HOST_RUN; /* releasing the object would take the function away from its node */
		return;
	}
}

/* ---- requests ---- */

/* The graph that the stream is being captured into, or NULL. */
static CUgraph capture_of(struct work *work, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUgraph graph = NULL;

	if (work->driver->cuStreamGetCaptureInfo_v2(stream, &status, NULL, &graph, NULL, NULL) != CUDA_SUCCESS)
		return NULL;
	return status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? graph : NULL;
}

static int launch_read(struct work *work, struct host_launch *l, CUstream *ret)
{
	bool known;

	remote_get(&work->in, l, sizeof(*l));
	if (work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	*ret = worker_find_stream(work, l->stream, &known);
	if (!known && work->result == CUDA_SUCCESS)
		work->result = CUDA_ERROR_INVALID_HANDLE;
	return 0;
}

/*
 * While a function of the client's holds up a stream, NVIDIA's driver does not return from registering memory: so what
 * copies need is registered before the first function is put into a stream.
 */
static struct host *function_new(struct work *work, uint64_t token)
{
	payload_register(work);
	return hosts_new(work, token);
}

int worker_cuLaunchHostFunc(struct work *work)
{
	struct host none = { .worker = work->worker }, *h = NULL;
	struct host_launch l;
	CUgraph graph = NULL;
	CUstream stream;
	int r = launch_read(work, &l, &stream);

	if (r)
		return r;
	if (work->result == CUDA_SUCCESS)
		h = function_new(work, l.token);
	if (h) {
		graph = capture_of(work, stream);
		h->kind = graph ? HOST_RUN : HOST_RUN_ONCE;
		work->result = (int32_t)work->driver->cuLaunchHostFunc(stream, hosts_run, h);
	}
	if (work->result == CUDA_SUCCESS && graph) {
		hosts_belong(work, h, graph);
	} else if (work->result != CUDA_SUCCESS) {
		free(h);
		none.token = l.token;
		if (!(work->head.flags & CALL_WAITS))
			tell(&none, HOST_GONE); /* nobody waits for an answer: the client would keep it for ever */
	}
	return 0;
}

int worker_cuStreamAddCallback(struct work *work)
{
	struct host_launch l;
	struct host *h = NULL;
	CUstream stream;
	int r = launch_read(work, &l, &stream);

	if (r)
		return r;
	if (work->result == CUDA_SUCCESS)
		h = function_new(work, l.token);
	if (!h)
		return 0;
	h->kind = HOST_CALLBACK;
	work->result = (int32_t)work->driver->cuStreamAddCallback(stream, callback, h, (unsigned int)l.flags);
	if (work->result != CUDA_SUCCESS)
		free(h);
	return 0;
}

/* ---- user objects ---- */

/*
 * What the program holds of a user object, which is one reference at the driver as long as it is any. The driver counts
 * the references of all graphs and the program's as one number: who gave away more than he has would have it free what
 * a graph goes on holding, and count down what lies there next.
 */
struct object {
	uint64_t references;
	uint64_t given; /* to graphs, ever: what the driver counts in may have 32 bits */
};

static CUresult object_create(struct work *work, const struct host_object *o, struct object *held, CUuserObject *ret)
{
	struct host *h = hosts_new(work, o->token);
	CUresult r;

	if (!h)
		return CUDA_ERROR_OUT_OF_MEMORY;
	h->object = o->id;
	held->references = o->references;
	r = work->driver->cuUserObjectCreate(ret, h, destroy, 1, o->flags);
	if (r != CUDA_SUCCESS)
		free(h);
	return r;
}

int worker_cuUserObjectCreate(struct work *work)
{
	struct object *held;
	struct host_object o;
	CUuserObject object;
	int r;

	remote_get(&work->in, &o, sizeof(o));
	if (work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	if (!o.references || o.references > INT32_MAX) {
		work->result = CUDA_ERROR_INVALID_VALUE;
		return 0;
	}
	held = calloc(1, sizeof(*held));
	work->result = held ? object_create(work, &o, held, &object) : CUDA_ERROR_OUT_OF_MEMORY;
	if (work->result != CUDA_SUCCESS) {
		free(held);
		return 0;
	}
	r = worker_add(work, KIND_USER_OBJECT, o.id, object, 0);
	if (!r) {
		worker_keep(work, o.id, held, free);
		return 0;
	}
	free(held);
	work->driver->cuUserObjectRelease(object, 1);
	if (r == -EPROTO)
		return r;
	work->result = CUDA_ERROR_OUT_OF_MEMORY;
	return 0;
}

/* Of which the program holds `count` references. NULL: work->result says that it does not. */
static struct object *object_find(struct work *work, uint64_t id, uint64_t count, CUuserObject *ret)
{
	struct object *held = worker_kept(work, KIND_USER_OBJECT, id);
	bool known;

	*ret = worker_find(work, KIND_USER_OBJECT, id, &known);
	if (held && *ret && count && held->references >= count)
		return held;
	work->result = CUDA_ERROR_INVALID_VALUE;
	return NULL;
}

static void object_give(struct work *work, struct object *held, CUuserObject object, uint64_t count)
{
	held->references -= count;
	if (!held->references)
		work->result = (int32_t)work->driver->cuUserObjectRelease(object, 1);
}

int worker_cuUserObjectRetain(struct work *work)
{
	CUuserObject object;
	struct object *held;
	uint64_t id;
	uint32_t count;

	remote_get(&work->in, &id, sizeof(id));
	remote_get(&work->in, &count, sizeof(count));
	if (work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	held = object_find(work, id, 1, &object);
	if (held && count && held->references + count <= INT32_MAX)
		held->references += count;
	else
		work->result = CUDA_ERROR_INVALID_VALUE;
	return 0;
}

int worker_cuUserObjectRelease(struct work *work)
{
	struct host_release release;
	CUuserObject object;
	struct object *held;

	remote_get(&work->in, &release, sizeof(release));
	if (work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	held = object_find(work, release.id, release.count, &object);
	if (held)
		object_give(work, held, object, release.count);
	return 0;
}

/* References that move to a graph are taken there anew, and the program's go. */
int worker_cuGraphRetainUserObject(struct work *work)
{
	uint32_t count, flags;
	uint64_t graph_id, id;
	CUuserObject object;
	struct object *held;
	CUgraph graph;
	bool known, moves;

	remote_get(&work->in, &graph_id, sizeof(graph_id));
	remote_get(&work->in, &id, sizeof(id));
	remote_get(&work->in, &count, sizeof(count));
	remote_get(&work->in, &flags, sizeof(flags));
	if (work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	moves = flags & CU_GRAPH_USER_OBJECT_MOVE;
	graph = worker_find(work, KIND_GRAPH, graph_id, &known);
	held = object_find(work, id, moves ? count : 1, &object);
	if (!graph || !held || flags & ~(uint32_t)CU_GRAPH_USER_OBJECT_MOVE || held->given + count > INT32_MAX) {
		work->result = CUDA_ERROR_INVALID_VALUE;
		return 0;
	}
	work->result = (int32_t)work->driver->cuGraphRetainUserObject(graph, object, count, 0);
	if (work->result != CUDA_SUCCESS)
		return 0;
	held->given += count;
	if (moves)
		object_give(work, held, object, count);
	return 0;
}
