/* soft.h: what the tests of the software device share. Each test has a segment of its own. */
#pragma once

#include "base/tap.h"

#include <cuda.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CU(call)                                                                                                       \
	({                                                                                                             \
		CUresult cu_result = (call);                                                                           \
		const char *cu_name = "?";                                                                             \
		cuGetErrorName(cu_result, &cu_name);                                                                   \
		tap_ok(!cu_result, "%s:%d %s (%s)", __FILE__, __LINE__, #call, cu_name);                               \
		cu_result;                                                                                             \
	})

#define FAILS(call, wanted)                                                                                            \
	({                                                                                                             \
		CUresult cu_result = (call);                                                                           \
		const char *cu_name = "?";                                                                             \
		cuGetErrorName(cu_result, &cu_name);                                                                   \
		tap_ok(cu_result == (wanted), "%s:%d %s gives %s (%s)", __FILE__, __LINE__, #call, #wanted, cu_name);  \
	})

static char soft_dir[64];

/*
 * A directory for the segment that no other test has; devices as asked for. Where tests/way.py has made the device,
 * that one, whose descriptors stay.
 */
static inline void soft_begin(const char *devices, const char *memory)
{
	if (getenv("METE_TEST_WAY")) {
		cuInit(0);
		tap_begin();
		return;
	}
	snprintf(soft_dir, sizeof(soft_dir), "%s/mete-test-%d", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm",
		 getpid());
	setenv("METE_SOFT_DIR", soft_dir, 1);
	setenv("METE_SOFT_DEVICES", devices, 1);
	setenv("METE_SOFT_MEMORY", memory, 1);
	setenv("METE_SOFT_SMS", "16", 0); /* what tests of occupancy and time count on */
	unsetenv("CUDA_VISIBLE_DEVICES");
	tap_begin();
}

/*
 * Whether the device is none of the software device's: then its libraries are their maker's. What a comment says of
 * ours alone is not asked of them.
 */
static inline bool soft_theirs(void)
{
	char name[64] = "";

	return !cuDeviceGetName(name, sizeof(name), 0) && strncmp(name, "mete software device", 20) != 0;
}

static inline int soft_end(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", soft_dir);
	ok(!*soft_dir || system(command) == 0);
	if (soft_theirs()) /* another maker's driver keeps its descriptors until the process ends */
		tap_fds = tap_open_fds();
	return tap_end();
}

static inline size_t soft_free(void)
{
	size_t free_bytes = 0, total;

	cuMemGetInfo(&free_bytes, &total);
	return free_bytes;
}

/* Makes the first device's primary context current. */
static inline CUcontext soft_context(void)
{
	CUcontext c = NULL;

	CU(cuInit(0));
	CU(cuDevicePrimaryCtxRetain(&c, 0));
	CU(cuCtxSetCurrent(c));
	return c;
}
