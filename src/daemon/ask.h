/* ask.h: one request on the control socket, as the files that treat it share it. */
#pragma once

#include "daemon/codes.h"
#include "daemon/control.h"

struct ask {
	struct daemon *daemon;
	const struct asker *asker;
	json_t *request;
	enum verbs_turn turn;
	json_t *answer;
	enum code code;	  /* of the refusal */
	bool quiet;	  /* what is refused is tried otherwise, or again: it is no event yet, and counted nowhere */
};

/* health_ask.c: device_cordon, device_uncordon, device_drain, device_health. */
enum verbs_result health_ask(struct ask *ask);

/* The answer is a refusal: a code for programs, a line with the remedy for people. */
__attribute__((format(printf, 3, 4))) enum verbs_result refuse(struct ask *ask, enum code code, const char *fmt, ...);

#define ASK_WHO_BYTES 112u

/* A refusal that was quiet counts after all, and is an event. */
void refuse_aloud(struct ask *ask);

/* Who asks, for logs and events: "uid 1000", or what HTTP knows of the asker. Value: `text`. */
const char *ask_who(const struct ask *ask, char text[ASK_WHO_BYTES]);

/* Root, or whoever runs this meted. */
bool ask_is_owner(const struct ask *ask);
/* Those, in a line that refuses somebody else: "only root", "only root and uid 1000". */
const char *ask_owners(void);

/* The answer is this object, with "ok":true; NULL: no memory. */
enum verbs_result answer(struct ask *ask, json_t *take_answer);

/* A path as JSON, null when there is none. NULL: no memory. */
json_t *ask_path_json(const char *path);

/* Who is in a hurry takes what the drivers said at any time before ("known": true): a container that begins. */
bool ask_is_known(const struct ask *ask);

/* "token_new", "token_show", "token_revoke", "audit". */
enum verbs_result console_ask(struct ask *ask);

/* "events", journal.h: {"after":ID,"limit":N,"tenant":NAME,"device":INDEX or UUID,"kind":WORD}, all optional. */
enum verbs_result journal_ask(struct ask *ask);

/* "metrics", metrics.h: {"compat":"dcgm"} or nothing -> {"text"}. */
enum verbs_result metrics_ask(struct ask *ask);
