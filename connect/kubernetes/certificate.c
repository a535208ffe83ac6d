/* certificate.c: see certificate.h. */
#include "connect/kubernetes/certificate.h"

#include "connect/cdi/plain_file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EARLY_S 300
#define NAMES_MOST 2048u

void certificate_free(struct certificate *c)
{
	if (c->key)
		explicit_bzero(c->key, strlen(c->key));
	free(c->certificate);
	free(c->key);
	*c = (struct certificate){ NULL, NULL };
}

static int trouble(struct fault *f, const char *what)
{
	const char *why = ERR_reason_error_string(ERR_get_error());

	return fault_set(f, -EPROTO, "certificate: %s: %s", what, why ? why : "OpenSSL does not say why");
}

static char *text_of(BIO *bio)
{
	char *data, *text;
	long size = bio ? BIO_get_mem_data(bio, &data) : 0;

	text = size > 0 ? malloc((size_t)size + 1) : NULL;
	if (text) {
		memcpy(text, data, (size_t)size);
		text[size] = 0;
	}
	BIO_free(bio);
	return text;
}

static char *write_certificate(X509 *x)
{
	BIO *bio = BIO_new(BIO_s_mem());

	if (bio)
		PEM_write_bio_X509(bio, x);
	return text_of(bio);
}

static char *write_key(EVP_PKEY *key)
{
	BIO *bio = BIO_new(BIO_s_mem());

	if (bio)
		PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
	return text_of(bio);
}

static X509 *read_certificate(const char *pem)
{
	BIO *bio = pem ? BIO_new_mem_buf(pem, -1) : NULL;
	X509 *x = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;

	BIO_free(bio);
	ERR_clear_error();
	return x;
}

static EVP_PKEY *read_key(const char *pem)
{
	BIO *bio = pem ? BIO_new_mem_buf(pem, -1) : NULL;
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;

	BIO_free(bio);
	ERR_clear_error();
	return key;
}

static bool add_extension(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *e;
	bool good;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	good = e && X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
	return good;
}

static bool set_serial(X509 *x)
{
	unsigned char bytes[16];
	BIGNUM *n;
	bool good;

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return false;
	bytes[0] = (bytes[0] & 0x7f) | 0x40; /* above zero, and always as long */
	n = BN_bin2bn(bytes, sizeof(bytes), NULL);
	good = n && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x));
	BN_free(n);
	return good;
}

/* A certificate without extensions and signature. */
static X509 *begin(EVP_PKEY *key, const char *name, X509_NAME *issuer, int64_t seconds)
{
	X509 *x = X509_new();
	X509_NAME *subject = x ? X509_get_subject_name(x) : NULL;

	if (x && X509_set_version(x, 2) && set_serial(x) &&
	    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1, 0) &&
	    X509_set_issuer_name(x, issuer ? issuer : subject) && X509_set_pubkey(x, key) &&
	    X509_gmtime_adj(X509_getm_notBefore(x), -EARLY_S) && X509_gmtime_adj(X509_getm_notAfter(x), (long)seconds))
		return x;
	X509_free(x);
	return NULL;
}

static int keep(struct certificate *ret, X509 *x, EVP_PKEY *key, struct fault *f)
{
	ret->certificate = write_certificate(x);
	ret->key = write_key(key);
	if (ret->certificate && ret->key)
		return 0;
	certificate_free(ret);
	return fault_set(f, -ENOMEM, "certificate: no memory");
}

int certificate_authority(struct certificate *ret, const char *name, int64_t seconds, struct fault *f)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = key ? begin(key, name, NULL, seconds) : NULL;
	int r;

	*ret = (struct certificate){ NULL, NULL };
	if (x && add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	    add_extension(x, x, NID_key_usage, "critical,keyCertSign,cRLSign") &&
	    add_extension(x, x, NID_subject_key_identifier, "hash") && X509_sign(x, key, EVP_sha256()))
		r = keep(ret, x, key, f);
	else
		r = trouble(f, "no authority is made");
	X509_free(x);
	EVP_PKEY_free(key);
	return r;
}

