/* log.c: see log.h. The file is opened per line: it may be moved away, and a guest keeps no descriptor open. */
#include "softdev/log.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static void (*_Atomic log_observer)(const char *text, size_t bytes);

void log_observe(void (*observer)(const char *text, size_t bytes))
{
	atomic_store(&log_observer, observer);
}

void log_text(const char *text, size_t bytes)
{
	const char *path = secure_getenv("METE_LOG");
	_cleanup_close_ int opened = -1;
	int saved = errno, fd = STDERR_FILENO;

	if (path && path[0] && strcmp(path, "stderr")) {
		opened = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (opened >= 0)
			fd = opened;
	}
	if (write(fd, text, bytes) < 0)
		errno = saved; /* nowhere to say it */
	errno = saved;
}

void log_line(const char *fmt, ...)
{
	static const char prefix[] = "mete: ";
	void (*observer)(const char *, size_t);
	char line[1024];
	va_list ap;
	int n;

	memcpy(line, prefix, sizeof(prefix));
	va_start(ap, fmt);
	n = vsnprintf(line + sizeof(prefix) - 1, sizeof(line) - sizeof(prefix), fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	n = (int)strlen(line);
	line[n++] = '\n';
	log_text(line, (size_t)n);
	observer = atomic_load(&log_observer);
	if (observer)
		observer(line, (size_t)n);
}
