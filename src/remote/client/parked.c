/* parked.c: see parked.h. The lock is held for looking things up, never while something is sent. */
#include "remote/client/parked.h"
#include "remote/client/call.h"
#include "remote/client/handles.h"
#include "remote/client/session.h"
#include "remote/client/thread.h"
#include "remote/client/waited.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct reuse reuse;
static _Atomic uint32_t count; /* reuse.count, also read without the lock */

enum what {
	OTHER,	  /* may wait, end something, or need memory */
	HARMLESS, /* does none of it */
	LOOKS,	  /* says how much memory there is */
	ENDS,	  /* pools may end, or their marks begin anew */
};

static const uint8_t whats[CUDA_CALL_COUNT] = {
#define WHAT(name, what) [CUDA_CALL_##name] = what
	WHAT(cuMemAllocAsync, HARMLESS),
	WHAT(cuMemAllocFromPoolAsync, HARMLESS),
	WHAT(cuMemFreeAsync, HARMLESS),
	WHAT(cuLaunchKernel, HARMLESS),
	WHAT(cuLaunchKernelEx, HARMLESS),
	WHAT(cuLaunchCooperativeKernel, HARMLESS),
	WHAT(cuMemcpyHtoDAsync_v2, HARMLESS),
	WHAT(cuMemcpyDtoHAsync_v2, HARMLESS),
	WHAT(cuMemcpyDtoDAsync_v2, HARMLESS),
	WHAT(cuMemcpyAsync, HARMLESS),
	WHAT(cuMemcpy2DAsync_v2, HARMLESS),
	WHAT(cuMemcpyHtoD_v2, HARMLESS),
	WHAT(cuMemcpyDtoD_v2, HARMLESS),
	WHAT(cuMemsetD8Async, HARMLESS),
	WHAT(cuMemsetD16Async, HARMLESS),
	WHAT(cuMemsetD32Async, HARMLESS),
	WHAT(cuMemsetD2D8Async, HARMLESS),
	WHAT(cuMemsetD2D16Async, HARMLESS),
	WHAT(cuMemsetD2D32Async, HARMLESS),
	WHAT(cuMemsetD8_v2, HARMLESS),
	WHAT(cuMemsetD16_v2, HARMLESS),
	WHAT(cuMemsetD32_v2, HARMLESS),
	WHAT(cuEventRecord, HARMLESS),
	WHAT(cuEventRecordWithFlags, HARMLESS),
	WHAT(cuEventQuery, HARMLESS),
	WHAT(cuEventElapsedTime, HARMLESS),
	WHAT(cuEventElapsedTime_v2, HARMLESS),
	WHAT(cuEventCreate, HARMLESS),
	WHAT(cuEventDestroy_v2, HARMLESS),
	WHAT(cuStreamWaitEvent, HARMLESS),
	WHAT(cuStreamQuery, HARMLESS),
	WHAT(cuStreamIsCapturing, HARMLESS),
	WHAT(cuStreamGetCaptureInfo_v2, HARMLESS),
	WHAT(cuStreamGetCtx, HARMLESS),
	WHAT(cuStreamGetFlags, HARMLESS),
	WHAT(cuStreamGetPriority, HARMLESS),
	WHAT(cuCtxGetCurrent, HARMLESS),
	WHAT(cuCtxSetCurrent, HARMLESS),
	WHAT(cuCtxPushCurrent_v2, HARMLESS),
	WHAT(cuCtxPopCurrent_v2, HARMLESS),
	WHAT(cuCtxGetDevice, HARMLESS),
	WHAT(cuDeviceGet, HARMLESS),
	WHAT(cuDeviceGetCount, HARMLESS),
	WHAT(cuDeviceGetAttribute, HARMLESS),
	WHAT(cuDeviceGetMemPool, HARMLESS),
	WHAT(cuDeviceGetDefaultMemPool, HARMLESS),
	WHAT(cuDevicePrimaryCtxGetState, HARMLESS),
	WHAT(cuPointerGetAttribute, HARMLESS),
	WHAT(cuPointerGetAttributes, HARMLESS),
	WHAT(cuFuncGetAttribute, HARMLESS),
	WHAT(cuFuncSetAttribute, HARMLESS),
	WHAT(cuKernelGetFunction, HARMLESS),
	WHAT(cuKernelGetAttribute, HARMLESS),
	WHAT(cuKernelSetAttribute, HARMLESS),
	WHAT(cuOccupancyMaxActiveBlocksPerMultiprocessor, HARMLESS),
	WHAT(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, HARMLESS),
	WHAT(cuMemGetInfo_v2, LOOKS),
	WHAT(cuMemPoolGetAttribute, LOOKS),
	WHAT(cuMemPoolSetAttribute, ENDS),
	WHAT(cuMemPoolDestroy, ENDS),
	WHAT(cuDeviceSetMemPool, ENDS),
	WHAT(cuCtxDestroy_v2, ENDS),
	WHAT(cuDevicePrimaryCtxRelease_v2, ENDS),
	WHAT(cuDevicePrimaryCtxReset_v2, ENDS),
#undef WHAT
};

static struct session *session_of(const struct reuse_kind *kind)
{
	int index = handle_session(kind->context);

	return index >= 0 && (unsigned int)index < session_count ? sessions[index] : NULL;
}

static void enter(void)
{
	pthread_mutex_lock(&lock);
}

