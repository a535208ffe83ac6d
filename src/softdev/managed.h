/*
 * managed.h: managed memory: what programs advise about it.
 *
 * Host and devices see one memory, so advice and prefetches move nothing; they are kept, page by page, for the queries.
 */
#pragma once

#include "model/advice.h"
#include "softdev/memory.h"

/* cuMemAllocManaged's, or a module's managed variable. */
bool range_managed(const struct range *r);
