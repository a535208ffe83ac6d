/*
 * move.h: a session goes on with another worker: of the same device, of another, of another server. The worker before
 * has ended by then, and with it everything that it held of the device.
 *
 * Leaving: the gate closes, calls that are inside end, the device comes to rest; memory and images of kernels are
 * copied into this process, and the connection is closed. Returning: a worker is asked for in the same way as at the
 * beginning, which waits until meted has one to give; memory lies at the same addresses again, and the deeds of all
 * living objects are repeated in their order, so that ids mean what they meant. Then the gate opens. A worker that ends
 * on the way is replaced by the next one: all that it was to get is still here.
 *
 * To another server it goes before it has left: that one's worker takes everything up while the one before stands still
 * with all it has. When the first call that waited goes on, the one before is left. Until then nothing is lost,
 * whatever becomes of the other server.
 *
 * What cannot be made again keeps the session where it is (enum worker_stay), and meted is told which and how many.
 */
#pragma once

#include "remote/client/deeds.h"
#include "remote/client/ranges.h"
#include "remote/client/session.h"
#include "remote/move.h"
#include "wire/worker.h"

/* The thread that waits for the worker's wish. Without it the session cannot be asked. */
void move_start(struct session *session);
void move_stop(struct session *session);
/* In the child of fork(): it has no such thread. */
void move_forget(void);

/* ---- its parts ---- */

/* An image of kernels that a living module was loaded from. */
struct move_kept_image {
	struct move_kept_image *next;
	uint8_t hash[SHA256_BYTES];
	uint64_t bytes;
	uint8_t data[];
};

/* What a variable of a module held. */
struct move_kept_variable {
	struct move_kept_variable *next;
	uint64_t owner, context; /* ids; of a module 0 */
	uint64_t bytes;
	char *name; /* behind the data */
	uint8_t data[];
};

/* A variable whose address the program has been told; it may lie elsewhere by now (worker/moved.h). */
struct move_known {
	struct move_known *next;
	uint64_t owner, context; /* ids; of a module's 0 */
	uint64_t address, bytes;
	const char *name; /* the client's */
};

/* Where a variable lies, or has lain when the program was told. */
struct move_span {
	uint64_t begin, end;
};

/* What an array, or a level of a mipmapped one, held. */
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
	uint64_t at; /* where it is copied */
	bool shown;  /* addresses of ours: the program's are none for that */
};

#define MOVE_CONTEXTS 256u

struct move {
	struct session *session;
	uint32_t serial;
	uint64_t began_ns, until_ns; /* when it was asked; for the device to come to rest */
	enum worker_stay stay;
	uint32_t count;	     /* of what cannot move */
	struct range *range; /* all of the session's */
	size_t ranges;
	struct move_mapped *mapped;
	size_t mapped_count;
	uint64_t a_context; /* handle of one that lives, or 0 */
	uint64_t total, done, told;
	struct move_kept_image *images;
	struct move_kept_variable *variables;
	struct move_known *known;
	struct move_span *span; /* sorted when the memory is copied */
	size_t spans, span_room;
	uint64_t words; /* of memory, that hold the address of a variable */
	struct move_kept_array *arrays;
	uint64_t aside;			 /* bytes of arrays, beside `total` */
	char where[WALL_WHERE_BYTES];	 /* "": by the way that it came */
	char why[WORKER_WHERE_BYTES];	 /* WORKER_STAY_SERVER */
	uint64_t context[MOVE_CONTEXTS]; /* ids of those that live */
	unsigned int context_count;
	struct deed **deed;	/* in order; they are their objects' */
	struct deed **stand_in; /* what made streams and events of captures that have ended since; by `from` */
	uint8_t *stands;	/* of each whether it is there */
	size_t stand_ins;
	uint32_t slot;		/* the first that no worker has named */
	size_t deeds, contexts; /* those of contexts come first */
	struct move_ahead *ahead; /* requests that are on their way */
};

