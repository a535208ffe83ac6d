/* console.c: see console.h. */
#include "daemon/http/console.h"

#include "daemon/http/console_files.h"
#include "daemon/http/http.h"

#include <string.h>

const struct console_file *console_file_find(const char *name)
{
	for (unsigned int i = 0; i < console_file_count; i++)
		if (!strcmp(console_files[i].name, name))
			return &console_files[i];
	return NULL;
}

static void send_file(struct http_reply *reply, const char *name)
{
	const struct console_file *f = console_file_find(name);

	if (f)
		http_reply_constant(reply, f->type, f->plain, f->bytes, f->gzip, f->gzip_bytes, f->etag);
	else
		http_reply_error(reply, 404, "the console has no file %.64s", name);
}

void console_page(const struct http_request *request, struct http_reply *reply)
{
	(void)request;
	send_file(reply, "index.html");
}

void console_file(const struct http_request *request, struct http_reply *reply)
{
	send_file(reply, request->arg[0]);
}
