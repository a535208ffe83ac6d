/*
 * events.c: events that are known to have been reached are not asked about again, until they are recorded anew. Each
 * has a word with its handle: whether it has, and how often it was recorded, so that an answer about an older record
 * is not taken for one about the present.
 */
#include "remote/client/events.h"

#include "cuda_remote.h"
#include "remote/client/captures.h"
#include "remote/client/context.h"
#include "remote/client/handles.h"
#include "remote/client/session.h"
#include "remote/client/unified.h"
#include "remote/client/waited.h"

#define REACHED 1u
#define UNKNOWN 2u /* a graph records it: nobody here sees when */
#define RECORD 4u  /* counts from here on */

/* The word, and its value; what is remembered counts only while errors could not be missed. */
static bool is_reached(struct client_call *c, CUevent event, _Atomic uint32_t **ret, uint32_t *ret_value)
{
	*ret = client_word(event);
	*ret_value = *ret ? atomic_load_explicit(*ret, memory_order_acquire) : UNKNOWN;
	return *ret_value & REACHED && !atomic_load_explicit(&c->session->faulted, memory_order_relaxed) &&
	       !link_lost(&c->session->link);
}

/* An event of a capture is refused as such, others as any unsafe call. */
static CUresult unsafe(CUevent event)
{
	CUresult r;

	if (!captures_any())
		return CUDA_SUCCESS;
	r = client_plain_cuEventQuery(event);
	return r == CUDA_SUCCESS || r == CUDA_ERROR_NOT_READY ? captures_unsafe() : r;
}

static CUresult wait_for(enum cuda_call call, CUevent event)
{
	_Atomic uint32_t *word = NULL;
	uint32_t value = UNKNOWN;
	struct client_call c;
	uint64_t id;
	CUresult r = unsafe(event);

	if (r != CUDA_SUCCESS)
		return r;
	client_call(&c, call);
	id = client_use(&c, KIND_EVENT, event);
	if (c.result == CUDA_SUCCESS && id && is_reached(&c, event, &word, &value) && !unified_any(c.session))
		return client_end(&c);
	if (client_begin(&c, true)) {
		remote_put(&c.out, &id, sizeof(id));
		client_send(&c);
	}
	if (c.result == CUDA_SUCCESS)
		waited_idle(&c);
	if (client_end(&c) == CUDA_SUCCESS && word && !(value & UNKNOWN))
		atomic_compare_exchange_strong_explicit(word, &value, value | REACHED, memory_order_release,
							memory_order_relaxed);
	return c.result == CUDA_SUCCESS ? unified_waited_event(c.session) : c.result;
}

CUresult client_cuEventQuery(CUevent hEvent)
{
	return wait_for(CUDA_CALL_cuEventQuery, hEvent);
}

CUresult client_cuEventSynchronize(CUevent hEvent)
{
	return wait_for(CUDA_CALL_cuEventSynchronize, hEvent);
}

/*
 * An event for several processes is an event of this process here: no other can open it, and cuIpcGetEventHandle() says
 * so. The worker could not share it, since a sandbox keeps it from the files of others.
 */
CUresult client_cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
	const unsigned int shared = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

	return client_plain_cuEventCreate(phEvent, (Flags & shared) == shared ? Flags & ~CU_EVENT_INTERPROCESS : Flags);
}

/* ---- streams that wait ---- */

/* Whether the event is another server's than the stream, or the current context where the stream has no name. */
static bool is_elsewhere(const struct client_call *c, CUstream stream, CUevent event)
{
	bool named = stream && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
	int from = handle_session((uint64_t)(uintptr_t)event), at = handle_session((uint64_t)(uintptr_t)stream);
	struct context *context;

	if (!named)
		at = context_current(c->thread, &context) == CUDA_SUCCESS ? (int)context->session->index : -1;
	return from >= 0 && at >= 0 && from != at;
}

/* No server hears of another's events: this thread waits, and what it submits afterwards comes behind. */
static CUresult wait_between(CUstream stream, CUevent event, unsigned int flags)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult r = client_cuStreamIsCapturing(stream, &status);

	if (r != CUDA_SUCCESS)
		return r;
	if (flags & ~(unsigned int)CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	return status == CU_STREAM_CAPTURE_STATUS_NONE ? wait_for(CUDA_CALL_cuEventSynchronize, event)
						       : CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
}

CUresult client_cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
	struct client_call c;
	bool elsewhere = false;

	if (session_count > 1) {
		client_call(&c, CUDA_CALL_cuStreamWaitEvent);
		elsewhere = c.result == CUDA_SUCCESS && is_elsewhere(&c, hStream, hEvent);
		client_end(&c);
	}
	return elsewhere ? wait_between(hStream, hEvent, Flags)
			 : client_plain_cuStreamWaitEvent(hStream, hEvent, Flags);
}

/* ---- recording ---- */

/* It is recorded, now or by a graph. */
static void recorded(CUevent event, bool by_graph)
{
	_Atomic uint32_t *word = client_word(event);
	uint32_t value, next;

	if (!word)
		return;
	value = atomic_load_explicit(word, memory_order_relaxed);
	do {
		next = ((value & ~REACHED) + RECORD) | (by_graph ? UNKNOWN : 0);
	} while (
		!atomic_compare_exchange_weak_explicit(word, &value, next, memory_order_acq_rel, memory_order_relaxed));
}

void events_in_graph(CUevent event)
{
	recorded(event, true);
}

/* An event and the stream that it is recorded in are of one context. */
static CUresult contexts_match(CUevent event, CUstream stream)
{
	bool named = stream && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
	uint64_t of_event = client_context(event), of_stream = named ? client_context(stream) : 0;
	struct client_call c;
	struct context *context;

	client_call(&c, CUDA_CALL_cuEventRecord);
	if (c.result == CUDA_SUCCESS && !named && context_current(c.thread, &context) == CUDA_SUCCESS)
		of_stream = context->handle;
	return of_event && of_stream && of_event != of_stream ? CUDA_ERROR_INVALID_HANDLE : client_end(&c);
}

CUresult client_cuEventRecord(CUevent hEvent, CUstream hStream)
{
	CUresult r = contexts_match(hEvent, hStream);

	if (r != CUDA_SUCCESS)
		return r;
	recorded(hEvent, false);
	return client_plain_cuEventRecord(hEvent, hStream);
}

/* With flags it is for captures only, where it becomes part of a graph: the worker says whether it may. */
CUresult client_cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
	if (!flags)
		return client_cuEventRecord(hEvent, hStream);
	recorded(hEvent, true);
	return client_plain_cuEventRecordWithFlags(hEvent, hStream, flags);
}

/* ---- nodes of graphs ---- */

CUresult client_cuGraphAddEventRecordNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
					  size_t numDependencies, CUevent event)
{
	events_in_graph(event);
	return client_plain_cuGraphAddEventRecordNode(phGraphNode, hGraph, dependencies, numDependencies, event);
}

CUresult client_cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event)
{
	events_in_graph(event);
	return client_plain_cuGraphEventRecordNodeSetEvent(hNode, event);
}

CUresult client_cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event)
{
	events_in_graph(event);
	return client_plain_cuGraphExecEventRecordNodeSetEvent(hGraphExec, hNode, event);
}
