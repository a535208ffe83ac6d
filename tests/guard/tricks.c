/* tricks.c: ways that need more of the kernel than a call: late and shared pages, tables of files, threads, filters. */
#include "ground.h"
#include "ring.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u
#define TRIES 600

/* A process ends before its files do, and its account after them. */
static void gone(void)
{
	for (int i = 0; i < 200 && (truth().used || shown("c", "used_bytes") > 0); i++)
		usleep(10000);
}

/* Memory for a call: its parameters lie in a page that others can change or take away. */
static int take_from(const struct session *s, const struct memory_parameters *m, uint32_t *object)
{
	*object = 0;
	return rm_alloc(s->fd, s->client, 2, object, 0x40, (void *)m);
}

/* As often as may be; 0: the program never ran with more than its quota. */
static int never_over(const struct session *s, struct memory_parameters *m, int tries)
{
	int refusals = 0, i = 0;
	uint32_t o;

	/* Whoever changes it may be late on a busy machine. */
	for (; i < tries || (i < 40 * tries && (!refusals || refusals == i)); i++) {
		/* Where the guard's programs are traced they wait for no page: it is there, or may be. */
		(void)*(volatile uint64_t *)&m->size;
		if (take_from(s, m, &o)) {
			refusals++;
			continue;
		}
		if (truth().used > MIB(512))
			return 9;
		rm_free(s->fd, s->client, o);
	}
	/* Both sizes were seen, or nothing was tried. */
	return refusals && refusals < i ? 0 : 8;
}

static int uffd;
static char *late;
static _Atomic bool enough;

/* What is read first has a size that fits, what is read next has not. */
static void *serve_late(void *unused)
{
	static char page[PAGE] __attribute__((aligned(PAGE)));
	struct memory_parameters *m = (void *)page;
	struct uffd_msg msg;

	for (unsigned int n = 0; read(uffd, &msg, sizeof msg) == sizeof msg; n++) {
		struct uffdio_copy c = { .dst = (uintptr_t)late, .src = (uintptr_t)page, .len = PAGE };

		m->size = n & 1 ? MIB(4096) : MIB(1);
		ioctl(uffd, UFFDIO_COPY, &c);
	}
	return unused;
}

static void *take_away(void *unused)
{
	while (!enough)
		madvise(late, PAGE, MADV_DONTNEED);
	return unused;
}

/* The page of the parameters comes when the program lets it (userfaultfd), once for the guard and once for the driver.
 */
static int body_late_page(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register r = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct session s;
	pthread_t server, taker;
	int result;

	late = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	r.range.start = (uintptr_t)late;
	r.range.len = PAGE;
	if (session_open(&s) || uffd < 0 || ioctl(uffd, UFFDIO_API, &api) || ioctl(uffd, UFFDIO_REGISTER, &r))
		return 2;
	if (pthread_create(&server, NULL, serve_late, NULL) || pthread_create(&taker, NULL, take_away, NULL))
		return 3;
	result = never_over(&s, (void *)late, TRIES);
	enough = true;
	pthread_join(taker, NULL);
	return result;
}

static struct memory_parameters *shared_page;
static pid_t outsider;

/* A process outside shares the page of the parameters and changes it. */
static int body_shared_page(void)
{
	struct session s;

	if (session_open(&s))
		return 2;
	return never_over(&s, shared_page, 3000);
}

static void shared_page_case(void)
{
	int r = 0, killed = 0;

	shared_page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	outsider = fork();
	if (!outsider) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			*(volatile uint64_t *)&shared_page->size = MIB(4096);
			*(volatile uint64_t *)&shared_page->size = MIB(1);
		}
	}
	for (int i = 0; i < 5 && (!r || r == -SIGKILL); i++) {
		r = as("c", body_shared_page);
		killed += r == -SIGKILL;
	}
	kill(outsider, SIGKILL);
	waitpid(outsider, NULL, 0);
	ok(!r || r == -SIGKILL, "a process outside changes a page that it shares (%d of 5 ended for it, %d)", killed,
	   r);
}

/* Parameters as a message (NVOS64_FLAGS_FINN_SERIALIZED): where a size that fits stands for the guard, none does. */
static int body_message(void)
{
	struct memory_parameters m = { .size = MIB(1) };
	struct session s;
	uint64_t size = MIB(2048);
	struct alloc a = { .parent = 2, .class = 0x40, .parameters = (uintptr_t)&m, .flags = 1 };

	memcpy((char *)&m + 8, &size, 8);
	if (session_open(&s))
		return 2;
	a.client = s.client;
	if (ioctl(s.fd, REQUEST(0x2b, sizeof a), &a) != -1 || truth().used)
		return 3;
	return expect(grab(&s, MIB(64), MIB(65536)), 512);
}

