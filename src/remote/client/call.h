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
	uint16_t api;	 /* the call of the program, where another number goes over the wire */
	CUresult result; /* what the program gets; an error that was found before anything was sent ends the call */
	struct session *session;  /* chosen; NULL until then */
	struct remote_writer out; /* the request, in the ring; valid between begin and send */
	struct remote_reader in;  /* the reply, a private copy of this thread, behind its head; valid until end */
	struct call_reply reply;  /* its head */
	uint64_t payload_offset;  /* set before begin when the request carries one */
	uint64_t payload_bytes;
	uint64_t context; /* handle: what the first object belongs to, for when the current one is elsewhere */
	struct thread *thread;
	bool begun, waits, posted;
	bool memo;		   /* `out` is the thread's own room: looked up before it is sent */
	bool implicit;		   /* the legacy stream, and another may be in capture: may be refused at once */
	bool looks;		   /* grave.h */
	bool there;		   /* in `context`, whichever is current */
	bool homeless;		   /* nothing was named and no context is current */
	bool chose_current;	   /* nothing was named: the memo's answer is for the current context alone */
	uint64_t payload_serial;   /* of the request that was begun */
	uint64_t made, subject;	   /* handles: the first one minted; the first object named: deeds.h */
	uint64_t stream;	   /* id of that which was named, or 0 */
	uint64_t recording;	   /* number: it is part of a capture; recordings.h */
	struct deed *deed;	   /* the request as it was sent, until the call is over; or NULL */
	uint16_t change;	   /* of a library's request: CLIENT_SETS() or CLIENT_SPOILS */
	struct link_answer answer; /* the last member, because it is not cleared */
};

void client_call(struct client_call *c, enum cuda_call call);
/* Another number than a call of the API: enum call_other. */
void client_request(struct client_call *c, uint16_t number);
/* The same in a given session, which may still be about to open: nothing is checked. */
void client_request_to(struct client_call *c, uint16_t number, struct session *session);

/*
 * The id of an object. A value that is no live handle of this kind sets the documented error
 * (CUDA_ERROR_INVALID_HANDLE,
 * CUDA_ERROR_INVALID_CONTEXT, ... by kind); an object of another session than the one chosen
 * CUDA_ERROR_INVALID_HANDLE.
 * NULL is sent as 0, and it is the driver that judges it.
 */
uint64_t client_use(struct client_call *c, enum remote_kind kind, const void *handle);
/* The same of a library or kernel where the program has it from, never of its twin (twins.h) where the call goes. */
uint64_t client_use_first(struct client_call *c, enum remote_kind kind, const void *handle);
/* Streams may be NULL, CU_STREAM_LEGACY or CU_STREAM_PER_THREAD as well. NULL means legacy. */
uint64_t client_use_stream(struct client_call *c, CUstream stream);
/* The worker's ordinal of a device of this program. */
int32_t client_use_device(struct client_call *c, CUdevice device);
/*
 * Chooses the session of the context that is current, or sets CUDA_ERROR_INVALID_CONTEXT / NOT_INITIALIZED. begin()
 * does it for a call that named nothing.
 */
bool client_use_current(struct client_call *c);
/* Whether a call that touches this memory may be refused, and is waited for: not all of it is known, or not open. */
bool client_doubts(uint64_t address, uint64_t bytes);
/* Whether functions of the program may stand in streams of the call's session. */
bool client_has_functions(const struct client_call *c);
/* Begins a call for the stream's session, or that of the current context. Value: the stream's id. */
uint64_t client_call_stream(struct client_call *c, enum cuda_call call, CUstream stream);

/* As an owner: the object goes away with nothing. It is no handle. */
#define CLIENT_ALONE ((const void *)1)

/*
 * A new handle of the chosen session; *id names it. NULL: c->result says why. `owner`: what it goes away with (a
 * module's functions, a graph's nodes, a context's everything), or NULL.
 */
void *client_mint(struct client_call *c, enum remote_kind kind, const void *owner, uint64_t *id);
/* The handle of an object that the worker named: found, or made when it is new. */
void *client_meet(struct client_call *c, enum remote_kind kind, const void *owner, uint64_t id);
/* The handle ends, with all that it owns. */
void client_drop(const void *handle);

/*
 * KIND_FUNCTION: the handle of a kernel (cuLibraryGetKernel) is taken as well, and its own id is sent.
 *
 * What whoever made an object keeps with its handle, found as quickly as the handle itself and without a lock. `gone`
 * gets it when the handle ends.
 */
void client_keep(const void *handle, void *data, void (*gone)(void *data));
/* NULL: no live handle of this kind, or nothing is kept. Exactly this kind. */
void *client_kept(enum remote_kind kind, const void *handle);
/* A word for whoever made the object, 0 at first, until it ends. NULL: no live handle. */
_Atomic uint32_t *client_word(const void *handle);
/* The handle of the context that it belongs to, or 0. */
uint64_t client_context(const void *handle);

/* False: c->result is set, nothing was sent and nothing must be. `waits`: a reply is wanted. Locks the link
 * for writing. */
bool client_begin(struct client_call *c, bool waits);
/* The same for more than CLIENT_ROOM bytes of arguments; CUDA_ERROR_NOT_SUPPORTED when no message is that long. */
#define CLIENT_ROOM 4096u
bool client_begin_room(struct client_call *c, bool waits, size_t bytes);
/* Hands the request over and, when a reply is wanted, waits for it: c->result, c->in. */
void client_send(struct client_call *c);
/* The same in two steps, for several requests at once: post hands over, wait takes the reply of what was posted. */
void client_post(struct client_call *c);
void client_wait(struct client_call *c);
/* Value: what the program gets. Every call that called client_call() calls it, once. */
CUresult client_end(struct client_call *c);

/*
 * Memo: calls whose answer never changes in a session ("local" in the spec, and the occupancy calls) are asked once.
 * The request's bytes behind the head are the key. Found: the reply is in c->in as if it had just come; nothing was
 * sent.
 */
bool client_begin_memo(struct client_call *c);
/* What was remembered of this object (its id) may have changed. */
void client_memo_forget(struct client_call *c, uint64_t id);
/* The program's number of a device that the worker named. */
int32_t client_meet_device(struct client_call *c, int32_t ordinal);
/* One line in the log, once per call: it is refused on this way. */
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

/* An error of a call that this thread made and nobody waited for; kept by the worker, see call_reply.deferred. */
/* What the API answers for a lost line: sticky. */
#define CLIENT_LOST CUDA_ERROR_DEVICE_UNAVAILABLE
