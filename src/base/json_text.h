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
	bool more;   /* the next member needs a comma before it */
	bool failed; /* no memory */
};

/* `bracket`: '{' or '['; for close '}' or ']'. Keys are constants that need no escapes. */
void json_text_open(struct json_text *j, const char *key, char bracket);
void json_text_close(struct json_text *j, char bracket);

/* NULL is written as null. Bytes that are not UTF-8 become question marks. */
void json_text_string(struct json_text *j, const char *key, const char *value);
void json_text_integer(struct json_text *j, const char *key, int64_t value);
/* Writes at most `decimals` (0 to 9) decimals, and one at least. NaN and values beyond 10^9 are written as null. */
void json_text_fixed(struct json_text *j, const char *key, double value, unsigned int decimals);
void json_text_bool(struct json_text *j, const char *key, bool value);
void json_text_null(struct json_text *j, const char *key);

/* Returns the text, ended by a newline and a NUL, which the caller frees; NULL: no memory. Empties `j`. */
char *json_text_take(struct json_text *j, size_t *ret_bytes);