/* One byte of the heap in pages of 512 MiB takes 512 MiB. */
static int heap_byte(const struct session *s, uint32_t function, int size_at, int attr_at, int attr2_at, uint32_t pages)
{
	uint32_t h[46] = { s->client, 2, function }, attr = 3u << 23, attr2 = pages << 20;
	uint64_t size = 1;

	/* By height and pitch the size is an answer. */
	if (function == 6)
		h[14] = h[15] = 1;
	else
		memcpy((char *)h + size_at, &size, 8);
	memcpy((char *)h + attr_at, &attr, 4);
	memcpy((char *)h + attr2_at, &attr2, 4);
	return ioctl(s->fd, REQUEST(0x4a, sizeof h), h) ? -errno : (int)h[5];
}

static int body_huge_heap(void)
{
	static const int places[][4] = { { 2, 88, 56, 144 }, { 6, 88, 64, 144 }, { 14, 80, 56, 136 } };
	struct session s;

	for (size_t i = 0; i < 3; i++) {
		const int *p = places[i];

		if (session_open(&s))
			return 2;
		if (heap_byte(&s, (uint32_t)p[0], p[1], p[2], p[3], 3) != NO_MEMORY)
			return 3;
		if (heap_byte(&s, (uint32_t)p[0], p[1], p[2], p[3], 2) || truth().used != MIB(512))
			return 4;
		if (heap_byte(&s, (uint32_t)p[0], p[1], p[2], p[3], 2) != NO_MEMORY || grab(&s, MIB(1), MIB(1)))
			return 5;
		close(s.fd);
		gone();
	}
	return 0;
}

/* One MiB that is to lie at a multiple of 256 takes 256, by the heap and by the class. */
static int body_aligned(void)
{
	struct memory_parameters m = { .words = { [2] = 0x100 }, .size = MIB(1), .rest = { MIB(256) } };
	struct session s;
	uint64_t size = MIB(1), alignment = MIB(256);
	uint32_t o = 0;

	if (session_open(&s))
		return 2;
	for (int i = 0; i < 3; i++) {
		uint32_t h[46] = { s.client, 2, 2, [13] = 0x100 };
		int r;

		memcpy(h + 22, &size, 8);
		memcpy(h + 24, &alignment, 8);
		r = ioctl(s.fd, REQUEST(0x4a, sizeof h), h) ? -errno : (int)h[5];
		if (i < 1 ? r : r != NO_MEMORY)
			return 3;
		if (!i && rm_alloc(s.fd, s.client, 2, &o, 0x40, &m))
			return 4;
	}
	if (truth().used != MIB(512))
		return 5;
	close(s.fd);
	gone();
	/* Where the driver has not padded, by the heap and by the class, no more is charged than it took. */
	m = (struct memory_parameters){ .words = { [2] = 0x80 }, .size = size, .rest = { alignment } };
	o = 0;
	if (session_open(&s) || rm_alloc(s.fd, s.client, 2, &o, 0x40, &m))
		return 6;
	uint32_t h[46] = { s.client, 2, 2, [13] = 0x80 };

	memcpy(h + 22, &size, 8);
	memcpy(h + 24, &alignment, 8);
	if (ioctl(s.fd, REQUEST(0x4a, sizeof h), h) || h[5] || truth().used != MIB(2))
		return 7;
	return expect(grab(&s, MIB(2), MIB(65536)), 510);
}

/* Channels in no group: the manager makes a group for each. 3 groups are the tenant's. */
static int body_channels(void)
{
	struct session s;
	uint32_t o[8] = { 0 };

	if (session_open(&s) || rm_alloc(s.fd, s.client, 2, &o[0], 0xa06c, NULL))
		return 2;
	for (int i = 1; i < 4; i++)
		if (rm_alloc(s.fd, s.client, o[0], &o[i], 0xc56f, NULL))
			return 3;
	if (rm_alloc(s.fd, s.client, 2, &o[4], 0xc56f, NULL) || rm_alloc(s.fd, s.client, 2, &o[5], 0xc96f, NULL))
		return 4;
	if (rm_alloc(s.fd, s.client, 2, &o[6], 0xca6f, NULL) != -EPERM)
		return 5;
	if (rm_free(s.fd, s.client, o[4]) || rm_alloc(s.fd, s.client, 2, &o[6], 0xa06c, NULL))
		return 6;
	return rm_alloc(s.fd, s.client, 2, &o[7], 0xc56f, NULL) == -EPERM ? 0 : 7;
}

