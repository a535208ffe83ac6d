/*
 * roam_kernels.c: kernels of a library that are launched by their own handles in a capture. The program learns of their
 * functions by the nodes of the graph alone, changes the instance by them, and launches them.
 */
#include "roamer.h"

#define WORDS 1024u
#define NODES 2u

static const char text[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry add(.param .u64 to, .param .u32 n, .param .u32 high) {\n"
	"	.reg .u64 %d<4>; .reg .u32 %r<6>;\n"
	"	ld.param.u64 %d0, [to]; ld.param.u32 %r0, [n]; ld.param.u32 %r1, [high]; add.u32 %r0, %r0, %r1;\n"
	"	mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r1, 32, %r2;\n"
	"	mul.wide.u32 %d2, %r1, 4; add.u64 %d0, %d0, %d2;\n"
	"	ld.global.u32 %r3, [%d0]; mad.lo.u32 %r3, %r3, 1103515245, %r0; add.u32 %r3, %r3, %r1;\n"
	"	st.global.u32 [%d0], %r3; ret;\n}\n";

static struct {
	CUlibrary library;
	CUkernel add;
	CUdeviceptr at;
	CUstream stream;
	CUgraph graph;
	CUgraphExec exec;
	CUgraphNode node[NODES];
	CUfunction learnt;
} t;

/* The upper part of a word of the parameters, which looks like the id of each kind of object in turn. */
static uint32_t high(uint32_t n)
{
	return (n / 3 + 12) % 64 << 24 | n;
}

static void capture(void)
{
	size_t count = NODES;

	must(cuStreamBeginCapture(t.stream, CU_STREAM_CAPTURE_MODE_RELAXED), "a capture");
	for (uint32_t i = 0; i < NODES; i++) {
		uint32_t more = high(i);
		void *args[] = { &t.at, &i, &more };

		run((CUfunction)t.add, WORDS, t.stream, args);
	}
	must(cuStreamEndCapture(t.stream, &t.graph), "the end of a capture");
	must(cuGraphInstantiate(&t.exec, t.graph, 0), "an instance");
	must(cuGraphGetNodes(t.graph, t.node, &count), "the nodes");
}

/* What the node launches; by another number from now on. */
static void change(uint32_t n)
{
	CUDA_KERNEL_NODE_PARAMS p;
	uint32_t more = high(n);
	void *args[] = { &t.at, &n, &more };

	must(cuGraphKernelNodeGetParams(t.node[n % NODES], &p), "a node's parameters");
	if (p.func)
		t.learnt = p.func;
	p.kernelParams = args;
	must(cuGraphExecKernelNodeSetParams(t.exec, t.node[n % NODES], &p), "an instance's change");
}

void kernels_make(void)
{
	must(cuLibraryLoadData(&t.library, text, NULL, NULL, 0, NULL, NULL, 0), "a library");
	must(cuLibraryGetKernel(&t.add, t.library, "add"), "a kernel");
	must(cuStreamCreate(&t.stream, CU_STREAM_NON_BLOCKING), "a stream");
	must(cuMemAlloc(&t.at, WORDS * 4), "memory");
	must(cuMemsetD32(t.at, 3, WORDS), "a fill");
	capture();
	change(5);
}

void kernels_round(unsigned int n, uint64_t *d)
{
	uint32_t back[WORDS], more = high(n);
	void *args[] = { &t.at, &n, &more };

	if (n % 3 == 0)
		change(n);
	must(cuGraphLaunch(t.exec, t.stream), "a graph");
	if (t.learnt)
		run(t.learnt, WORDS, t.stream, args);
	must(cuStreamSynchronize(t.stream), "a wait");
	must(cuMemcpyDtoH(back, t.at, sizeof(back)), "a copy");
	digest(d, back, sizeof(back));
}
