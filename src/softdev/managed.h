/*
 * managed.h: managed memory: the advice of programs.
 *
 * Host and devices share one memory, so advice and prefetches move nothing; they are recorded page by page for queries.
 */
#pragma once

#include "model/advice.h"
#include "softdev/memory.h"

/* True for memory of cuMemAllocManaged, or a module's managed variable. */
bool range_managed(const struct range *r);
