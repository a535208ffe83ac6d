/* validity_test.c: the times of certificates, of both forms; what is no certificate has none. */
#include "daemon/http/validity.h"

#include "base/tap.h"

#include <stdlib.h>
#include <string.h>

static const char past[] =
	"-----BEGIN CERTIFICATE-----\n"
	"MIIBDzCBtgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwHhcN\n"
	"MjAwMTAxMDAwMDAwWhcNMjEwMTAxMDAwMDAwWjAUMRIwEAYDVQQDDAlsb2NhbGhv\n"
	"c3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARB2scMVDTRu1lUHP0lYxKwpkBi\n"
	"MrDrBE+NptMqEFdnK5HCrIgieHhSsHSlKpgjTx5IS2E3VhiRALTuE6rz2/2AMAoG\n"
	"CCqGSM49BAMCA0gAMEUCIHEUJTXunBVy5J365ndEgZAu7ca5DepIXaMCJLYhk4lY\n"
	"AiEA+n/3xVINEiOT1CXAdU2qpuIyJ0kSFbyMyNvDIMsuvh0=\n"
	"-----END CERTIFICATE-----\n";

/* From 2050 on the form is the other one. */
static const char later[] =
	"-----BEGIN CERTIFICATE-----\n"
	"MIIBETCBuAIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwIBcN\n"
	"NDkwNjMwMjM1OTU5WhgPMjA1MDAxMDExMjAwMDBaMBQxEjAQBgNVBAMMCWxvY2Fs\n"
	"aG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABEHaxwxUNNG7WVQc/SVjErCm\n"
	"QGIysOsET42m0yoQV2crkcKsiCJ4eFKwdKUqmCNPHkhLYTdWGJEAtO4TqvPb/YAw\n"
	"CgYIKoZIzj0EAwIDSAAwRQIgMv5p7QgvTYD09xfq5WElFHddRIby1s88O2arfwbh\n"
	"UsQCIQDRIL5vXfNSEN/LrMG8aGpWJwsx3g9XHcB50vN+yuwNYg==\n"
	"-----END CERTIFICATE-----\n";

static void expect(const char *pem, time_t begins, time_t ends)
{
	struct validity v = { 0, 0 };

	ok(validity_read(pem, &v));
	is(v.begins, begins);
	is(v.ends, ends);
}

/* Cut at any place it has no times, or the right ones. */
static void cut_short(void)
{
	struct validity v;

	for (size_t n = 0; n < strlen(past); n++) {
		char *text = strndup(past, n);

		if (text && validity_read(text, &v) && (v.begins != 1577836800 || v.ends != 1609459200))
			ok(false);
		free(text);
	}
	ok(true);
}

static void says(const char *pem, time_t now, const char *words)
{
	struct validity v;
	char why[200] = "";

	ok(validity_read(pem, &v));
	ok(validity_is_over(&v, now, why, sizeof(why)) == !!*words);
	ok(strstr(why, words) != NULL);
}

int main(void)
{
	struct validity v;

	tap_begin();
	expect(past, 1577836800, 1609459200);
	expect(later, 2508710399, 2524651200);
	ok(!validity_read("", &v));
	ok(!validity_read("-----BEGIN CERTIFICATE-----\n", &v));
	ok(!validity_read("-----BEGIN CERTIFICATE-----\nMIIBDzCBtg==\n", &v));
	ok(!validity_of_file("/nowhere/at/all", &v));
	cut_short();
	says(past, 1577836799, "valid from 2020-01-01 00:00:00 UTC on");
	says(past, 1577836800, "");
	says(past, 1609459200, "");
	says(past, 1609459201, "expired at 2021-01-01 00:00:00 UTC");
	return tap_end();
}
