/* owner_filter.c: see owner_filter.h. The kernel looks at the lower half of a command alone, and so does this. */
#include "remote/owner_filter.h"

#include <asm/ioctls.h>
#include <asm/sockios.h>
#include <errno.h>
#include <linux/fcntl.h>
#include <seccomp.h>
#include <stddef.h>

static const struct {
	int call;
	unsigned int command;
} refused[] = {
	{ SCMP_SYS(fcntl), F_SETOWN },	{ SCMP_SYS(fcntl), F_SETOWN_EX }, { SCMP_SYS(fcntl), F_SETSIG },
	{ SCMP_SYS(ioctl), FIOSETOWN }, { SCMP_SYS(ioctl), SIOCSPGRP },
};

int owner_filter_set(void)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
	int r = f ? seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1) : -ENOMEM;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]) && !r; i++)
		r = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), refused[i].call, 1,
				     SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, refused[i].command));
	if (!r)
		r = seccomp_load(f);
	seccomp_release(f);
	return r;
}
