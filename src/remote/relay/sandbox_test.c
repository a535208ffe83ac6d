/* sandbox_test.c: what each filter leaves to a process and to the threads that it has already. */
#include "base/tap.h"
#include "remote/relay/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum outcome {
	LEFT, /* it does what it always does */
	REFUSED,
	KILLED,
};

static const char *const outcome_names[] = { "left", "refused", "killed" };

static const struct sockaddr_in nowhere = { .sin_family = AF_INET, .sin_port = 1, .sin_addr = { 0x0100007f } };
static int stream; /* a socket that was made before */

/* Each tries one call; value: its own. */
static long read_file(void)
{
	return open("/proc/net/route", O_RDONLY);
}

static long write_file(void)
{
	return open("/tmp", O_WRONLY | O_TMPFILE, 0600);
}

static long map_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
}

static long map_memory(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
}

static long make_stream(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static long make_datagram(void)
{
	return socket(AF_INET, SOCK_DGRAM, 0);
}

static long make_local(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static long reach(void)
{
	return connect(stream, (const struct sockaddr *)&nowhere, sizeof(nowhere));
}

static long reach_by_sending(void)
{
	return sendto(stream, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, (const struct sockaddr *)&nowhere, sizeof(nowhere));
}

static long take_address(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };

	return bind(stream, (const struct sockaddr *)&any, sizeof(any));
}

static long wait_by_epoll(void)
{
	struct epoll_event e;

	errno = 0;
	epoll_wait(-1, &e, 1, 0);
	return errno == EPERM ? -1 : 0;
}

static long share_memory(void)
{
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);

	return id < 0 ? -1 : shmctl(id, IPC_RMID, NULL);
}

static long signal_parent(void)
{
	return kill(getppid(), 0);
}

/* The kernel would send it what the process chooses. */
static long own_by_fcntl(void)
{
	return fcntl(stream, F_SETOWN, getppid());
}

static long choose_signal(void)
{
	return syscall(SYS_fcntl, stream, UINT64_C(1) << 32 | 10,
		       SIGKILL); /* F_SETSIG; the upper half does not count */
}

static long start_process(void)
{
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static long start_program(void)
{
	return execl("/bin/true", "true", (char *)NULL);
}

static long trace(void)
{
	return ptrace(PTRACE_TRACEME, 0, 0, 0);
}

static const struct {
	const char *name;
	long (*call)(void);
	enum outcome outcomes[4]; /* by enum sandbox_need */
} cases[] = {
	{ "a file to read", read_file, { REFUSED, REFUSED, REFUSED, LEFT } },
	{ "a file to write", write_file, { REFUSED, REFUSED, REFUSED, LEFT } },
	{ "code", map_code, { REFUSED, REFUSED, REFUSED, LEFT } },
	{ "memory", map_memory, { LEFT, LEFT, LEFT, LEFT } },
	{ "a socket", make_stream, { REFUSED, LEFT, LEFT, LEFT } },
	{ "a socket for datagrams", make_datagram, { REFUSED, REFUSED, REFUSED, LEFT } },
	{ "a local socket", make_local, { REFUSED, REFUSED, REFUSED, LEFT } },
	{ "connecting", reach, { REFUSED, REFUSED, REFUSED, LEFT } },
	{ "connecting by sending", reach_by_sending, { REFUSED, REFUSED, REFUSED, REFUSED } },
	{ "an address", take_address, { REFUSED, REFUSED, REFUSED, LEFT } },
	{ "epoll", wait_by_epoll, { REFUSED, LEFT, LEFT, LEFT } },
	{ "shared memory", share_memory, { REFUSED, REFUSED, LEFT, LEFT } },
	{ "a signal to another", signal_parent, { REFUSED, REFUSED, REFUSED, REFUSED } },
	{ "an owner of a descriptor", own_by_fcntl, { REFUSED, REFUSED, REFUSED, REFUSED } },
	{ "a signal for it", choose_signal, { REFUSED, REFUSED, REFUSED, REFUSED } },
	{ "a process", start_process, { REFUSED, REFUSED, REFUSED, REFUSED } },
	{ "a program", start_program, { KILLED, KILLED, KILLED, KILLED } },
	{ "tracing", trace, { KILLED, KILLED, KILLED, KILLED } },
};

static int gate[2];

/* A thread from before the filter: its first words are the answer. */
static void *try_later(void *call)
{
	char byte;
	long r;

	if (read(gate[0], &byte, 1) != 1)
		_exit(3);
	r = ((long (*)(void))call)();
	_exit(r == -1 && errno == EPERM ? REFUSED : LEFT);
}

/* In a child: closes in, in two steps when it is to be a narrow one for UCX, and tries. */
static void try_in_child(enum sandbox_need need, long (*call)(void))
{
	pthread_t thread;

	stream = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (stream < 0 || pipe(gate) < 0 || pthread_create(&thread, NULL, try_later, (void *)call))
		_exit(4);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(5);
	if (need != SANDBOX_LINES && sandbox_close(SANDBOX_UCX_SETUP) < 0)
		_exit(6);
	if (sandbox_close(need) < 0)
		_exit(7);
	if (write(gate[1], "", 1) != 1)
		_exit(8);
	pthread_join(thread, NULL);
	_exit(9);
}

static void check(enum sandbox_need need, unsigned int i)
{
	enum outcome expected = cases[i].outcomes[need];
	pid_t pid = fork();
	int status = 0, got;

	if (!pid)
		try_in_child(need, cases[i].call);
	waitpid(pid, &status, 0);
	got = WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS ? KILLED : WIFEXITED(status) ? WEXITSTATUS(status) : 10;
	tap_ok(got == (int)expected, "filter %d: %s is %s (%d)", need, cases[i].name, outcome_names[expected], got);
}

int main(void)
{
	tap_begin();
	for (unsigned int need = SANDBOX_LINES; need <= SANDBOX_UCX_SETUP; need++)
		for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
			check((enum sandbox_need)need, i);
	return tap_end();
}
