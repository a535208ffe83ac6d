/* deaths.c: processes, helpers and tenants that end, and memory in flight. */
#include "ground.h"

#include "guard/counts.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of one tenant that goes on: what its dead had is given back while it does. */
static int body_killed(void)
{
	unsigned int seed = 1;
	struct session s;
	int i;

	for (i = 0; i < 1000; i++) {
		pid_t p = fork();

		if (!p) {
			uint32_t o;

			for (;;) {
				if (session_open(&s))
					_exit(0);
				for (int k = 0; k < 20; k++) {
					o = 0;
					if (!rm_memory(s.fd, s.client, &o, MIB(1 + k)) && k % 3 == 0)
						rm_free(s.fd, s.client, o);
				}
				close(s.fd);
			}
		}
		usleep((useconds_t)(rand_r(&seed) % 4000));
		kill(p, SIGKILL);
		waitpid(p, NULL, 0);
		if (truth().used > MIB(1024))
			return 2;
	}
	for (i = 0; i < 40 && shown("a", ""); i++)
		;
	if (shown("a", "") || truth().used)
		return 3;
	return session_open(&s) ? 4 : expect(grab(&s, MIB(64), MIB(65536)), 1024);
}

void case_killed(void)
{
	unsigned int seed = 1;

	if (front_notify) {
		int r = as("a", body_killed);

		ok(!r,
		   "1000 processes of a tenant killed at random: the account comes back to 0, and the quota is whole "
		   "(%d)",
		   r);
		clean("1000 processes killed");
		return;
	}
	for (int i = 0; i < 1000; i++) {
		pid_t p = fork();

		if (!p) {
			struct session s;
			uint32_t o;

			enter(i % 3 == 0 ? "a" : i % 3 == 1 ? "b" : "c");
			for (;;) {
				if (session_open(&s))
					_exit(0);
				for (int k = 0; k < 20; k++) {
					o = 0;
					if (!rm_memory(s.fd, s.client, &o, MIB(1 + k)) && k % 3 == 0)
						rm_free(s.fd, s.client, o);
				}
				close(s.fd);
			}
		}
		usleep((useconds_t)(rand_r(&seed) % 4000));
		kill(p, SIGKILL);
		waitpid(p, NULL, 0);
	}
	clean("1000 processes killed at random");
	ok(!shown("a", "files") && !shown("b", "files") && !shown("c", "files") && !shown("a", "objects") &&
		   !shown("b", "objects"),
	   "... and no file or object is counted");
}

int body_grab(void)
{
	struct session s;

	if (session_open(&s))
		return 2;
	return expect(grab(&s, MIB(64), MIB(65536)), 512);
}

static int body_grab_128(void)
{
	struct session s;

	if (session_open(&s))
		return 2;
	return expect(grab(&s, MIB(64), MIB(65536)), 128);
}

static int body_churn(void)
{
	struct session s;
	uint64_t until = now_ns() + 4000000000u;

	while (now_ns() < until) {
		if (session_open(&s) || grab(&s, MIB(64), MIB(65536)) != MIB(512))
			return 2;
		if (truth().used != MIB(512) || rm_free(s.fd, s.client, s.client) || truth().used)
			return 3;
		close(s.fd);
	}
	return 0;
}

void case_helper(void)
{
	unsigned int seed = 7;
	int status, loads = 0;
	pid_t churn;

	/* A helper that is killed at any moment of a load leaves a guard that holds. */
	for (int i = 0; i < 6; i++) {
		pid_t p = fork();

		if (!p) {
			execl("/mete-guard", "mete-guard", "load", NULL);
			_exit(1);
		}
		usleep((useconds_t)(rand_r(&seed) % 800000));
		kill(p, SIGKILL);
		waitpid(p, NULL, 0);
		if (as("c", body_grab))
			break;
		loads++;
	}
	ok(loads == 6, "a helper killed while it loads: the quota holds (%d of 6)", loads);
	ok(!guard_load() && !as("c", body_grab), "and it can be loaded again");
	clean("helpers killed");

	churn = fork();
	if (!churn) {
		enter("c");
		_exit(body_churn());
	}
	for (loads = 0; loads < 3 && !guard_load(); loads++)
		;
	waitpid(churn, &status, 0);
	ok(loads == 3 && WIFEXITED(status) && !WEXITSTATUS(status),
	   "programs replaced %d times under load: no call passes between (%d)", loads, status);
	clean("replaced");
}

static int body_give_back(void)
{
	struct session s;
	uint32_t o;

	for (int i = 0; i < 4; i++) {
		o = 0;
		if (session_open(&s) || rm_memory(s.fd, s.client, &o, MIB(400)) || rm_free(s.fd, s.client, o))
			return 2;
		close(s.fd);
	}
	return 0;
}

