/*
 * soft_native.h: how a library in the program's process has its own functions executed by the software device as
 * kernels, through cuGetExportTable() of the driver with SOFT_NATIVE_ID.
 *
 * The library registers a function and gets a number for it. It loads PTX whose kernel calls mete_native with that
 * number, and launches the kernel like any other: the work takes its place in the stream, is captured, charged and
 * timed as a kernel, and its blocks are spread over the device's threads. A function runs once per block, on one
 * thread.
 *
 * Any code that learns the number can launch the kernel with any parameters. A function therefore trusts none of
 * them, and accesses memory through them only after `reach` has permitted it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#define SOFT_NATIVE_ID { 'm', 'e', 't', 'e', 's', 'o', 'f', 't', 'n', 'a', 't', 'i', 'v', 'e', 0, 1 }
/* clang-format on */

/* In PTX: .extern .func mete_native(.param .b32 number) */
#define SOFT_NATIVE_NAME "mete_native"

struct soft_native {
	const void *params; /* of the kernel, packed */
	uint32_t bytes;
	uint32_t block, blocks; /* index and number of the blocks, along x */
	/*
	 * Returns whether the kernel may access these bytes. False: the launch has failed with an illegal address, and
	 * the function must return at once.
	 */
	bool (*reach)(struct soft_native *n, uint64_t address, uint64_t bytes, bool write);
	/*
	 * Reports progress. Call it at least every few milliseconds, with the number of warp instructions that the work
	 * since the last call would have taken. False: the launch was stopped, and the function must return at once.
	 */
	bool (*go_on)(struct soft_native *n, uint64_t warp_instructions);
	/* Call if the parameters are invalid: the launch fails with an illegal instruction. */
	void (*refuse)(struct soft_native *n);
};

typedef void (*soft_native_function)(struct soft_native *n);

struct soft_native_table {
	size_t bytes; /* of this struct */
	/* Registers a function until the process ends. Returns its number; 0: too many functions. */
	uint32_t (*add)(soft_native_function f);
	/* Returns the number of threads that execute the blocks of a kernel. */
	uint32_t (*threads)(void);
};
