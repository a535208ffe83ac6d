/*
 * kit.h: what the tests of the shim share. The program reaches the driver's interface as others do, by
 * dlopen("libcuda.so.1"), and looks past it at what the test driver holds and what the account says.
 */
#pragma once

#include "base/tap.h"
#include "cuda_table.h"
#include "driver.h"
#include "wire/page.h"
#include "wire/soft_usage.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define K 1024ull
#define M (1024 * K)
#define G (1024 * M)
#define BLOCK (2 * M) /* of the test driver */

static struct cuda_table cu;
static struct driver_shared *truth;
static const CUDA_ARRAY_DESCRIPTOR small_array = { 256, 256, CU_AD_FORMAT_UNSIGNED_INT8, 1 };

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

/* The page of this process, as the keeper has it. */
static inline struct wire_page *page_find(void)
{
	struct wire_page *page;
	char path[512];
	int fd;

	snprintf(path, sizeof path, "%s/page-%d-1", getenv("TEST_FOLDER"), (int)getpid());
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		exit(1);
	page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return page;
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

/* Bytes that the software device holds for this process. */
static inline uint64_t soft_held_of(int device)
{
	static const CUuuid id = { SOFT_USAGE_ID };
	const void *table = NULL;
	uint64_t bytes = 0;

	cu.cuGetExportTable(&table, &id);
	((const struct soft_usage_table *)table)->held(device, &bytes);
	return bytes;
}

static inline uint64_t soft_held(void)
{
	return soft_held_of(0);
}

/* A call of the driver itself, past the shim. */
static inline void *driver_call(const char *name)
{
	void *driver = dlopen(getenv("METE_DRIVER"), RTLD_NOW), *call = dlsym(driver, name);

	dlclose(driver); /* the shim has it open */
	return call;
}

/* The account and the driver agree, to the byte. */
#define agree(bytes)                                                                                                   \
	do {                                                                                                           \
		is(held(), (bytes));                                                                                   \
		is(truth->used[0], (bytes));                                                                           \
	} while (0)

/* run.py kills the keeper when it sees the file "kill", and starts it again when it sees "start". */
static inline void tell(const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof path, "%s/%s", getenv("TEST_FOLDER"), name);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	close(fd);
	while (access(path, F_OK) == 0)
		usleep(1000);
}

struct kit_case {
	const char *name;
	void (*run)(void);
};

/* Runs the case that the only argument names. Value: the program's exit status. */
static inline int kit_main(const struct kit_case *cases, size_t count, int argc, char **argv)
{
	const char *name = getenv("TEST_NAME");

	for (size_t i = 0; argc == 2 && i < count; i++)
		if (!strcmp(argv[1], cases[i].name)) {
			kit_open(name ? name : "libcuda.so.1");
			kit_truth();
			/* The first call may open descriptors for good: the connection. */
			cu.cuInit(0);
			tap_begin();
			cases[i].run();
			return tap_end();
		}
	return 2;
}
