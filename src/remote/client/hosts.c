/*
 * hosts.c: see hosts.h and remote/host.h. Host functions, stream callbacks and destructors run on the link's service
 * thread, one at a time; calls of the API are refused in them, as the documentation has it.
 *
 * A function in a stream runs once, unless the stream is in capture: then it becomes part of a graph. The worker
 * knows, and says with each notice whether the function is needed any longer.
 */
#include "remote/client/hosts.h"

#include "remote/client/call.h"
#include "remote/client/thread.h"
#include "remote/client/unified.h"
#include "remote/host.h"

#include "cuda_remote.h"

#include <pthread.h>
#include <stdlib.h>

#define CHUNK 256u
#define CHUNKS 4096u

struct host {
	CUhostFn fn; /* one of the two */
	CUstreamCallback callback;
	void *data;
	void (*ended)(void *data); /* when it is forgotten, or NULL */
	uint64_t offset, bytes;	   /* see struct host_own */
	bool of_program;	   /* it may write what copies that are queued behind it read */
	CUstream stream;
	void *object; /* whose destructor it is */
	uint32_t generation; /* of the token; even: free */
	uint32_t next;	     /* free slot */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the following */
static struct host *chunks[CHUNKS];
static uint32_t used, unused; /* slots that were ever used; first free one + 1 */

void hosts_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked; /* what the table holds is never called here: the parent's workers are not this process's */
}

static struct host *at(uint32_t slot)
{
	return &chunks[slot / CHUNK][slot % CHUNK];
}

static uint64_t token_new(const struct host *what)
{
	uint32_t slot, generation;
	uint64_t token = 0;

	pthread_mutex_lock(&lock);
	if (unused) {
		slot = unused - 1;
		unused = at(slot)->next;
	} else {
		slot = used;
		if (slot < CHUNK * CHUNKS && !chunks[slot / CHUNK])
			chunks[slot / CHUNK] = calloc(CHUNK, sizeof(struct host));
		if (slot >= CHUNK * CHUNKS || !chunks[slot / CHUNK])
			goto end;
		used++;
	}
	generation = at(slot)->generation + 1;
	*at(slot) = *what;
	at(slot)->generation = generation;
	token = (uint64_t)generation << 32 | slot;
end:
	pthread_mutex_unlock(&lock);
	return token;
}

