/*
 * remote_ends.h: both ends of a remote API in one process, for tests of what the generator writes.
 *
 * The functions that generated bodies are made of, in the least that behaves as src/remote/client/call.h and worker.h
 * say: tables of objects, a memo, a "line" that hands a request over to the worker at once. Every message reaches the
 * worker as a copy that ends where its memory ends, so that the sanitizers see a step beyond.
 *
 * Included once by a test that has defined END_CALL (enum NAME_call), END_COUNT, END_RESULT, END_OK, END_LOST,
 * END_NOT_SUPPORTED, END_INVALID_HANDLE, END_TRAITS and END_DRIVER (the worker's table).
 */
#pragma once

#include <errno.h>
#include <stdlib.h>

#define END_BYTES 4096u
#define END_OBJECTS 256u
#define END_DEVICES 10 /* the worker's ordinals begin here, the program's at 0 */

struct session {
	int unused;
};

struct worker {
	int unused;
};

static struct end_object {
	uint64_t id; /* 0: free */
	enum remote_kind kind;
	const void *owner;
} end_client[END_OBJECTS];

static struct end_named {
	uint64_t id; /* 0: free */
	enum remote_kind kind;
	void *handle;
	uint64_t owner;
} end_worker[END_OBJECTS];

static struct end_memo {
	uint8_t request[END_BYTES], reply[END_BYTES];
	size_t request_size, reply_size;
} end_memos[16];

static struct session end_session;
static bool end_cut;  /* the line is lost */
static bool end_keep; /* the request is kept, not delivered */
static uint64_t end_request[END_BYTES / 8], end_reply[END_BYTES / 8];
static size_t end_request_size;
static size_t end_capacity = END_BYTES; /* of a reply */
static int end_messages, end_waited, end_yields, end_refusals;
static int32_t end_deferred;

/* The client. */

static struct end_object *end_object(const void *handle)
{
	uintptr_t at = (uintptr_t)handle;

	return at >= 0x10000 && at < 0x10000 + END_OBJECTS && end_client[at - 0x10000].id ? &end_client[at - 0x10000]
											  : NULL;
}

static void *end_handle(const struct end_object *o)
{
	return (void *)(uintptr_t)(0x10000 + (o - end_client));
}

static void *end_enter(enum remote_kind kind, const void *owner, uint64_t id)
{
	for (size_t i = 0; i < END_OBJECTS; i++)
		if (!end_client[i].id) {
			end_client[i] = (struct end_object){ id, kind, owner };
			return end_handle(&end_client[i]);
		}
	return NULL;
}

void client_call(struct client_call *c, END_CALL call)
{
	*c = (struct client_call){ .call = (uint16_t)call, .result = END_OK };
}

static void end_fail(struct client_call *c, END_RESULT result)
{
	if (c->result == END_OK)
		c->result = result;
}

uint64_t client_use(struct client_call *c, enum remote_kind kind, const void *handle)
{
	struct end_object *o = end_object(handle);

	if (!handle)
		return 0;
	if (o && o->kind == kind) {
		c->session = &end_session;
		return o->id;
	}
	end_fail(c, END_INVALID_HANDLE);
	return 0;
}

int32_t client_meet_device(struct client_call *c, int32_t ordinal)
{
	return ordinal - END_DEVICES;
}

bool client_use_current(struct client_call *c)
{
	c->session = &end_session;
	return true;
}

void *client_mint(struct client_call *c, enum remote_kind kind, const void *owner, uint64_t *id)
{
	static uint32_t slot;

	*id = CALL_ID(kind, 1, ++slot);
	return end_enter(kind, owner, *id);
}

void *client_meet(struct client_call *c, enum remote_kind kind, const void *owner, uint64_t id)
{
	for (size_t i = 0; i < END_OBJECTS; i++)
		if (end_client[i].id == id)
			return end_handle(&end_client[i]);
	return end_enter(kind, owner, id);
}

void client_drop(const void *handle)
{
	struct end_object *o = end_object(handle);

	if (!o)
		return;
	*o = (struct end_object){ 0 };
	for (size_t i = 0; i < END_OBJECTS; i++)
		if (end_client[i].id && end_client[i].owner == handle)
			client_drop(end_handle(&end_client[i]));
}

