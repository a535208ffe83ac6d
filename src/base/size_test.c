/* size_test.c: what size.c reads, what it refuses and why, what it writes. */
#include "base/size.h"
#include "base/tap.h"

#include <inttypes.h>

static void reads(const char *text, uint64_t bytes)
{
	struct size s = { 0 };
	int r = size_parse(text, &s);

	tap_ok(!r && s.bytes == bytes && s.pct == 0, "\"%s\" is %" PRIu64 " bytes (%d, %" PRIu64 ")", text, bytes, r,
	       s.bytes);
}

static void reads_pct(const char *text, double pct)
{
	struct size s = { 0 };
	int r = size_parse(text, &s);

	tap_ok(!r && !s.bytes && s.pct > pct - 1e-9 && s.pct < pct + 1e-9, "\"%s\" is %g %% (%d, %g)", text, pct, r,
	       s.pct);
}

static void refuses(const char *text, int fault)
{
	struct size s = { .bytes = 77, .pct = 7 };
	int r = size_parse(text, &s);

	tap_ok(r == fault && s.bytes == 77, "\"%s\" is refused: %s (%d)", text, size_fault_text(fault), r);
}

static void writes(uint64_t bytes, const char *expected)
{
	char text[SIZE_TEXT_BYTES];

	is_str(size_format(bytes, text), expected);
}

static void host(const char *text, uint64_t bytes, int fault)
{
	uint64_t found = 0;
	int r = size_parse_host(text, &found);

	tap_ok(r == fault && found == bytes, "\"%s\" of the host: %s (%d, %" PRIu64 ")", text,
	       fault ? size_host_fault_text(fault) : "read", r, found);
}

int main(void)
{
	host("1.5T", UINT64_C(3) << 39, 0);
	host("1024T", UINT64_C(1) << 50, 0);
	host("1025T", 0, SIZE_ABSURD);
	host("50%", 0, SIZE_BAD_UNIT);
	host("500%", 0, SIZE_BAD_UNIT);
	host("0", 0, SIZE_ZERO);
	host("-1G", 0, SIZE_NEGATIVE);
	host("1Q", 0, SIZE_BAD_UNIT);
	host("", 0, SIZE_EMPTY);
	tap_begin();
	reads("1", 1);
	reads("1048576", 1048576);
	reads("17b", 17);
	reads("512M", UINT64_C(512) << 20);
	reads("512m", UINT64_C(512) << 20);
	reads("8G", UINT64_C(8) << 30);
	reads("8GiB", UINT64_C(8) << 30);
	reads("8gib", UINT64_C(8) << 30);
	reads("8 GiB", UINT64_C(8) << 30);
	reads("8GB", UINT64_C(8000000000));
	reads("8MB", 8000000);
	reads("3KB", 3000);
	reads("3K", 3072);
	reads("1.5G", UINT64_C(3) << 29);
	reads("0.5G", UINT64_C(1) << 29);
	reads(".5G", UINT64_C(1) << 29);
	reads("1.1K", 1126);
	reads("1.1GB", 1100000000);
	reads("1099511627264", SIZE_LIMIT_BYTES);
	reads("0002M", 2 << 20);
	reads_pct("25%", 25);
	reads_pct("100%", 100);
	reads_pct("33.3 %", 33.3);
	reads_pct("0.1%", 0.1);

	refuses("", SIZE_EMPTY);
	refuses("  ", SIZE_EMPTY);
	refuses("0", SIZE_ZERO);
	refuses("0G", SIZE_ZERO);
	refuses("0.0", SIZE_ZERO);
	refuses("0.1", SIZE_ZERO);
	refuses("0.0001K", SIZE_ZERO);
	refuses("0.00000000000000000000001T", SIZE_ZERO);
	refuses("0%", SIZE_ZERO);
	refuses("-1", SIZE_NEGATIVE);
	refuses("-5G", SIZE_NEGATIVE);
	refuses("-0", SIZE_NEGATIVE);
	refuses("-10%", SIZE_NEGATIVE);
	refuses("-", SIZE_NO_NUMBER);
	refuses("--", SIZE_NO_NUMBER);
	refuses("G", SIZE_NO_NUMBER);
	refuses("abc", SIZE_NO_NUMBER);
	refuses("+5G", SIZE_NO_NUMBER);
	refuses("nan", SIZE_NO_NUMBER);
	refuses("infG", SIZE_NO_NUMBER);
	refuses("%", SIZE_NO_NUMBER);
	refuses("8X", SIZE_BAD_UNIT);
	refuses("8GG", SIZE_BAD_UNIT);
	refuses("8GiBB", SIZE_BAD_UNIT);
	refuses("8iB", SIZE_BAD_UNIT);
	refuses("8G ", SIZE_BAD_UNIT);
	refuses("8,5G", SIZE_BAD_UNIT);
	refuses("5.G", SIZE_BAD_UNIT);
	refuses("0x10", SIZE_BAD_UNIT);
	refuses("1e9", SIZE_BAD_UNIT);
	refuses("1.2.3G", SIZE_BAD_UNIT);
	refuses("10%%", SIZE_BAD_UNIT);
	refuses("18446744073709551616", SIZE_OVERFLOW);
	refuses("99999999999999999999999999999999999G", SIZE_OVERFLOW);
	refuses("16E", SIZE_OVERFLOW);
	refuses("18446744073709551615", SIZE_ABSURD);
	refuses("1T", SIZE_ABSURD);
	refuses("2199023255553", SIZE_ABSURD);
	refuses("1P", SIZE_ABSURD);
	refuses("101%", SIZE_BAD_PERCENT);
	refuses("100.1%", SIZE_BAD_PERCENT);
	refuses("99999999999999999999999%", SIZE_BAD_PERCENT);

	writes(0, "0 B");
	writes(512, "512 B");
	writes(1023, "1023 B");
	writes(1024, "1 KiB");
	writes(1536, "1.5 KiB");
	writes(UINT64_C(8) << 30, "8 GiB");
	writes((UINT64_C(8) << 30) + 1, "8 GiB");
	writes((UINT64_C(1) << 30) - 1, "1 GiB");
	writes(UINT64_C(3) << 29, "1.5 GiB");
	writes(UINT64_C(1) << 41, "2 TiB");
	writes(UINT64_MAX, "16 EiB");
	return tap_end();
}
