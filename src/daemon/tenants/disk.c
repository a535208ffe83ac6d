/*
 * disk.c: see disk.h. meted and its child speak by packets (struct word); the child answers each in its turn, but for
 * those of files that end. A child that has ended is replaced when it is needed next.
 */
#include "daemon/tenants/disk.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/send_fds.h"
#include "base/size.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/loop.h"
#include "daemon/owner.h"
#include "daemon/tenants/residence.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PATIENCE_MS 3000 /* for a folder that is looked at; a disk that sleeps takes as long to turn */
#define ENDS_AGAIN_MS 1000u
#define SETTLE_MS 1000
#define ANSWER_MS 3500u /* for a file: whoever leaves is thought to be stopped after 5 s */
#define LOOK_MS 250u

extern char **environ;

#define BLOCK_BYTES 4096u /* the shim writes in multiples of it */

/* No link on the way: what it names today it names tomorrow. */
static int open_folder(const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

static int new_file(int folder)
{
	int fd = openat(folder, ".", O_TMPFILE | O_EXCL | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

/* What a program will do there. */
static int try_file(int folder)
{
	_cleanup_close_ int fd = new_file(folder);
	void *block;
	ssize_t n;

	if (fd < 0)
		return fd;
	block = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (block == MAP_FAILED)
		return -errno;
	n = pwrite(fd, block, BLOCK_BYTES, 0);
	n = n < 0 ? -errno : n == BLOCK_BYTES ? 0 : -EIO;
	munmap(block, BLOCK_BYTES);
	return (int)n;
}

static int say(int r, char *error, size_t size, const char *what, const char *remedy)
{
	snprintf(error, size, "%s: %s", what, remedy);
	return r;
}

static int judge(int fd, uint64_t *ret_free_bytes, char *error, size_t size)
{
	struct statfs fs;
	struct stat st;
	int r;

	if (fstat(fd, &st) || fstatfs(fd, &fs))
		return say(-errno, error, size, strerror(errno), "name another folder");
	if (!owner_is(st.st_uid))
		return say(-EPERM, error, size, "it belongs to another user", "it has to be meted's own, of mode 700");
	if (st.st_mode & 077)
		return say(-EPERM, error, size, "others may enter it", "chmod 700");
	if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
		return say(-EINVAL, error, size, "it is in the host's memory itself", "name a folder on a disk");
	r = try_file(fd);
	if (r == -EOPNOTSUPP || r == -EISDIR || r == -EINVAL || r == -ENOENT)
		return say(r, error, size, "its file system has no files without a name, or no direct writes",
			   "name a folder of ext4, XFS or Btrfs");
	if (r)
		return say(r, error, size, strerror(-r), "no file can be written there; correct that, or name another");
	if (ret_free_bytes)
		*ret_free_bytes = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
	return 0;
}

static int try_folder(const char *path, uint64_t *ret_free_bytes, char *error, size_t size)
{
	int fd = open_folder(path), r;

	if (fd == -ELOOP)
		return say(fd, error, size, "a symbolic link is on the way", "name the folder itself");
	if (fd < 0)
		return say(fd, error, size, strerror(-fd), "make it (mkdir -m 700), or correct the path");
	r = judge(fd, ret_free_bytes, error, size);
	if (!r)
		return fd;
	close(fd);
	return r;
}

/* ---- what is said ---- */

enum op {
	OP_OPEN = 1, /* the folder's path, in `text`; answered with its room, or with why not */
	OP_FILE,     /* so many bytes; answered with the descriptor, or with why not */
	OP_END,	     /* with a descriptor; not answered */
};

struct word {
	uint32_t op;
	int32_t status; /* of an answer: 0 or -errno */
	uint64_t serial, bytes;
	char text[PATH_MAX];
};

/* Value: above 0 a word; 0 the end; -errno. ret_fd: what came along, or -1. */
static int receive(int socket, struct word *ret, int *ret_fd, int flags)
{
	ssize_t n = receive_fd(socket, ret, sizeof(*ret), ret_fd, flags);

	if (n <= 0)
		return n ? -errno : 0;
	ret->text[sizeof(ret->text) - 1] = 0;
	return (size_t)n == sizeof(*ret) ? 1 : -EPROTO;
}

static int say_word(int socket, const struct word *word, int fd)
{
	return send_fd(socket, word, sizeof(*word), fd, MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* ---- the child ---- */

static void open_for(int *folder, struct word *word)
{
	cleanup_close(folder);
	*folder = try_folder(word->text, &word->bytes, word->text, sizeof(word->text));
	word->status = *folder < 0 ? *folder : 0;
}

/* A file system that cannot reserve finds out later, and the program's memory stays then. */
static int make_file(int folder, struct word *word)
{
	_cleanup_close_ int fd = folder < 0 ? -ENOENT : new_file(folder);

	word->status = fd < 0 ? fd : 0;
	if (fd >= 0 && fallocate(fd, 0, 0, (off_t)word->bytes) && errno != EOPNOTSUPP)
		word->status = -errno;
	snprintf(word->text, sizeof(word->text), "%s", strerror(-word->status));
	return word->status ? -1 : steal_fd(&fd);
}

static int obey(int socket)
{
	int folder = -1, fd, r;
	struct word word;

	while ((r = receive(socket, &word, &fd, 0)) > 0 || r == -EINTR) {
		_cleanup_close_ int file = r > 0 ? fd : -1;

		if (r < 0)
			continue;
		/* Whoever has it open beside us; else it keeps its room until the last descriptor of it is closed. */
		if (word.op == OP_END && file >= 0 && ftruncate(file, 0))
			continue;
		if (word.op == OP_OPEN)
			open_for(&folder, &word);
		else if (word.op == OP_FILE)
			file = make_file(folder, &word);
		else
			continue;
		if (send_fd(socket, &word, sizeof(word), word.op == OP_FILE ? file : -1, 0) < 0)
			break;
	}
	return 0;
}

/* It is nobody's child: a disk that does not answer keeps it, and nobody has to wait for it. */
int disk_main(const char *number)
{
	int socket = atoi(number), none;
	sigset_t all;
	pid_t child;

	if (socket < 3 || fcntl(socket, F_SETFD, FD_CLOEXEC) || chdir("/"))
		return 1;
	child = fork();
	if (child)
		return child < 0;
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	none = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; none >= 0 && i < 3; i++)
		dup2(none, i);
	cleanup_close(&none);
	setsid();
	umask(077);
	prctl(PR_SET_NAME, "meted-disk");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	return obey(socket);
}

/* ---- meted ---- */

struct disk_ask {
	struct disk_ask *next;
	uint64_t serial, bytes;
	uint64_t asked_ns;
	uint64_t grant; /* whose it is */
	bool sent;
	disk_fn fn; /* NULL: forgotten */
	void *owner;
};

enum state { STATE_OPENS, STATE_SERVES, STATE_UNFIT };

struct disk {
	struct daemon *daemon;
	enum state state;
	char folder[PATH_MAX];
	int socket; /* -1: there is no child */
	struct watch *watch;
	uint64_t serial;
	uint64_t last_grant;   /* whose question the child was sent last */
	struct disk_ask *asks; /* oldest first */
	int *ends;	       /* files that are to end, which the child had no time to take */
	unsigned int end_count, end_room;
	struct timer *timer;
	struct timer *late; /* runs while something is asked */
};

/* Its end of the socket, or -errno. */
static int spawn(void)
{
	char number[16];
	char *args[] = { (char *)"meted", (char *)"--disk", number, NULL };
	int pair[2], r, status = 0;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	_cleanup_close_ int ours = pair[0], theirs = pair[1], inherited = fcntl(theirs, F_DUPFD, 3);

	if (inherited < 0)
		return -errno;
	snprintf(number, sizeof(number), "%d", inherited);
	r = posix_spawn(&child, "/proc/self/exe", NULL, NULL, args, environ);
	if (r)
		return -r;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? steal_fd(&ours) : -ECHILD;
}

/* A child that has been asked for this folder. */
static int begin(const char *path)
{
	struct word word = { .op = OP_OPEN };
	_cleanup_close_ int socket = -1;

	if (strlen(path) >= sizeof(word.text))
		return -ENAMETOOLONG;
	memcpy(word.text, path, strlen(path));
	socket = spawn();
	return socket < 0 || say_word(socket, &word, -1) ? -ECHILD : steal_fd(&socket);
}

static bool answers(int socket, int ms)
{
	struct pollfd p = { .fd = socket, .events = POLLIN };
	const uint64_t until = clock_now_ns() + (uint64_t)ms * 1000000u;
	uint64_t now;

	while ((now = clock_now_ns()) < until) {
		int n = poll(&p, 1, (int)((until - now) / 1000000u) + 1);

		if (n > 0 || (n < 0 && errno != EINTR))
			return n > 0;
	}
	return false;
}

/* What the child has said of the folder that it was asked for; nothing yet is an error as well. */
static void read_verdict(int socket, struct disk_verdict *ret)
{
	_cleanup_close_ int fd = -1;
	struct word word;

	if (receive(socket, &word, &fd, MSG_DONTWAIT) <= 0 || word.op != OP_OPEN) {
		ret->error = say(-ECHILD, ret->why, sizeof(ret->why), "it cannot be looked at", "try again");
		return;
	}
	ret->error = word.status;
	snprintf(ret->why, sizeof(ret->why), "%.1000s", word.status ? word.text : "");
}

static void say_silent(struct disk_verdict *ret)
{
	ret->error = say(-ETIMEDOUT, ret->why, sizeof(ret->why), "its disk does not answer",
			 "name a folder of one that does");
}

static void say_no_child(int r, struct disk_verdict *ret)
{
	ret->error = say(r, ret->why, sizeof(ret->why), "it cannot be looked at", strerror(-r));
}

void disk_try(const char *path, struct disk_verdict *ret)
{
	_cleanup_close_ int socket = begin(path);

	if (socket < 0)
		say_no_child(socket, ret);
	else if (!answers(socket, PATIENCE_MS))
		say_silent(ret);
	else
		read_verdict(socket, ret);
}

struct disk_look {
	int socket; /* -errno: there is no child, which is said with the next turn of the loop */
	struct watch *watch;
	struct timer *timer;
	disk_looked_fn fn;
	void *owner;
};

static void look_ends(struct disk_look *look, const struct disk_verdict *verdict)
{
	const disk_looked_fn fn = look->fn;
	void *owner = look->owner;

	disk_look_free(look);
	fn(owner, verdict);
}

static void look_answered(void *owner)
{
	struct disk_look *look = owner;
	struct disk_verdict verdict;

	read_verdict(look->socket, &verdict);
	look_ends(look, &verdict);
}

static void look_silent(void *owner)
{
	struct disk_look *look = owner;
	struct disk_verdict verdict;

	if (look->socket < 0)
		say_no_child(look->socket, &verdict);
	else
		say_silent(&verdict);
	look_ends(look, &verdict);
}

struct disk_look *disk_look(uv_loop_t *loop, const char *path, disk_looked_fn fn, void *owner)
{
	struct disk_look *look = calloc(1, sizeof(*look));

	if (!look)
		return NULL;
	*look = (struct disk_look){ .socket = begin(path), .fn = fn, .owner = owner };
	look->timer = timer_new(loop, look_silent, look);
	if (look->socket >= 0)
		look->watch = watch_new(loop, look->socket, look_answered, look);
	if (!look->timer || (look->socket >= 0 && !look->watch)) {
		disk_look_free(look);
		return NULL;
	}
	timer_start(look->timer, look->socket < 0 ? 0 : PATIENCE_MS, 0);
	return look;
}

void disk_look_free(struct disk_look *look)
{
	if (!look)
		return;
	watch_free(look->watch);
	timer_free(look->timer);
	cleanup_close(&look->socket);
	free(look);
}

static void answer(struct disk *disk, struct disk_ask *ask, int fd, const char *why)
{
	struct disk_ask **at = &disk->asks;

	while (*at != ask)
		at = &(*at)->next;
	*at = ask->next;
	if (ask->fn)
		ask->fn(ask->owner, fd, why);
	else if (fd >= 0)
		disk_end(disk->daemon, fd);
	free(ask);
}

static void fail_all(struct disk *disk, const char *why)
{
	char text[2 * PATH_MAX + 256];

	snprintf(text, sizeof(text), "memory.disk %s: %s", disk->folder, why);
	while (disk->asks)
		answer(disk, disk->asks, -1, text);
}

static void lose(struct disk *disk)
{
	watch_free(disk->watch);
	disk->watch = NULL;
	cleanup_close(&disk->socket);
	disk->socket = -1;
}

static void on_opened(struct disk *disk, const struct word *word)
{
	const bool first = disk->state == STATE_OPENS;
	char room[SIZE_TEXT_BYTES];

	disk->state = word->status ? STATE_UNFIT : STATE_SERVES;
	if (word->status)
		log_line("memory.disk %s: %s; no memory goes to a disk", disk->folder, word->text);
	else if (first && word->bytes < disk->daemon->memory->disk_bytes)
		log_line("memory.disk %s: its file system has room for %s, less than memory.disk_size", disk->folder,
			 size_format(word->bytes, room));
	if (word->status)
		fail_all(disk, word->text);
}

static void on_file(struct disk *disk, const struct word *word, int fd)
{
	char why[2 * PATH_MAX + 256], size[SIZE_TEXT_BYTES];
	struct disk_ask *ask = disk->asks;

	while (ask && ask->serial != word->serial)
		ask = ask->next;
	if (!ask) {
		if (fd >= 0)
			disk_end(disk->daemon, fd);
		return;
	}
	snprintf(why, sizeof(why), "the disk takes no %s more: memory.disk %s: %s", size_format(ask->bytes, size),
		 disk->folder, word->text);
	answer(disk, ask, word->status ? -1 : fd, why);
}

static bool send_next(struct disk *disk);

static void on_word(void *owner)
{
	struct disk *disk = owner;
	struct word word;
	int fd, r;

	while ((r = receive(disk->socket, &word, &fd, MSG_DONTWAIT)) > 0)
		if (word.op == OP_FILE)
			on_file(disk, &word, fd);
		else
			on_opened(disk, &word);
	if ((r == -EAGAIN || r == -EINTR) && send_next(disk))
		return;
	lose(disk);
	fail_all(disk, "the process that serves it has ended");
}

/* There is a child, which has been asked for the folder. */
static int be_there(struct disk *disk)
{
	if (disk->socket >= 0)
		return 0;
	disk->socket = begin(disk->folder);
	disk->watch = disk->socket < 0 ? NULL : watch_new(disk->daemon->loop, disk->socket, on_word, disk);
	if (disk->watch)
		return 0;
	lose(disk);
	return -ECHILD;
}

/* The oldest question of the grant that comes after the last one; NULL: the child has one, or there is none. */
static struct disk_ask *next_ask(const struct disk *disk)
{
	struct disk_ask *best = NULL;

	for (struct disk_ask *ask = disk->asks; ask; ask = ask->next) {
		if (ask->sent)
			return NULL;
		/* By the distance on the circle of all numbers. */
		if (!best || ask->grant - disk->last_grant - 1 < best->grant - disk->last_grant - 1)
			best = ask;
	}
	return best;
}

/*
 * The child has one question at a time, and grants are served one after the other: who asks for hundreds of files waits
 * for its own, and others for one of them. Of a child that takes nothing more, for its disk stands, it is tried again
 * with the next look. False: there is no child.
 */
static bool send_next(struct disk *disk)
{
	struct disk_ask *ask = next_ask(disk);
	struct word word = { .op = OP_FILE };
	int r;

	if (!ask)
		return true;
	word.serial = ask->serial;
	word.bytes = ask->bytes;
	r = be_there(disk);
	if (!r)
		r = say_word(disk->socket, &word, -1);
	if (r)
		return r == -EAGAIN;
	ask->sent = true;
	disk->last_grant = ask->grant;
	return true;
}

static void look_late(void *owner)
{
	struct disk *disk = owner;
	char text[2 * PATH_MAX + 256];

	snprintf(text, sizeof(text), "memory.disk %s: its disk does not answer", disk->folder);
	while (disk->asks && clock_now_ns() - disk->asks->asked_ns > ANSWER_MS * UINT64_C(1000000))
		answer(disk, disk->asks, -1, text);
	if (!send_next(disk)) {
		lose(disk);
		fail_all(disk, "the process that serves it has ended");
	}
	if (!disk->asks)
		timer_stop(disk->late);
}

static void end_again(void *owner)
{
	const struct word word = { .op = OP_END };
	struct disk *disk = owner;

	while (disk->end_count && !be_there(disk)) {
		if (say_word(disk->socket, &word, disk->ends[disk->end_count - 1]))
			break;
		close(disk->ends[--disk->end_count]);
	}
	if (disk->end_count)
		timer_start(disk->timer, ENDS_AGAIN_MS, 0);
}

void disk_end(struct daemon *daemon, int fd)
{
	struct disk *disk = daemon->disk;
	int *more;

	if (!disk) {
		loop_close(daemon->loop, fd);
		return;
	}
	if (disk->end_count == disk->end_room) {
		more = realloc(disk->ends, (disk->end_room + 64) * sizeof(*more));
		if (!more) {
			loop_close(daemon->loop, fd);
			return;
		}
		disk->ends = more;
		disk->end_room += 64;
	}
	disk->ends[disk->end_count++] = fd;
	end_again(disk);
}

struct disk_ask *disk_ask(struct daemon *daemon, uint64_t grant, uint64_t bytes, disk_fn fn, void *owner)
{
	struct disk *disk = daemon->disk;
	struct disk_ask *ask = disk_there(daemon) ? malloc(sizeof(*ask)) : NULL, **at;

	if (!ask)
		return NULL;
	*ask = (struct disk_ask){ .serial = ++disk->serial,
				  .bytes = bytes,
				  .asked_ns = clock_now_ns(),
				  .grant = grant,
				  .fn = fn,
				  .owner = owner };
	for (at = &disk->asks; *at; at = &(*at)->next)
		;
	*at = ask;
	if (!send_next(disk)) {
		*at = NULL;
		free(ask);
		return NULL;
	}
	timer_start(disk->late, LOOK_MS, LOOK_MS);
	return ask;
}

void disk_forget(struct disk_ask *ask)
{
	if (ask)
		ask->fn = NULL;
}

void disk_settle(const struct daemon *daemon)
{
	struct disk *disk = daemon->disk;
	const uint64_t until = clock_now_ns() + SETTLE_MS * UINT64_C(1000000);

	while (disk && disk->asks && disk->socket >= 0 && clock_now_ns() < until && answers(disk->socket, SETTLE_MS))
		on_word(disk);
	if (disk)
		fail_all(disk, "its disk does not answer");
}

bool disk_there(const struct daemon *daemon)
{
	return daemon->disk && daemon->disk->state != STATE_UNFIT;
}

void disk_close(struct daemon *daemon)
{
	struct disk *disk = daemon->disk;

	if (!disk)
		return;
	fail_all(disk, "it is another folder now, or none");
	lose(disk);
	daemon->disk = NULL;
	for (unsigned int i = 0; i < disk->end_count; i++)
		disk_end(daemon, disk->ends[i]);
	free(disk->ends);
	timer_free(disk->timer);
	timer_free(disk->late);
	free(disk);
}

void disk_open(struct daemon *daemon, bool waits)
{
	const char *folder = daemon->memory->disk;
	struct disk *disk = NULL;

	disk_close(daemon);
	if (!folder || strlen(folder) >= sizeof(disk->folder))
		return;
	disk = calloc(1, sizeof(*disk));
	if (!disk)
		return;
	*disk = (struct disk){ .daemon = daemon, .socket = -1 };
	memcpy(disk->folder, folder, strlen(folder));
	disk->timer = timer_new(daemon->loop, end_again, disk);
	disk->late = timer_new(daemon->loop, look_late, disk);
	daemon->disk = disk;
	if (!disk->timer || !disk->late || be_there(disk)) {
		log_line("memory.disk %s: no process can be started for it; no memory goes to a disk", folder);
		disk->state = STATE_UNFIT;
	} else if (waits && answers(disk->socket, PATIENCE_MS)) {
		on_word(disk);
	} else if (waits) {
		log_line("memory.disk %s: its disk does not answer yet", folder);
	}
}