/* A copy of what the token stands for; `forget`: it stands for nothing from now on. */
static bool token_take(uint64_t token, bool forget, struct host *ret)
{
	uint32_t slot = (uint32_t)token;
	bool found;

	pthread_mutex_lock(&lock);
	found = slot < used && at(slot)->generation == token >> 32 && token >> 32 & 1;
	if (found)
		*ret = *at(slot);
	if (found && forget) {
		at(slot)->generation++;
		at(slot)->next = unused;
		unused = slot + 1;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

/* The service thread is to be there before the function can be called. */
static uint64_t token_expected(struct session *session, const struct host *what)
{
	uint64_t token = token_new(what);
	struct host taken;
	int r;

	if (!token)
		return 0;
	r = link_expect_host(&session->link, true);
	if (!r && what->of_program)
		atomic_fetch_add_explicit(&session->functions, 1, memory_order_relaxed);
	if (!r)
		return token;
	token_take(token, true, &taken);
	return 0;
}

uint64_t hosts_add_own(struct session *session, const struct host_own *own)
{
	return token_expected(session, &(struct host){ .fn = own->fn,
						       .data = own->data,
						       .ended = own->ended,
						       .offset = own->offset,
						       .bytes = own->bytes });
}

uint64_t hosts_add(struct session *session, CUhostFn fn, void *data)
{
	return token_expected(session, &(struct host){ .fn = fn, .data = data, .of_program = true });
}

/* The token has been taken out. */
static void gone(struct session *session, const struct host *h)
{
	link_expect_host(&session->link, false);
	if (h->of_program)
		atomic_fetch_sub_explicit(&session->functions, 1, memory_order_relaxed);
	if (h->ended)
		h->ended(h->data);
}

void hosts_remove(struct session *session, uint64_t token)
{
	struct host h;

	if (!token || !token_take(token, true, &h))
		return;
	gone(session, &h);
}

bool hosts_find(uint64_t token, CUhostFn *ret_fn, void **ret_data)
{
	struct host h;

	if (!token_take(token, false, &h))
		return false;
	*ret_fn = h.fn;
	*ret_data = h.data;
	return true;
}

/* ---- the service thread ---- */

static void run(struct session *session, const struct host *h, const struct host_run *r)
{
	struct thread *t = thread_get();

	if (h->of_program)
		unified_host_begin(session);
	if (t)
		t->calls_back = true;
	if (r->kind == HOST_CALLBACK && h->callback)
		h->callback(h->stream, (CUresult)r->status, h->data);
	else if (r->kind != HOST_GONE && h->fn)
		h->fn(h->data);
	if (t)
		t->calls_back = false;
	if (h->of_program)
		unified_host_end(session);
}

/* The function has returned; what it has written for the worker goes along. */
static void done(struct session *session, uint64_t ticket, const struct host *h)
{
	struct host_done d = { .ticket = ticket };
	struct client_call c;

	client_request(&c, CALL_HOST_DONE);
	c.session = session;
	if (!session->coherent && h->bytes) {
		c.payload_offset = h->offset;
		c.payload_bytes = h->bytes;
	}
	if (client_begin(&c, false)) {
		remote_put(&c.out, &d, sizeof(d));
		client_send(&c);
	}
	client_end(&c);
}

void session_host(struct session *session, const void *body, size_t bytes)
{
	const struct host_run *r = body;
	struct host h = { .bytes = 0 };

	if (bytes < sizeof(*r) || r->kind >= HOST_KINDS)
		return;
	if (token_take(r->token, r->kind != HOST_RUN, &h)) {
		run(session, &h, r);
		if (h.object && r->kind == HOST_DESTROY)
			client_drop(h.object);
		if (r->kind != HOST_RUN)
			gone(session, &h);
	}
	if (r->ticket)
		done(session, r->ticket, &h);
}

/* ---- calls ---- */

static void launch_put(struct client_call *c, uint64_t stream, uint64_t token, unsigned int flags)
{
	struct host_launch l = { .stream = stream, .token = token, .flags = flags };

	remote_put(&c->out, &l, sizeof(l));
	client_send(c);
}

bool hosts_send_in_order(struct session *session, uint64_t context, uint64_t stream, uint64_t offset, uint64_t bytes,
			 CUresult *ret)
{
	uint64_t token = hosts_add_own(session, &(struct host_own){ .offset = offset, .bytes = bytes });
	struct client_call c;

	client_call(&c, CUDA_CALL_cuLaunchHostFunc);
	c.session = session;
	c.context = context;
	if (c.result == CUDA_SUCCESS && !token)
		c.result = CUDA_ERROR_OUT_OF_MEMORY;
	if (client_begin(&c, false))
		launch_put(&c, stream, token, 0);
	*ret = client_end(&c);
	if (*ret != CUDA_SUCCESS)
		hosts_remove(session, token);
	return *ret == CUDA_SUCCESS;
}

CUresult client_cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
	struct host h = { .fn = fn, .data = userData, .of_program = true };
	uint64_t stream, token = 0;
	struct client_call c;

	stream = client_call_stream(&c, CUDA_CALL_cuLaunchHostFunc, hStream);
	if (c.result == CUDA_SUCCESS && !fn)
		c.result = CUDA_ERROR_INVALID_VALUE;
	if (c.result != CUDA_SUCCESS)
		return client_end(&c);
	token = token_expected(c.session, &h);
	if (!token)
		c.result = CUDA_ERROR_OUT_OF_MEMORY;
	if (client_begin(&c, false))
		launch_put(&c, stream, token, 0);
	if (client_end(&c) != CUDA_SUCCESS)
		hosts_remove(c.session, token);
	return c.result;
}

/* How the thread that calls the function waits is the client's own affair. */
CUresult client_cuLaunchHostFunc_v2(CUstream hStream, CUhostFn fn, void *userData, unsigned int syncMode)
{
	return syncMode > CU_HOST_TASK_SPINWAIT ? CUDA_ERROR_INVALID_VALUE
						: client_cuLaunchHostFunc(hStream, fn, userData);
}

CUresult client_cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags)
{
	struct host h = { .callback = callback, .data = userData, .stream = hStream, .of_program = true };
	uint64_t stream, token = 0;
	struct client_call c;

	stream = client_call_stream(&c, CUDA_CALL_cuStreamAddCallback, hStream);
	if (c.result == CUDA_SUCCESS && (!callback || flags))
		c.result = CUDA_ERROR_INVALID_VALUE;
	if (c.result == CUDA_SUCCESS && !(token = token_expected(c.session, &h)))
		c.result = CUDA_ERROR_OUT_OF_MEMORY;
	if (client_begin(&c, true))
		launch_put(&c, stream, token, flags);
	if (client_end(&c) != CUDA_SUCCESS)
		hosts_remove(c.session, token);
	return c.result;
}

/* ---- user objects: the handle is good until the destructor has been called, whoever holds the references ---- */

CUresult client_cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy,
				   unsigned int initialRefcount, unsigned int flags)
{
	struct host_object o = { .references = initialRefcount, .flags = flags };
	struct host h = { .fn = destroy, .data = ptr };
	struct client_call c;
	void *handle;

	client_call(&c, CUDA_CALL_cuUserObjectCreate);
	client_use_current(&c);
	if (c.result == CUDA_SUCCESS && (!object_out || !destroy || !initialRefcount))
		c.result = CUDA_ERROR_INVALID_VALUE;
	handle = client_mint(&c, KIND_USER_OBJECT, CLIENT_ALONE, &o.id);
	h.object = handle;
	if (c.result == CUDA_SUCCESS && !(o.token = token_expected(c.session, &h)))
		c.result = CUDA_ERROR_OUT_OF_MEMORY;
	if (client_begin(&c, true)) {
		remote_put(&c.out, &o, sizeof(o));
		client_send(&c);
	}
	if (client_end(&c) == CUDA_SUCCESS) {
		*object_out = handle;
	} else {
		hosts_remove(c.session, o.token);
		client_drop(handle);
	}
	return c.result;
}

CUresult client_cuUserObjectRelease(CUuserObject object, unsigned int count)
{
	struct host_release release = { .count = count };
	struct client_call c;

	client_call(&c, CUDA_CALL_cuUserObjectRelease);
	release.id = client_use(&c, KIND_USER_OBJECT, object);
	if (client_begin(&c, true)) {
		remote_put(&c.out, &release, sizeof(release));
		client_send(&c);
	}
	return client_end(&c);
}
