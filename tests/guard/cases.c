/*
 * cases.c: ways around the guard, tried in a guest against the stand-in (standin/). Static, root, in the guest alone.
 *
 *	cases all | NAME...
 *
 * TAP. Each way is a process of a tenant; what the stand-in says is taken (/proc/mete_standin) is the truth that the
 *guard's account and the quotas are held against.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB(n) ((uint64_t)(n) << 20)
#define CONTROL 255
#define REQUEST(nr, size) _IOC(_IOC_READ | _IOC_WRITE, 'F', nr, size)
#define NO_MEMORY (-ENOMEM)

static int count, failed;

__attribute__((format(printf, 2, 3))) static bool ok(bool good, const char *fmt, ...)
{
	va_list ap;

	printf("%sok %d - ", good ? "" : "not ", ++count);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	failed += !good;
	return good;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the stand-in ---- */

static unsigned int standin_major(void)
{
	FILE *f = fopen("/proc/devices", "r");
	unsigned int n = 0, is;
	char name[64];

	while (f && fscanf(f, "%u %63s", &is, name) != EOF)
		if (!strcmp(name, "mete-standin"))
			n = is;
		else if (fscanf(f, "%*[^\n]") == EOF)
			break;
	if (f)
		fclose(f);
	return n;
}

struct truth {
	unsigned long long used, peak, objects, calls;
};

static struct truth truth(void)
{
	struct truth t = { 0 };
	FILE *f = fopen("/proc/mete_standin", "r");

	if (!f || fscanf(f, "%llu %llu %llu %llu", &t.used, &t.peak, &t.objects, &t.calls) != 4)
		exit(99);
	fclose(f);
	return t;
}

static void truth_reset(bool slow)
{
	int fd = open("/proc/mete_standin", O_WRONLY);

	if (fd < 0 || write(fd, slow ? "1" : "0", 1) != 1)
		exit(98);
	close(fd);
}

static int node(int minor)
{
	char path[64];

	snprintf(path, sizeof path, "/dev/standin%d", minor);
	return open(path, O_RDWR | O_CLOEXEC);
}

struct memory_parameters {
	uint32_t words[12];
	uint64_t low, high, size, rest[6];
};

struct alloc {
	uint32_t client, parent, object, class;
	uint64_t parameters, rights;
	uint32_t size, flags, status, unused;
};

/* 0, a status, or -errno. */
static int rm_alloc(int fd, uint32_t client, uint32_t parent, uint32_t *object, uint32_t class, void *parameters)
{
	struct alloc a = { .client = client,
			   .parent = parent,
			   .object = *object,
			   .class = class,
			   .parameters = (uintptr_t)parameters };

	if (ioctl(fd, REQUEST(0x2b, sizeof a), &a))
		return -errno;
	*object = a.object;
	return (int)a.status;
}

static int rm_memory(int fd, uint32_t client, uint32_t *object, uint64_t size)
{
	struct memory_parameters m = { .size = size };

	return rm_alloc(fd, client, 2, object, 0x40, &m);
}

static int rm_free(int fd, uint32_t client, uint32_t object)
{
	uint32_t f[4] = { client, 0, object, 0 };

	return ioctl(fd, REQUEST(0x29, sizeof f), f) ? -errno : (int)f[3];
}

static int rm_dup(int fd, uint32_t client, uint32_t *object, uint32_t from_client, uint32_t from)
{
	uint32_t d[7] = { client, 2, *object, from_client, from };
	int r = ioctl(fd, REQUEST(0x34, sizeof d), d) ? -errno : (int)d[6];

	*object = d[2];
	return r;
}

static int rm_control(int fd, uint32_t client, uint32_t object, uint32_t command, void *parameters, uint32_t size)
{
	struct {
		uint32_t client, object, command, flags;
		uint64_t parameters;
		uint32_t size, status;
	} c = { client, object, command, 0, (uintptr_t)parameters, size, 0 };

	return ioctl(fd, REQUEST(0x2a, sizeof c), &c) ? -errno : (int)c.status;
}

struct session {
	int fd;
	uint32_t client;
};

/* A client with a device (2) and a subdevice (3). */
static int session_on(struct session *s, int fd)
{
	uint32_t device = 2, subdevice = 3;

	*s = (struct session){ .fd = fd };
	if (fd < 0)
		return -errno;
	return rm_alloc(fd, 0, 0, &s->client, 0x41, NULL) ?: rm_alloc(fd, s->client, s->client, &device, 0x80, NULL)
		?: rm_alloc(fd, s->client, 2, &subdevice, 0x2080, NULL);
}

static int session_open(struct session *s)
{
	return session_on(s, node(CONTROL));
}

/* Bytes that could be had in steps of `step`, at most `most`. */
static uint64_t grab(const struct session *s, uint64_t step, uint64_t most)
{
	uint64_t got = 0;
	uint32_t object;

	while (got < most && (object = 0, !rm_memory(s->fd, s->client, &object, step)))
		got += step;
	return got;
}

/* ---- the guard and its tenants ---- */

