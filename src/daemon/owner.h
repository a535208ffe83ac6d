/* owner.h: the owners of a meted, who may act on everything: root, and the user that meted runs as. */
#pragma once

#include <stdbool.h>
#include <unistd.h>

static inline bool owner_is(uid_t uid)
{
	return !uid || uid == geteuid();
}
