/*
 * functions.h: what the client knows of modules, libraries and what is in them. Most of it comes with the answer to a
 * load; the rest is asked for once.
 *
 * Lists only grow while their module or library lives, so names are looked up without a lock, and a function's record
 * stays where it is until its handle has ended and nobody looks who can have found it. Who uses one between
 * client_call() and client_end() need do nothing; who uses it beyond says LOOKING.
 */
#pragma once

#include "remote/client/call.h"
#include "remote/client/grave.h"
#include "remote/code.h"

#include <pthread.h>
#include <stdatomic.h>

/* A function, or a kernel of a library: kept with its handle, and read on by who found it in time (grave.h). */
struct function {
	struct grave grave; /* the first member */
	struct function *next; /* in its code's bucket; or of the same kernel */
	struct code *code;
	struct function *kernel; /* whose function in some context this is, or NULL */
	_Atomic(struct function *) functions; /* of a kernel */
	struct session *session;
	uint64_t id;
	void *handle;
	enum remote_kind kind;
	uint64_t context; /* of a kernel's function: the id of that context */
	const char *name;
	bool layout; /* parameters are known */
	uint32_t params, param_bytes, devices;
	const struct code_param *param;
	struct code_attributes *attribute; /* by the worker's devices; one of a function */
	_Atomic uint64_t passed; /* the shape of a launch that the driver has looked at and taken, see launches.c */
	_Atomic(struct legacy *) legacy; /* see legacy.c */
};

#define CODE_BUCKETS 64u

struct global; /* globals.c */
struct twins;  /* twins.c */

/* A module or library: kept in the same way. */
struct code {
	struct grave grave; /* the first member */
	pthread_mutex_t lock; /* for adding */
	struct session *session;
	uint64_t id;
	void *handle;
	enum remote_kind kind;
	_Atomic bool variables;	      /* it has some of the device's, or may have */
	_Atomic uint32_t count, told; /* functions in it, CODE_COUNT_UNKNOWN; functions in buckets */
	_Atomic(struct function *) bucket[CODE_BUCKETS];
	_Atomic(struct global *) globals;
	struct twins *twins;		   /* of a library that may be loaded elsewhere too, or NULL */
	struct code *twin_of, *next_twin; /* of a twin */
};

/*
 * The record of a module or library; made when the worker named it by itself. NULL: c->result says why. Chooses the
 * session.
 */
struct code *code_use(struct client_call *c, enum remote_kind kind, const void *handle);
/* A new record for a handle that was minted. NULL without memory. */
struct code *code_new(struct session *session, enum remote_kind kind, void *handle, uint64_t id);
/* Takes what an answer tells (struct code_loaded was read from c->in already). False: the answer is malformed. */
bool code_learn(struct client_call *c, struct code *code, const struct code_loaded *loaded);
/*
 * The function or kernel of this name. Sets c->result, to the documented error if there is none. Ends what it begins.
 */
struct function *code_function(struct client_call *c, struct code *code, const char *name);
/* The first `most` of them, in the driver's order. */
CUresult code_enumerate(struct client_call *c, struct code *code, void **list, unsigned int most);
/* Makes sure that code->count is known if the worker can tell. */
bool code_count(struct client_call *c, struct code *code);

/*
 * What a value of type CUfunction means: a function, or a kernel. NULL: c->result says why. Chooses the session. A
 * function that the worker named by itself is asked about once.
 */
struct function *function_use(struct client_call *c, const void *handle);
struct function *kernel_use(struct client_call *c, const void *handle);
/* The kernel's function in the current context. */
struct function *kernel_function(struct client_call *c, struct function *kernel);
/*
 * Where an attribute of the function is kept, on a device as the worker numbers them; asked for anew when something
 * has been set. NULL: nobody knows.
 */
struct code_attributes *function_attribute(struct client_call *c, struct function *f, int device,
					   CUfunction_attribute attribute);
