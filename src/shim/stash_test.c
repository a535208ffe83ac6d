/*
 * stash_test.c: what goes to the disk comes back; no two places of it are encrypted with the same stream; a disk that
 * changes a byte, a descriptor that the program has closed, and a limit of the program's are found out.
 */
#include "shim/stash.h"
#include "base/tap.h"
#include "core/attach.h"
#include "core/log.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 4096u
#define FAR (256ull << 30) /* blocks of the cipher are counted in 32 bits */

static int file;	  /* meted's */
static bool refuses;	  /* meted has no room */
static unsigned int asks; /* that it was asked */
static struct wire_page page;
static struct wire_welcome welcome = { .device = { [0] = { .flags = WIRE_DEVICE_STORES } } };

struct wire_page *attach_page(void)
{
	return &page;
}

const struct wire_welcome *attach_welcome(void)
{
	return &welcome;
}

int attach_ask_fd(void *request, void *ret_answer, size_t answer_size, unsigned int patience_ms, int *ret_fd)
{
	asks++;
	*ret_fd = refuses ? -1 : dup(file);
	return refuses ? WIRE_NO_ROOM : WIRE_OK;
}

void log_line(const char *fmt, ...)
{
}

static bool write_one(struct stash_part *part, uint64_t at, const char *text)
{
	_Alignas(4096) static char buffer[BYTES];

	memset(buffer, 0, sizeof(buffer));
	strcpy(buffer, text);
	stash_begin_write(part, at, buffer, sizeof(buffer));
	return stash_wait();
}

static bool read_one(struct stash_part *part, uint64_t at, const char *text)
{
	_Alignas(4096) static char buffer[BYTES];

	memset(buffer, 0, sizeof(buffer));
	stash_begin_read(part, at, buffer, sizeof(buffer));
	return stash_wait() && !strcmp(buffer, text);
}

/* What stands in the file there. */
static void look(uint64_t at, char ret[BYTES])
{
	if (pread(file, ret, BYTES, (off_t)at) != BYTES)
		memset(ret, 0, BYTES);
}

static void begin(uint64_t bytes)
{
	if (ftruncate(file, 0) < 0 || stash_begin(0, bytes) != STASH_DISK)
		tap_ok(0, "there is a file");
}

static void comes_back(void)
{
	struct stash_part first = { 0 }, second = { 0 };
	char a[BYTES], b[BYTES], c[BYTES];

	begin(4 * BYTES);
	tap_ok(write_one(&first, 0, "one") && write_one(&first, BYTES, "two") && write_one(&second, 0, "one"),
	       "two parts are written");
	look(0, a);
	look(2ull * BYTES, b);
	tap_ok(memcmp(a, "one", 4) && memcmp(a, b, BYTES), "the same text is not the same there");
	for (int turn = 0; turn < 2; turn++)
		tap_ok(read_one(&second, 0, "one") && stash_is_whole(&second) && read_one(&first, 0, "one") &&
			       read_one(&first, BYTES, "two") && stash_is_whole(&first),
		       "they come back, %d", turn);
	begin(4 * BYTES);
	write_one(&first, 0, "one");
	look(0, c);
	tap_ok(memcmp(a, c, BYTES), "the next time the key is another one");
	stash_end();
}

/* Texts of zeros are the streams themselves. */
static void far_apart(void)
{
	struct stash_part part = { 0 };
	char near[BYTES], far[BYTES];

	begin(FAR + BYTES);
	tap_ok(write_one(&part, 0, "") && write_one(&part, FAR, ""), "a part of more than 256 GiB");
	look(0, near);
	look(FAR, far);
	tap_ok(memcmp(near, far, BYTES), "has no stream twice");
	tap_ok(read_one(&part, 0, "") && read_one(&part, FAR, "") && stash_is_whole(&part), "and comes back");
	stash_end();
}

static void other_bytes(void)
{
	struct stash_part part = { 0 };
	char byte = 0;

	begin(BYTES);
	write_one(&part, 0, "one");
	if (pread(file, &byte, 1, 100) == 1) {
		byte ^= 1;
		byte = (char)pwrite(file, &byte, 1, 100);
	}
	tap_ok(read_one(&part, 0, "one") && !stash_is_whole(&part), "a byte that has changed is found out");
	tap_ok(ftruncate(file, 0) == 0 && !read_one(&part, 0, "one"), "so is one that is missing");
	stash_end();
}

/* The program closes all descriptors but ours, and opens others in their place. */
static void close_all(void)
{
	for (int fd = 3; fd < 4096; fd++)
		if (fd != file)
			close(fd);
}

static void closed(void)
{
	struct stash_part part = { 0 };
	int other;

	begin(BYTES);
	write_one(&part, 0, "one");
	close_all();
	asks = 0;
	tap_ok(read_one(&part, 0, "one") && asks == 1, "the program has closed it: meted gives it again");
	close_all();
	refuses = true;
	tap_ok(!read_one(&part, 0, "one") && stash_open(), "meted is gone: it cannot be read");
	refuses = false;
	tap_ok(read_one(&part, 0, "one") && stash_is_whole(&part), "when it is there again it can");
	close_all();
	other = file;
	file = memfd_create("other", MFD_CLOEXEC);
	tap_ok(!read_one(&part, 0, "one"), "another file is not taken for it");
	close(file);
	file = other;
	tap_ok(read_one(&part, 0, "one"), "the right one is");
	stash_end();
}

static int in_child(void)
{
	int open = tap_open_fds();

	stash_reset();
	if (stash_open() || tap_open_fds() != open - 1)
		return 1;
	return stash_begin(0, BYTES) == STASH_DISK ? 0 : 2;
}

static void forks(void)
{
	int status = -1;
	pid_t pid;

	begin(BYTES);
	pid = fork();
	if (!pid)
		_exit(in_child());
	waitpid(pid, &status, 0);
	tap_ok(WIFEXITED(status) && !WEXITSTATUS(status) && stash_open(), "a child of fork() has none (%d)", status);
	stash_end();
}

static void limited(void)
{
	struct rlimit is, less;

	getrlimit(RLIMIT_FSIZE, &is);
	less = is;
	less.rlim_cur = BYTES;
	setrlimit(RLIMIT_FSIZE, &less);
	tap_ok(stash_begin(0, 2 * BYTES) == STASH_NOWHERE && !stash_open(),
	       "files of the program's may not be as large");
	setrlimit(RLIMIT_FSIZE, &is);
	refuses = true;
	tap_ok(stash_begin(0, BYTES) == STASH_NOWHERE && !stash_open(), "there is no room");
	refuses = false;
	welcome.device[0].flags = 0;
	asks = 0;
	tap_ok(stash_begin(0, BYTES) == STASH_HOST && !asks, "without a disk nobody is asked");
}

int main(void)
{
	tap_begin();
	file = memfd_create("file", MFD_CLOEXEC);
	comes_back();
	far_apart();
	other_bytes();
	closed();
	forks();
	limited();
	close(file);
	return tap_end();
}
