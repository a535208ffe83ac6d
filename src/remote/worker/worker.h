/*
 * worker.h: the worker's session with its one client: ids, contexts, replies, and what hand-written handlers need.
 *
 * Requests are executed in the order of the ring. One thread at a time is the executor. A handler that is about to
 * block (it waits for the device, or for a payload that has not arrived) first calls worker_yield(): another thread
 * becomes the executor and continues with requests of the client's other threads, and the one that yielded answers when
 * it is done. Objects that it has looked up do not end meanwhile (uses.h). The client's thread waits for that answer,
 * so order is kept. A handler of a call without an answer never blocks.
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
	struct call_payload payload;	   /* zero: none */
	struct remote_reader in;	   /* the arguments, a private copy */
	struct remote_writer out;	   /* the results */
	void *inside;			   /* bytes of a copy that were in the message, for the driver: rooms.h */
	struct ids_reader *reader;	   /* the executing thread; NULL: no other thread executes */
	struct call_payload reply_payload; /* bytes > 0: accompanies the reply */
	uint32_t fence;			   /* of the reply */
	int32_t result;			   /* CUresult */
	CUfunction function;		   /* the last function that was found for it */
	/*
	 * the reply tells the client of something new (an id, memory), so an earlier call's error must not replace it;
	 * set by worker_add() and worker_range_add()
	 */
	bool created;
	bool answered; /* the handler itself sends (or has sent) the answer, by worker_reply() */
	bool yielded;
	/* Objects that were looked up, uses.h. `holds`: they are in use from the yield on, until the request ends. */
	struct id_entry *used[WORK_USES_MOST + 1];
	unsigned int used_count;
	bool used_over, holds;
	struct work *outer; /* of worker_ask(): the request within which this one is executed */
};

/*
 * A handler: reads work->in, sets work->result, writes work->out. Value: 0; -EPROTO: malformed, and the session ends;
 * -EMSGSIZE: the results do not fit into a reply (answered with not supported; nothing must have been executed).
 */
typedef int (*worker_handler)(struct work *work);

/* The handler of a call: generated for travel "plain", written by hand in worker/HANDLERS.c for the others. */
worker_handler worker_handler_find(uint16_t call);
/* The same for the numbers from CALL_FIRST on; worker_handler_find() calls it. */
worker_handler worker_other_find(uint16_t call);
/*
 * Handlers written by hand have the names of generated ones: worker_<symbol>(); the generated table takes those that
 * exist (weak references). Those of enum call_other: worker_other_<name in small letters>; one handler gets all numbers
 * of a family's range (work->head.call). Without a handler the answer is CUDA_ERROR_NOT_SUPPORTED. All may rely on
 * `driver` having a function in every place: functions that the driver lacks return CUDA_ERROR_NOT_SUPPORTED.
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
 * The driver's handle, or NULL: no such object (work->result is set to the documented error by kind). id 0 returns NULL
 * and leaves work->result unchanged; *known distinguishes the two.
 */
void *worker_find(struct work *work, enum remote_kind kind, uint64_t id, bool *known);
/*
 * Streams: 0 and 1 legacy, 2 the per-thread stream of work->head.thread in the current context, created at first use.
 */
CUstream worker_find_stream(struct work *work, uint64_t id, bool *known);
/*
 * Records an object under the id that the client minted. Value: 0; -EPROTO: the id is malformed or in use; -ENOSPC: too
 * many.
 */
int worker_add(struct work *work, enum remote_kind kind, uint64_t id, void *handle, uint64_t owner);
/*
 * The id of a handle that the driver returned: an existing one, or a new one of the worker. 0: too many. Only for
 * objects that live as long as `owner`, or as the session: with the id of an ended object the driver would use freed
 * memory.
 */
uint64_t worker_name(struct work *work, enum remote_kind kind, void *handle, uint64_t owner);
/* The id of an object that the driver reports and that may have ended. 0: it has no id (any more). */
uint64_t worker_known(struct work *work, enum remote_kind kind, void *handle);
/* The owner of an object; 0: none. */
uint64_t worker_owner(struct work *work, uint64_t id);
/*
 * The id of a function that a graph node has, of a module that the client does not know. It ends when any object ends
 * that holds functions; after that no more such ids are created: 0.
 */
uint64_t worker_name_loose(struct work *work, void *function);
/* KIND_FUNCTION also finds the id of a kernel. */
/*
 * Keeps data with an id for the file that created the object; `gone` is called when the id has been removed and no
 * thread reads the data. NULL: nothing of this kind. What was found is valid until the handler ends or yields.
 */
void worker_keep(struct work *work, uint64_t id, void *data, void (*gone)(void *data));
void *worker_kept(struct work *work, enum remote_kind kind, uint64_t id);
/*
 * Prepares the end of an object: its ranges leave the table, and its handle and those of all that it owns name nothing
 * any more, because the driver may reuse addresses and handles for another thread's objects before it returns. A
 * handler that has yielded waits here for threads that use it; one that has not calls worker_later() next. False:
 * another thread is ending or has ended it; work->result says so. `handle`: the handle that the id was found to name.
 */
