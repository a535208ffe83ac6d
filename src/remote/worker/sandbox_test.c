/* sandbox_test.c: what the filter leaves to a worker, on a driver without and with device nodes. */
#include "base/tap.h"
#include "remote/worker/sandbox.h"
#include "wire/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static int stream;

/* A process that there cannot be: who is let through to the kernel is told so, and not that it may not. */
#define NOBODYS INT_MAX

/* Each tries one call; value: its own. */
static long end_stream(void)
{
	return shutdown(stream, SHUT_RDWR);
}

static long change_mode(void)
{
	return fcntl(stream, F_SETFL, O_NONBLOCK);
}

static long ask_mode(void)
{
	return fcntl(stream, F_GETFL);
}

static long lock_file(void)
{
	struct flock lock = { .l_type = F_WRLCK };

	return fcntl(stream, F_SETLK, &lock);
}

static long seal(void)
{
	return fcntl(memfd_create("x", MFD_ALLOW_SEALING), F_ADD_SEALS, F_SEAL_GROW);
}

static long move_self(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) || sched_setaffinity(0, sizeof(set), &set) ? -1 : 0;
}

static long move_other(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) || sched_setaffinity(NOBODYS, sizeof(set), &set) ? -1 : 0;
}

static long ask_socket(void)
{
	int waiting;

	return ioctl(stream, FIONREAD, &waiting);
}

/* Commands to NVIDIA's nodes: a socket knows none of them, and says so when they are left. */
static long allocate(void)
{
	return ioctl(stream, _IOWR('F', 0x2b, char[48]), NULL);
}

static long change_registry(void)
{
	return ioctl(stream, _IOWR('F', 0x4d, char[48]), NULL);
}

static long allocate_by_another_letter(void)
{
	return ioctl(stream, _IOWR('G', 0x2b, char[48]), NULL);
}

static long register_memory(void)
{
	return ioctl(stream, 37, NULL);
}

static long begin_memory(void)
{
	return ioctl(stream, 0x30000001, NULL);
}

/* Of branch 535 on, and of 550 on. */
static long begin_processes_memory(void)
{
	return ioctl(stream, 75, NULL);
}

static long wait_for_open(void)
{
	return ioctl(stream, _IOWR('F', 218, char[8]), NULL);
}

static long debug_memory(void)
{
	return ioctl(stream, 36, NULL);
}

static long wrap_command(void)
{
	return ioctl(stream, _IOWR('F', 211, char[16]), NULL);
}

static long write_other_process(void)
{
	return ioctl(stream, 63, NULL);
}

static long open_file(void)
{
	return open("/dev/null", O_RDONLY);
}

static long make_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static long end_other(void)
{
	return kill(NOBODYS, 0);
}

static long end_others_thread(void)
{
	return syscall(SYS_tgkill, NOBODYS, NOBODYS, 0);
}

static long end_own_thread(void)
{
	return syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), 0);
}

static long start_process(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return pid; /* waiting for it is refused as well */
}

static void *do_nothing(void *unused)
{
	return unused;
}

static long start_thread(void)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, do_nothing, NULL);
	return errno ? -1 : pthread_join(thread, NULL);
}

static long limit_other(void)
{
	struct rlimit now;

	return prlimit(NOBODYS, RLIMIT_CORE, NULL, &now);
}

static long limit_self(void)
{
	return prlimit(0, RLIMIT_CORE, &(struct rlimit){ 0 }, NULL);
}

static long be_traced(void)
{
	return prctl(PR_SET_DUMPABLE, 1);
}

static long change_room(void)
{
	return setsockopt(stream, SOL_SOCKET, SO_SNDBUF, &(int){ 1 << 20 }, sizeof(int));
}

static const struct {
	const char *name;
	long (*call)(void);
	bool left[4]; /* to a worker with such devices */
} tries[] = {
	{ "ending a connection for all who share it", end_stream, { false, false, false, false } },
	{ "changing a descriptor's mode", change_mode, { false, true, true, true } },
	{ "asking for it", ask_mode, { true, true, true, true } },
	{ "locking a file for the process", lock_file, { false, false, false, false } },
	{ "sealing memory", seal, { true, true, true, true } },
	{ "choosing processors for itself", move_self, { false, true, true, true } },
	{ "choosing them for another process", move_other, { false, false, false, false } },
	{ "asking a socket by ioctl", ask_socket, { false, false, true, false } },
	{ "allocating on a GPU", allocate, { false, true, true, true } },
	{ "changing the driver's registry", change_registry, { false, false, true, false } },
	{ "a known number under another letter", allocate_by_another_letter, { false, false, true, false } },
	{ "registering with unified memory", register_memory, { false, true, true, true } },
	{ "beginning with it", begin_memory, { false, true, true, true } },
	{ "what branch 535 has begun with", begin_processes_memory, { false, true, true, false } },
	{ "what branch 550 has begun with", wait_for_open, { false, true, true, false } },
	{ "looking into a program as debuggers do", debug_memory, { false, false, true, false } },
	{ "a command inside of a command", wrap_command, { false, false, true, false } },
	{ "writing another process's memory by its tools", write_other_process, { false, false, true, false } },
	{ "opening a file", open_file, { false, false, false, false } },
	{ "making a socket", make_socket, { false, false, false, false } },
	{ "sending a signal", end_other, { false, false, false, false } },
	{ "sending one to a thread of another process", end_others_thread, { false, false, false, false } },
	{ "sending one to its own", end_own_thread, { true, true, true, true } },
	{ "starting a process", start_process, { false, false, false, false } },
	{ "starting a thread", start_thread, { true, true, true, true } },
	{ "asking for another process's limits", limit_other, { false, false, false, false } },
	{ "changing its own", limit_self, { false, false, false, false } },
	{ "making itself be traced", be_traced, { false, false, false, false } },
	{ "changing a socket's room", change_room, { false, false, false, false } },
};

