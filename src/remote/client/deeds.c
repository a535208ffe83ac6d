/*
 * deeds.c: see deeds.h. What makes an object mints its handle or learns of it by the answer; what changes one is in the
 * table. What is in neither changes memory at most, which is copied.
 */
#include "remote/client/deeds.h"

#include "cuda_remote.h"
#include "remote/client/call.h"
#include "remote/client/context.h"
#include "remote/client/recordings.h"
#include "remote/client/session.h"
#include "remote/client/thread.h"
#include "remote/code.h"
#include "remote/graph.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 8u /* of the arguments that may say which setting it is */

enum {
	NAMES = 1 << 8,		/* its answer may name objects, and it is a deed of the first new one */
	SPOILS = CLIENT_SPOILS, /* what it makes of the object nobody could repeat */
	CHANGES = CLIENT_CHANGES,
	EVERY = 1 << 11, /* none takes another one's place */
};

#define SETS(words) (CHANGES | (words))
#define ADDS SETS(0xff)
#define ALL (CHANGES | EVERY)

/* By call: the 8-byte words of its arguments that say what is set; two that are equal in them set the same. */
static const uint16_t changes[CUDA_CALL_COUNT] = {
	[CUDA_CALL_cuDevicePrimaryCtxRetain] = NAMES,
	[CUDA_CALL_cuDeviceGetDefaultMemPool] = NAMES,
	[CUDA_CALL_cuDeviceGetMemPool] = NAMES,
	[CUDA_CALL_cuArrayGetPlane] = NAMES,
	[CUDA_CALL_cuMipmappedArrayGetLevel] = NAMES,
	[CUDA_CALL_cuGraphGetNodes] = NAMES,
	[CUDA_CALL_cuGraphGetRootNodes] = NAMES,
	[CUDA_CALL_cuGraphNodeFindInClone] = NAMES,
	[CUDA_CALL_cuDeviceSetMemPool] = SETS(1),
	[CUDA_CALL_cuCtxSetLimit] = SETS(1),
	[CUDA_CALL_cuCtxSetCacheConfig] = SETS(0),
	[CUDA_CALL_cuCtxSetSharedMemConfig] = SETS(0),
	[CUDA_CALL_cuCtxSetFlags] = SETS(0),
	[CUDA_CALL_cuFuncSetAttribute] = SETS(3),
	[CUDA_CALL_cuFuncSetCacheConfig] = SETS(1),
	[CUDA_CALL_cuFuncSetSharedMemConfig] = SETS(1),
	[CUDA_CALL_cuKernelSetAttribute] = SETS(13), /* attribute, value, kernel, device */
	[CUDA_CALL_cuKernelSetCacheConfig] = SETS(5),
	[CUDA_CALL_cuStreamSetAttribute] = SETS(3),
	[CUDA_CALL_cuStreamCopyAttributes] = ADDS,
	[CUDA_CALL_cuMemPoolSetAttribute] = SETS(3),
	[CUDA_CALL_cuMemPoolSetAccess] = ADDS,
	[CUDA_CALL_cuGraphAddDependencies] = ALL,
	[CUDA_CALL_cuGraphAddDependencies_v2] = ALL,
	[CUDA_CALL_cuGraphRemoveDependencies] = ALL,
	[CUDA_CALL_cuGraphRemoveDependencies_v2] = ALL,
	[CUDA_CALL_cuGraphKernelNodeCopyAttributes] = ADDS,
	[CUDA_CALL_cuGraphKernelNodeSetAttribute] = SETS(3),
	[CUDA_CALL_cuGraphKernelNodeSetParams] = SETS(1),
	[CUDA_CALL_cuGraphKernelNodeSetParams_v2] = SETS(1),
	[CUDA_CALL_cuGraphMemcpyNodeSetParams] = SETS(1),
	[CUDA_CALL_cuGraphMemsetNodeSetParams] = SETS(1),
	[CUDA_CALL_cuGraphHostNodeSetParams] = SETS(1),
	[CUDA_CALL_cuGraphEventRecordNodeSetEvent] = SETS(1),
	[CUDA_CALL_cuGraphEventWaitNodeSetEvent] = SETS(1),
	[CUDA_CALL_cuGraphBatchMemOpNodeSetParams] = SETS(1),
	[CUDA_CALL_cuGraphNodeSetParams] = SETS(1),
	[CUDA_CALL_cuGraphNodeSetParams_v2] = SETS(1),
	[CUDA_CALL_cuGraphNodeSetEnabled] = SETS(3),
	[CUDA_CALL_cuGraphExecKernelNodeSetParams] = SETS(3),
	[CUDA_CALL_cuGraphExecKernelNodeSetParams_v2] = SETS(3),
	[CUDA_CALL_cuGraphExecMemcpyNodeSetParams] = SETS(3),
	[CUDA_CALL_cuGraphExecMemsetNodeSetParams] = SETS(3),
	[CUDA_CALL_cuGraphExecHostNodeSetParams] = SETS(3),
	[CUDA_CALL_cuGraphExecEventRecordNodeSetEvent] = SETS(3),
	[CUDA_CALL_cuGraphExecEventWaitNodeSetEvent] = SETS(3),
	[CUDA_CALL_cuGraphExecBatchMemOpNodeSetParams] = SETS(3),
	[CUDA_CALL_cuGraphExecChildGraphNodeSetParams] = SPOILS,
	[CUDA_CALL_cuGraphExecNodeSetParams] = SETS(3),
	[CUDA_CALL_cuGraphExecUpdate] = SETS(1),
	[CUDA_CALL_cuGraphExecUpdate_v2] = SETS(1),
	[CUDA_CALL_cuTexRefSetAddress_v2] = SPOILS,
	[CUDA_CALL_cuTexRefSetAddress2D_v3] = SPOILS,
	[CUDA_CALL_cuTexRefSetArray] = SPOILS,
	[CUDA_CALL_cuTexRefSetMipmappedArray] = SPOILS,
	[CUDA_CALL_cuTexRefSetFormat] = SPOILS,
	[CUDA_CALL_cuTexRefSetFlags] = SPOILS,
	[CUDA_CALL_cuTexRefSetAddressMode] = SPOILS,
	[CUDA_CALL_cuTexRefSetFilterMode] = SPOILS,
	[CUDA_CALL_cuSurfRefSetArray] = SPOILS,
};

