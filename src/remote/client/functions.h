/*
 * functions.h: what the client knows of modules, libraries and their contents. Most of it comes with the answer to a
 * load; the rest is requested once.
 *
 * Lists only grow while their module or library lives, so names are looked up without a lock. A function's record is
 * freed only after its handle has ended and no thread that may have found it uses it any more. Code between
 * client_call() and client_end() is protected; code outside these says LOOKING.
 */
#pragma once

#include "remote/client/call.h"
#include "remote/client/grave.h"
#include "remote/code.h"

#include <pthread.h>
#include <stdatomic.h>

/* A function, or a kernel of a library: kept with its handle, and readable for a while after it ends (grave.h). */
struct function {
	struct grave grave; /* the first member */
	struct function *next; /* in the bucket of its code; or of the same kernel */
	struct code *code;
	struct function *kernel; /* the kernel whose function in a context this is, or NULL */
	_Atomic(struct function *) functions; /* of a kernel */
	struct session *session;
	uint64_t id;
	void *handle;
	enum remote_kind kind;
	uint64_t context; /* of a kernel's function: the id of that context */
	const char *name;
	bool layout; /* the parameters are known */
	uint32_t params, param_bytes, devices;
	const struct code_param *param;
	struct code_attributes *attribute; /* by the worker's devices; only of a function */
	_Atomic uint64_t passed; /* the shape of a launch that the driver has accepted, see launches.c */
	_Atomic(struct legacy *) legacy; /* see legacy.c */
};

#define CODE_BUCKETS 64u

struct global; /* globals.c */
struct twins;  /* twins.c */

/* A module or library: kept in the same way. */
struct code {
	struct grave grave; /* the first member */
	pthread_mutex_t lock; /* for additions */
	struct session *session;
	uint64_t id;
	void *handle;
	enum remote_kind kind;
	_Atomic bool variables;	      /* it has device variables, or may have */
	_Atomic uint32_t count, told; /* the number of its functions, or CODE_COUNT_UNKNOWN; the number in buckets */
	_Atomic(struct function *) bucket[CODE_BUCKETS];
	_Atomic(struct global *) globals;
	struct twins *twins;		   /* of a library that may also be loaded elsewhere, or NULL */
	struct code *twin_of, *next_twin; /* of a twin */
};

/*
 * The record of a module or library; created if the worker named it. NULL: c->result gives the reason. Chooses the
 * session.
 */
struct code *code_use(struct client_call *c, enum remote_kind kind, const void *handle);
/* Creates a record for a minted handle. NULL: no memory. */
struct code *code_new(struct session *session, enum remote_kind kind, void *handle, uint64_t id);
/* Stores what an answer contains, after struct code_loaded was read from c->in. False: the answer is malformed. */
bool code_learn(struct client_call *c, struct code *code, const struct code_loaded *loaded);
/*
 * The function or kernel of this name. Sets c->result, to the documented error if there is none. Ends the call that it
 * begins.
 */
struct function *code_function(struct client_call *c, struct code *code, const char *name);
/* The first `most` of them, in the driver's order. */
CUresult code_enumerate(struct client_call *c, struct code *code, void **list, unsigned int most);
/* Makes code->count known if the worker can tell. */
bool code_count(struct client_call *c, struct code *code);

/*
 * Resolves a value of type CUfunction: a function or a kernel. NULL: c->result gives the reason. Chooses the session.
 * Asks the worker once about a function that it named.
 */
struct function *function_use(struct client_call *c, const void *handle);
struct function *kernel_use(struct client_call *c, const void *handle);
/* The kernel's function in the current context. */
struct function *kernel_function(struct client_call *c, struct function *kernel);
/*
 * The cached attributes of the function on a device (the worker's ordinal); requested again after one has been set.
 * NULL: not known.
 */
struct code_attributes *function_attribute(struct client_call *c, struct function *f, int device,
					   CUfunction_attribute attribute);
