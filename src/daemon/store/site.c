/* site.c: see site.h. */
#include "daemon/store/site.h"

#include "base/clean_text.h"
#include "base/cleanup.h"
#include "daemon/store/steps.h"
#include "model/grant.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define NAME_BYTES (GRANT_PATH_BYTES + 16)
#define STORE_BYTES (UINT64_C(128) << 10) /* a new store and its journal */

/* `why` may repeat what stands in the file. */
void site_say_damaged(const char *path, const char *why, char *error, size_t size)
{
	char clean[512];

	snprintf(clean, sizeof(clean), "%s", why);
	clean_text_ascii(clean);
	snprintf(error, size,
		 "%s is no store of meted or is damaged (%s): restore the backup, or put it aside and begin without "
		 "the grants in it: mv %s %s.bad",
		 path, clean, path, path);
}

static int check_owner(const char *path, const struct stat *st, const char *mode, char *error, size_t size)
{
	unsigned int own = (unsigned int)geteuid();

	if ((st->st_uid == own || !st->st_uid) && !(st->st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	snprintf(error, size,
		 "%s belongs to uid %u with mode %04o: who may write there gives shares, so it must be ours and "
		 "writable by nobody else: look at what is in it, then chown %u %s; chmod %s %s",
		 path, (unsigned int)st->st_uid, (unsigned int)(st->st_mode & 07777), own, path, mode, path);
	return -EBADMSG;
}

int site_check_folder(const char *folder, char *error, size_t size)
{
	struct stat st;

	return stat(folder, &st) ? 0 : check_owner(folder, &st, "700", error, size);
}

static int check_folder(const char *path, char *error, size_t size)
{
	char folder[NAME_BYTES];
	char *end;

	snprintf(folder, sizeof(folder), "%s", path);
	end = strrchr(folder, '/');
	if (!end || end == folder)
		return 0;
	*end = 0;
	return site_check_folder(folder, error, size);
}

/* The file lies elsewhere, where it cannot be found now: a new one would begin without its grants. */
static int refuse_dangling(const char *path, char *error, size_t size)
{
	struct stat st;

	if (lstat(path, &st) || !S_ISLNK(st.st_mode))
		return 0;
	snprintf(
		error, size,
		"%s is a link to a file that is not there: bring the file back (is its file system mounted?), or begin "
		"without the grants in it: mv %s %s.bad",
		path, path, path);
	return -EBADMSG;
}

/* What SQLite would open beside the store has to be a file as well. */
static int check_beside(const char *path, char *error, size_t size)
{
	static const char *const ends[] = { "-journal", "-wal" };
	char name[NAME_BYTES];
	struct stat st;

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		snprintf(name, sizeof(name), "%s%s", path, ends[i]);
		if (lstat(name, &st) || S_ISREG(st.st_mode))
			continue;
		snprintf(error, size, "cannot open the store %s: %s is not a file: move it away", path, name);
		return -EBADMSG;
	}
	return 0;
}

/* SQLite reads a file of a later format than its own, but writes none (file format, "File format version numbers"). */
static int check_format(const char *path, char *error, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned char head[19];

	if (fd < 0 || pread(fd, head, sizeof(head), 0) != sizeof(head) || head[18] <= 2)
		return 0;
	site_say_damaged(path, "its format cannot be written", error, size);
	return -EBADMSG;
}

int site_check(const char *path, bool *ret_missing, char *error, size_t size)
{
	struct stat st;
	int r = check_folder(path, error, size);

	*ret_missing = false;
	if (r)
		return r;
	if (stat(path, &st)) {
		*ret_missing = errno == ENOENT;
		return *ret_missing ? refuse_dangling(path, error, size) : 0;
	}
	if (!S_ISREG(st.st_mode)) {
		snprintf(error, size, "cannot open the store: %s: %s: move it away", path,
			 S_ISDIR(st.st_mode) ? strerror(EISDIR) : "it is not a file");
		return -EBADMSG;
	}
	r = check_owner(path, &st, "600", error, size);
	if (!r && !st.st_size) {
		site_say_damaged(path, "it is empty", error, size);
		r = -EBADMSG;
	}
	if (!r)
		r = check_beside(path, error, size);
	return r ? r : check_format(path, error, size);
}

/* SQLite's lock bytes: file format, "The lock-byte page"; 512 of them, the first of which is at 2^30. */
pid_t site_locked_by(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1 << 30, .l_len = 512 };

	return fd >= 0 && !fcntl(fd, F_GETLK, &lock) && lock.l_type != F_UNLCK ? lock.l_pid : 0;
}

void site_say_locked(const char *path, pid_t by, char *error, size_t size)
{
	snprintf(error, size,
		 "%s is in use by another program (process %d): end it (`ps -p %d` names it), then restart meted", path,
		 (int)by, (int)by);
}

int site_check_room(const char *path, char *error, size_t size)
{
	char folder[NAME_BYTES];
	struct statvfs fs;
	uint64_t left;
	char *end;

	snprintf(folder, sizeof(folder), "%s", path);
	end = strrchr(folder, '/');
	if (end)
		*end = 0;
	if (!end || statvfs(end == folder ? "/" : folder, &fs))
		return 0; /* it is not there yet */
	left = (uint64_t)(geteuid() ? fs.f_bavail : fs.f_bfree) * fs.f_frsize;
	if (left >= STORE_BYTES)
		return 0;
	snprintf(error, size, "cannot make the store: %s: %llu bytes are left there: the disk is full; free some room",
		 path, (unsigned long long)left);
	return -ENOSPC;
}

/* A journal without its store would be taken for the new one's. */
static int put_journal_aside(const char *path)
{
	char journal[NAME_BYTES], bad[NAME_BYTES + 16];
	struct stat st;

	snprintf(journal, sizeof(journal), "%s-journal", path);
	snprintf(bad, sizeof(bad), "%s.bad", journal);
	if (stat(journal, &st))
		return errno == ENOENT ? 0 : -errno;
	return (st.st_size ? rename(journal, bad) : unlink(journal)) ? -errno : 0;
}

static int write_empty(const char *name)
{
	sqlite3_int64 bytes = 0;
	unsigned char *data = NULL;
	sqlite3 *db = NULL;
	int r = -ENOMEM;

	if (sqlite3_open(":memory:", &db) == SQLITE_OK && !store_migrate(db, 0))
		data = sqlite3_serialize(db, "main", &bytes, 0);
	if (data)
		r = store_write_file(name, data, (size_t)bytes);
	sqlite3_free(data);
	sqlite3_close(db);
	return r;
}

int site_make(const char *path, char *error, size_t size)
{
	char unfinished[NAME_BYTES];
	bool full;
	int r;

	snprintf(unfinished, sizeof(unfinished), "%s.new", path);
	r = put_journal_aside(path);
	if (!r)
		r = write_empty(unfinished);
	if (!r && rename(unfinished, path))
		r = -errno;
	if (!r)
		return 0;
	unlink(unfinished);
	full = r == -ENOSPC || r == -EFBIG;
	snprintf(error, size, "cannot make the store: %s: %s: %s", path, strerror(-r),
		 full ? "the disk is full or a limit is reached; free some room" : "check the file and its folder");
	return r;
}
