/* error_test.c: errors as documented: those that pass, those that stay, and their names. */
#include "kit.h"
#include "basic_ptx.h"

static void names(void)
{
	const char *text = NULL;

	works(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
	is_str(text, "CUDA_ERROR_OUT_OF_MEMORY");
	works(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
	ok(text && *text);
	works(cuGetErrorName(CUDA_SUCCESS, &text));
	is_str(text, "CUDA_SUCCESS");
	answers(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)12345, &text));
	ok(text == NULL);
}

static void no_context(void)
{
	size_t a, b;
	CUdeviceptr p;

	works(cuCtxSetCurrent(NULL));
	answers(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&p, 512));
	answers(CUDA_ERROR_INVALID_CONTEXT, cuMemGetInfo(&a, &b));
	answers(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
	works(cuCtxSetCurrent(kit.context));
}

/* Out of memory is an answer, not a state. */
static void out_of_memory_passes(void)
{
	CUdeviceptr p;

	for (int i = 0; i < 3; i++) {
		answers(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&p, kit.total * 2));
		needs(cuMemAlloc(&p, 4096));
		works(cuMemFree(p));
	}
	works(cuCtxSynchronize());
}

static const char *faulty_kernel;
static CUdeviceptr faulty_address;
static char faulty_memory[8192];

/* In a process of its own: runs the faulty kernel; every later call must answer the same error. */
static int fault(void)
{
	CUdevice dev;
	CUcontext context;
	CUmodule module;
	CUdeviceptr p = 0;
	CUfunction f;
	void *args[] = { &faulty_address }, *pinned = NULL;
	CUresult first, then;
	int bad = 0;

	if (cuInit(0) || cuDeviceGet(&dev, 0) || cuDevicePrimaryCtxRetain(&context, dev) || cuCtxSetCurrent(context) ||
	    cuModuleLoadData(&module, basic_ptx) || cuModuleGetFunction(&f, module, faulty_kernel) ||
	    cuMemHostAlloc(&pinned, 4096, 0)) {
		printf("# the child cannot begin\n");
		return 1;
	}
	first = cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL);
	if (first == CUDA_SUCCESS)
		first = cuCtxSynchronize();
	printf("# %s: %s\n", faulty_kernel, kit_error(first));
	if (!strcmp(faulty_kernel, "poke"))
		bad += first != CUDA_ERROR_ILLEGAL_ADDRESS && first != CUDA_ERROR_MISALIGNED_ADDRESS;
	else
		bad += first != CUDA_ERROR_LAUNCH_FAILED && first != CUDA_ERROR_ILLEGAL_INSTRUCTION;
	then = cuMemAlloc(&p, 512);
	bad += then != first;
	then = cuCtxSynchronize();
	bad += then != first;
	then = cuMemsetD8((CUdeviceptr)512, 0, 1);
	bad += then != first;
	if (kit_is_soft(dev)) { /* what a client of a worker answers by itself, too */
		bad += cuMemFreeHost(pinned) != first;
		bad += cuMemHostRegister(faulty_memory, sizeof(faulty_memory), 0) != first;
	}
	/* What needs no context still works. */
	bad += cuDeviceGetCount(&(int){ 0 }) != CUDA_SUCCESS;
	return bad;
}

static int healthy(void)
{
	CUdevice dev;
	CUcontext context;
	CUdeviceptr p;

	return cuInit(0) || cuDeviceGet(&dev, 0) || cuDevicePrimaryCtxRetain(&context, dev) ||
	       cuCtxSetCurrent(context) || cuMemAlloc(&p, 4096) || cuMemsetD8(p, 1, 4096) || cuCtxSynchronize() ||
	       cuMemFree(p);
}

int main(void)
{
	/* The children come first: a process that uses the device has no children that can. */
	faulty_kernel = "poke";
	faulty_address = 0;
	tap_ok(kit_child(fault) == 0, "a store to address 0 is an error that stays");
	faulty_address = 0x10;
	tap_ok(kit_child(fault) == 0, "a store to address 16 is an error that stays");
	faulty_kernel = "stop";
	tap_ok(kit_child(fault) == 0, "a trap is an error that stays");
	tap_ok(kit_child(healthy) == 0, "other processes are not touched by it");
	kit_begin();
	names();
	no_context();
	out_of_memory_passes();
	return kit_end();
}
