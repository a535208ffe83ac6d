/*
 * grpc.h: gRPC over unix sockets, as kubelet speaks it: a server of one service, and single calls to another one.
 *
 * HTTP/2 is nghttp2's. A request is one message; an answer is one message, or a stream of messages that never ends by
 * itself. Handlers run in the loop's thread and must not wait for long. Nothing is compressed, deadlines of callers are
 * not read, and no pings are sent: kubelet's server punishes those.
 * Source: "gRPC over HTTP2" of the gRPC project.
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

/* Of a handler: the answer follows by grpc_later_answer(). */
#define GRPC_LATER (-1)

struct grpc_method {
	const char *path; /* "/v1beta1.DevicePlugin/Allocate"; NULL ends a table */
	const struct proto_field *request, *answer;
	/* Value: an enum grpc_status; GRPC_OK with *ret, owned by the caller, else a fault. */
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
	struct stream *serving; /* within a handler */
	char path[108];		/* of the socket */
	dev_t device;
	ino_t inode; /* of its file */
};

/* Listens; what lies at the path is replaced, but -EADDRINUSE where somebody listens there. Value: 0 or -errno. */
int grpc_server_open(struct grpc_server *s, struct loop *loop, const char *path, const struct grpc_method *methods,
		     void *owner);
/* It listens, and what lies at the path is its own socket. */
bool grpc_server_there(const struct grpc_server *s);
/* Ends every connection. The socket's file stays. */
void grpc_server_close(struct grpc_server *s);
/* The same, and its file goes where it is its own. */
void grpc_server_remove(struct grpc_server *s);
/*
 * Within a handler that returns GRPC_LATER: who waits for the answer. NULL: no memory. grpc_later_answer() ends it,
 * also when who asked has gone meanwhile: then nobody is answered.
 */
struct grpc_later;
struct grpc_later *grpc_later(struct grpc_server *s);
void grpc_later_answer(struct grpc_later *l, int status, json_t *message, const char *line);
/* One more message to all who asked for this stream. */
void grpc_server_push(struct grpc_server *s, const struct grpc_method *method, json_t *message);
/* The same with a message that is encoded already. */
void grpc_server_push_encoded(struct grpc_server *s, const struct grpc_method *method, const struct bytes *message);
/* How many have it open. */
unsigned int grpc_server_streams(const struct grpc_server *s, const struct grpc_method *method);

/*
 * A call that is under way. `done` is called once, with an enum grpc_status, a line, and where that is GRPC_OK the
 * answer, borrowed; then the call is no more.
 */
typedef void grpc_done(void *owner, int status, const char *line, json_t *answer);

/*
 * Begins a call on the socket at the path; of the method the path is meant, and its two messages. *ret is for
 * grpc_call_cancel(). Value: 0 or -errno, `done` not called.
 */
int grpc_call_begin(struct grpc_peer **ret, struct loop *loop, const char *socket_path,
		    const struct grpc_method *method, json_t *request, grpc_done *done, void *owner);
/* `done` is not called. */
void grpc_call_cancel(struct grpc_peer *call);
