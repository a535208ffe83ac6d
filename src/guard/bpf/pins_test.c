/* pins_test.c: what others have put where the guard pins its programs is neither believed nor followed. */
#include "base/tap.h"
#include "guard/bpf/pins.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[64], pins[96], why[PINS_WHY];

static const char *at(const char *name)
{
	static char path[2][160];
	static int which;

	which = !which;
	snprintf(path[which], sizeof path[which], "%s/%s", base, name);
	return path[which];
}

static void file_make(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
}

static bool there(const char *path)
{
	struct stat s;

	return !lstat(path, &s);
}

static void test_own(void)
{
	tap_ok(pins_check(pins, why) == -ENOENT, "there is none at first");
	tap_ok(!pins_make(pins, why), "a folder is made");
	tap_ok(!pins_make(pins, why) && !pins_check(pins, why), "and is ours the next time");
	mkdir(at("pins/links_a"), 0700);
	file_make(at("pins/links_a/one"));
	file_make(at("pins/links_a/two"));
	tap_ok(!pins_remove(pins, "links_a", why) && !there(at("pins/links_a")),
	       "a folder in it is removed with its files");
	tap_ok(!pins_remove(pins, "links_a", why), "and what is not there is no fault");
}

static void test_links(void)
{
	mkdir(at("other"), 0700);
	mkdir(at("other/maps"), 0700);
	file_make(at("other/file"));
	tap_ok(!symlink(at("other"), at("pins/links_a")), "a link is where the programs are pinned");
	tap_ok(!pins_remove(pins, "links_a", why) && !there(at("pins/links_a")), "it is removed");
	tap_ok(there(at("other/file")), "and what it leads to stays");
	rmdir(at("pins/maps"));
	tap_ok(!symlink(at("other"), at("pins/maps")), "the maps are a link");
	tap_ok(pins_make(pins, why) == -EPERM && strstr(why, "maps"), "which is refused");
	unlink(at("pins/maps"));
	rmdir(pins);
	tap_ok(!symlink(at("other"), pins), "the folder itself is a link");
	tap_ok(pins_make(pins, why) == -EPERM && strstr(why, "is no folder"), "which is refused");
	tap_ok(pins_remove(pins, "maps", why) == -EPERM && there(at("other/maps")), "and nothing is removed behind it");
	unlink(pins);
}

static void test_others(void)
{
	mkdir(pins, 0700);
	tap_ok(!chmod(pins, 0770) && pins_make(pins, why) == -EPERM && strstr(why, "0770"),
	       "a folder that others may enter is refused");
	chmod(pins, 0700);
	tap_ok(!chmod(base, 0777) && pins_make(pins, why) == -EPERM && strstr(why, "rename"),
	       "so is one that others may put another in the place of");
	tap_ok(!chmod(base, 01777) && !pins_make(pins, why), "but not where only the owner can");
	chmod(base, 0700);
	if (geteuid()) /* only root can give one away */
		return;
	tap_ok(!chown(pins, 65534, 65534) && pins_make(pins, why) == -EPERM && strstr(why, "user 65534"),
	       "a folder that another user has made is refused");
	tap_ok(pins_check(pins, why) == -EPERM, "and not taken for loaded programs");
}

int main(void)
{
	char command[96];

	tap_begin();
	snprintf(base, sizeof base, "/tmp/pins-test-XXXXXX");
	if (!mkdtemp(base))
		return 1;
	snprintf(pins, sizeof pins, "%s/pins", base);
	test_own();
	test_links();
	test_others();
	snprintf(command, sizeof command, "rm -rf %s", base);
	tap_ok(!system(command), "the test cleans up");
	return tap_end();
}
