/* quantity_test.c: Kubernetes' quantities, by a table; the values are those of Quantity.Value() and MilliValue(). */
#include "base/tap.h"
#include "connect/kubernetes/quantity.h"

#include <errno.h>
#include <string.h>

#define GIB (1ull << 30)

static const struct {
	const char *text;
	int r;
	uint64_t units;
	bool exact;
} rows[] = {
	{ "0", 0, 0, true },
	{ "1", 0, 1, true },
	{ "+7", 0, 7, true },
	{ "-0", 0, 0, true },
	{ "4Gi", 0, 4 * GIB, true },
	{ "1.5Gi", 0, 3 * GIB / 2, true },
	{ ".5Gi", 0, GIB / 2, true },
	{ "5.", 0, 5, true },
	{ "0.1Gi", 0, 107374183, false },
	{ "1Ki", 0, 1024, true },
	{ "1k", 0, 1000, true },
	{ "1M", 0, 1000000, true },
	{ "3T", 0, 3000000000000ull, true },
	{ "2P", 0, 2000000000000000ull, true },
	{ "9E", 0, 9000000000000000000ull, true },
	{ "7Ei", 0, 7ull << 60, true },
	{ "1500m", 0, 2, false },
	{ "2000m", 0, 2, true },
	{ "1u", 0, 1, false },
	{ "1000000000n", 0, 1, true },
	{ "1e3", 0, 1000, true },
	{ "1E3", 0, 1000, true },
	{ "1.25e2", 0, 125, true },
	{ "12e-1", 0, 2, false },
	{ "1e-400", 0, 1, false },
	{ "0e999999", 0, 0, true },
	{ "9223372036854775807", 0, INT64_MAX, true },
	{ "1.00000000000000000000000000000000000000000000000000", 0, 1, true },
	{ "9223372036854775808", -ERANGE, 0, false },
	{ "8Ei", -ERANGE, 0, false },
	{ "1e19", -ERANGE, 0, false },
	{ "1e2147483648", -ERANGE, 0, false },
	{ "99999999999999999999999999999999999999999999", -ERANGE, 0, false },
	{ "-1", -ERANGE, 0, false },
	{ "-1m", -ERANGE, 0, false },
	{ "", -EINVAL, 0, false },
	{ "Gi", -EINVAL, 0, false },
	{ ".", -EINVAL, 0, false },
	{ "-", -EINVAL, 0, false },
	{ "1K", -EINVAL, 0, false },
	{ "1gi", -EINVAL, 0, false },
	{ "1 Gi", -EINVAL, 0, false },
	{ " 1", -EINVAL, 0, false },
	{ "1GiB", -EINVAL, 0, false },
	{ "1e", -EINVAL, 0, false },
	{ "1e-", -EINVAL, 0, false },
	{ "1e3Gi", -EINVAL, 0, false },
	{ "1.2.3", -EINVAL, 0, false },
	{ "0x10", -EINVAL, 0, false },
	{ "1,5", -EINVAL, 0, false },
};

static const struct {
	const char *text;
	uint64_t milli;
	bool exact;
} milli_rows[] = {
	{ "25", 25000, true }, { "12500m", 12500, true }, { "0.5", 500, true }, { "1u", 1, false },
	{ "1001u", 2, false }, { "1000u", 1, true },	  { "1e-3", 1, true },	{ "1k", 1000000, true },
};

static const struct {
	uint64_t bytes;
	const char *text;
} prints[] = {
	{ 0, "0" },
	{ 1, "1" },
	{ 1023, "1023" },
	{ 1024, "1Ki" },
	{ 1536, "1536" },
	{ 512 * 3 * 1024, "1536Ki" },
	{ 16 * GIB, "16Gi" },
	{ 1ull << 60, "1Ei" },
	{ INT64_MAX, "9223372036854775807" },
};

int main(void)
{
	uint64_t value;
	bool exact;
	char text[QUANTITY_TEXT];
	int r;

	tap_begin();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		value = 77;
		exact = !rows[i].exact;
		r = quantity_units(rows[i].text, &value, &exact);
		tap_ok(r == rows[i].r && (r ? value == 77 : value == rows[i].units && exact == rows[i].exact), "\"%s\"",
		       rows[i].text);
	}
	for (size_t i = 0; i < sizeof(milli_rows) / sizeof(*milli_rows); i++) {
		r = quantity_milli(milli_rows[i].text, &value, &exact);
		tap_ok(!r && value == milli_rows[i].milli && exact == milli_rows[i].exact, "\"%s\" in thousandths",
		       milli_rows[i].text);
	}
	for (size_t i = 0; i < sizeof(prints) / sizeof(*prints); i++) {
		quantity_print_bytes(prints[i].bytes, text);
		tap_ok(!strcmp(text, prints[i].text) && !quantity_units(text, &value, &exact) && exact &&
			       value == prints[i].bytes,
		       "%s is printed, and read again", prints[i].text);
	}
	return tap_end();
}
