/*
 * beside.c: what another thread does in the middle of a call: it frees, ends, maps or changes what the call uses. The
 * account and the driver must agree afterwards. beside NAME; run.py prepares the run.
 */
#include "kit.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static CUmemGenericAllocationHandle beside_handle;
static CUcontext beside_context;
static _Atomic int beside_done;

/* Starts a thread; it may have to wait for the call that it runs beside, so it is waited for a while only. */
static void beside(void *(*run)(void *))
{
	pthread_t thread;

	beside_done = 0;
	pthread_create(&thread, NULL, run, NULL);
	pthread_detach(thread);
	for (int n = 0; n < 200 && !beside_done; n++)
		usleep(1000);
}

/* Until the thread beside has done its work. */
static void beside_end(void)
{
	for (int n = 0; n < 10000 && !beside_done; n++)
		usleep(1000);
	ok(beside_done);
}

static void *release_beside(void *unused)
{
	cu.cuMemRelease(beside_handle);
	beside_done = 1;
	return NULL;
}

static void release_during(void)
{
	beside(release_beside);
}

static CUarray beside_array;

static CUarrayMapInfo array_map(CUarray array, CUmemGenericAllocationHandle handle)
{
	return (CUarrayMapInfo){ .resourceType = CU_RESOURCE_TYPE_ARRAY,
				 .resource = { .array = array },
				 .memOperationType = CU_MEM_OPERATION_TYPE_MAP,
				 .memHandleType = CU_MEM_HANDLE_TYPE_GENERIC,
				 .memHandle = { .memHandle = handle } };
}

/* What is mapped into an array is counted before the driver does it: the handle may go meanwhile. Quota 16 MiB. */
static void case_sparse(void)
{
	CUmemAllocationProp prop = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } };
	CUmemGenericAllocationHandle h;
	CUarrayMapInfo map;
	CUdeviceptr p;
	CUcontext c;

	begin(0);
	is(cu.cuArrayCreate_v2(&beside_array, &small_array), CUDA_SUCCESS);
	is(cu.cuMemCreate(&beside_handle, 8 * M, &prop, 0), CUDA_SUCCESS);
	map = array_map(beside_array, beside_handle);
	truth->during = release_during;
	is(cu.cuMemMapArrayAsync(&map, 1, NULL), CUDA_SUCCESS);
	beside_end();
	agree(8 * M + 64 * K);
	is(cu.cuMemAlloc_v2(&p, 10 * M), CUDA_ERROR_OUT_OF_MEMORY);
	is(cu.cuArrayDestroy(beside_array), CUDA_SUCCESS);
	agree(0);
	/* the driver refuses: nothing is mapped, and the handle's release gives it back */
	is(cu.cuArrayCreate_v2(&beside_array, &small_array), CUDA_SUCCESS);
	is(cu.cuMemCreate(&beside_handle, 8 * M, &prop, 0), CUDA_SUCCESS);
	map = array_map(beside_array, beside_handle);
	truth->refuse = 1;
	is(cu.cuMemMapArrayAsync(&map, 1, NULL), CUDA_ERROR_UNKNOWN);
	is(cu.cuMemRelease(beside_handle), CUDA_SUCCESS);
	agree(64 * K);
	is(cu.cuArrayDestroy(beside_array), CUDA_SUCCESS);
	agree(0);
	/* the context takes its arrays along, and what was mapped into them */
	is(cu.cuCtxCreate_v2(&c, 0, 0), CUDA_SUCCESS);
	is(cu.cuArrayCreate_v2(&beside_array, &small_array), CUDA_SUCCESS);
	is(cu.cuMemCreate(&h, 8 * M, &prop, 0), CUDA_SUCCESS);
	map = array_map(beside_array, h);
	is(cu.cuMemMapArrayAsync(&map, 1, NULL), CUDA_SUCCESS);
	is(cu.cuMemRelease(h), CUDA_SUCCESS);
	agree(8 * M + 64 * K);
	is(cu.cuCtxDestroy_v2(c), CUDA_SUCCESS);
	agree(0);
}

static void *map_beside(void *unused)
{
	CUarrayMapInfo map = array_map(beside_array, beside_handle);

	cu.cuCtxSetCurrent(beside_context);
	cu.cuMemMapArrayAsync(&map, 1, NULL);
	cu.cuMemRelease(beside_handle);
	beside_done = 1;
	return NULL;
}

static void map_during(void)
{
	beside(map_beside);
}

/* An array's handle is another's as soon as the driver has destroyed the first. Quota 16 MiB. */
static void case_handles(void)
{
	CUmemAllocationProp prop = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } };
	CUarray array;

	beside_context = begin(0);
	is(cu.cuArrayCreate_v2(&array, &small_array), CUDA_SUCCESS);
	is(cu.cuMemCreate(&beside_handle, 8 * M, &prop, 0), CUDA_SUCCESS);
	beside_array = array;
	truth->during = map_during;
	is(cu.cuArrayDestroy(array), CUDA_SUCCESS);
	beside_end();
	is(truth->used[0], 8 * M);
	is(held(), 8 * M);
}