static _Atomic uint64_t last;

uint64_t deeds_now(void)
{
	return atomic_load_explicit(&last, memory_order_relaxed);
}

static uint16_t change_of(uint16_t call)
{
	if (call < CUDA_CALL_COUNT)
		return changes[call];
	/* A node's function is one that the worker may name by that alone. */
	return call == CALL_CODE_TELL || call == CALL_CODE_LIST || call == CALL_GRAPH_GET ? NAMES : 0;
}

/* ---- a list ---- */

static void deed_free(struct deed *d)
{
	if (!d)
		return;
	deeds_free(d->needs);
	free(d->named);
	free(d);
}

struct deed *deed_copy(const struct deed *d)
{
	struct deed *copy = malloc(sizeof(*copy) + d->bytes);

	if (!copy)
		return NULL;
	*copy = (struct deed){ .seq = d->seq, .call = d->call, .change = d->change, .bytes = d->bytes };
	memcpy(copy->message, d->message, d->bytes);
	return copy;
}

void deeds_free(struct deed *list)
{
	while (list) {
		struct deed *d = list;

		list = d->next;
		deed_free(d);
	}
}

static uint64_t context_of_message(const struct deed *d)
{
	struct call_request head;

	memcpy(&head, d->message, sizeof(head));
	return head.context;
}

bool deeds_same(const struct deed *a, const struct deed *b)
{
	const size_t skip = sizeof(struct call_request) / sizeof(uint64_t);
	unsigned int words = a->change & 0xff;

	if (a->call != b->call || !(a->change & b->change & CHANGES) || a->change & EVERY ||
	    context_of_message(a) != context_of_message(b))
		return false;
	for (unsigned int i = 0; i < WORDS; i++) {
		bool has =
			(skip + i + 1) * sizeof(uint64_t) <= a->bytes && (skip + i + 1) * sizeof(uint64_t) <= b->bytes;

		if (words >> i & 1 && has && a->message[skip + i] != b->message[skip + i])
			return false;
	}
	/* What only adds is the same when all of it is. */
	return words != 0xff || (a->bytes == b->bytes && !memcmp((const uint8_t *)a->message + 24,
								 (const uint8_t *)b->message + 24, a->bytes - 24));
}

/* ---- a call ---- */

static bool is_kept(const struct client_call *c)
{
	return c->session && c->session->link.wall.welcome.flags & WALL_MOVES;
}

/* Whose deed it is where none was made: what the call was about, else the context. */
static uint64_t subject_of(const struct client_call *c)
{
	struct context *context;

	if (c->subject)
		return c->subject;
	return c->thread && context_current(c->thread, &context) == CUDA_SUCCESS ? context->handle : 0;
}

void deeds_note(struct client_call *c)
{
	const uint16_t change = c->change ? c->change : change_of(c->call) | change_of(c->api);
	struct deed *d;

	if ((!c->made && !change && !c->recording) || !is_kept(c))
		return;
	d = malloc(sizeof(*d) + c->out.used);
	c->deed = d;
	/* Without memory for it the object cannot move. */
	if (!d && change & (CHANGES | SPOILS))
		handles_deed(&c->session->handles, subject_of(c), NULL);
	if (!d && c->recording)
		recordings_spoil(c);
	if (!d)
		return;
	*d = (struct deed){ .seq = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1,
			    .call = c->call,
			    .change = change,
			    .spoilt = c->payload_bytes || change & SPOILS,
			    .bytes = c->out.used };
	memcpy(d->message, c->out.data, c->out.used);
}

void deeds_name(struct client_call *c, uint64_t handle, uint64_t id)
{
	struct deed *d = c->deed;
	uint64_t *more;

	if (!d || !(id & CALL_ID_WORKER) || handles_covered(&c->session->handles, handle))
		return;
	more = realloc(d->named, (d->named_count + 1) * sizeof(*more));
	if (!more)
		return;
	d->named = more;
	d->named[d->named_count++] = id;
	handles_cover(&c->session->handles, handle);
	if (!c->made)
		c->made = handle;
}

void deeds_settle(struct client_call *c)
{
	struct deed *d = c->deed;
	uint64_t whose = c->made;

	c->deed = NULL;
	if (d && c->recording) {
		if (c->result == CUDA_SUCCESS)
			recordings_add(c, d);
		else
			deed_free(d);
		return;
	}
	if (!whose && d && d->change & (CHANGES | SPOILS))
		whose = subject_of(c);
	if (c->result != CUDA_SUCCESS || !whose || !handles_deed(&c->session->handles, whose, d))
		deed_free(d);
}
