/* certificate.h: describes the contents of a certificate, for error messages. */
#pragma once

#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * The names and addresses that it is valid for, separated by commas, as many as fit; its common name if there are none.
 * Characters that are not printable, or could be mistaken for the surrounding text, are omitted. "nobody": it has none.
 */
void certificate_names(X509 *certificate, char *ret, size_t size);
/* True if its validity begins after the current time of this machine. NULL: false. */
bool certificate_is_early(const X509 *certificate);
