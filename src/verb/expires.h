/* expires.h: --expires: how long a grant waits for its first program before it is deleted. */
#pragma once

#include "client/fault.h"
#include "verb/verb.h"

#include <jansson.h>

/* *ret_s: -1: not given. Value: 0 or -EINVAL. */
int expires_parse(const struct command_line *line, long *ret_s, struct fault *f);

/* Adds it to a request that creates a grant. */
void expires_request(json_t *request, long s);

/* "9m 58s", or "". Value: `text`. */
const char *expires_left(json_t *grant, char text[32]);

/* "ends in 9m 58s unless a program joins", or "" for a grant that does not expire. Value: `text`. */
const char *expires_text(json_t *grant, char text[96]);
