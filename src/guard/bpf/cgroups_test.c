/* cgroups_test.c: a cgroup is said to be gone only where all were looked at. In a folder, and of this kernel. */
#include "guard/bpf/cgroups.h"

#include "base/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64] = "/tmp/cgroups_testXXXXXX", path[256];

static uint64_t make(const char *name)
{
	struct stat s = { 0 };

	snprintf(path, sizeof path, "%s/%s", root, name);
	mkdir(path, 0755);
	stat(path, &s);
	return s.st_ino;
}

static void drop(const char *name)
{
	snprintf(path, sizeof path, "%s/%s", root, name);
	rmdir(path);
}

/* The search as it ends where somebody removes a folder under it: no folder can be opened. */
static int find_ended(uint64_t id)
{
	struct rlimit was, none;
	int r;

	getrlimit(RLIMIT_NOFILE, &was);
	none = was;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	r = cgroups_find(root, id, path, sizeof path);
	setrlimit(RLIMIT_NOFILE, &was);
	return r;
}

static void test_folder(void)
{
	uint64_t a, b;

	if (!mkdtemp(root))
		exit(1);
	a = make("a");
	b = make("a/b");
	tap_ok(!cgroups_find(root, b, path, sizeof path) && strstr(path, "/a/b"), "a folder is found by its number");
	tap_ok(find_ended(b) == -EAGAIN, "a search that ends before its end says of nobody that he is gone");
	drop("a/b");
	tap_ok(cgroups_find(root, b, path, sizeof path) == -ENOENT, "one that is removed is gone");
	tap_ok(!cgroups_find(root, a, path, sizeof path), "the one above it is not");
	drop("a");
	rmdir(root);
}

static int seen[8];
static size_t seen_count;

static void see(int pid, void *owner)
{
	if (seen_count < 8)
		seen[seen_count++] = pid;
	/* Somebody removes a folder while its parent is read. */
	if (owner)
		drop(owner);
}

static void processes_write(const char *name, const char *text)
{
	FILE *f;

	snprintf(path, sizeof path, "%s/%s/cgroup.procs", root, name);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		exit(1);
}

static void processes_drop(const char *name)
{
	snprintf(path, sizeof path, "%s/%s/cgroup.procs", root, name);
	unlink(path);
	drop(name);
}

static void test_processes(void)
{
	char top[80], gone[] = "a/gone";

	snprintf(root, sizeof root, "/tmp/cgroups_testXXXXXX");
	if (!mkdtemp(root))
		exit(1);
	make("a");
	make("a/b");
	make("a/gone");
	processes_write("a", "11\n12\n");
	processes_write("a/b", "13\n");
	snprintf(top, sizeof top, "%s/a", root);
	cgroups_processes(top, 0, see, NULL);
	tap_ok(seen_count == 2 && seen[0] == 11 && seen[1] == 12, "the processes of a cgroup");
	seen_count = 0;
	cgroups_processes(top, 4, see, gone);
	tap_ok(seen_count == 3 && seen[2] == 13, "... and of those below it, whatever goes meanwhile (%zu)",
	       seen_count);
	seen_count = 0;
	snprintf(top, sizeof top, "%s/none", root);
	cgroups_processes(top, 4, see, NULL);
	tap_ok(!seen_count, "... and none of one that is gone");
	processes_drop("a/b");
	processes_drop("a");
	rmdir(root);
}

/* Where this machine has cgroups of version 2. */
static void test_kernel(void)
{
	const char *here = cgroups_root();
	struct stat s;
	int r;

	if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) &&
	    access("/sys/fs/cgroup/unified/cgroup.controllers", F_OK))
		return;
	if (stat(here, &s))
		return;
	r = cgroups_find(here, s.st_ino, path, sizeof path);
	tap_ok(!r && !strcmp(path, here), "the root of cgroups has a number and a folder (%s)", path);
	r = cgroups_find(here, UINT64_C(1) << 40, path, sizeof path);
	tap_ok(r == -ENOENT || r == -EAGAIN, "a number that none has is that of none");
}

int main(void)
{
	tap_begin();
	test_folder();
	test_processes();
	test_kernel();
	return tap_end();
}
