/* serve_caller.c: see serve_caller.h. libmicrohttpd asks for a certificate and leaves the judgement to us: GnuTLS's. */
#include "connect/kubernetes/serve_caller.h"

#include <gnutls/x509.h>
#include <microhttpd.h>

bool serve_caller_can(void)
{
	return true;
}

bool serve_caller_known(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	gnutls_typed_vdata_st purpose = { .type = GNUTLS_DT_KEY_PURPOSE_OID,
					  .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT };
	unsigned int status = 1;

	return info && info->tls_session &&
	       gnutls_certificate_verify_peers(info->tls_session, &purpose, 1, &status) == GNUTLS_E_SUCCESS && !status;
}
