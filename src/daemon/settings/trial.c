/* trial.c: see trial.h. One row for each setting that something of this machine has to fit. */
#include "daemon/settings/trial.h"

#include "base/clean_text.h"
#include "base/cleanup.h"
#include "daemon/http/http.h"
#include "daemon/http/validity.h"
#include "daemon/runtime.h"
#include "daemon/settings/settings.h"
#include "daemon/store/site.h"
#include "daemon/store/store.h"
#include "daemon/tenants/disk.h"
#include "daemon/workers/cgroup.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define ASK_SECONDS 2
#define ANSWER_BYTES 4096
#define WHY_BYTES 1024

struct trial {
	const struct options *o;
	const struct trial_known *known;
	config_fault_fn fault;
	void *user;
	unsigned int faults;
	char runtime_dir[PATH_MAX], state_dir[PATH_MAX];
};

/* The place where a setting was said, and its value. */
static void say_place(const struct trial *t, const char *key, char *text, size_t size)
{
	const struct setting *s = setting_find(key);
	unsigned int i = (unsigned int)(s - settings);
	const char *value = t->o->text[i];

	if (!value)
		snprintf(text, size, "%s (default)", key);
	else if (t->o->on_command_line >> i & 1)
		snprintf(text, size, "--%s %.300s", s->option, value);
	else
		snprintf(text, size, "%.300s:%u: %s %.300s", options_config(t->o), t->o->line[i], key, value);
}

__attribute__((format(printf, 3, 4))) static void complain(struct trial *t, const char *key, const char *fmt, ...)
{
	char text[WHY_BYTES + 800];
	va_list ap;
	size_t n;

	say_place(t, key, text, sizeof(text));
	n = strlen(text);
	n += (size_t)snprintf(text + n, sizeof(text) - n, ": ");
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - n, fmt, ap);
	va_end(ap);
	clean_text_line(text);
	t->faults++;
	t->fault(t->user, text);
}

/* Another user than the one who would serve looks: what only that one may see is no fault. */
static bool is_hidden(const struct trial *t, int error)
{
	return error == EACCES && t->o->system && geteuid();
}

/* Folders. */

/* A path that lies, or would lie, in a file system of the kernel's own: nobody makes files there, whatever its mode. */
static bool is_kernels(const char *path)
{
	static const long kinds[] = { PROC_SUPER_MAGIC, SYSFS_MAGIC,   CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
				      DEBUGFS_MAGIC,	TRACEFS_MAGIC, SECURITYFS_MAGIC };
	char folder[PATH_MAX], *slash;
	struct statfs fs;

	snprintf(folder, sizeof(folder), "%s", path);
	while (statfs(folder, &fs)) {
		slash = strrchr(folder, '/');
		if (!slash || slash == folder)
			return false;
		*slash = 0;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (fs.f_type == kinds[i])
			return true;
	return false;
}

static void try_runtime_dir(struct trial *t)
{
	char why[WHY_BYTES];

	if (runtime_try(t->runtime_dir, t->o->system, why, sizeof(why)))
		complain(t, "runtime_dir", "%s", why);
	else if (is_kernels(t->runtime_dir))
		complain(t, "runtime_dir", "nothing can be made in a file system of the kernel's: name another folder");
}

/* The runtime directory is made when it is not there; this one holds what a backup saves, and is not. */
static void try_state_dir(struct trial *t)
{
	char why[WHY_BYTES];
	struct stat st;

	if (!t->o->state_dir)
		return;
	if (stat(t->state_dir, &st)) {
		if (!is_hidden(t, errno))
			complain(t, "state_dir", "%s: make it (mkdir -m 700 %s), or correct the path", strerror(errno),
				 t->state_dir);
	} else if (!S_ISDIR(st.st_mode)) {
		complain(t, "state_dir", "it is not a folder: name one");
	} else if (access(t->state_dir, W_OK | X_OK) && !is_hidden(t, errno)) {
		complain(t, "state_dir", "meted cannot write there: %s: give it the right, or name another folder",
			 strerror(errno));
	} else if (site_check_folder(t->state_dir, why, sizeof(why))) {
		complain(t, "state_dir", "%s", why);
	}
}

/* A file that is there is not written to, and none is made. */
static void try_log(struct trial *t)
{
	_cleanup_close_ int fd = -1;
	char folder[PATH_MAX], *slash;

	if (!t->o->log || t->o->foreground)
		return;
	fd = open(t->o->log, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0 || is_hidden(t, errno))
		return;
	if (errno != ENOENT) {
		complain(t, "log", "it cannot be written: %s: name another file", strerror(errno));
		return;
	}
	snprintf(folder, sizeof(folder), "%s", t->o->log);
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = 0;
	if (access(slash ? folder : ".", W_OK | X_OK) && !is_hidden(t, errno))
		complain(t, "log", "no file can be made in its folder: %s: make the folder, or name another file",
			 strerror(errno));
	else if (is_kernels(t->o->log))
		complain(t, "log", "no file can be made in a file system of the kernel's: name another file");
}

/* HTTP. */

/* A meted serves from that directory: it holds the lock. One that does not may be started by whoever connects. */
static bool somebody_serves(const char *dir)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/meted.lock", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
}

