/*
 * host.h: messages about functions of the program that the driver calls: host functions, stream callbacks, destructors
 * of user objects. They run in the client; what travels is a token that the client gave out, never an address.
 *
 * The worker's driver calls a function of the worker, which sends CALL_NOTICE_HOST and waits for CALL_HOST_DONE: so
 * what stands behind it in the stream waits, too.
 */
#pragma once

#include <stdint.h>

enum host_kind {
	HOST_RUN,      /* call the function; it may be called again */
	HOST_RUN_ONCE, /* and forget it */
	HOST_CALLBACK, /* a stream callback, with `status`; and forget it */
	HOST_DESTROY,  /* a destructor, and forget it; nobody waits */
	HOST_GONE,     /* forget it: it will not be called again; nobody waits */
	HOST_KINDS
};

/* Body of CALL_NOTICE_HOST. */
struct host_run {
	uint64_t token;
	uint64_t ticket; /* 0: nobody waits */
	uint32_t kind;	 /* enum host_kind */
	int32_t status;	 /* CUresult */
};

/* CALL_HOST_DONE. */
struct host_done {
	uint64_t ticket;
};

/* cuLaunchHostFunc; cuStreamAddCallback with flags. */
struct host_launch {
	uint64_t stream, token;
	uint64_t flags;
};

/* cuUserObjectCreate. */
struct host_object {
	uint64_t id, token;
	uint32_t references, flags;
};

/* cuUserObjectRelease. */
struct host_release {
	uint64_t id, count;
};
