/*
 * json_text.h: writes JSON, member after member, into one growing text. It is for long documents that are requested
 * often, for which a tree of values would cost more than the rest of the work.
 *
 * The caller must keep the order: a key in an object, no key (NULL) in a list, a close for each open. When memory runs
 * out, the whole text fails; json_text_take() reports that.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_text {
	char *text;
	size_t bytes, room;
	bool more;   /* a comma goes before what comes next */
	bool failed; /* no memory */
};

/* `bracket`: '{' or '['; close takes '}' or ']'. Keys are constants without anything to be escaped. */
void json_text_open(struct json_text *j, const char *key, char bracket);
void json_text_close(struct json_text *j, char bracket);

/* NULL is null. What is no UTF-8 in a value becomes question marks. */
void json_text_string(struct json_text *j, const char *key, const char *value);
void json_text_integer(struct json_text *j, const char *key, int64_t value);
/* With so many decimals at most, 0 to 9, and one at least; what is no number, or beyond 10^9, is null. */
void json_text_fixed(struct json_text *j, const char *key, double value, unsigned int decimals);
void json_text_bool(struct json_text *j, const char *key, bool value);
void json_text_null(struct json_text *j, const char *key);

/* Value: the text with a newline and a NUL behind it, which the caller frees, or NULL: no memory. `j` is empty then. */
char *json_text_take(struct json_text *j, size_t *ret_bytes);
