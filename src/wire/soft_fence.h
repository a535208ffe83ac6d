/*
 * soft_fence.h: restricts the software device's copies to certain memory of the process, through cuGetExportTable() of
 * the driver with SOFT_FENCE_ID. It is for processes that copy on behalf of others: if such a process passes the driver
 * an address that it has not checked well enough, the driver refuses the copy.
 */
#pragma once

#include <stddef.h>

/* clang-format off */
#define SOFT_FENCE_ID { 'm', 'e', 't', 'e', 's', 'o', 'f', 't', 'f', 'e', 'n', 'c', 'e', 0, 0, 1 }
/* clang-format on */

struct soft_fence_table {
	size_t bytes; /* of this struct */
	/*
	 * Allows copies to access these bytes. From the first call on they may access no other memory of the process,
	 * except what the driver has allocated. Returns 0 if there are too many such ranges already.
	 */
	int (*allow)(const void *begin, size_t bytes);
	/* Lifts the restriction for this thread, or restores it: for code whose addresses are its own. */
	void (*lift)(int lifted);
};
