/*
 * procs.h: finding a call by its public name and the version that the program was written for.
 *
 * A name has variants, each introduced by some version of the API; asked with a version, the newest variant that is
 * not newer answers. A variant is plain or belongs to the per-thread default stream. Asked for the per-thread stream,
 * a name that has per-thread variants is looked up among those alone, a name that has none among the plain ones.
 * Compared with a real driver's answers by tests/api/procs_driver_test.c. The tables are generated (gen/procs.py).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* As cuGetProcAddress reports them (CUdriverProcAddressQueryResult). */
enum proc_outcome {
	PROC_FOUND = 0,
	PROC_NOT_FOUND = 1,
	PROC_TOO_OLD = 2, /* the name exists, but only since a later version */
};

#define PROC_PER_THREAD 2u /* flag: for the per-thread default stream */

struct proc_variant {
	const char *name; /* without suffix */
	int32_t since;
	uint32_t per_thread; /* 0 or 1 */
	uint32_t call; /* the API's own enum */
};

/*
 * `table` is sorted by name, plain before per-thread, oldest first. Value: enum proc_outcome; *ret_call is written
 * when it is PROC_FOUND. Pure, callable from anywhere.
 */
int proc_find(const struct proc_variant *table, size_t count, const char *name, int version, uint64_t flags,
	      uint32_t *ret_call);
