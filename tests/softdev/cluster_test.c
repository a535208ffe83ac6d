/* cluster_test.c: launches with clusters of blocks: attributes, limits, occupancy, a kernel that reads a neighbour. */
#include "softdev/soft.h"

#include <stdint.h>
#include <string.h>

#define BODY                                                                                                           \
	"{ .reg .b64 %d<4>; .reg .b32 %r<9>; .shared .align 4 .b32 own;\n"                                             \
	"ld.param.u64 %d0, [p]; mov.u32 %r0, %ctaid.x; st.shared.u32 [own], %r0; barrier.cluster.arrive; "             \
	"barrier.cluster.wait;\n"                                                                                      \
	"mov.u32 %r1, %cluster_ctarank; xor.b32 %r1, %r1, 1; mov.u32 %r2, own; mapa.shared::cluster.u32 %r2, %r2, "    \
	"%r1;\n"                                                                                                       \
	"ld.shared::cluster.u32 %r3, [%r2]; mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1; st.global.u32 [%d0], "    \
	"%r3;\n"                                                                                                       \
	"barrier.cluster.arrive; barrier.cluster.wait; ret; }\n"

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
			  ".visible .entry neighbour(.param .u64 p)\n" BODY
			  ".visible .entry pairs(.param .u64 p) .reqnctapercluster 2, 1, 1\n" BODY;

static CUlaunchConfig config(unsigned grid, CUlaunchAttribute *a, unsigned x, unsigned y)
{
	CUlaunchConfig c = {
		.gridDimX = grid, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1
	};

	if (!x)
		return c;
	*a = (CUlaunchAttribute){ .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
	a->value.clusterDim.x = x;
	a->value.clusterDim.y = y;
	a->value.clusterDim.z = 1;
	c.attrs = a;
	c.numAttrs = 1;
	return c;
}

static int wrong(CUdeviceptr d, unsigned blocks)
{
	uint32_t v[64];
	int n = 0;

	CU(cuMemcpyDtoH(v, d, sizeof(v)));
	for (uint32_t i = 0; i < blocks; i++)
		n += v[i] != (i ^ 1);
	CU(cuMemsetD8(d, 0xff, sizeof(v)));
	return n;
}

int main(void)
{
	CUfunction neighbour, pairs;
	CUlaunchAttribute a;
	CUlaunchConfig c;
	CUdeviceptr d;
	CUmodule m;
	void *params[] = { &d };
	int v;

	soft_begin("1", "64M");
	soft_context();
	CU(cuModuleLoadData(&m, ptx));
	CU(cuModuleGetFunction(&neighbour, m, "neighbour"));
	CU(cuModuleGetFunction(&pairs, m, "pairs"));
	CU(cuMemAlloc(&d, 256));

	CU(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0));
	is(v, 1);
	CU(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, pairs));
	is(v, 2);
	CU(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, neighbour));
	is(v, 0);

	c = config(64, &a, 4, 1);
	CU(cuLaunchKernelEx(&c, neighbour, params, NULL));
	is(wrong(d, 64), 0);
	CU(cuLaunchKernel(pairs, 64, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	is(wrong(d, 64), 0);

	/* what does not go together */
	c = config(63, &a, 4, 1);
	FAILS(cuLaunchKernelEx(&c, neighbour, params, NULL), CUDA_ERROR_INVALID_VALUE);
	c = config(64, &a, 4, 1);
	FAILS(cuLaunchKernelEx(&c, pairs, params, NULL), CUDA_ERROR_INVALID_CLUSTER_SIZE);
	c = config(64, &a, 4, 0);
	FAILS(cuLaunchKernelEx(&c, neighbour, params, NULL), CUDA_ERROR_INVALID_CLUSTER_SIZE);
	c = config(64, &a, 16, 1);
	FAILS(cuLaunchKernelEx(&c, neighbour, params, NULL), CUDA_ERROR_INVALID_CLUSTER_SIZE);
	CU(cuOccupancyMaxPotentialClusterSize(&v, neighbour, &c));
	is(v, 8);
	CU(cuFuncSetAttribute(neighbour, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
	CU(cuLaunchKernelEx(&c, neighbour, params, NULL));
	is(wrong(d, 64), 0);
	CU(cuOccupancyMaxPotentialClusterSize(&v, neighbour, &c));
	is(v, 16);
	CU(cuOccupancyMaxActiveClusters(&v, neighbour, &c));
	is(v, 16 * 32 / 16);
	c = config(64, &a, 32, 1);
	FAILS(cuOccupancyMaxActiveClusters(&v, neighbour, &c), CUDA_ERROR_INVALID_CLUSTER_SIZE);

	CU(cuMemFree(d));
	CU(cuModuleUnload(m));
	return soft_end();
}
