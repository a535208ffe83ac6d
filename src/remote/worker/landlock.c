/*
 * landlock.c: see landlock.h. Numbers and layout are those of the kernel's <linux/landlock.h>, which older systems
 * lack.
 */
#include "remote/worker/landlock.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL_CREATE_RULESET 444l
#define CALL_RESTRICT_SELF 446l
#define CREATE_VERSION 1u
#define RESTRICT_ALL_THREADS 8u

#define NET_BIND_AND_CONNECT 3u
#define SCOPE_ABSTRACT_AND_SIGNAL 3u

struct ruleset {
	uint64_t files, net, scope;
};

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
static bool restrict_self(const struct ruleset *rules, unsigned int flags)
{
	_cleanup_close_ int fd = (int)syscall(CALL_CREATE_RULESET, rules, sizeof(*rules), 0);

	return fd >= 0 && !syscall(CALL_RESTRICT_SELF, fd, flags);
}

bool landlock_scope(void)
{
	int v = version();
	struct ruleset rules = { .net = v >= VERSION_NET ? NET_BIND_AND_CONNECT : 0,
				 .scope = v >= VERSION_SCOPE ? SCOPE_ABSTRACT_AND_SIGNAL : 0 };

	return v >= VERSION_NET && restrict_self(&rules, 0) && v >= VERSION_SCOPE;
}

bool landlock_files(void)
{
	struct ruleset rules = { 0 };
	int v = version();

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (v >= files[i].version)
			rules.files = (UINT64_C(1) << files[i].bits) - 1;
	if (!rules.files)
		return false;
	return (v >= VERSION_ALL_THREADS && restrict_self(&rules, RESTRICT_ALL_THREADS)) || restrict_self(&rules, 0);
}
