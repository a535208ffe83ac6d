/*
 * reference.h: a naive executor of PTX to compare the engine with. One thread at a time, opcodes found by name each
 * time they are executed, registers of 128 bits, memory as arrays of bytes. It shares no code with src/softdev.
 *
 * Limits: one text; a subset of the directives (what the tests' texts use); threads of a block advance in turns of some
 * instructions, so kernels must not race; instructions across a warp without a member mask take all live threads of the
 * warp for active, so kernels use them where the warp is converged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ref_module;

/* NULL: not understood; error[] says what. */
struct ref_module *ref_module_load(const char *text, char *error, size_t error_bytes);
void ref_module_free(struct ref_module *m);

/* Memory that a kernel may touch under addresses of the caller's choice. */
struct ref_memory {
	uint64_t address;
	uint8_t *bytes;
	uint64_t size;
};

struct ref_launch {
	const char *kernel;
	uint32_t grid[3], block[3];
	const uint8_t *params; /* packed as the kernel declares them */
	struct ref_memory memory[4];
	uint64_t instructions_max; /* 0: ten million */
	char error[200];	   /* result */
};

/* Value: 0, or -1 with `error`: a wild access, a deadlock, too many instructions, an unknown instruction. */
int ref_run(struct ref_module *m, struct ref_launch *l);
