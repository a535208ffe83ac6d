/* ground.c: see ground.h. */
#include "ground.h"

#include "guard/counts.h"
#include "guard/notify/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int count, failed;
bool front_notify;
int hold_fds[2], passed[2];

bool ok(bool good, const char *fmt, ...)
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

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

unsigned int standin_major(void)
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

struct truth truth(void)
{
	struct truth t = { 0 };
	FILE *f = fopen("/proc/mete_standin", "r");

	if (!f || fscanf(f, "%llu %llu %llu %llu", &t.used, &t.peak, &t.objects, &t.calls) != 4)
		exit(99);
	fclose(f);
	return t;
}

void truth_reset(bool slow)
{
	int fd = open("/proc/mete_standin", O_WRONLY);

	if (fd < 0 || write(fd, slow ? "1" : "0", 1) != 1)
		exit(98);
	close(fd);
}

bool traced(void)
{
	FILE *f = fopen("/sys/kernel/security/lsm", "r");
	char modules[256] = "";

	if (f) {
		(void)!fgets(modules, sizeof modules, f);
		fclose(f);
	}
	return !front_notify && !strstr(modules, "bpf");
}

bool kernel_from(int major, int minor)
{
	int is = 0, below = 0;
	struct utsname u;

	if (uname(&u) || sscanf(u.release, "%d.%d", &is, &below) != 2)
		exit(94);
	return is > major || (is == major && below >= minor);
}

int node(int minor)
{
	char path[64];

	snprintf(path, sizeof path, "/dev/standin%d", minor);
	return open(path, O_RDWR | O_CLOEXEC);
}

bool reached(int fd)
{
	uint64_t bytes = 0;

	return fd >= 0 && !ioctl(fd, REQUEST(214, sizeof bytes), &bytes);
}

/* A device's object is made only for who has a device's node open; a tenant has not each of them. */
static void device_open(void)
{
	static bool open;

	for (int minor = 0; minor < 8 && !open; minor++)
		open = node(minor) >= 0;
}

/* 0, a status, or -errno. */
int rm_alloc(int fd, uint32_t client, uint32_t parent, uint32_t *object, uint32_t class, void *parameters)
{
	struct alloc a = { .client = client,
			   .parent = parent,
			   .object = *object,
			   .class = class,
			   .parameters = (uintptr_t)parameters };

	if (class == 0x80)
		device_open();
	if (ioctl(fd, REQUEST(0x2b, sizeof a), &a))
		return -errno;
	*object = a.object;
	return (int)a.status;
}

int rm_memory(int fd, uint32_t client, uint32_t *object, uint64_t size)
{
	struct memory_parameters m = { .size = size };

	return rm_alloc(fd, client, 2, object, 0x40, &m);
}

int rm_free(int fd, uint32_t client, uint32_t object)
{
	uint32_t f[4] = { client, 0, object, 0 };

	return ioctl(fd, REQUEST(0x29, sizeof f), f) ? -errno : (int)f[3];
}

int rm_dup(int fd, uint32_t client, uint32_t *object, uint32_t from_client, uint32_t from)
{
	uint32_t d[7] = { client, 2, *object, from_client, from };
	int r = ioctl(fd, REQUEST(0x34, sizeof d), d) ? -errno : (int)d[6];

	*object = d[2];
	return r;
}

int rm_control(int fd, uint32_t client, uint32_t object, uint32_t command, void *parameters, uint32_t size)
{
	struct {
		uint32_t client, object, command, flags;
		uint64_t parameters;
		uint32_t size, status;
	} c = { client, object, command, 0, (uintptr_t)parameters, size, 0 };

	return ioctl(fd, REQUEST(0x2a, sizeof c), &c) ? -errno : (int)c.status;
}

/* A client with a device (2) and a subdevice (3). */
int session_on(struct session *s, int fd)
{
	uint32_t device = 2, subdevice = 3;

	*s = (struct session){ .fd = fd };
	if (fd < 0)
		return -errno;
	return rm_alloc(fd, 0, 0, &s->client, 0x41, NULL) ?: rm_alloc(fd, s->client, s->client, &device, 0x80, NULL)
		?: rm_alloc(fd, s->client, 2, &subdevice, 0x2080, NULL);
}

int session_open(struct session *s)
{
	return session_on(s, node(CONTROL));
}

/* Bytes that could be had in steps of `step`, at most `most`. */
uint64_t grab(const struct session *s, uint64_t step, uint64_t most)
{
	uint64_t got = 0;
	uint32_t object;

	while (got < most && (object = 0, !rm_memory(s->fd, s->client, &object, step)))
		got += step;
	return got;
}

