/*
 * control.h: the connection to meted's control socket.
 *
 * Requests and answers are JSON objects, one per line, on the unix socket control.sock in meted's runtime directory;
 * answers arrive in order. The runtime directory is METE_RUNTIME_DIR if set; else /run/mete if a system meted listens
 * there; else $XDG_RUNTIME_DIR/mete; else /dev/shm/mete-UID. A system meted that should run and does not is a fault,
 * -EHOSTDOWN; one that this user may not ask is -EACCES. A folder or socket that belongs to another user than root and
 * this one is refused: its owner would learn which programs run, and would hand out grants.
 */
#pragma once

#include "client/fault.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#define CONTROL_SYSTEM_DIR "/run/mete"

enum control_outcome {
	CONTROL_NOBODY = 1, /* no meted listens */
	CONTROL_REFUSED, /* meted refuses the request; the fault holds its line */
	CONTROL_LOST, /* meted ended before it answered */
};

enum control_how {
	CONTROL_FIND, /* use only a running meted */
	CONTROL_STORED, /* start one if its store contains grants */
	CONTROL_START, /* start one if none runs */
};

struct control {
	int fd;
	char dir[PATH_MAX];
	char *line; /* received and not yet consumed */
	size_t line_bytes;
	pid_t daemon_pid;
	bool system; /* the system's meted */
	bool started; /* started by this process */
	bool greets; /* the answer to `hello` is outstanding: control_begin() */
};

#define CONTROL_CLOSED ((struct control){ .fd = -1 })

/* Connects; c must be closed. Returns 0, an enum control_outcome, or a negative errno; a fault is set unless 0. */
int control_open(struct control *c, enum control_how how, struct fault *f);
void control_close(struct control *c);

/* Reopens a lost connection in the same directory; starts a private meted if need be. */
int control_reopen(struct control *c, struct fault *f);

/*
 * Sends a request, to which it takes the reference, and waits for the answer. Returns 0 with the answer in *ret (free
 * with json_decref), an enum control_outcome, or a negative errno. The "code" of a refusal is copied to `code` unless
 * it is NULL.
 */
int control_ask(struct control *c, json_t *request, json_t **ret, char code[64], struct fault *f);

/*
 * The same in two steps, for callers that must not block. Several requests may be outstanding; answers arrive in order.
 * control_receive() returns -EAGAIN while the next answer has not arrived; otherwise both return as control_ask().
 * After CONTROL_LOST outstanding requests are not answered.
 */
int control_send(struct control *c, json_t *request, struct fault *f);
int control_receive(struct control *c, json_t **ret, char code[64], struct fault *f);

/*
 * control_open() for callers that must not block: control_receive() consumes the answer to `hello` before its first
 * answer. -EAGAIN: a meted listens but accepts no connection now; try later. It does wait for a private meted that it
 * must start.
 */
int control_begin(struct control *c, enum control_how how, struct fault *f);

/* Connects and sends a request; repeats this a few times if meted ends meanwhile. */
int control_ask_again(struct control *c, enum control_how how, json_t *request, json_t **ret, char code[64],
		      struct fault *f);

/*
 * Returns a descriptor that becomes readable when the meted of this connection ends. The connection may then be closed,
 * so that it does not occupy one of meted's places for hours. -1: the kernel or a pid namespace does not allow it.
 */
int control_pidfd(struct control *c);

/* True unless the connection has ended. */
bool control_alive(const struct control *c);

/* Finds the runtime directory without connecting; *ret_system: the system's meted listens there. */
int control_dir(char dir[PATH_MAX], bool *ret_system, struct fault *f);
