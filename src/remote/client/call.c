/* call.c: see call.h. */
#include "remote/client/call.h"
#include "remote/client/captures.h"
#include "remote/client/context.h"
#include "remote/client/deeds.h"
#include "remote/client/grave.h"
#include "remote/client/parked.h"
#include "remote/client/ranges.h"
#include "remote/client/recordings.h"
#include "remote/client/session.h"
#include "remote/client/visible.h"
#include "remote/client/start.h"
#include "remote/client/thread.h"
#include "remote/client/twins.h"

#include <stddef.h>
#include <stdlib.h>

static void clear(struct client_call *c, uint16_t number, struct session *session)
{
	memset(c, 0, offsetof(struct client_call, answer));
	c->call = c->api = number;
	c->session = session;
	c->answer.longer = NULL;
}

void client_call(struct client_call *c, enum cuda_call call)
{
	client_request(c, (uint16_t)call);
	if (c->result == CUDA_SUCCESS)
		parked_look(call);
}

void client_request(struct client_call *c, uint16_t number)
{
	clear(c, number, NULL);
	c->result = start_ready();
	if (c->result != CUDA_SUCCESS)
		return;
	c->thread = thread_get();
	if (!c->thread)
		c->result = CUDA_ERROR_OUT_OF_MEMORY;
	else if (c->thread->calls_back)
		c->result = CUDA_ERROR_NOT_PERMITTED;
	c->looks = c->thread;
	grave_look(c->thread);
}

