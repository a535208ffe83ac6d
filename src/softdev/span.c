/* span.c: see span.h. */
#include "softdev/span.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NS 3600e9

/* A decimal number at the head of the text, and nothing else that strtod() would take. */
static int number_parse(const char *text, double *ret, const char **ret_end)
{
	size_t n = strspn(text, "0123456789.");
	char digits[32], *end;

	if (!n || n >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, text, n);
	digits[n] = 0;
	*ret = strtod(digits, &end);
	*ret_end = text + n;
	return *end || end == digits ? -EINVAL : 0;
}

int span_parse(const char *text, size_t n, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char copy[48];
	const char *unit;
	double v;

	if (n >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, n);
	copy[n] = 0;
	if (number_parse(copy, &v, &unit))
		return -EINVAL;
	if (v <= 0 && !*unit) {
		*ret_ns = 0;
		return 0;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(unit, units[i].name) && v * units[i].ns <= MOST_NS) {
			*ret_ns = (uint64_t)(v * units[i].ns + 0.5);
			return 0;
		}
	return -EINVAL;
}

int rate_parse(const char *text, double *ret)
{
	static const char units[] = "KMGT";
	const char *unit;
	double v;

	if (number_parse(text, &v, &unit))
		return -EINVAL;
	if (*unit) {
		const char *at = strchr(units, *unit);

		if (!at || unit[1])
			return -EINVAL;
		for (; at >= units; at--)
			v *= 1000;
	}
	if (v <= 0 || v > 1e18)
		return -EINVAL;
	*ret = v;
	return 0;
}