int run(const char *const *argv)
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

int guard_load(void)
{
	return run((const char *[]){ "/mete-guard", "load", NULL });
}

static void cgroup(char path[64], const char *name)
{
	snprintf(path, 64, "/sys/fs/cgroup/%s", name);
}

/* What tenants were made with, for supervisors; by the letter of the name. */
static char quotas[26][16];

static const char *quota_of(const char *name)
{
	return quotas[*name - 'a'];
}

/* What the supervisor of a tenant counts; 0 when it has ended, which it does with the tenant's last process. */
static long long shown_notify(const char *name)
{
	struct guard_count c;

	usleep(150000); /* it writes every 50 ms while something changes */
	return counts_get((uint64_t)*name, &c) ? 0 : (long long)c.used;
}

int tenant_set(const char *name, const char *memory, const char *devices)
{
	char path[64];

	snprintf(quotas[*name - 'a'], sizeof *quotas, "%s", memory);
	if (front_notify)
		return 0;

	cgroup(path, name);
	mkdir(path, 0755);
	return run((const char *[]){ "/mete-guard", "set", path, "--memory", memory, "--devices", devices, "--slice-us",
				     "2000", "--groups", "3", NULL });
}

/* Figures of a tenant as mete-guard shows them. */
long long shown(const char *name, const char *figure)
{
	static char text[65536];
	char path[64], key[96];
	long long value = -1;
	FILE *p;
	size_t n;
	char *at;

	if (front_notify)
		return shown_notify(name);
	p = popen("/mete-guard show --json", "r");
	n = p ? fread(text, 1, sizeof text - 1, p) : 0;

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

/* A supervisor for this process and all that it starts, as mete run starts one; once. */
static void enter_notify(const char *name)
{
	char socket[16], grant[16];
	static bool inside;
	int ends[2], r;
	pid_t p;

	if (!*name || inside)
		return;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		_exit(96);
	p = fork();
	if (!p) {
		/* Not a child of the body's: that one waits for its own. */
		if (fork())
			_exit(0);
		close(ends[0]);
		snprintf(socket, sizeof socket, "%d", ends[1]);
		snprintf(grant, sizeof grant, "%d", *name);
		execl("/mete-guard-notify", "mete-guard-notify", "--socket", socket, "--memory", quota_of(name),
		      "--devices", "0", "--slice-us", "2000", "--groups", "3", "--grant", grant, NULL);
		_exit(127);
	}
	waitpid(p, NULL, 0);
	close(ends[1]);
	r = notify_enter(ends[0]);
	if (r) {
		fprintf(stderr, "# notify_enter: %s\n", strerror(-r));
		_exit(95);
	}
	close(ends[0]);
	inside = true;
}

void enter(const char *name)
{
	char path[96];
	int fd;

	if (front_notify) {
		enter_notify(name);
		return;
	}

	snprintf(path, sizeof path, "/sys/fs/cgroup/%s/cgroup.procs", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		_exit(97);
	close(fd);
}

/* The body as a process in a cgroup ("": the root's). Value: its exit status; below 0: the signal that ended it. */
int as(const char *name, int (*body)(void))
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
int expect(uint64_t got, uint64_t mib)
{
	if (got == MIB(mib))
		return 0;
	fprintf(stderr, "# got %llu bytes, expected %llu MiB\n", (unsigned long long)got, (unsigned long long)mib);
	return 1;
}

bool clean(const char *what)
{
	struct truth t = truth();

	/* A supervisor learns within a second of files that were released, and that its tenant has ended. */
	for (int i = 0; front_notify && i < 20 && (shown("a", "") || shown("b", "") || shown("c", "")); i++)
		;
	return ok(!t.used && !shown("a", "used_bytes") && !shown("b", "used_bytes") && !shown("c", "used_bytes"),
		  "%s: nothing is left, and the account says so (%llu, %lld, %lld, %lld)", what, t.used,
		  shown("a", "used_bytes"), shown("b", "used_bytes"), shown("c", "used_bytes"));
}

void send_fd(int socket, int fd)
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

int take_fd(int socket)
{
	char x, space[CMSG_SPACE(sizeof(int))];
	struct iovec v = { &x, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space };
	int fd = -1;

	if (recvmsg(socket, &m, 0) == 1 && CMSG_FIRSTHDR(&m))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
	return fd;
}