/* --groups 0: memory, and no channel. */
static int body_no_channels(void)
{
	struct session s;
	uint32_t o = 0, p = 0;

	if (session_open(&s) || rm_alloc(s.fd, s.client, 2, &o, 0xa06c, NULL) != -EPERM ||
	    rm_alloc(s.fd, s.client, 2, &p, 0xc56f, NULL) != -EPERM)
		return 2;
	return expect(grab(&s, MIB(64), MIB(65536)), 256);
}

static void no_channels(void)
{
	const char *path = "/sys/fs/cgroup/still";

	mkdir(path, 0755);
	run((const char *[]){ "/mete-guard", "set", path, "--memory", "256M", "--groups", "0", NULL });
	ok(!as("still", body_no_channels), "a tenant that may have no channel groups has memory, and no channel");
	run((const char *[]){ "/mete-guard", "drop", path, NULL });
}

/* A multicast object holds memory whose name is gone. */
static int body_multicast(void)
{
	struct session s;
	uint32_t o = 0;
	struct alloc a = { .class = 0xfd };

	if (session_open(&s) || rm_memory(s.fd, s.client, &o, MIB(256)))
		return 2;
	a.client = a.parent = s.client;
	a.size = o;
	if (!ioctl(s.fd, REQUEST(0x2b, sizeof a), &a) && !a.status)
		return 3;
	if (rm_free(s.fd, s.client, o) || truth().used)
		return 4;
	return expect(grab(&s, MIB(64), MIB(65536)), 512);
}

/* The thread of an io_uring opens the node when its process is elsewhere. 0: it opened one; a descriptor's number. */
static int sqpoll_open(int *ret_fd)
{
	struct io_uring_sqe e = {
		.opcode = IORING_OP_OPENAT, .fd = AT_FDCWD, .addr = (uintptr_t) "/dev/standin255", .open_flags = O_RDWR
	};
	struct ring r;

	if (ring_open(&r, IORING_SETUP_SQPOLL))
		return -1;
	enter("");
	return ring_put(&r, &e) || ring_answer(&r, 5000, ret_fd) ? -3 : 0;
}

static int body_sqpoll(void)
{
	struct session s;
	int fd = -1, r = sqpoll_open(&fd);

	if (r || fd < 0 || session_on(&s, fd))
		return 2 - r;
	return expect(grab(&s, MIB(64), MIB(65536)), 512);
}

static void *thread_grab(void *result)
{
	FILE *f = fopen("/sys/fs/cgroup/c/inner/cgroup.threads", "w");

	*(int *)result = f && fprintf(f, "%d", (int)syscall(SYS_gettid)) > 0 && !fclose(f) ? body_grab() : 4;
	return NULL;
}

/* One thread of the process in a threaded cgroup below the tenant's. */
static int body_threaded(void)
{
	static int result;
	pthread_t t;
	int fd;

	mkdir("/sys/fs/cgroup/c/inner", 0755);
	fd = open("/sys/fs/cgroup/c/inner/cgroup.type", O_WRONLY);
	if (fd < 0 || write(fd, "threaded", 8) != 8 || pthread_create(&t, NULL, thread_grab, &result))
		return 2;
	close(fd);
	pthread_join(t, NULL);
	return result;
}

/* Its process was in a threaded cgroup before that was a tenant's, and leaves it before it calls. */
static void threaded_before(void)
{
	const char *path = "/sys/fs/cgroup/early5";
	int status, fd, told[2], go[2];
	pid_t p;
	char x;

	if (pipe(told) || pipe(go))
		exit(1);
	mkdir(path, 0755);
	fd = open("/sys/fs/cgroup/early5/cgroup.type", O_WRONLY);
	if (fd < 0 || write(fd, "threaded", 8) != 8)
		exit(1);
	close(fd);
	p = fork();
	if (!p) {
		struct session s;

		enter("early5");
		if (write(told[1], "x", 1) != 1 || read(go[0], &x, 1) != 1)
			_exit(2);
		enter("");
		_exit(session_open(&s) ? 3 : expect(grab(&s, MIB(64), MIB(1024)), 256));
	}
	if (read(told[0], &x, 1) != 1)
		exit(1);
	run((const char *[]){ "/mete-guard", "set", path, "--memory", "256M", NULL });
	if (write(go[1], "x", 1) != 1)
		exit(1);
	waitpid(p, &status, 0);
	ok(!status, "a process that was in a threaded cgroup when that became a tenant's, and leaves it (%x)", status);
	run((const char *[]){ "/mete-guard", "drop", path, NULL });
	rmdir(path);
}

