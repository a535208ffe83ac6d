/* size.c: see size.h. Integers only until the percentage: 1.1G must mean the same on every machine. */
#include "base/size.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A decimal number: whole + part / scale. */
struct decimal {
	uint64_t whole;
	uint64_t part;
	uint64_t scale;
	bool overflow;
};

/* Reads digits[.digits] or .digits. Value: the first character after it, or NULL when there is no number. */
static const char *decimal_parse(const char *p, struct decimal *ret)
{
	struct decimal d = { .scale = 1 };
	bool any = false;

	for (; isdigit((unsigned char)*p); p++, any = true) {
		d.overflow |= __builtin_mul_overflow(d.whole, 10u, &d.whole);
		d.overflow |= __builtin_add_overflow(d.whole, (uint64_t)(*p - '0'), &d.whole);
	}
	if (*p == '.' && isdigit((unsigned char)p[1])) {
		any = true;
		for (p++; isdigit((unsigned char)*p); p++) {
			if (d.scale >= UINT64_C(1000000000000000)) /* finer than a byte of any device */
				continue;
			d.part = d.part * 10 + (uint64_t)(*p - '0');
			d.scale *= 10;
		}
	}
	if (!any)
		return NULL;
	*ret = d;
	return p;
}

/* The factor of a unit's name; 0: no such unit. */
static uint64_t unit_factor(const char *unit)
{
	static const char letters[] = "kmgtpe";
	const char *letter;
	uint64_t binary = 1, decimal = 1;

	if (!*unit || !strcasecmp(unit, "b"))
		return 1;
	letter = strchr(letters, tolower((unsigned char)*unit));
	if (!letter || strlen(unit) > 3)
		return 0;
	for (const char *l = letters; l <= letter; l++) {
		binary *= 1024;
		decimal *= 1000;
	}
	unit++;
	if (!*unit || !strcasecmp(unit, "ib"))
		return binary;
	return !strcasecmp(unit, "b") ? decimal : 0;
}

static int percent_parse(const struct decimal *d, struct size *ret)
{
	if (d->overflow || d->whole > 100 || (d->whole == 100 && d->part))
		return SIZE_BAD_PERCENT;
	if (!d->whole && !d->part)
		return SIZE_ZERO;
	*ret = (struct size){ .pct = (double)d->whole + (double)d->part / (double)d->scale };
	return 0;
}

static int parse(const char *text, uint64_t most, struct size *ret)
{
	const char *p = text + strspn(text, " \t"), *start = p;
	struct decimal d;
	unsigned __int128 bytes;
	uint64_t factor;

	if (!*p)
		return SIZE_EMPTY;
	if (*p == '-')
		start++;
	start = decimal_parse(start, &d);
	if (!start)
		return SIZE_NO_NUMBER;
	if (*p == '-')
		return SIZE_NEGATIVE;
	p = start + strspn(start, " \t");
	if (!strcmp(p, "%"))
		return percent_parse(&d, ret);
	factor = unit_factor(p);
	if (!factor)
		return SIZE_BAD_UNIT;
	bytes = (unsigned __int128)d.whole * factor + (unsigned __int128)d.part * factor / d.scale;
	if (d.overflow || bytes > UINT64_MAX)
		return SIZE_OVERFLOW;
	if (!bytes)
		return SIZE_ZERO;
	if (bytes > most)
		return SIZE_ABSURD;
	*ret = (struct size){ .bytes = (uint64_t)bytes };
	return 0;
}

int size_parse(const char *text, struct size *ret)
{
	return parse(text, SIZE_LIMIT_BYTES, ret);
}

int size_parse_host(const char *text, uint64_t *ret_bytes)
{
	struct size size;
	int r = parse(text, SIZE_HOST_LIMIT_BYTES, &size);

	if (r == SIZE_BAD_PERCENT || (!r && size.pct > 0))
		r = SIZE_BAD_UNIT;
	if (!r)
		*ret_bytes = size.bytes;
	return r;
}

const char *size_fault_text(int fault)
{
	switch (fault) {
	case SIZE_EMPTY:
		return "no size given; write one like 512M, 8G or 25%";
	case SIZE_NO_NUMBER:
		return "not a size; write one like 512M, 8G or 25%";
	case SIZE_NEGATIVE:
		return "a size cannot be negative; write one like 512M, 8G or 25%";
	case SIZE_ZERO:
		return "a share of nothing is no share; give at least one byte";
	case SIZE_BAD_UNIT:
		return "unknown unit; use K, M, G, T (powers of 1024), KB, MB, GB, TB (powers of 1000) or %";
	case SIZE_OVERFLOW:
		return "the number does not fit 64 bits; write a size like 8G";
	case SIZE_ABSURD:
		return "1 TiB or more, which no device has; write a size like 8G";
	case SIZE_BAD_PERCENT:
		return "more than the whole device; give at most 100%";
	}
	return "not a size; write one like 512M, 8G or 25%";
}

const char *size_host_fault_text(int fault)
{
	switch (fault) {
	case SIZE_EMPTY:
		return "no size given; write one like 512M or 64G";
	case SIZE_NEGATIVE:
		return "a size cannot be negative; write one like 512M or 64G";
	case SIZE_BAD_UNIT:
		return "unknown unit; use K, M, G, T (powers of 1024) or KB, MB, GB, TB (powers of 1000)";
	case SIZE_OVERFLOW:
		return "the number does not fit 64 bits; write a size like 64G";
	case SIZE_ABSURD:
		return "1 PiB or more, which no machine has; write a size like 64G";
	}
	return "not a size; write one like 512M or 64G";
}

const char *size_format(uint64_t bytes, char text[SIZE_TEXT_BYTES])
{
	static const char units[][4] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t unit = 0;
	uint64_t step = 1, tenths;

	while (unit + 1 < sizeof(units) / sizeof(*units) && bytes / step >= 1024) {
		step *= 1024;
		unit++;
	}
	/* Rounded to the nearest tenth; 1023.96 MiB is shown as 1 GiB, not as 1024 MiB. */
	tenths = (uint64_t)(((unsigned __int128)bytes * 10 + step / 2) / step);
	if (tenths >= 10240 && unit + 1 < sizeof(units) / sizeof(*units)) {
		tenths = 10;
		unit++;
	}
	if (tenths % 10)
		snprintf(text, SIZE_TEXT_BYTES, "%" PRIu64 ".%u %s", tenths / 10, (unsigned int)(tenths % 10),
			 units[unit]);
	else
		snprintf(text, SIZE_TEXT_BYTES, "%" PRIu64 " %s", tenths / 10, units[unit]);
	return text;
}