static void *leave_beside(void *unused)
{
	cu.cuDevicePrimaryCtxRelease_v2(0);
	beside_done = 1;
	return NULL;
}

static void leave_during(void)
{
	beside(leave_beside);
}

/* A primary context that nobody was charged for ends beside a call that is measured. Contexts of 10 MiB. */
static void case_primary(void)
{
	CUresult (*retain)(CUcontext *, CUdevice);
	CUcontext c, behind;
	CUmodule m;

	is(cu.cuInit(0), CUDA_SUCCESS);
	retain = (CUresult(*)(CUcontext *, CUdevice))driver_call("cuDevicePrimaryCtxRetain");
	is(retain(&behind, 0), CUDA_SUCCESS);
	is(cu.cuCtxCreate_v2(&c, 0, 0), CUDA_SUCCESS);
	agree(20 * M);
	truth->during = leave_during;
	is(cu.cuModuleLoadData(&m, "bytes 6291456"), CUDA_SUCCESS);
	beside_end();
	agree(16 * M);
	is(cu.cuModuleUnload(m), CUDA_SUCCESS);
	agree(10 * M);
}

/* A primary context that the driver had before the program asked for it: charged with the first reference. */
static void case_adopted(void)
{
	CUresult (*retain)(CUcontext *, CUdevice);
	CUresult (*release)(CUdevice);
	CUcontext c, behind;

	is(cu.cuInit(0), CUDA_SUCCESS);
	retain = (CUresult(*)(CUcontext *, CUdevice))driver_call("cuDevicePrimaryCtxRetain");
	release = (CUresult(*)(CUdevice))driver_call("cuDevicePrimaryCtxRelease_v2");
	is(retain(&behind, 0), CUDA_SUCCESS);
	is(cu.cuDevicePrimaryCtxRetain(&c, 0), CUDA_SUCCESS);
	ok(c == behind);
	is(cu.cuCtxSetCurrent(c), CUDA_SUCCESS);
	agree(10 * M);
	is(cu.cuDevicePrimaryCtxRetain(&c, 0), CUDA_SUCCESS);
	agree(10 * M);
	is(release(0), CUDA_SUCCESS);
	is(cu.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
	agree(10 * M);
}

static char changing[] = ".version 8.0 .target sm_50 .address_size 64\n// .visible .global .align 4 .b8 v[4194304];\n";
static char *const changing_at = changing + sizeof ".version 8.0 .target sm_50 .address_size 64\n" - 1;
static _Atomic bool changing_ends;

static void *change(void *unused)
{
	for (unsigned int n = 0; !changing_ends; n++) {
		memcpy(changing_at, n & 1 ? "//" : "  ", 2);
		for (volatile unsigned int spin = 0; spin < 300 + n * 37 % 3000; spin++)
			;
	}
	return NULL;
}

/* A thread of the program changes the image while it is loaded: what the driver found is charged. The software device.
 */
static void case_changed(void)
{
	unsigned int seen = 0, wrong = 0, over = 0, bad = 0;
	CUlibrary library;
	pthread_t thread;
	size_t bytes;
	CUdeviceptr p;
	CUmodule m;

	begin(0);
	is(held(), soft_held());
	pthread_create(&thread, NULL, change, NULL);
	for (int n = 0; n < 800; n++) {
		uint64_t account = held(), device = soft_held();
		CUresult r = n & 1 ? cu.cuModuleLoadData(&m, changing)
				   : cu.cuLibraryLoadData(&library, changing, NULL, NULL, 0, NULL, NULL, 0);

		if (r == CUDA_SUCCESS && !(n & 1))
			r = cu.cuLibraryGetModule(&m, library);
		bad += r != CUDA_SUCCESS && r != CUDA_ERROR_INVALID_PTX;
		if (r != CUDA_SUCCESS)
			continue;
		seen += cu.cuModuleGetGlobal_v2(&p, &bytes, m, "v") == CUDA_SUCCESS;
		wrong += held() - account < soft_held() - device;
		over += held() - account > soft_held() - device;
		if (n & 1)
			cu.cuModuleUnload(m);
		else
			cu.cuLibraryUnload(library);
	}
	changing_ends = true;
	pthread_join(thread, NULL);
	ok(seen > 0 && seen < 800);
	is(wrong, 0);
	is(over, 0);
	is(bad, 0);
	is(held(), soft_held());
}

/* While a module is loaded something else that the driver counts goes: what is known of the module is charged all the
 * same. */
static void case_floor(void)
{
	CUdeviceptr p;
	CUmodule m;

	begin(0);
	is(cu.cuMemAlloc_v2(&p, 8 * M), CUDA_SUCCESS);
	is(cu.cuModuleLoadData(&m, ".version 8.0 .target sm_50 .address_size 64 .global .align 4 .b8 v[6291456]; "
				   "// bytes 6291456 ends 8388608"),
	   CUDA_SUCCESS);
	ok(held() >= 12 * M); /* the driver may have had room for a block less */
	is(truth->used[0], 6 * M);
	is(cu.cuModuleUnload(m), CUDA_SUCCESS);
	is(truth->used[0], 0);
}

/*
 * The driver comes to hold more for the process than it asked for (local memory that a launch made larger), and the
 * quota is full: it is charged out of what is given back, and meanwhile nothing more is had.
 */

static CUdeviceptr passed;
static CUipcMemHandle passed_handle;

static void *pass_beside(void *unused)
{
	cu.cuCtxSetCurrent(beside_context);
	cu.cuIpcGetMemHandle(&passed_handle, passed);
	beside_done = 1;
	return NULL;
}

/* Memory is freed while meted is asked to take its charge over: it goes back once. Quota 64 MiB. */
static void case_passed(void)
{
	pthread_t thread;
	CUdeviceptr q;

	beside_context = begin(0);
	is(cu.cuMemAlloc_v2(&q, 10 * M), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&passed, 20 * M), CUDA_SUCCESS);
	tell("stop");
	beside_done = 0;
	pthread_create(&thread, NULL, pass_beside, NULL);
	usleep(300000); /* it waits for an answer; where it has not come so far the test proves less */
	ok(!beside_done);
	is(cu.cuMemFree_v2(passed), CUDA_SUCCESS);
	tell("cont");
	pthread_join(thread, NULL);
	agree(10 * M);
	is(cu.cuMemAlloc_v2(&passed, 54 * M), CUDA_SUCCESS);
	agree(64 * M);
	is(cu.cuMemFree_v2(passed), CUDA_SUCCESS);
	agree(10 * M);
}

