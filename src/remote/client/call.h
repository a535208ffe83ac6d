/*
 * call.h: one call of the program on its way to a worker: what generated and hand-written client bodies are made of.
 *
 * A body does, in this order: checks and translates its arguments (client_use and friends: the first object or
 * device decides the session, else the thread's current context does), begins, puts values, sends, and for most
 * calls waits and takes the results. What is wrong with an argument is answered here, without a message; what fails
 * later at the worker is latched there and comes with the next call that reports.
 *
 *	struct client_call c;
 *	uint64_t stream, event;
 *
 *	client_call(&c, CUDA_CALL_cuStreamWaitEvent);
 *	stream = client_use_stream(&c, hStream);
 *	event = client_use(&c, KIND_EVENT, hEvent);
 *	if (client_begin(&c, false)) {
 *		remote_put(&c.out, &stream, sizeof(stream));
 *		...
 *		client_send(&c);
 *	}
 *	return client_end(&c);
 *
 * A call that creates something mints the id and the handle first (client_mint), sends the id, and gives the handle
 * out when the call has succeeded (at once, if nobody waits for it); client_drop() takes a minted handle back.
 */
#pragma once

#include "cuda_table.h"
#include "remote.h"
#include "remote/client/link.h"
#include "remote/kind.h"
#include "ring/call.h"

#include <stdbool.h>
#include <stdint.h>

struct session; /* session.h: one worker or relay, its link, its memo, its devices */
struct thread;	/* thread.h */

struct client_call {
	uint16_t call;	 /* enum cuda_call or enum call_other */
	uint16_t api;	 /* the program's call, if the request has another number */
	CUresult result; /* the call's result; an error that is found before the request is sent ends the call */
	struct session *session;  /* NULL until chosen */
	struct remote_writer out; /* the request, in the ring; valid between begin and send */
	struct remote_reader in;  /* the reply behind its head, a private copy of this thread; valid until end */
	struct call_reply reply;  /* the head of the reply */
	uint64_t payload_offset;  /* set before begin if the request carries a payload */
	uint64_t payload_bytes;
	uint64_t context; /* handle: the context of the first object, in case the current one is in another session */
	struct thread *thread;
	bool begun, waits, posted;
	bool memo;		   /* `out` is the thread's own buffer: the memo is searched before it is sent */
	bool implicit;		   /* the legacy stream while another stream may be in capture: may be refused at
				    * once */
	bool looks;		   /* grave.h */
	bool there;		   /* runs in `context`, whichever context is current */
	bool homeless;		   /* the call names no object and no context is current */
	bool chose_current;	   /* the call names no object: the memo's answer is valid only for the current
				    * context */
	uint64_t payload_serial;   /* of the request between begin and send */
	uint64_t made, subject;	   /* handles: the first minted object; the first named object: deeds.h */
	uint64_t stream;	   /* id of the named stream, or 0 */
	uint64_t recording;	   /* number of the capture that the call belongs to; recordings.h */
	struct deed *deed;	   /* the request as sent, until the call ends; or NULL */
	uint16_t change;	   /* of a library's request: CLIENT_SETS() or CLIENT_SPOILS */
	struct link_answer answer; /* the last member, because it is not cleared */
};

void client_call(struct client_call *c, enum cuda_call call);
/* The same for a number that is not a call of the API: enum call_other. */
void client_request(struct client_call *c, uint16_t number);
/* The same in a given session, which may still be opening: nothing is checked. */
void client_request_to(struct client_call *c, uint16_t number, struct session *session);

/*
 * Returns the id of an object. A value that is not a live handle of this kind sets the documented error
 * (CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_CONTEXT, ... by kind). An object of a session other than the chosen
 * one sets CUDA_ERROR_INVALID_HANDLE. NULL is sent as 0, and the driver judges it.
 */
uint64_t client_use(struct client_call *c, enum remote_kind kind, const void *handle);
/*
 * The same for a library or kernel, always as the program has it, never its twin (twins.h) in the session of the call.
 */
uint64_t client_use_first(struct client_call *c, enum remote_kind kind, const void *handle);
/* Also accepts NULL (legacy), CU_STREAM_LEGACY and CU_STREAM_PER_THREAD. */
uint64_t client_use_stream(struct client_call *c, CUstream stream);
/* The worker's ordinal of a device of this program. */
int32_t client_use_device(struct client_call *c, CUdevice device);
/*
 * Chooses the session of the current context, or sets CUDA_ERROR_INVALID_CONTEXT / NOT_INITIALIZED. client_begin() does
 * this for a call that named no object.
 */
