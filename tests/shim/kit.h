/*
 * kit.h: what the tests of the shim share. The program reaches the driver's interface as others do, by
 * dlopen("libcuda.so.1"), and looks past it at what the test driver holds and what the account says.
 */
#pragma once

#include "base/tap.h"
#include "cuda_table.h"
#include "driver.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define K 1024ull
#define M (1024 * K)
#define G (1024 * M)

static struct cuda_table cu;
static struct driver_shared *truth;

static inline void kit_open(const char *name)
{
	void *lib = dlopen(name, RTLD_NOW);

	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	for (int i = 0; i < CUDA_CALL_COUNT; i++)
		((void **)&cu)[i] = dlsym(lib, cuda_call_name[i]);
}

static inline void kit_truth(void)
{
	int fd = open(getenv("TEST_DRIVER_FILE"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, sizeof *truth) < 0)
		exit(1);
	truth = mmap(NULL, sizeof *truth, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
}

/* The tenant's held bytes on the current device, as meted (the keeper) counts them. */
static inline uint64_t held(void)
{
	size_t free_bytes = 0, total = 1;

	if (cu.cuMemGetInfo_v2(&free_bytes, &total) != CUDA_SUCCESS)
		return UINT64_MAX;
	return total - free_bytes;
}

static inline CUcontext begin(int device)
{
	CUcontext c = NULL;

	is(cu.cuInit(0), CUDA_SUCCESS);
	is(cu.cuDevicePrimaryCtxRetain(&c, device), CUDA_SUCCESS);
	is(cu.cuCtxSetCurrent(c), CUDA_SUCCESS);
	return c;
}

/* The account and the driver agree, to the byte. */
#define agree(bytes)                                                                                                   \
	do {                                                                                                           \
		is(held(), (bytes));                                                                                   \
		is(truth->used[0], (bytes));                                                                           \
	} while (0)
