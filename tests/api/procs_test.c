/*
 * procs_test.c: lookup by name and version over the whole driver API.
 *
 * Every variant of every name is found from its own version up to just below the next one's, under each flag; the rows
 * that are known from the interface's documentation and from programs are spelled out.
 */
#include "base/tap.h"
#include "cuda_procs.h"

#include <stdbool.h>

static const char *find(const char *name, int version, uint64_t flags)
{
	enum cuda_call call = CUDA_CALL_COUNT;
	int r = cuda_proc_find(name, version, flags, &call);

	return r == PROC_FOUND ? cuda_call_name[call] : r == PROC_NOT_FOUND ? "not found" : "too old";
}

static void test_known(void)
{
	static const struct {
		const char *name;
		int version;
		uint64_t flags;
		const char *symbol;
	} rows[] = {
		{"cuInit", 2000, 0, "cuInit"},
		{"cuInit", 1999, 0, "too old"},
		{"cuInit", 1 << 30, 0, "cuInit"},
		{"cuInit", 0, 0, "too old"},
		{"cuInit", -1, 0, "too old"},
		{"", 13000, 0, "not found"},
		{"cu", 13000, 0, "not found"},
		{"cuini", 13000, 0, "not found"},
		{"cuInitX", 13000, 0, "not found"},
		{"zuInit", 13000, 0, "not found"},
		{"cuMemAlloc_v2", 13000, 0, "not found"},
		{"cuMemcpy_ptds", 13000, 2, "not found"},
		{"cuMemAlloc", 3010, 0, "cuMemAlloc"},
		{"cuMemAlloc", 3020, 0, "cuMemAlloc_v2"},
		{"cuMemAlloc", 13000, 1, "cuMemAlloc_v2"},
		{"cuMemAlloc", 13000, 2, "cuMemAlloc_v2"},
		{"cuCtxCreate", 3020, 0, "cuCtxCreate_v2"},
		{"cuCtxCreate", 11040, 0, "cuCtxCreate_v3"},
		{"cuCtxCreate", 12050, 0, "cuCtxCreate_v4"},
		{"cuCtxCreate", 12040, 0, "cuCtxCreate_v3"},
		{"cuDeviceGetUuid", 9020, 0, "cuDeviceGetUuid"},
		{"cuDeviceGetUuid", 11040, 0, "cuDeviceGetUuid_v2"},
		{"cuCtxSynchronize", 13000, 0, "cuCtxSynchronize_v2"},
		{"cuCtxGetDevice", 13000, 0, "cuCtxGetDevice_v2"},
		{"cuEventElapsedTime", 12080, 0, "cuEventElapsedTime_v2"},
		{"cuDevicePrimaryCtxRelease", 7000, 0, "cuDevicePrimaryCtxRelease"},
		{"cuDevicePrimaryCtxReset", 7000, 0, "cuDevicePrimaryCtxReset"},
		{"cuDevicePrimaryCtxReset", 11000, 0, "cuDevicePrimaryCtxReset_v2"},
		{"cuStreamGetCaptureInfo", 10010, 0, "cuStreamGetCaptureInfo"},
		{"cuStreamGetCaptureInfo", 11030, 0, "cuStreamGetCaptureInfo_v2"},
		{"cuStreamGetCaptureInfo", 12030, 0, "cuStreamGetCaptureInfo_v3"},
		{"cuStreamGetCaptureInfo", 12030, 2, "cuStreamGetCaptureInfo_v3_ptsz"},
		{"cuGraphInstantiate", 10000, 0, "cuGraphInstantiate"},
		{"cuGraphInstantiate", 12000, 0, "cuGraphInstantiate_v2"},
		{"cuGraphInstantiateWithFlags", 11040, 0, "cuGraphInstantiateWithFlags"},
		{"cuGetProcAddress", 11030, 0, "cuGetProcAddress"},
		{"cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"},
		{"cuMemcpyHtoD", 7000, 0, "cuMemcpyHtoD_v2"},
		{"cuMemcpyHtoD", 7000, 2, "cuMemcpyHtoD_v2_ptds"},
		{"cuMemcpyHtoD", 6050, 2, "too old"},
		{"cuLaunchKernel", 7000, 2, "cuLaunchKernel_ptsz"},
		{"cuLaunchKernel", 7000, 1, "cuLaunchKernel"},
		{"cuStreamCreate", 7000, 2, "cuStreamCreate"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *symbol = find(rows[i].name, rows[i].version, rows[i].flags);

		tap_ok(!strcmp(symbol, rows[i].symbol), "%s at %d, flags %d: %s", rows[i].name, rows[i].version,
		       (int)rows[i].flags, symbol);
	}
}

/* Sorted as the lookup needs it, and every row is what its own version finds. */
static void test_all(void)
{
	int disorder = 0, lost = 0, names = 0;

	for (size_t i = 0; i < cuda_proc_count; i++) {
		const struct proc_variant *row = &cuda_procs[i], *next = i + 1 < cuda_proc_count ? row + 1 : NULL;
		int order = next ? strcmp(row->name, next->name) : -1;
		bool same = !order && row->per_thread == next->per_thread;
		uint64_t flags = row->per_thread ? PROC_PER_THREAD : 0;
		int last = same ? next->since - 1 : 1 << 20;

		names += order != 0;
		disorder += order > 0 || (!order && row->per_thread > next->per_thread) ||
			    (same && row->since >= next->since);
		lost += strcmp(find(row->name, row->since, flags), cuda_call_name[row->call]) != 0;
		lost += strcmp(find(row->name, last, flags), cuda_call_name[row->call]) != 0;
		lost += !row->per_thread && strcmp(find(row->name, last, 1), cuda_call_name[row->call]) != 0;
	}
	printf("# %zu variants of %d names\n", cuda_proc_count, names);
	is(disorder, 0);
	is(lost, 0);
	ok(cuda_proc_count >= 672 && names >= 460);
}

int main(void)
{
	tap_begin();
	test_known();
	test_all();
	return tap_end();
}