bool client_begin_room(struct client_call *c, bool waits, size_t bytes)
{
	if (c->result == END_OK && !c->session)
		client_use_current(c);
	if (end_cut)
		end_fail(c, END_LOST);
	if (bytes > END_BYTES + CLIENT_ROOM)
		end_fail(c, END_NOT_SUPPORTED);
	if (c->result != END_OK)
		return false;
	c->waits = waits;
	c->out = (struct remote_writer){ .data = (uint8_t *)end_request + sizeof(struct call_request),
					 .capacity = sizeof(end_request) - sizeof(struct call_request) };
	return true;
}

bool client_begin(struct client_call *c, bool waits)
{
	return client_begin_room(c, waits, CLIENT_ROOM);
}

static int end_dispatch(const void *message, size_t size, void *reply, size_t capacity);

static const struct end_memo *end_remembered(const void *request, size_t size)
{
	for (size_t i = 0; i < sizeof(end_memos) / sizeof(end_memos[0]); i++)
		if (end_memos[i].request_size == size && !memcmp(end_memos[i].request, request, size))
			return &end_memos[i];
	return NULL;
}

static void end_remember(size_t size)
{
	static unsigned int next;
	struct end_memo *m = &end_memos[next++ % (sizeof(end_memos) / sizeof(end_memos[0]))];

	memcpy(m->request, end_request, size);
	memcpy(m->reply, end_reply, ((struct call_reply *)end_reply)->size);
	m->request_size = size;
	m->reply_size = ((struct call_reply *)end_reply)->size;
}

bool client_begin_memo(struct client_call *c)
{
	c->memo = client_begin(c, true);
	return c->memo;
}

void client_memo_forget(struct client_call *c, uint64_t id)
{
	for (size_t i = 0; i < sizeof(end_memos) / sizeof(end_memos[0]); i++)
		for (size_t at = sizeof(struct call_request); at < end_memos[i].request_size; at += 8)
			if (!memcmp(end_memos[i].request + at, &id, sizeof(id)))
				end_memos[i].request_size = 0;
}

void client_send(struct client_call *c)
{
	struct call_request *head = (struct call_request *)end_request;
	const struct end_memo *m;
	int r;

	if (c->out.bad)
		end_fail(c, END_NOT_SUPPORTED);
	if (c->result != END_OK)
		return; /* withdrawn */
	end_request_size = sizeof(*head) + c->out.used;
	*head = (struct call_request){ .size = (uint32_t)end_request_size, .call = c->call, .ticket = c->waits };
	head->flags = c->waits ? CALL_WAITS : 0;
	m = c->memo ? end_remembered(end_request, end_request_size) : NULL;
	if (m) {
		memcpy(end_reply, m->reply, m->reply_size);
	} else {
		end_messages++;
		end_waited += c->waits;
		r = end_keep ? -EPIPE : end_dispatch(end_request, end_request_size, end_reply, end_capacity);
		if (r < 0) {
			end_cut = !end_keep;
			end_fail(c, END_LOST);
			return;
		}
		if (!c->waits)
			return;
	}
	memcpy(&c->reply, end_reply, sizeof(c->reply));
	c->in = (struct remote_reader){ .data = (uint8_t *)end_reply + sizeof(c->reply),
					.size = c->reply.size - sizeof(c->reply) };
	c->result = c->reply.result != END_OK ? (END_RESULT)c->reply.result : (END_RESULT)c->reply.deferred;
	if (c->memo && !m && c->result == END_OK)
		end_remember(end_request_size);
}

END_RESULT client_end(struct client_call *c)
{
	return c->result;
}

void client_refused(END_CALL call)
{
	end_refusals++;
}

/* The worker. */

void *worker_find(struct work *work, enum remote_kind kind, uint64_t id, bool *known)
{
	*known = !id;
	for (size_t i = 0; id && i < END_OBJECTS; i++)
		if (end_worker[i].id == id && end_worker[i].kind == kind) {
			*known = true;
			return end_worker[i].handle;
		}
	if (id)
		work->result = END_INVALID_HANDLE;
	return NULL;
}

