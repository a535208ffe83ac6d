/* log.c: see log.h. The file is opened for every line: lines are rare, and a descriptor kept open in a guest is not. */
#include "core/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char path[4096];

void log_init(void)
{
	const char *chosen = secure_getenv("METE_LOG");

	if (chosen && strlen(chosen) < sizeof path)
		strcpy(path, chosen);
}

void log_line(const char *fmt, ...)
{
	static const char prefix[] = "mete: ";
	int saved = errno, fd = 2, n;
	char line[512];
	va_list ap;

	if (!*path)
		log_init();
	if (!*path)
		return;
	memcpy(line, prefix, sizeof prefix - 1);
	va_start(ap, fmt);
	n = vsnprintf(line + sizeof prefix - 1, sizeof line - sizeof prefix, fmt, ap);
	va_end(ap);
	if (n < 0)
		goto out;
	n += sizeof prefix - 1;
	if (n > (int)sizeof line - 2)
		n = sizeof line - 2;
	line[n++] = '\n';
	if (strcmp(path, "stderr") != 0)
		fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY,
				  0600);
	if (fd < 0)
		goto out;
	syscall(SYS_write, fd, line, (size_t)n);
	if (fd != 2)
		syscall(SYS_close, fd);
out:
	errno = saved;
}
