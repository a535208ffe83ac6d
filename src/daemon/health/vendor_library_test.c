/* vendor_library_test.c: what a meted that is root takes from a folder, and what it passes over. */
#include "base/tap.h"
#include "daemon/health/vendor_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/vendor-library-XXXXXX";

static void put(const char *path)
{
	FILE *f = fopen(path, "w");

	if (f)
		fclose(f);
}

static void change(const char *path, uid_t uid, mode_t mode)
{
	if (chown(path, uid, 0) || chmod(path, mode))
		perror(path);
}

static void test_folders(void)
{
	char lib[64], file[128], link[64];
	const char *places[] = { file, link }, *unsafe;

	if (!mkdtemp(folder))
		return;
	snprintf(lib, sizeof(lib), "%s/lib64", folder);
	snprintf(file, sizeof(file), "%s/libvendor.so", lib);
	snprintf(link, sizeof(link), "%s/latest.so", folder);
	mkdir(lib, 0755);
	put(file);
	tap_ok(!symlink(file, link), "a link to it");
	tap_ok(vendor_library_is_safe(file) && vendor_library_is_safe(link), "what is root's alone is taken");
	change(file, 1000, 0644);
	tap_ok(!vendor_library_is_safe(file) && !vendor_library_is_safe(link), "a user's file is not");
	tap_ok(!vendor_library_open(places, 2, &unsafe) && unsafe == file, "and it is named");
	change(file, 0, 0666);
	tap_ok(!vendor_library_is_safe(file), "nor one that all may write");
	change(file, 0, 0644);
	change(folder, 1000, 0755);
	tap_ok(!vendor_library_is_safe(file), "nor one in a user's folder");
	change(folder, 0, 0775);
	tap_ok(!vendor_library_is_safe(file), "nor in one that a group may write");
	change(folder, 0, 0755);
	tap_ok(vendor_library_is_safe(file), "and again it is root's alone");
	unlink(file);
	tap_ok(!vendor_library_open(places, 2, &unsafe) && !unsafe, "what is not there is not named");
	unlink(link);
	rmdir(lib);
	rmdir(folder);
}

int main(void)
{
	tap_begin();
	if (geteuid())
		tap_ok(vendor_library_is_safe("/nowhere"), "who is not root may load what it likes");
	else
		test_folders();
	return tap_end();
}