bool client_use_current(struct client_call *c);
/*
 * True if a call that accesses this memory may fail and therefore waits: part of the memory is unknown or not
 * accessible.
 */
bool client_doubts(uint64_t address, uint64_t bytes);
/* True if streams of the call's session may contain functions of the program. */
bool client_has_functions(const struct client_call *c);
/* Begins a call in the session of the stream, or of the current context. Value: the stream's id. */
uint64_t client_call_stream(struct client_call *c, enum cuda_call call, CUstream stream);

/* As an owner: the object belongs to no other. It is not a handle. */
#define CLIENT_ALONE ((const void *)1)

/*
 * Creates a new handle of the chosen session; *id is its id. NULL: c->result gives the reason. `owner`: the object with
 * which it ends (of a function the module, of a node the graph, of other objects the context), or NULL.
 */
void *client_mint(struct client_call *c, enum remote_kind kind, const void *owner, uint64_t *id);
/* The handle of an object that the worker named; created if it is new. */
void *client_meet(struct client_call *c, enum remote_kind kind, const void *owner, uint64_t id);
/* Ends the handle, and all that it owns. */
void client_drop(const void *handle);

/*
 * For KIND_FUNCTION the handle of a kernel (cuLibraryGetKernel) is also accepted, and its own id is sent.
 *
 * Keeps `data` with the handle for the file that created the object: found as quickly as the handle itself, without a
 * lock. `gone` receives it when the handle ends.
 */
void client_keep(const void *handle, void *data, void (*gone)(void *data));
/* Value: NULL: not a live handle of exactly this kind, or nothing is kept. */
void *client_kept(enum remote_kind kind, const void *handle);
/* A word for the file that created the object, 0 at first, valid until the object ends. NULL: not a live handle. */
_Atomic uint32_t *client_word(const void *handle);
/* The handle of the context that it belongs to, or 0. */
uint64_t client_context(const void *handle);

/*
 * Begins the request. False: c->result is set, nothing was sent and nothing must be. `waits`: a reply is expected.
 * Locks the link for writing.
 */
bool client_begin(struct client_call *c, bool waits);
/* The same for more than CLIENT_ROOM bytes of arguments. CUDA_ERROR_NOT_SUPPORTED: a message cannot be that long. */
#define CLIENT_ROOM 4096u
bool client_begin_room(struct client_call *c, bool waits, size_t bytes);
/* Sends the request and, if a reply is expected, waits for it: c->result, c->in. */
void client_send(struct client_call *c);
/* The same in two steps, for several requests at once: post sends, wait receives the reply of what was posted. */
void client_post(struct client_call *c);
void client_wait(struct client_call *c);
/* Value: the call's result. Must be called once after each client_call(). */
CUresult client_end(struct client_call *c);

/*
 * Memo: calls whose answer never changes in a session ("local" in the spec, and the occupancy calls) are sent once. The
 * key is the request's bytes behind the head. If found, the reply is in c->in as if it had just arrived, and nothing
 * was sent.
 */
bool client_begin_memo(struct client_call *c);
/* Drops the answers about this object (its id), which may have changed. */
void client_memo_forget(struct client_call *c, uint64_t id);
/* The program's ordinal of a device that the worker named. */
int32_t client_meet_device(struct client_call *c, int32_t ordinal);
/* Logs one line, once per call: the call is not supported on the remote path. */
void client_refused(enum cuda_call call);

/*
 * Every call of the API has a function client_<symbol>, to which its export goes (cuda_remote.h has the prototypes):
 * the one written by hand, if there is one; else what the generator makes of the spec, a weak symbol:
 *
 *	travel "plain"             client_plain_<symbol>(), which a body written by hand may call as well
 *	a twin with a stream       client_<plain symbol>(), with CU_STREAM_PER_THREAD in the place of NULL
 *	`as` another call          that one, with the legacy (of a twin: the per-thread) stream where it takes one more
 *	anything else              not supported, with one line in the log: client_refused()
 *
 * client_send() withdraws the request when `out` is bad or `result` an error by then: values are converted while they
 * are written. Owners that are named NULL: nothing, or what the kind belongs to as a rule (the current context). Raw
 * kinds ([object] of the spec: textures, surfaces, conditions), which reach kernels as they are, have no ids.
 */

/* The error of a call of this thread that did not wait; the worker keeps it, see call_reply.deferred. */
/* The API's result after the connection is lost: sticky. */
#define CLIENT_LOST CUDA_ERROR_DEVICE_UNAVAILABLE
