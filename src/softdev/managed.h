/*
 * managed.h: managed memory: what programs advise about it.
 *
 * Host and devices see one memory, so advice and prefetches move nothing; they are kept, page by page, for the queries.
 */
#pragma once

#include "softdev/memory.h"

struct advice;

/* cuMemAllocManaged's, or a module's managed variable. */
bool range_managed(const struct range *r);
/* What was advised about a range that goes. */
void advice_free(struct range *r);
