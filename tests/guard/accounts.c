/* accounts.c: names of one tenant, and cgroups that become a tenant's while their processes run. */
#include "ground.h"

#include "guard/held.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOT "/sys/fs/cgroup"

static int go[2];   /* a byte for each body that may go on */
static int told[2]; /* the number of a body's child */

static int set(const char *cgroup, const char *memory, const char *grant)
{
	char path[96];

	snprintf(path, sizeof path, ROOT "/%s", cgroup);
	mkdir(path, 0755);
	return run((const char *[]){ "/mete-guard", "set", path, "--memory", memory, grant ? "--grant" : NULL, grant,
				     NULL });
}

static int drop(const char *cgroup)
{
	char path[96];

	snprintf(path, sizeof path, ROOT "/%s", cgroup);
	return run((const char *[]){ "/mete-guard", "drop", path, NULL });
}

/* Starts a body in a cgroup that is nobody's yet; it says when it has begun. */
static pid_t begin(const char *cgroup, int (*body)(void))
{
	char path[96], x;
	pid_t p;

	snprintf(path, sizeof path, ROOT "/%s", cgroup);
	mkdir(path, 0755);
	p = fork();
	if (!p) {
		enter(cgroup);
		_exit(body());
	}
	if (read(hold_fds[0], &x, 1) != 1)
		exit(1);
	return p;
}

static int end(pid_t p)
{
	int status;

	if (write(go[1], "x", 1) != 1)
		exit(1);
	waitpid(p, &status, 0);
	return status;
}

static bool begun_and_let_go(void)
{
	char x;

	return write(hold_fds[1], "x", 1) == 1 && read(go[0], &x, 1) == 1;
}

static int body_take_128(void)
{
	struct session s;

	if (session_open(&s) || grab(&s, MIB(64), MIB(128)) != MIB(128))
		return 2;
	return begun_and_let_go() ? 0 : 3;
}

static int body_rest_128(void)
{
	struct session s;

	return session_open(&s) ? 2 : expect(grab(&s, MIB(64), MIB(65536)), 128);
}

static int body_whole_256(void)
{
	struct session s;

	return session_open(&s) ? 2 : expect(grab(&s, MIB(64), MIB(65536)), 256);
}

/* Containers of one grant: the cgroups have its quota together, until the last of them is gone. */
static void names_of_one(void)
{
	pid_t p;

	ok(!set("one", "256M", "21") && !set("two", "256M", "21") && !set("other", "256M", "22"),
	   "two cgroups become one grant's");
	p = begin("one", body_take_128);
	ok(!as("two", body_rest_128), "... and have its quota together");
	ok(!as("other", body_whole_256), "... which is not another grant's");
	ok(shown("one", "used_bytes") == MIB(128) && shown("two", "used_bytes") == MIB(128),
	   "... and one account is shown for both");
	rmdir(ROOT "/two");
	ok(!set("other", "256M", "22") && shown("two", "used_bytes") == -1 && shown("one", "used_bytes") == MIB(128),
	   "a cgroup of it that is gone is forgotten, and its other one is held as before");
	ok(!end(p) && !as("one", body_whole_256), "... with what was given back");
	ok(!drop("one") && drop("one") == 1 && as("one", body_whole_256), "a tenant that is dropped is gone");
	ok(!set("one", "256M", "21") && !as("one", body_whole_256), "... and can be made again, with nothing used");
	drop("one");
	drop("other");
}

static int body_before(void)
{
	struct session s, t;

	/* It calls as nobody's, which is remembered of its cgroup. */
	if (session_open(&s) || !begun_and_let_go() || session_open(&t))
		return 2;
	return expect(grab(&s, MIB(64), MIB(512)) + grab(&t, MIB(64), MIB(512)), 256);
}

static int body_leaves(void)
{
	struct session s;

	if (!begun_and_let_go())
		return 2;
	enter("");
	return session_open(&s) ? 3 : expect(grab(&s, MIB(64), MIB(512)), 256);
}

/* Processes that were in a cgroup before it became a tenant's. */
static void cgroup_becomes(void)
{
	pid_t p = begin("early/below", body_before);

	ok(!set("early", "256M", NULL) && !end(p), "a process that called before its cgroup was a tenant's is limited");
	p = begin("early2/below", body_leaves);
	ok(!set("early2", "256M", NULL) && !end(p), "... and one that leaves it before it calls");
	for (int i = 0; i < 100 && truth().used; i++)
		usleep(10000);
	drop("early");
	drop("early2");
}

static bool is_held(uint64_t grant, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	char why[HELD_WHY] = "";
	bool held = fd >= 0 && held_for(grant, pid, fd, why);

	if (fd >= 0)
		close(fd);
	return held;
}

static int body_stays(void)
{
	return begun_and_let_go() ? 0 : 2;
}

static int body_moves(void)
{
	enter("");
	return begun_and_let_go() ? 0 : 2;
}

/* Its child is there before the cgroup is a tenant's, and leaves it: the parent is let go and ends it. */
static int body_parts(void)
{
	pid_t child = fork();

	if (!child) {
		enter("");
		pause();
	}
	if (write(told[1], &child, sizeof child) != sizeof child || !begun_and_let_go())
		return 2;
	kill(child, SIGKILL);
	return 0;
}

/* What meted asks where a node requires the guard: by the tables that the programs keep. */
static void held_is_told(void)
{
	pid_t p, child = 0;

	set("kept", "256M", "31");
	p = begin("kept", body_stays);
	ok(is_held(31, p) && !is_held(32, p), "who is in a grant's cgroup is held for that grant");
	ok(!is_held(31, getpid()) && !is_held(31, getppid()), "... who is not is not");
	end(p);
	p = begin("kept", body_moves);
	ok(is_held(31, p), "... who has left it still is");
	drop("kept");
	ok(!is_held(31, p), "... until the tenant is dropped");
	end(p);
	mkdir(ROOT "/later", 0755);
	p = begin("later", body_parts);
	if (read(told[0], &child, sizeof child) != sizeof child)
		exit(1);
	set("later", "256M", "33");
	for (int i = 0; i < 100 && is_held(33, child); i++)
		usleep(10000);
	ok(is_held(33, p) && !is_held(33, child), "... who has left it before it was the grant's is not");
	end(p);
	drop("later");
}

void case_accounts(void)
{
	mkdir(ROOT "/early", 0755);
	mkdir(ROOT "/early2", 0755);
	if (pipe(hold_fds) || pipe(go) || pipe(told))
		exit(1);
	names_of_one();
	cgroup_becomes();
	held_is_told();
	clean("accounts");
}
