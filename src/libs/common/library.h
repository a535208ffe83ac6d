/*
 * library.h: what the software device's libraries share in their calls: the driver, streams and contexts, the log line
 * about an unsupported call, and the parts of a version.
 */
#pragma once

#include "libs/common/device.h"

/* Logs one line, once per symbol: "SYMBOL: not supported by the software device's TITLE ...". */
void library_refused(const char *title, const char *symbol);
/* A part (0 major, 1 minor, 2 patch) of a version; -1: there is no such part. */
int library_property(int major, int minor, int patch, int type);

/* device_launch() with `context` as the current one. Restores the previous one. */
CUresult library_launch(const struct device_driver *driver, CUcontext context, uint32_t kernel, uint32_t blocks,
			CUstream stream, const void *work, size_t bytes);
/* The number of blocks for `parts` parts of `each` elements: at most two for each thread of the device. */
uint32_t library_blocks(int64_t parts, int64_t each);
/* The part [*ret_from, *ret_to) of `count` that belongs to this block. */
void library_part(const struct soft_native *n, int64_t count, int64_t *ret_from, int64_t *ret_to);
/* True if count * each bytes from `at` are accessible, or there are none. False: the launch has failed with a fault. */
bool library_reach(struct soft_native *n, uint64_t at, int64_t count, uint64_t each, bool write);

/* Defined by a library that needs files: opens them. */
__attribute__((weak)) void library_open(void);
