/* context_test.c: primary and created contexts, the stack of current ones, what dies with a context. */
#include "kit.h"

static CUcontext current(void)
{
	CUcontext c = (CUcontext)0x77;

	works(cuCtxGetCurrent(&c));
	return c;
}

static void primary(void)
{
	CUcontext again;
	unsigned int flags = 99;
	int active = -1;
	CUdevice dev = -1;

	works(cuDevicePrimaryCtxRetain(&again, kit.dev));
	ok(again == kit.context);
	works(cuDevicePrimaryCtxRelease(kit.dev));
	works(cuDevicePrimaryCtxGetState(kit.dev, &flags, &active));
	is(active, 1);
	works(cuCtxGetDevice(&dev));
	is(dev, kit.dev);
}

static void stack(void)
{
	CUcontext a, popped = NULL;
	unsigned int version = 0;

	needs(kit_context(&a, CU_CTX_SCHED_AUTO, kit.dev));
	ok(current() == a);
	works(cuCtxPushCurrent(kit.context));
	ok(current() == kit.context);
	works(cuCtxPushCurrent(a));
	works(cuCtxPopCurrent(&popped));
	ok(popped == a && current() == kit.context);
	works(cuCtxPopCurrent(&popped));
	ok(popped == kit.context && current() == a);
	works(cuCtxGetApiVersion(a, &version));
	ok(version >= 3010);
	works(cuCtxDestroy(a));
	works(cuCtxSetCurrent(kit.context));
}

/* What was allocated in a context goes with it. */
static void death(void)
{
	size_t before = kit_free(), with;
	CUstream s;
	CUcontext a;
	CUdeviceptr p;

	needs(kit_context(&a, 0, kit.dev));
	with = kit_free();
	needs(cuMemAlloc(&p, 4 * MIB));
	needs(cuStreamCreate(&s, 0));
	is(with - kit_free(), 4 * MIB);
	works(cuMemsetD8Async(p, 1, 4 * MIB, s));
	works(cuCtxDestroy(a));
	works(cuCtxSetCurrent(kit.context));
	if (kit.soft)
		is(kit_free(), before);
}

/* Contexts of one device share its addresses: a pointer of one may be used in the other. */
static void shared_addresses(void)
{
	unsigned int v = 0;
	CUcontext a;
	CUdeviceptr p;

	needs(cuMemAlloc(&p, 4096));
	needs(kit_context(&a, 0, kit.dev));
	works(cuMemsetD32(p, 31, 16));
	works(cuMemcpyDtoH(&v, p, 4));
	is(v, 31);
	works(cuCtxDestroy(a));
	works(cuCtxSetCurrent(kit.context));
	works(cuMemFree(p));
}

/* What goes with a context makes room for as many others: of streams and events that are alive when it ends. */
static void again(void)
{
	CUcontext a;
	CUstream s[8];
	CUevent e[8];

	for (int round = 0; round < 4; round++) {
		needs(kit_context(&a, 0, kit.dev));
		for (int i = 0; i < 8; i++) {
			works(cuStreamCreate(&s[i], i & 1 ? CU_STREAM_NON_BLOCKING : 0));
			works(cuEventCreate(&e[i], 0));
			works(cuEventRecord(e[i], s[i]));
		}
		works(cuEventDestroy(e[round]));
		works(cuStreamSynchronize(s[7]));
		works(cuCtxDestroy(a));
	}
	works(cuCtxSetCurrent(kit.context));
	works(cuCtxSynchronize());
}

static void limits(void)
{
	size_t v = 0;

	works(cuCtxGetLimit(&v, CU_LIMIT_STACK_SIZE));
	ok(v > 0);
	works(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20));
	ok(cuCtxGetLimit(&v, (CUlimit)0x7777) != CUDA_SUCCESS);
}

/* A function is of the context in which its module was loaded. */
static void foreign_function(void)
{
	CUcontext other = NULL;
	CUfunction f;
	CUmodule m;

	needs(cuModuleLoadData(&m, ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n"));
	needs(cuModuleGetFunction(&f, m, "k"));
	works(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	needs(cuCtxCreate(&other, NULL, 0, kit.dev));
	answers(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	works(cuCtxDestroy(other));
	needs(cuCtxSetCurrent(kit.context));
	works(cuCtxSynchronize());
	works(cuModuleUnload(m));
}

int main(void)
{
	kit_begin();
	primary();
	stack();
	death();
	shared_addresses();
	again();
	limits();
	foreign_function();
	return kit_end();
}
