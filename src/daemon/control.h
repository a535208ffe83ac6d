/*
 * control.h: the control socket: `mete` and other programs of users ask in JSON, one object per line, answered in
 * order.
 *
 * Who asks is the kernel's word (SO_PEERCRED). A meted started with --system lets any user make grants and see all;
 * one's own grants may be changed, by root and by meted's own user all. Other meteds serve their own user and root.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct daemon;
struct control;
struct handover;

/* Who asks. */
struct asker {
	uid_t uid;
	gid_t gid;
	pid_t pid;
	struct control *control; /* where the answer goes */
};

/* Listens; `error` is the line for the user. */
int control_listen(struct daemon *daemon, char *error, size_t error_size);
void control_close(struct daemon *daemon, bool leaving);

/* Answers are on their way: a handover would part them. */
bool control_writing(const struct daemon *daemon);
/* The connections as JSON, with what has been read of them and not been answered, and back. */
json_t *control_save(const struct daemon *daemon, struct handover *h);
void control_restore(struct daemon *daemon, struct handover *h);
/* A request that was left VERBS_HELD is answered. */
void control_answer(struct control *control, json_t *take_answer);

enum verbs_turn {
	VERBS_FIRST,
	VERBS_MACHINE_ASKED, /* again, after the drivers were asked */
	VERBS_AGAIN, /* again, a moment later */
	VERBS_LAST, /* again, and what cannot be done now is refused */
	VERBS_TAKEN_OVER, /* it was held by the meted before this one */
};

enum verbs_result {
	VERBS_ANSWERED,
	VERBS_ASK_MACHINE, /* call again when the drivers have been asked */
	VERBS_LATER, /* call again in a moment */
	VERBS_HELD, /* control_answer() will be called */
};

/* verbs.c: treats one request. *ret_answer is written with VERBS_ANSWERED; NULL: no memory. */
enum verbs_result verbs_treat(struct daemon *daemon, const struct asker *asker, json_t *request, enum verbs_turn turn,
			      json_t **ret_answer);
