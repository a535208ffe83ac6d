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

/* Of one connection, and of all together; docs/control.md has them, and a test compares. */
#define CONTROL_LINE_BYTES 65536u	  /* a longer request is none */
#define CONTROL_LINE_S 10u		  /* for a whole line, once it has begun */
#define CONTROL_READ_S 30u		  /* for reading an answer */
#define CONTROL_UNREAD_BYTES (64u << 20)  /* of all answers that others than owners leave unread */
#define CONTROL_CONNECTIONS 256u
#define CONTROL_CONNECTIONS_KEPT 64u	  /* of these for owners */
#define CONTROL_CONNECTIONS_OF_USER 64u

struct daemon;
struct control;
struct handover;

/* Who asks. */
struct asker {
	uid_t uid;
	gid_t gid;
	pid_t pid;
	const gid_t *groups; /* with gid */
	unsigned int group_count;
	struct control *control; /* where the answer goes; NULL: it was asked by HTTP */
	const char *who; /* by HTTP: "token, 127.0.0.1:4711" */
};

/* Listens; `error` is the line for the user. */
int control_listen(struct daemon *daemon, char *error, size_t error_size);
void control_close(struct daemon *daemon, bool leaving);

/* Ends connections that are too slow; how many have something to do in a time. For a timer. */
unsigned int control_sweep(struct daemon *daemon, uint64_t now_ns);

/* Answers are on their way: a handover would part them. */
bool control_writing(const struct daemon *daemon);
/* The connections as JSON, with what has been read of them and not been answered, and back. */
json_t *control_save(const struct daemon *daemon, struct handover *h);
void control_restore(struct daemon *daemon, struct handover *h);
const struct asker *control_asker(const struct control *control);
/* A request that was left VERBS_HELD is answered. */
void control_answer(struct control *control, json_t *take_answer);

enum verbs_turn {
	VERBS_FIRST,
	VERBS_MACHINE_ASKED, /* again, after the drivers were asked */
	VERBS_AGAIN,	     /* again, a moment later */
	VERBS_LAST,	     /* again, and what cannot be done now is refused */
	VERBS_TAKEN_OVER,    /* it was held by the meted before this one */
};

enum verbs_result {
	VERBS_ANSWERED,
	VERBS_ASK_MACHINE, /* call again when the drivers have been asked */
	VERBS_ASK_DRIVER,  /* the same, when the one that the request names has answered */
	VERBS_LATER,	   /* call again in a moment */
	VERBS_HELD,	   /* control_answer() will be called */
};

/* verbs.c: treats one request. *ret_answer is written with VERBS_ANSWERED; NULL: no memory. */
enum verbs_result verbs_treat(struct daemon *daemon, const struct asker *asker, json_t *request, enum verbs_turn turn,
			      json_t **ret_answer);

/* grant_create.c: the kind of driver that a request names; 0: none, or no kind that there is. */
enum device_kind grant_asked_kind(json_t *request);
