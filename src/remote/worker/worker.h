/*
 * worker.h: the worker's session with its one client: ids, contexts, replies, and what hand-written handlers need.
 *
 * Requests are executed in the order of the ring. One thread at a time is the executor. A handler that is about to
 * block (it waits for the device, or for a payload that has not arrived) first calls worker_yield(): another thread
 * becomes the executor and continues with requests of the client's other threads, and the one that yielded answers
 * when it is done. What it has looked up does not end meanwhile (uses.h). The client's thread waits for that answer,
 * so order is kept. A handler of a call that nobody waits for never blocks.
 *
 * The client is not trusted. The decoder has checked sizes; ids are looked up here; worker_reaches() checks addresses
 * of device memory. No value from a message reaches the driver as a pointer into this process.
 */
#pragma once

#include "cuda_table.h"
#include "remote.h"
#include "remote/kind.h"
#include "ring/call.h"
#include "ring/wall.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct worker; /* the process: rings, arena, tables, threads */
struct ids_reader;
struct id_entry;

#define WORK_USES_MOST 16u

/* One request while it is executed. */
struct work {
	struct worker *worker;
	/* the shim's table: everything is charged and gated as for a local client */
	const struct cuda_table *driver;
	struct call_request head;
	struct call_payload payload;	   /* zero without */
	struct remote_reader in;	   /* the arguments, a private copy */
	struct remote_writer out;	   /* what the call gives out */
	void *inside;			   /* bytes of a copy that are in the message, for the driver: rooms.h */
	struct ids_reader *reader;	   /* the executing thread; NULL: nobody else executes */
	struct call_payload reply_payload; /* bytes > 0: goes along with the reply */
	uint32_t fence;			   /* of the reply */
	int32_t result;			   /* CUresult */
	CUfunction function;		   /* the last that was found for it */
	/* the client learns of something new by this reply (an id, memory): no older call's error takes its place; set
	 * by worker_add() and worker_range_add() */
	bool created;
	bool answered; /* the handler answers (or has answered) itself, by worker_reply() */
	bool yielded;
	/* What was looked up, uses.h. `holds`: from the yield on it is in use, until the request ends. */
	struct id_entry *used[WORK_USES_MOST + 1];
	unsigned int used_count;
	bool used_over, holds;
	struct work *outer; /* of worker_ask(): what this one is executed within */
};

/*
 * A handler: reads work->in, sets work->result, writes work->out. 0; -EPROTO: malformed, the session is ended;
 * -EMSGSIZE: the results do not fit into a reply (answered not supported; nothing must have been executed).
 */
typedef int (*worker_handler)(struct work *work);

/* What is done for a call: generated for those of travel "plain", by hand in worker/HANDLERS.c for the others. */
worker_handler worker_handler_find(uint16_t call);
/* The same for the numbers from CALL_FIRST on; the function above asks it. */
worker_handler worker_other_find(uint16_t call);
/*
 * Handlers written by hand have the names that generated ones have: worker_<symbol>(); the generated
 * table takes those that are there (weak references). Those of enum call_other: worker_other_<name in small letters>;
 * of a family one handler gets all numbers of its range (work->head.call). Where there is none the answer is
 * CUDA_ERROR_NOT_SUPPORTED. All may rely on `driver` having a function in every place: those that the driver lacks
 * answer CUDA_ERROR_NOT_SUPPORTED.
 */
int worker_other_open(struct work *work);  /* CALL_OPEN: the snapshot */
int worker_other_watch(struct work *work); /* src/remote/watch.h */
int worker_other_ping(struct work *work);
int worker_other_host_done(struct work *work);
int worker_other_memory(struct work *work); /* CALL_MEMORY ... CALL_IMAGE - 1 */
int worker_other_move(struct work *work);   /* CALL_MOVE ... CALL_IMAGE - 1: src/remote/move.h */
int worker_other_image(struct work *work);
int worker_other_graph(struct work *work);
int worker_other_library(struct work *work); /* CALL_LIBRARY ... 0xffff */

/* Ids
 * ---------------------------------------------------------------------------------------------------------------- */

/*
 * The driver's handle, or NULL: no such object (work->result is set to the documented error by kind). id 0 gives NULL
 * and leaves work->result alone; *known says which.
 */
void *worker_find(struct work *work, enum remote_kind kind, uint64_t id, bool *known);
/* Streams: 0 and 1 legacy, 2 the per-thread stream of work->head.thread in the current context, made when
 * first used. */
CUstream worker_find_stream(struct work *work, uint64_t id, bool *known);
/* Remembers what the client minted an id for. 0; -EPROTO: the id is malformed or taken; -ENOSPC: too many. */
int worker_add(struct work *work, enum remote_kind kind, uint64_t id, void *handle, uint64_t owner);
/*
 * The id of a handle that the driver gave out: found, or a new one of the worker's. 0: too many. Only of what is there
 * for as long as `owner`, or as the session: by the name of what has ended the driver would use what it has freed.
 */
uint64_t worker_name(struct work *work, enum remote_kind kind, void *handle, uint64_t owner);
/* The id of what the driver says somebody refers to, which may have ended. 0: it has no id, or none any more. */
uint64_t worker_known(struct work *work, enum remote_kind kind, void *handle);
/* What the object of an id goes with; 0: nothing. */
uint64_t worker_owner(struct work *work, uint64_t id);
/*
 * The id of a function that a node of a graph has, of a module that nobody has asked for. It goes when anything that
 * holds functions does, and after that there are no more such: 0.
 */
