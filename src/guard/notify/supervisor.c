/*
 * supervisor.c: mete-guard-notify, which makes a tenant's calls of the driver in its place.
 *
 * For kernels without the means for the guard's programs (no BPF LSM, no BTF). `mete run --guard` starts one for each
 * program, and the program's filter (filter.c) brings the calls here. It ends when the last process of the program has.
 * If it is killed, the kernel answers those calls with ENOSYS: the tenant gets nothing more, and keeps what it has.
 *
 * It drops every right but those to reach into the program's processes and to map what they have mapped, and is closed
 * to the program: it cannot be traced or read (PR_SET_DUMPABLE), and no call leads into its memory (calls.h).
 */
#include "base/cleanup.h"
#include "base/size.h"
#include "guard/counts.h"
#include "guard/drivers.h"
#include "guard/notify/calls.h"
#include "guard/notify/filter.h"
#include "guard/notify/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLICE_USUAL_US 2048u
#define GROUPS_USUAL 64u
#define PUBLISH_NS 50000000u
#define IDLE_MS 1000
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS _IOW('!', 4, uint64_t)
#endif
#define SYNC_WAKE_UP 1ull      /* SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP, Linux 6.6: the program runs on at once */
#define PIDFD_OF_THREAD O_EXCL /* PIDFD_THREAD, Linux 6.9 */

static const char help[] =
	"Usage: mete-guard-notify --socket N --memory SIZE [--devices 0,1,...] [--slice-us N] [--groups N]\n"
	"                         [--may-export] [--grant NUMBER]\n"
	"\n"
	"Makes the calls of NVIDIA's driver of a program in its place, within a quota. Started by mete run --guard "
	"where the\n"
	"kernel cannot run the guard's programs; the program's filter comes through the socket. See mete-guard(8).\n"
	"With METE_GUARD_OBSERVE set, each call that is refused or fails stands on standard error.\n";

struct supervisor {
	struct calls calls;
	uint64_t grant;
	int socket, listener;
	pid_t tid; /* whose pidfd is kept */
	int pidfd;
	struct guard_count count;
	uint64_t published_ns;
	bool dirty; /* the count has changed since */
};

static int fail(int code, const char *what, const char *why)
{
	fprintf(stderr, "mete-guard-notify: %s%s%s\n", what, *why ? ": " : "", why);
	return code;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void publish(struct supervisor *s)
{
	const struct tenant_account *a = s->calls.account;

	s->published_ns = now_ns();
	s->dirty = false;
	if (!s->grant)
		return;
	s->count.front = GUARD_FRONT_NOTIFY;
	s->count.grant = s->grant;
	s->count.quota = a->quota;
	s->count.used = a->used;
	s->count.peak = a->peak;
	s->count.channel_groups = a->groups;
	s->count.refused = a->refused;
	s->count.last_reason = a->last_reason;
	s->count.last_pid = a->last_pid;
	counts_put(&s->count);
}

/* ---- one call ---- */

/* The process of a thread, without an allocation. 0: it is gone. */
static pid_t process_of(pid_t tid)
{
	char path[64], text[1024], *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/status", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	at = strstr(text, "\nTgid:");
	return at ? (pid_t)strtol(at + 6, NULL, 10) : 0;
}

/* By the thread itself where the kernel can; else by its process, whose descriptors it must share. */
static int pidfd_of(pid_t tid)
{
	int fd = (int)syscall(SYS_pidfd_open, tid, PIDFD_OF_THREAD);
	pid_t process;

	if (fd >= 0)
		return fd;
	process = process_of(tid);
	if (process != tid && syscall(SYS_kcmp, tid, process, 2 /* KCMP_FILES */, 0, 0))
		return -1;
	return process ? (int)syscall(SYS_pidfd_open, process, 0) : -1;
}

static int fetch(struct supervisor *s, pid_t tid, int number)
{
	int fd = -1;

	/* One that has ended has no descriptors: a number that is another's now cannot be taken for it. */
	if (s->pidfd >= 0 && s->tid == tid)
		fd = (int)syscall(SYS_pidfd_getfd, s->pidfd, number, 0);
	if (fd >= 0 || (s->tid == tid && s->pidfd >= 0 && errno == EBADF))
		return fd;
	if (s->pidfd >= 0)
		close(s->pidfd);
	s->tid = tid;
	s->pidfd = pidfd_of(tid);
	return s->pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, s->pidfd, number, 0);
}

