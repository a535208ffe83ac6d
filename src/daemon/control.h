/*
 * control.h: the control socket: `mete` and other programs of users send requests in JSON, one object per line. meted
 * answers them in order.
 *
 * The kernel identifies the peer (SO_PEERCRED). A meted that was started with --system lets every user create grants
 * within limits (tenants/limit.h) and see all grants; a user can change only their own grants, root and meted's own
 * user can change all. Other meteds serve only their own user and root.
 *
 * model/admission.h assigns places to connections. A connection that has sent a part of a line must send the rest
 * within a time limit. A connection that has been answered must read the answer within a time limit, and meted reads
 * nothing more from it before that.
 */
#pragma once

#include "model/device.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Limits of one connection, and of all together. docs/control.md states them, and a test compares. */
#define CONTROL_LINE_BYTES 65536u	  /* a longer request is refused */
#define CONTROL_LINE_S 10u		  /* to receive a whole line after its first byte */
#define CONTROL_READ_S 30u		  /* to read an answer */
#define CONTROL_UNREAD_BYTES (64u << 20)  /* of all unread answers to users who are not owners */
#define CONTROL_CONNECTIONS 256u
#define CONTROL_CONNECTIONS_KEPT 64u	  /* of these, reserved for owners */
#define CONTROL_CONNECTIONS_OF_USER 64u

struct daemon;
struct control;
struct handover;

/* The user and process that sent a request. */
struct asker {
	uid_t uid;
	gid_t gid;
	pid_t pid;
	const gid_t *groups; /* includes `gid` */
	unsigned int group_count;
	struct control *control; /* receives the answer; NULL: the request came over HTTP */
	const char *who; /* over HTTP: "token, 127.0.0.1:4711" */
};

/* Listens on control.sock. On an error, `error` is the line for the user. */
int control_listen(struct daemon *daemon, char *error, size_t error_size);
void control_close(struct daemon *daemon, bool leaving);

/*
 * Closes connections that exceed a time limit. Value: the number of connections that have a limit running. Called by a
 * timer.
 */
unsigned int control_sweep(struct daemon *daemon, uint64_t now_ns);

/* True while answers are partly written: a handover would split them. */
bool control_writing(const struct daemon *daemon);
/* Save the connections, with what was read and not answered, as JSON for the next meted; restore them. */
json_t *control_save(const struct daemon *daemon, struct handover *h);
void control_restore(struct daemon *daemon, struct handover *h);
const struct asker *control_asker(const struct control *control);
/* Answers a request that was left as VERBS_HELD. */
void control_answer(struct control *control, json_t *take_answer);

enum verbs_turn {
	VERBS_FIRST,
	VERBS_MACHINE_ASKED, /* second call, after the drivers were queried */
	VERBS_AGAIN,	     /* another call, a moment later */
	VERBS_LAST,	     /* the last call: what cannot be done now is refused */
	VERBS_TAKEN_OVER,    /* the previous meted held the request */
};

enum verbs_result {
	VERBS_ANSWERED,
	VERBS_ASK_MACHINE, /* call again when all drivers have answered */
	VERBS_ASK_DRIVER,  /* call again when the driver that the request names has answered */
	VERBS_LATER,	   /* call again in a moment */
	VERBS_HELD,	   /* control_answer() will be called */
};

/* verbs.c: handles one request. *ret_answer is written with VERBS_ANSWERED; NULL: no memory. */
enum verbs_result verbs_treat(struct daemon *daemon, const struct asker *asker, json_t *request, enum verbs_turn turn,
			      json_t **ret_answer);

/* grant_create.c: the kind of driver that a request names. 0: it names none, or an unknown one. */
enum device_kind grant_asked_kind(json_t *request);
