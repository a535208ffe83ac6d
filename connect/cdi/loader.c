/* loader.c: see loader.h. Files of the image are looked at as far as they are plain files, and never executed. */
#include "connect/cdi/loader.h"

#include "base/cleanup.h"
#include "connect/cdi/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRIPTS_MOST 4	       /* scripts whose interpreter is a script; the kernel follows as many */
#define LOADER_MOST (16 << 20) /* bytes of a loader; they have some hundred thousand */

/* Where in the image a program without a slash in its name lies. Value: a descriptor or -errno. */
static int open_by_path(const struct image *im, const char *name, const char *path, char found[IMAGE_PATH_BYTES])
{
	size_t length;
	int fd = -ENOENT;

	if (strchr(name, '/')) {
		snprintf(found, IMAGE_PATH_BYTES, "%s", name);
		return image_open_plain(im, name);
	}
	for (; *path && fd < 0; path += length + (path[length] == ':')) {
		length = strcspn(path, ":");
		if (snprintf(found, IMAGE_PATH_BYTES, "%.*s/%s", (int)length, path, name) < IMAGE_PATH_BYTES)
			fd = image_open_plain(im, found);
	}
	return fd;
}

/* "#!/usr/bin/env python3": what begins the script, by its path or to be looked for. */
static bool script_program(int fd, char name[IMAGE_PATH_BYTES])
{
	char line[IMAGE_PATH_BYTES], *save, *word, *more;
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);

	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = 0;
	line[strcspn(line, "\n")] = 0;
	word = strtok_r(line + 2, " \t", &save);
	if (!word)
		return false;
	more = strtok_r(NULL, " \t", &save);
	if (more && *more != '-' && strlen(word) > 4 && !strcmp(word + strlen(word) - 4, "/env"))
		word = more;
	snprintf(name, IMAGE_PATH_BYTES, "%s", word);
	return true;
}

/* The first text in it that reads /etc/....preload: glibc's, or what a distribution has made of that. */
static void find_preload(const char *bytes, size_t size, char preload[IMAGE_NAME_BYTES])
{
	static const char begin[] = "/etc/", end[] = ".preload";
	const char *at = bytes, *last = bytes + size;

	for (; (at = memmem(at, (size_t)(last - at), begin, sizeof(begin) - 1)); at++) {
		size_t left = (size_t)(last - at),
		       length = strnlen(at, left < IMAGE_NAME_BYTES ? left : IMAGE_NAME_BYTES);

		if (length < left && length < IMAGE_NAME_BYTES && length > sizeof(end) &&
		    !strcmp(at + length - (sizeof(end) - 1), end)) {
			snprintf(preload, IMAGE_NAME_BYTES, "%s", at);
			return;
		}
	}
}

/* What is in the file, or as much as is left of it. Value: NULL: it is empty, too long for a loader, or there is no
 * memory. */
static char *read_all(int fd, size_t *ret_size)
{
	size_t used = 0;
	struct stat st;
	ssize_t n = 1;
	char *bytes;

	if (fstat(fd, &st) || st.st_size <= 0 || st.st_size > LOADER_MOST)
		return NULL;
	bytes = malloc((size_t)st.st_size);
	while (bytes && n > 0 && used < (size_t)st.st_size) {
		n = pread(fd, bytes + used, (size_t)st.st_size - used, (off_t)used);
		used += n > 0 ? (size_t)n : 0;
	}
	*ret_size = used;
	return bytes;
}

/* In which folder of the image an open file lies. */
static bool find_folder(const struct image *im, int fd, char ret[IMAGE_PATH_BYTES])
{
	char path[64], real[PATH_MAX], *slash;
	size_t root = strcmp(im->root, "/") ? strlen(im->root) : 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, real, sizeof(real) - 1);
	if (n <= (ssize_t)root)
		return false;
	real[n] = 0;
	slash = strrchr(real, '/');
	if (!slash || (root && strncmp(real, im->root, root)))
		return false;
	*slash = 0;
	if (strlen(real + root) < IMAGE_PATH_BYTES)
		memcpy(ret, real + root, strlen(real + root) + 1);
	return true;
}

static void read_loader(const struct image *im, struct loader *ret)
{
	_cleanup_close_ int fd = image_open_plain(im, ret->asked);
	_cleanup_free_ char *bytes = NULL;
	size_t size;

	if (fd < 0 || !find_folder(im, fd, ret->dir))
		return;
	bytes = read_all(fd, &size);
	if (bytes)
		find_preload(bytes, size, ret->preload);
}

void loader_find(const struct image *im, const char *program, const char *path, struct loader *ret)
{
	char name[IMAGE_PATH_BYTES], found[IMAGE_PATH_BYTES];
	struct elf elf = { 0 };

	*ret = (struct loader){ 0 };
	snprintf(name, sizeof(name), "%s", program);
	for (int i = 0; i <= SCRIPTS_MOST; i++) {
		_cleanup_close_ int fd = open_by_path(im, name, path, found);

		if (fd < 0)
			return;
		if (script_program(fd, name))
			continue;
		if (elf_read(fd, &elf))
			return;
		memcpy(ret->program, found, sizeof(found));
		snprintf(ret->asked, sizeof(ret->asked), "%s", elf.interpreter);
		break;
	}
	if (*ret->asked)
		read_loader(im, ret);
}
