/* landlock_test.c: the kernel's rules alone, without the filter of system calls: each in a child of its own. */
#include "base/tap.h"
#include "remote/worker/landlock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t other; /* sleeps, outside of all rules */
static char abstract_name[64];
static int listens = -1;

static long signal_other(void)
{
	return kill(other, 0);
}

static long signal_self(void)
{
	return kill(getpid(), 0);
}

static long trace_other(void)
{
	return ptrace(PTRACE_ATTACH, other, NULL, NULL);
}

static long connect_tcp(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	long r = connect(fd, (struct sockaddr *)&to, sizeof(to));

	return r && errno == ECONNREFUSED ? 0 : r; /* nobody listens there, but it was tried */
}

static long connect_abstract(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(to.sun_path + 1, abstract_name, strlen(abstract_name));
	return connect(fd, (struct sockaddr *)&to,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(abstract_name)));
}

static long open_file(void)
{
	return open("/proc/self/status", O_RDONLY | O_CLOEXEC);
}

static long list_root(void)
{
	return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static long make_file(void)
{
	char path[] = "/tmp/mete-landlock-XXXXXX";
	int fd = mkstemp(path);

	if (fd >= 0)
		unlink(path);
	return fd;
}

static int kept = -1;

static long use_kept(void)
{
	return ftruncate(kept, 4096) ? -1 : (long)pwrite(kept, "x", 1, 0);
}

static bool scope(void)
{
	return landlock_scope();
}

static bool files(void)
{
	return landlock_files(false);
}

static const struct {
	const char *name;
	bool (*rule)(void);
	long (*call)(void);
	bool left;
	int since; /* the version of the rules from which on there is this one */
} tries[] = {
	{ "a signal to a process outside", scope, signal_other, false, 6 },
	{ "one to itself", scope, signal_self, true, 6 },
	{ "tracing a process outside", scope, trace_other, false, 6 },
	{ "TCP", scope, connect_tcp, false, 6 },
	{ "a socket outside without a file", scope, connect_abstract, false, 6 },
	{ "a file", scope, open_file, true, 6 },
	{ "a file", files, open_file, false, 1 },
	{ "a folder", files, list_root, false, 1 },
	{ "a new file", files, make_file, false, 1 },
	{ "what is open already", files, use_kept, true, 1 },
};

#define TRIES (sizeof(tries) / sizeof(*tries))

static void *call_in_thread(void *call)
{
	return (void *)(((long (*)(void))call)() < 0 ? "" : NULL);
}

/* Value: 0 left, 1 refused, 2 there are no such rules; of a thread that was started after them. */
static int in_child(size_t i)
{
	pid_t child = fork();
	int status;

	if (!child) {
		pthread_t thread;
		void *refused;

		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (!tries[i].rule())
			_exit(2);
		if (pthread_create(&thread, NULL, call_in_thread, (void *)tries[i].call) ||
		    pthread_join(thread, &refused))
			_exit(3);
		_exit(!!refused);
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void listen_abstract(void)
{
	struct sockaddr_un own = { .sun_family = AF_UNIX };

	listens = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(abstract_name, sizeof(abstract_name), "mete-landlock-test-%d", (int)getpid());
	memcpy(own.sun_path + 1, abstract_name, strlen(abstract_name));
	if (bind(listens, (struct sockaddr *)&own,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(abstract_name))) ||
	    listen(listens, 16))
		_exit(1);
}

int main(void)
{
	int version = (int)syscall(444l, NULL, 0, 1u); /* landlock_create_ruleset: of its rules */

	tap_begin();
	listen_abstract();
	kept = memfd_create("kept", MFD_CLOEXEC);
	other = fork();
	if (!other) {
		pause();
		_exit(0);
	}
	for (size_t i = 0; i < TRIES; i++) {
		int got = in_child(i);

		if (got == 2 && version < tries[i].since)
			tap_ok(true, "%s # SKIP this kernel has no such rules", tries[i].name);
		else
			tap_ok(got == !tries[i].left, "%s is %s", tries[i].name, tries[i].left ? "left" : "refused");
	}
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	close(kept);
	close(listens);
	return tap_end();
}