static int run(const char *const *argv)
{
	pid_t p = fork();
	int status;

	if (!p) {
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	waitpid(p, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int guard_load(void)
{
	return run((const char *[]){ "/mete-guard", "load", NULL });
}

static void cgroup(char path[64], const char *name)
{
	snprintf(path, 64, "/sys/fs/cgroup/%s", name);
}

static int tenant_set(const char *name, const char *memory, const char *devices)
{
	char path[64];

	cgroup(path, name);
	mkdir(path, 0755);
	return run((const char *[]){ "/mete-guard", "set", path, "--memory", memory, "--devices", devices, "--slice-us",
				     "2000", "--groups", "3", NULL });
}

/* Figures of a tenant as mete-guard shows them. */
static long long shown(const char *name, const char *figure)
{
	static char text[65536];
	char path[64], key[96];
	long long value = -1;
	FILE *p = popen("/mete-guard show --json", "r");
	size_t n = p ? fread(text, 1, sizeof text - 1, p) : 0;
	char *at;

	text[n] = 0;
	if (p)
		pclose(p);
	cgroup(path, name);
	snprintf(key, sizeof key, "\"path\":\"%s\"", path);
	at = strstr(text, key);
	snprintf(key, sizeof key, "\"%s\":", figure);
	at = at ? strstr(at, key) : NULL;
	if (at)
		sscanf(at + strlen(key), "%lld", &value);
	return value;
}

static void enter(const char *name)
{
	char path[96];
	int fd;

	snprintf(path, sizeof path, "/sys/fs/cgroup/%s/cgroup.procs", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		_exit(97);
	close(fd);
}

/* The body as a process in a cgroup ("": the root's). Value: its exit status; below 0: the signal that ended it. */
static int as(const char *name, int (*body)(void))
{
	pid_t p = fork();
	int status;

	if (!p) {
		enter(name);
		_exit(body());
	}
	waitpid(p, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* 0 when a body got exactly that many MiB, in steps. For bodies: return expect(...) */
static int expect(uint64_t got, uint64_t mib)
{
	if (got == MIB(mib))
		return 0;
	fprintf(stderr, "# got %llu bytes, expected %llu MiB\n", (unsigned long long)got, (unsigned long long)mib);
	return 1;
}

static bool clean(const char *what)
{
	struct truth t = truth();

	return ok(!t.used && !shown("a", "used_bytes") && !shown("b", "used_bytes") && !shown("c", "used_bytes"),
		  "%s: nothing is left, and the account says so (%llu, %lld, %lld, %lld)", what, t.used,
		  shown("a", "used_bytes"), shown("b", "used_bytes"), shown("c", "used_bytes"));
}

/* ---- quotas ---- */

static int hold_fds[2];

static int hold(uint64_t mib, uint64_t most)
{
	struct session s;
	int r;

	if (session_open(&s))
		return 2;
	r = expect(grab(&s, MIB(16), MIB(most)), mib);
	if (write(hold_fds[1], "x", 1) != 1)
		return 3;
	pause();
	return r;
}

static int hold_a(void)
{
	return hold(1024, 65536);
}
static int hold_b(void)
{
	return hold(2048, 65536);
}
static int hold_c(void)
{
	return hold(512, 65536);
}
static int hold_free(void)
{
	return hold(4096, 4096);
}

static void case_quota(void)
{
	static const struct {
		const char *name;
		int (*body)(void);
	} rows[] = { { "a", hold_a }, { "b", hold_b }, { "c", hold_c }, { "", hold_free } };
	pid_t pids[4];
	char x;

	if (pipe(hold_fds))
		exit(1);
	for (int i = 0; i < 4; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			signal(SIGTERM, SIG_DFL);
			enter(rows[i].name);
			_exit(rows[i].body());
		}
	}
	for (int i = 0; i < 4; i++)
		if (read(hold_fds[0], &x, 1) != 1)
			break;
	ok(truth().used == MIB(1024 + 2048 + 512 + 4096),
	   "three tenants have exactly their quotas beside one without (%llu MiB)", truth().used >> 20);
	ok(shown("a", "used_bytes") == MIB(1024) && shown("b", "used_bytes") == MIB(2048) &&
		   shown("c", "used_bytes") == MIB(512),
	   "... as the account has it");
	for (int i = 0; i < 4; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	close(hold_fds[0]);
	close(hold_fds[1]);
	clean("after their deaths");
}

static int body_granule(void)
{
	struct memory_parameters m = { .size = 1 };
	uint64_t got = 0;
	struct session s;
	uint32_t o;

	if (session_open(&s))
		return 2;
	m.words[6] = 1u << 23; /* pages of 4 KiB */
	if (grab(&s, MIB(1), MIB(511)) != MIB(511))
		return 3;
	for (o = 0; got < MIB(64) && (m.size = 1, o = 0, !rm_alloc(s.fd, s.client, 2, &o, 0x40, &m)); got += 4096)
		;
	return expect(got, 1);
}

static int body_frees(void)
{
	uint32_t first = 0, o = 0;
	struct session s;

	if (session_open(&s) || rm_memory(s.fd, s.client, &first, MIB(512)))
		return 2;
	if (rm_memory(s.fd, s.client, &o, 4096) != NO_MEMORY)
		return 3;
	if (rm_free(s.fd, s.client, first) || grab(&s, MIB(64), MIB(65536)) != MIB(512))
		return 4;
	/* The device takes all below it along. */
	if (rm_free(s.fd, s.client, 2) || truth().used)
		return 5;
	o = 2;
	if (rm_alloc(s.fd, s.client, s.client, &o, 0x80, NULL) || grab(&s, MIB(128), MIB(65536)) != MIB(512))
		return 6;
	if (rm_free(s.fd, s.client, s.client) || truth().used || session_on(&s, s.fd))
		return 7;
	if (grab(&s, MIB(256), MIB(65536)) != MIB(512))
		return 8;
	close(s.fd);
	if (truth().used || session_open(&s))
		return 9;
	return expect(grab(&s, MIB(512), MIB(65536)), 512);
}

static void case_granule(void)
{
	ok(!as("c", body_granule), "exact to the driver's granule");
	ok(!as("c", body_frees), "free of memory, device, client and close give back, to the byte");
	clean("granule and frees");
}

/* ---- descriptors ---- */

static int body_second(void)
{
	struct session s, t;

	if (session_open(&s) || session_open(&t) || grab(&s, MIB(64), MIB(256)) != MIB(256))
		return 2;
	return expect(grab(&t, MIB(64), MIB(65536)), 256);
}

static int body_dup_fd(void)
{
	struct session s, t;

	if (session_open(&s) || session_on(&t, dup(s.fd)) || grab(&s, MIB(64), MIB(256)) != MIB(256))
		return 2;
	return expect(grab(&t, MIB(64), MIB(65536)), 256);
}

static int body_fork(void)
{
	struct session s;
	int status;

	if (session_open(&s) || grab(&s, MIB(64), MIB(256)) != MIB(256))
		return 2;
	if (!fork()) {
		struct session t;

		if (expect(grab(&s, MIB(64), MIB(128)), 128) || session_open(&t))
			_exit(1);
		_exit(expect(grab(&t, MIB(64), MIB(65536)), 128));
	}
	wait(&status);
	return status ? 3 : 0;
}

static int body_exec(void)
{
	enter("");
	execl("/cases", "cases", "--grab", "512", NULL);
	return 9;
}

static int body_move(void)
{
	struct session s;

	if (session_open(&s))
		return 2;
	enter("");
	if (grab(&s, MIB(64), MIB(256)) != MIB(256) || session_open(&s))
		return 3;
	return expect(grab(&s, MIB(64), MIB(65536)), 256);
}

static int body_move_child(void)
{
	int status;

	if (!fork()) {
		struct session s;

		enter("");
		if (!fork()) {
			if (session_open(&s))
				_exit(3);
			_exit(expect(grab(&s, MIB(64), MIB(65536)), 512));
		}
		wait(&status);
		_exit(!!status);
	}
	wait(&status);
	return !!status;
}

static int body_namespaces(void)
{
	struct session s;
	int status;

	if (unshare(CLONE_NEWCGROUP | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET))
		return 4;
	if (!fork()) {
		if (unshare(CLONE_NEWUSER) || session_open(&s))
			_exit(5);
		_exit(expect(grab(&s, MIB(64), MIB(65536)), 512));
	}
	wait(&status);
	return !!status;
}

static int body_child_cgroup(void)
{
	struct session s;

	mkdir("/sys/fs/cgroup/c/below", 0755);
	enter("c/below");
	if (session_open(&s))
		return 2;
	return expect(grab(&s, MIB(64), MIB(65536)), 512);
}

static void send_fd(int socket, int fd)
{
	char x = 'x', space[CMSG_SPACE(sizeof fd)] = { 0 };
	struct iovec v = { &x, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	sendmsg(socket, &m, 0);
}

static int take_fd(int socket)
{
	char x, space[CMSG_SPACE(sizeof(int))];
	struct iovec v = { &x, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space };
	int fd = -1;

	if (recvmsg(socket, &m, 0) == 1 && CMSG_FIRSTHDR(&m))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
	return fd;
}

static int passed[2];

/* A descriptor that was opened outside. */
static int body_taken(void)
{
	struct session s;

	if (session_on(&s, take_fd(passed[1])))
		return 2;
	return expect(grab(&s, MIB(64), MIB(65536)), 512);
}

/* A tenant's descriptor, used by a process outside. */
static int body_given(void)
{
	struct session s;
	char x;

	if (session_open(&s))
		return 2;
	send_fd(passed[0], s.fd);
	if (recv(passed[0], &x, 1, 0) != 1)
		return 3;
	return grab(&s, MIB(64), MIB(65536)) ? 3 : 0;
}

static void case_descriptors(void)
{
	struct session s;
	pid_t p;
	int status, fd;

	ok(!as("c", body_second), "a second descriptor is of the same account");
	ok(!as("c", body_dup_fd), "a duplicated descriptor");
	ok(!as("c", body_fork), "an inherited descriptor, and one that the child opens");
	ok(!as("c", body_exec), "exec after leaving the cgroup");
	ok(!as("c", body_move), "leaving the cgroup with a descriptor open");
	ok(!as("c", body_move_child), "leaving the cgroup, then fork, then open");
	ok(!as("c", body_namespaces), "namespaces of its own");
	ok(!as("c", body_child_cgroup), "a cgroup of its own below the tenant's");

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, passed))
		exit(1);
	fd = node(CONTROL);
	send_fd(passed[0], fd);
	close(fd);
	ok(!as("c", body_taken), "a descriptor from outside is charged to the tenant that uses it");
	p = fork();
	if (!p) {
		enter("c");
		_exit(body_given());
	}
	session_on(&s, take_fd(passed[1]));
	ok(grab(&s, MIB(64), MIB(65536)) == MIB(512), "a tenant's descriptor outside is charged to the tenant");
	if (send(passed[1], "x", 1, 0) != 1)
		exit(1);
	waitpid(p, &status, 0);
	ok(!status, "... whose quota is then used up");
	close(s.fd);
	close(passed[0]);
	close(passed[1]);
	clean("descriptors");
}

/* ---- calls ---- */

static int body_transfer(void)
{
	struct memory_parameters m = { .size = MIB(1) };
	struct session s;
	struct alloc a = { .parent = 2, .class = 0x40, .parameters = (uintptr_t)&m };
	struct {
		uint32_t number, size;
		uint64_t at;
	} x = { 0x2b, sizeof a, (uintptr_t)&a };

	if (session_open(&s))
		return 2;
	a.client = s.client;
	return ioctl(s.fd, REQUEST(211, sizeof x), &x) == -1 && errno == EPERM && !truth().used ? 0 : 3;
}

static int body_letter(void)
{
	struct session s;
	uint64_t got = 0;

	if (session_open(&s))
		return 2;
	for (;;) {
		struct memory_parameters m = { .size = MIB(64) };
		struct alloc a = { .client = s.client, .parent = 2, .class = 0x40, .parameters = (uintptr_t)&m };

		if (ioctl(s.fd, _IOC(_IOC_WRITE, 'x', 0x2b, sizeof a), &a) || a.status)
			break;
		got += MIB(64);
	}
	return expect(got, 512);
}

/* One allocation of the heap. 0: done. */
static int heap_take(const struct session *s, uint32_t function, int size_at, uint32_t *ret_object)
{
	uint32_t h[46] = { s->client, 2, function };
	uint64_t size = MIB(64);
	int r;

	memcpy((char *)h + size_at, &size, 8);
	r = ioctl(s->fd, REQUEST(0x4a, sizeof h), h) ? -errno : (int)h[5];
	*ret_object = h[11];
	return r;
}

static uint64_t heap_grab(const struct session *s, uint32_t function, int size_at)
{
	uint64_t got = 0;
	uint32_t o;

	while (!heap_take(s, function, size_at, &o))
		got += MIB(64);
	return got;
}

static int body_heap_free(void)
{
	struct session s;
	uint32_t o;

	if (session_open(&s))
		return 2;
	for (int i = 0; i < 20; i++) {
		uint32_t f[46] = { s.client, 2, 3 };

		if (heap_take(&s, 2, 88, &o))
			return 3;
		f[11] = o;
		if (ioctl(s.fd, REQUEST(0x4a, sizeof f), f) || f[5] || truth().used)
			return 4;
	}
	return 0;
}

static int body_heap_2(void)
{
	struct session s;
	return session_open(&s) ? 2 : expect(heap_grab(&s, 2, 88), 512);
}
static int body_heap_6(void)
{
	struct session s;
	return session_open(&s) ? 2 : expect(heap_grab(&s, 6, 88), 512);
}
static int body_heap_14(void)
{
	struct session s;
	return session_open(&s) ? 2 : expect(heap_grab(&s, 14, 80), 512);
}

static int body_heap_bad(void)
{
	struct session s;

	if (session_open(&s))
		return 2;
	return heap_grab(&s, 1, 88) || heap_grab(&s, 19, 88) || heap_grab(&s, 99, 88) || truth().used ? 3 : 0;
}

static int body_old_memory(void)
{
	struct session s;
	uint64_t got = 0;
	int device = node(0);

	if (session_open(&s) || device < 0 || ioctl(device, REQUEST(201, 4), &s.fd))
		return 2;
	for (;; got += MIB(64)) {
		uint32_t d[14] = { s.client, 2, 0, 0x40 };
		uint64_t limit = MIB(64) - 1;

		memcpy(d + 8, &limit, 8);
		if (ioctl(device, REQUEST(0x27, sizeof d), d) || d[10])
			break;
	}
	return expect(got, 512);
}

static int body_escapes(void)
{
	struct session s;
	char bytes[256] = { 0 };
	int bad = 0;

	if (session_open(&s))
		return 2;
	for (unsigned int n = 0; n < 256; n++)
		if (n == 0x28 || n == 0x32 || n == 0x33 || n == 0x38 || n == 0x39 || n == 0x4d || n == 217 || n == 255)
			bad += ioctl(s.fd, REQUEST(n, 64), bytes) != -1 || errno != EPERM;
	for (unsigned int size = 0; size < 300; size++)
		if (size != 32 && size != 48)
			bad += ioctl(s.fd, REQUEST(0x2b, size), bytes) != -1;
	return bad;
}

static long int80(long number, long a, long b, long c)
{
	long r;

	__asm__ volatile("int $0x80"
			 : "=a"(r)
			 : "a"(number), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	return r;
}

static int body_32bit(void)
{
	struct alloc *a = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct memory_parameters *m = (void *)((char *)a + 4096);
	struct session s;
	uint64_t got = 0;

	if (session_open(&s) || a == MAP_FAILED)
		return 2;
	for (;; got += MIB(64)) {
		*m = (struct memory_parameters){ .size = MIB(64) };
		*a = (struct alloc){ .client = s.client, .parent = 2, .class = 0x40, .parameters = (uintptr_t)m };
		if (int80(54, s.fd, (long)(int)REQUEST(0x2b, sizeof *a), (long)a) || a->status)
			break;
	}
	/* Refused where the kernel tells such calls apart. */
	return got && expect(got, 512);
}

static int body_reply_lost(void)
{
	struct memory_parameters *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct session s;
	uint32_t o;

	if (session_open(&s) || m == MAP_FAILED)
		return 2;
	m->size = MIB(128);
	mprotect(m, 4096, PROT_READ);
	for (int i = 0; i < 32; i++) {
		o = 0;
		rm_alloc(s.fd, s.client, 2, &o, 0x40,
			 m); /* its reply cannot be written: the memory is taken all the same */
	}
	return truth().used == MIB(512) ? 0 : 3;
}

static int body_objects(void)
{
	struct session s, t;
	uint32_t o = 0, d = 0;

	if (session_open(&s) || session_open(&t) || rm_memory(s.fd, s.client, &o, MIB(512)))
		return 2;
	/* A second name keeps the memory, and its charge. */
	if (rm_dup(t.fd, t.client, &d, s.client, o) || rm_free(s.fd, s.client, o))
		return 3;
	if (truth().used != MIB(512) || grab(&s, MIB(64), MIB(64)))
		return 4;
	close(s.fd);
	if (truth().used != MIB(512) || grab(&t, MIB(64), MIB(64)))
		return 5;
	if (rm_free(t.fd, t.client, d) || truth().used)
		return 6;
	return expect(grab(&t, MIB(64), MIB(65536)), 512);
}

static uint32_t foreign_client, foreign_object;

static int body_foreign(void)
{
	struct session s;
	uint32_t d = 0;

	if (session_open(&s))
		return 2;
	return rm_dup(s.fd, s.client, &d, foreign_client, foreign_object) == -EPERM ? 0 : 3;
}

static int body_export(void)
{
	struct session s;
	uint32_t p[6] = { 1, 2, 0, 0, 0, 0 };

	if (session_open(&s))
		return 2;
	for (int i = 0; i < 4; i++) {
		static const uint32_t commands[] = { 0x3d05, 0x3d06, 0x3d0b, 0x3d0c };

		if (rm_control(s.fd, s.client, s.client, commands[i], p, sizeof p) != -EPERM)
			return 3;
	}
	return 0;
}

static int body_scheduling(void)
{
	static const uint32_t commands[] = { 0xa06c0105, 0xa06c0107, 0xa06c0110, 0x2080110b, 0x20801115 };
	uint64_t slice = 1000, is = 0;
	uint32_t groups[4] = { 0 };
	struct session s;

	if (session_open(&s))
		return 2;
	for (int i = 0; i < 3; i++)
		if (rm_alloc(s.fd, s.client, 2, &groups[i], 0xa06c, NULL))
			return 3;
	if (rm_alloc(s.fd, s.client, 2, &groups[3], 0xa06c, NULL) != -EPERM)
		return 4;
	if (rm_control(s.fd, s.client, groups[0], 0xa06c0103, &slice, 8))
		return 5;
	slice = 1000000;
	if (rm_control(s.fd, s.client, groups[0], 0xa06c0103, &slice, 8) != -EPERM)
		return 6;
	if (rm_control(s.fd, s.client, groups[0], 0xa06c0104, &is, 8) || is != 1000)
		return 7;
	for (int i = 0; i < 5; i++)
		if (rm_control(s.fd, s.client, groups[0], commands[i], &slice, 8) != -EPERM)
			return 8;
	if (rm_free(s.fd, s.client, groups[1]) || rm_alloc(s.fd, s.client, 2, &groups[3], 0xa06c, NULL))
		return 9;
	return 0;
}

struct fb_info {
	uint32_t count;
	struct {
		uint32_t index, data;
	} list[128];
};

static int body_info(void)
{
	struct fb_info f = { .count = 4, .list = { { 9, 0 }, { 0x16, 0 }, { 0x20, 0 }, { 0x0b, 0 } } };
	struct session s;

	if (session_open(&s) || grab(&s, MIB(64), MIB(192)) != MIB(192))
		return 2;
	if (rm_control(s.fd, s.client, 3, 0x20801303, &f, sizeof f))
		return 3;
	return f.list[0].data == 512 << 10 && f.list[1].data == 320 << 10 && f.list[2].data == 512 << 10 &&
			       f.list[3].data == 384
		       ? 0
		       : 4;
}

static void case_calls(void)
{
	struct session s;

	ok(!as("c", body_transfer), "the call within a call is refused");
	ok(!as("c", body_letter), "another letter of the call is charged the same");
	ok(!as("c", body_heap_2), "the heap by size");
	ok(!as("c", body_heap_free), "... and its free gives back");
	ok(!as("c", body_heap_6), "the heap by pitch");
	ok(!as("c", body_heap_14), "the heap by range");
	ok(!as("c", body_heap_bad), "other functions of the heap are refused");
	ok(!as("c", body_old_memory), "the old call for memory, on a device");
	ok(!as("c", body_escapes), "escapes and unknown sizes are refused");
	ok(!as("c", body_32bit), "calls of 32-bit code are charged the same, or refused");
	ok(!as("c", body_reply_lost), "memory whose reply cannot be written stays charged");
	ok(!as("c", body_objects), "a second name keeps the charge until the last one is gone");
	session_open(&s);
	foreign_client = s.client;
	foreign_object = 0;
	rm_memory(s.fd, s.client, &foreign_object, MIB(64));
	ok(!as("c", body_foreign), "memory of a client outside is not taken in");
	close(s.fd);
	ok(!as("c", body_export), "memory does not leave or enter as a descriptor");
	ok(!as("c", body_scheduling), "slices, groups and priorities stay within the tenant's");
	ok(!as("c", body_info), "memory information says the quota");
	clean("calls");
}

/* ---- devices ---- */

static int body_devices(void)
{
	int fd;

	mknod("/tmp/own", S_IFCHR | 0666, makedev(standin_major(), 1));
	fd = open("/tmp/own", O_RDWR);
	if (fd >= 0 || errno != EPERM)
		return 2;
	if (node(1) >= 0 || node(0) < 0)
		return 3;
	mknod("/tmp/mine", S_IFCHR | 0666, makedev(standin_major(), CONTROL));
	fd = open("/tmp/mine", O_RDWR);
	struct session s;

	if (session_on(&s, fd))
		return 4;
	return expect(grab(&s, MIB(64), MIB(65536)), 512);
}

static int uring(struct io_uring_params *p)
{
	memset(p, 0, sizeof *p);
	return (int)syscall(__NR_io_uring_setup, 4, p);
}

/* One entry through io_uring. Value: its result. */
static int uring_one(const struct io_uring_sqe *e)
{
	struct io_uring_params p;
	int fd = uring(&p);
	char *sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			IORING_OFF_SQ_RING);
	char *cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE,
			MAP_SHARED, fd, IORING_OFF_CQ_RING);
	struct io_uring_sqe *sqes =
		mmap(NULL, p.sq_entries * sizeof *sqes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);

	if (fd < 0 || sq == MAP_FAILED || cq == MAP_FAILED || sqes == MAP_FAILED)
		return -1000;
	sqes[0] = *e;
	*(unsigned int *)(sq + p.sq_off.array) = 0;
	atomic_store((_Atomic unsigned int *)(sq + p.sq_off.tail), 1);
	if (syscall(__NR_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		return -1001;
	return ((struct io_uring_cqe *)(cq + p.cq_off.cqes))->res;
}

static int body_uring(void)
{
	struct io_uring_sqe command = { .opcode = 46 /* URING_CMD */, .fd = node(CONTROL) };
	struct io_uring_sqe refused = {
		.opcode = IORING_OP_OPENAT, .fd = AT_FDCWD, .addr = (uintptr_t) "/dev/standin1", .open_flags = O_RDWR
	};
	struct io_uring_sqe opened = { .opcode = IORING_OP_OPENAT,
				       .fd = AT_FDCWD,
				       .flags = IOSQE_ASYNC,
				       .addr = (uintptr_t) "/dev/standin255",
				       .open_flags = O_RDWR };
	struct session s;
	int r = uring_one(&command), fd;

	if (r >= 0 || r <= -1000)
		return 2;
	if (uring_one(&refused) != -EPERM)
		return 3;
	fd = uring_one(&opened);
	enter("");
	if (fd < 0 || session_on(&s, fd))
		return 4;
	return expect(grab(&s, MIB(64), MIB(65536)), 512);
}

static int body_reopen(void)
{
	struct session s;
	char path[64];
	int fd = take_fd(passed[1]), pid = (int)getppid(), pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	fd = open(path, O_RDWR);
	if (session_on(&s, fd) || grab(&s, MIB(64), MIB(256)) != MIB(256))
		return 2;
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, hold_fds[0], 0);
	if (fd < 0 || session_on(&s, fd))
		return 3;
	return expect(grab(&s, MIB(64), MIB(65536)), 256);
}

static void case_devices(void)
{
	int fd = node(CONTROL);

	ok(!as("c", body_devices), "a node made with mknod is the same device; another's is refused");
	ok(!as("c", body_uring), "io_uring: no calls, and opens are the tenant's");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, passed))
		exit(1);
	send_fd(passed[0], fd);
	hold_fds[0] = fd;
	ok(!as("c", body_reopen), "descriptors opened again through /proc, and fetched from another process");
	close(fd);
	clean("devices");
}

/* ---- races ---- */

struct race {
	_Atomic bool stop;
	_Atomic uint64_t tries, wins; /* shared between processes */
	struct memory_parameters m;
	struct alloc a;
};

static struct race *race;
static int race_kind;
static uint64_t race_tries;

static void flip(void)
{
	static struct memory_parameters other = { .size = MIB(4096) };

	switch (race_kind) {
	case 0: /* the size */
		*(volatile uint64_t *)&race->m.size = MIB(4096);
		*(volatile uint64_t *)&race->m.size = MIB(1);
		break;
	case 1: /* the class */
		*(volatile uint32_t *)&race->a.class = 0x40;
		*(volatile uint32_t *)&race->a.class = 0x3e;
		break;
	default: /* the pointer */
		*(volatile uint64_t *)&race->a.parameters = (uintptr_t)&other;
		*(volatile uint64_t *)&race->a.parameters = (uintptr_t)&race->m;
		break;
	}
}

static void *flipper(void *unused)
{
	while (!race->stop)
		flip();
	return unused;
}

/* Tries until it is killed, or enough have been made. 0: never more than the quota, to its own knowledge. */
static int body_race(void)
{
	struct session s;
	pthread_t t;

	if (session_open(&s) || pthread_create(&t, NULL, flipper, NULL))
		return 2;
	while (race->tries < race_tries) {
		race->a = (struct alloc){ .client = s.client,
					  .parent = 2,
					  .class = race_kind == 1 ? 0x3e : 0x40,
					  .parameters = (uintptr_t)&race->m };
		race->m.size = race_kind == 1 ? MIB(4096) : MIB(1);
		race->tries++;
		if (ioctl(s.fd, REQUEST(0x2b, sizeof race->a), &race->a) || race->a.status || !race->a.object)
			continue;
		/* Here the program runs with what it got. */
		if (truth().used > MIB(512))
			race->wins++;
		rm_free(s.fd, s.client, race->a.object);
	}
	race->stop = true;
	pthread_join(t, NULL);
	return 0;
}

static void race_all(int kind, const char *what, uint64_t tries, uint64_t limit_ns)
{
	uint64_t until = now_ns() + limit_ns, killed = 0, left = 0;
	int r = -1;

	race = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	race_kind = kind;
	race_tries = tries;
	while (race->tries < tries && now_ns() < until) {
		race->stop = false;
		r = as("c", body_race);
		killed += r == -SIGKILL;
		if (r != -SIGKILL && r)
			break;
		left += truth().used != 0;
	}
	ok(race->tries >= tries && !race->wins && !left && (r == 0 || r == -SIGKILL),
	   "%s: %llu tries, %llu times ended for it, 0 bytes over for the program (%llu), 0 left (%llu)", what,
	   (unsigned long long)race->tries, (unsigned long long)killed, (unsigned long long)race->wins,
	   (unsigned long long)left);
	munmap(race, 4096);
	clean(what);
}

static void case_race(void)
{
	race_all(0, "a thread races the size", 100000, 400000000000u);
}

static void case_race_class(void)
{
	race_all(1, "a thread races the class", 10000, 400000000000u);
}

static void case_race_pointer(void)
{
	race_all(2, "a thread races the pointer", 10000, 400000000000u);
}

/* A sibling writes into the process while it calls. */
static int body_sibling(void)
{
	struct memory_parameters *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t me = getpid(), writer;
	struct session s;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	if (session_open(&s))
		return 2;
	writer = fork();
	if (!writer) {
		uint64_t sizes[2] = { MIB(4096), MIB(1) };

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0;; i++) {
			struct iovec from = { &sizes[i & 1], 8 }, to = { &m->size, 8 };

			process_vm_writev(me, &from, 1, &to, 1, 0);
		}
	}
	for (int i = 0; i < 3000; i++) {
		uint32_t o = 0;

		m->size = MIB(1);
		if (!rm_alloc(s.fd, s.client, 2, &o, 0x40, m)) {
			if (truth().used > MIB(512))
				return 3;
			rm_free(s.fd, s.client, o);
		}
	}
	kill(writer, SIGKILL);
	return 0;
}

/* A sibling stops it with ptrace at the entry of the call, and changes the size when the guard may have read it. */
static void case_sibling(void)
{
	int r = 0, killed = 0;

	for (int i = 0; i < 5 && (!r || r == -SIGKILL); i++) {
		r = as("c", body_sibling);
		killed += r == -SIGKILL;
	}
	ok(!r || r == -SIGKILL, "a sibling that writes into the process (%d of 5 ended for it)", killed);
	for (int i = 0; i < 200 && truth().used; i++)
		usleep(10000);
	clean("sibling");
}

static uint32_t shared_object;
static struct session shared_session;

static void *free_twice(void *unused)
{
	for (int i = 0; i < 3000; i++) {
		rm_free(shared_session.fd, shared_session.client, shared_object);
		sched_yield();
	}
	return unused;
}

/* Threads free and make the same name: never more free than is free. */
static int body_names(void)
{
	pthread_t t[2];

	if (session_open(&shared_session))
		return 2;
	shared_object = 0x7777;
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, free_twice, NULL);
	for (int i = 0; i < 6000; i++) {
		uint32_t o = shared_object, d = 0;

		rm_memory(shared_session.fd, shared_session.client, &o, MIB(64));
		if (i % 3 == 0 &&
		    !rm_dup(shared_session.fd, shared_session.client, &d, shared_session.client, shared_object))
			rm_free(shared_session.fd, shared_session.client, d);
		if (truth().used > MIB(512))
			return 3;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	grab(&shared_session, MIB(64), MIB(65536));
	return truth().used > MIB(512) ? 4 : 0;
}

static void case_names(void)
{
	int r = as("d", body_names);

	ok(!r, "threads free and take the same name at once: never over the quota (%d)", r);
	ok(!truth().used, "... and nothing is left");
}

static void *many_take(void *unused)
{
	uint32_t o = 0;
	uint64_t slice;

	rm_memory(shared_session.fd, shared_session.client, &o, MIB(4));
	/* What the call before left is looked at by the next. */
	rm_control(shared_session.fd, shared_session.client, 2, 0xa06c0104, &slice, 8);
	return unused;
}

/* More threads inside the driver at once than the kernel watches for their return. */
static int body_many(void)
{
	pthread_t t[64];

	if (session_open(&shared_session))
		return 2;
	for (int i = 0; i < 64; i++)
		if (pthread_create(&t[i], NULL, many_take, NULL))
			return 3;
	for (int i = 0; i < 64; i++)
		pthread_join(t[i], NULL);
	if (truth().used != MIB(256))
		return 4;
	/* The threads are gone, and what they took is not. */
	return expect(grab(&shared_session, MIB(4), MIB(65536)), 256);
}

static int body_many_files(void)
{
	struct session s;

	if (session_open(&s))
		return 2;
	grab(&s, MIB(1), MIB(4));
	pause();
	return 0;
}

static void case_many(void)
{
	pid_t pids[120];
	int r;

	truth_reset(true);
	r = as("c", body_many);
	truth_reset(false);
	ok(!r, "64 threads in the driver at once: the quota is exact (%d)", r);
	clean("many threads");
	for (int i = 0; i < 120; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			enter("a");
			_exit(body_many_files());
		}
	}
	usleep(500000);
	for (int i = 0; i < 120; i++)
		kill(pids[i], SIGKILL);
	for (int i = 0; i < 120; i++)
		waitpid(pids[i], NULL, 0);
	clean("120 processes killed at once");
}

/* ---- tables ---- */

static int body_full(void)
{
	struct session s;
	uint32_t o;
	int n = 0, r = 0;

	if (session_open(&s))
		return 2;
	for (; n < 20000 && !r; n++) {
		o = 0;
		r = rm_alloc(s.fd, s.client, s.client, &o, 0x2080, NULL);
	}
	o = 0;
	r = n < 20000 && r == -ENOMEM && rm_memory(s.fd, s.client, &o, MIB(1)) == -ENOMEM ? 0 : 3;
	if (write(hold_fds[1], r ? "n" : "y", 1) != 1)
		return 4;
	pause();
	return r;
}

static int body_room(void)
{
	struct session s;

	return session_open(&s) ? 2 : expect(grab(&s, MIB(64), MIB(65536)), 2048);
}

static int body_files(void)
{
	int n = 0, fd = 0;

	for (; n < 9000 && fd >= 0; n++)
		fd = node(CONTROL);
	return n > 8000 && n < 9000 && errno == ENOMEM ? 0 : 3;
}

static void case_full(void)
{
	pid_t p;
	char x = 0;

	if (pipe(hold_fds))
		exit(1);
	p = fork();
	if (!p) {
		enter("c");
		_exit(body_full());
	}
	ok(read(hold_fds[0], &x, 1) == 1 && x == 'y', "a tenant with too many objects is refused");
	ok(!as("b", body_room), "... and others have room");
	kill(p, SIGKILL);
	waitpid(p, NULL, 0);
	close(hold_fds[0]);
	close(hold_fds[1]);
	ok(!as("c", body_files), "a tenant with too many files is refused");
	clean("full tables");
}

/* ---- deaths ---- */

static void case_killed(void)
{
	unsigned int seed = 1;

	for (int i = 0; i < 1000; i++) {
		pid_t p = fork();

		if (!p) {
			struct session s;
			uint32_t o;

			enter(i % 3 == 0 ? "a" : i % 3 == 1 ? "b" : "c");
			for (;;) {
				if (session_open(&s))
					_exit(0);
				for (int k = 0; k < 20; k++) {
					o = 0;
					if (!rm_memory(s.fd, s.client, &o, MIB(1 + k)) && k % 3 == 0)
						rm_free(s.fd, s.client, o);
				}
				close(s.fd);
			}
		}
		usleep((useconds_t)(rand_r(&seed) % 4000));
		kill(p, SIGKILL);
		waitpid(p, NULL, 0);
	}
	clean("1000 processes killed at random");
	ok(!shown("a", "files") && !shown("b", "files") && !shown("c", "files") && !shown("a", "objects") &&
		   !shown("b", "objects"),
	   "... and no file or object is counted");
}

static int body_grab(void)
{
	struct session s;

	if (session_open(&s))
		return 2;
	return expect(grab(&s, MIB(64), MIB(65536)), 512);
}

static int body_grab_128(void)
{
	struct session s;

	if (session_open(&s))
		return 2;
	return expect(grab(&s, MIB(64), MIB(65536)), 128);
}

static int body_churn(void)
{
	struct session s;
	uint64_t until = now_ns() + 4000000000u;

	while (now_ns() < until) {
		if (session_open(&s) || grab(&s, MIB(64), MIB(65536)) != MIB(512))
			return 2;
		if (truth().used != MIB(512) || rm_free(s.fd, s.client, s.client) || truth().used)
			return 3;
		close(s.fd);
	}
	return 0;
}

static void case_helper(void)
{
	unsigned int seed = 7;
	int status, loads = 0;
	pid_t churn;

	/* A helper that is killed at any moment of a load leaves a guard that holds. */
	for (int i = 0; i < 6; i++) {
		pid_t p = fork();

		if (!p) {
			execl("/mete-guard", "mete-guard", "load", NULL);
			_exit(1);
		}
		usleep((useconds_t)(rand_r(&seed) % 800000));
		kill(p, SIGKILL);
		waitpid(p, NULL, 0);
		if (as("c", body_grab))
			break;
		loads++;
	}
	ok(loads == 6, "a helper killed while it loads: the quota holds (%d of 6)", loads);
	ok(!guard_load() && !as("c", body_grab), "and it can be loaded again");
	clean("helpers killed");

	churn = fork();
	if (!churn) {
		enter("c");
		_exit(body_churn());
	}
	for (loads = 0; loads < 3 && !guard_load(); loads++)
		;
	waitpid(churn, &status, 0);
	ok(loads == 3 && WIFEXITED(status) && !WEXITSTATUS(status),
	   "programs replaced %d times under load: no call passes between (%d)", loads, status);
	clean("replaced");
}

static int body_refused(void)
{
	struct session s;
	int r = session_open(&s);

	return r == -EPERM || (r < 0 && errno == EPERM) ? 0 : 2;
}

static int waiting[2];

static int body_ended(void)
{
	struct session s;
	uint32_t o = 0;
	char x;

	if (session_open(&s) || grab(&s, MIB(64), MIB(64)) != MIB(64) || write(hold_fds[1], "x", 1) != 1 ||
	    read(waiting[0], &x, 1) != 1)
		return 2;
	return rm_memory(s.fd, s.client, &o, MIB(1)) == -EPERM ? body_refused() : 3;
}

static void case_end(void)
{
	int status;
	pid_t p;
	char x;

	tenant_set("e", "128M", "0");
	if (pipe(hold_fds) || pipe(waiting))
		exit(1);
	p = fork();
	if (!p) {
		enter("e");
		_exit(body_ended());
	}
	if (read(hold_fds[0], &x, 1) != 1)
		exit(1);
	run((const char *[]){ "/mete-guard", "drop", "/sys/fs/cgroup/e", NULL });
	if (write(waiting[1], "x", 1) != 1)
		exit(1);
	waitpid(p, &status, 0);
	ok(!status, "a tenant whose grant has ended gets nothing more, inside its cgroup or not (%x)", status);
	ok(!truth().used, "... and what it had is gone with it");
}

static int body_grant(void)
{
	struct session s;
	char x;

	if (read(waiting[0], &x, 1) != 1 || session_open(&s))
		return 2;
	if (grab(&s, MIB(64), MIB(128)) != MIB(128) || unshare(CLONE_NEWCGROUP))
		return 3;
	return as("b", body_grab_128);
}

/* A process that is named, in no cgroup of a tenant. */
static void case_grant(void)
{
	char pid[16];
	int status;
	pid_t p;

	if (pipe(waiting))
		exit(1);
	p = fork();
	if (!p)
		_exit(body_grant());
	snprintf(pid, sizeof pid, "%d", p);
	ok(!run((const char *[]){ "/mete-guard", "set", "grant:7", "--memory", "256M", "--process", pid, NULL }),
	   "a process is named a grant's");
	ok(run((const char *[]){ "/mete-guard", "set", "grant:8", "--memory", "256M", "--process", pid, NULL }) == 1,
	   "... and cannot be another's");
	if (write(waiting[1], "x", 1) != 1)
		exit(1);
	waitpid(p, &status, 0);
	ok(!status, "it and its child have the quota together, in another tenant's cgroup too (%x)", status);
	clean("a grant's process");
	ok(!run((const char *[]){ "/mete-guard", "set", "/sys/fs/cgroup/d", "--memory", "512M", NULL }) &&
		   run((const char *[]){ "/mete-guard", "drop", "grant:7", NULL }) == 1,
	   "a grant whose process has ended is forgotten with the next tenant");
}

/* ---- cost ---- */

static uint64_t cost_ns;

static int body_cost(void)
{
	struct session s;
	uint64_t best = UINT64_MAX;
	int fd = open("/tmp/cost", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (session_open(&s))
		return 2;
	for (int turn = 0; turn < 30; turn++) {
		uint64_t from = now_ns();

		for (int i = 0; i < 500; i++) {
			uint32_t o = 0;

			if (rm_memory(s.fd, s.client, &o, MIB(1)) || rm_free(s.fd, s.client, o))
				return 3;
		}
		from = now_ns() - from;
		best = from < best ? from : best;
	}
	best /= 1000;
	return write(fd, &best, sizeof best) == sizeof best ? 0 : 4;
}

static uint64_t cost(const char *name)
{
	int fd;

	cost_ns = 0;
	if (as(name, body_cost))
		return 0;
	fd = open("/tmp/cost", O_RDONLY);
	if (read(fd, &cost_ns, sizeof cost_ns) != sizeof cost_ns)
		cost_ns = 0;
	close(fd);
	return cost_ns;
}

static void case_cost(void)
{
	uint64_t bare, other = cost(""), tenant = cost("c");

	run((const char *[]){ "/mete-guard", "unload", NULL });
	bare = cost("");
	guard_load();
	tenant_set("a", "1G", "0");
	tenant_set("b", "2G", "0");
	tenant_set("c", "512M", "0");
	ok(bare && other && tenant,
	   "a call in this guest, emulated: bare %llu ns, others %llu ns (%.2f), a tenant's %llu ns (%.2f)",
	   (unsigned long long)bare, (unsigned long long)other, (double)other / (double)bare,
	   (unsigned long long)tenant, (double)tenant / (double)bare);
}

static int body_info_locked(void)
{
	struct fb_info f = { .count = 1, .list = { { 9, 0 } } };
	struct session s;

	if (session_open(&s) || rm_control(s.fd, s.client, 3, 0x20801303, &f, sizeof f))
		return 2;
	return f.list[0].data == 16u << 20 ? 0 : 3;
}

/* Under lockdown the quota holds, and replies stay as they are. */
static void case_locked(void)
{
	ok(!as("c", body_info_locked), "under lockdown memory information stays the device's");
	ok(!as("c", body_grab), "... and the quota holds");
	clean("locked down");
}

static const struct {
	const char *name;
	void (*body)(void);
} cases[] = {
	{ "quota", case_quota },   { "granule", case_granule }, { "descriptors", case_descriptors },
	{ "calls", case_calls },   { "devices", case_devices }, { "sibling", case_sibling },
	{ "names", case_names },   { "many", case_many },	{ "full", case_full },
	{ "end", case_end },	   { "grant", case_grant },	{ "helper", case_helper },
	{ "killed", case_killed }, { "race", case_race },	{ "race-class", case_race_class },
	{ "race-pointer", case_race_pointer },
	{ "cost", case_cost },	   { "locked", case_locked },
};

int main(int argc, char **argv)
{
	char path[64];

	if (argc == 3 && !strcmp(argv[1], "--grab")) {
		struct session s;

		return session_open(&s) ? 2 : expect(grab(&s, MIB(64), MIB(65536)), (uint64_t)atoi(argv[2]));
	}
	for (int minor = 0; minor < 256; minor++) {
		snprintf(path, sizeof path, "/dev/standin%d", minor);
		mknod(path, S_IFCHR | 0666, makedev(standin_major(), (unsigned int)minor));
	}
	if (!ok(!guard_load(), "the guard is loaded"))
		return 1;
	tenant_set("a", "1G", "0");
	tenant_set("b", "2G", "0");
	tenant_set("d", "512M", "0");
	if (!ok(!tenant_set("c", "512M", "0"), "tenants are made"))
		return 1;
	truth_reset(false);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int k = 1; k < argc; k++)
			if (!strcmp(argv[k], "all") || !strcmp(argv[k], cases[i].name)) {
				uint64_t from = now_ns();

				cases[i].body();
				printf("# %s: %.1f s\n", cases[i].name, (double)(now_ns() - from) / 1e9);
			}
	printf("1..%d\n", count);
	return failed != 0;
}
