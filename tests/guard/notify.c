/* notify.c: what is the supervisor's own: that it dies, that it is attacked, and what else of ioctl a program needs. */
#include "ground.h"

#include "guard/counts.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* The supervisor of this process: the only one that there is. */
static pid_t supervisor(void)
{
	DIR *d = opendir("/proc");
	char path[300], name[64];
	pid_t found = 0;

	for (struct dirent *e; d && (e = readdir(d));) {
		FILE *f;

		snprintf(path, sizeof path, "/proc/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (f && fgets(name, sizeof name, f) && !strncmp(name, "mete-guard-noti", 15))
			found = atoi(e->d_name);
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return found;
}

static int listener_install(void)
{
	struct sock_filter one = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	struct sock_fprog f = { 1, &one };

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &f);
}

static int body_dies(void)
{
	pid_t s = supervisor();
	struct session t;
	uint32_t o = 0;

	if (!s || session_open(&t) || rm_memory(t.fd, t.client, &o, MIB(64)))
		return 2;
	if (listener_install() >= 0 || errno != EBUSY)
		return 3;
	kill(s, SIGKILL);
	for (int i = 0; i < 200 && !kill(s, 0); i++)
		usleep(10000);
	o = 0;
	if (rm_memory(t.fd, t.client, &o, MIB(1)) != -ENOSYS || truth().used != MIB(64))
		return 4;
	/* Nobody takes its count away; mete run does. */
	counts_drop('c');
	/* Now nobody listens: a listener of its own could let calls through. */
	if (listener_install() >= 0 || errno != EBUSY)
		return 5;
	return 0;
}

/* A user of no rights reaches into the supervisor of his own: it is his. */
static int body_attacks(void)
{
	char path[64], x[8];
	struct iovec here = { x, 8 }, there = { (void *)0x400000, 8 };
	pid_t s = supervisor();
	int fd;

	if (setgid(1000) || setuid(1000))
		return 2;
	if (!ptrace(PTRACE_ATTACH, s, 0, 0) || !ptrace(PTRACE_SEIZE, s, 0, 0))
		return 3;
	if (process_vm_readv(s, &here, 1, &there, 1, 0) >= 0)
		return 4;
	snprintf(path, sizeof path, "/proc/%d/mem", s);
	fd = open(path, O_RDWR);
	if (fd >= 0)
		return 5;
	fd = (int)syscall(SYS_pidfd_open, s, 0);
	for (int n = 3; n < 10; n++)
		if (syscall(SYS_pidfd_getfd, fd, n, 0) >= 0)
			return 6;
	return 0;
}

/* Terminals, files and sockets; and a call with a number of the driver's on another file. */
static int body_others(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), pair[2], n = 0;
	struct {
		unsigned short rows, columns, x, y;
	} size;
	char bytes[64] = { 0 };

	if (master < 0 || grantpt(master) || unlockpt(master) || !ptsname(master))
		return 2;
	if (ioctl(master, 0x5413 /* TIOCGWINSZ */, &size))
		return 3;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || write(pair[0], "abc", 3) != 3 ||
	    ioctl(pair[1], 0x541b /* FIONREAD */, &n) || n != 3)
		return 4;
	n = open("/dev/null", O_RDWR);
	if (ioctl(n, REQUEST(0x2b, 32), bytes) != -1 || errno != ENOTTY)
		return 5;
	return ioctl(-1, REQUEST(0x2b, 32), bytes) != -1 || errno != EBADF ? 6 : 0;
}

static int flipped = -1, target = -1;
static _Atomic bool stop;

static void *flip(void *device)
{
	int null = open("/dev/null", O_RDWR);

	while (!stop) {
		dup2(null, target);
		dup2(flipped, target);
	}
	return device;
}

