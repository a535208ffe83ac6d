/*
 * request.h: a call of a forwarded library in the client: the parts of the bodies of every library.
 *
 * The library is a separate one in the program, and finds the remote client in the libcuda.so.1 that the program has
 * (remote/client/forward.h). The client does not wait for calls without results; a later failure is returned, as an
 * error of the driver's API, by a later call of the driver.
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
	bool final; /* what a twin does not support (twin.h) is not supported by the worker either */
};

struct blas_handle;

struct forward_call {
	struct client_call call;
	const struct forward_library *library;
	const struct forward_calls *client;
	struct blas_handle *handle; /* only for cuBLAS */
	int status;
};

/* NULL: this libcuda.so.1 is not the remote client; its log says so once. */
const struct forward_calls *forward_client(void);
/*
 * Ensures a context: a program may begin with a library, which then uses the first device's primary context, as the
 * runtime does.
 */
void forward_context(void);

/* Before a call without an answer for which the worker's library may wait for the device (client/forward.h). */
void forward_settle(void);

/* False: the status is set. Only the request's number is chosen. */
bool forward_open(struct forward_call *c, const struct forward_library *library);
/*
 * Begins the message: the call's number and the object's id. `bytes`: the size of the arguments, if there may be many.
 */
bool forward_start(struct forward_call *c, uint64_t call, uint64_t id, bool waits, size_t bytes);
/* The same for a query that is sent once: a remembered answer is in c->call.in, and nothing is sent. */
bool forward_start_memo(struct forward_call *c, uint64_t call, uint64_t id);
/* Declares, after the request was begun, what it changes of its object: CLIENT_SETS(), CLIENT_SPOILS. */
static inline void forward_changes(struct forward_call *c, unsigned int change)
{
	c->call.change = (uint16_t)change;
}

/* What it sets is identified by the call alone, or by its first argument as well. */
#define FORWARD_SETS CLIENT_SETS(3)
#define FORWARD_SETS_BY CLIENT_SETS(7)
#define FORWARD_SPOILS CLIENT_SPOILS

/* True: there is an answer, and it is no error. */
bool forward_send(struct forward_call *c);
/* Value: the library's status. */
int forward_end(struct forward_call *c);

void forward_put(struct forward_call *c, const void *value, size_t bytes);
void forward_put_address(struct forward_call *c, const void *address);
void forward_put_stream(struct forward_call *c, CUstream stream);
void forward_put_placed(struct forward_call *c, const void *value, size_t bytes, unsigned int direction, bool here);
void forward_get(struct forward_call *c, void *value, size_t bytes);

/* Log one line, once per call: it is not forwarded; the worker's library, which is mete's own, does not support it. */
void forward_tell(const struct forward_library *library, const char *symbol);
void forward_tell_own(const struct forward_library *library, const char *symbol);
