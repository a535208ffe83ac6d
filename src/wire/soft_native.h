/*
 * soft_native.h: how a library in the program's process has its own functions executed by the software device as
 * kernels, through cuGetExportTable() of the driver with SOFT_NATIVE_ID.
 *
 * The library registers a function and gets a number for it. It loads PTX whose kernel calls mete_native with that
 * number, and launches the kernel like any other: the work takes its place in the stream, is captured, charged and
 * timed as a kernel, and its blocks are spread over the device's threads. A function runs once per block, on one
 * thread.
 *
 * Anybody who finds out the number can launch the kernel with any parameters. A function therefore trusts none of
 * them, and accesses no memory through them that `reach` has not permitted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#define SOFT_NATIVE_ID { 'm', 'e', 't', 'e', 's', 'o', 'f', 't', 'n', 'a', 't', 'i', 'v', 'e', 0, 1 }
/* clang-format on */

/* Of PTX: .extern .func mete_native(.param .b32 number) */
#define SOFT_NATIVE_NAME "mete_native"

struct soft_native {
	const void *params; /* of the kernel, packed */
	uint32_t bytes;
	uint32_t block, blocks; /* which one of how many, counted along x */
	/*
	 * Whether the kernel may touch these bytes. False: the launch has got its fault (an illegal address), and the
	 * function returns at once.
	 */
	bool (*reach)(struct soft_native *n, uint64_t address, uint64_t bytes, bool write);
	/*
	 * To be called at least every few milliseconds, with the warp instructions that the work since would have
	 * taken: the device learns of the progress. False: the launch has been stopped, and the function returns at
	 * once.
	 */
	bool (*go_on)(struct soft_native *n, uint64_t warp_instructions);
	/* The parameters make no sense: the launch gets its fault (an illegal instruction). */
	void (*refuse)(struct soft_native *n);
};

typedef void (*soft_native_function)(struct soft_native *n);

struct soft_native_table {
	size_t bytes; /* of this struct */
	/* Registers a function for good. Value: its number, or 0 when there are too many. */
	uint32_t (*add)(soft_native_function f);
	/* Threads that run a kernel's blocks at a time. */
	uint32_t (*threads)(void);
};
