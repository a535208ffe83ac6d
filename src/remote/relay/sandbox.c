/*
 * sandbox.c: see sandbox.h.
 *
 * A call that is not allowed fails with EPERM; it does not kill, because a C library may try what it can do without.
 * What nobody tries who means well (a program, a process, another process's memory) kills.
 *
 * Filters add up: what one of them forbids stays forbidden. So a process that needs more while it sets itself up has a
 * wide one first and a narrow one when it is done.
 */
#include "remote/relay/sandbox.h"

#include "remote/owner_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534u
#define FIRST_KEPT 3
#define SOCKET_TYPE 0xfu /* of a type's bits those that are not flags */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

/* What needs no look at its arguments. */
static const int allowed[] = {
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(readv),
	SCMP_SYS(writev),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(futex),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(close),
	SCMP_SYS(shutdown),
	SCMP_SYS(fcntl),
	SCMP_SYS(fstat),
	SCMP_SYS(getsockopt),
	SCMP_SYS(setsockopt),
	SCMP_SYS(getpeername),
	SCMP_SYS(getsockname),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(getrandom),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(pipe2),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(getrlimit),
};

/*
 * UCX when its connections stand, as strace saw it with UCX 1.13 and its transports tcp, sysv and self: it waits with
 * epoll and wakes its own threads. (Its transport posix opens a file of the other side for each piece of memory that
 * it sends to: that one cannot be used.)
 */
static const int ucx_allowed[] = {
	SCMP_SYS(epoll_wait),	   SCMP_SYS(epoll_pwait),     SCMP_SYS(epoll_ctl), SCMP_SYS(pselect6), SCMP_SYS(select),
	SCMP_SYS(timerfd_settime), SCMP_SYS(timerfd_gettime), SCMP_SYS(eventfd2),  SCMP_SYS(uname),
};

/* Memory is attached when the first message goes through it, and made when there are more messages than places. */
static const int shared_allowed[] = {
	SCMP_SYS(shmget),
	SCMP_SYS(shmat),
	SCMP_SYS(shmdt),
	SCMP_SYS(shmctl),
};

/*
 * UCX while it looks for devices and connects: files, sockets and devices of this process's user, and code, since its
 * transports are libraries.
 */
static const int setup_allowed[] = {
	SCMP_SYS(openat),	SCMP_SYS(newfstatat),	  SCMP_SYS(statx),
	SCMP_SYS(statfs),
#ifdef __SNR_faccessat2
	SCMP_SYS(faccessat2),
#endif
	SCMP_SYS(fstatfs),	SCMP_SYS(access),	  SCMP_SYS(faccessat),
	SCMP_SYS(readlink),	SCMP_SYS(readlinkat),	  SCMP_SYS(getdents64),
	SCMP_SYS(pread64),	SCMP_SYS(lseek),	  SCMP_SYS(getcwd),
	SCMP_SYS(unlink),	SCMP_SYS(unlinkat),	  SCMP_SYS(ftruncate),
	SCMP_SYS(fallocate),	SCMP_SYS(memfd_create),	  SCMP_SYS(dup),
	SCMP_SYS(dup2),		SCMP_SYS(dup3),		  SCMP_SYS(pipe),
	SCMP_SYS(socket),	SCMP_SYS(socketpair),	  SCMP_SYS(bind),
	SCMP_SYS(listen),	SCMP_SYS(accept),	  SCMP_SYS(accept4),
	SCMP_SYS(connect),	SCMP_SYS(ioctl),	  SCMP_SYS(mmap),
	SCMP_SYS(mprotect),	SCMP_SYS(mlock),	  SCMP_SYS(munlock),
	SCMP_SYS(mbind),	SCMP_SYS(get_mempolicy),  SCMP_SYS(set_mempolicy),
	SCMP_SYS(epoll_create), SCMP_SYS(epoll_create1),  SCMP_SYS(timerfd_create),
	SCMP_SYS(rt_sigaction), SCMP_SYS(sched_getparam), SCMP_SYS(sched_getscheduler),
	SCMP_SYS(prlimit64),	SCMP_SYS(getppid),	  SCMP_SYS(sysinfo),
	SCMP_SYS(clock_getres), SCMP_SYS(arch_prctl),	  SCMP_SYS(seccomp),
	SCMP_SYS(prctl),
};

/* Other programs and processes, the kernel's own matters: the calls of whoever has broken in. */
static const int deadly[] = {
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(fork),
	SCMP_SYS(vfork),
	SCMP_SYS(ptrace),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(mount),
	SCMP_SYS(umount2),
	SCMP_SYS(unshare),
	SCMP_SYS(setns),
	SCMP_SYS(chroot),
	SCMP_SYS(pivot_root),
	SCMP_SYS(bpf),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(kexec_load),
	SCMP_SYS(add_key),
	SCMP_SYS(keyctl),
	SCMP_SYS(perf_event_open),
};

