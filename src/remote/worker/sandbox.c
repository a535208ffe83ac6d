/*
 * sandbox.c: see sandbox.h.
 *
 * A call that is not in the list fails with EPERM instead of ending the process: drivers look for files that need not
 * be there. Calls that would be harmless in one form only are let through in that form: clone() makes threads, prctl()
 * names them, tgkill() reaches ourselves, fcntl() changes no descriptor's mode. What only a driver with device nodes
 * may want is left to such a one.
 *
 * Paths are let through in one case, where the root folder holds the driver's device nodes and nothing else (nodes.h).
 * Sockets need none: connections come as descriptors over those that are there.
 */
#include "remote/worker/sandbox.h"

#include "remote/owner_filter.h"
#include "remote/worker/device_filter.h"
#include "remote/worker/empty_root.h"
#include "remote/worker/landlock.h"
#include "remote/worker/refused.h"
#include "remote/worker/rights.h"
#include "remote/worker/spaces.h"
#include "base/send_fds.h"
#include "wire/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

#define DESCRIPTORS 4096u
#define THREADS 4096u /* of a worker whose user nobody else is */

#define LATE_NODE "/dev/nvidia-uvm" /* made by the driver when it starts, if it is not there */

static const int allowed[] = {
	/* what is open already */
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(pread64),
	SCMP_SYS(lseek),
	SCMP_SYS(close),
	SCMP_SYS(fstat),
	SCMP_SYS(dup3),
	SCMP_SYS(flock),
	SCMP_SYS(ftruncate),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(pipe2),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(recvfrom),
	SCMP_SYS(accept4),
	SCMP_SYS(getsockopt),
	/* memory */
	SCMP_SYS(mmap),
	SCMP_SYS(munmap),
	SCMP_SYS(mprotect),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(mincore),
	SCMP_SYS(brk),
	SCMP_SYS(membarrier),
	SCMP_SYS(memfd_create),
	/* threads and time */
	SCMP_SYS(futex),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(getcpu),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(get_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(set_tid_address),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_getres),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(getrusage),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	/* who we are */
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(getrandom),
	SCMP_SYS(getrlimit),
	SCMP_SYS(uname),
	SCMP_SYS(sysinfo),
};

/* Of a driver that speaks to device nodes: its threads wait for events, and say where their memory is to lie. */
static const int allowed_driver[] = {
	SCMP_SYS(readv),	   SCMP_SYS(pwrite64),	      SCMP_SYS(dup),	     SCMP_SYS(dup2),
	SCMP_SYS(select),	   SCMP_SYS(pselect6),	      SCMP_SYS(eventfd2),    SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),	   SCMP_SYS(epoll_wait),      SCMP_SYS(epoll_pwait), SCMP_SYS(timerfd_create),
	SCMP_SYS(timerfd_settime), SCMP_SYS(timerfd_gettime), SCMP_SYS(mlock),	     SCMP_SYS(munlock),
	SCMP_SYS(msync),	   SCMP_SYS(get_mempolicy),   SCMP_SYS(mbind),	     SCMP_SYS(times),
	SCMP_SYS(getppid),	   SCMP_SYS(ioctl),
};

/* Of a driver whose nodes are in its root folder: looking for them. They are opened by openat() of a whole path alone.
 */
static const int allowed_paths[] = {
	SCMP_SYS(open),	  SCMP_SYS(newfstatat), SCMP_SYS(stat),	      SCMP_SYS(lstat),	  SCMP_SYS(statx),
	SCMP_SYS(access), SCMP_SYS(faccessat),	SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat),
};

/* What fcntl() may be asked: about a descriptor, and its copies; locks of open files, by which the software device and
 * the shim see who lives; the seals of memory. */
static const int fcntl_commands[] = { F_DUPFD,	   F_DUPFD_CLOEXEC, F_GETFD,	 F_SETFD,    F_GETFL,
				      F_OFD_GETLK, F_OFD_SETLK,	    F_ADD_SEALS, F_GET_SEALS };

static int allow_all(scmp_filter_ctx filter, const int *calls, size_t count)
{
	int r = 0;

	for (size_t i = 0; i < count && !r; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
	return r;
}

/* The kernel looks at the lower half alone. */
static int allow_fcntl(scmp_filter_ctx filter, int command)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, (scmp_datum_t)command));
}

/* The socket of a client that goes on here gives its arena, and must be one that descriptors come through. */
static int allow_arena(scmp_filter_ctx filter)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(setsockopt), 2,
				SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, SOL_SOCKET),
				SCMP_A2(SCMP_CMP_MASKED_EQ, UINT32_MAX, SO_PASSRIGHTS));
}

static int allow_driver(scmp_filter_ctx filter)
{
	int r = allow_all(filter, allowed_driver, sizeof(allowed_driver) / sizeof(*allowed_driver));

	if (!r)
		r = allow_fcntl(filter, F_SETFL);
	/* Of this thread. Other workers have the same user, and are nobody's to move about. */
	if (!r)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sched_setaffinity), 1, SCMP_A0(SCMP_CMP_EQ, 0));
	return r;
}

static int allow_paths(scmp_filter_ctx filter)
{
	int r = allow_all(filter, allowed_paths, sizeof(allowed_paths) / sizeof(*allowed_paths));

	return r ? r
		 : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				    SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, (scmp_datum_t)(uint32_t)AT_FDCWD));
}

