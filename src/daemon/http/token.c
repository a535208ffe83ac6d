/* token.c: see token.h. */
#include "daemon/http/token.h"

#include "base/cleanup.h"
#include "base/hex.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIGITS (TOKEN_BYTES - 1)

__attribute__((format(printf, 4, 5))) static int fail(char *error, size_t size, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(error, size, fmt, ap);
	va_end(ap);
	return r;
}

static const struct {
	const char *file, *words; /* that make it */
} tokens[] = {
	[TOKEN_READS] = { "reader.token", "mete token new --read" },
	[TOKEN_ACTS] = { "console.token", "mete token new" },
};

static void place(const char *state_dir, enum token_right right, const char *suffix, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s%s", state_dir, tokens[right].file, suffix);
}

static int fill_random(char ret[TOKEN_BYTES])
{
	uint8_t bits[DIGITS / 2];

	if (getrandom(bits, sizeof(bits), 0) != (ssize_t)sizeof(bits))
		return -EIO;
	hex_write(bits, sizeof(bits), ret);
	explicit_bzero(bits, sizeof(bits));
	return 0;
}

/* Written beside its place and then put there, so that it is whole or not there. */
static int write_file(const char *state_dir, enum token_right right, const char *token)
{
	char path[PATH_MAX], beside[PATH_MAX];
	_cleanup_close_ int fd = -1;

	place(state_dir, right, "", path);
	place(state_dir, right, ".new", beside);
	unlink(beside);
	fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (dprintf(fd, "%s\n", token) != (int)DIGITS + 1 || fsync(fd) || rename(beside, path)) {
		int r = errno ? -errno : -ENOSPC;

		unlink(beside);
		return r;
	}
	return 0;
}

int token_new(const char *state_dir, enum token_right right, char ret[TOKEN_BYTES], char *error, size_t size)
{
	char token[TOKEN_BYTES];
	int r = fill_random(token);

	if (r)
		return fail(error, size, r, "no random bits for a token: %s", strerror(-r));
	errno = 0;
	r = write_file(state_dir, right, token);
	if (r)
		return fail(error, size, r, "cannot write %s/%s: %s: %s", state_dir, tokens[right].file, strerror(-r),
			    r == -ENOENT   ? "make the folder (mkdir -m 700), or start meted, which makes its own"
			    : r == -ENOSPC ? "free some room"
					   : "give meted the right to write there");
	memcpy(ret, token, TOKEN_BYTES);
	return 0;
}

static bool well_formed(const char *text, ssize_t length)
{
	return length == (ssize_t)DIGITS + 1 && text[DIGITS] == '\n' && strspn(text, "0123456789abcdef") == DIGITS;
}

int token_read(const char *state_dir, enum token_right right, char ret[TOKEN_BYTES], char *error, size_t size)
{
	char path[PATH_MAX], text[TOKEN_BYTES + 2] = "";
	_cleanup_close_ int fd = -1;
	struct stat st;
	ssize_t n;

	place(state_dir, right, "", path);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return fail(error, size, -ENOENT, "there is no such token yet: `%s` makes one", tokens[right].words);
	if (fd < 0 || fstat(fd, &st))
		return fail(error, size, -errno, "cannot read %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return fail(error, size, -EPERM,
			    "%s can be read by others, so it is no secret: `%s` makes another", path,
			    tokens[right].words);
	n = read(fd, text, sizeof(text) - 1);
	if (!well_formed(text, n))
		return fail(error, size, -EBADMSG, "%s holds no token: `%s` makes one", path, tokens[right].words);
	text[DIGITS] = 0;
	memcpy(ret, text, TOKEN_BYTES);
	return 0;
}

int token_revoke(const char *state_dir, enum token_right right, char *error, size_t size)
{
	char path[PATH_MAX];

	place(state_dir, right, "", path);
	if (unlink(path) && errno != ENOENT)
		return fail(error, size, -errno, "cannot remove %s: %s: remove it by hand", path, strerror(errno));
	return 0;
}

static bool is_right(const char *state_dir, enum token_right right, const char *given, size_t length)
{
	char token[TOKEN_BYTES], error[PATH_MAX + 128];
	unsigned int different = 0;

	if (token_read(state_dir, right, token, error, sizeof(error)))
		return false;
	for (size_t i = 0; i < DIGITS; i++)
		different |= (unsigned char)token[i] ^ (i < length ? (unsigned char)given[i] : 0xffu);
	explicit_bzero(token, sizeof(token));
	return !different && length == DIGITS;
}

enum token_right token_right(const char *state_dir, const char *given, size_t length)
{
	bool acts = is_right(state_dir, TOKEN_ACTS, given, length);
	bool reads = is_right(state_dir, TOKEN_READS, given, length);

	return acts ? TOKEN_ACTS : reads ? TOKEN_READS : TOKEN_NONE;
}

bool token_exists(const char *state_dir)
{
	char token[TOKEN_BYTES], error[PATH_MAX + 128];
	bool acts = !token_read(state_dir, TOKEN_ACTS, token, error, sizeof(error));
	bool reads = !token_read(state_dir, TOKEN_READS, token, error, sizeof(error));

	explicit_bzero(token, sizeof(token));
	return acts || reads;
}
