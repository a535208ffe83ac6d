/* check.c: see check.h. The configuration, and how reports are made and sent. */
#include "softdev/check.h"

#include "base/cleanup.h"
#include "softdev/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_MOST_S 1e9

static const char prefix[] = "mete: check: ";

static CUresult mode_read(const char *text)
{
	static const char *const name[] = { "off", "strict", "report" };
	const size_t n = text ? strcspn(text, ",") : 0;

	driver.check.mode = CHECK_OFF;
	driver.check.leaks = false;
	if (!n)
		return CUDA_SUCCESS;
	for (unsigned i = 0; i < 3; i++)
		if (strlen(name[i]) == n && !strncmp(text, name[i], n)) {
			driver.check.mode = (enum check_mode)i;
			driver.check.leaks = i == CHECK_REPORT && !strcmp(text + n, ",leaks");
			if (!text[n] || driver.check.leaks)
				return CUDA_SUCCESS;
		}
	log_line("METE_SOFT_CHECK=%s: give off, strict, report or report,leaks", text);
	return CUDA_ERROR_INVALID_VALUE;
}

static CUresult timeout_read(const char *text)
{
	double seconds = 0;
	char *end;

	driver.check.timeout_ns = 0;
	if (!text || !text[0])
		return CUDA_SUCCESS;
	seconds = strtod(text, &end);
	if (*end || !(seconds >= 0) || seconds > TIMEOUT_MOST_S) {
		log_line("METE_SOFT_TIMEOUT=%s: give seconds, such as 10 or 0.5, or 0 for no limit", text);
		return CUDA_ERROR_INVALID_VALUE;
	}
	driver.check.timeout_ns = (uint64_t)(seconds * 1e9);
	return CUDA_SUCCESS;
}

CUresult check_read(void)
{
	CUresult e;

	if (getenv("METE_SOFT_STRICT"))
		log_line("METE_SOFT_STRICT is not known any more: set METE_SOFT_CHECK=strict");
	e = mode_read(getenv("METE_SOFT_CHECK"));
	return e ? e : timeout_read(getenv("METE_SOFT_TIMEOUT"));
}

void report_line(struct report *r, const char *fmt, ...)
{
	const size_t room = sizeof(r->text) - r->bytes;
	size_t n = sizeof(prefix) - 1;
	char line[1024];
	va_list ap;

	memcpy(line, prefix, sizeof(prefix));
	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	va_end(ap);
	n = strlen(line);
	line[n++] = '\n';
	if (n > room)
		return;
	memcpy(r->text + r->bytes, line, n);
	r->bytes += n;
}

void report_send(const struct report *r)
{
	const char *path = secure_getenv("METE_SOFT_REPORT");
	_cleanup_close_ int fd = -1;
	const int saved = errno;

	log_text(r->text, r->bytes);
	if (path && path[0])
		fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && write(fd, r->text, r->bytes) != (ssize_t)r->bytes)
		log_line("METE_SOFT_REPORT=%s: %s; free space", path, strerror(errno));
	else if (path && path[0] && fd < 0)
		log_line("METE_SOFT_REPORT=%s: %s; name a file that can be written", path, strerror(errno));
	errno = saved;
}
