/* ask.h: one request on the control socket, as the files that treat it share it. */
#pragma once

#include "daemon/control.h"

struct ask {
	struct daemon *daemon;
	const struct asker *asker;
	json_t *request;
	enum verbs_turn turn;
	json_t *answer;
};

/* The answer is a refusal: a code for programs (verbs.c lists them), a line with the remedy for people. */
__attribute__((format(printf, 3, 4))) enum verbs_result refuse(struct ask *ask, const char *code, const char *fmt, ...);
