/*
 * move.h: a session continues with another worker: of the same device, of another device, or of another server. The
 * previous worker has then exited, and with it everything that it held of the device.
 *
 * Leaving: the gate closes, calls that are inside end, the device becomes idle; memory and images of kernels are copied
 * into this process, and the connection is closed. Returning: the client connects for a worker as at the start, and
 * waits until meted has one; memory is placed at the same addresses, and the deeds of all living objects are repeated
 * in their order, so that ids keep their meaning. Then the gate opens. A worker that dies meanwhile is replaced by the
 * next one: the client still has all data.
 *
 * A move to another server connects before it leaves: that server's worker receives everything while the previous one
 * stands still with all it has. The previous worker is left when the first waiting call continues. Until then nothing
 * is lost, whatever happens to the other server.
 *
 * Objects that cannot be created again keep the session where it is (enum worker_stay), and meted is told which and how
 * many.
 */
#pragma once

#include "remote/client/deeds.h"
#include "remote/client/ranges.h"
#include "remote/client/session.h"
#include "remote/move.h"
#include "wire/worker.h"

/* Starts the thread that waits for the worker's wish. Without it the session cannot be moved. */
void move_start(struct session *session);
void move_stop(struct session *session);
/* In the child of fork(): it has no such thread. */
void move_forget(void);

/* ---- its parts ---- */

/* An image of kernels from which a living module was loaded. */
struct move_kept_image {
	struct move_kept_image *next;
	uint8_t hash[SHA256_BYTES];
	uint64_t bytes;
	uint8_t data[];
};

/* The contents of a module's variable. */
struct move_kept_variable {
	struct move_kept_variable *next;
	uint64_t owner, context; /* ids; `context` 0 for a module's */
	uint64_t bytes;
	char *name; /* behind the data */
	uint8_t data[];
};

/* A variable whose address the program knows; it may be elsewhere by now (worker/moved.h). */
struct move_known {
	struct move_known *next;
	uint64_t owner, context; /* ids; `context` 0 for a module's */
	uint64_t address, bytes;
	const char *name; /* the client's */
};

/* The location of a variable, or its location when the program learned it. */
struct move_span {
	uint64_t begin, end;
};

/* The contents of an array, or of a level of a mipmapped one. */
struct move_kept_array {
	struct move_kept_array *next;
	uint64_t handle;
	uint64_t row_bytes, height, depth;
	uint8_t *data;
};

/* Physical memory that the program maps. */
struct physical;
struct move_mapped {
	struct physical *physical;
	uint64_t at; /* the address for copies */
	bool shown;  /* mapped at an address of the client's own: the program's mappings cannot be copied */
};

#define MOVE_CONTEXTS 256u

struct move {
	struct session *session;
	uint32_t serial;
	uint64_t began_ns, until_ns; /* when the move was requested; the time limit for the device to become idle */
	enum worker_stay stay;
	uint32_t count;	     /* of objects that cannot move */
	struct range *range; /* all of the session's */
	size_t ranges;
	struct move_mapped *mapped;
	size_t mapped_count;
	uint64_t a_context; /* handle of a living one, or 0 */
	uint64_t total, done, told;
	struct move_kept_image *images;
	struct move_kept_variable *variables;
	struct move_known *known;
	struct move_span *span; /* sorted before memory is copied */
	size_t spans, span_room;
	uint64_t words; /* words in memory that hold the address of a variable */
	struct move_kept_array *arrays;
	uint64_t aside;			 /* bytes of arrays, in addition to `total` */
	char where[WALL_WHERE_BYTES];	 /* "": the path by which it connected */
	char why[WORKER_WHERE_BYTES];	 /* WORKER_STAY_SERVER */
	uint64_t context[MOVE_CONTEXTS]; /* ids of living contexts */
	unsigned int context_count;
	struct deed **deed;	/* in order; owned by their objects */
	struct deed **stand_in; /* the deeds that created streams and events of captures which have ended since;
				 * ordered by `from` */
	uint8_t *stands;	/* for each, whether it exists */
	size_t stand_ins;
	uint32_t slot;		/* the first slot that no worker has named */
	size_t deeds, contexts; /* those of contexts come first */
	bool taken_up;		  /* the worker that answers is the next one, which takes the session up */
	CUresult wrong;		  /* the first error there of a request without an answer of its own */
	struct move_ahead *ahead; /* requests that are on their way */
};

