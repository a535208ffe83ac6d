/* checker.h: opens libmete-ptx.so (linker.h) on demand. */
#pragma once

#include "fronts/linker.h"

#include <stdbool.h>

struct checker {
	__typeof__(&mete_ptx_check) check;
	__typeof__(&mete_ptx_version) version;
};

/* Opens the library in `folder`. Value: false: it is not there. It stays loaded. */
bool checker_open(struct checker *ret, const char *folder);
