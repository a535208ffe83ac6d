/* validity_test.c: the times of certificates, of both forms, and the length of RSA keys; what is no certificate has
 * none. */
#include "daemon/http/validity.h"

#include "base/tap.h"

#include <stdlib.h>
#include <string.h>

static const char past[] = "-----BEGIN CERTIFICATE-----\n"
			   "MIIBDzCBtgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwHhcN\n"
			   "MjAwMTAxMDAwMDAwWhcNMjEwMTAxMDAwMDAwWjAUMRIwEAYDVQQDDAlsb2NhbGhv\n"
			   "c3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARB2scMVDTRu1lUHP0lYxKwpkBi\n"
			   "MrDrBE+NptMqEFdnK5HCrIgieHhSsHSlKpgjTx5IS2E3VhiRALTuE6rz2/2AMAoG\n"
			   "CCqGSM49BAMCA0gAMEUCIHEUJTXunBVy5J365ndEgZAu7ca5DepIXaMCJLYhk4lY\n"
			   "AiEA+n/3xVINEiOT1CXAdU2qpuIyJ0kSFbyMyNvDIMsuvh0=\n"
			   "-----END CERTIFICATE-----\n";

/* From 2050 on the form is the other one. */
static const char later[] = "-----BEGIN CERTIFICATE-----\n"
			    "MIIBETCBuAIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwIBcN\n"
			    "NDkwNjMwMjM1OTU5WhgPMjA1MDAxMDExMjAwMDBaMBQxEjAQBgNVBAMMCWxvY2Fs\n"
			    "aG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABEHaxwxUNNG7WVQc/SVjErCm\n"
			    "QGIysOsET42m0yoQV2crkcKsiCJ4eFKwdKUqmCNPHkhLYTdWGJEAtO4TqvPb/YAw\n"
			    "CgYIKoZIzj0EAwIDSAAwRQIgMv5p7QgvTYD09xfq5WElFHddRIby1s88O2arfwbh\n"
			    "UsQCIQDRIL5vXfNSEN/LrMG8aGpWJwsx3g9XHcB50vN+yuwNYg==\n"
			    "-----END CERTIFICATE-----\n";

/* With a key of 1024 bits; those above have keys of another kind. */
static const char weak[] = "-----BEGIN CERTIFICATE-----\n"
			   "MIICBjCCAW+gAwIBAgIUGULaf6Zy7FKqQBSze0FHlZGWlM0wDQYJKoZIhvcNAQEL\n"
			   "BQAwFDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNjIxMjgzNloYDzIxMjYx\n"
			   "MTAyMjEyODM2WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwgZ8wDQYJKoZIhvcNAQEB\n"
			   "BQADgY0AMIGJAoGBAMmXVk5Os2ILi9NwlKbQbbRmTqHVRS2kPwILgHbKoBJb9hbt\n"
			   "GibehMFqLIpw/QGa69TEJfBrHHx3iHNiZk/4c6IH6RLmvc0jNWw+0WAhD+XixWL8\n"
			   "mVLUYmy6OumuDLm/PMpY0Kxu9hFetOdQUaiFoybQN7ErvCMILbb2SIiDjt+NAgMB\n"
			   "AAGjUzBRMB0GA1UdDgQWBBTqo3fzt2prYEshwRP0V8y3KnReojAfBgNVHSMEGDAW\n"
			   "gBTqo3fzt2prYEshwRP0V8y3KnReojAPBgNVHRMBAf8EBTADAQH/MA0GCSqGSIb3\n"
			   "DQEBCwUAA4GBAKFm0dByXGXfob27UNWZ0UpuFQjsYzcIjYtRYiO+KJWZfPgcCWM7\n"
			   "FL2AvZuELmJna/YParjUTZ6ZsWbG5TxZodFCy8Z14U1Y5ErTSYjCJ32sYDvLrnLr\n"
			   "HK4S8eV74fKHYJLf8v1szdKOKcjxD+gOskiIldA8CA8lLmiz7tVJd8AK\n"
			   "-----END CERTIFICATE-----\n";

static void expect(const char *pem, time_t begins, time_t ends)
{
	struct validity v = { 0, 0 };

	ok(validity_read(pem, &v));
	is(v.begins, begins);
	is(v.ends, ends);
}

/* Cut at any place it has no times, or the right ones; and no key that is shorter than it is. */
static void cut_short(void)
{
	struct validity v;

	for (size_t n = 0; n < strlen(past); n++) {
		char *text = strndup(past, n);

		if (text && validity_read(text, &v) && (v.begins != 1577836800 || v.ends != 1609459200))
			ok(false);
		free(text);
	}
	for (size_t n = 0; n < strlen(weak); n++) {
		char *text = strndup(weak, n);

		if (text && validity_read(text, &v) && v.rsa_bits && v.rsa_bits != 1024)
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
	char why[200] = "";

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
	ok(validity_read(weak, &v));
	is(v.rsa_bits, 1024);
	ok(validity_is_weak(&v, why, sizeof(why)) && strstr(why, "1024 bits"));
	ok(validity_read(past, &v) && !v.rsa_bits && !validity_is_weak(&v, why, sizeof(why)));
	v.rsa_bits = 2048;
	ok(!validity_is_weak(&v, why, sizeof(why)));
	return tap_end();
}