bool worker_ending(struct work *work, uint64_t id, const void *handle);
/*
 * In a handler without an answer: if a thread waits in the driver with the object, the last such thread calls `end`
 * afterwards, and the id is removed now. False: no thread does, and the handler continues.
 */
typedef CUresult (*worker_end)(void *handle); /* the handle is a pointer, or a number of the same size */
bool worker_later(struct work *work, uint64_t id, worker_end end, void *handle);
/* Changes the owner of the object. */
void worker_own(struct work *work, uint64_t id, uint64_t owner);
/* The driver has refused to end it: undoes worker_ending(). */
void worker_stays(struct work *work, uint64_t id);
/* Removes the object, with all that it owns. */
void worker_remove(struct work *work, uint64_t id);

/*
 * Contexts: the executor sets the one of work->head.context before the handler runs; CUDA_ERROR_INVALID_CONTEXT if
 * there is no such context. 0 leaves none current.
 */

/* Addresses
 * ----------------------------------------------------------------------------------------------------------- */

/*
 * True if [at, at + bytes) is device memory that this session holds: that which handlers have added. `owner`: the id
 * with which it ends (a context, a module, ...), or 0.
 */
bool worker_range(struct work *work, CUdeviceptr at, size_t bytes);
/*
 * The same, or memory that the client shares with the device, or that the driver created without a request: of graphs,
 * of modules.
 */
bool worker_reaches(struct work *work, CUdeviceptr at, size_t bytes);
/* The address here for a device address that the client names: it differs for a variable that has moved (moved.h). */
uint64_t worker_at(uint64_t at);
int worker_range_add(struct work *work, CUdeviceptr at, size_t bytes, uint64_t owner);
/* The same for memory that the driver has just returned. */
int worker_range_put(struct work *work, CUdeviceptr at, size_t bytes, uint64_t owner);
/* Value: its size; 0: no range begins there. */
size_t worker_range_remove(struct work *work, CUdeviceptr at);
/* The range that contains `at`. */
bool worker_range_find(struct work *work, CUdeviceptr at, CUdeviceptr *ret_begin, size_t *ret_bytes,
		       uint64_t *ret_owner);
/* The worker's address of bytes of the arena, or NULL if they are not all in it. */
void *worker_arena(struct work *work, uint64_t offset, size_t bytes);

/* Payloads
 * ------------------------------------------------------------------------------------------------------------ */

/*
 * Makes later work on `stream` wait until the request's payload has arrived: by cuStreamWaitValue64 on the board, or
 * not at all if it has arrived, as it always has with a coherent arena. Value: CUresult.
 */
CUresult worker_payload_before(struct work *work, CUstream stream);
/* Adds a payload to the reply: it is copied to the client's end before the reply is delivered. */
void worker_payload_reply(struct work *work, uint64_t offset, uint64_t bytes);
/* When all current work on `stream` has been executed: sends the notice RETIRED of `serial`, ... */
CUresult worker_retire_after(struct work *work, CUstream stream, uint64_t serial);
/* ... or the reply to this request, with its payload (the handler returns at once; work->out is kept). */
CUresult worker_answer_after(struct work *work, CUstream stream, uint64_t offset, uint64_t bytes);
/* ... or, unless the arena is coherent, a notice MIRROR of these bytes. */
CUresult worker_mirror_after(struct work *work, CUstream stream, uint64_t offset, uint64_t bytes);

/* Order
 * ---------------------------------------------------------------------------------------------------------------- */

/* Called by a handler that is about to block: see above. Only in requests with an answer. */
void worker_yield(struct work *work);
/* The current head of the reply to this request: result, an earlier call's error. Once per request. */
struct call_reply worker_reply_head(struct work *work);
/*
 * Sends a reply, from any thread; the head's size and flags are filled in. `payload`: NULL for none. Value: 0, or
 * -EPIPE.
 */
int worker_reply(struct worker *worker, const struct call_reply *head, const struct call_payload *payload,
		 const void *body, size_t bytes);
/*
 * Executes a request within another one, as if the client had sent it (the snapshot consists of such): `request` is a
 * whole message. The reply, including its head, is written to `reply`. Value: its size; 0: it did not fit or was
 * malformed.
 */
size_t worker_ask(struct work *work, const void *request, size_t size, void *reply, size_t reply_capacity);
/* True if the client maps the worker's arena itself (WALL_COHERENT). */
bool worker_coherent(const struct worker *worker);
/* The arena: its mapping here, and its parts. */
const struct wall_welcome *worker_welcome(const struct worker *worker);
/* The table for the worker's own threads, for helpers without a request. */
const struct cuda_table *worker_driver(const struct worker *worker);
/* Writes a line to the worker's log. */
__attribute__((format(printf, 1, 2))) void worker_log(const char *fmt, ...);
/* Sends a notice, from any thread. Value: 0, or -EPIPE. */
int worker_notice(struct worker *worker, uint16_t notice, const void *body, size_t bytes);