void client_request_to(struct client_call *c, uint16_t number, struct session *session)
{
	clear(c, number, session);
	c->thread = thread_get();
	if (!c->thread)
		c->result = CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- objects ---- */

/* Of a stream the driver asks first whether a context is current. */
static CUresult wrong(const struct client_call *c, enum remote_kind kind)
{
	struct context *context;

	switch (kind) {
	case KIND_CONTEXT:
		return CUDA_ERROR_INVALID_CONTEXT;
	case KIND_STREAM:
		return context_current(c->thread, &context) == CUDA_ERROR_INVALID_CONTEXT ? CUDA_ERROR_INVALID_CONTEXT
											  : CUDA_ERROR_INVALID_HANDLE;
	case KIND_GRAPH:
	case KIND_GRAPH_NODE:
	case KIND_GRAPH_EXEC:
	case KIND_GRAPH_CONDITION:
	case KIND_USER_OBJECT:
	case KIND_MEMORY_POOL:
	case KIND_MEMORY_HANDLE:
		return CUDA_ERROR_INVALID_VALUE;
	default:
		return CUDA_ERROR_INVALID_HANDLE;
	}
}

static struct session *session_of(uint64_t handle)
{
	int index = handle_session(handle);

	return index >= 0 && (unsigned int)index < session_count ? sessions[index] : NULL;
}

static bool is_kind(uint64_t handle, enum remote_kind kind)
{
	enum remote_kind k = handle_kind(handle);

	return k == kind || (kind == KIND_FUNCTION && k == KIND_KERNEL);
}

/* The object of a live handle of this kind, or NULL. */
static struct object *find(enum remote_kind kind, uint64_t handle, struct session **ret)
{
	*ret = session_of(handle);
	return *ret && is_kind(handle, kind) ? handles_find(&(*ret)->handles, handle) : NULL;
}

uint64_t client_use(struct client_call *c, enum remote_kind kind, const void *handle)
{
	enum remote_kind of = handle_kind((uint64_t)(uintptr_t)handle);

	/* A call that takes a kernel as such says by its device where. */
	if (of == KIND_LIBRARY || (of == KIND_KERNEL && kind == KIND_FUNCTION))
		handle = twin_here(c, handle);
	return client_use_first(c, kind, handle);
}

uint64_t client_use_first(struct client_call *c, enum remote_kind kind, const void *handle)
{
	const uint64_t named = (uint64_t)(uintptr_t)handle;
	uint64_t id, context;
	struct session *s;
	struct object *o;

	if (c->result != CUDA_SUCCESS || !handle)
		return 0;
	o = find(kind, named, &s);
	id = o ? o->id : 0;
	context = kind == KIND_CONTEXT || !o ? named : o->context;
	/* Another thread may have ended it meanwhile, and what was read may be of the next object in its place. */
	if (!o || atomic_load_explicit(&o->handle, memory_order_acquire) != named) {
		c->result = wrong(c, kind);
		return 0;
	}
	if (c->session && c->session != s) {
		c->result = CUDA_ERROR_INVALID_HANDLE;
		return 0;
	}
	c->session = s;
	if (!c->context)
		c->context = context;
	if (!c->subject && kind != KIND_CONTEXT)
		c->subject = named;
	return id;
}

uint64_t client_use_stream(struct client_call *c, CUstream stream)
{
	if (!stream || stream == CU_STREAM_LEGACY)
		c->implicit = captures_any();
	if (!stream || stream == CU_STREAM_LEGACY)
		c->stream = ID_STREAM_LEGACY;
	else if (stream == CU_STREAM_PER_THREAD)
		c->stream = ID_STREAM_PER_THREAD;
	else
		c->stream = client_use(c, KIND_STREAM, stream);
	return c->stream;
}

int32_t client_use_device(struct client_call *c, CUdevice device)
{
	struct session *s;
	int32_t local = -1;

	if (c->result != CUDA_SUCCESS)
		return -1;
	s = visible_find(device, &local);
	if (!s || (c->session && c->session != s))
		c->result = CUDA_ERROR_INVALID_DEVICE;
	else
		c->session = s;
	return local;
}

int32_t client_meet_device(struct client_call *c, int32_t ordinal)
{
	return c->session ? visible_name(c->session, ordinal) : ordinal;
}

bool client_use_current(struct client_call *c)
{
	struct context *context;

	if (c->result != CUDA_SUCCESS)
		return false;
	c->result = context_current(c->thread, &context);
	if (c->result != CUDA_SUCCESS)
		return false;
	c->chose_current = !c->session;
	c->session = context->session;
	return true;
}

bool client_doubts(uint64_t address, uint64_t bytes)
{
	struct range r;

	return !ranges_cover(address, bytes, &r) || range_closed(&r);
}

bool client_has_functions(const struct client_call *c)
{
	return c->session && link_expects_host(&c->session->link);
}

uint64_t client_call_stream(struct client_call *c, enum cuda_call call, CUstream stream)
{
	uint64_t id;

	client_call(c, call);
	id = client_use_stream(c, stream);
	if (!c->session)
		client_use_current(c);
	return id;
}

void *client_mint(struct client_call *c, enum remote_kind kind, const void *owner, uint64_t *id)
{
	uint64_t handle;
	struct context *context;

	if (c->result != CUDA_SUCCESS || (!c->session && !client_use_current(c)))
		return NULL;
	if (!owner && kind_of_context(kind) && context_current(c->thread, &context) == CUDA_SUCCESS &&
	    context->session == c->session)
		owner = (const void *)(uintptr_t)context->handle;
	handle = handles_add(&c->session->handles, kind, (uint64_t)(uintptr_t)owner, 0, id);
	if (!handle)
		c->result = CUDA_ERROR_OUT_OF_MEMORY;
	else if (!c->made)
		c->made = handle;
	return (void *)(uintptr_t)handle;
}

void *client_meet(struct client_call *c, enum remote_kind kind, const void *owner, uint64_t id)
{
	uint64_t handle;

	if (!c->session || !id)
		return NULL;
	handle = handles_meet(&c->session->handles, kind, (uint64_t)(uintptr_t)owner, id);
	if (!handle && c->result == CUDA_SUCCESS)
		c->result = CUDA_ERROR_OUT_OF_MEMORY;
	if (handle && c->deed)
		deeds_name(c, handle, id);
	return (void *)(uintptr_t)handle;
}

/* 0: none that a capture can need. */
static uint64_t id_of(struct session *s, const void *handle)
{
	const enum remote_kind kind = handle_kind((uint64_t)(uintptr_t)handle);
	const struct object *o = kind == KIND_STREAM || kind == KIND_EVENT
					 ? handles_find(&s->handles, (uint64_t)(uintptr_t)handle)
					 : NULL;

	return o ? o->id : 0;
}

void client_drop(const void *handle)
{
	struct session *s = session_of((uint64_t)(uintptr_t)handle);

	if (!s)
		return;
	if (recordings_any())
		recordings_ends(s, id_of(s, handle));
	handles_drop(&s->handles, (uint64_t)(uintptr_t)handle);
}

void client_keep(const void *handle, void *data, void (*gone)(void *data))
{
	struct session *s = session_of((uint64_t)(uintptr_t)handle);

	if (!s || !handles_keep(&s->handles, (uint64_t)(uintptr_t)handle, data, gone))
		if (gone)
			gone(data);
}

void *client_kept(enum remote_kind kind, const void *handle)
{
	struct session *s = session_of((uint64_t)(uintptr_t)handle);
	struct object *o;
	void *kept;

	if (!s || handle_kind((uint64_t)(uintptr_t)handle) != kind)
		return NULL;
	o = handles_find(&s->handles, (uint64_t)(uintptr_t)handle);
	/* Acquire: pairs with the release in handles_keep(). */
	kept = o ? atomic_load_explicit(&o->kept, memory_order_acquire) : NULL;
	/* Its place may have become another object's in between, and what is kept that one's. */
	return o && handles_find(&s->handles, (uint64_t)(uintptr_t)handle) == o ? kept : NULL;
}

static struct object *object_of(const void *handle)
{
	struct session *s = session_of((uint64_t)(uintptr_t)handle);

	return s ? handles_find(&s->handles, (uint64_t)(uintptr_t)handle) : NULL;
}

_Atomic uint32_t *client_word(const void *handle)
{
	struct object *o = object_of(handle);

	return o ? &o->word : NULL;
}

uint64_t client_context(const void *handle)
{
	struct object *o = object_of(handle);

	return o ? o->context : 0;
}

/* ---- the request ---- */

/* The thread's current context if it is in the chosen session, else that of the first object; `there`: that one. */
static uint64_t context_id(struct client_call *c)
{
	struct context *context;
	struct session *s;
	struct object *o;

	if (!c->there && context_current(c->thread, &context) == CUDA_SUCCESS && context->session == c->session)
		return context->id;
	o = c->context ? find(KIND_CONTEXT, c->context, &s) : NULL;
	return o && s == c->session ? o->id : 0;
}

static bool begin(struct client_call *c, void *at, size_t capacity, size_t used)
{
	c->out = (struct remote_writer){ .data = at, .capacity = capacity, .used = used };
	c->begun = true;
	return true;
}

/* Errors that stay with a context until it is destroyed. */
static bool stays(CUresult error)
{
	switch (error) {
	case CUDA_ERROR_ECC_UNCORRECTABLE:
	case CUDA_ERROR_ILLEGAL_ADDRESS:
	case CUDA_ERROR_LAUNCH_TIMEOUT:
	case CUDA_ERROR_ASSERT:
	case CUDA_ERROR_HARDWARE_STACK_ERROR:
	case CUDA_ERROR_ILLEGAL_INSTRUCTION:
	case CUDA_ERROR_MISALIGNED_ADDRESS:
	case CUDA_ERROR_INVALID_ADDRESS_SPACE:
	case CUDA_ERROR_INVALID_PC:
	case CUDA_ERROR_LAUNCH_FAILED:
		return true;
	default:
		return false;
	}
}

static bool send_begin(struct client_call *c, bool waits, size_t bytes)
{
	struct link *link = &c->session->link;
	size_t room = sizeof(struct call_request) + sizeof(struct call_payload) + remote_padded(bytes);
	struct call_request *head;

	if (room > link_longest(link)) {
		c->result = CUDA_ERROR_NOT_SUPPORTED;
		return false;
	}
	waits = waits || atomic_load_explicit(&c->session->faulted, memory_order_relaxed);
	head = link_begin(link, room, waits ? &c->answer : NULL);
	if (!head) {
		c->result = CLIENT_LOST;
		return false;
	}
	c->waits = waits;
	*head = (struct call_request){ .call = c->call,
				       .flags = (uint16_t)((waits ? CALL_WAITS : 0) |
							   (c->payload_bytes ? CALL_PAYLOAD : 0)),
				       .ticket = waits ? c->answer.ticket : 0,
				       .thread = c->thread->number,
				       .context = context_id(c) };
	begin(c, head, room, sizeof *head);
	if (c->payload_bytes) {
		struct call_payload payload = { c->payload_offset, c->payload_bytes, 0 };

		payload.serial = c->payload_serial = link_serial(link, c->payload_bytes);
		remote_put(&c->out, &payload, sizeof payload);
	}
	return true;
}

/* Without a context the driver judges whether the call needs one, and is waited for. */
static bool choose(struct client_call *c)
{
	struct context *context;

	if (c->result != CUDA_SUCCESS)
		return false;
	if (c->session)
		return true;
	if (context_current(c->thread, &context) == CUDA_ERROR_INVALID_CONTEXT) {
		c->session = sessions[0];
		c->homeless = true;
		return true;
	}
	return client_use_current(c);
}

bool client_begin_room(struct client_call *c, bool waits, size_t bytes)
{
	if (!choose(c))
		return false;
	return send_begin(c, waits || start_waits || c->homeless || c->implicit, bytes);
}

bool client_begin(struct client_call *c, bool waits)
{
	return client_begin_room(c, waits, CLIENT_ROOM);
}

bool client_begin_memo(struct client_call *c)
{
	if (!choose(c))
		return false;
	c->memo = true;
	return begin(c, c->thread->query, sizeof c->thread->query, 0);
}

/* ---- the reply ---- */

static void *answer_room(void *arg, size_t bytes)
{
	struct link_answer *a = arg;

	if (bytes <= sizeof a->room)
		return a->room;
	free(a->longer);
	a->longer = malloc(bytes);
	return a->longer;
}

static void answered(struct client_call *c, int32_t result, const void *body, size_t bytes)
{
	c->result = (CUresult)result;
	c->in = (struct remote_reader){ .data = body, .size = bytes };
}

static void reply_take(struct client_call *c)
{
	struct link_answer *a = &c->answer;

	if (link_wait(&c->session->link, a) < 0) {
		c->result = CLIENT_LOST;
		return;
	}
	c->reply = a->head;
	answered(c, a->head.result ? a->head.result : a->head.deferred, a->body, a->bytes);
	if (c->result == CUDA_SUCCESS && atomic_load_explicit(&c->session->owed, memory_order_relaxed))
		c->result = (CUresult)atomic_exchange_explicit(&c->session->owed, 0, memory_order_relaxed);
	if (stays(c->result))
		atomic_store_explicit(&c->session->faulted, 1, memory_order_relaxed);
	else if (c->result == CUDA_ERROR_DEVICE_UNAVAILABLE)
		session_tell_unavailable(c->session);
}

void client_post(struct client_call *c)
{
	uint32_t size = (uint32_t)c->out.used;

	if (!c->begun)
		return;
	c->begun = false;
	if (c->out.bad || c->result != CUDA_SUCCESS) {
		link_send(&c->session->link, 0);
		if (c->result == CUDA_SUCCESS)
			c->result = CUDA_ERROR_NOT_SUPPORTED;
		return;
	}
	memcpy(c->out.data, &size, sizeof size);
	if (recordings_any())
		recordings_note(c);
	deeds_note(c);
	link_send(&c->session->link, size);
	c->posted = c->waits;
}

void client_wait(struct client_call *c)
{
	if (c->posted)
		reply_take(c);
	c->posted = false;
}

static void send_now(struct client_call *c)
{
	client_post(c);
	client_wait(c);
}

static void memo_send(struct client_call *c)
{
	struct memo_key key = { .call = c->call, .bytes = c->thread->query, .size = c->out.used };
	const void *reply;
	int32_t result;
	size_t bytes;

	c->begun = false;
	if (c->out.bad && c->result == CUDA_SUCCESS)
		c->result = CUDA_ERROR_NOT_SUPPORTED;
	if (c->result != CUDA_SUCCESS)
		return;
	key.context = c->chose_current ? context_id(c) : 0;
	if (memo_find(&c->session->memo, &key, &result, answer_room, &c->answer, &reply, &bytes)) {
		answered(c, result, reply, bytes);
		return;
	}
	if (!send_begin(c, true, key.size))
		return;
	remote_put(&c->out, key.bytes, key.size);
	c->begun = true;
	send_now(c);
	/* An older call's error is told once, and belongs to no query. */
	if (c->result == CUDA_SUCCESS)
		memo_add(&c->session->memo, &key, c->result, c->in.data, c->in.size, false);
}

void client_send(struct client_call *c)
{
	if (!c->begun)
		return;
	if (c->memo)
		memo_send(c);
	else
		send_now(c);
}

CUresult client_end(struct client_call *c)
{
	if (c->begun && !c->memo)
		link_send(&c->session->link, 0);
	link_done(&c->answer);
	if (c->looks)
		grave_leave(c->thread);
	c->looks = false;
	if (c->in.bad && c->result == CUDA_SUCCESS)
		c->result = CLIENT_LOST;
	if (c->deed)
		deeds_settle(c);
	return c->result;
}

void client_memo_forget(struct client_call *c, uint64_t id)
{
	if (c->session && id)
		memo_forget(&c->session->memo);
}
