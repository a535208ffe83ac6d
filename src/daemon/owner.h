/* owner.h: whose word counts for all: root, and whoever meted runs as. */
#pragma once

#include <stdbool.h>
#include <unistd.h>

static inline bool owner_is(uid_t uid)
{
	return !uid || uid == geteuid();
}
