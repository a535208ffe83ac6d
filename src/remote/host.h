/*
 * host.h: messages about functions of the program that the driver calls: host functions, stream callbacks, destructors
 * of user objects. They run in the client; the messages carry a token that the client has assigned, never an address.
 *
 * The worker's driver calls a function of the worker, which sends CALL_NOTICE_HOST and waits for CALL_HOST_DONE. Later
 * work in the stream therefore waits too.
 */
#pragma once

#include <stdint.h>

enum host_kind {
	HOST_RUN,      /* call the function; it may be called again */
	HOST_RUN_ONCE, /* call it and release it */
	HOST_CALLBACK, /* a stream callback with `status`; release it */
	HOST_DESTROY,  /* a destructor; release it; without an answer */
	HOST_GONE,     /* release it: it will not be called again; without an answer */
	HOST_KINDS
};

/* Body of CALL_NOTICE_HOST. */
struct host_run {
	uint64_t token;
	uint64_t ticket; /* 0: no answer is expected */
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
