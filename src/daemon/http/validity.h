/*
 * validity.h: the validity period of a certificate and the length of its RSA key, read from its PEM file (RFC 5280,
 * section 4.1.2).
 *
 * Only these are read, and only from the first certificate of the file, which is the server's own. The TLS library
 * checks everything else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct validity {
	time_t begins, ends;   /* seconds since 1970 */
	unsigned int rsa_bits; /* 0: another kind of key */
};

/* `pem`: the file's text. False: it contains no certificate whose times can be read. */
bool validity_read(const char *pem, struct validity *ret);

/* The same for a file. False also if the file cannot be read. */
bool validity_of_file(const char *path, struct validity *ret);

/*
 * True if the certificate is not valid at `now`. `why` then says since when, or from when on it is valid, with the
 * remedy.
 */
bool validity_is_over(const struct validity *v, time_t now, char *why, size_t size);

/* True if the RSA key is too short for clients. `why` then says so, with the remedy. */
bool validity_is_weak(const struct validity *v, char *why, size_t size);
