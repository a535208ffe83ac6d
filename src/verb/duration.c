/* duration.c: see duration.h. */
#include "verb/duration.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *unit;
	long seconds;
} units[] = { { "d", 86400 }, { "h", 3600 }, { "m", 60 }, { "s", 1 }, { "", 1 } };

#define UNITS (sizeof(units) / sizeof(*units))

bool duration_parse(const char *text, long most_s, long *ret_s)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (*text < '0' || *text > '9' || errno || n > most_s)
		return false;
	for (size_t i = 0; i < UNITS; i++)
		if (!strcmp(end, units[i].unit)) {
			*ret_s = n * units[i].seconds;
			return n <= most_s / units[i].seconds;
		}
	return false;
}

const char *duration_format(long s, char text[32])
{
	size_t i = 0;

	while (i < 3 && s < units[i].seconds)
		i++;
	if (i < 3 && s % units[i].seconds / units[i + 1].seconds)
		snprintf(text, 32, "%ld%s %ld%s", s / units[i].seconds, units[i].unit,
			 s % units[i].seconds / units[i + 1].seconds, units[i + 1].unit);
	else
		snprintf(text, 32, "%ld%s", s / units[i].seconds, units[i].unit);
	return text;
}