static void leave(void)
{
	atomic_store_explicit(&count, reuse.count, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
}

/* Whoever freed it comes before this in the program, and so in the ring. */
static void send_free(const struct reuse_block *b)
{
	struct client_call c;

	client_call(&c, CUDA_CALL_cuMemFreeAsync);
	c.session = session_of(&b->kind);
	c.context = b->kind.context;
	c.there = true;
	if (c.session && client_begin(&c, false)) {
		remote_put(&c.out, &b->at, sizeof b->at);
		remote_put(&c.out, &b->kind.stream, sizeof b->kind.stream);
		client_send(&c);
		waited_idle(&c);
	}
	client_end(&c);
}

static bool pop(bool looks, struct reuse_block *ret)
{
	bool any;

	enter();
	any = reuse_pop(&reuse, looks, ret);
	leave();
	return any;
}

static bool let_go(bool looks)
{
	struct reuse_block b;
	bool any = false;

	for (; pop(looks, &b); any = true)
		send_free(&b);
	return any;
}

bool parked_put(const struct reuse_kind *kind, uint64_t at)
{
	bool stays;

	enter();
	stays = reuse_free(&reuse, kind, at);
	leave();
	return stays;
}

void parked_gone(const struct reuse_kind *kind)
{
	enter();
	reuse_gone(&reuse, kind);
	leave();
}

uint64_t parked_take(const struct reuse_kind *kind)
{
	uint64_t at;

	enter();
	at = reuse_take(&reuse, kind);
	leave();
	return at;
}

void parked_drop(const struct reuse_kind *kind, uint64_t at)
{
	parked_gone(kind);
	send_free(&(struct reuse_block){ .kind = *kind, .at = at });
}

/* ---- what is asked for beforehand ---- */

struct parked_asking {
	unsigned int count;
	struct parked_ask {
		struct reuse_kind kind;
		struct client_call c;
	} asks[];
};

static bool excess(const struct reuse_kind *kind, struct reuse_block *ret)
{
	bool any;

	enter();
	any = reuse_excess(&reuse, kind, ret);
	leave();
	return any;
}

static void ask_post(struct parked_ask *a)
{
	struct client_call *c = &a->c;
	uint64_t sent[3] = { a->kind.bytes, 0, a->kind.stream };

	client_call(c, CUDA_CALL_cuMemAllocFromPoolAsync);
	c->session = session_of(&a->kind);
	sent[1] = client_use(c, KIND_MEMORY_POOL, (const void *)(uintptr_t)a->kind.pool);
	c->context = a->kind.context;
	c->there = true;
	if (c->session && client_begin(c, true)) {
		remote_put(&c->out, sent, sizeof sent);
		client_post(c);
	}
}

static void ask_take(struct parked_ask *a)
{
	struct reuse_block b = { .kind = a->kind };
	bool posted = a->c.posted, stays;

	client_wait(&a->c);
	if (posted && a->c.result == CUDA_SUCCESS)
		remote_get(&a->c.in, &b.at, sizeof b.at);
	if (client_end(&a->c) != CUDA_SUCCESS)
		b.at = 0;
	enter();
	stays = reuse_arrived(&reuse, &a->kind, b.at);
	leave();
	if (!stays)
		send_free(&b);
}

static struct parked_asking *asking_new(const struct reuse_kind *kinds, unsigned int number)
{
	struct parked_asking *asking = malloc(sizeof *asking + number * sizeof asking->asks[0]);

	for (unsigned int i = 0; asking && i < number; i++)
		asking->asks[i].kind = kinds[i];
	if (asking)
		asking->count = number;
	return asking;
}

struct parked_asking *parked_ask(const struct reuse_kind *kind)
{
	struct reuse_kind kinds[PARKED_ASKED - 1];
	struct parked_asking *asking = NULL;
	unsigned int number = 0;
	struct reuse_block b;

	enter();
	if (reuse_ask(&reuse, kind))
		number = reuse_foresee(&reuse, kind, kinds, PARKED_ASKED - 1);
	leave();
	while (excess(kind, &b))
		send_free(&b);
	if (number)
		asking = asking_new(kinds, number);
	for (unsigned int i = 0; asking && i < number; i++)
		ask_post(&asking->asks[i]);
	enter();
	for (unsigned int i = 0; !asking && i < number; i++)
		reuse_arrived(&reuse, &kinds[i], 0);
	leave();
	return asking;
}

void parked_asked(struct parked_asking *asking, const struct reuse_kind *kind, bool good)
{
	enter();
	reuse_answered(&reuse, kind, good);
	leave();
	for (unsigned int i = 0; asking && i < asking->count; i++)
		ask_take(&asking->asks[i]);
	free(asking);
}

/* ---- letting go ---- */

void parked_doubt(uint64_t at)
{
	bool here;

	enter();
	here = reuse_has(&reuse, at);
	leave();
	if (here)
		let_go(false);
}

bool parked_let_go(void)
{
	return let_go(false);
}

static bool is_harmless(enum cuda_call call)
{
	bool graphs_allocate = false;

	if (call != CUDA_CALL_cuGraphLaunch)
		return whats[call] == HARMLESS;
	for (unsigned int i = 0; i < session_count; i++)
		graphs_allocate |= atomic_load_explicit(&sessions[i]->graph_memory, memory_order_relaxed);
	return !graphs_allocate;
}

void parked_look(enum cuda_call call)
{
	if (atomic_load_explicit(&count, memory_order_relaxed) && !is_harmless(call))
		let_go(whats[call] == LOOKS);
	if (whats[call] != ENDS)
		return;
	enter();
	if (call == CUDA_CALL_cuMemPoolSetAttribute)
		reuse_mark(&reuse);
	else
		reuse_forget(&reuse);
	leave();
}

void parked_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	reuse_forget(&reuse);
	count = 0;
}
