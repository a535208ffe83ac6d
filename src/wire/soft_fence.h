/*
 * soft_fence.h: how a process tells its software device which of its own memory copies may touch, through
 * cuGetExportTable() of its driver with SOFT_FENCE_ID. For processes that copy for others: should one of them hand the
 * driver an address that it has not looked at well enough, the driver refuses it.
 */
#pragma once

#include <stddef.h>

/* clang-format off */
#define SOFT_FENCE_ID { 'm', 'e', 't', 'e', 's', 'o', 'f', 't', 'f', 'e', 'n', 'c', 'e', 0, 0, 1 }
/* clang-format on */

struct soft_fence_table {
	size_t bytes; /* of this struct */
	/*
	 * These bytes may be touched. From the first call on no other memory of the process may, but what the driver
	 * has allocated. Value: 0 when there are too many such places already.
	 */
	int (*allow)(const void *begin, size_t bytes);
	/* In this thread nothing is refused, until the opposite: it runs what nobody else has a say in. */
	void (*lift)(int lifted);
};
