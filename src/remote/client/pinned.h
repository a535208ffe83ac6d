/*
 * pinned.h: host memory that the driver knows. What the program allocates here lies in the arena's heap: the worker
 * sees the same pages, or the relay makes copies equal, and copies from and to it need no staging. Memory that the
 * program has and registers cannot be moved there: it is known, and copied as any other.
 */
#pragma once

#include "remote/client/ranges.h"

/* A context has ended, and this memory with it. */
void pinned_gone(const struct range *range);
