/* tenant_log.c: see tenant_log.h. */
#include "cli/tenant_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int tenant_log_open(struct tenant_log *l, struct fault *f)
{
	*l = (struct tenant_log){ .fd = -1 };
	l->fd = memfd_create("mete-log", MFD_CLOEXEC);
	if (l->fd < 0)
		return fault_set(f, -errno, "cannot make a log for the program: %s; raise the limit of open files "
					    "(ulimit -n)",
				 strerror(errno));
	snprintf(l->path, sizeof(l->path), "/proc/%d/fd/%d", (int)getpid(), l->fd);
	return 0;
}

void tenant_log_close(struct tenant_log *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

/* FNV-1a */
static uint64_t line_hash(const char *line)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (; *line; line++)
		hash = (hash ^ (unsigned char)*line) * UINT64_C(1099511628211);
	return hash;
}

static bool line_known(struct tenant_log *l, const char *line)
{
	uint64_t hash = line_hash(line);
	unsigned int n = l->known_count < TENANT_LOG_KNOWN ? l->known_count : TENANT_LOG_KNOWN;

	for (unsigned int i = 0; i < n; i++)
		if (l->known[i] == hash)
			return true;
	l->known[l->known_count++ % TENANT_LOG_KNOWN] = hash;
	return false;
}

static void show_line(struct tenant_log *l, char *line)
{
	text_clean(line);
	if (!strncmp(line, "mete: ", 6))
		line += 6;
	if (!*line)
		return;
	if (line_known(l, line))
		l->repeated++;
	else
		say_warning("%s", line);
}

void tenant_log_show(struct tenant_log *l, bool all)
{
	char text[4096], *line, *end;
	ssize_t n;

	while (l->fd >= 0 && (n = pread(l->fd, text, sizeof(text) - 1, l->read_bytes)) > 0) {
		/* A NUL would hide what follows it. */
		for (ssize_t i = 0; i < n; i++)
			if (!text[i])
				text[i] = '?';
		text[n] = 0;
		for (line = text; (end = strchr(line, '\n')); line = end + 1) {
			*end = 0;
			show_line(l, line);
		}
		if (line == text && !all && n < (ssize_t)sizeof(text) - 1)
			break; /* the rest of the line has yet to come */
		if (line == text || all) {
			show_line(l, line);
			line = text + n;
		}
		l->read_bytes += line - text;
	}
}
