/* checker.h: libmete-ptx.so (linker.h), opened when it is needed. */
#pragma once

#include "fronts/linker.h"

#include <stdbool.h>

struct checker {
	__typeof__(&mete_ptx_check) check;
	__typeof__(&mete_ptx_version) version;
};

/* The library in `folder`. Value: false: it is not there. It stays loaded. */
bool checker_open(struct checker *ret, const char *folder);
