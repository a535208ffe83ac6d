/*
 * validity.h: from when to when a certificate is valid, and how long its RSA key is, read from its file in PEM (RFC
 * 5280, section 4.1.2).
 *
 * Only these are read, and only of the first certificate of the file, which is the server's own. Whether the
 * certificate is otherwise well formed is the TLS library's to say.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct validity {
	time_t begins, ends;   /* seconds since 1970 */
	unsigned int rsa_bits; /* 0: a key of another kind */
};

/* `pem`: the file's text. False: it holds no certificate whose times can be read. */
bool validity_read(const char *pem, struct validity *ret);

/* The same of a file. False: it cannot be read either. */
bool validity_of_file(const char *path, struct validity *ret);

/*
 * Is the certificate not valid at `now`? Then `why` says since when, or from when on it is valid, with the remedy.
 */
bool validity_is_over(const struct validity *v, time_t now, char *why, size_t size);

/* Has it an RSA key that is too short for clients? Then `why` says so, with the remedy. */
bool validity_is_weak(const struct validity *v, char *why, size_t size);