static int table_of_outside(void *at)
{
	int fd = node(CONTROL);

	*(_Atomic int *)at = fd < 0 ? -1 : fd;
	pause();
	return 0;
}

/* A process outside opens the node in a table of files that the tenant shares with it (CLONE_FILES). */
static void shared_table(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	static _Atomic int fd;
	int status, told[2];
	pid_t outside, p;
	char x = 0;

	fd = 0;
	if (pipe(told))
		exit(1);
	p = fork();
	if (!p) {
		struct session s;

		/* Outside as yet. The other one stays there. */
		outside = clone(table_of_outside, stack + sizeof stack, CLONE_FILES | CLONE_VM | SIGCHLD, (void *)&fd);
		if (write(told[1], &outside, sizeof outside) != sizeof outside)
			_exit(2);
		enter("c");
		while (!fd)
			usleep(1000);
		_exit(session_on(&s, fd) ? 3 : expect(grab(&s, MIB(64), MIB(65536)), 512));
	}
	if (read(told[0], &outside, sizeof outside) != sizeof outside)
		exit(1);
	waitpid(p, &status, 0);
	kill(outside, SIGKILL);
	ok(!status && !x, "a descriptor that a process outside opened in a shared table is charged to its user (%x)",
	   status);
	gone();
}

static int body_leave_in_flight(void)
{
	struct session s;

	if (session_open(&s) || grab(&s, MIB(64), MIB(65536)) != MIB(512))
		return 2;
	send_fd(passed[0], s.fd);
	return 0;
}

static int body_nothing_left(void)
{
	struct session s;

	return session_open(&s) ? 2 : expect(grab(&s, MIB(64), MIB(65536)), 0);
}

/* A descriptor that waits in a socket outlives its process, and so does the charge. */
static void in_flight(void)
{
	int r, again, kept;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, passed))
		exit(1);
	r = as("c", body_leave_in_flight);
	usleep(100000);
	kept = truth().used == MIB(512);
	again = as("c", body_nothing_left);
	close(passed[0]);
	close(passed[1]);
	gone();
	ok(!r && kept && !again && !truth().used,
	   "a descriptor in a socket outlives its process, and so does the charge (%d %d %d)", r, kept, again);
}

/* A tracer changes the request when the call has been entered. */
static int body_traced_entry(void)
{
	static struct memory_parameters small = { .size = MIB(1) }, large = { .size = MIB(4096) };
	static struct alloc a, b;
	struct user_regs_struct u;
	struct session s;
	int status, calls = 0;
	pid_t p = fork();

	if (!p) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		if (session_open(&s))
			_exit(2);
		a = (struct alloc){ .client = s.client, .parent = 2, .class = 0x3e, .parameters = (uintptr_t)&small };
		b = (struct alloc){ .client = s.client, .parent = 2, .class = 0x40, .parameters = (uintptr_t)&large };
		raise(SIGSTOP);
		ioctl(s.fd, REQUEST(0x2b, sizeof a), &a);
		_exit(truth().used > MIB(512) ? 9 : 0);
	}
	if (waitpid(p, &status, 0) != p || !WIFSTOPPED(status))
		return 2;
	for (bool entry = true;
	     ptrace(PTRACE_SYSCALL, p, 0, 0) == 0 && waitpid(p, &status, 0) == p && WIFSTOPPED(status);
	     entry = !entry) {
		ptrace(PTRACE_GETREGS, p, 0, &u);
		if (!entry || u.orig_rax != SYS_ioctl || u.rdx != (uintptr_t)&a)
			continue;
		u.rdx = (uintptr_t)&b;
		ptrace(PTRACE_SETREGS, p, 0, &u);
		calls++;
	}
	return calls == 1 && WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : 3;
}

/* A filter of the tenant's own brings its calls to another process of its own, which changes them and lets them go on.
 */
