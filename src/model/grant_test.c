/* grant_test.c: names, promises and fits. */
#include "model/grant.h"

#include "base/tap.h"

static void test_names(void)
{
	ok(grant_name_valid("a"));
	ok(grant_name_valid("train-7.b_c"));
	ok(!grant_name_valid(""));
	ok(!grant_name_valid(".hidden"));
	ok(!grant_name_valid("-x"));
	ok(!grant_name_valid("a/b"));
	ok(!grant_name_valid("a b"));
	ok(!grant_name_valid("\xc3\xa9t\xc3\xa9"));
	ok(grant_name_valid("123456789012345678901234567890123456789012345678901234567890123"));
	ok(!grant_name_valid("1234567890123456789012345678901234567890123456789012345678901234"));
}

static void test_fits(void)
{
	struct device d = { .total_bytes = 16ull << 30 };
	struct device huge = { .total_bytes = 4ull << 40 };

	is(grant_fits(&d, 0, 16ull << 30, false), GRANT_FITS);
	is(grant_fits(&d, 0, (16ull << 30) + 1, true), GRANT_OVER_DEVICE);
	is(grant_fits(&d, 8ull << 30, 8ull << 30, false), GRANT_FITS);
	is(grant_fits(&d, 8ull << 30, (8ull << 30) + 512, false), GRANT_OVER_PROMISED);
	is(grant_fits(&d, 8ull << 30, 16ull << 30, true), GRANT_FITS);
	is(grant_fits(&d, 32ull << 30, 512, false), GRANT_OVER_PROMISED);
	is(grant_fits(&d, 0, 0, true), GRANT_NOTHING);
	is(grant_fits(&d, 0, 511, true), GRANT_NOTHING);
	is(grant_fits(&huge, 0, 1ull << 40, false), GRANT_OVER_COUNTABLE);
	is(grant_fits(&huge, 0, GRANT_MAX_BYTES, false), GRANT_FITS);
	is(grant_pct_bytes(&d, 25), 4ull << 30);
	is(grant_pct_bytes(&d, 100), 16ull << 30);
	is(grant_pct_bytes(&d, 1e-9), 0);
}

static void test_promises(void)
{
	static struct grant g;

	g.share_count = 2;
	g.share[0].device.uuid[15] = 1;
	g.share[1].device.uuid[15] = 2;
	ledger_init(&g.share[0].ledger, 100);
	ledger_init(&g.share[1].ledger, 7);
	is(grant_promised_bytes(&g, g.share[0].device.uuid), 51200);
	ledger_shrink_soon(&g.share[0].ledger, 10);
	is(grant_promised_bytes(&g, g.share[0].device.uuid), 51200);
	is(grant_promised_bytes(&g, (const uint8_t[16]){ 9 }), 0);
	ok(grant_find_share(&g, g.share[1].device.uuid) == &g.share[1]);
	ok(!grant_find_share(&g, (const uint8_t[16]){ 9 }));
}

int main(void)
{
	tap_begin();
	test_names();
	test_fits();
	test_promises();
	return tap_end();
}