#define OLD 3 /* column: a driver of branch 525 */

static const char *const names[] = { "no device nodes", "listed commands", "observed commands", "an old driver" };

#define TRIES (sizeof(tries) / sizeof(*tries))

/* In a child: value: a bit for each that was not refused, or -1. */
static long try_all(int column)
{
	struct sandbox sandbox;
	char why[256];
	long left = 0;

	sandbox_begin(&sandbox, column == OLD ? SANDBOX_LISTED : (enum sandbox_devices)column, true, 0);
	sandbox.branch = column == OLD ? 525 : 550;
	if (!sandbox_enter(&sandbox, why, sizeof(why)))
		return -1;
	for (unsigned int i = 0; i < TRIES; i++) {
		errno = 0;
		if (tries[i].call() >= 0 || errno != EPERM)
			left |= 1l << i;
	}
	return left;
}

static void check(int column)
{
	long left = -1;
	int ends[2];
	pid_t child;

	if (pipe(ends))
		exit(1);
	child = fork();
	if (!child) {
		left = try_all(column);
		_exit(write(ends[1], &left, sizeof(left)) != sizeof(left));
	}
	close(ends[1]);
	tap_ok(read(ends[0], &left, sizeof(left)) == sizeof(left) && left >= 0, "a filter is set");
	waitpid(child, NULL, 0);
	close(ends[0]);
	for (unsigned int i = 0; i < TRIES; i++) {
		bool wanted = tries[i].left[column];

		tap_ok(!!(left & 1l << i) == wanted, "%s: %s is %s", names[column], tries[i].name,
		       wanted ? "left" : "refused");
	}
}

/* A /dev of this process's own, in which there is one node of NVIDIA's name, that gives zeros. */
static bool make_dev(void)
{
	return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("none", "/dev", "tmpfs", 0, "mode=0755") && !mknod("/dev/null", S_IFCHR | 0666, makedev(1, 3)) &&
	       !mknod("/dev/nvidia-uvm", S_IFCHR | 0666, makedev(1, 5)) && !chmod("/dev/null", 0666) &&
	       !chmod("/dev/nvidia-uvm", 0666);
}

static bool opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

enum {
	NODES_LEFT = 1,
	NODE_OPENS = 2,
	OTHERS_SHUT = 4,
	LIST_READ = 8,
	NOTHING_MADE = 16,
	NOT_FROM_FOLDER = 32,
	NODES_ALL = 63
};

/* In a child; value: what held, or -1 where this user cannot make a /dev. */
static long reopen(void)
{
	struct sandbox sandbox;
	char why[256], zero = 1;
	long held = 0;
	int fd;

	if (!make_dev())
		return -1;
	umask(077); /* meted's, and a worker has it from meted */
	sandbox_begin(&sandbox, SANDBOX_LISTED, true, 0);
	if (!(sandbox.fence & WORKER_FENCE_MOUNTS) || open("/dev/nvidia-uvm", O_RDWR | O_CLOEXEC) < 0)
		return -1;
	if (!sandbox_enter(&sandbox, why, sizeof(why)))
		return 0;
	held |= sandbox.reopens ? NODES_LEFT : 0;
	fd = open("/dev/nvidia-uvm", O_RDWR | O_CLOEXEC);
	held |= fd >= 0 && read(fd, &zero, 1) == 1 && !zero ? NODE_OPENS : 0;
	held |= !opens("/dev/null", O_RDONLY) && !opens("/etc/passwd", O_RDONLY) &&
				!opens("/proc/self/maps", O_RDONLY) && !opens("/dev/../etc/passwd", O_RDONLY)
			? OTHERS_SHUT
			: 0;
	held |= opens("/proc/devices", O_RDONLY) && !opens("/proc/devices", O_RDWR) ? LIST_READ : 0;
	held |= !opens("/new", O_RDWR | O_CREAT) && !opens("/dev/new", O_RDWR | O_CREAT) &&
				!opens("/tmp", O_RDWR | O_TMPFILE)
			? NOTHING_MADE
			: 0;
	held |= openat(stream, "dev", O_RDONLY) < 0 && errno == EPERM ? NOT_FROM_FOLDER : 0;
	return held;
}

static void check_nodes(void)
{
	static const char *const said[] = {
		"the driver's nodes stay",	"a node opens again",
		"no other path leads anywhere", "the kernel's lists are read, and not written",
		"nothing can be made",		"a path begins at no descriptor"
	};
	long held = -1;
	int ends[2];
	pid_t child;

	if (pipe(ends))
		exit(1);
	child = fork();
	if (!child) {
		held = reopen();
		_exit(write(ends[1], &held, sizeof(held)) != sizeof(held));
	}
	close(ends[1]);
	if (read(ends[0], &held, sizeof(held)) != sizeof(held))
		held = 0;
	waitpid(child, NULL, 0);
	close(ends[0]);
	for (unsigned int i = 0; i < sizeof(said) / sizeof(*said); i++)
		if (held < 0)
			tap_ok(true, "%s # SKIP here no device node can be made, or no namespace of mounts", said[i]);
		else
			tap_ok(held & 1l << i, "%s", said[i]);
}

int main(void)
{
	int ends[2];

	tap_begin();
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	stream = ends[0];
	check_nodes();
	check(SANDBOX_NONE);
	check(SANDBOX_LISTED);
	check(SANDBOX_OBSERVED);
	check(OLD);
	close(ends[0]);
	close(ends[1]);
	return tap_end();
}
