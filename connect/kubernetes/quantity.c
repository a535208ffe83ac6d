/* quantity.c: see quantity.h. */
#include "connect/kubernetes/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DIGITS_MOST 38 /* of a power of ten in 128 bits */

typedef unsigned __int128 wide;

/* mantissa * 2^shift * 10^ten */
struct number {
	wide mantissa;
	unsigned int shift;
	int ten;
	bool negative;
};

static const struct {
	const char *suffix;
	unsigned int shift;
	int ten;
} suffixes[] = {
	{ "", 0, 0 },	 { "Ki", 10, 0 }, { "Mi", 20, 0 }, { "Gi", 30, 0 }, { "Ti", 40, 0 }, { "Pi", 50, 0 },
	{ "Ei", 60, 0 }, { "n", 0, -9 },  { "u", 0, -6 },  { "m", 0, -3 },  { "k", 0, 3 },   { "M", 0, 6 },
	{ "G", 0, 9 },	 { "T", 0, 12 },  { "P", 0, 15 },  { "E", 0, 18 },
};

static int add_digit(struct number *n, char digit)
{
	return __builtin_mul_overflow(n->mantissa, 10, &n->mantissa) ||
			       __builtin_add_overflow(n->mantissa, (wide)(digit - '0'), &n->mantissa)
		       ? -ERANGE
		       : 0;
}

/* Digits, a point, digits; at least one digit. *at is moved on. */
static int read_digits(const char **at, struct number *n)
{
	const char *end, *last;
	bool any = false;
	int r = 0;

	for (; !r && isdigit((unsigned char)**at); (*at)++, any = true)
		r = add_digit(n, **at);
	if (**at == '.') {
		(*at)++;
		for (end = *at; isdigit((unsigned char)*end); end++)
			any = true;
		/* Zeros at the end say nothing, and would only overflow. */
		for (last = end; last > *at && last[-1] == '0'; last--)
			;
		for (; !r && *at < last; (*at)++, n->ten--)
			r = add_digit(n, **at);
		*at = end;
	}
	return r ? r : any ? 0 : -EINVAL;
}

/* "e3", "E-3". */
static int read_exponent(const char *at, struct number *n)
{
	int exponent = 0, sign = at[1] == '-' ? -1 : 1;

	at += 1 + (at[1] == '-' || at[1] == '+');
	if (!*at)
		return -EINVAL;
	for (; isdigit((unsigned char)*at); at++)
		exponent = exponent < 1000 ? exponent * 10 + (*at - '0') : exponent;
	n->ten += sign * exponent;
	return *at ? -EINVAL : 0;
}

static int read_number(const char *text, struct number *n)
{
	int r;

	*n = (struct number){ .negative = *text == '-' };
	text += *text == '-' || *text == '+';
	r = read_digits(&text, n);
	if (r)
		return r;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (!strcmp(text, suffixes[i].suffix)) {
			n->shift = suffixes[i].shift;
			n->ten += suffixes[i].ten;
			return 0;
		}
	return *text == 'e' || *text == 'E' ? read_exponent(text, n) : -EINVAL;
}

/* The number times 10^more. */
static int scale(struct number n, int more, uint64_t *ret, bool *ret_exact)
{
	wide value = n.mantissa, part = 1;
	int ten = n.ten + more;

	if (value && n.negative)
		return -ERANGE;
	for (unsigned int i = 0; i < n.shift; i++)
		if (__builtin_mul_overflow(value, 2, &value))
			return -ERANGE;
	for (; value && ten > 0; ten--)
		if (__builtin_mul_overflow(value, 10, &value))
			return -ERANGE;
	for (; ten < 0 && ten >= -DIGITS_MOST; ten++)
		part *= 10;
	if (ten < 0) { /* smaller than what 128 bits can divide: next to nothing */
		if (ret_exact)
			*ret_exact = !value;
		value = !!value;
	} else {
		if (ret_exact)
			*ret_exact = !(value % part);
		value = value / part + !!(value % part);
	}
	if (value > INT64_MAX)
		return -ERANGE;
	*ret = (uint64_t)value;
	return 0;
}

int quantity_units(const char *text, uint64_t *ret, bool *ret_exact)
{
	struct number n;
	int r = read_number(text, &n);

	return r ? r : scale(n, 0, ret, ret_exact);
}

int quantity_milli(const char *text, uint64_t *ret, bool *ret_exact)
{
	struct number n;
	int r = read_number(text, &n);

	return r ? r : scale(n, 3, ret, ret_exact);
}

void quantity_print_bytes(uint64_t bytes, char text[QUANTITY_TEXT])
{
	static const char *const names[] = { "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei" };
	size_t i = 0;

	while (bytes && !(bytes % 1024) && i + 1 < sizeof(names) / sizeof(*names)) {
		bytes /= 1024;
		i++;
	}
	snprintf(text, QUANTITY_TEXT, "%llu%s", (unsigned long long)bytes, names[i]);
}