/* How far it is: the worker is told, now and then. `wait`: it has heard it. False: it has gone. */
bool move_say(struct move *m, enum worker_phase phase, bool wait);
/* The head of a request that is created here. */
struct call_request move_head(uint16_t call, uint64_t context);
/*
 * Sends a whole message. False: the connection is lost. move_answer() returns the CUresult of the call; the caller must
 * call link_done().
 */
bool move_begin(struct move *m, const void *message, size_t bytes, struct link_answer *answer);
CUresult move_answer(struct move *m, struct link_answer *answer);
/* Both; the reply is in `answer` until link_done(), which the caller must call. Value: CUresult of the call. */
CUresult move_ask(struct move *m, const void *message, size_t bytes, struct link_answer *answer);
/* The same for a request that is created here. */
CUresult move_request(struct move *m, uint16_t call, uint64_t context, const void *body, size_t bytes,
		      struct link_answer *answer);
/*
 * move_ahead.c: sends a whole message whose answer contains only its result, and waits later. Value: the first error
 * among the answers that have arrived; move_caught_up(): waits for all of them, once.
 */
CUresult move_send(struct move *m, const void *message, size_t bytes);
CUresult move_caught_up(struct move *m);
void move_ahead_free(struct move *m);
/* Cancels the move for this reason. */
bool move_stays(struct move *m, enum worker_stay stay, uint32_t count);
/* The other server, for people to read. */
const char *move_server(const struct move *m);
/* Cancels the move because of something at the other server. */
__attribute__((format(printf, 2, 3))) bool move_refused(struct move *m, const char *fmt, ...);
/* Sets the calling thread's current context, for copies. */
void move_enter(uint64_t context);

/* move_memory.c: counts all memory, copies it out, places it and copies it in. */
bool move_memory_look(struct move *m);
/* True if the quota has room for it, placed anew; asks the worker. */
bool move_memory_fits(struct move *m);
/* True if the new worker's devices are of the same kind as those of the previous worker. */
bool move_is_alike(struct move *m);
bool move_memory_out(struct move *m);
CUresult move_memory_in(struct move *m);
void move_memory_free(struct move *m);

/* The id of a context's handle, or 0. */
uint64_t move_context_id(uint64_t handle);

/*
 * move_mapped.c: the same for reserved addresses and the memory that the program maps there; copied with the other
 * memory.
 */
bool move_mapped_look(struct move *m);
/* Maps each at an address for copies, until move_mapped_hide(). */
bool move_mapped_show(struct move *m);
CUresult move_mapped_hide(struct move *m);
CUresult move_mapped_in(struct move *m);
void move_mapped_free(struct move *m);

/* move_objects.c: the same for objects. */
bool move_objects_look(struct move *m);
/*
 * True if something stays, as move_objects_look() would report; may be called while the program runs, and collects
 * nothing.
 */
bool move_objects_pinned(struct move *m);
bool move_images_out(struct move *m);
/* Makes the worker use these ids, in order, for objects that it names from now on. */
CUresult move_want(struct move *m, const uint64_t *ids, uint32_t count);
CUresult move_contexts_again(struct move *m);
CUresult move_objects_again(struct move *m);
void move_objects_free(struct move *m);

/* move_arrays.c: the same for the contents of arrays; examined before objects are. */
bool move_arrays_look(struct move *m);
bool move_arrays_out(struct move *m);
CUresult move_arrays_in(struct move *m);
void move_arrays_free(struct move *m);

/* move_variables.c: the variables of one module, or of one library in this context. False: the session stays. */
struct code_load;
/* Collects all variables whose address the program knows. False: no memory. */
bool move_known_look(struct move *m);
/* Copies out those of a module that are not kept yet: in constant memory. `context`: of the module. */
bool move_known_out(struct move *m, uint64_t owner, uint64_t context);
bool move_variables_out(struct move *m, const struct code_load *load, uint64_t context);
CUresult move_variables_in(struct move *m);
/* Reserves their previous places before anything is loaded, so that nothing else is placed there. */
CUresult move_known_reserve(struct move *m);
/* Called when the module or library was loaded. */
CUresult move_known_again(struct move *m, uint64_t owner, uint64_t context);
/* Counts words in memory that are addresses of variables; a session with such words stays. */
void move_spans_sort(struct move *m);
void move_words_count(struct move *m, const void *data, uint64_t bytes);
void move_variables_free(struct move *m);