/* A descriptor that is another file, then the device, while the call is judged. */
static int body_flips(void)
{
	struct session s;
	pthread_t t;

	if (session_open(&s))
		return 2;
	flipped = s.fd;
	target = dup(s.fd);
	stop = false;
	if (pthread_create(&t, NULL, flip, NULL))
		return 3;
	for (int i = 0; i < 1500; i++) {
		uint32_t o = 0;

		if (!rm_memory(target, s.client, &o, MIB(400)) && i % 2)
			rm_free(s.fd, s.client, o);
		if (truth().used > MIB(512))
			return 4;
		if (o)
			rm_free(s.fd, s.client, o);
	}
	stop = true;
	pthread_join(t, NULL);
	return 0;
}

/* A client's name that is used again when the file that it was made on is gone: its new memory stays charged. */
static int body_renames(void)
{
	for (int i = 0; i < 50; i++) {
		struct session s = { .fd = node(CONTROL), .client = 0xc0de }, t = { .fd = node(CONTROL) };
		uint32_t device = 2, o = 0;

		if (rm_alloc(s.fd, 0, 0, &s.client, 0x41, NULL))
			return 2;
		close(s.fd);
		t.client = 0xc0de;
		if (rm_alloc(t.fd, 0, 0, &t.client, 0x41, NULL) || t.client != 0xc0de ||
		    rm_alloc(t.fd, t.client, t.client, &device, 0x80, NULL) || rm_memory(t.fd, t.client, &o, MIB(512)))
			return 3;
		/* The first refusal looks for files that are gone. */
		if (grab(&t, MIB(64), MIB(65536)) || grab(&t, MIB(64), MIB(65536)) || truth().used != MIB(512))
			return 4;
		close(t.fd);
	}
	return 0;
}

/* A file is closed, and another process asks for the room while the driver has not freed it yet. */
static int body_released(void)
{
	int told[2];

	if (pipe(told))
		return 9;
	for (int i = 0; i < 20; i++) {
		struct session s, t;
		int status, tries = 0;
		char x = 0;
		pid_t p = fork();

		if (!p) {
			bool bad = session_open(&s) || grab(&s, MIB(64), MIB(65536)) != MIB(512);

			if (write(told[1], "x", 1) != 1)
				_exit(1);
			close(s.fd);
			_exit(bad);
		}
		if (read(told[0], &x, 1) != 1 || session_open(&t))
			return 2;
		while (!grab(&t, MIB(64), MIB(65536)) && tries++ < 1000)
			;
		if (truth().peak > MIB(512))
			return 3;
		waitpid(p, &status, 0);
		if (status || tries > 1000)
			return 4;
		close(t.fd);
		for (tries = 0; tries < 300 && truth().used; tries++)
			usleep(10000);
		if (truth().used)
			return 5;
	}
	return 0;
}

/* The caller's own pages, and what a call may not point to. */
static int body_pages(void)
{
	uint32_t d[14] = { 0, 2, 0, 0x71 }, h[46] = { 0, 2, 27 };
	struct session s;
	uint32_t o = 0;
	char page[256];

	if (session_open(&s))
		return 2;
	d[0] = h[0] = s.client;
	if (ioctl(s.fd, REQUEST(0x27, sizeof d), d) != -1 || errno != EPERM)
		return 3;
	if (ioctl(s.fd, REQUEST(0x4a, sizeof h), h) != -1 || errno != EPERM)
		return 4;
	return rm_alloc(s.fd, s.client, 2, &o, 0x71, page) == -EPERM ? 0 : 5;
}

struct own_pages { /* nv_ioctl_nvos02_parameters_with_fd */
	uint32_t client, parent, object, class, flags, unused;
	uint64_t address, limit;
	uint32_t status, unused_too;
	int fd;
};

/* 0, a status, or -errno; on a device's node, as NVIDIA's driver does it. */
static int pages_name(int device, const struct session *s, void *from, uint64_t bytes)
{
	struct own_pages p = { .client = s->client,
			       .parent = 2,
			       .class = 0x71,
			       .address = (uintptr_t)from,
			       .limit = bytes - 1,
			       .fd = -1 };

	return ioctl(device, REQUEST(0x27, 56), &p) ? -errno : (int)p.status;
}

