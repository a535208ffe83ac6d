/* roam_shared.c: memory that the program and kernels both reach: managed, pinned and registered; it comes and goes. */
#include "roamer.h"

#include <stdlib.h>
#include <string.h>

#define WORDS 4096u
#define BLOCKS 4u

static const char text[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry fold(.param .u64 to, .param .u64 from, .param .u32 n) {\n"
	"	.reg .u64 %d<4>; .reg .u32 %r<6>;\n"
	"	ld.param.u64 %d0, [to]; ld.param.u64 %d1, [from]; ld.param.u32 %r0, [n];\n"
	"	mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r1, 32, %r2;\n"
	"	mul.wide.u32 %d2, %r1, 4; add.u64 %d0, %d0, %d2; add.u64 %d1, %d1, %d2;\n"
	"	ld.global.u32 %r3, [%d0]; ld.global.u32 %r4, [%d1];\n"
	"	mad.lo.u32 %r3, %r3, 22695477, %r4; add.u32 %r3, %r3, %r0; st.global.u32 [%d0], %r3; ret;\n}\n";

static struct {
	CUmodule module;
	CUfunction fold;
	CUstream stream;
	CUdeviceptr plain, managed[BLOCKS], pinned_there, registered_there;
	uint32_t *pinned, *registered;
} t;

static CUdeviceptr managed(unsigned int n)
{
	CUdeviceptr at;

	must(cuMemAllocManaged(&at, WORDS * 4 + n % 3 * 100000, CU_MEM_ATTACH_GLOBAL), "managed memory");
	for (unsigned int i = 0; i < WORDS; i++)
		((uint32_t *)(uintptr_t)at)[i] = n + i;
	return at;
}

void shared_make(void)
{
	must(cuModuleLoadData(&t.module, text), "a module");
	t.fold = function_of(t.module, "fold");
	must(cuStreamCreate(&t.stream, CU_STREAM_NON_BLOCKING), "a stream");
	must(cuMemAlloc(&t.plain, WORDS * 4), "memory");
	must(cuMemsetD32(t.plain, 1, WORDS), "a fill");
	for (unsigned int i = 0; i < BLOCKS; i++)
		t.managed[i] = managed(i);
	must(cuMemHostAlloc((void **)&t.pinned, WORDS * 4, CU_MEMHOSTALLOC_DEVICEMAP), "pinned memory");
	must(cuMemHostGetDevicePointer(&t.pinned_there, t.pinned, 0), "its address");
	t.registered = aligned_alloc(4096, WORDS * 4);
	must(cuMemHostRegister(t.registered, WORDS * 4, CU_MEMHOSTREGISTER_DEVICEMAP), "registered memory");
	must(cuMemHostGetDevicePointer(&t.registered_there, t.registered, 0), "its address");
	memset(t.pinned, 3, WORDS * 4);
	memset(t.registered, 5, WORDS * 4);
}

static void fold(CUdeviceptr to, CUdeviceptr from, uint32_t n)
{
	void *args[] = { &to, &from, &n };

	run(t.fold, WORDS, t.stream, args);
}

void shared_round(unsigned int n, uint64_t *d)
{
	const unsigned int k = n % BLOCKS;
	uint32_t *here = (uint32_t *)(uintptr_t)t.managed[k];
	uint32_t back[WORDS];

	/* Each side changes what the other has written. */
	here[n % WORDS] ^= n;
	t.pinned[n % WORDS] += n;
	t.registered[n % WORDS] += n;
	fold(t.managed[k], t.plain, n);
	fold(t.plain, t.pinned_there, n);
	fold(t.registered_there, t.managed[k], n);
	fold(t.pinned_there, t.registered_there, n);
	must(cuStreamSynchronize(t.stream), "a wait");
	here[(n + 1) % WORDS] ^= t.pinned[(n + 1) % WORDS];
	must(cuMemcpyDtoH(back, t.managed[k], sizeof(back)), "a copy");
	digest(d, back, sizeof(back));
	digest(d, here, WORDS * 4);
	digest(d, t.pinned, WORDS * 4);
	digest(d, t.registered, WORDS * 4);
	if (n % 5)
		return;
	must(cuMemFree(t.managed[k]), "managed memory is freed");
	t.managed[k] = managed(n);
	must(cuMemHostUnregister(t.registered), "the memory is registered no more");
	must(cuMemHostRegister(t.registered, WORDS * 4, CU_MEMHOSTREGISTER_DEVICEMAP), "registered memory");
	must(cuMemHostGetDevicePointer(&t.registered_there, t.registered, 0), "its address");
}
