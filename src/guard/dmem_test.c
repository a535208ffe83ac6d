/*
 * dmem_test.c: the kernel's controller as a folder of files, and a library in NVML's place (nvml_limits.c): stand-ins,
 * for no kernel of Debian's has the controller. dmem_test LIBRARY
 */
#include "guard/dmem.h"

#include "base/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/mete-dmem-XXXXXX", why[DMEM_WHY];

static void put(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof path, "%s%s%s/%s", root, *folder ? "/" : "", folder, name);
	f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
}

static const char *get(const char *folder, const char *name)
{
	static char text[512];
	char path[256];
	FILE *f;

	snprintf(path, sizeof path, "%s%s%s/%s", root, *folder ? "/" : "", folder, name);
	f = fopen(path, "r");
	text[f ? fread(text, 1, sizeof text - 1, f) : 0] = 0;
	if (f)
		fclose(f);
	return text;
}

static void make(const char *folder)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", root, folder);
	mkdir(path, 0755);
	put(folder, "cgroup.subtree_control", "");
}

static void test_files(void)
{
	char path[256];
	uint64_t used;

	tap_ok(!dmem_there(NULL), "a kernel without the controller has no regions");
	snprintf(path, sizeof path, "%s/a/b", root);
	tap_ok(dmem_limit(path, "0000:01:00.0", 1 << 30, why) == -ENOTSUP, "and limits nothing: %s", why);
	put("", "dmem.capacity", "drm/0000:03:00.0/vram0 8514437120\nnvidia/0000:01:00.0/vidmem 85520809984\n");
	tap_ok(dmem_there("0000:01:00.0") && !dmem_there("0000:09:00.0"), "regions are found by the bus address");
	tap_ok(dmem_limit(path, "0000:01:00.0", 1 << 30, why) == -ENOTSUP && strstr(why, "not enabled"),
	       "a cgroup without dmem.max: %s", why);
	tap_ok(!strcmp(get("", "cgroup.subtree_control"), "+dmem") &&
		       !strcmp(get("a", "cgroup.subtree_control"), "+dmem"),
	       "the controller is asked for in all cgroups above");
	put("a/b", "dmem.max", "");
	tap_ok(!dmem_limit(path, "0000:01:00.0", UINT64_C(5905580032), why), "a limit is written and read back %s",
	       why);
	tap_ok(!strcmp(get("a/b", "dmem.max"), "nvidia/0000:01:00.0/vidmem 5905580032"), "in the kernel's words");
	tap_ok(dmem_limit(path, "0000:09:00.0", 1, why) == -ENOTSUP, "a device that it does not count: %s", why);
	tap_ok(dmem_limit("/elsewhere/c", "0000:01:00.0", 1, why) == -EINVAL, "not a cgroup: %s", why);
	put("a/b", "dmem.current", "drm/0000:03:00.0/vram0 4096\nnvidia/0000:01:00.0/vidmem 1000000\n");
	tap_ok(!dmem_current(path, &used) && used == 1004096, "what is held is read");
	tap_ok(dmem_current("/nowhere", &used) == -ENOENT, "a cgroup that is gone");
	/* A write that is taken and has no effect. */
	snprintf(path, sizeof path, "%s/a/b/dmem.max", root);
	unlink(path);
	tap_ok(!symlink("/dev/null", path), "a file that keeps nothing");
	snprintf(path, sizeof path, "%s/a/b", root);
	tap_ok(dmem_limit(path, "0000:01:00.0", 4096, why) == -ENOENT,
	       "a limit that does not stand afterwards is an error: %s", why);
}

static void test_nvml(const char *library)
{
	char asked[128];

	snprintf(asked, sizeof asked, "%s/asked", root);
	setenv("METE_TEST_ASKED", asked, 1);
	tap_ok(!dmem_limit_nvml(library, "GPU-1", "/sys/fs/cgroup/x", 1 << 30, UINT64_C(3) << 30, why),
	       "NVML takes a limit");
	tap_ok(!strcmp(get("", "asked"), "GPU-1 /sys/fs/cgroup/x 1073741824 3221225472"), "with its words: %s",
	       get("", "asked"));
	tap_ok(dmem_limit_nvml(library, "GPU-old", "/x", 1, 2, why) == -ENOTSUP, "a driver without it: %s", why);
	tap_ok(dmem_limit_nvml(library, "GPU-user", "/x", 1, 2, why) == -EPERM, "who is not root: %s", why);
	tap_ok(dmem_limit_nvml(library, "none", "/x", 1, 2, why) == -ENODEV, "a device that it has not: %s", why);
	tap_ok(dmem_limit_nvml("libm.so.6", "GPU-1", "/x", 1, 2, why) == -ENOSYS, "an older library: %s", why);
	tap_ok(dmem_limit_nvml("/nowhere.so", "GPU-1", "/x", 1, 2, why) == -ENOENT, "none: %s", why);
}

int main(int argc, char **argv)
{
	char remove[64];

	tap_begin();
	if (argc != 2 || !mkdtemp(root))
		return 1;
	setenv("METE_GUARD_CGROUP", root, 1);
	put("", "cgroup.subtree_control", "");
	make("a");
	make("a/b");
	test_files();
	test_nvml(argv[1]);
	snprintf(remove, sizeof remove, "rm -r %s", root);
	tap_ok(!system(remove), "the folder is removed");
	return tap_end();
}
