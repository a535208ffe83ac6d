/*
 * certificate.h: creates an authority and certificates signed by it, for a server that no other authority certifies.
 *
 * Keys are of the curve P-256; texts are PEM. A certificate's validity begins five minutes before its creation, for
 * clocks that are slow. Uses OpenSSL.
 */
#pragma once

#include "client/fault.h"

#include <stdbool.h>
#include <stdint.h>

struct certificate {
	char *certificate, *key; /* PEM; owned. If there are several certificates, the key belongs to the first */
};

void certificate_free(struct certificate *c);

/* Creates an authority that is valid for so many seconds. Value: 0, or a negative errno and a fault. */
int certificate_authority(struct certificate *ret, const char *name, int64_t seconds, struct fault *f);

/*
 * Creates a server certificate signed by that authority. names: host names and addresses, separated by commas. It
 * expires with the authority at the latest.
 */
int certificate_issue(struct certificate *ret, const struct certificate *authority, const char *names, int64_t seconds,
		      struct fault *f);

/* Reads a PEM file; the caller owns *ret. Value: 0, or a negative errno and a fault. */
int certificate_read_text(const char *path, char **ret, struct fault *f);

/* Reads both from files. Value: 0, or a negative errno and a fault, also if they do not match. */
int certificate_read(struct certificate *ret, const char *cert, const char *key, struct fault *f);

/*
 * The same if they differ from those of `c`: *ret_new is then set; it is never cleared here. Value: 0, or a negative
 * errno and a fault; `c` is then unchanged.
 */
int certificate_refresh(struct certificate *c, const char *cert, const char *key, bool *ret_new, struct fault *f);

/*
 * The remaining and the whole validity of the first certificate, in seconds. Value: 0, or -EINVAL: not a certificate.
 */
int certificate_left(const char *pem, int64_t *ret_left, int64_t *ret_whole);

/* Value: 0, or -EKEYEXPIRED and a fault: it is not valid any more, or not yet. `path`: its origin, for the fault. */
int certificate_check_time(const struct certificate *c, const char *path, struct fault *f);

/* True if the key belongs to the first certificate. */
int certificate_matches(const struct certificate *c);
