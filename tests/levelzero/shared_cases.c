/* shared_cases.c: memory of another process. */
#include "cases.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(int fd, const void *what, size_t size)
{
	if (write(fd, what, size) != (ssize_t)size)
		exit(4);
}

static void hear(int fd, void *what, size_t size)
{
	if (recv(fd, what, size, MSG_WAITALL) != (ssize_t)size)
		exit(5);
}

static void importer(int fd, uint64_t bytes, bool frees)
{
	ze_ipc_mem_handle_t handle;
	void *p = NULL;
	char c = 0;
	int status;

	hear(fd, &handle, sizeof handle);
	need(begin(), "the other one's zeInit");
	need(ze.zeMemOpenIpcHandle(context, device, handle, 0, &p), "zeMemOpenIpcHandle");
	ok(room() == bytes - bytes / 2, "opened by another process of the grant it is charged once: %llu left",
	   (unsigned long long)room());
	say(fd, &c, 1);
	hear(fd, &c, 1); /* the owner has freed it */
	ok(room() == bytes - bytes / 2, "its owner has freed it, and it is charged as long as it is open");
	if (frees)
		need(drop_plain(p), "zeMemFree of what was opened");
	else
		need(ze.zeMemCloseIpcHandle(context, p), "zeMemCloseIpcHandle");
	ok(room() == bytes, "and back when it is closed");
	status = done();
	fflush(stdout);
	say(fd, &c, 1);
	_exit(status);
}

int shared(uint64_t bytes, const char *way)
{
	bool dies = !strcmp(way, "dies");
	ze_ipc_mem_handle_t handle;
	int pair[2], status;
	pid_t child;
	char c = 0;
	void *p;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 2;
	child = fork();
	if (!child)
		importer(pair[1], bytes, !strcmp(way, "frees"));
	need(begin(), "zeInit");
	need(take_device(&p, bytes / 2), "zeMemAllocDevice");
	need(ze.zeMemGetIpcHandle(context, p, &handle), "zeMemGetIpcHandle");
	ok(room() == bytes - bytes / 2, "exported memory is charged once");
	say(pair[0], &handle, sizeof handle);
	hear(pair[0], &c, 1);
	need(drop_plain(p), "zeMemFree");
	ok(room() == bytes - bytes / 2, "freed by its owner it is charged while another one has it");
	if (dies)
		kill(child, SIGKILL);
	else
		say(pair[0], &c, 1);
	waitpid(child, &status, 0);
	for (int i = 0; i < 500 && room() != bytes; i++)
		usleep(10000);
	ok(room() == bytes, "and back when that one has gone");
	if (!dies)
		ok(WIFEXITED(status) && !WEXITSTATUS(status), "the other one saw the same");
	return done();
}