/*
 * Shared pages are the program's own wherever the call is made, whatever lies beside them; more than the mapping, what
 * is private, and what is no memory are refused.
 */
static int body_shared(void)
{
	const size_t bytes = 4 * 4096;
	uint32_t *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *own = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int device = node(0), zero = open("/dev/zero", O_RDWR);
	char *none = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, zero, 0);
	struct session s;

	if (session_open(&s) || device < 0 || shared == MAP_FAILED || own == MAP_FAILED || none == MAP_FAILED ||
	    ioctl(device, REQUEST(201, sizeof s.fd), &s.fd))
		return 2;
	for (uint32_t i = 0; i < 4; i++)
		shared[i * 1024] = 40 + i;
	if (pages_name(device, &s, shared, bytes) || pages_name(device, &s, shared + 2 * 1024, 4096))
		return 3;
	if (shared[0] != 41 || shared[1024] != 41 || shared[2 * 1024] != 43 || shared[3 * 1024] != 43)
		return 4;
	if (pages_name(device, &s, shared, bytes + 4096) != -EPERM || pages_name(device, &s, own, bytes) != -EPERM ||
	    pages_name(device, &s, none, bytes) != -EPERM ||
	    pages_name(device, &s, (char *)shared + 8, 4096) != -EPERM ||
	    pages_name(device, &s, NULL, 4096) != -EPERM || pages_name(device, &s, shared, 0) != -EPERM)
		return 5;
	return shared[0] == 41 && shared[2 * 1024] == 43 ? 0 : 6;
}

/* Parameters that are said to be shorter than they are, or end with the memory: nothing of a call before is taken for
 * them. */
static int body_short(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct session s;
	uint32_t o = 0;

	if (session_open(&s) || pages == MAP_FAILED || munmap(pages + 4096, 4096))
		return 2;
	for (int i = 0; i < 20; i++) {
		struct memory_parameters m = { .size = i & 1 ? MIB(4096) : 0 };
		struct alloc a = { .client = s.client,
				   .parent = 2,
				   .class = 0x40,
				   .parameters = i < 10 ? (uintptr_t)&m : (uintptr_t)(pages + 4096 - 64),
				   .size = i < 10 ? 8 : 0 };

		if (rm_memory(s.fd, s.client, &o, MIB(4096)) != NO_MEMORY)
			return 3;
		ioctl(s.fd, REQUEST(0x2b, sizeof a), &a);
		if (truth().used > MIB(1))
			return 4;
		if (!a.status && a.object)
			rm_free(s.fd, s.client, a.object);
	}
	return 0;
}

void case_notify(void)
{
	int r;

	r = as("c", body_others);
	ok(!r, "terminals and sockets are as ever; the driver's numbers on other files are refused (%d)", r);
	r = as("c", body_flips);
	ok(!r, "a thread that puts another file in the descriptor's place: never over the quota (%d)", r);
	r = as("c", body_renames);
	ok(!r, "a client's name used again on another file keeps its charge (%d)", r);
	truth_reset(true);
	r = as("c", body_released);
	truth_reset(false);
	ok(!r, "what a file had is given back when the driver has freed it, not when its release begins (%d)", r);
	r = as("c", body_pages);
	ok(!r, "the caller's own pages are refused where they cannot be shared (%d)", r);
	r = as("c", body_shared);
	ok(!r, "the caller's own pages that can be shared are named in its place (%d)", r);
	r = as("c", body_short);
	ok(!r, "parameters that are shorter than they should be: nothing left of a call before is taken for them (%d)",
	   r);
	r = as("c", body_attacks);
	ok(!r, "the supervisor cannot be traced, read or robbed by its own user (%d)", r);
	r = as("c", body_dies);
	ok(!r, "a killed supervisor: nothing more is given, and none can take its place (%d)", r);
	clean("only notify");
}
