/* fork_test.c: children of a process that has not, and of one that has used the device. */
#include "kit.h"

static int uses_the_device(void)
{
	unsigned char byte = 0;
	CUcontext context;
	CUdeviceptr p;
	CUdevice dev;

	return cuInit(0) || cuDeviceGet(&dev, 0) || cuDevicePrimaryCtxRetain(&context, dev) ||
	       cuCtxSetCurrent(context) || cuMemAlloc(&p, 4 * MIB) || cuMemsetD8(p, 9, 4 * MIB) ||
	       cuMemcpyDtoH(&byte, p + 4 * MIB - 1, 1) || byte != 9;
	/* No cuMemFree: the memory must return with the process. */
}

static int is_refused(void)
{
	CUdeviceptr p;
	CUresult r = cuMemAlloc(&p, 4096);

	if (r != CUDA_ERROR_NOT_INITIALIZED)
		printf("# the child is told %s\n", kit_error(r));
	return r != CUDA_ERROR_NOT_INITIALIZED;
}

/* Ends without a word to the driver, as a child of a data loader does. */
static int does_nothing(void)
{
	return 0;
}

/* What ended children held returns when their end has been seen, a moment later: waits until nothing more comes. */
static void wait_for_the_memory_of_children(void)
{
	size_t now;

	for (unsigned int same = 0, tries = 0; same < 20 && tries < 500; tries++) {
		usleep(10000);
		now = kit_free();
		same = now == kit.free_at_begin ? same + 1 : 0;
		kit.free_at_begin = now;
	}
}

int main(void)
{
	CUdeviceptr p, q = 0;
	size_t before;

	for (int i = 0; i < 3; i++)
		tap_ok(kit_child(uses_the_device) == 0, "child %d uses the device before its parent does", i);
	kit_begin();
	wait_for_the_memory_of_children();
	needs(cuMemAlloc(&p, 4096));
	works(cuMemsetD8(p, 5, 4096));
	before = kit_free();
	for (int i = 0; i < 3; i++) {
		/* Freed in the stream's order: the child ends with it still in this process's hands. */
		needs(cuMemAllocAsync(&q, MIB, NULL));
		works(cuMemFreeAsync(q, NULL));
		tap_ok(kit_child(is_refused) == 0, "child %d of a process with a context is refused", i);
		tap_ok(kit_child(does_nothing) == 0, "child %d that does nothing ends well", i);
	}
	/* The parent lost nothing by its children's ends. */
	works(cuCtxSynchronize());
	is(kit_free(), before);
	works(cuMemsetD8(p, 6, 4096));
	works(cuCtxSynchronize());
	works(cuMemFree(p));
	return kit_end();
}
