/*
 * codes.h: the codes of refusals on the control socket: {"ok": false, "code": WORD, "error": LINE}. The code is for
 * programs, the line is for people. docs/control.md gives the meaning and the remedy of each code, and a test compares
 * the two.
 */
#pragma once

#include <stdbool.h>

enum code {
	CODE_NONE,
	CODE_MALFORMED, /* the request is not understood, or a field has a value that it cannot have */
	CODE_UNKNOWN_OP, /* this meted knows no such request */
	CODE_UNKNOWN_GRANT, /* no grant of that name */
	CODE_UNKNOWN_DEVICE, /* no device of that index or UUID */
	CODE_AMBIGUOUS_DEVICE, /* several UUIDs begin like that, or several kinds have that index */
	CODE_UNKNOWN_TRACE, /* no trace of that number */
	CODE_BAD_NAME, /* not the name of a grant */
	CODE_BAD_SIZE, /* not a size of memory */
	CODE_BAD_SHARE, /* not a share of a device's time */
	CODE_NAME_TAKEN, /* there is a grant of that name */
	CODE_OVER_DEVICE, /* more than the device has */
	CODE_OVER_PROMISED, /* more than is not promised to others */
	CODE_OVER_LIMIT, /* the limits of this user do not permit it */
	CODE_QUEUED, /* other requests wait for this device */
	CODE_WAITING, /* the request waits in the queue */
	CODE_NATIVE_RUNS, /* no share can be guaranteed beside native programs */
	CODE_OUT_OF_SERVICE, /* the device is cordoned, drained or lost */
	CODE_LOST, /* the device does not answer */
	CODE_NO_DRIVER, /* the driver cannot be used */
	CODE_NO_TOKEN, /* there is no such token */
	CODE_NOT_YOURS, /* this user is not permitted to do it */
	CODE_STORE, /* the store could not be written */
	CODE_BUSY, /* not possible at this moment */
	CODE_NOT_MOVABLE, /* the grant's memory cannot leave its device */
	CODE_FULL, /* no descriptors are left */
	CODE_MEMORY, /* no memory */
	CODE_RUNTIME, /* what was requested could not be created */
	CODE_UPGRADE, /* the next meted cannot take over */
	CODE_NOT_STARTED, /* meted did not start */
	CODES
};

const char *code_word(enum code code);
/* Value: CODE_NONE: there is no such word. */
enum code code_find(const char *word);
/* The HTTP status of an answer with this code. */
unsigned int code_http_status(enum code code);
/*
 * True if a refusal with this code is an event: the machine did not give what was requested. A malformed request is no
 * event.
 */
bool code_is_event(enum code code);
