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
	test_kernel();
	return tap_end();
}
