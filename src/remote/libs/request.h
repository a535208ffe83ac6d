/*
 * request.h: a call of a forwarded library on its way, in the client: what the bodies of every library are made of.
 *
 * The library is one of its own in the program, and finds the remote client in whatever libcuda.so.1 the program has
 * (remote/client/forward.h). Calls that give nothing out are not waited for; what fails later comes, as an error of the
 * driver's API, with a later call of that.
 */
#pragma once

#include "remote/client/deeds.h"
#include "remote/client/forward.h"
#include "remote/libs/forward.h"

struct forward_library {
	uint16_t number; /* enum forward_number */
	const char *title;
	const char *refused; /* the name of the status of a call that is not forwarded */
	struct forward_statuses status;
	bool final; /* a twin that supports something not (twin.h) is believed */
};

struct blas_handle;

struct forward_call {
	struct client_call call;
	const struct forward_library *library;
	const struct forward_calls *client;
	struct blas_handle *handle; /* of cuBLAS's halves alone */
	int status;
};

/* NULL: this libcuda.so.1 is no remote client; said in its log at the first time. */
const struct forward_calls *forward_client(void);
/* A program may begin with a library, which then takes the first device's primary context, as the runtime does. */
void forward_context(void);

/* False: the status is set. Nothing is chosen yet but the request's number. */
bool forward_open(struct forward_call *c, const struct forward_library *library);
/* Begins the message: the call's number and the object's id. `bytes`: of the arguments, when they may be many. */
bool forward_start(struct forward_call *c, uint64_t call, uint64_t id, bool waits, size_t bytes);
/* The same for what is asked once: an answer that is remembered is in c->call.in, and nothing is sent. */
bool forward_start_memo(struct forward_call *c, uint64_t call, uint64_t id);
/* The request sets something of its object: CLIENT_SETS(), CLIENT_SPOILS. After it was begun. */
static inline void forward_changes(struct forward_call *c, unsigned int change)
{
	c->call.change = (uint16_t)change;
}

/* What it sets is said by the call alone, or by its first argument as well. */
#define FORWARD_SETS CLIENT_SETS(3)
#define FORWARD_SETS_BY CLIENT_SETS(7)
#define FORWARD_SPOILS CLIENT_SPOILS

/* True: there is an answer, and it is no error. */
bool forward_send(struct forward_call *c);
/* The library's status. */
int forward_end(struct forward_call *c);

void forward_put(struct forward_call *c, const void *value, size_t bytes);
void forward_put_address(struct forward_call *c, const void *address);
void forward_put_stream(struct forward_call *c, CUstream stream);
void forward_put_placed(struct forward_call *c, const void *value, size_t bytes, unsigned int direction, bool here);
void forward_get(struct forward_call *c, void *value, size_t bytes);

/* One line in the log, once per call. */
void forward_tell(const struct forward_library *library, const char *symbol);
