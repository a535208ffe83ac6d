/* ask.h: one request on the control socket, as the request handlers share it. */
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
	bool quiet;	  /* a refusal is not final: the handler tries another way, or the client repeats the
			   * request. It is neither an event nor counted */
};

/* health_ask.c: handles device_cordon, device_uncordon, device_drain and device_health. */
enum verbs_result health_ask(struct ask *ask);

/* Answers with a refusal: a code for programs, and a line with the remedy for people. */
__attribute__((format(printf, 3, 4))) enum verbs_result refuse(struct ask *ask, enum code code, const char *fmt, ...);

#define ASK_WHO_BYTES 112u

/* Makes a quiet refusal final: it is counted and becomes an event. */
void refuse_aloud(struct ask *ask);

/* Describes the asker for logs and events: "uid 1000", or what the HTTP server knows. Value: `text`. */
const char *ask_who(const struct ask *ask, char text[ASK_WHO_BYTES]);

/* True if the asker is an owner of this meted: root, or meted's own user (owner.h). */
bool ask_is_owner(const struct ask *ask);
/* Names the owners, for a line that refuses other users: "only root", "only root and uid 1000". */
const char *ask_owners(void);

/* Answers with this object and "ok":true. NULL: no memory. */
enum verbs_result answer(struct ask *ask, json_t *take_answer);

/* Returns a path as JSON; null for an empty path. NULL: no memory. */
json_t *ask_path_json(const char *path);

/* True if the request accepts driver data of any age ("known": true), as a starting container does. */
bool ask_is_known(const struct ask *ask);

/* Handles "token_new", "token_show", "token_revoke" and "audit". */
enum verbs_result console_ask(struct ask *ask);

/*
 * Handles "events" (journal.h): {"after":ID,"limit":N,"tenant":NAME,"device":INDEX or UUID,"kind":WORD}, all optional.
 */
enum verbs_result journal_ask(struct ask *ask);

/* Handles "metrics" (metrics.h): {"compat":"dcgm"} or no field -> {"text"}. */
enum verbs_result metrics_ask(struct ask *ask);
