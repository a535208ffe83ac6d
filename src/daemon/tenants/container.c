/* container.c: see container.h. */
#include "daemon/tenants/container.h"

#include "base/cleanup.h"
#include "base/setting.h"
#include "base/soft_dir.h"
#include "daemon/daemon.h"
#include "daemon/owner.h"
#include "daemon/folder.h"
#include "daemon/log.h"
#include "daemon/tenants/tenant.h"

#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define YOUNG_S 5 /* who made the grant writes its CDI file after that */

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

static int fail(const struct tenant *tenant, const char *place, int r, char *error, size_t size)
{
	const char *remedy = r == -EOPNOTSUPP ? "it must be on a file system with access lists, as a tmpfs is"
			     : r == -EPERM || r == -ELOOP || r == -ENOTDIR
				     ? "what is there is not meted's own: remove it, as root, and ask again"
				     : "check the runtime directory";

	snprintf(error, size, "cannot make %s/%s: %s: %s", tenant->daemon->runtime.dir, place, strerror(-r), remedy);
	return r;
}

/*
 * The folder of all folders of the grant's owner. It is meted's own, so that nobody else can put something else into
 * the place of what meted writes there; the owner, and no other user, may pass through it. Value: a descriptor or
 * -errno.
 */
static int make_owner_folder(const struct tenant *tenant)
{
	const struct runtime *runtime = &tenant->daemon->runtime;
	uid_t uid = tenant->grant.uid;
	bool admit = runtime->system && !owner_is(uid);
	_cleanup_close_ int all = folder_make(runtime->dir_fd, "containers", runtime->system ? 0711 : 0700), fd = -1;
	char name[16];
	int r;

	if (all < 0)
		return steal_fd(&all);
	snprintf(name, sizeof(name), "%u", (unsigned int)uid);
	r = folder_take_back(all, name, uid);
	if (r)
		return r;
	fd = folder_make(all, name, admit ? 0710 : 0700);
	r = fd >= 0 && admit ? folder_admit(fd, uid) : 0;
	return r ? r : steal_fd(&fd);
}

bool container_knows(const char *file)
{
	static const char *const files[] = { "settings", "preload" };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(files[i], file))
			return true;
	return false;
}

int container_write(struct tenant *tenant, const char *file, const char *text, char *error, size_t size)
{
	_cleanup_close_ int folder = -1;
	char place[CONTAINER_PLACE_BYTES];
	int r;

	folder = folder_open(tenant->daemon->runtime.dir_fd, folder_of(&tenant->grant, place));
	container_place(&tenant->grant, file, place);
	r = folder < 0 ? folder : container_knows(file) ? folder_write(folder, file, text) : -EINVAL;
	return r ? fail(tenant, place, r, error, size) : 0;
}

static int write_files(struct tenant *tenant, char *error, size_t size)
{
	json_t *files = json_loads(tenant->grant.container.files, 0, NULL), *text;
	const char *name;
	int r = 0;

	/* The store may hold a name of an earlier version's. */
	json_object_foreach(files, name, text) if (!r && container_knows(name)) r =
		container_write(tenant, name, json_string_value(text), error, size);
	json_decref(files);
	return r;
}

/* A file or folder of this user's own gets a mode, by a descriptor: whoever else may write to the folder, it is this
 * one. */
static int open_up(int at, const char *name, mode_t type, mode_t mode)
{
	_cleanup_close_ int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char path[32];
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if ((st.st_mode & S_IFMT) != type || st.st_uid != geteuid() || (type == S_IFREG && st.st_nlink != 1))
		return -EPERM;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return chmod(path, mode) ? -errno : 0;
}

/* An empty one is as good as none to whoever comes first: segment_attach() in softdev/segment.c. */
static int make_segment(int dir)
{
	_cleanup_close_ int fd = openat(dir, "segment", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 && errno != EEXIST ? -errno : open_up(dir, "segment", S_IFREG, 0666);
}

/*
 * The folder of the containers' software devices is a common one, as /tmp is: programs of an image may be of any user.
 * Nothing in it is secret, and nobody but containers uses it: they are devices for tests.
 */
static int open_soft(char *error, size_t size)
{
	_cleanup_close_ int fd = -1;
	char dir[PATH_MAX];
	int r;

	if (!soft_dir_find_for_containers(dir, sizeof(dir)))
		return -EINVAL;
	r = mkdir(dir, 0700) && errno != EEXIST ? -errno : open_up(AT_FDCWD, dir, S_IFDIR, 01777);
	if (!r) {
		fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		r = fd < 0 ? -errno : make_segment(fd);
	}
	if (r)
		snprintf(
			error, size,
			"the software device's %s cannot be opened to containers: %s: it must be uid %u's, and so must "
			"\"segment\" in it: remove what is not",
			dir, strerror(-r), (unsigned int)geteuid());
	return r;
}

bool container_has_soft(const struct grant *g)
{
	return g->container.is && !g->wall && g->kind == DEVICE_SOFT;
}

/* What this meted was told of the software device, its programs are to be told: whoever is first makes the device. */
static int write_soft(struct tenant *tenant, char *error, size_t size)
{
	char place[CONTAINER_PLACE_BYTES], text[CONTAINER_SETTINGS_BYTES];
	_cleanup_close_ int fd = -1, inner = -1;
	const char *before;
	json_t *files;
	size_t used;
	int r;

	fd = folder_open(tenant->daemon->runtime.dir_fd, folder_of(&tenant->grant, place));
	inner = fd < 0 ? fd : folder_make(fd, CONTAINER_SOFT, 0755);
	container_place(&tenant->grant, CONTAINER_SOFT, place);
	if (inner < 0)
		return fail(tenant, place, inner, error, size);
	*error = 0;
	r = open_soft(error, size);
	if (r)
		return *error ? r : fail(tenant, place, r, error, size);
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
	_cleanup_close_ int owner = make_owner_folder(tenant), folder = -1;
	char place[CONTAINER_PLACE_BYTES];
	int r;

	folder = owner < 0 ? owner : folder_make(owner, tenant->grant.name, 0755);
	if (folder < 0)
		return fail(tenant, folder_of(&tenant->grant, place), folder, error, size);
	r = write_files(tenant, error, size);
	return !r && container_has_soft(&tenant->grant) ? write_soft(tenant, error, size) : r;
}

void container_remove(struct daemon *daemon, const struct grant *g)
{
	char place[CONTAINER_PLACE_BYTES];
	_cleanup_close_ int above = -1;
	const char *name;

	above = folder_open_above(daemon->runtime.dir_fd, folder_of(g, place), &name);
	if (above >= 0)
		folder_remove(above, name);
	if (*g->container.spec && unlink(g->container.spec) && errno != ENOENT)
		log_line("grant %s has ended, and its CDI file %s cannot be removed: %s", g->name, g->container.spec,
			 strerror(errno));
}

bool container_orphaned(const struct tenant *tenant)
{
	const struct grant_container *c = &tenant->grant.container;

	return c->is && *c->spec && !tenant->grant.runner_pid && time(NULL) - tenant->grant.created >= YOUNG_S &&
	       access(c->spec, F_OK) && errno == ENOENT;
}
