/*
 * execute.c: see execute.h.
 *
 * A call that nobody waits for and that fails leaves its error with its context, the first one only; the next reply
 * that creates nothing brings it, instead of a success.
 */
#include "remote/worker/execute.h"

#include "cuda_remote.h"
#include "remote/copy.h"
#include "remote/worker/captures.h"
#include "remote/worker/inbox.h"
#include "remote/worker/output.h"
#include "remote/worker/payload.h"
#include "remote/worker/session.h"
#include "remote/worker/traffic.h"
#include "remote/worker/uses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MOST 2 /* a request within a request (worker_ask) and no further */

int execute_rooms_init(struct rooms *rooms)
{
	return rooms_init(rooms, COPY_INLINE_BYTES, INBOX_THREADS + 1);
}

int execute_room_init(struct execute_room *room, struct rooms *rooms, size_t bytes)
{
	*room = (struct execute_room){ .bytes = bytes, .rooms = rooms };
	room->request = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
	room->out = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
	room->inside = rooms_take(rooms);
	if (room->request && room->out && room->inside)
		return 0;
	execute_room_deinit(room);
	return -ENOMEM;
}

void execute_room_deinit(struct execute_room *room)
{
	free(room->request);
	free(room->out);
	rooms_give(room->rooms, room->inside);
	*room = (struct execute_room){ 0 };
}

static bool in_arena(const struct worker *worker, const struct call_payload *p)
{
	uint64_t end, most = worker->wall->welcome.arena_bytes;

	return p->bytes && !__builtin_add_overflow(p->offset, p->bytes, &end) && end <= most && p->offset >= 4096 &&
	       p->serial;
}

/* Reads the head and the payload. */
static bool begin(struct work *work, const void *message, size_t size)
{
	work->in = (struct remote_reader){ .data = message, .size = size };
	remote_get(&work->in, &work->head, sizeof(work->head));
	if (work->in.bad || work->head.size != size || size % CALL_ALIGN ||
	    work->head.flags & ~(CALL_WAITS | CALL_PAYLOAD) || !work->head.thread ||
	    !!work->head.ticket != !!(work->head.flags & CALL_WAITS))
		return false;
	if (!(work->head.flags & CALL_PAYLOAD))
		return true;
	remote_get(&work->in, &work->payload, sizeof(work->payload));
	return !work->in.bad && in_arena(work->worker, &work->payload);
}

static _Atomic int32_t *deferred_place(const struct work *work)
{
	struct id_entry *e = work->head.context ? ids_find(&work->worker->ids, KIND_CONTEXT, work->head.context) : NULL;

	return e ? &e->deferred : &work->worker->deferred;
}

