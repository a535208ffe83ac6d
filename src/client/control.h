/*
 * control.h: mete's connection to meted.
 *
 * One JSON object per line over the unix socket control.sock in meted's runtime directory, answers in order.
 * The runtime directory: METE_RUNTIME_DIR if set; else /run/mete when a system meted listens there (one that is to
 * start with the machine and does not run is a fault, -EHOSTDOWN, and one that this user may not ask is -EACCES); else
 * $XDG_RUNTIME_DIR/mete; else /dev/shm/mete-UID. A folder or a socket that belongs to somebody else (root apart) is
 * refused: whoever answers there would learn what is run and hand out the grant.
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
	CONTROL_REFUSED, /* meted answered that it will not; the fault holds its line */
	CONTROL_LOST, /* meted went away before it answered */
};

enum control_how {
	CONTROL_FIND, /* only a meted that runs */
	CONTROL_STORED, /* start one when its store says that there are grants */
	CONTROL_START, /* start one when none runs */
};

struct control {
	int fd;
	char dir[PATH_MAX];
	char *line; /* what has been read and not yet been taken */
	size_t line_bytes;
	pid_t daemon_pid;
	bool system; /* the system's meted */
	bool started; /* this process started it */
	bool greets; /* the answer to the hello is still to come: control_begin() */
};

#define CONTROL_CLOSED ((struct control){ .fd = -1 })

/* Value: 0, an enum control_outcome, or a negative errno; a fault is set for all but 0. c must be closed. */
int control_open(struct control *c, enum control_how how, struct fault *f);
void control_close(struct control *c);

/* The connection is lost: opens it again in the same directory, starting a private meted if need be. */
int control_reopen(struct control *c, struct fault *f);

/*
 * Asks and waits for the answer; takes the reference to the request. Value: 0 with the answer in *ret (free with
 * json_decref), an enum control_outcome, or a negative errno. The "code" of a refusal is copied to code when not NULL.
 */
int control_ask(struct control *c, json_t *request, json_t **ret, char code[64], struct fault *f);

/*
 * The same in two halves, for who cannot wait: several may be under way, answers come in order. control_receive() does
 * not wait: -EAGAIN while the next answer is not there. Both as control_ask() otherwise; after CONTROL_LOST nothing
 * that is under way is answered.
 */
int control_send(struct control *c, json_t *request, struct fault *f);
int control_receive(struct control *c, json_t **ret, char code[64], struct fault *f);

/*
 * control_open() for who cannot wait: meted's hello is taken by control_receive() before its first answer. -EAGAIN: a
 * meted listens that takes no connection now; to be tried again later. (A private meted that has to be started is
 * waited for.)
 */
int control_begin(struct control *c, enum control_how how, struct fault *f);

/* Opens, asks, and when meted goes away in between does it again, a few times. */
int control_ask_again(struct control *c, enum control_how how, json_t *request, json_t **ret, char code[64],
		      struct fault *f);

/*
 * A descriptor that becomes readable when the meted of this connection ends; the connection may then be closed, so that
 * it does not take one of meted's places for hours. Value: -1 when the kernel or a pid namespace does not allow it.
 */
int control_pidfd(struct control *c);

/* True unless the connection has ended. */
bool control_alive(const struct control *c);

/* The runtime directory without connecting; *ret_system: the system's meted listens there. */
int control_dir(char dir[PATH_MAX], bool *ret_system, struct fault *f);
