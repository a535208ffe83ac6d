/* audit.c: see audit.h. */
#include "daemon/http/audit.h"

#include "base/cleanup.h"
#include "daemon/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 16384u /* a longer one is none of ours */
#define TAIL_BYTES (1u << 20) /* that is read of a long file */

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

/* An unfinished last line, of a meted that was killed or a disk that was full, is ended first. */
static bool needs_newline(int fd)
{
	off_t end = lseek(fd, 0, SEEK_END);
	char last = '\n';

	return end > 0 && pread(fd, &last, 1, end - 1) == 1 && last != '\n';
}

/* All of the line or nothing of it. */
static int append(const char *path, const char *line, size_t length)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (needs_newline(fd) && write(fd, "\n", 1) != 1)
		return -errno;
	n = write(fd, line, length);
	if (n == (ssize_t)length && !fdatasync(fd))
		return 0;
	n = n < 0 ? -errno : -ENOSPC;
	if (ftruncate(fd, st.st_size))
		log_line("%s: half a line could not be taken back: %s", path, strerror(errno));
	return (int)n;
}

static int write_json(const char *state_dir, json_t *take_line)
{
	_cleanup_free_ char *text = take_line ? malloc(LINE_BYTES) : NULL;
	char path[PATH_MAX];
	size_t n = 0;

	if (text)
		n = json_dumpb(take_line, text, LINE_BYTES - 1, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(take_line);
	if (!text || !n)
		return -ENOMEM;
	if (n >= LINE_BYTES)
		return -EMSGSIZE;
	text[n] = '\n';
	snprintf(path, sizeof(path), "%s/" AUDIT_FILE, state_dir);
	return append(path, text, n + 1);
}

int audit_begin(const char *state_dir, const struct audit_entry *e, uint64_t *ret_id, char *error, size_t size)
{
	static uint64_t last;
	uint64_t now = now_us(), id = now > last ? now : last + 1;
	int r = write_json(state_dir, json_pack("{s:I s:f s:s s:s s:s s:O?}", "id", (json_int_t)id, "time",
						(double)now / 1e6, "who", e->who, "action", e->action, "target",
						e->target, "request", e->request));

	if (r == -EMSGSIZE) {
		snprintf(error, size,
			 "nothing was done: what was asked is too long for the audit log: say less than %u KiB",
			 LINE_BYTES / 1024);
		return r;
	}
	if (r) {
		snprintf(error, size,
			 "nothing was done: it cannot be written down in %.200s/" AUDIT_FILE
			 ": %s: make room, or see that meted may write there",
			 state_dir, strerror(-r));
		return r;
	}
	last = id;
	*ret_id = id;
	return 0;
}

void audit_end(const char *state_dir, uint64_t id, const char *outcome)
{
	int r = write_json(state_dir, json_pack("{s:I s:f s:s}", "id", (json_int_t)id, "time", (double)now_us() / 1e6,
						"outcome", outcome));

	if (r)
		log_line("%s/" AUDIT_FILE ": the outcome of action %llu (%s) cannot be written: %s", state_dir,
			 (unsigned long long)id, outcome, strerror(-r));
}

/* Reading. */

/* The end of the file, from the beginning of a line on. Value: its length, or -errno. */
static ssize_t read_tail(const char *path, char *text)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	off_t from = fd < 0 ? 0 : lseek(fd, 0, SEEK_END) - (off_t)TAIL_BYTES;
	ssize_t n, skip = 0;
	char *first;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	n = pread(fd, text, TAIL_BYTES, from > 0 ? from : 0);
	if (n < 0)
		return -errno;
	if (from > 0) {
		first = memchr(text, '\n', (size_t)n);
		skip = first ? first + 1 - text : n;
		memmove(text, text + skip, (size_t)(n - skip));
	}
	return n - skip;
}

static void take_line(json_t *list, json_t *by_id, const char *line, size_t length)
{
	json_t *entry = json_loadb(line, length, 0, NULL), *begun;
	json_t *outcome = json_object_get(entry, "outcome");
	char id[24];

	snprintf(id, sizeof(id), "%lld", (long long)json_integer_value(json_object_get(entry, "id")));
	if (json_is_string(outcome)) {
		begun = json_object_get(by_id, id);
		json_object_set(begun, "outcome", outcome);
	} else if (json_is_string(json_object_get(entry, "action"))) {
		json_object_set_new(entry, "outcome", json_null());
		json_array_append(list, entry);
		json_object_set(by_id, id, entry);
	}
	json_decref(entry);
}

json_t *audit_last(const char *state_dir, unsigned int limit, char *error, size_t size)
{
	_cleanup_free_ char *text = malloc(TAIL_BYTES);
	json_t *list = json_array(), *by_id = json_object(), *ret;
	char path[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/" AUDIT_FILE, state_dir);
	n = text && list && by_id ? read_tail(path, text) : -ENOMEM;
	for (char *at = text, *end; n > 0 && (end = memchr(at, '\n', (size_t)(text + n - at))); at = end + 1)
		take_line(list, by_id, at, (size_t)(end - at));
	json_decref(by_id);
	ret = n < 0 ? NULL : json_array();
	for (size_t all = json_array_size(list), i = all > limit ? all - limit : 0; ret && i < all; i++)
		json_array_append(ret, json_array_get(list, i));
	json_decref(list);
	if (!ret)
		snprintf(error, size, "cannot read %.400s: %s", path, strerror(n < 0 ? (int)-n : ENOMEM));
	return ret;
}
