/* sender.c: see sender.h. */
#include "daemon/tenants/sender.h"

#include "base/cleanup.h"
#include "daemon/tenants/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define NOBODYS_UID ((uid_t)0xfffffff0u)
#define WAIT_MS 100

static int send_number(int pidfd, int number)
{
	return syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0) ? -errno : 0;
}

/* The one user id that it has, or -EPERM while it executes a set-user-id program. */
static int read_uid(pid_t pid, int pidfd, uid_t *ret)
{
	unsigned int uids[4];
	int r = process_uids(pid, uids);

	if (r)
		return r;
	if (process_ended(pidfd))
		return -ESRCH;
	for (int i = 1; i < 4; i++)
		if (uids[i] != uids[0])
			return -EPERM;
	*ret = uids[0];
	return 0;
}

bool sender_is_of(pid_t pid, int pidfd, uid_t uid)
{
	uid_t its;

	return !read_uid(pid, pidfd, &its) && its == uid;
}

/* Only the effective id is the user's, which is what the kernel asks; by the others he could stop or kill the child. */
static int become(uid_t uid, uid_t own)
{
	return syscall(SYS_setresuid, NOBODYS_UID, own, own) || syscall(SYS_setresuid, NOBODYS_UID, uid, own) ? -errno
													      : 0;
}

/* In the child: no locks of other threads, nothing but system calls. */
__attribute__((noreturn)) static void be_sender(struct sender_target *shared, size_t count, int number)
{
	uid_t own = geteuid();

	for (size_t i = 0; i < count; i++) {
		struct sender_target *t = &shared[i];

		if (t->result == -EINPROGRESS) {
			int r = become(t->uid, own);

			t->result = r ? r : send_number(t->pidfd, number);
		}
	}
	_exit(0);
}

/* What holds the child up holds meted up. */
static void wait_for(pid_t child, size_t count)
{
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, child, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (fd < 0 || poll(&p, 1, WAIT_MS + (int)(count / 10)) <= 0)
		kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Those that a child is to send. */
static void tell_as_others(struct sender_target *targets, size_t count, int number)
{
	size_t size = count * sizeof(*targets);
	struct sender_target *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	if (shared == MAP_FAILED)
		return;
	memcpy(shared, targets, size);
	child = fork();
	if (!child)
		be_sender(shared, count, number);
	if (child > 0)
		wait_for(child, count);
	memcpy(targets, shared, size);
	munmap(shared, size);
}

void sender_tell(struct sender_target *targets, size_t count, int number)
{
	bool others = false;

	for (size_t i = 0; i < count; i++) {
		struct sender_target *t = &targets[i];
		uid_t its;

		if (t->uid == geteuid()) {
			t->result = send_number(t->pidfd, number);
			continue;
		}
		t->result = read_uid(t->pid, t->pidfd, &its) ?: -EINPROGRESS;
		others |= t->result == -EINPROGRESS;
	}
	if (others)
		tell_as_others(targets, count, number);
	for (size_t i = 0; i < count; i++)
		if (targets[i].result == -EINPROGRESS)
			targets[i].result = -EAGAIN;
}