/* What the meted of that directory says of its address; "" where none answers. */
static void ask_listens(const char *dir, char *ret, size_t size)
{
	static const char request[] = "{\"op\":\"hello\"}\n";
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval patience = { .tv_sec = ASK_SECONDS };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char answer[ANSWER_BYTES];
	json_t *hello = NULL;
	ssize_t n = 0, used = 0;
	int length;

	*ret = 0;
	if (fd < 0 || !somebody_serves(dir))
		return;
	length = snprintf(a.sun_path, sizeof(a.sun_path), "%s/control.sock", dir);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (length >= (int)sizeof(a.sun_path) || connect(fd, (struct sockaddr *)&a, sizeof(a)) ||
	    send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0)
		return;
	while (used < ANSWER_BYTES && !memchr(answer, '\n', (size_t)used) &&
	       (n = recv(fd, answer + used, ANSWER_BYTES - (size_t)used, 0)) > 0)
		used += n;
	hello = json_loadb(answer, (size_t)used, JSON_DISABLE_EOF_CHECK, NULL);
	if (json_is_string(json_object_get(hello, "http")))
		snprintf(ret, size, "%s", json_string_value(json_object_get(hello, "http")));
	json_decref(hello);
}

static bool can_read(const char *path)
{
	return !path || !access(path, R_OK) || errno != EACCES;
}

static void try_http(struct trial *t)
{
	const struct http_options *o = &t->o->http;
	enum http_fault fault;
	char own[128] = "", why[WHY_BYTES];

	if (t->o->system && geteuid() && !(can_read(o->cert) && can_read(o->key) && can_read(t->state_dir)))
		return;
	if (!t->known->listens && o->listen)
		ask_listens(t->runtime_dir, own, sizeof(own));
	fault = http_try(o, t->state_dir, t->known->listens ? t->known->listens : own, why, sizeof(why));
	if (fault)
		complain(t, http_fault_key(fault), "%s", why);
}

/* What meted does without. */

static void try_group(struct trial *t)
{
	char why[WHY_BYTES];

	if (t->o->http.group && http_check_group(t->o->http.group, why, sizeof(why)))
		complain(t, "http.group", "%s", why);
}

/* Clients refuse a certificate that is not valid; the node's shares do not depend on it. */
static void try_validity(struct trial *t)
{
	struct validity v;
	char why[WHY_BYTES];

	if (t->o->http.cert && validity_of_file(t->o->http.cert, &v) &&
	    (validity_is_over(&v, time(NULL), why, sizeof(why)) || validity_is_weak(&v, why, sizeof(why))))
		complain(t, "http.cert", "%s", why);
}

/* Who reads the key can answer in meted's name, and who writes one of the two can keep it from serving. */
static void try_rights(struct trial *t, const char *key, const char *path, mode_t refused, const char *remedy)
{
	struct stat st;

	if (!path || stat(path, &st) || ((!st.st_uid || st.st_uid == geteuid()) && !(st.st_mode & refused)))
		return;
	complain(t, key, "it belongs to uid %u with mode %04o: %s", (unsigned int)st.st_uid,
		 (unsigned int)st.st_mode & 07777, remedy);
}

/* Whether a file begins as a shared library for the machine that this program is for. */
static bool is_library(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_close_ int own_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr head, own;

	/* What cannot be read, or compared, is not judged. */
	if (fd < 0 || pread(own_fd, &own, sizeof(own), 0) != sizeof(own))
		return true;
	return pread(fd, &head, sizeof(head), 0) == sizeof(head) && !memcmp(head.e_ident, own.e_ident, EI_VERSION) &&
	       head.e_machine == own.e_machine && head.e_type == ET_DYN;
}

static void try_library(struct trial *t, const char *key, const char *path)
{
	struct stat st;

	if (!path)
		return;
	if (stat(path, &st))
		complain(t, key, "%s: correct the path, or leave the setting out and the loader looks for it",
			 strerror(errno));
	else if (!S_ISREG(st.st_mode))
		complain(t, key, "it is not a file: name the library itself");
	else if (!is_library(path))
		complain(t, key, "it is no shared library for this machine: name the library itself");
}

/* Settings that go together. */

/* What the file or the command line says; NULL: neither. */
static const char *said(const struct trial *t, const char *key)
{
	return t->o->text[setting_find(key) - settings];
}

/* A bound below what it bounds is a mistake in one of the two. */
static void try_bound(struct trial *t, const char *key, uint64_t most, const char *of, uint64_t value)
{
	if (most >= value)
		return;
	if (said(t, key))
		complain(t, key, "it is below %s (%s): raise it, or lower the other", of,
			 said(t, of) ? said(t, of) : setting_find(of)->fallback);
	else
		complain(t, of, "it is above %s (%s): lower it, or raise the other", key, setting_find(key)->fallback);
}

