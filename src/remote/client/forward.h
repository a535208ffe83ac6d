/*
 * forward.h: the interface of the remote client for libraries that are forwarded at their own interface
 * (src/remote/blas).
 *
 * They are separate libraries in the program, built with the client and of the same version. They find the client's
 * table by name in the libcuda.so.1 that the program has. With another driver there is no such name, and they report
 * that they are not initialised.
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
	/*
	 * True if the stream is on the device for which the library's object, which the call names first, was created.
	 */
	bool (*stream_is_near)(const struct client_call *c, CUstream stream);
	/*
	 * Before a call, which has no answer, for which the worker's library may wait for the device: the device may
	 * wait for a host function of this process, and the worker for the device. So where the program has host
	 * functions, what its current context does is waited for here. Not while something is in capture.
	 */
	void (*settle)(void);
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
