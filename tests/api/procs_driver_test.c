/*
 * procs_driver_test.c: the lookup by name and version, compared with a real driver's.
 *
 * Needs a libcuda.so.1 of NVIDIA's (METE_TEST_DRIVER, else the loader's); skipped without one. No GPU is used: the
 * lookup works before cuInit(). For every name, every version at which any call changed and one below it, and every
 * flag, the driver must hand out the address of the very export that cuda_proc_find() names. What a driver of another
 * version does not export is not compared.
 */
#include "base/tap.h"
#include "cuda_procs.h"

#include <dlfcn.h>

typedef CUresult (*lookup)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

static const uint64_t all_flags[] = {0, 1, 2};

/* All versions in the table and their predecessors, sorted, without repetition. */
static int collect_versions(int *versions, int most)
{
	int count = 0;

	for (size_t i = 0; i < cuda_proc_count; i++)
		for (int below = 0; below < 2; below++) {
			int v = cuda_procs[i].since - below, at = 0;

			while (at < count && versions[at] < v)
				at++;
			if (at < count && versions[at] == v)
				continue;
			if (count == most)
				return -1;
			memmove(&versions[at + 1], &versions[at], (size_t)(count - at) * sizeof(*versions));
			versions[at] = v;
			count++;
		}
	return count;
}

/* Value: 1 compared and equal, 0 compared and different, -1 not comparable. */
static int compare(void *driver, lookup find, const char *name, int version, uint64_t flags)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
	enum cuda_call call = CUDA_CALL_COUNT;
	int ours = cuda_proc_find(name, version, flags, &call);
	void *address = NULL, *wanted;
	CUresult r = find(name, &address, version, flags, &status);

	if (r != CUDA_SUCCESS || (int)status != ours) {
		printf("# %s %d flags %d: driver %d status %d, table %d\n", name, version, (int)flags, r, (int)status,
		       ours);
		return 0;
	}
	if (ours != PROC_FOUND)
		return !address;
	wanted = dlsym(driver, cuda_call_name[call]);
	if (!wanted)
		return -1;
	if (address != wanted) {
		Dl_info info = {0};

		dladdr(address, &info);
		printf("# %s %d flags %d: driver %s, table %s\n", name, version, (int)flags,
		       info.dli_sname ? info.dli_sname : "?", cuda_call_name[call]);
	}
	return address == wanted;
}

int main(void)
{
	const char *path = getenv("METE_TEST_DRIVER");
	void *driver = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	lookup find = driver ? (lookup)dlsym(driver, "cuGetProcAddress_v2") : NULL;
	CUresult (*driver_version)(int *) = driver ? (CUresult(*)(int *))dlsym(driver, "cuDriverGetVersion") : NULL;
	int versions[200], count, newest = 0, asked = 0, wrong = 0, skipped = 0;

	if (!find || !driver_version || driver_version(&newest) != CUDA_SUCCESS)
		tap_skip_all("no driver of NVIDIA's with cuGetProcAddress_v2");
	tap_begin();
	count = collect_versions(versions, 200);
	ok(count > 0);
	for (size_t i = 0; i < cuda_proc_count; i++) {
		if (i && !strcmp(cuda_procs[i].name, cuda_procs[i - 1].name))
			continue;
		if (!dlsym(driver, cuda_call_name[cuda_procs[i].call])) {
			skipped++;
			continue;
		}
		for (int v = 0; v < count && versions[v] <= newest; v++)
			for (size_t f = 0; f < 3; f++) {
				int same = compare(driver, find, cuda_procs[i].name, versions[v], all_flags[f]);

				asked++;
				wrong += !same;
			}
	}
	printf("# driver version %d: %d questions, %d answered otherwise, %d names that it does not export\n", newest,
	       asked, wrong, skipped);
	ok(asked > 1000);
	is(wrong, 0);
	return tap_end();
}
