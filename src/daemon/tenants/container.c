/* container.c: see container.h. */
#include "daemon/tenants/container.h"

#include "base/cleanup.h"
#include "base/setting.h"
#include "base/soft_dir.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/tenants/tenant.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTAINER_SETTINGS_BYTES 8192u /* what setting.c reads */

static const char *folder_of(const struct grant *g, char place[CONTAINER_PLACE_BYTES])
{
	container_place(g, "", place);
	place[strlen(place) - 1] = 0;
	return place;
}

const char *container_place(const struct grant *g, const char *file, char place[CONTAINER_PLACE_BYTES])
{
	snprintf(place, CONTAINER_PLACE_BYTES, "containers/%u/%s/%s", (unsigned int)g->uid, g->name, file);
	return place;
}

/* Makes a folder below the runtime directory, with exactly this mode and owner. */
static int make_folder(int dir_fd, const char *path, mode_t mode, uid_t uid, gid_t gid)
{
	struct stat st;

	if (mkdirat(dir_fd, path, 0700) && errno != EEXIST)
		return -errno;
	if (fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if ((st.st_mode & 07777) != mode && fchmodat(dir_fd, path, mode, 0))
		return -errno;
	if (uid != geteuid() && st.st_uid != uid && fchownat(dir_fd, path, uid, gid, AT_SYMLINK_NOFOLLOW))
		return -errno;
	return 0;
}

static int fail(const struct tenant *tenant, const char *place, int r, char *error, size_t size)
{
	snprintf(error, size, "cannot make %s/%s: %s: check the runtime directory", tenant->daemon->runtime.dir, place,
		 strerror(-r));
	return r;
}

int container_write(struct tenant *tenant, const char *file, const char *text, char *error, size_t size)
{
	char place[CONTAINER_PLACE_BYTES], aside[CONTAINER_PLACE_BYTES];
	int dir_fd = tenant->daemon->runtime.dir_fd;
	_cleanup_close_ int fd = -1;
	size_t length = strlen(text);

	container_place(&tenant->grant, file, place);
	container_place(&tenant->grant, ".new", aside);
	fd = openat(dir_fd, aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0 || fchmod(fd, 0644) || write(fd, text, length) != (ssize_t)length ||
	    renameat(dir_fd, aside, dir_fd, place))
		return fail(tenant, place, errno ? -errno : -EIO, error, size);
	return 0;
}

static int write_files(struct tenant *tenant, char *error, size_t size)
{
	json_t *files = json_loads(tenant->grant.container.files, 0, NULL), *text;
	const char *name;
	int r = 0;

	json_object_foreach (files, name, text)
		if (!r)
			r = container_write(tenant, name, json_string_value(text), error, size);
	json_decref(files);
	return r;
}

/*
 * The software device's folder becomes a common one, as /tmp is: programs of an image may be of any user. Nothing in it
 * is secret: it is a device for tests.
 */
static int open_soft(void)
{
	char dir[PATH_MAX], segment[PATH_MAX + 16];

	if (!soft_dir_find(dir, sizeof(dir)))
		return -EINVAL;
	snprintf(segment, sizeof(segment), "%s/segment", dir);
	if (chmod(dir, 01777) || (chmod(segment, 0666) && errno != ENOENT))
		return -errno;
	return 0;
}

bool container_has_soft(const struct grant *g)
{
	return g->container.is && !g->wall && g->kind == DEVICE_SOFT;
}

/* What this meted was told of the software device, its programs are to be told: whoever is first makes the device. */
static int write_soft(struct tenant *tenant, char *error, size_t size)
{
	char place[CONTAINER_PLACE_BYTES], text[CONTAINER_SETTINGS_BYTES];
	const char *before;
	json_t *files;
	size_t used;
	int r;

	container_place(&tenant->grant, CONTAINER_SOFT, place);
	r = make_folder(tenant->daemon->runtime.dir_fd, place, 0755, geteuid(), 0);
	if (!r)
		r = open_soft();
	if (r)
		return fail(tenant, place, r, error, size);
	files = json_loads(tenant->grant.container.files, 0, NULL);
	before = json_string_value(json_object_get(files, "settings"));
	used = (size_t)snprintf(text, sizeof(text), "%sMETE_SOFT_DIR=%s/%s\n", before ? before : "", SETTING_DIR,
				CONTAINER_SOFT);
	json_decref(files);
	for (char **e = environ; *e && used < sizeof(text); e++)
		if (!strncmp(*e, "METE_SOFT_", 10) && strncmp(*e, "METE_SOFT_DIR=", 14) && !strchr(*e, '\n'))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\n", *e);
	return used < sizeof(text) ? container_write(tenant, "settings", text, error, size)
				   : fail(tenant, place, -E2BIG, error, size);
}

int container_open(struct tenant *tenant, char *error, size_t size)
{
	int dir_fd = tenant->daemon->runtime.dir_fd, r;
	char owner[48], place[CONTAINER_PLACE_BYTES];

	snprintf(owner, sizeof(owner), "containers/%u", (unsigned int)tenant->grant.uid);
	folder_of(&tenant->grant, place);
	r = make_folder(dir_fd, "containers", tenant->daemon->runtime.system ? 0711 : 0700, geteuid(), 0);
	if (!r)
		r = make_folder(dir_fd, owner, 0700, tenant->grant.uid, tenant->grant.gid);
	if (!r)
		r = make_folder(dir_fd, place, 0755, geteuid(), 0);
	if (r)
		return fail(tenant, place, r, error, size);
	r = write_files(tenant, error, size);
	return !r && container_has_soft(&tenant->grant) ? write_soft(tenant, error, size) : r;
}

/* A folder of meted's own; the one folder in it is where the software device's is mounted. */
static void remove_folder(int dir_fd, const char *place)
{
	int fd = openat(dir_fd, place, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		cleanup_close(&fd);
		return;
	}
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			unlinkat(fd, entry->d_name, strcmp(entry->d_name, CONTAINER_SOFT) ? 0 : AT_REMOVEDIR);
	closedir(dir);
	unlinkat(dir_fd, place, AT_REMOVEDIR);
}

void container_remove(struct daemon *daemon, const struct grant *g)
{
	char place[CONTAINER_PLACE_BYTES];

	remove_folder(daemon->runtime.dir_fd, folder_of(g, place));
	if (*g->container.spec && unlink(g->container.spec) && errno != ENOENT)
		log_line("grant %s has ended, and its CDI file %s cannot be removed: %s", g->name, g->container.spec,
			 strerror(errno));
}

bool container_orphaned(const struct tenant *tenant)
{
	const struct grant_container *c = &tenant->grant.container;

	return c->is && *c->spec && !tenant->grant.runner_pid && access(c->spec, F_OK) && errno == ENOENT;
}
