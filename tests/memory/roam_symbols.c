/*
 * roam_symbols.c: variables of a module and of a library whose addresses the program knows: it copies to and from them,
 * fills them, and gives their addresses to kernels, also inside a structure and in a table that it has just copied, and
 * reads one by a texture. The images are packed, one in each way.
 */
#include "roamer.h"

#include "packed.h"

#include <stdlib.h>
#include <string.h>

#define WORDS 1024u

static const char text[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .const .align 4 .u32 factor[4] = {3, 5, 7, 9};\n"
	".visible .global .align 4 .u32 state[1024];\n"
	".visible .global .align 4 .u32 other[64];\n"
	".visible .global .align 512 .u32 seen[64];\n"
	".visible .entry look(.param .u64 by, .param .u64 to) {\n"
	"	.reg .u64 %d<6>; .reg .u32 %r<8>;\n"
	"	ld.param.u64 %d0, [by]; ld.param.u64 %d1, [to]; mov.u32 %r1, %tid.x;\n"
	"	tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d0, {%r1}];\n"
	"	mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2; ld.global.u32 %r6, [%d1];\n"
	"	mad.lo.u32 %r6, %r6, 17, %r2; st.global.u32 [%d1], %r6; ret;\n}\n"
	".visible .entry step(.param .u64 out) {\n"
	"	.reg .u64 %d<6>; .reg .u32 %r<8>;\n"
	"	ld.param.u64 %d0, [out];\n"
	"	mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r1, 32, %r2;\n"
	"	mov.u64 %d1, state; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;\n"
	"	and.b32 %r3, %r1, 3; mul.wide.u32 %d3, %r3, 4; mov.u64 %d4, factor; add.u64 %d4, %d4, %d3;\n"
	"	ld.const.u32 %r4, [%d4]; ld.global.u32 %r5, [%d1];\n"
	"	mad.lo.u32 %r5, %r5, %r4, %r1; st.global.u32 [%d1], %r5;\n"
	"	add.u64 %d0, %d0, %d2; st.global.u32 [%d0], %r5; ret;\n}\n"
	/* Sums through an address in a structure: { pad, address, address }. */
	".visible .entry through(.param .align 8 .b8 from[24], .param .u64 to) {\n"
	"	.reg .u64 %d<6>; .reg .u32 %r<8>;\n"
	"	ld.param.u64 %d0, [from+8]; ld.param.u64 %d3, [from+16]; ld.param.u64 %d1, [to];\n"
	"	mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4;\n"
	"	add.u64 %d0, %d0, %d2; add.u64 %d1, %d1, %d2; add.u64 %d3, %d3, %d2;\n"
	"	ld.global.u32 %r2, [%d0]; ld.global.u32 %r3, [%d1]; ld.global.u32 %r4, [%d3]; add.u32 %r2, %r2, %r4;\n"
	"	mad.lo.u32 %r3, %r3, 31, %r2; st.global.u32 [%d1], %r3; ret;\n}\n"
	".visible .entry table(.param .u64 list, .param .u64 to) {\n"
	"	.reg .u64 %d<6>; .reg .u32 %r<8>;\n"
	"	ld.param.u64 %d0, [list]; ld.param.u64 %d1, [to]; ld.global.u64 %d0, [%d0+8];\n"
	"	mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d0, %d0, %d2; add.u64 %d1, %d1, %d2;\n"
	"	ld.global.u32 %r2, [%d0]; ld.global.u32 %r3, [%d1]; xor.b32 %r3, %r3, %r2; st.global.u32 [%d1], %r3; "
	"ret;\n}\n";

static struct {
	CUmodule module;
	CUlibrary library;
	CUfunction look, step, through, table, step_there;
	CUtexObject by, by_rows;
	CUdeviceptr factor, seen, state, other, state_there, out, list;
	CUgraph graph;
	CUgraphExec exec;
} t;

static CUdeviceptr address(CUmodule m, const char *name)
{
	CUdeviceptr at;
	size_t bytes;

	must(cuModuleGetGlobal(&at, &bytes, m, name), name);
	return at;
}

struct three {
	uint64_t pad;
	CUdeviceptr one, two;
};

static void make_graph(void)
{
	struct three from = { 0, t.other, t.state + 64 };
	CUgraphNode node, fill;
	void *args[] = { &from, &t.out };
	CUDA_KERNEL_NODE_PARAMS p = { .func = t.through,
				      .gridDimX = 1,
				      .gridDimY = 1,
				      .gridDimZ = 1,
				      .blockDimX = 32,
				      .blockDimY = 1,
				      .blockDimZ = 1,
				      .kernelParams = args };
	CUDA_MEMSET_NODE_PARAMS s = { .dst = t.other + 128, .elementSize = 4, .width = 8, .height = 1, .value = 77 };
	CUcontext context;

	must(cuCtxGetCurrent(&context), "a context");
	must(cuGraphCreate(&t.graph, 0), "a graph");
	must(cuGraphAddMemsetNode(&fill, t.graph, NULL, 0, &s, context), "a node");
	must(cuGraphAddKernelNode(&node, t.graph, &fill, 1, &p), "a node");
	must(cuGraphInstantiate(&t.exec, t.graph, 0), "an instance");
}

static CUtexObject texture(CUDA_RESOURCE_DESC r)
{
	CUDA_TEXTURE_DESC s = { .filterMode = CU_TR_FILTER_MODE_POINT, .flags = CU_TRSF_READ_AS_INTEGER };
	CUtexObject o;

	must(cuTexObjectCreate(&o, &r, &s, NULL), "a texture of a variable");
	return o;
}

void symbols_make(void)
{
	void *one = packed_text(text, 0), *two = packed_text(text, 1);
	CUkernel kernel;
	size_t bytes;

	must(cuModuleLoadData(&t.module, one), "a module");
	must(cuLibraryLoadData(&t.library, two, NULL, NULL, 0, NULL, NULL, 0), "a library");
	free(one);
	free(two);
	must(cuLibraryGetKernel(&kernel, t.library, "step"), "a kernel");
	must(cuKernelGetFunction(&t.step_there, kernel), "its function");
	must(cuLibraryGetGlobal(&t.state_there, &bytes, t.library, "state"), "a variable of the library");
	t.step = function_of(t.module, "step");
	t.through = function_of(t.module, "through");
	t.table = function_of(t.module, "table");
	t.factor = address(t.module, "factor");
	t.state = address(t.module, "state");
	t.other = address(t.module, "other");
	must(cuMemAlloc(&t.out, WORDS * 4), "memory");
	must(cuMemAlloc(&t.list, 64), "memory");
	must(cuMemsetD32(t.out, 0, WORDS), "a fill");
	make_graph();
	t.look = function_of(t.module, "look");
	t.seen = address(t.module, "seen");
	t.by = texture((CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_LINEAR,
					     .res.linear = { t.seen, CU_AD_FORMAT_UNSIGNED_INT32, 1, 256 } });
	t.by_rows =
		texture((CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_PITCH2D,
					      .res.pitch2D = { t.seen, CU_AD_FORMAT_UNSIGNED_INT32, 1, 32, 2, 128 } });
}

void symbols_round(unsigned int n, uint64_t *d)
{
	struct three from = { n, t.state, t.other };
	CUdeviceptr to = t.out, rows[2] = { 0, t.other };
	uint32_t back[WORDS], factor[4] = { n, n + 1, n * 2 + 1, 3 };
	void *step[] = { &to }, *through[] = { &from, &to }, *table[] = { &t.list, &to };
	void *look[] = { &t.by, &to };

	must(cuMemcpyHtoD(t.factor, factor, sizeof(factor)), "a copy to a constant");
	must(cuMemsetD32(t.other + 4 * (n % 32), n, 1), "a fill of a variable");
	must(cuMemsetD32(t.seen, n * 3, 64), "a fill of a variable");
	run(t.look, 32, NULL, look);
	run(t.step, WORDS, NULL, step);
	run(t.step_there, WORDS, NULL, step);
	run(t.through, 32, NULL, through);
	must(cuGraphLaunch(t.exec, NULL), "a graph");
	must(cuMemcpyHtoD(t.list, rows, sizeof(rows)), "a table of addresses");
	run(t.table, 32, NULL, table);
	must(cuMemsetD32(t.list, 0, 16), "the table's end");
	must(cuMemcpyDtoH(back, t.out, sizeof(back)), "a copy");
	digest(d, back, sizeof(back));
	must(cuMemcpyDtoH(back, t.state, sizeof(back)), "a copy of a variable");
	digest(d, back, sizeof(back));
	must(cuMemcpyDtoD(t.state, t.state_there + 512, 256), "a copy between variables");
	must(cuMemcpyDtoH(back, t.factor, 16), "a copy of a constant");
	digest(d, back, 16);
}
