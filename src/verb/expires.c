/* expires.c: see expires.h. */
#include "verb/expires.h"
#include "verb/choose.h"
#include "verb/duration.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MOST_S 31536000L

int expires_parse(const struct command_line *line, long *ret_s, struct fault *f)
{
	const char *value = option_value(line, "expires");

	*ret_s = -1;
	if (!value)
		return 0;
	if (!strcmp(value, "never"))
		*ret_s = 0;
	if (*ret_s == 0 || (duration_parse(value, MOST_S, ret_s) && *ret_s > 0))
		return 0;
	return fault_set(f, -EINVAL, "--expires %s: give a time such as 90s, 10m, 1h or 7d, at most 365d, or never",
			 value);
}

void expires_request(json_t *request, long s)
{
	if (request && s >= 0)
		json_object_set_new(request, "expires_s", json_integer(s));
}

const char *expires_left(json_t *grant, char text[32])
{
	json_t *left = json_object_get(grant, "expires_in_s");

	*text = 0;
	return json_is_integer(left) ? duration_format((long)json_integer_value(left), text) : text;
}

const char *expires_text(json_t *grant, char text[96])
{
	char left[32];

	*text = 0;
	if (*expires_left(grant, left))
		snprintf(text, 96, "ends in %s unless a program joins", left);
	return text;
}
