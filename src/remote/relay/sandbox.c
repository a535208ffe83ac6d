/*
 * sandbox.c: see sandbox.h.
 *
 * A call that is not allowed fails with EPERM; it does not kill, because a C library may try what it can do without.
 */
#include "remote/relay/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534u
#define FIRST_KEPT 3

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
	SCMP_SYS(sendto),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendmsg),
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

int sandbox_drop(uint32_t uid, uint32_t gid, unsigned int fds_most, bool attachable)
{
	int r;

	if (geteuid() == 0) {
		uid = uid ? uid : NOBODY;
		gid = gid ? gid : NOBODY;
		if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
			return -errno;
	}
	/* Leaving root has made it 0. Shared memory of UCX is opened by the other side through /proc. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, attachable, 0, 0, 0) < 0)
		return -errno;
	r = limit(RLIMIT_CORE, 0);
	return r < 0 ? r : limit(RLIMIT_NOFILE, fds_most);
}

#ifndef SANITIZED
static int add_rules(scmp_filter_ctx f)
{
	const uint64_t thread = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND;
	int r = 0;

	for (unsigned int i = 0; i < sizeof(allowed) / sizeof(allowed[0]) && !r; i++)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, allowed[i], 0);
	/* Memory that is never code. */
	if (!r)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (!r)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	/* Threads, not processes. What clone3() is to do cannot be seen here; without it the C library uses clone(). */
	if (!r)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				     SCMP_A0(SCMP_CMP_MASKED_EQ, thread, thread));
	if (!r)
		r = seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	/* fstat() of newer C libraries. */
	if (!r)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1, SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH));
	/* Its own limits, to read. */
	if (!r)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, SCMP_A0(SCMP_CMP_EQ, 0),
				     SCMP_A2(SCMP_CMP_EQ, 0));
	return r;
}
#endif

int sandbox_close(void)
{
#ifdef SANITIZED
	return 0; /* the sanitizers need files and more */
#else
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = f ? add_rules(f) : -ENOMEM;

	if (!r)
		r = seccomp_load(f);
	seccomp_release(f);
	return r;
#endif
}