static int end_name(enum remote_kind kind, uint64_t id, void *handle, uint64_t owner)
{
	for (size_t i = 0; i < END_OBJECTS; i++)
		if (end_worker[i].id == id)
			return -EPROTO;
	for (size_t i = 0; i < END_OBJECTS; i++)
		if (!end_worker[i].id) {
			end_worker[i] = (struct end_named){ id, kind, handle, owner };
			return 0;
		}
	return -ENOSPC;
}

int worker_add(struct work *work, enum remote_kind kind, uint64_t id, void *handle, uint64_t owner)
{
	return id >> 56 != kind || id & CALL_ID_WORKER ? -EPROTO : end_name(kind, id, handle, owner);
}

uint64_t worker_known(struct work *work, enum remote_kind kind, void *handle)
{
	for (size_t i = 0; i < END_OBJECTS; i++)
		if (end_worker[i].id && end_worker[i].kind == kind && end_worker[i].handle == handle)
			return end_worker[i].id;
	return 0;
}

uint64_t worker_owner(struct work *work, uint64_t id)
{
	for (size_t i = 0; i < END_OBJECTS; i++)
		if (end_worker[i].id == id)
			return end_worker[i].owner;
	return 0;
}

uint64_t worker_name(struct work *work, enum remote_kind kind, void *handle, uint64_t owner)
{
	static uint32_t slot;
	uint64_t id = worker_known(work, kind, handle);

	if (id)
		return id;
	id = CALL_ID(kind, 1, CALL_ID_WORKER | ++slot);
	return end_name(kind, id, handle, owner) ? 0 : id;
}

bool worker_ending(struct work *work, uint64_t id, const void *handle)
{
	return true;
}

bool worker_later(struct work *work, uint64_t id, worker_end last, void *handle)
{
	return false;
}

void worker_stays(struct work *work, uint64_t id)
{
}

void worker_remove(struct work *work, uint64_t id)
{
	for (size_t i = 0; id && i < END_OBJECTS; i++) {
		if (end_worker[i].id == id)
			end_worker[i] = (struct end_named){ 0 };
		else if (end_worker[i].owner == id)
			worker_remove(work, end_worker[i].id);
	}
}

worker_handler worker_other_find(uint16_t call)
{
	return NULL;
}

void worker_yield(struct work *work)
{
	end_yields++;
}

/* Value: bytes of the reply; 0: nobody waits for one; -EPROTO: malformed. */
static int end_dispatch(const void *message, size_t size, void *reply, size_t capacity)
{
	struct call_reply *answer = reply;
	struct work work = { .driver = &END_DRIVER };
	worker_handler handler;
	uint8_t *copy;
	int r;

	if (size < sizeof(work.head))
		return -EPROTO;
	memcpy(&work.head, message, sizeof(work.head));
	if (work.head.size != size || size % CALL_ALIGN || work.head.call >= END_COUNT)
		return -EPROTO;
	handler = worker_handler_find(work.head.call);
	if (!handler)
		return -EPROTO;
	copy = malloc(size - sizeof(work.head) ? size - sizeof(work.head) : 1);
	memcpy(copy, (const uint8_t *)message + sizeof(work.head), size - sizeof(work.head));
	work.in = (struct remote_reader){ .data = copy, .size = size - sizeof(work.head) };
	work.out = (struct remote_writer){ .data = (uint8_t *)reply + sizeof(*answer),
					   .capacity = capacity - sizeof(*answer) };
	r = handler(&work);
	free(copy);
	if (r == -EMSGSIZE) {
		work.result = END_NOT_SUPPORTED;
		work.out.used = 0;
	} else if (r < 0) {
		return r;
	}
	if (!(work.head.flags & CALL_WAITS)) {
		end_deferred = end_deferred ? end_deferred : work.result;
		return 0;
	}
	*answer = (struct call_reply){ .size = (uint32_t)(sizeof(*answer) + work.out.used),
				       .call = work.head.call,
				       .ticket = work.head.ticket,
				       .result = work.result };
	if (END_TRAITS[work.head.call] & REMOTE_REPORTS) {
		answer->deferred = end_deferred;
		end_deferred = 0;
	}
	return (int)answer->size;
}
