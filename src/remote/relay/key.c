/*
 * key.c: pre-shared keys as files, see relay.h.
 *
 * The server's folder of keys has a file for each client that may come, the client has a copy of its own. The name goes
 * over the line in the clear (it is TLS's PSK identity), the key never does.
 */
#include "base/cleanup.h"
#include "base/hex.h"
#include "remote/relay/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_WORD "mete-key "
#define KEY_VERSION "1"
#define KEY_LINE_BYTES 256u

bool relay_name_good(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@");

	/* It becomes the name of a file. */
	return n && n < RELAY_NAME_BYTES && !name[n] && *name != '.' && *name != '-';
}

int relay_key_make(const char *name, struct relay_key *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (!relay_name_good(name))
		return -EINVAL;
	if (getrandom(ret->bytes, sizeof(ret->bytes), 0) != sizeof(ret->bytes))
		return -EIO;
	memcpy(ret->name, name, strlen(name));
	return 0;
}

static int refuse(const char *path, char ret_text[RELAY_TEXT_BYTES], const char *why)
{
	snprintf(ret_text, RELAY_TEXT_BYTES, "key %.120s: %s", path, why);
	return -EINVAL;
}

static int parse(const char *path, char *line, struct relay_key *ret, char ret_text[RELAY_TEXT_BYTES])
{
	char *save = NULL, *version, *name, *hex, *end = line + strlen(line);

	while (end > line && strchr(" \t\r\n", end[-1]))
		*--end = 0;
	if (strncmp(line, KEY_WORD, strlen(KEY_WORD)) || strchr(line, '\n'))
		return refuse(path, ret_text, "no key file of mete; make one with `mete key new NAME` on the server");
	version = strtok_r(line + strlen(KEY_WORD), " ", &save);
	name = strtok_r(NULL, " ", &save);
	hex = strtok_r(NULL, " ", &save);
	if (version && strcmp(version, KEY_VERSION))
		return refuse(path, ret_text,
			      "a key file of another version; make a new one with this version of mete");
	if (!name || !hex || strtok_r(NULL, " ", &save) || !relay_name_good(name) ||
	    !hex_read(hex, ret->bytes, sizeof(ret->bytes)))
		return refuse(path, ret_text, "this key file is damaged; copy it again from where it was made");
	memcpy(ret->name, name, strlen(name) + 1);
	return 0;
}

static int check_file(const char *path, const struct stat *st, char ret_text[RELAY_TEXT_BYTES])
{
	if (!S_ISREG(st->st_mode))
		return refuse(path, ret_text, "not a file; name one made by `mete key new NAME`");
	if (st->st_uid != geteuid() && st->st_uid)
		return refuse(path, ret_text, "it belongs to another user; copy it to a file of your own, mode 0600");
	if (!(st->st_mode & 077))
		return 0;
	refuse(path, ret_text,
	       "others may read it; make it yours alone: chmod 600, and make a new one if somebody did");
	return -EPERM;
}

int relay_key_read(const char *path, struct relay_key *ret, char ret_text[RELAY_TEXT_BYTES])
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char line[KEY_LINE_BYTES];
	struct stat st;
	ssize_t n;
	int r;

	memset(ret, 0, sizeof(*ret));
	if (fd < 0 || fstat(fd, &st) < 0) {
		r = -errno;
		snprintf(ret_text, RELAY_TEXT_BYTES,
			 "key %.120s: %s; name a key file, made by `mete key new NAME` on the server", path,
			 strerror(-r));
		return r;
	}
	r = check_file(path, &st, ret_text);
	if (r)
		return r;
	n = read(fd, line, sizeof(line));
	if (n < 0 || (size_t)n == sizeof(line) || memchr(line, 0, (size_t)n))
		n = 0;
	line[n] = 0;
	r = parse(path, line, ret, ret_text);
	if (r)
		memset(ret, 0, sizeof(*ret));
	explicit_bzero(line, sizeof(line));
	return r;
}

/* The whole file under a name that nobody reads. 0 or -errno. */
static int write_fresh(const char *fresh, const struct relay_key *key)
{
	int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	char line[KEY_LINE_BYTES];
	int n, r = 0;

	if (fd < 0)
		return -errno;
	n = snprintf(line, sizeof(line), KEY_WORD KEY_VERSION " %s ", key->name);
	hex_write(key->bytes, sizeof(key->bytes), line + n);
	n += (int)(2 * sizeof(key->bytes));
	line[n++] = '\n';
	errno = 0;
	if (write(fd, line, (size_t)n) != n || fsync(fd))
		r = errno ? -errno : -EIO;
	if (close(fd) && !r)
		r = -errno;
	explicit_bzero(line, sizeof(line));
	if (r)
		unlink(fresh);
	return r;
}

int relay_key_write(const char *path, const struct relay_key *key, char ret_text[RELAY_TEXT_BYTES])
{
	char fresh[PATH_MAX];
	int r = -ENAMETOOLONG;

	if (snprintf(fresh, sizeof(fresh), "%s.new-%d", path, (int)getpid()) < (int)sizeof(fresh)) {
		r = write_fresh(fresh, key);
		/* link() refuses where there is one already, which rename() would not. */
		if (!r) {
			r = link(fresh, path) ? -errno : 0;
			unlink(fresh);
		}
	}
	if (r == -EEXIST)
		snprintf(ret_text, RELAY_TEXT_BYTES,
			 "key %.120s: there is one already; choose another name, or remove it", path);
	else if (r)
		snprintf(ret_text, RELAY_TEXT_BYTES,
			 "key %.120s: cannot be written: %s; choose a folder that you can write", path, strerror(-r));
	return r;
}
