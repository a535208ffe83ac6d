/*
 * linker.h: checks and links PTX texts by the software device's own engine, without a device: libmete-ptx.so.
 *
 * One library for all that does this (the nvJitLink front, mete's ptxas), loaded when it is needed: the engine is
 * large, and most programs never link.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct linker_text {
	const char *text; /* NUL-terminated */
	size_t bytes;
	const char *name; /* for messages */
};

enum linker_outcome {
	LINKER_OK = 0,
	LINKER_INVALID = 1,    /* a text that the device refuses */
	LINKER_UNRESOLVED = 2, /* a name that no text defines */
	LINKER_NO_MEMORY = 3,
};

/* The resources of a kernel, for reports. */
typedef void (*linker_kernel)(void *ctx, const char *name, unsigned registers, unsigned shared_bytes,
			      unsigned local_bytes, unsigned param_bytes, unsigned const_bytes);

/*
 * Checks the texts as a load does, for a device of compute capability `arch` (90). `log` gets one line unless the value
 * is LINKER_OK. `kernel` may be NULL; it is called for each kernel on LINKER_OK.
 */
int mete_ptx_check(const struct linker_text *text, size_t count, uint32_t arch, char *log, size_t log_bytes,
		   linker_kernel kernel, void *ctx);

/* The newest supported version of PTX: 93 for 9.3. */
unsigned mete_ptx_version(void);
