/* serve_caller_none.c: see serve_caller.h; built without GnuTLS. */
#include "connect/kubernetes/serve_caller.h"

bool serve_caller_can(void)
{
	return false;
}

bool serve_caller_known(struct MHD_Connection *c)
{
	(void)c;
	return false;
}