static int allow_some(scmp_filter_ctx filter)
{
	static const unsigned long names[] = { PR_SET_NAME, PR_GET_NAME, PR_SET_VMA, PR_SET_TIMERSLACK };
	int r;

	r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
			     SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
	/* Its flags lie in memory: the C library takes clone() then. */
	if (!r)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !r; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, SCMP_A0(SCMP_CMP_EQ, names[i]));
	if (!r)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				     SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	/* Asks about ourselves, changes nothing. */
	if (!r)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, SCMP_A0(SCMP_CMP_EQ, 0),
				     SCMP_A2(SCMP_CMP_EQ, 0));
	if (!r)
		r = allow_arena(filter);
	for (size_t i = 0; i < sizeof(fcntl_commands) / sizeof(*fcntl_commands) && !r; i++)
		r = allow_fcntl(filter, fcntl_commands[i]);
	return r;
}

static int filter_calls(const struct sandbox *sandbox)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r;

	if (!filter)
		return -ENOMEM;
	r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!r)
		r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree: some 100 calls in a row cost */
	if (r == -EINVAL || r == -EOPNOTSUPP)
		r = 0;
	if (!r)
		r = allow_all(filter, allowed, sizeof(allowed) / sizeof(*allowed));
	if (!r)
		r = allow_some(filter);
	if (!r && sandbox->devices)
		r = allow_driver(filter);
	if (!r && sandbox->reopens)
		r = allow_paths(filter);
	/* What is refused stands in the kernel's log, where it keeps one (audit). */
	if (!r && sandbox->devices == SANDBOX_OBSERVED)
		seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);
	if (!r && sandbox->devices)
		r = device_filter_set(sandbox->branch, sandbox->devices == SANDBOX_OBSERVED);
	if (!r)
		r = owner_filter_set();
	if (!r)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r;
}

static void limit(int what, rlim_t most)
{
	struct rlimit now;

	if (getrlimit(what, &now))
		return;
	if (now.rlim_max > most)
		now.rlim_max = most;
	if (now.rlim_cur > now.rlim_max)
		now.rlim_cur = now.rlim_max;
	setrlimit(what, &now);
}

/* Whether the driver can start without the machine's privileges: its nodes are there. */
static bool can_part(enum sandbox_devices devices)
{
	return !devices || !access(LATE_NODE, F_OK);
}

void sandbox_begin(struct sandbox *sandbox, enum sandbox_devices devices, bool spaces, uid_t uid)
{
	*sandbox = (struct sandbox){ .devices = devices, .branch = devices ? device_branch() : 0 };
	identity_choose(&sandbox->identity, uid);
	if (!can_part(devices))
		return;
	if (spaces)
		sandbox->fence = spaces_enter(&sandbox->identity);
	if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && landlock_scope())
		sandbox->fence |= WORKER_FENCE_SCOPE;
	if (!sandbox->identity.leaves && (sandbox->fence & WORKER_FENCE_USER || !geteuid()))
		rights_keep();
}

static bool leave_files(void *arg)
{
	struct sandbox *sandbox = arg;

	return empty_root_enter(sandbox->fence & WORKER_FENCE_MOUNTS, &sandbox->nodes, &sandbox->reopens);
}

static bool leave_user(struct sandbox *sandbox)
{
	if (!sandbox->identity.own)
		return !identity_take(&sandbox->identity);
	limit(RLIMIT_NPROC, THREADS);
	if (identity_take(&sandbox->identity))
		return false;
	sandbox->fence |= WORKER_FENCE_ID;
	return true;
}

/* For whoever looks for the reason of a driver's error behind the fence. */
static void observe(const struct sandbox *sandbox)
{
	for (unsigned int i = 0; i < sandbox->nodes.count; i++)
		fprintf(stderr, "the driver has %s open, and may %sopen it again\n", sandbox->nodes.path[i],
			sandbox->reopens ? "" : "not ");
	refused_begin();
}

bool sandbox_enter(struct sandbox *sandbox, char *why, size_t why_bytes)
{
	int r;

	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_RTPRIO, 0); /* meted's */
	limit(RLIMIT_NICE, 0);
	limit(RLIMIT_NOFILE, DESCRIPTORS);
	/* After the last file that we read. */
	if (sandbox->devices)
		nodes_find(&sandbox->nodes);
	if (rights_use(leave_files, sandbox))
		sandbox->fence |= WORKER_FENCE_FILES;
	if (sandbox->devices == SANDBOX_OBSERVED)
		observe(sandbox);
	if (!leave_user(sandbox)) {
		snprintf(why, why_bytes, "the worker cannot give up root: %s", strerror(errno));
		return false;
	}
	if (prctl(PR_SET_DUMPABLE, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) {
		snprintf(why, why_bytes, "the worker cannot give up privileges: %s", strerror(errno));
		return false;
	}
	if (landlock_files(sandbox->reopens))
		sandbox->fence |= WORKER_FENCE_RULES;
	r = filter_calls(sandbox);
	if (!r)
		return true;
	snprintf(why, why_bytes, "no filter of system calls (seccomp) can be set: %s; a kernel that has it is needed",
		 strerror(-r));
	return false;
}
