/* validity.c: see validity.h. Base64, and as much of DER (X.690) as leads to the two times. */
#include "daemon/http/validity.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PEM_BEGIN "-----BEGIN CERTIFICATE-----"
#define RSA_BITS_LEAST 2048u /* NIST SP 800-131A; OpenSSL refuses less from level 2 on */
#define FILE_BYTES 65536u    /* the first certificate lies in these */

enum tag {
	TAG_INTEGER = 0x02,
	TAG_BIT_STRING = 0x03,
	TAG_OID = 0x06,
	TAG_UTC_TIME = 0x17,
	TAG_GENERALIZED_TIME = 0x18,
	TAG_SEQUENCE = 0x30,
	TAG_VERSION = 0xa0
};

struct der {
	const unsigned char *at, *end;
};

static int sextet(char c)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *p = c ? strchr(letters, c) : NULL;

	return p ? (int)(p - letters) : -1;
}

/* Until the first "=" or "-". Value: bytes. */
static size_t decode_base64(const char *text, unsigned char *bytes)
{
	uint32_t bits = 0;
	unsigned int have = 0;
	size_t n = 0;

	for (; *text && *text != '=' && *text != '-'; text++) {
		int six = sextet(*text);

		if (six < 0)
			continue; /* line ends */
		bits = bits << 6 | (uint32_t)six;
		have += 6;
		if (have >= 8) {
			have -= 8;
			bytes[n++] = (unsigned char)(bits >> have);
		}
	}
	return n;
}

/* Takes one element off the front; its contents are in *ret. False: it has another tag, or is longer than there is. */
static bool take(struct der *d, enum tag tag, struct der *ret)
{
	size_t length;

	if (d->end - d->at < 2 || d->at[0] != tag)
		return false;
	length = d->at[1];
	d->at += 2;
	if (length & 0x80) {
		size_t more = length & 0x7f;

		if (more > 3 || (size_t)(d->end - d->at) < more)
			return false;
		for (length = 0; more; more--)
			length = length << 8 | *d->at++;
	}
	if ((size_t)(d->end - d->at) < length)
		return false;
	*ret = (struct der){ d->at, d->at + length };
	d->at += length;
	return true;
}

/* Two digits. */
static int two(const unsigned char *digits)
{
	return (digits[0] - '0') * 10 + digits[1] - '0';
}

/* YYMMDDHHMMSSZ, of the years from 1950 to 2049, or YYYYMMDDHHMMSSZ. */
static bool take_time(struct der *d, time_t *ret)
{
	size_t digits = 12;
	struct der text;
	struct tm tm = { 0 };

	if (!take(d, TAG_UTC_TIME, &text)) {
		digits = 14;
		if (!take(d, TAG_GENERALIZED_TIME, &text))
			return false;
	}
	if ((size_t)(text.end - text.at) != digits + 1 || text.at[digits] != 'Z')
		return false;
	for (size_t i = 0; i < digits; i++)
		if (text.at[i] < '0' || text.at[i] > '9')
			return false;
	tm.tm_year = digits == 14 ? two(text.at) * 100 + two(text.at + 2) - 1900 : two(text.at);
	if (digits == 12 && tm.tm_year < 50)
		tm.tm_year += 100;
	text.at += digits - 10;
	tm.tm_mon = two(text.at) - 1;
	tm.tm_mday = two(text.at + 2);
	tm.tm_hour = two(text.at + 4);
	tm.tm_min = two(text.at + 6);
	tm.tm_sec = two(text.at + 8);
	*ret = timegm(&tm);
	return true;
}

/* RFC 8017, appendix A.1.1: the modulus of an RSA key. The certificate goes on with the subject and its key. 0: of
 * another kind. */
static unsigned int rsa_bits(struct der *tbs)
{
	static const unsigned char oid[] = { 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01 };
	struct der part, key, algorithm, name, numbers, modulus;

	if (!take(tbs, TAG_SEQUENCE, &part) || !take(tbs, TAG_SEQUENCE, &key) ||
	    !take(&key, TAG_SEQUENCE, &algorithm) || !take(&algorithm, TAG_OID, &name) ||
	    name.end - name.at != sizeof(oid) || memcmp(name.at, oid, sizeof(oid)) ||
	    !take(&key, TAG_BIT_STRING, &part) || part.at == part.end)
		return 0;
	part.at++; /* bits that are not used */
	if (!take(&part, TAG_SEQUENCE, &numbers) || !take(&numbers, TAG_INTEGER, &modulus))
		return 0;
	while (modulus.at < modulus.end && !*modulus.at)
		modulus.at++;
	return (unsigned int)(modulus.end - modulus.at) * 8;
}

bool validity_read(const char *pem, struct validity *ret)
{
	const char *begin = strstr(pem, PEM_BEGIN);
	_cleanup_free_ unsigned char *bytes = NULL;
	struct der d, certificate, tbs, part;

	if (!begin)
		return false;
	begin += strlen(PEM_BEGIN);
	bytes = malloc(strlen(begin) + 1);
	if (!bytes)
		return false;
	d = (struct der){ bytes, bytes + decode_base64(begin, bytes) };
	if (!take(&d, TAG_SEQUENCE, &certificate) || !take(&certificate, TAG_SEQUENCE, &tbs))
		return false;
	take(&tbs, TAG_VERSION, &part);						    /* of version 1 there is none */
	if (!take(&tbs, TAG_INTEGER, &part) || !take(&tbs, TAG_SEQUENCE, &part) ||  /* number, algorithm */
	    !take(&tbs, TAG_SEQUENCE, &part) || !take(&tbs, TAG_SEQUENCE, &part) || /* issuer, validity */
	    !take_time(&part, &ret->begins) || !take_time(&part, &ret->ends))
		return false;
	ret->rsa_bits = rsa_bits(&tbs);
	return true;
}

bool validity_of_file(const char *path, struct validity *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_free_ char *text = calloc(1, FILE_BYTES + 1);

	return fd >= 0 && text && read(fd, text, FILE_BYTES) > 0 && validity_read(text, ret);
}

bool validity_is_over(const struct validity *v, time_t now, char *why, size_t size)
{
	time_t moment = now > v->ends ? v->ends : v->begins;
	char text[40] = "?";
	struct tm tm;

	if (now >= v->begins && now <= v->ends)
		return false;
	if (gmtime_r(&moment, &tm))
		strftime(text, sizeof(text), "%F %T UTC", &tm);
	if (now > v->ends)
		snprintf(why, size, "expired at %s, so clients refuse it: renew the certificate, then restart meted",
			 text);
	else
		snprintf(why, size,
			 "is valid from %s on, so clients refuse it: set the clock (timedatectl), or name another "
			 "certificate",
			 text);
	return true;
}

bool validity_is_weak(const struct validity *v, char *why, size_t size)
{
	if (!v->rsa_bits || v->rsa_bits >= RSA_BITS_LEAST)
		return false;
	snprintf(why, size,
		 "has a key of %u bits, which clients refuse: make one of %u bits or more, with its certificate",
		 v->rsa_bits, RSA_BITS_LEAST);
	return true;
}
