/* console_files.h: the files of the console, which src/console/embed.py compiles into meted. */
#pragma once

#include <stddef.h>

struct console_file {
	const char *name; /* "index.html" */
	const char *type; /* the media type */
	const char *etag; /* without quotes; changes with the content */
	const unsigned char *plain, *gzip;
	size_t bytes, gzip_bytes;
};

extern const struct console_file console_files[];
extern const unsigned int console_file_count;

/* NULL: there is no file of that name. */
const struct console_file *console_file_find(const char *name);
