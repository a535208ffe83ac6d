/* log.c: lines for the operator. */
#include "daemon/log.h"

#include "base/clean_text.h"
#include "base/clock.h"
#include "daemon/owner.h"
#include "daemon/subordinate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 1024
#define PEER_LINES_PER_SECOND 20
#define LIMITED_MOST 20u
#define LIMITED_EACH_NS UINT64_C(5000000000)
#define USER_MOST 40u
#define USER_EACH_NS UINT64_C(100000000)
#define SOURCES 256u /* that are counted: of more the one that has caused no line for longest is forgotten */

static int log_fd = -1;
static char log_path[4096];
/* The lines of the present second, by what they are about. */
static struct {
	uint64_t second;
	unsigned int lines, dropped;
} peers[LOG_SUBJECTS];

int log_open(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	log_close();
	log_fd = fd;
	if (path != log_path)
		snprintf(log_path, sizeof(log_path), "%s", path);
	return 0;
}

void log_reopen(void)
{
	int r = log_is_file() ? log_open(log_path) : 0;

	if (r)
		log_line("cannot open %s anew: %s", log_path, strerror(-r));
}

void log_close(void)
{
	if (log_fd >= 0)
		close(log_fd);
	log_fd = -1;
}

bool log_is_file(void)
{
	return log_fd >= 0;
}

/* Standard error is the journal, as whoever has connected it says: sd_journal_stream_fd(3). */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return log_fd < 0 && stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       !fstat(STDERR_FILENO, &st) && st.st_dev == device && st.st_ino == inode;
}

/* The journal knows whose line it is, and when it was written. Value: its length. */
static size_t begin_line(char *line, size_t size)
{
	time_t now = time(NULL);
	struct tm tm;

	if (is_journal())
		return 0;
	localtime_r(&now, &tm);
	return strftime(line, size, "meted: %F %T ", &tm);
}

static void write_line(const char *fmt, va_list ap)
{
	char line[LINE_BYTES];
	size_t n = begin_line(line, sizeof(line));
	ssize_t written;

	vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	clean_text_line(line);
	n = strlen(line);
	line[n] = '\n';
	written = write(log_fd >= 0 ? log_fd : STDERR_FILENO, line, n + 1);
	(void)written; /* a full disk under the log is no reason to stop */
}

void log_line(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	write_line(fmt, ap);
	va_end(ap);
}

void log_peer(enum log_subject subject, const char *fmt, ...)
{
	static const char *const about[LOG_SUBJECTS] = {
		[LOG_HTTP] = "http", [LOG_FAULTS] = "faults", [LOG_PAGES] = "pages", [LOG_CGROUPS] = "cgroups"
	};
	uint64_t second = clock_now_ns() / 1000000000u;
	va_list ap;

	if (second != peers[subject].second) {
		unsigned int dropped = peers[subject].dropped;

		peers[subject].second = second;
		peers[subject].lines = peers[subject].dropped = 0;
		if (dropped)
			log_line("%u more lines about %s were left out", dropped, about[subject]);
	}
	if (peers[subject].lines++ >= PEER_LINES_PER_SECOND) {
		peers[subject].dropped++;
		return;
	}
	va_start(ap, fmt);
	write_line(fmt, ap);
	va_end(ap);
}

static bool limit_admits(struct log_limit *limit, unsigned int most, uint64_t each_ns)
{
	uint64_t now = clock_now_ns(), more = (now - limit->since_ns) / each_ns;

	if (!limit->since_ns || more >= most) {
		limit->left = most;
		limit->since_ns = now;
	} else {
		limit->left += (unsigned int)more;
		limit->left = limit->left < most ? limit->left : most;
		limit->since_ns += more * each_ns;
	}
	if (limit->left)
		return limit->left--;
	limit->dropped++;
	return false;
}

void log_limited(struct log_limit *limit, const char *fmt, ...)
{
	va_list ap;

	if (!limit_admits(limit, LIMITED_MOST, LIMITED_EACH_NS))
		return;
	if (limit->dropped)
		log_line("%u lines like the next one were left out", limit->dropped);
	limit->dropped = 0;
	va_start(ap, fmt);
	write_line(fmt, ap);
	va_end(ap);
}

/* Whose lines they are: a user's, or those of one grant of an owner's (`grant` 0: a user). */
struct source {
	uid_t user;
	uint64_t grant;
};

static bool same_source(const struct source *a, const struct source *b)
{
	return a->user == b->user && a->grant == b->grant;
}

/* What a source may still cause. */
static struct log_limit *limit_of(const struct source *source)
{
	static struct {
		struct source source;
		uint64_t at_ns; /* of the last line; 0: a free place */
		struct log_limit limit;
	} known[SOURCES];
	unsigned int at = 0;

	for (unsigned int i = 0; i < SOURCES; i++) {
		if (known[i].at_ns && same_source(&known[i].source, source)) {
			at = i;
			break;
		}
		if (known[i].at_ns < known[at].at_ns)
			at = i;
	}
	if (!known[at].at_ns || !same_source(&known[at].source, source)) {
		known[at].source = *source;
		known[at].limit = (struct log_limit){ 0 };
	}
	known[at].at_ns = clock_now_ns();
	return &known[at].limit;
}

/* `source` NULL: no limit. */
__attribute__((format(printf, 2, 0))) static void write_limited(const struct source *source, const char *fmt,
								va_list ap)
{
	struct log_limit *limit = source ? limit_of(source) : NULL;

	if (limit && !limit_admits(limit, USER_MOST, USER_EACH_NS))
		return;
	if (limit && limit->dropped && source->grant)
		log_line("%u more lines about programs of grant number %llu were left out", limit->dropped,
			 (unsigned long long)source->grant);
	else if (limit && limit->dropped)
		log_line("%u more lines about uid %u were left out", limit->dropped, (unsigned int)source->user);
	if (limit)
		limit->dropped = 0;
	write_line(fmt, ap);
}

void log_of(uid_t uid, const char *fmt, ...)
{
	const struct source source = { .user = subordinate_user(uid) };
	va_list ap;

	va_start(ap, fmt);
	write_limited(owner_is(uid) ? NULL : &source, fmt, ap);
	va_end(ap);
}

void log_of_programs(uid_t uid, uint64_t grant, const char *fmt, ...)
{
	const bool owners = owner_is(uid);
	const struct source source = { .user = owners ? 0 : subordinate_user(uid), .grant = owners ? grant : 0 };
	va_list ap;

	va_start(ap, fmt);
	write_limited(&source, fmt, ap);
	va_end(ap);
}
