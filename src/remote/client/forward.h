/*
 * forward.h: what libraries that are forwarded at their own interface (src/remote/blas) take from the remote client.
 *
 * They are libraries of their own in the program, built with it and of the same version; they find the client's one
 * table by name in whatever libcuda.so.1 the program has. With a driver of another kind there is no such name, and they
 * answer that they are not initialised.
 */
#pragma once

#include "remote/client/call.h"

#define FORWARD_SYMBOL "mete_remote_forward"

struct forward_calls {
	uint32_t size;	      /* of this struct */
	uint32_t fingerprint; /* CUDA_REMOTE_FINGERPRINT */
	const struct cuda_table *cuda;
	void (*request)(struct client_call *c, uint16_t number);
	uint64_t (*use)(struct client_call *c, enum remote_kind kind, const void *handle);
	uint64_t (*use_stream)(struct client_call *c, CUstream stream);
	/* Whether a stream is of the device that the library's object, which the call names first, was made for. */
	bool (*stream_is_near)(const struct client_call *c, CUstream stream);
	bool (*use_current)(struct client_call *c);
	void *(*mint)(struct client_call *c, enum remote_kind kind, const void *owner, uint64_t *id);
	void (*drop)(const void *handle);
	void (*keep)(const void *handle, void *data, void (*gone)(void *data));
	void *(*kept)(enum remote_kind kind, const void *handle);
	bool (*begin)(struct client_call *c, bool waits);
	bool (*begin_room)(struct client_call *c, bool waits, size_t bytes);
	bool (*begin_memo)(struct client_call *c);
	void (*send)(struct client_call *c);
	CUresult (*end)(struct client_call *c);
	void (*log)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};