/* How far it is: the worker is told, now and then. `wait`: it has heard it. False: it has gone. */
bool move_say(struct move *m, enum worker_phase phase, bool wait);
/* Of a request that is made here. */
struct call_request move_head(uint16_t call, uint64_t context);
/* A whole message is on its way; false: the line is lost. Its answer: CUresult of the call; link_done() is owed. */
bool move_begin(struct move *m, const void *message, size_t bytes, struct link_answer *answer);
CUresult move_answer(struct move *m, struct link_answer *answer);
/* Both; its reply is in `answer` until link_done(), which the caller owes. CUresult of the call. */
CUresult move_ask(struct move *m, const void *message, size_t bytes, struct link_answer *answer);
/* The same of a request that is made here. */
CUresult move_request(struct move *m, uint16_t call, uint64_t context, const void *body, size_t bytes,
		      struct link_answer *answer);
/*
 * move_ahead.c: a whole message whose answer says nothing but whether it succeeded: it is waited for later. Value:
 * what those have said whose answers have come; move_caught_up(): all of them, once.
 */
CUresult move_send(struct move *m, const void *message, size_t bytes);
CUresult move_caught_up(struct move *m);
void move_ahead_free(struct move *m);
/* It stays, for this reason. */
bool move_stays(struct move *m, enum worker_stay stay, uint32_t count);
/* The other server, for people to read. */
const char *move_server(const struct move *m);
/* It stays because of what is at the other server. */
__attribute__((format(printf, 2, 3))) bool move_refused(struct move *m, const char *fmt, ...);
/* The calling thread's current context, for copies. */
void move_enter(uint64_t context);

/* move_memory.c: everything is counted, copied out, placed and copied in. */
bool move_memory_look(struct move *m);
/* Whether the quota has room for it, placed anew: asks the worker. */
bool move_memory_fits(struct move *m);
/* Whether the new worker's devices are of the same kind as those of the worker before. */
bool move_is_alike(struct move *m);
bool move_memory_out(struct move *m);
CUresult move_memory_in(struct move *m);
void move_memory_free(struct move *m);

/* Id of a context's handle, or 0. */
uint64_t move_context_id(uint64_t handle);

/* move_mapped.c: the same of reserved addresses and of what the program maps there; copied with the other memory. */
bool move_mapped_look(struct move *m);
/* Each has an address where it can be copied, until move_mapped_hide(). */
bool move_mapped_show(struct move *m);
CUresult move_mapped_hide(struct move *m);
CUresult move_mapped_in(struct move *m);
void move_mapped_free(struct move *m);

/* move_objects.c: the same of objects. */
bool move_objects_look(struct move *m);
/* Something stays, as move_objects_look() would say; may be asked while the program works, and gathers nothing. */
bool move_objects_pinned(struct move *m);
bool move_images_out(struct move *m);
/* The worker takes these ids, in their order, for what it names by itself from now on. */
CUresult move_want(struct move *m, const uint64_t *ids, uint32_t count);
CUresult move_contexts_again(struct move *m);
CUresult move_objects_again(struct move *m);
void move_objects_free(struct move *m);

/* move_arrays.c: the same of what is in arrays; looked at before objects are. */
bool move_arrays_look(struct move *m);
bool move_arrays_out(struct move *m);
CUresult move_arrays_in(struct move *m);
void move_arrays_free(struct move *m);

/* move_variables.c: those of one module, or of one library in this context. False: it stays. */
struct code_load;
/* All that the program knows the address of. False: no memory. */
bool move_known_look(struct move *m);
/* Those of a module that have not been kept yet: in constant memory. `context`: of the module. */
bool move_known_out(struct move *m, uint64_t owner, uint64_t context);
bool move_variables_out(struct move *m, const struct code_load *load, uint64_t context);
CUresult move_variables_in(struct move *m);
/* Nothing comes to lie where they have lain; before anything is loaded. */
CUresult move_known_reserve(struct move *m);
/* The module or library has been loaded. */
CUresult move_known_again(struct move *m, uint64_t owner, uint64_t context);
/* Memory that moves: words in it that are addresses of variables are counted. Such a session stays. */
void move_spans_sort(struct move *m);
void move_words_count(struct move *m, const void *data, uint64_t bytes);
void move_variables_free(struct move *m);
