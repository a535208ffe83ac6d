/* plain_file.c: see plain_file.h. */
#include "connect/cdi/plain_file.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(int r, const char *text, char *why, size_t size)
{
	snprintf(why, size, "%s", text);
	return r;
}

static int fail_open(int error, char *why, size_t size)
{
	snprintf(why, size, "%s%s", strerror(error),
		 error == ENOENT || error == ENOTDIR ? "; correct the path"
		 : error == EACCES ? "; let this user read it, or name another file" : "");
	return -error;
}

static int read_all(int fd, char *bytes, size_t most, size_t *ret_size)
{
	size_t used = 0;

	while (used < most) {
		ssize_t n = read(fd, bytes + used, most - used);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (!n)
			break;
		used += n > 0 ? (size_t)n : 0;
	}
	bytes[used] = 0;
	*ret_size = used;
	return 0;
}

int plain_file_read(const char *path, char **ret, size_t *ret_size, char *why, size_t why_size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	_cleanup_free_ char *bytes = NULL;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st))
		return fail_open(errno, why, why_size);
	if (!S_ISREG(st.st_mode))
		return fail(-EINVAL, "it is no plain file; name one", why, why_size);
	if (st.st_size > PLAIN_FILE_MOST)
		return fail(-EFBIG, "it has more than 64 MiB", why, why_size);
	bytes = malloc((size_t)st.st_size + 1);
	if (!bytes)
		return fail(-ENOMEM, strerror(ENOMEM), why, why_size);
	r = read_all(fd, bytes, (size_t)st.st_size, ret_size);
	if (r)
		return fail(r, strerror(-r), why, why_size);
	*ret = bytes;
	bytes = NULL;
	return 0;
}
