/* none.c: a meted that was built without HTTP (-Dhttp=disabled). */
#include "daemon/http/http.h"

#include <errno.h>
#include <stdio.h>

const char *http_fault_key(enum http_fault fault)
{
	return fault ? "http.listen" : "";
}

enum http_fault http_try(const struct http_options *o, const char *state_dir, const char *own, char *why, size_t size)
{
	(void)state_dir;
	(void)own;
	if (!o->listen)
		return HTTP_FAULT_NONE;
	snprintf(why, size, "this meted was built without HTTP: `mete metrics` prints the metrics");
	return HTTP_FAULT_LISTEN;
}

int http_start(struct daemon *daemon, const struct http_options *o, char *error, size_t size)
{
	(void)daemon;
	if (!o->listen)
		return 0;
	snprintf(error, size, "--http %.100s: this meted was built without HTTP: `mete metrics` prints the metrics",
		 o->listen);
	return -ENOTSUP;
}

void http_stop(struct daemon *daemon, bool leaving)
{
	(void)daemon;
	(void)leaving;
}

const char *http_address(const struct daemon *daemon)
{
	(void)daemon;
	return "";
}

time_t http_certificate_ends(const struct daemon *daemon)
{
	(void)daemon;
	return 0;
}
