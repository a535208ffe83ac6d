/* certificate.h: the contents of a certificate in words, for messages that say what is wrong with it. */
#pragma once

#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * The names and addresses that it is for, with commas, as many as there is room for; its common name if there are none.
 * What is not printable, or could be taken for the text around it, is left away. "nobody": it has none.
 */
void certificate_names(X509 *certificate, char *ret, size_t size);
/* It begins to be valid later than this machine's clock says. NULL: false. */
bool certificate_is_early(const X509 *certificate);
