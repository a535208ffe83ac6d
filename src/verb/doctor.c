/* doctor.c: see doctor.h. */
#include "verb/doctor.h"

#include "base/clean_text.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MS 5000

const char *const doctor_status_name[] = { "ok", "note", "warning", "failed" };

void doctor_add(struct doctor *d, const char *name, enum status status, const char *remedy, const char *fmt, ...)
{
	char detail[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	d->failed |= status == STATUS_FAILED;
	json_array_append_new(d->checks,
			      json_pack("{s:s, s:s, s:s, s:s?}", "name", name, "status", doctor_status_name[status],
					"detail", clean_text_line(detail), "remedy", remedy));
}

int doctor_ask_program(const char *const argv[], char *said, size_t size)
{
	_cleanup_close_ int out = -1;
	size_t used = 0;
	int ends[2], status;
	pid_t pid;

	*said = 0;
	if (pipe2(ends, O_CLOEXEC))
		return -1;
	out = ends[0];
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

		dup2(null, 0);
		dup2(ends[1], 1);
		dup2(ends[1], 2);
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(ends[1]);
	while (pid > 0) {
		struct pollfd p = { .fd = out, .events = POLLIN };
		char rest[256];
		bool full = used + 1 >= size;
		ssize_t n;

		if (poll(&p, 1, ANSWER_MS) <= 0) {
			kill(pid, SIGKILL);
			break;
		}
		n = full ? read(out, rest, sizeof(rest)) : read(out, said + used, size - 1 - used);
		if (n <= 0)
			break;
		used += full ? 0 : (size_t)n;
		said[used] = 0;
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}
