/*
 * certificate.h: an authority of our own and the certificates that it gives, for a server that nobody else certifies.
 *
 * Keys are of the curve P-256; texts are PEM. A certificate begins five minutes before it is made, for clocks that are
 * late. By OpenSSL.
 */
#pragma once

#include "client/fault.h"

#include <stdbool.h>
#include <stdint.h>

struct certificate {
	char *certificate, *key; /* PEM; owned. More than one certificate: the first is the key's */
};

void certificate_free(struct certificate *c);

/* An authority that is one for so many seconds. Value: 0 or a negative errno and a fault. */
int certificate_authority(struct certificate *ret, const char *name, int64_t seconds, struct fault *f);

/*
 * One for a server, by that authority. names: host names and addresses, with commas. It ends with the authority at
 * the latest.
 */
int certificate_issue(struct certificate *ret, const struct certificate *authority, const char *names, int64_t seconds,
		      struct fault *f);

/* A file of some PEM; *ret is the caller's. Value: 0 or a negative errno and a fault. */
int certificate_read_text(const char *path, char **ret, struct fault *f);

/* From files. Value: 0 or a negative errno and a fault, also where they do not belong together. */
int certificate_read(struct certificate *ret, const char *cert, const char *key, struct fault *f);

/*
 * The same, where they are others than `c` has: then *ret_new is set, which is not cleared here. Value: 0 or a negative
 * errno and a fault; then `c` is as it was.
 */
int certificate_refresh(struct certificate *c, const char *cert, const char *key, bool *ret_new, struct fault *f);

/* What is left of the first certificate, and what it had in all, in seconds. Value: 0, or -EINVAL: it is none. */
int certificate_left(const char *pem, int64_t *ret_left, int64_t *ret_whole);

/* 0, or -EKEYEXPIRED and a fault: nobody believes it any more, or not yet. `path`: where it is from. */
int certificate_check_time(const struct certificate *c, const char *path, struct fault *f);

/* Whether the key belongs to the first certificate. */
int certificate_matches(const struct certificate *c);
