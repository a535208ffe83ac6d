/* tables.c: the guard's tables are full. */
#include "ground.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int body_full(void)
{
	struct session s;
	uint32_t o;
	int n = 0, r = 0;

	if (session_open(&s))
		return 2;
	for (; n < 20000 && !r; n++) {
		o = 0;
		r = rm_alloc(s.fd, s.client, s.client, &o, 0x2080, NULL);
	}
	o = 0;
	r = n < 20000 && r == -ENOMEM && rm_memory(s.fd, s.client, &o, MIB(1)) == -ENOMEM ? 0 : 3;
	if (write(hold_fds[1], r ? "n" : "y", 1) != 1)
		return 4;
	pause();
	return r;
}

static int body_room(void)
{
	struct session s;

	return session_open(&s) ? 2 : expect(grab(&s, MIB(64), MIB(65536)), 2048);
}

static int body_files(void)
{
	int n = 0, fd = 0;

	for (; n < 9000 && fd >= 0; n++)
		fd = node(CONTROL);
	return n > 8000 && n < 9000 && errno == ENOMEM ? 0 : 3;
}

/* More than are its own: of the pool. */
static int body_files_many(void)
{
	for (int n = 0; n < 1000; n++)
		if (node(CONTROL) < 0)
			return 2;
	return 0;
}

static int body_objects(void)
{
	struct session s;
	uint32_t o;

	if (session_open(&s))
		return 2;
	for (o = 0; !rm_alloc(s.fd, s.client, s.client, &o, 0x2080, NULL); o = 0)
		;
	for (int fd = 0; fd >= 0;)
		fd = node(CONTROL);
	if (write(hold_fds[1], "x", 1) != 1)
		return 3;
	pause();
	return 0;
}

/* Nine tenants, each of which takes all that it finds, would fill the tables for a tenth. */
void case_full_all(void)
{
	char path[64], name[8], x;
	pid_t pids[10];

	if (pipe(hold_fds))
		exit(1);
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof name, "many%d", i);
		snprintf(path, sizeof path, "/sys/fs/cgroup/%s", name);
		mkdir(path, 0755);
		run((const char *[]){ "/mete-guard", "set", path, "--memory", "1G", NULL });
		pids[i] = fork();
		if (!pids[i]) {
			enter(name);
			_exit(body_objects());
		}
		if (read(hold_fds[0], &x, 1) != 1)
			exit(1);
	}
	ok(!as("b", body_room) && !as("c", body_grab), "ten tenants that fill the tables together leave others their room");
	for (int i = 0; i < 10; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	clean("tables of all");
	ok(!as("b", body_files_many), "... and what they had is there for one again");
}

void case_full(void)
{
	pid_t p;
	char x = 0;

	if (pipe(hold_fds))
		exit(1);
	p = fork();
	if (!p) {
		enter("c");
		_exit(body_full());
	}
	ok(read(hold_fds[0], &x, 1) == 1 && x == 'y', "a tenant with too many objects is refused");
	ok(!as("b", body_room), "... and others have room");
	kill(p, SIGKILL);
	waitpid(p, NULL, 0);
	close(hold_fds[0]);
	close(hold_fds[1]);
	if (!front_notify) /* which has no table of files */
		ok(!as("c", body_files), "a tenant with too many files is refused");
	clean("full tables");
}
