/* rights.c: see rights.h. */
#include "guard/notify/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40 /* Linux 5.9 */
#endif

/* The files of a process in /proc belong to its user: without the last one root opens none of another user's. */
static const unsigned int kept[] = { CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE, CAP_DAC_OVERRIDE };

static bool is_kept(unsigned int right)
{
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		if (kept[i] == right)
			return true;
	return false;
}

int rights_drop(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct now[2] = { 0 }, then[2] = { 0 };

	if (syscall(SYS_capget, &head, now))
		return -errno;
	for (unsigned int c = 0; c < 64; c++)
		if (is_kept(c))
			then[c / 32].permitted |= now[c / 32].permitted & 1u << c % 32;
		else if (c <= CAP_LAST_CAP)
			prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
	for (size_t i = 0; i < 2; i++)
		then[i].effective = then[i].permitted;
	if (syscall(SYS_capset, &head, then) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	return 0;
}