static int driver_again(void)
{
	return run((const char *[]){ "/bin/busybox", "rmmod", "mete_standin", NULL }) ?:
		       run((const char *[]){ "/bin/busybox", "insmod", "/mete_standin.ko", NULL });
}

/* Programs are attached below another folder each time; waits until that is this one. */
static bool took_over(const char *folder, const char *before)
{
	char path[2][64];

	snprintf(path[0], sizeof *path, "/sys/fs/bpf/mete-guard/%s", folder);
	snprintf(path[1], sizeof *path, "/sys/fs/bpf/mete-guard/%s", before);
	for (int i = 0; i < 1200 && (access(path[0], F_OK) || !access(path[1], F_OK)); i++)
		usleep(100000);
	return !access(path[0], F_OK) && access(path[1], F_OK);
}

/* With the driver's module its probes are gone: who watches puts them where the new one has its calls. */
void case_reload(void)
{
	bool is_a = !access("/sys/fs/bpf/mete-guard/links_a", F_OK);
	const char *first = is_a ? "links_a" : "links_b", *second = is_a ? "links_b" : "links_a";
	pid_t watch = fork();
	int r;

	if (!watch) {
		execl("/mete-guard", "mete-guard", "watch", NULL);
		_exit(1);
	}
	ok(took_over(second, first) && !driver_again() && took_over(first, second),
	   "the driver is loaded anew, and the programs by who watches");
	r = as("c", body_give_back);
	ok(!r && !shown("c", "used_bytes") && !as("c", body_grab),
	   "... and calls are judged and given back as before (%d, %lld)", r, shown("c", "used_bytes"));
	kill(watch, SIGKILL);
	waitpid(watch, NULL, 0);
	clean("a driver that was loaded anew");
}

static int body_refused(void)
{
	struct session s;
	int r = session_open(&s);

	return r == -EPERM || (r < 0 && errno == EPERM) ? 0 : 2;
}

static int waiting[2];

static int body_ended(void)
{
	struct session s;
	uint32_t o = 0;
	char x;

	if (session_open(&s) || grab(&s, MIB(64), MIB(64)) != MIB(64) || write(hold_fds[1], "x", 1) != 1 ||
	    read(waiting[0], &x, 1) != 1)
		return 2;
	return rm_memory(s.fd, s.client, &o, MIB(1)) == -EPERM ? body_refused() : 3;
}

void case_end(void)
{
	int status;
	pid_t p;
	char x;

	tenant_set("e", "128M", "0");
	if (pipe(hold_fds) || pipe(waiting))
		exit(1);
	p = fork();
	if (!p) {
		enter("e");
		_exit(body_ended());
	}
	if (read(hold_fds[0], &x, 1) != 1)
		exit(1);
	run((const char *[]){ "/mete-guard", "drop", "/sys/fs/cgroup/e", NULL });
	if (write(waiting[1], "x", 1) != 1)
		exit(1);
	waitpid(p, &status, 0);
	ok(!status, "a tenant whose grant has ended gets nothing more, inside its cgroup or not (%x)", status);
	ok(!truth().used, "... and what it had is gone with it");
}

static int body_grant(void)
{
	struct session s;
	char x;

	if (read(waiting[0], &x, 1) != 1 || session_open(&s))
		return 2;
	if (grab(&s, MIB(64), MIB(128)) != MIB(128) || unshare(CLONE_NEWCGROUP))
		return 3;
	return as("b", body_grab_128);
}

/* A process that is named, in no cgroup of a tenant. */
void case_grant(void)
{
	struct guard_count c;
	char pid[16];
	int status;
	pid_t p;

	if (pipe(waiting))
		exit(1);
	p = fork();
	if (!p)
		_exit(body_grant());
	snprintf(pid, sizeof pid, "%d", p);
	ok(!run((const char *[]){ "/mete-guard", "set", "grant:7", "--memory", "256M", "--process", pid, NULL }),
	   "a process is named a grant's");
	ok(!counts_get(7, &c) && c.quota == MIB(256) && c.front == GUARD_FRONT_BPF, "... and counted for meted");
	ok(run((const char *[]){ "/mete-guard", "set", "grant:8", "--memory", "256M", "--process", pid, NULL }) == 1,
	   "... and cannot be another's");
	if (write(waiting[1], "x", 1) != 1)
		exit(1);
	waitpid(p, &status, 0);
	ok(!status, "it and its child have the quota together, in another tenant's cgroup too (%x)", status);
	clean("a grant's process");
	ok(!run((const char *[]){ "/mete-guard", "set", "/sys/fs/cgroup/d", "--memory", "512M", NULL }) &&
		   run((const char *[]){ "/mete-guard", "drop", "grant:7", NULL }) == 1,
	   "a grant whose process has ended is forgotten with the next tenant");
	ok(counts_get(7, &c) == -ENOENT, "... and not counted any more");
}