static int filter_own(void)
{
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof rows / sizeof *rows, rows };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static void *go_on(void *listener)
{
	struct seccomp_notif n;

	for (unsigned int k = 0;; k++) {
		struct seccomp_notif_resp r = { .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

		memset(&n, 0, sizeof n);
		if (syscall(SYS_ioctl, *(int *)listener, SECCOMP_IOCTL_NOTIF_RECV, &n))
			return NULL;
		/* Of each three calls one, for a free follows what was taken. */
		shared_page->size = k % 3 ? MIB(1) : MIB(4096);
		r.id = n.id;
		syscall(SYS_ioctl, *(int *)listener, SECCOMP_IOCTL_NOTIF_SEND, &r);
	}
}

static int body_own_filter(void)
{
	struct session s;
	int status, listener;
	pid_t p;

	shared_page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (session_open(&s) || socketpair(AF_UNIX, SOCK_STREAM, 0, passed))
		return 2;
	p = fork();
	if (!p) {
		listener = filter_own();
		if (listener < 0)
			_exit(4);
		send_fd(passed[1], listener);
		_exit(never_over(&s, shared_page, 200));
	}
	listener = take_fd(passed[0]);
	pthread_t t;

	if (listener < 0 || pthread_create(&t, NULL, go_on, &listener))
		return 3;
	waitpid(p, &status, 0);
	return WIFSIGNALED(status) ? -WTERMSIG(status) == -SIGKILL ? 0 : 5 : WEXITSTATUS(status);
}

/* What moves bytes between files takes no memory of the device. */
static int body_no_bytes(void)
{
	int fd = node(CONTROL), pipes[2], file = open("/tmp/bytes", O_RDWR | O_CREAT, 0600);
	void *at;

	if (fd < 0 || pipe(pipes) || file < 0 || write(file, "12345678", 8) != 8)
		return 2;
	if (sendfile(fd, file, &(off_t){ 0 }, 8) >= 0 || splice(pipes[0], NULL, fd, NULL, 8, SPLICE_F_NONBLOCK) >= 0 ||
	    copy_file_range(file, &(off_t){ 0 }, fd, NULL, 8, 0) >= 0 || write(fd, "12345678", 8) >= 0)
		return 3;
	at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return at != MAP_FAILED || truth().used ? 4 : 0;
}

/* Nodes by other file systems: a devtmpfs of a user namespace's, a node that is bound elsewhere, one below an overlay.
 */
static int body_mounts(void)
{
	struct session s;
	int status;

	if (!fork()) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
			_exit(2);
		mkdir("/tmp/dev", 0755);
		if (!mount("dev", "/tmp/dev", "devtmpfs", 0, NULL)) {
			_exit(reached(open("/tmp/dev/standin1", O_RDWR)) ? 3 : 0);
		}
		_exit(0);
	}
	wait(&status);
	if (status)
		return 4;
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return 5;
	close(open("/tmp/bound", O_CREAT | O_RDWR, 0600));
	if (mount("/dev/standin1", "/tmp/bound", NULL, MS_BIND, NULL))
		return 6;
	if (reached(open("/tmp/bound", O_RDWR)))
		return 7;
	umount("/tmp/bound");
	if (mount("/dev/standin255", "/tmp/bound", NULL, MS_BIND, NULL) || session_on(&s, open("/tmp/bound", O_RDWR)))
		return 8;
	return expect(grab(&s, MIB(64), MIB(65536)), 512);
}

/* Some of these may end the process instead. */
static void one(int (*body)(void), bool may_be_killed, const char *what)
{
	int r = as("c", body);

	ok(!r || (may_be_killed && r == -SIGKILL), "%s%s (%d)", what, r == -SIGKILL ? ": ended for it" : "", r);
	gone();
}

/* Bodies of a supervisor's tenant: without cgroups, and without a filter behind the supervisor's. */
void case_tricks(void)
{
	/* Calls on userfaultfd have numbers of the driver's: a supervisor answers that they are none. */
	if (!front_notify)
		one(body_late_page, true, "pages that come late, one for the guard and one for the driver");
	shared_page_case();
	gone();
	one(body_message, false, "parameters as a message are refused");
	one(body_huge_heap, false, "the heap in pages of 512 MiB is charged so; in pages of 256 GiB refused");
	one(body_aligned, false, "memory that is padded to its alignment is charged so, or refused");
	one(body_channels, false, "channels in no group count as groups");
	one(body_multicast, false, "a multicast object does not hold memory whose charge is given back");
	one(body_no_bytes, false, "splice, sendfile, copy_file_range, write and mmap take nothing");
	one(body_mounts, false, "a node by a devtmpfs of its own, or bound elsewhere");
	one(body_traced_entry, false, "a tracer that changes the request when the call has been entered");
	if (front_notify) {
		clean("tricks");
		return;
	}
	one(body_sqpoll, false, "the thread of an io_uring, when its process has left");
	one(body_threaded, false, "a thread in a threaded cgroup below the tenant's");
	threaded_before();
	no_channels();
	shared_table();
	in_flight();
	one(body_own_filter, true, "a filter of its own that changes the call and lets it go on");
	clean("tricks");
}
