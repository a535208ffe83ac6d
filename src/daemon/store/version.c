/* version.c: from one version of the store to the next, see steps.h. */
#include "daemon/store/steps.h"

#include "base/cleanup.h"
#include "daemon/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

int store_version_of(sqlite3 *db, int *ret_version)
{
	sqlite3_stmt *s = NULL;
	int r = -1;

	if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW) {
		*ret_version = sqlite3_column_int(s, 0);
		r = 0;
	}
	sqlite3_finalize(s);
	return r;
}

int store_migrate(sqlite3 *db, int version)
{
	char mark[48];

	if (run(db, "BEGIN IMMEDIATE"))
		return -1;
	for (unsigned int i = version < 0 ? 0 : (unsigned int)version; i < store_step_count; i++)
		if (run(db, store_steps[i]))
			return -1;
	snprintf(mark, sizeof(mark), "PRAGMA user_version = %u", store_step_count);
	return run(db, mark) || run(db, "COMMIT") ? -1 : 0;
}

static void copy_name(const char *path, int version, const char *end, char *ret, size_t size)
{
	snprintf(ret, size, "%s.v%d%s", path, version, end);
}

int store_refuse_later(const char *path, int version, char *error, size_t size)
{
	char copy[PATH_MAX], back[3 * PATH_MAX];

	if (version <= (int)store_step_count)
		return 0;
	copy_name(path, (int)store_step_count, "", copy, sizeof(copy));
	if (access(copy, F_OK))
		snprintf(back, sizeof(back), "put it aside and begin without the grants in it: mv %s %s.v%d", path,
			 path, version);
	else
		snprintf(back, sizeof(back), "go back to how it was before the upgrade: mv %s %s", copy, path);
	snprintf(error, size,
		 "%s was written by a later meted (version %d of the file, this one knows %u): use that one, or %s",
		 path, version, store_step_count, back);
	return -EPROTO;
}

int store_write(int fd, const void *data, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = write(fd, (const char *)data + done, bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

int store_write_file(const char *path, const void *data, size_t bytes)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = store_write(fd, data, bytes);
	return r ? r : fsync(fd) ? -errno : 0;
}

int store_keep_copy(sqlite3 *db, const char *path, int version, char *error, size_t size)
{
	char name[PATH_MAX], unfinished[PATH_MAX];
	sqlite3_int64 bytes = 0;
	unsigned char *data;
	int r;

	if (!strcmp(path, ":memory:"))
		return 0;
	copy_name(path, version, "", name, sizeof(name));
	copy_name(path, version, ".new", unfinished, sizeof(unfinished));
	data = sqlite3_serialize(db, "main", &bytes, 0);
	r = data ? store_write_file(unfinished, data, (size_t)bytes) : -ENOMEM;
	sqlite3_free(data);
	if (!r && rename(unfinished, name))
		r = -errno;
	if (!r)
		return 0;
	unlink(unfinished);
	snprintf(error, size,
		 "cannot keep a copy of %s as %s before its upgrade: %s: free some room, or check the folder", path,
		 name, strerror(-r));
	return r;
}

static int version_in(const char *path)
{
	sqlite3 *db = NULL;
	int version = -1;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK &&
	    store_version_of(db, &version))
		version = -1;
	sqlite3_close(db);
	return version;
}

void store_take_back(const char *path)
{
	char copy[PATH_MAX], journal[PATH_MAX];

	copy_name(path, (int)store_step_count, "", copy, sizeof(copy));
	if (version_in(path) <= (int)store_step_count || access(copy, F_OK))
		return;
	snprintf(journal, sizeof(journal), "%s-journal", path);
	unlink(journal); /* what it would undo is no more */
	rename(copy, path);
}
