/*
 * serve.h: a call of a forwarded library at the worker: the parts of the handlers of every library.
 *
 * The real libraries are opened when the worker starts, before it enters the sandbox (forward_libraries_open). The
 * objects that they return (handles, plans, descriptors) are objects of the session. A scalar is sent by value, or as
 * an address that only the device uses: the library is told which before every call, so that it never takes an address
 * of the client for one of this process.
 */
#pragma once

#include "remote/libs/forward.h"
#include "remote/libs/held.h"
#include "remote/worker/worker.h"

#define FORWARD_ANY 255	    /* a call that names objects of any type */
#define FORWARD_USED_MOST 8 /* objects per call */

struct forward_work;

/* Value: 0; -EPROTO: malformed; -EMSGSIZE: the results do not fit. */
typedef int (*forward_run)(struct forward_work *work);

struct forward_file {
	const char *variable; /* the environment variable that names another file */
	const char *own;      /* mete's own, below the folder of its libraries */
	const char *names[4]; /* for a real device, newest first */
};

struct forward_served {
	const char *title;
	const char *const *names; /* of calls */
	unsigned int count;
	void **functions; /* of the real library, by call; NULL: it has no such function */
	const forward_run *handlers;
	forward_run by_hand;	    /* for calls without a handler; or NULL */
	const unsigned char *about; /* by call: the type of the object that it names; 0: none */
	void (*begin)(void);	    /* sets what is not constant, before the library is opened; NULL: nothing */
	struct forward_file files[2];
	const char *parts; /* files beside NVIDIA's library that it loads later; or NULL */
	unsigned int (*file_of)(const char *name); /* NULL: there is one file */
	unsigned int pointer_mode;		   /* the call that sets the pointer mode; 0: scalars are always in
						    * host memory */
	const char *prepare;			   /* the function that tells mete's own library the driver */
	const char *more;			   /* a function that only mete's own library has; or NULL */
	void **more_function;			   /* receives it */
	bool alone; /* does not support two concurrent calls on one object: the second is refused */
	struct forward_statuses status;
};

/* An object of a library. */
struct forward_named {
	const struct forward_served *library;
	unsigned int type; /* 1 and up */
	void *handle;
	int pointer_mode; /* the library's current mode */
	void *scratch;	  /* host workspace for its calls */
	size_t scratch_bytes;
	_Atomic unsigned int busy; /* calls that block in the library with it; raised only by the executor */
	uint64_t context;	   /* id of the context in which it was created, if it belongs to that; otherwise 0 */
	uint64_t stream;	   /* id of the stream that was set in the library for it; 0: none */
	struct forward_held *held; /* NULL: no other object refers to it */
};

struct forward_work {
	struct work *work;
	const struct forward_served *library;
	unsigned int call;
	void *function; /* of the library, or NULL */
	struct forward_named *named;
	void *handle;
	uint64_t id;	/* of `named` */
	uint64_t stream; /* id of the stream to set in the library for the object; 0: none */
	uint64_t place; /* enum forward_place of the scalars; 0: there are none */
	bool unsound;	/* the scalars have different places or no size, or an object is invalid */
	bool strange;	/* an address is not the session's, as a kernel would have found */
	bool ends;	/* the call destroys the object that it names */
	bool waits;	/* other requests run beside it: its objects are busy */
	bool stays;	/* no other request runs beside it: it uses too many objects, or queries a size */
	int status;	/* the library's status */
	void *scratch;	/* only for this call */
	struct forward_named *used[FORWARD_USED_MOST];
	unsigned int used_count;
};

struct forward_scalar {
	_Alignas(16) uint8_t bytes[FORWARD_SCALAR_BYTES];
	size_t size;
	void *at;	/* the address for the library */
	bool given_out; /* a result for the reply */
};

/* An array in host memory, as received. */
struct forward_list {
	_Alignas(8) uint8_t bytes[FORWARD_LIST_MOST * 8];
	uint64_t size;
	void *at; /* NULL: there is none */
};

/*
 * Opens the available libraries: those that the variables name; or, if the driver is the software device's, mete's own,
 * which are beside the folder of `driver_path` (the driver that calls go to); or NVIDIA's, by the names of their
 * versions.
 */
void forward_libraries_open(const struct cuda_table *driver, const char *driver_path);

void forward_get(struct forward_work *w, void *value, size_t bytes);
/* The address of a matrix, vector or workspace, or 0: it must be in memory of the session. */
void forward_get_device(struct forward_work *w, uint64_t *at);
bool forward_device_good(struct forward_work *w, uint64_t at);
CUstream forward_get_stream(struct forward_work *w);
void forward_get_scalar(struct forward_work *w, struct forward_scalar *s, size_t bytes, unsigned int direction);
void forward_get_list(struct forward_work *w, struct forward_list *l);
/* Checks that an array, if given, has so many elements. */
void forward_check_list(struct forward_work *w, const struct forward_list *l, uint64_t count, size_t each);
/* An object of this type, or NULL; and its record. */
void *forward_get_object(struct forward_work *w, unsigned int type);
struct forward_named *forward_get_named(struct forward_work *w, unsigned int type);
/*
 * Allocates host memory, valid until the object's next call needs more; while another call uses the object, until this
 * call ends. NULL: 0 bytes, or no memory.
 */
void *forward_scratch(struct forward_work *w, uint64_t bytes);
void forward_put(struct forward_work *w, const void *value, size_t bytes);
void forward_put_scalar(struct forward_work *w, const struct forward_scalar *s);
/*
 * True if all arguments were read and are valid, the library knows the place of the scalars, and no call is using an
 * object that this one destroys.
 */
bool forward_ready(struct forward_work *w);
/* The handler's value otherwise. */
int forward_refuse(struct forward_work *w);
/* Logs that the library is not available. */
void forward_lacks(const struct forward_work *w);
/* Records an object that the library has created, under `id`. `end`: the call that destroys it. */
int forward_made(struct forward_work *w, uint64_t id, unsigned int type, void *handle, unsigned int end);
/* The same for an object with a larger record: `named` is its beginning, and `gone` frees all of it. */
int forward_made_as(struct forward_work *w, uint64_t id, struct forward_named *named, void (*gone)(void *named));
/* Frees the record of any object. */
void forward_named_free(void *named);
/* Records that the library has destroyed the object that the call named. */
void forward_gone(struct forward_work *w);
