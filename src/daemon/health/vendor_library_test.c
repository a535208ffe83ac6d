/* vendor_library_test.c: what a meted that is root takes from a folder, and what it passes over. */
#include "base/tap.h"
#include "daemon/health/vendor_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static bool is_taken(const char *path)
{
	char real[PATH_MAX];

	return vendor_library_real(path, real);
}

/* The link is the user's: after the look it could lead elsewhere. */
static void test_link(const char *file)
{
	char theirs[64], link[128], real[PATH_MAX] = "", opened[PATH_MAX] = "";
	const char *places[] = { link }, *unsafe;
	void *library;

	snprintf(theirs, sizeof(theirs), "%s/theirs", folder);
	snprintf(link, sizeof(link), "%s/libvendor.so", theirs);
	mkdir(theirs, 0755);
	tap_ok(!symlink(file, link), "a user's link to it");
	change(theirs, 1000, 0755);
	tap_ok(vendor_library_real(link, real) && !strcmp(real, file), "it is taken without the link");
	unlink(link);
	tap_ok(!symlink("/proc/self/exe", link) && !!realpath("/lib/x86_64-linux-gnu/libm.so.6", real) &&
		       !unlink(link) && !symlink(real, link),
	       "a user's link to a library of root's");
	library = vendor_library_open(places, 1, &unsafe);
	tap_ok(library && !dlinfo(library, RTLD_DI_ORIGIN, opened) && strcmp(opened, theirs),
	       "the library is not opened by the link (%s)", opened);
	unlink(link);
	rmdir(theirs);
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
	tap_ok(is_taken(file) && is_taken(link), "what is root's alone is taken");
	change(file, 1000, 0644);
	tap_ok(!is_taken(file) && !is_taken(link), "a user's file is not");
	tap_ok(!vendor_library_open(places, 2, &unsafe) && unsafe == file, "and it is named");
	change(file, 0, 0666);
	tap_ok(!is_taken(file), "nor one that all may write");
	change(file, 0, 0644);
	change(folder, 1000, 0755);
	tap_ok(!is_taken(file), "nor one in a user's folder");
	change(folder, 0, 0775);
	tap_ok(!is_taken(file), "nor in one that a group may write");
	change(folder, 0, 0755);
	tap_ok(is_taken(file), "and again it is root's alone");
	test_link(file);
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
		tap_ok(is_taken("/nowhere"), "who is not root may load what it likes");
	else
		test_folders();
	return tap_end();
}
