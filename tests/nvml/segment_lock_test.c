/*
 * segment_lock_test.c: the lock of a dead holder is taken over by one process, at the worst moment too.
 *
 * The moment is made with ptrace: a waiter has just learnt from the kernel that nobody lives at the holder's place, and
 * is stopped before it acts on that. Meanwhile a new process gets that very place and the lock with it, and is stopped
 * while it holds the lock. When the waiter goes on, it must find the lock taken.
 */
#include "base/tap.h"
#include "softdev/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef F_OFD_GETLK
#define F_OFD_GETLK 36
#endif

/* The system call that a traced process stands at. */
struct at {
	bool entry;
	uint64_t number, arg[2]; /* the first two */
};

static bool where(pid_t pid, struct at *ret)
{
	struct __ptrace_syscall_info info = { 0 };
	static struct at entered; /* an exit does not say which call it is of */

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof info, &info) < 0)
		return false;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
		entered = (struct at){ true, info.entry.nr, { info.entry.args[0], info.entry.args[1] } };
	*ret = entered;
	ret->entry = info.op == PTRACE_SYSCALL_INFO_ENTRY;
	return true;
}

typedef bool (*reached_fn)(const struct at *at);

/* Lets a traced process run until it stands where `reached` says. False: it ended before. */
static bool run_until(pid_t pid, reached_fn reached)
{
	struct at at;
	int status;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) < 0 || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
			return false;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) && where(pid, &at) && reached(&at))
			return true;
	}
}

static const struct segment *segment; /* as seen from outside */
static uint32_t dead_word;	      /* of the lock, as the dead holder left it */

/* A question after a lock has been answered, while the dead one's word stands in the lock. */
static bool has_asked(const struct at *at)
{
	return !at->entry && at->number == SYS_fcntl && at->arg[1] == F_OFD_GETLK &&
	       atomic_load(&segment->lock) == dead_word;
}

static bool holds_lock(const struct at *at)
{
	/* It has begun to describe itself at place 1, which takes the lock, and now looks up when it was started. */
	return at->entry && at->number == SYS_openat && atomic_load(&segment->lock) &&
	       atomic_load(&segment->process[1].kind) == SEGMENT_FREE && atomic_load(&segment->process[1].pid) != 0;
}

static bool any_call(const struct at *at)
{
	return at->entry;
}

static void attach(struct segment_place *p)
{
	char why[200];

	if (segment_attach(SEGMENT_DRIVER, p, why, sizeof why))
		_exit(3);
}

/* A child that attaches, says so, is traced when told, then charges one unit and ends. */
static pid_t child_start(int *ret_go, bool attach_at_once)
{
	struct segment_place p;
	int ready[2], go[2];
	pid_t pid;
	char c;

	if (pipe(ready) || pipe(go))
		exit(1);
	pid = fork();
	if (pid == 0) {
		close(ready[0]);
		close(go[1]);
		if (attach_at_once)
			attach(&p);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		if (write(ready[1], "r", 1) != 1 || read(go[0], &c, 1) != 1)
			_exit(4);
		raise(SIGSTOP);
		if (!attach_at_once)
			attach(&p);
		_exit(segment_charge(&p, 0, 1) ? 5 : 0);
	}
	close(ready[1]);
	close(go[0]);
	if (read(ready[0], &c, 1) != 1)
		exit(1);
	close(ready[0]);
	*ret_go = go[1];
	return pid;
}

static bool go(pid_t pid, int fd)
{
	int status;
	bool sent = write(fd, "g", 1) == 1;

	close(fd);
	return sent && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) &&
	       ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)) == 0;
}

/* Dies with the lock held. */
static void die_with_lock(void)
{
	pid_t pid;
	int status;

	pid = fork();
	if (pid == 0) {
		struct segment_place p;

		attach(&p);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		segment_reap(&p);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
	while (run_until(pid, any_call) && !atomic_load(&segment->lock))
		;
	dead_word = atomic_load(&segment->lock);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

static int exit_status(pid_t pid)
{
	int status;

	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
	char dir[] = "/tmp/mete-lock-XXXXXX", command[100], why[200];
	struct segment_place observer, keep;
	uint32_t newcomers_word;
	pid_t waiter, newcomer;
	int waiter_go, newcomer_go;
	struct __ptrace_syscall_info probe;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, getpid(), (void *)sizeof probe, &probe) < 0 && errno == EIO)
		tap_skip_all("this kernel does not tell which system call a traced process is in");
	if (!mkdtemp(dir))
		return 1;
	setenv("METE_SOFT_DIR", dir, 1);
	setenv("METE_SOFT_DEVICES", "1", 1);
	setenv("METE_SOFT_MEMORY", "2M", 1);
	tap_begin();
	if (segment_attach(SEGMENT_OBSERVER, &observer, why, sizeof why)) { /* place 0 */
		printf("Bail out! %s\n", why);
		return 1;
	}
	segment = segment_peek();
	if (segment_attach(SEGMENT_DRIVER, &keep, why, sizeof why)) { /* place 1: so that the waiter gets place 2 */
		printf("Bail out! %s\n", why);
		return 1;
	}
	waiter = child_start(&waiter_go, true);
	newcomer = child_start(&newcomer_go, false);
	segment_detach(&keep);
	die_with_lock(); /* at place 1, where the newcomer will be */
	ok(dead_word != 0 && atomic_load(&segment->lock) == dead_word);
	ok(go(waiter, waiter_go) && run_until(waiter, has_asked));
	ok(go(newcomer, newcomer_go) && run_until(newcomer, holds_lock));
	newcomers_word = atomic_load(&segment->lock);
	/* The waiter acts on what it knew. It must not get the lock: it waits, with further system calls. */
	ok(run_until(waiter, any_call) && run_until(waiter, any_call) && run_until(waiter, any_call));
	is(atomic_load(&segment->lock), newcomers_word);
	is(exit_status(newcomer), 0);
	is(exit_status(waiter), 0);
	is(segment_free_units(&observer, 0), (2u << 20) / SEGMENT_UNIT_BYTES);
	segment_unpeek(segment);
	segment_detach(&observer);
	snprintf(command, sizeof command, "rm -rf %s", dir);
	ok(system(command) == 0);
	return tap_end();
}
