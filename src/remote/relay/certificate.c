/* certificate.c: see certificate.h. */
#include "remote/relay/certificate.h"

#include "remote/relay/relay.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Letters, digits and what hosts have besides: a certificate of a stranger writes no text of its own. */
static bool host_like(const char *name, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr(".-_:*", name[i]))
			return false;
	return bytes && strlen(name) == bytes;
}

static void add(char *list, size_t size, const char *name)
{
	size_t used = strlen(list);

	if (used + strlen(name) + 3 < size)
		snprintf(list + used, size - used, "%s%s", used ? ", " : "", name);
}

static void add_one(const GENERAL_NAME *name, char *list, size_t size)
{
	bool host = name->type == GEN_DNS;
	const ASN1_STRING *value = host ? name->d.dNSName : name->type == GEN_IPADD ? name->d.iPAddress : NULL;
	size_t bytes = value ? (size_t)ASN1_STRING_length(value) : 0;
	char text[254] = "";

	if (!bytes || bytes >= sizeof(text))
		return;
	if (host)
		memcpy(text, ASN1_STRING_get0_data(value), bytes);
	else if (bytes == 4 || bytes == 16)
		inet_ntop(bytes == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(value), text, sizeof(text));
	if (*text && (!host || host_like(text, bytes)))
		add(list, size, text);
}

void certificate_names(X509 *certificate, char *ret, size_t size)
{
	GENERAL_NAMES *names = certificate ? X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL) : NULL;
	char common[RELAY_NAME_BYTES];
	int n;

	*ret = 0;
	for (int i = 0; names && i < sk_GENERAL_NAME_num(names); i++)
		add_one(sk_GENERAL_NAME_value(names, i), ret, size);
	GENERAL_NAMES_free(names);
	if (*ret || !certificate)
		return;
	n = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, common, sizeof(common));
	add(ret, size, n > 0 && host_like(common, (size_t)n) ? common : "nobody");
}

bool certificate_is_early(const X509 *certificate)
{
	return certificate && X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0;
}