void sandbox_keep(int *const *fds, unsigned int n, bool talk)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), high[8];

	/* First out of the way of the numbers that they are to have. */
	for (unsigned int i = 0; i < n; i++) {
		high[i] = *fds[i] >= 0 ? fcntl(*fds[i], F_DUPFD_CLOEXEC, FIRST_KEPT + 8 + (int)n) : -1;
	}
	for (int i = 0; i < 3; i++)
		if (null >= 0 && !(i == 2 && talk))
			dup2(null, i);
	for (unsigned int i = 0; i < n; i++) {
		*fds[i] = high[i] >= 0 ? dup3(high[i], FIRST_KEPT + (int)i, O_CLOEXEC) : -1;
		if (high[i] < 0)
			close(FIRST_KEPT + (int)i);
	}
	syscall(SYS_close_range, FIRST_KEPT + n, ~0u, 0);
}

static int limit(int what, rlim_t most)
{
	struct rlimit l = { most, most };

	return setrlimit(what, &l) < 0 ? -errno : 0;
}

int sandbox_drop(uint32_t uid, uint32_t gid, unsigned int fds_most)
{
	int r;

	if (geteuid() == 0) {
		uid = uid ? uid : NOBODY;
		gid = gid ? gid : NOBODY;
		if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
			return -errno;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	r = limit(RLIMIT_CORE, 0);
	return r < 0 ? r : limit(RLIMIT_NOFILE, fds_most);
}

#ifndef SANITIZED
static int add_each(scmp_filter_ctx f, uint32_t action, const int *calls, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = seccomp_rule_add(f, action, calls[i], 0);
	return r;
}
#define ADD_EACH(f, action, calls) add_each(f, action, calls, sizeof(calls) / sizeof((calls)[0]))

/* Threads, not processes. What clone3() is to do cannot be seen here; without it the C library uses clone(). */
static int add_threads(scmp_filter_ctx f)
{
	const uint64_t thread = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND;
	int r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, thread, thread));

	return r ? r : seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

/* Calls that are let through in one form only. */
static int add_narrow(scmp_filter_ctx f)
{
	/* Memory that is never code. */
	int r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));

	if (!r)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	/* fstat() of newer C libraries. */
	if (!r)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1, SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH));
	/* How exact its timers are. */
	if (!r)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, SCMP_A0(SCMP_CMP_EQ, PR_SET_TIMERSLACK));
	/* Its own limits, to read. */
	if (!r)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, SCMP_A0(SCMP_CMP_EQ, 0),
				     SCMP_A2(SCMP_CMP_EQ, 0));
	return r;
}

/*
 * UCX's transport over TCP asks about its interface again when a connection has failed, by a socket that it does not
 * connect, and takes a refusal for the end of the world. A socket can be had, then, but for nothing else: it cannot be
 * connected, bound or listened on, nor connected by what is sent on it.
 */
static int add_ucx_some(scmp_filter_ctx f)
{
	static const unsigned long asked[] = { SIOCETHTOOL, SIOCGIFHWADDR, SIOCGIFMTU };
	int r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2, SCMP_A0(SCMP_CMP_EQ, AF_INET),
				 SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_TYPE, SOCK_STREAM));

	for (unsigned int i = 0; i < sizeof(asked) / sizeof(asked[0]) && !r; i++)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, SCMP_A1(SCMP_CMP_EQ, asked[i]));
	return r;
}

/* Bytes go where the descriptor leads to, not to an address of their own. */
static int add_sending(scmp_filter_ctx f)
{
	int r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(sendto), 1, SCMP_A3(SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, 0));

	return r ? r
		 : seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(sendmsg), 1,
				    SCMP_A2(SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, 0));
}

static int add_rules(scmp_filter_ctx f, enum sandbox_need need)
{
	int r = ADD_EACH(f, SCMP_ACT_ALLOW, allowed);

	if (!r)
		r = ADD_EACH(f, SCMP_ACT_KILL_PROCESS, deadly);
	if (!r)
		r = add_threads(f);
	if (!r)
		r = add_sending(f);
	/* An end of its own making. */
	if (!r)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				     SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	if (!r && need != SANDBOX_LINES)
		r = ADD_EACH(f, SCMP_ACT_ALLOW, ucx_allowed);
	if (!r && need >= SANDBOX_UCX_SHARED)
		r = ADD_EACH(f, SCMP_ACT_ALLOW, shared_allowed);
	if (!r && (need == SANDBOX_UCX || need == SANDBOX_UCX_SHARED))
		r = add_ucx_some(f);
	if (!r)
		r = need == SANDBOX_UCX_SETUP ? ADD_EACH(f, SCMP_ACT_ALLOW, setup_allowed) : add_narrow(f);
	return r;
}
#endif

int sandbox_close(enum sandbox_need need)
{
#ifdef SANITIZED
	return 0; /* the sanitizers need files and more */
#else
	static bool owners_refused; /* once is enough */
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = f ? seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1) : -ENOMEM;

	if (!r && !owners_refused)
		r = owner_filter_set();
	owners_refused = owners_refused || !r;
	if (!r)
		r = add_rules(f, need);
	if (!r)
		r = seccomp_load(f);
	seccomp_release(f);
	return r;
#endif
}
