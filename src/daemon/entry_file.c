/* entry_file.c: see entry_file.h. */
#include "daemon/entry_file.h"

#include "base/cleanup.h"
#include "daemon/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

static void *map(const struct entry_kind *kind, int fd)
{
	void *file = mmap(NULL, kind->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return file == MAP_FAILED ? NULL : file;
}

/* The head is read before the file is mapped: one that is shorter than it should be must not be touched. */
static bool is_kind(const struct entry_kind *kind, int fd)
{
	struct entry_head head;
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size == (off_t)kind->bytes &&
	       pread(fd, &head, sizeof(head), 0) == sizeof(head) && head.magic == kind->magic &&
	       head.version == kind->version && head.entry_bytes == kind->entry_bytes;
}

/* One that is there. Value: -1: there is none that can be used. */
static int find(const struct runtime *runtime, const struct entry_kind *kind, void **ret_file)
{
	_cleanup_close_ int fd = openat(runtime->dir_fd, kind->name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	*ret_file = fd >= 0 && is_kind(kind, fd) ? map(kind, fd) : NULL;
	if (!*ret_file)
		return -1;
	if (!kind->is_sound || kind->is_sound(*ret_file))
		return steal_fd(&fd);
	munmap(*ret_file, kind->bytes);
	return -1;
}

static int create(const struct runtime *runtime, const struct entry_kind *kind)
{
	struct entry_head head = { .magic = kind->magic, .version = kind->version, .entry_bytes = kind->entry_bytes };
	_cleanup_close_ int fd = -1;

	unlinkat(runtime->dir_fd, kind->name, 0);
	fd = openat(runtime->dir_fd, kind->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)kind->bytes))
		return -errno;
	return pwrite(fd, &head, sizeof(head), 0) == sizeof(head) ? steal_fd(&fd) : -EIO;
}

int entry_file_open(const struct runtime *runtime, const struct entry_kind *kind, bool anew, int *ret_fd,
		    void **ret_file)
{
	_cleanup_close_ int fd = -1;
	void *file = NULL;

	if (!anew)
		fd = find(runtime, kind, &file);
	if (fd < 0) {
		fd = create(runtime, kind);
		if (fd < 0)
			return fd;
		file = map(kind, fd);
		if (!file)
			return -errno;
	}
	*ret_fd = steal_fd(&fd);
	*ret_file = file;
	return 0;
}

bool entry_file_reserve(int fd, size_t bytes)
{
	return !posix_fallocate(fd, 0, (off_t)bytes);
}

void entry_file_close(const struct entry_kind *kind, int *fd, void *file)
{
	if (file)
		munmap(file, kind->bytes);
	cleanup_close(fd);
}