static CUexternalMemory ends_mapped;
static _Atomic int has_ended;
static pthread_t ending;

static void *end_mapped(void *unused)
{
	has_ended = cu.cuDestroyExternalMemory(ends_mapped) == CUDA_SUCCESS ? 1 : -1;
	return unused;
}

/* Another thread ends it while it is being mapped; it waits, or is done. */
static void end_beside(void)
{
	pthread_create(&ending, NULL, end_mapped, NULL);
	for (int i = 0; i < 300 && !has_ended; i++)
		usleep(1000);
}

/*
 * Memory of another API: its maker may let go of it, and the driver keeps it as long as it is imported, or mapped.
 * Quota 64 MiB.
 */
static void case_external(void)
{
	CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = { .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .size = 40 * M };
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC whole = { .size = 40 * M };
	CUexternalMemory external, more;
	CUcontext context = begin(0);
	CUdeviceptr p, q;

	is(cu.cuImportExternalMemory(&external, &desc), CUDA_SUCCESS);
	agree(40 * M);
	is(cu.cuImportExternalMemory(&more, &desc), CUDA_ERROR_OUT_OF_MEMORY);
	is(cu.cuMemAlloc_v2(&p, 26 * M), CUDA_ERROR_OUT_OF_MEMORY);
	is(cu.cuMemAlloc_v2(&p, 24 * M), CUDA_SUCCESS);
	agree(64 * M);
	is(cu.cuExternalMemoryGetMappedBuffer(&q, external, &whole), CUDA_SUCCESS);
	is(cu.cuDestroyExternalMemory(external), CUDA_SUCCESS);
	agree(64 * M);
	is(cu.cuMemFree_v2(q), CUDA_SUCCESS);
	agree(24 * M);
	is(cu.cuImportExternalMemory(&external, &desc), CUDA_SUCCESS);
	is(cu.cuExternalMemoryGetMappedBuffer(&q, external, &whole), CUDA_SUCCESS);
	is(cu.cuMemFree_v2(q), CUDA_SUCCESS);
	agree(64 * M);
	ends_mapped = external;
	truth->during = end_beside;
	is(cu.cuExternalMemoryGetMappedBuffer(&q, external, &whole), CUDA_SUCCESS);
	pthread_join(ending, NULL);
	is(has_ended, 1);
	agree(64 * M);
	is(cu.cuMemFree_v2(q), CUDA_SUCCESS);
	agree(24 * M);
	is(cu.cuImportExternalMemory(&external, &desc), CUDA_SUCCESS);
	is(cu.cuExternalMemoryGetMappedBuffer(&q, external, &whole), CUDA_SUCCESS);
	is(cu.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
	is(truth->used[0], 0);
	is(cu.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
	is(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
	agree(0);
}

static const struct kit_case cases[] = {
	{ "sparse", case_sparse },     { "handles", case_handles }, { "primary", case_primary },
	{ "changed", case_changed },   { "floor", case_floor },	    { "passed", case_passed },
	{ "external", case_external }, { "adopted", case_adopted },
};

int main(int argc, char **argv)
{
	return kit_main(cases, sizeof cases / sizeof *cases, argc, argv);
}
