/*
 * validity.h: from when to when a certificate is valid, read from its file in PEM (RFC 5280, section 4.1.2.5).
 *
 * Only the two times are read, and only of the first certificate of the file, which is the server's own. Whether the
 * certificate is otherwise well formed is the TLS library's to say.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct validity {
	time_t begins, ends; /* seconds since 1970 */
};

/* `pem`: the file's text. False: it holds no certificate whose times can be read. */
bool validity_read(const char *pem, struct validity *ret);

/* The same of a file. False: it cannot be read either. */
bool validity_of_file(const char *path, struct validity *ret);

/*
 * Is the certificate not valid at `now`? Then `why` says since when, or from when on it is valid, with the remedy.
 */
bool validity_is_over(const struct validity *v, time_t now, char *why, size_t size);