/* That a capture was spoilt before is said by the end of the capture. */
static void defer(struct work *work)
{
	int32_t none = CUDA_SUCCESS;

	if (work->result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
		return;
	atomic_compare_exchange_strong_explicit(deferred_place(work), &none, work->result, memory_order_relaxed,
						memory_order_relaxed);
}

static int32_t take_deferred(struct work *work)
{
	_Atomic int32_t *at = deferred_place(work);
	int32_t error = atomic_load_explicit(at, memory_order_relaxed);

	return error ? atomic_exchange_explicit(at, CUDA_SUCCESS, memory_order_relaxed) : CUDA_SUCCESS;
}

/* Whether the program can be told of an older call's failure by this one's answer. */
static bool reports(uint16_t call)
{
	return call < CUDA_CALL_COUNT ? cuda_remote_traits[call] & REMOTE_REPORTS : call >= CALL_MEMORY;
}

struct call_reply worker_reply_head(struct work *work)
{
	struct call_reply head = {
		.call = work->head.call, .ticket = work->head.ticket, .result = work->result, .fence = work->fence
	};

	if (work->result == CUDA_SUCCESS && !work->created && reports(work->head.call))
		head.deferred = take_deferred(work);
	return head;
}

/*
 * The client's functions come from the list of a module, which loads none of them, and it has got one by its name
 * without asking here: so the driver is asked to load it when it says that it has not.
 */
static int call(struct work *work, worker_handler handler)
{
	uint64_t begin = work->in.used;
	int r = handler(work);

	if (r || work->result != CUDA_ERROR_FUNCTION_NOT_LOADED || !work->function || work->answered ||
	    work->driver->cuFuncLoad(work->function) != CUDA_SUCCESS)
		return r;
	work->in.used = begin;
	work->out.used = 0;
	work->result = CUDA_SUCCESS;
	return handler(work);
}

/* The handler, between its context and what follows from its result. */
static int handle(struct work *work)
{
	worker_handler handler = worker_handler_find(work->head.call);
	int r;

	captures_thread(work->head.thread);
	if (!contexts_enter(work))
		return 0;
	if (!handler) {
		work->result = CUDA_ERROR_NOT_SUPPORTED;
		return 0;
	}
	r = call(work, handler);
	if (contexts_disturbs(work->head.call))
		contexts_settle(work);
	if (r && r != -EMSGSIZE) {
		worker_log("request %u (%s) makes no sense", work->head.call,
			   work->head.call < CUDA_CALL_COUNT ? cuda_call_name[work->head.call] : "not of the API");
		return -EPROTO;
	}
	if (r == -EMSGSIZE || work->out.bad) {
		work->result = CUDA_ERROR_NOT_SUPPORTED;
		work->out.used = 0;
	}
	return 0;
}

static int answer(struct work *work)
{
	struct call_reply head;

	if (work->answered)
		return 0;
	if (!work->head.ticket) {
		if (work->result != CUDA_SUCCESS)
			defer(work);
		return 0;
	}
	payload_flush(work);
	output_flush(work->worker);
	head = worker_reply_head(work);
	/* Before the client learns of it: what it ends next would be left to us, and its memory free only then. */
	uses_leave(work);
	return worker_reply(work->worker, &head, work->reply_payload.bytes ? &work->reply_payload : NULL,
			    work->out.data, work->out.used);
}

int execute(struct worker *worker, struct execute_room *room, size_t size, bool *ret_yielded)
{
	struct work work = { .worker = worker,
			     .driver = worker->driver,
			     .inside = room->inside,
			     .reader = &room->reader,
			     .out = { .data = room->out,
				      .capacity =
					      room->bytes - sizeof(struct call_reply) - sizeof(struct call_payload) } };
	int r;

	*ret_yielded = false;
	if (!begin(&work, room->request, size))
		return -EPROTO;
	traffic_received(size, work.payload.bytes);
	uses_begin(worker);
	r = handle(&work);
	uses_end(&work);
	ids_read_end(&worker->ids, &room->reader);
	*ret_yielded = work.yielded;
	r = r ? r : answer(&work);
	uses_leave(&work);
	return r;
}

size_t worker_ask(struct work *work, const void *request, size_t size, void *reply, size_t reply_capacity)
{
	static _Thread_local unsigned int depth;
	struct call_reply head = { 0 };
	struct work inner = {
		.worker = work->worker,
		.driver = work->driver,
		.inside = work->inside,
		.reader = work->reader,
		.outer = work,
		.holds = work->holds
	};
	int r;

	if (reply_capacity < sizeof(head) || depth >= DEPTH_MOST)
		return 0;
	inner.out = (struct remote_writer){ .data = (uint8_t *)reply + sizeof(head),
					    .capacity = (reply_capacity - sizeof(head)) & ~(size_t)(CALL_ALIGN - 1) };
	if (!begin(&inner, request, size))
		return 0;
	depth++;
	r = handle(&inner);
	depth--;
	uses_leave(&inner);
	if (r || inner.answered || inner.reply_payload.bytes)
		return 0;
	head = worker_reply_head(&inner);
	head.size = (uint32_t)(sizeof(head) + inner.out.used);
	memcpy(reply, &head, sizeof(head));
	return head.size;
}
