/* descriptors.c: descriptors that are duplicated, inherited, sent, and used from other cgroups and namespaces. */
#include "ground.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

void case_descriptors(void)
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
	/* A supervisor sees the calls of its own processes alone: docs/guard.md lists that as open. */
	if (front_notify) {
		clean("descriptors");
		return;
	}
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
