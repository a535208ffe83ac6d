/* codes.c: see codes.h. */
#include "daemon/codes.h"

#include <string.h>

#define COULD_NOT 409 /* by HTTP: it could not be done now */

static const struct {
	const char *word;
	unsigned int http_status;
	bool is_event;
} rows[CODES] = {
	[CODE_NONE] = { "", COULD_NOT, false },
	[CODE_MALFORMED] = { "malformed", 400, false },
	[CODE_UNKNOWN_OP] = { "unknown-op", 501, false },
	[CODE_UNKNOWN_GRANT] = { "unknown-grant", 404, false },
	[CODE_UNKNOWN_DEVICE] = { "unknown-device", 404, false },
	[CODE_AMBIGUOUS_DEVICE] = { "ambiguous-device", 404, false },
	[CODE_UNKNOWN_TRACE] = { "unknown-trace", COULD_NOT, false },
	[CODE_BAD_NAME] = { "bad-name", COULD_NOT, false },
	[CODE_BAD_SIZE] = { "bad-size", 400, false },
	[CODE_BAD_SHARE] = { "bad-share", 400, false },
	[CODE_NAME_TAKEN] = { "name-taken", COULD_NOT, false },
	[CODE_OVER_DEVICE] = { "over-device", COULD_NOT, true },
	[CODE_OVER_PROMISED] = { "over-promised", COULD_NOT, true },
	[CODE_OVER_LIMIT] = { "over-limit", COULD_NOT, true },
	[CODE_QUEUED] = { "queued", COULD_NOT, true },
	[CODE_WAITING] = { "waiting", COULD_NOT, false },
	[CODE_NATIVE_RUNS] = { "native-runs", COULD_NOT, false },
	[CODE_OUT_OF_SERVICE] = { "out-of-service", COULD_NOT, false },
	[CODE_LOST] = { "lost", COULD_NOT, false },
	[CODE_NO_DRIVER] = { "no-driver", COULD_NOT, false },
	[CODE_NO_TOKEN] = { "no-token", COULD_NOT, false },
	[CODE_NOT_YOURS] = { "not-yours", COULD_NOT, false },
	[CODE_STORE] = { "store", 507, true },
	[CODE_BUSY] = { "busy", COULD_NOT, false },
	[CODE_NOT_MOVABLE] = { "not-movable", COULD_NOT, false },
	[CODE_FULL] = { "full", COULD_NOT, false },
	[CODE_MEMORY] = { "memory", COULD_NOT, false },
	[CODE_RUNTIME] = { "runtime", 500, false },
	[CODE_UPGRADE] = { "upgrade", COULD_NOT, false },
	[CODE_NOT_STARTED] = { "not-started", COULD_NOT, false },
};

const char *code_word(enum code code)
{
	return rows[code].word;
}

enum code code_find(const char *word)
{
	for (int i = CODE_NONE + 1; word && i < CODES; i++)
		if (!strcmp(rows[i].word, word))
			return (enum code)i;
	return CODE_NONE;
}

unsigned int code_http_status(enum code code)
{
	return rows[code].http_status;
}

bool code_is_event(enum code code)
{
	return rows[code].is_event;
}
