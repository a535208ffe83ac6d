/*
 * landlock.c: see landlock.h. Numbers and layout are those of the kernel's <linux/landlock.h>, which older systems
 * lack.
 */
#include "remote/worker/landlock.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL_CREATE_RULESET 444l
#define CALL_ADD_RULE 445l
#define CALL_RESTRICT_SELF 446l
#define CREATE_VERSION 1u
#define RESTRICT_ALL_THREADS 8u
#define PATH_BENEATH 1

#define MAY_WRITE (UINT64_C(1) << 1)
#define MAY_READ (UINT64_C(1) << 2)
#define MAY_LIST (UINT64_C(1) << 3)
#define MAY_COMMAND (UINT64_C(1) << 15) /* ioctl() of a device */

#define NET_BIND_AND_CONNECT 3u
#define SCOPE_ABSTRACT_AND_SIGNAL 3u

struct ruleset {
	uint64_t files, net, scope;
};

/* What is open to whom is beneath a folder. */
struct rule {
	uint64_t files;
	int32_t folder;
} __attribute__((packed));

/* By the version of the rules from which on they are there. */
enum { VERSION_NET = 4, VERSION_SCOPE = 6, VERSION_ALL_THREADS = 8 };

/* What can be asked for of files: one bit each. */
static const struct {
	int version;
	unsigned int bits;
} files[] = { { 1, 13 }, { 2, 14 }, { 3, 15 }, { 5, 16 } };

static int version(void)
{
	return (int)syscall(CALL_CREATE_RULESET, NULL, 0, CREATE_VERSION);
}

/* The kernel takes a struct that is too long for it as long as what it does not know is 0. */
static int ruleset_new(const struct ruleset *rules)
{
	return (int)syscall(CALL_CREATE_RULESET, rules, sizeof(*rules), 0);
}

static bool ruleset_enter(int fd, unsigned int flags)
{
	return fd >= 0 && !syscall(CALL_RESTRICT_SELF, fd, flags);
}

static bool open_up(int ruleset, const char *path, uint64_t may)
{
	_cleanup_close_ int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct rule rule = { .files = may, .folder = folder };

	return folder >= 0 && !syscall(CALL_ADD_RULE, ruleset, PATH_BENEATH, &rule, 0);
}

bool landlock_scope(void)
{
	int v = version();
	struct ruleset rules = { .net = v >= VERSION_NET ? NET_BIND_AND_CONNECT : 0,
				 .scope = v >= VERSION_SCOPE ? SCOPE_ABSTRACT_AND_SIGNAL : 0 };

	_cleanup_close_ int fd = v >= VERSION_NET ? ruleset_new(&rules) : -1;

	return ruleset_enter(fd, 0) && v >= VERSION_SCOPE;
}

bool landlock_files(bool nodes)
{
	_cleanup_close_ int fd = -1;
	struct ruleset rules = { 0 };
	int v = version();

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (v >= files[i].version)
			rules.files = (UINT64_C(1) << files[i].bits) - 1;
	if (!rules.files)
		return false;
	fd = ruleset_new(&rules);
	if (nodes && (!open_up(fd, "/dev", rules.files & (MAY_WRITE | MAY_READ | MAY_COMMAND)) ||
		      !open_up(fd, "/proc", MAY_READ | MAY_LIST)))
		return false;
	return (v >= VERSION_ALL_THREADS && ruleset_enter(fd, RESTRICT_ALL_THREADS)) || ruleset_enter(fd, 0);
}
