/* ucx_absent.c: stands in for ucx.c where the library is missing at build time. */
#include "remote/relay/line.h"

#include <stdio.h>

bool ucx_present(void)
{
	return false;
}

bool ucx_shares_memory(void)
{
	return false;
}

struct line *ucx_line(struct line *take_base, bool first, char ret_text[RELAY_TEXT_BYTES])
{
	snprintf(ret_text, RELAY_TEXT_BYTES, "this mete was built without UCX");
	return NULL;
}