static bool is_address(const char *name)
{
	unsigned char bytes[16];

	return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

/* "DNS:a,IP:127.0.0.1"; what is no name of a host would be taken for OpenSSL's own syntax. */
static int alternative_names(const char *names, char ret[NAMES_MOST], struct fault *f)
{
	char list[NAMES_MOST], *next = list, *name;
	size_t used = 0;

	if (strlen(names) >= sizeof(list))
		return fault_set(f, -ENAMETOOLONG, "certificate: too many names");
	strcpy(list, names);
	while ((name = strsep(&next, ","))) {
		name += strspn(name, " ");
		name[strcspn(name, " ")] = 0;
		if (!*name)
			continue;
		if (strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:*") != strlen(name))
			return fault_set(f, -EINVAL, "certificate: \"%.60s\" is no name of a host", name);
		used += (size_t)snprintf(ret + used, NAMES_MOST - used, "%s%s:%s", used ? "," : "",
					 is_address(name) ? "IP" : "DNS", name);
		if (used >= NAMES_MOST)
			return fault_set(f, -ENAMETOOLONG, "certificate: too many names");
	}
	return used ? 0 : fault_set(f, -EINVAL, "certificate: it needs the name of a host");
}

/* Not longer than its authority. */
static int64_t seconds_within(const struct certificate *authority, int64_t seconds)
{
	int64_t left, whole;

	return !certificate_left(authority->certificate, &left, &whole) && left < seconds ? left : seconds;
}

int certificate_issue(struct certificate *ret, const struct certificate *authority, const char *names, int64_t seconds,
		      struct fault *f)
{
	X509 *issuer = read_certificate(authority->certificate), *x = NULL;
	EVP_PKEY *issuer_key = read_key(authority->key), *key = EVP_EC_gen("P-256");
	char list[NAMES_MOST];
	int r = alternative_names(names, list, f);

	*ret = (struct certificate){ NULL, NULL };
	if (!r && (!issuer || !issuer_key || X509_check_private_key(issuer, issuer_key) != 1))
		r = fault_set(f, -EINVAL, "certificate: the authority's certificate and key do not belong together");
	if (!r && key)
		x = begin(key, "mete", X509_get_subject_name(issuer), seconds_within(authority, seconds));
	if (!r && x && add_extension(x, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
	    add_extension(x, issuer, NID_key_usage, "critical,digitalSignature") &&
	    add_extension(x, issuer, NID_ext_key_usage, "serverAuth") &&
	    add_extension(x, issuer, NID_authority_key_identifier, "keyid") &&
	    add_extension(x, issuer, NID_subject_alt_name, list) && X509_sign(x, issuer_key, EVP_sha256()))
		r = keep(ret, x, key, f);
	else if (!r)
		r = trouble(f, "none is made");
	X509_free(x);
	X509_free(issuer);
	EVP_PKEY_free(issuer_key);
	EVP_PKEY_free(key);
	return r;
}

int certificate_refresh(struct certificate *c, const char *cert, const char *key, bool *ret_new, struct fault *f)
{
	struct certificate now;
	int r = certificate_read(&now, cert, key, f);

	if (r)
		return r;
	if (c->certificate && !strcmp(now.certificate, c->certificate) && !strcmp(now.key, c->key)) {
		certificate_free(&now);
		return 0;
	}
	certificate_free(c);
	*c = now;
	*ret_new = true;
	return 0;
}

int certificate_left(const char *pem, int64_t *ret_left, int64_t *ret_whole)
{
	X509 *x = read_certificate(pem);
	int days, seconds, whole_days, whole_seconds;
	bool good = x && ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(x)) &&
		    ASN1_TIME_diff(&whole_days, &whole_seconds, X509_get0_notBefore(x), X509_get0_notAfter(x));

	X509_free(x);
	if (!good)
		return -EINVAL;
	*ret_left = (int64_t)days * 86400 + seconds;
	*ret_whole = (int64_t)whole_days * 86400 + whole_seconds - EARLY_S;
	return 0;
}

int certificate_check_time(const struct certificate *c, const char *path, struct fault *f)
{
	int64_t left, whole;

	if (certificate_left(c->certificate, &left, &whole))
		return 0;
	if (left <= 0)
		return fault_set(f, -EKEYEXPIRED,
				 "%s: the time of the certificate is over: callers refuse it; renew it", path);
	if (left > whole + EARLY_S)
		return fault_set(
			f, -EKEYEXPIRED,
			"%s: the time of the certificate has not begun: callers refuse it; is the clock right?", path);
	return 0;
}

int certificate_matches(const struct certificate *c)
{
	X509 *x = read_certificate(c->certificate);
	EVP_PKEY *key = read_key(c->key);
	int r = x && key && X509_check_private_key(x, key) == 1;

	X509_free(x);
	EVP_PKEY_free(key);
	ERR_clear_error();
	return r;
}

int certificate_read_text(const char *path, char **ret, struct fault *f)
{
	char why[256];
	size_t size;
	int r = plain_file_read(path, ret, &size, why, sizeof(why));

	return r ? fault_set(f, r, "%s: %s", path, why) : 0;
}

int certificate_read(struct certificate *ret, const char *cert, const char *key, struct fault *f)
{
	int r;

	*ret = (struct certificate){ NULL, NULL };
	r = certificate_read_text(cert, &ret->certificate, f);
	if (!r)
		r = certificate_read_text(key, &ret->key, f);
	if (!r && !certificate_matches(ret))
		r = fault_set(f, -EINVAL, "%s and %s: no certificate and key in PEM that belong together", cert, key);
	if (r)
		certificate_free(ret);
	return r;
}