uint64_t worker_name_loose(struct work *work, void *function);
/* KIND_FUNCTION: the id of a kernel is found as well. */
/*
 * What whoever made an object keeps with its id; `gone` gets it when the id has been removed and nobody looks at it.
 * NULL: nothing of this kind. What was found is there until the handler ends or yields.
 */
void worker_keep(struct work *work, uint64_t id, void *data, void (*gone)(void *data));
void *worker_kept(struct work *work, enum remote_kind kind, uint64_t id);
/*
 * The object is about to go: its ranges leave the table, and its handle and those of all that it owns name nothing any
 * more, because the driver may give addresses and handles to what another thread makes before it answers. A handler
 * that has yielded waits here for those that use it. One that has not calls worker_later() next.
 * False: another thread is ending it already, or has; work->result says so. `handle`: what the id was found to name.
 */
bool worker_ending(struct work *work, uint64_t id, const void *handle);
/*
 * In a handler that nobody waits for: where a thread waits in the driver with the object, the last such thread calls
 * `end` afterwards, and the id goes now. False: nobody does, the handler goes on.
 */
typedef CUresult (*worker_end)(void *handle); /* a handle is a pointer, or a number of the same size */
bool worker_later(struct work *work, uint64_t id, worker_end end, void *handle);
/* It goes with another object from now on. */
void worker_own(struct work *work, uint64_t id, uint64_t owner);
/* The driver has refused to end it. */
void worker_stays(struct work *work, uint64_t id);
/* The object is gone, with all that it owns. */
void worker_remove(struct work *work, uint64_t id);

/*
 * Contexts: set by the executor before the handler runs, as work->head.context says; CUDA_ERROR_INVALID_CONTEXT when
 * it names none. 0 leaves none current.
 */

/* Addresses
 * ----------------------------------------------------------------------------------------------------------- */

/*
 * Whether [at, at + bytes) is device memory that this session holds: what the handlers that made it have added. `owner`
 * is the id that it goes away with (a context, a module, ...), or 0.
 */
bool worker_range(struct work *work, CUdeviceptr at, size_t bytes);
/* The same, or memory that the client shares with the device, or that came without our doing: of graphs, of modules. */
bool worker_reaches(struct work *work, CUdeviceptr at, size_t bytes);
/* What a device address that the client names is here: another one if it is of a variable that has moved (moved.h). */
uint64_t worker_at(uint64_t at);
int worker_range_add(struct work *work, CUdeviceptr at, size_t bytes, uint64_t owner);
/* The same for memory that the driver has just given out. */
int worker_range_put(struct work *work, CUdeviceptr at, size_t bytes, uint64_t owner);
/* Value: its size; 0: none begins there. */
size_t worker_range_remove(struct work *work, CUdeviceptr at);
/* The range that contains `at`. */
bool worker_range_find(struct work *work, CUdeviceptr at, CUdeviceptr *ret_begin, size_t *ret_bytes,
		       uint64_t *ret_owner);
/* Bytes of the arena as the worker sees them, or NULL when they are not all in it. */
void *worker_arena(struct work *work, uint64_t offset, size_t bytes);

/* Payloads
 * ------------------------------------------------------------------------------------------------------------ */

/*
 * Makes later work on `stream` wait until the request's payload has arrived: cuStreamWaitValue64 on the board, and
 * nothing where it has arrived, as it always has with a coherent arena. CUresult.
 */
CUresult worker_payload_before(struct work *work, CUstream stream);
/* A payload of the reply: it is made equal at the client's end before the reply is delivered. */
void worker_payload_reply(struct work *work, uint64_t offset, uint64_t bytes);
/* When all that is on `stream` now has been executed: the notice RETIRED of `serial`, ... */
CUresult worker_retire_after(struct work *work, CUstream stream, uint64_t serial);
/* ... or the reply to this request, with its payload (the handler returns at once; work->out is kept). */
CUresult worker_answer_after(struct work *work, CUstream stream, uint64_t offset, uint64_t bytes);
/* ... or, unless the arena is coherent, a notice MIRROR of these bytes. */
CUresult worker_mirror_after(struct work *work, CUstream stream, uint64_t offset, uint64_t bytes);

/* Order
 * ---------------------------------------------------------------------------------------------------------------- */

/* The handler is going to block: see above. Only in requests that are waited for. */
void worker_yield(struct work *work);
/* The head of the reply to this request as it stands: result, an older call's error. Once per request. */
struct call_reply worker_reply_head(struct work *work);
/* Sends a reply, from any thread; the head's size and flags are filled in. `payload`: NULL for none. 0, or -EPIPE. */
int worker_reply(struct worker *worker, const struct call_reply *head, const struct call_payload *payload,
		 const void *body, size_t bytes);
/*
 * Executes a request within another one, as if the client had sent it (the snapshot is made of such): `request` is a
 * whole message. The reply, head included, is written to `reply`. Value: its size; 0: it did not fit or made no sense.
 */
size_t worker_ask(struct work *work, const void *request, size_t size, void *reply, size_t reply_capacity);
/* Whether the client sees the worker's arena itself (WALL_COHERENT). */
bool worker_coherent(const struct worker *worker);
/* The arena: where it is mapped here, and its parts. */
const struct wall_welcome *worker_welcome(const struct worker *worker);
/* The table that the worker's own threads call, for helpers that have no request in hand. */
const struct cuda_table *worker_driver(const struct worker *worker);
/* A log line of the worker. */
__attribute__((format(printf, 1, 2))) void worker_log(const char *fmt, ...);
/* Sends a notice, from any thread. 0, or -EPIPE. */
int worker_notice(struct worker *worker, uint16_t notice, const void *body, size_t bytes);