static void try_bounds(struct trial *t)
{
	const struct options *o = t->o;

	try_bound(t, "faults.quarantine_most", o->faults.most_ns, "faults.quarantine", o->faults.time_ns);
	try_bound(t, "memory.disk_size", o->memory.disk_bytes, "memory.disk_user", o->memory.disk_user_bytes);
}

/* Of those that this machine's own list of users has, which is read in full; a directory service's are not asked for.
 */
static void try_first_uid(struct trial *t)
{
	uint64_t first = t->o->fence.first_uid;
	struct passwd *user;
	FILE *list;

	if (!first || !said(t, "workers.first_uid"))
		return;
	list = fopen("/etc/passwd", "re");
	while (list && (user = fgetpwent(list)))
		if (user->pw_uid >= first && user->pw_uid - first < FENCE_UIDS) {
			complain(t, "workers.first_uid",
				 "of the %u ids from it on one belongs to a user, %.64s (%u): choose a range that "
				 "nobody has",
				 FENCE_UIDS, user->pw_name, (unsigned int)user->pw_uid);
			break;
		}
	if (list)
		fclose(list);
}

static void try_cgroup(struct trial *t)
{
	const char *path = t->o->fence.cgroup;
	char why[WHY_BYTES];

	if (!path || *path != '/' || (t->o->system && geteuid()) || !cgroup_try(path, why, sizeof(why)))
		return;
	complain(t, "workers.cgroup",
		 "%s: name a folder of cgroups of version 2 that meted may write, or \"" FENCE_AUTO "\"", why);
}

static void try_disk(struct trial *t)
{
	const struct disk_verdict *verdict = t->known->disk;
	const char *path = t->o->memory.disk;
	struct disk_verdict own;

	if (!path)
		return;
	if (!verdict)
		disk_try(path, &own);
	verdict = verdict ? verdict : &own;
	if (verdict->error && !is_hidden(t, -verdict->error))
		complain(t, "memory.disk", "%s", verdict->why);
}

/* What each says is right, and what they say together is not. */
static void try_sizes(struct trial *t)
{
	const struct residence_options *m = &t->o->memory;

	if (!m->disk_bytes)
		complain(t, "memory.disk_size",
			 "nothing could be written there: give it a size such as 16G, or leave memory.disk out");
	if (m->turn_most_ns < m->turn_ns)
		complain(t, "memory.turn_most",
			 "turns begin with memory.turn, %g s, which is more: raise it, or lower memory.turn",
			 (double)m->turn_ns / 1e9);
}

static bool is_meted(pid_t pid)
{
	char path[64], name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (f) {
		if (!fgets(name, sizeof(name), f))
			*name = 0;
		fclose(f);
	}
	return !strncmp(name, "meted", 5);
}

/* The store of a meted that runs is that meted's, and is looked at all the same. */
static void try_store(struct trial *t)
{
	char path[PATH_MAX + 16], why[WHY_BYTES];
	pid_t by;

	if (t->faults) /* of the folder, perhaps */
		return;
	snprintf(path, sizeof(path), "%s/mete.db", t->state_dir);
	if (access(path, F_OK) && is_hidden(t, errno))
		return;
	by = site_locked_by(path);
	if (by > 0 && !is_meted(by))
		site_say_locked(path, by, why, sizeof(why));
	else if (!store_try(path, why, sizeof(why)))
		return;
	if (access(path, R_OK) && is_hidden(t, errno))
		return;
	t->faults++;
	t->fault(t->user, why);
}

unsigned int trial_run(const struct options *o, enum trial_depth depth, const struct trial_known *known,
		       config_fault_fn fault, void *user)
{
	struct trial t = { .o = o, .known = known, .fault = fault, .user = user };
	char key[32];

	options_runtime_dir(o, t.runtime_dir, sizeof(t.runtime_dir));
	options_state_dir(o, t.state_dir, sizeof(t.state_dir));
	try_runtime_dir(&t);
	try_state_dir(&t);
	try_log(&t);
	try_http(&t);
	if (depth == TRIAL_START)
		return t.faults;
	try_group(&t);
	try_validity(&t);
	try_rights(&t, "http.cert", o->http.cert, S_IWGRP | S_IWOTH, "others could change it: chown root, chmod go-w");
	try_rights(&t, "http.key", o->http.key, S_IWGRP | S_IRWXO, "others could use it: chown root, chmod g-w,o=");
	try_bounds(&t);
	try_first_uid(&t);
	try_cgroup(&t);
	try_disk(&t);
	try_sizes(&t);
	try_library(&t, "driver.libcuda", o->machine.library[DEVICE_NVIDIA]);
	try_library(&t, "driver.libnvml", o->machine.libnvml);
	for (unsigned int kind = DEVICE_NVIDIA + 1; kind < DEVICE_KINDS; kind++) {
		snprintf(key, sizeof(key), "driver.lib%s", device_kind_name(kind));
		try_library(&t, key, o->machine.library[kind]);
	}
	if (depth == TRIAL_CHECK)
		try_store(&t);
	return t.faults;
}
