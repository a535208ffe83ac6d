/*
 * grpc.h: gRPC over unix sockets, as kubelet uses it: a server of one service, and single calls to another one.
 *
 * nghttp2 implements HTTP/2. A request is one message; an answer is one message, or an endless stream of messages.
 * Handlers run in the loop's thread and must not wait for long. Nothing is compressed, callers' deadlines are not read,
 * and no pings are sent, because kubelet's server penalises them. Source: "gRPC over HTTP2" of the gRPC project.
 */
#pragma once

#include "client/fault.h"
#include "connect/kubernetes/loop.h"
#include "connect/kubernetes/proto.h"

/* gRPC's own numbers. */
enum grpc_status {
	GRPC_OK = 0,
	GRPC_UNKNOWN = 2,
	GRPC_INVALID = 3,
	GRPC_EXHAUSTED = 8,
	GRPC_PRECONDITION = 9,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
};

/* Value of a handler: the answer follows by grpc_later_answer(). */
#define GRPC_LATER (-1)

struct grpc_method {
	const char *path; /* "/v1beta1.DevicePlugin/Allocate"; NULL ends a table */
	const struct proto_field *request, *answer;
	/* Value: an enum grpc_status; GRPC_OK with *ret, owned by the caller, otherwise a fault. */
	int (*handle)(void *owner, json_t *request, json_t **ret, struct fault *f);
	bool stream; /* more answers follow: grpc_server_push() */
};

struct grpc_peer;

struct grpc_server {
	struct watch watch;
	struct loop *loop;
	const struct grpc_method *methods;
	void *owner;
	struct grpc_peer *peers;
	struct stream *serving; /* set during a handler */
	char path[108];		/* of the socket */
	dev_t device;
	ino_t inode; /* of its file */
};

/* Listens; replaces a file at the path. Value: 0 or -errno; -EADDRINUSE: another process listens there. */
int grpc_server_open(struct grpc_server *s, struct loop *loop, const char *path, const struct grpc_method *methods,
		     void *owner);
/* True if it listens, and the file at the path is its own socket. */
bool grpc_server_there(const struct grpc_server *s);
/* Closes every connection. The socket's file remains. */
void grpc_server_close(struct grpc_server *s);
/* The same, and removes the file if it is its own. */
void grpc_server_remove(struct grpc_server *s);
/*
 * Called in a handler that returns GRPC_LATER: the pending request. NULL: no memory. grpc_later_answer() ends it, also
 * if the client has disconnected: then nothing is sent.
 */
struct grpc_later;
struct grpc_later *grpc_later(struct grpc_server *s);
void grpc_later_answer(struct grpc_later *l, int status, json_t *message, const char *line);
/* Sends one more message to all clients of this stream. */
void grpc_server_push(struct grpc_server *s, const struct grpc_method *method, json_t *message);
/* The same for an encoded message. */
void grpc_server_push_encoded(struct grpc_server *s, const struct grpc_method *method, const struct bytes *message);
/* The number of clients of the stream. */
unsigned int grpc_server_streams(const struct grpc_server *s, const struct grpc_method *method);

/*
 * Ends a call: `done` is called once, with an enum grpc_status, a line, and with GRPC_OK the answer, borrowed; the call
 * is then freed.
 */
typedef void grpc_done(void *owner, int status, const char *line, json_t *answer);

/*
 * Starts a call on the socket at the path; of the method, its path and its two messages are used. *ret is for
 * grpc_call_cancel(). Value: 0, or -errno and `done` is not called.
 */
int grpc_call_begin(struct grpc_peer **ret, struct loop *loop, const char *socket_path,
		    const struct grpc_method *method, json_t *request, grpc_done *done, void *owner);
/* Cancels a call; `done` is not called. */
void grpc_call_cancel(struct grpc_peer *call);
