/*
 * serve.h: a call of a forwarded library at the worker: what the handlers of every library are made of.
 *
 * The real libraries are opened when the worker starts, before it shuts itself in (forward_libraries_open). What they
 * give out (handles, plans, descriptors) are objects of the session. Scalars come by value, or as an address that goes
 * to the device alone: the library is told which before every call, so that it never takes an address of the client's
 * for one of this process.
 */
#pragma once

#include "remote/libs/forward.h"
#include "remote/libs/held.h"
#include "remote/worker/worker.h"

#define FORWARD_ANY 255	    /* a call may be about objects of any type */
#define FORWARD_USED_MOST 8 /* objects in one call */

struct forward_work;

/* 0; -EPROTO: malformed; -EMSGSIZE: the results do not fit. */
typedef int (*forward_run)(struct forward_work *work);

struct forward_file {
	const char *variable; /* names another file */
	const char *own;      /* below the folder of mete's libraries */
	const char *names[4]; /* where the device is real, the newest first */
};

struct forward_served {
	const char *title;
	const char *const *names; /* of calls */
	unsigned int count;
	void **functions; /* of the real library, by call; NULL: it has none */
	const forward_run *handlers;
	forward_run by_hand;	    /* for calls without one; or NULL */
	const unsigned char *about; /* by call: the type of the object that it is about; 0: none */
	void (*begin)(void);	    /* fills what is not constant, before the library is opened; NULL: nothing */
	struct forward_file files[2];
	const char *parts; /* files beside NVIDIA's library that it opens later; or NULL */
	unsigned int (*file_of)(const char *name); /* NULL: there is one file */
	unsigned int pointer_mode;		   /* the call that sets it; 0: scalars are always here */
	const char *prepare;			   /* what mete's own library is told the driver by */
	const char *more;			   /* a function of mete's own library alone; or NULL */
	void **more_function;			   /* gets it */
	bool alone; /* not made for two calls at once that are about one object: the second is refused */
	struct forward_statuses status;
};

/* An object of a library's. */
struct forward_named {
	const struct forward_served *library;
	unsigned int type; /* 1 and up */
	void *handle;
	int pointer_mode; /* as the library has it */
	void *scratch;	  /* host workspace of its calls */
	size_t scratch_bytes;
	_Atomic unsigned int busy; /* calls that wait in the library with it; raised by the executor alone */
	uint64_t context;	   /* id, of the one in which it was made, where that is where it lives; else 0 */
	uint64_t stream;	   /* id, of the one that the library has been told for it; 0: none */
	struct forward_held *held; /* NULL: no other object refers to it */
};

struct forward_work {
	struct work *work;
	const struct forward_served *library;
	unsigned int call;
	void *function; /* of the library, or NULL */
	struct forward_named *named;
	void *handle;
	uint64_t id;	/* of the object */
	uint64_t stream; /* id, that the library is told for the object; 0: it is told none */
	uint64_t place; /* where the scalars stand: enum forward_place; 0: there are none */
	bool unsound;	/* some stand here, others there, or have no size; an object is none */
	bool strange;	/* an address is not the session's; as kernels would have found out */
	bool ends;	/* the call ends the object that it is about */
	bool waits;	/* others are executed beside it: its objects are busy */
	bool stays;	/* nothing is executed beside it: it uses more objects than can be noted, or asks a size */
	int status;	/* of the library */
	void *scratch;	/* of this call alone */
	struct forward_named *used[FORWARD_USED_MOST];
	unsigned int used_count;
};

struct forward_scalar {
	_Alignas(16) uint8_t bytes[FORWARD_SCALAR_BYTES];
	size_t size;
	void *at;	/* what the library gets */
	bool given_out; /* to the reply */
};

/* An array in the program's memory, as it came. */
struct forward_list {
	_Alignas(8) uint8_t bytes[FORWARD_LIST_MOST * 8];
	uint64_t size;
	void *at; /* NULL: there is none */
};

/*
 * Opens what there is: what the variable names; or, where the driver is the software device's, mete's own libraries,
 * which lie beside the folder of `driver_path` (the driver that calls go to); or the names of NVIDIA's versions.
 */
void forward_libraries_open(const struct cuda_table *driver, const char *driver_path);

void forward_get(struct forward_work *w, void *value, size_t bytes);
/* The address of a matrix, vector or workspace, or 0: it must lie in memory of the session. */
void forward_get_device(struct forward_work *w, uint64_t *at);
bool forward_device_good(struct forward_work *w, uint64_t at);
CUstream forward_get_stream(struct forward_work *w);
void forward_get_scalar(struct forward_work *w, struct forward_scalar *s, size_t bytes, unsigned int direction);
void forward_get_list(struct forward_work *w, struct forward_list *l);
/* An array that is there has so many elements. */
void forward_check_list(struct forward_work *w, const struct forward_list *l, uint64_t count, size_t each);
/* An object of this type, or NULL; and what is kept of it. */
void *forward_get_object(struct forward_work *w, unsigned int type);
struct forward_named *forward_get_named(struct forward_work *w, unsigned int type);
/*
 * So many bytes of this process's memory, until the object's next call asks for more; beside another call with the
 * object, until this one ends. NULL: 0 bytes, or no memory.
 */
void *forward_scratch(struct forward_work *w, uint64_t bytes);
void forward_put(struct forward_work *w, const void *value, size_t bytes);
void forward_put_scalar(struct forward_work *w, const struct forward_scalar *s);
/* All was read and is sound, the library knows where scalars stand, and no call is at work with what is ended. */
bool forward_ready(struct forward_work *w);
/* What a handler answers when it is not. */
int forward_refuse(struct forward_work *w);
/* A line in the log: the library is not here. */
void forward_lacks(const struct forward_work *w);
/* The library has made an object: `id` is to name it. `end`: the call that ends it again. */
int forward_made(struct forward_work *w, uint64_t id, unsigned int type, void *handle, unsigned int end);
/* The same for an object of which more than that is kept: `named` is its beginning, and `gone` frees it with all. */
int forward_made_as(struct forward_work *w, uint64_t id, struct forward_named *named, void (*gone)(void *named));
/* What of any object is kept goes. */
void forward_named_free(void *named);
/* The library has ended the object that the call was about. */
void forward_gone(struct forward_work *w);
