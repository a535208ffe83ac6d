/* engine_run.h: device memory, modules and launches of the engine, for programs that run the cases of engine_cases.h.
 */
#pragma once

#include "engine_cases.h"

#include "softdev/ptx/ptx.h"

#include <time.h>

/* All of these end the program when something fails. */
#define DEVICE_BYTES ((size_t)1 << 30)

void device_open(void *memory); /* DEVICE_BYTES of it; NULL: memory of its own */
void device_clear(void);	/* what was taken is free again */
struct ptx_module *module_load(const char *text, size_t bytes, const char *isa); /* METE_SOFT_COMPILE=always compiles */
struct ptx_launch launch_of(const struct ptx_module *m, const char *kernel, const struct setup *s);
void launch_run(struct ptx_pool *pool, struct ptx_launch *l);
char *file_read(const char *path, size_t *ret_bytes); /* with a zero behind it; for free() */

double clock_of(clockid_t id);					/* in seconds */
bool agrees(const struct bench_case *c, const struct setup *s); /* out and expect, as far as they must */
const struct bench_case *case_find(const char *kernel);		/* NULL: there is none */
