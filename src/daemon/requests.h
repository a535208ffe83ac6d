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
	FIELD_WORD,   /* a text that is judged where it is read */
	FIELD_WHOLE,  /* a whole number */
	FIELD_NUMBER,
	FIELD_SWITCH, /* true or false; not given is false */
	FIELD_OBJECT,
	FIELD_NAMES, /* an object whose names are judged where it is read: another one is refused, not ignored */
	FIELD_LIST,
};

struct field {
	const char *name; /* NULL ends a list */
	enum field_type type;
	const char *unit;	/* of a number; what a text is; "": nothing to be said */
	bool needed;
	const struct field *of; /* of an object, or of each entry of a list that are objects; NULL: of none */
};

struct request {
	const char *op;
	enum verbs_result (*treat)(struct ask *ask);
	const struct field *fields; /* but for "op"; NULL: it has none */
};

extern const struct request requests[]; /* one without an "op" ends it */

/* "text", "whole number", ... */
const char *field_type_name(enum field_type type);

/*
 * Takes out what is not in the table. Value: false: a switch is neither true nor false, or a text is none, and the
 * request was refused.
 */
bool request_sift(struct ask *ask, const struct request *r);
