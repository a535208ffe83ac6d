/*
 * kit.h: what the behaviour tests share.
 *
 * One source runs in several ways: directly on a driver (the software device, or the real one), and through the shim
 * under a grant. So nothing here says which sizes a device has: kit_begin() finds out. Memory is compared by
 * cuMemGetInfo before and after, to the byte; a test that leaves memory behind fails in kit_end().
 *
 *   METE_TEST_WAY     direct, shim or, over a worker, wall or remote: for checks that hold only under a grant, and for
 *                     what is refused away from the driver's process (default: direct)
 *   METE_TEST_IMAGES  the folder of the fat binaries
 */
#pragma once

#include <cuda.h>

#include "base/tap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#define KIB 1024ull
#define MIB (1024ull * KIB)
#define VMM_GRANULE (2 * MIB)

struct kit {
	bool soft;	/* the software device lies at the bottom */
	bool shim;	/* a grant lies in between */
	bool worker;	/* so does another process: no managed memory, no sharing of memory between processes */
	size_t granule; /* plain allocations are taken from the device in multiples of this */
	int driver;	/* cuDriverGetVersion */
	CUdevice dev;
	CUcontext context;
	size_t total; /* of device 0 */
	size_t free_at_begin;
};

static struct kit kit;

static inline const char *kit_error(CUresult r)
{
	const char *name = NULL;

	return cuGetErrorName(r, &name) == CUDA_SUCCESS && name ? name : "an error without a name";
}

static inline bool kit_expect(CUresult got, CUresult want, const char *file, int line, const char *call)
{
	return tap_ok(got == want, "%s:%d %s: %s%s%s", file, line, call, kit_error(got),
		      got == want ? "" : ", expected ", got == want ? "" : kit_error(want));
}

/* The call must succeed. Value: whether it did. */
#define works(call) kit_expect((call), CUDA_SUCCESS, __FILE__, __LINE__, #call)
/* The call must answer this error. */
#define answers(code, call) kit_expect((call), (code), __FILE__, __LINE__, #call)
/* Without this call the rest of the test means nothing. */
#define needs(call)                                                                                                    \
	do {                                                                                                           \
		if (!works(call)) {                                                                                    \
			printf("Bail out! %s\n", #call);                                                               \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

/* One check is left out, with the reason that the report shows. */
static inline void kit_skip(const char *what, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_count, what, why);
	fflush(stdout);
}

static inline size_t kit_free(void)
{
	size_t free_bytes = 0, total_bytes = 0;

	if (cuMemGetInfo(&free_bytes, &total_bytes) != CUDA_SUCCESS)
		tap_ok(0, "cuMemGetInfo answers");
	return free_bytes;
}

/* Device memory that an allocation of this size takes when nothing else shares its granules. */
static inline size_t kit_taken(size_t bytes)
{
	return (bytes + kit.granule - 1) / kit.granule * kit.granule;
}

static inline bool kit_is_soft(CUdevice dev)
{
	char name[256] = "";

	return cuDeviceGetName(name, sizeof name, dev) == CUDA_SUCCESS && strstr(name, "software device");
}

static inline bool kit_over_worker(void)
{
	const char *way = getenv("METE_TEST_WAY");

	return way && (!strcmp(way, "wall") || !strcmp(way, "remote"));
}

/* cuInit, device 0, its primary context made current. Descriptors are counted from here on. */
static inline void kit_begin(void)
{
	const char *way = getenv("METE_TEST_WAY");
	size_t free_bytes;

	kit.worker = kit_over_worker();
	kit.shim = kit.worker || (way && !strcmp(way, "shim"));
	needs(cuInit(0));
	needs(cuDriverGetVersion(&kit.driver));
	needs(cuDeviceGet(&kit.dev, 0));
	kit.soft = kit_is_soft(kit.dev);
	kit.granule = kit.soft ? 512 : 2 * MIB;
	needs(cuDevicePrimaryCtxRetain(&kit.context, kit.dev));
	needs(cuCtxSetCurrent(kit.context));
	needs(cuMemGetInfo(&free_bytes, &kit.total));
	kit.free_at_begin = free_bytes;
	tap_begin();
}

/* All memory must be back. Value: the exit status. */
static inline int kit_end(void)
{
	size_t left;

	works(cuCtxSetCurrent(kit.context));
	left = kit_free();
	/*
	 * A real driver keeps what modules and launches made it load, and opens descriptors of its own. The memory of a
	 * process that ended just before the beginning may come back after it.
	 */
	if (kit.soft)
		tap_ok(left == kit.free_at_begin || (left > kit.free_at_begin && left == kit.total),
		       "all memory is back (%zu free, %zu in the beginning)", left, kit.free_at_begin);
	else
		tap_fds = tap_open_fds();
	works(cuCtxSetCurrent(NULL));
	works(cuDevicePrimaryCtxRelease(kit.dev));
	return tap_end();
}

/* Compiled for a library of CUDA's shape, whose names begin otherwise. */
#ifndef SHAPE_PREFIX
#define SHAPE_PREFIX "cu"
#define SHAPE_SETTING "METE_DRIVER"
#endif

/* A function of the driver by its name in CUDA; NULL when this driver has none of that version. */
static inline void *kit_find(const char *name, int version)
{
	char text[96];
	void *f = NULL;
	CUdriverProcAddressQueryResult status;

	snprintf(text, sizeof text, "%s%s", SHAPE_PREFIX, name + 2);
	if (cuGetProcAddress(text, &f, version, 0, &status) != CUDA_SUCCESS)
		return NULL;
	return f;
}

/* A context of one's own: cuCtxCreate as of CUDA 3.2, which every driver has. */
static inline CUresult kit_context(CUcontext *context, unsigned int flags, CUdevice dev)
{
	CUresult (*create)(CUcontext *, unsigned int, CUdevice) =
		(CUresult(*)(CUcontext *, unsigned int, CUdevice))kit_find("cuCtxCreate", 3020);

	return create ? create(context, flags, dev) : CUDA_ERROR_NOT_FOUND;
}

static inline CUfunction kit_kernel(CUmodule module, const char *name)
{
	CUfunction f = NULL;

	needs(cuModuleGetFunction(&f, module, name));
	return f;
}

/* Launches one of the kernels (p, n, x) over n threads. */
static inline CUresult kit_launch(CUfunction f, CUdeviceptr p, unsigned int n, unsigned int x, CUstream stream)
{
	void *args[] = { &p, &n, &x };

	return cuLaunchKernel(f, (n + 127) / 128, 1, 1, 128, 1, 1, 0, stream, args, NULL);
}

/* Runs f in a child process; value: its exit status, or 128 + signal. */
static inline int kit_child(int (*f)(void))
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int r = f();

		fflush(stdout);
		_exit(r != 0);
	}
	if (pid < 0)
		return 255;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 255;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