static int serve(struct supervisor *s, const struct seccomp_notif *n)
{
	pid_t tid = (pid_t)n->pid;
	_cleanup_close_ int fd = tid ? fetch(s, tid, (int)n->data.args[0]) : -1;
	const struct caller caller = { tid, s->pidfd, s->listener, n->id };

	if (fd < 0)
		return errno == EBADF ? -EBADF : -EPERM;
	/* Whose descriptor this is: the one that waits. */
	if (!caller_waits(&caller))
		return -EINTR;
	return calls_make(&s->calls, &caller, fd, (unsigned int)n->data.args[1], n->data.args[2]);
}

static void take(struct supervisor *s)
{
	static union {
		struct seccomp_notif of;
		char room[4096]; /* a later kernel's may be longer */
	} n;
	static union {
		struct seccomp_notif_resp of;
		char room[4096];
	} answer;
	const struct tenant_account *a = s->calls.account;
	uint64_t used = a->used, refused = a->refused;

	memset(&n, 0, sizeof n);
	if (ioctl(s->listener, SECCOMP_IOCTL_NOTIF_RECV, &n))
		return;
	memset(&answer, 0, sizeof answer);
	answer.of.id = n.of.id;
	answer.of.error = serve(s, &n.of);
	s->dirty |= a->used != used || a->refused != refused;
	/* So that whoever asks what a tenant has, after a call, is told of that call. */
	if (s->dirty && now_ns() - s->published_ns > PUBLISH_NS)
		publish(s);
	ioctl(s->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

static void run(struct supervisor *s)
{
	struct pollfd p = { .fd = s->listener, .events = POLLIN };

	for (;;) {
		int r = poll(&p, 1, s->dirty ? (int)(PUBLISH_NS / 1000000u) : IDLE_MS);

		if (r > 0 && p.revents & POLLIN)
			take(s);
		else if (r > 0 && p.revents & (POLLHUP | POLLERR | POLLNVAL))
			return;
		/* A program that calls all the time keeps its count no older than one that is idle. */
		if (!r || now_ns() - s->published_ns > IDLE_MS * UINT64_C(1000000)) {
			calls_sweep(&s->calls);
			publish(s);
		}
	}
}

/* ---- beginning ---- */

static int parse_devices(char *text, uint64_t *ret)
{
	*ret = 0;
	for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
		char *end;
		unsigned long n = strtoul(word, &end, 10);

		if (!*word || *end || n > 63)
			return fail(2, "--devices: not the number of a device (0 to 63)", word);
		*ret |= 1ull << n;
	}
	return 0;
}

static int parse_number(const char *option, const char *text, uint64_t most, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	return !*text || *end || errno || *text == '-' || *ret > most ? fail(2, option, text) : 0;
}

static int parse(struct supervisor *s, int argc, char **argv, uint64_t *ret_quota)
{
	static const struct option options[] = { { "socket", 1, NULL, 'f' },  { "memory", 1, NULL, 'm' },
						 { "devices", 1, NULL, 'd' }, { "slice-us", 1, NULL, 's' },
						 { "groups", 1, NULL, 'g' },  { "may-export", 0, NULL, 'e' },
						 { "grant", 1, NULL, 'n' },   { 0 } };
	struct size size = { 0 };
	uint64_t n = 0;
	int o, r = 0;

	while (!r && (o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (o) {
		case 'f':
			r = parse_number("--socket: not a descriptor", optarg, INT32_MAX, &n);
			s->socket = (int)n;
			break;
		case 'm':
			r = size_parse(optarg, &size);
			if (r || size.pct)
				return fail(2, "--memory",
					    r ? size_fault_text(r) : "a percentage is of no device here");
			break;
		case 'd':
			r = parse_devices(optarg, &s->calls.devices);
			break;
		case 's':
			r = parse_number("--slice-us: not a number", optarg, UINT64_MAX, &s->calls.terms.slice_most_us);
			break;
		case 'g':
			r = parse_number("--groups: not a number", optarg, UINT32_MAX, &n);
			s->calls.groups_most = (uint32_t)n;
			break;
		case 'e':
			s->calls.terms.flags |= GUARD_MAY_EXPORT;
			break;
		case 'n':
			r = parse_number("--grant: not a number", optarg, UINT64_MAX, &s->grant);
			break;
		default:
			return 2;
		}
	}
	if (!r && (optind != argc || s->socket < 0 || !size.bytes)) {
		fputs(help, stderr);
		return 2;
	}
	*ret_quota = size.bytes;
	return r;
}

/*
 * NVIDIA's manager makes a device's object only for a process that has the device's node open itself
 * (nv_is_gpu_accessible() of kernel-open/nvidia/nv.c; seen with driver 580: status 0x1b of NV01_DEVICE_0). Open until
 * the end. A node that is not there, or not to be opened, is refused to the program as well when it asks.
 */
static void nodes_open(const char *node, uint64_t devices)
{
	char path[48];

	for (unsigned int i = 0; i < 64; i++) {
		if (!(devices >> i & 1))
			continue;
		snprintf(path, sizeof path, "%s%u", node, i);
		(void)!open(path, O_RDWR | O_CLOEXEC);
	}
}

/* Everything that may fail, before the program goes on. */
static int begin(struct supervisor *s, uint64_t quota)
{
	struct rlimit most;
	struct guard_kernel k;
	char why[256];
	uint64_t flags = SYNC_WAKE_UP;

	guard_driver_look(&k);
	if (guard_notify_doubt(&k, why, sizeof why))
		return fail(1, why, "");
	s->calls.terms.branch = k.branch;
	s->calls.major = k.major;
	s->calls.observes = getenv("METE_GUARD_OBSERVE") != NULL;
	if (!getrlimit(RLIMIT_NOFILE, &most)) {
		most.rlim_cur = most.rlim_max;
		setrlimit(RLIMIT_NOFILE, &most);
	}
	s->calls.account = tenant_account_new(quota);
	if (!s->calls.account || calls_begin(&s->calls))
		return fail(1, "cannot begin", strerror(errno));
	nodes_open(k.driver->node, s->calls.devices);
	if (s->grant && counts_begin())
		s->grant = 0; /* not the owner of the folder: nobody is told what it counts */
	s->listener = notify_accept(s->socket);
	if (s->listener < 0)
		return fail(1, "the program's filter did not come", strerror(-s->listener));
	ioctl(s->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, &flags);
	if (rights_drop())
		return fail(1, "rights cannot be dropped", strerror(errno));
	publish(s);
	if (calls_ranges_read(&s->calls))
		return fail(1, "/proc/self/maps cannot be read", strerror(errno));
	if (notify_go(s->socket))
		return fail(1, "the program is gone", "");
	close(s->socket);
	return 0;
}

int main(int argc, char **argv)
{
	static struct supervisor s = {
		.socket = -1,
		.pidfd = -1,
		.calls = { .devices = UINT64_MAX, .groups_most = GROUPS_USUAL, .terms.slice_most_us = SLICE_USUAL_US },
	};
	uint64_t quota = 0;
	int r;

	if (argc == 2 && !strcmp(argv[1], "--help"))
		return fputs(help, stdout) < 0;
	r = parse(&s, argc, argv, &quota);
	if (!r)
		r = begin(&s, quota);
	if (r)
		return r;
	/* What ends the program's session does not end this before the program. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	run(&s);
	if (s.grant)
		counts_drop(s.grant);
	return 0;
}
