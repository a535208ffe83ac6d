/*
 * requests.h: the requests of the control socket as a table: each request, its fields, and its handler.
 * docs/control.md documents them, and a test compares the two.
 *
 * A field that is not in the table is removed before the handler is called. meted therefore ignores fields that it
 * does not know, and a handler can read only fields that are declared here.
 */
#pragma once

#include "daemon/ask.h"

enum field_type {
	FIELD_TEXT,
	FIELD_WORD,   /* a text that the handler checks */
	FIELD_WHOLE,  /* a whole number */
	FIELD_NUMBER,
	FIELD_SWITCH, /* true or false; default: false */
	FIELD_OBJECT,
	FIELD_NAMES, /* an object whose keys the handler checks: an unknown key is refused, not ignored */
	FIELD_LIST,
};

struct field {
	const char *name; /* NULL: end of the list */
	enum field_type type;
	const char *unit;	/* of a number; the meaning of a text; "": none */
	bool needed;
	const struct field *of; /* fields of an object, or of each object in a list; NULL: none */
};

struct request {
	const char *op;
	enum verbs_result (*treat)(struct ask *ask);
	const struct field *fields; /* without "op"; NULL: none */
};

extern const struct request requests[]; /* an entry without an "op" ends the table */

/* "text", "whole number", ... */
const char *field_type_name(enum field_type type);

/*
 * Removes fields that are not in the table. False: a switch is neither true nor false, or a text is of another type,
 * and the request was refused.
 */
bool request_sift(struct ask *ask, const struct request *r);
