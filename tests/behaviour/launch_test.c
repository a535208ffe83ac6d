/* launch_test.c: parameters both ways, shapes of grids and blocks, shared memory, what a launch refuses. */
#include "kit.h"
#include "basic_ptx.h"

struct mixed {
	char tag;
	double ratio;
	short pair[3];
	unsigned long long big;
};

/* The parameters of the kernel `parameters`, laid out as the kernel has them. */
struct packed {
	CUdeviceptr out;
	char c;
	struct mixed m;
	short s;
	float f;
	unsigned long long u;
};

static const struct mixed sample = { 'x', 2.5, { 1, 2, 3 }, 1ull << 40 };

static void check_parameters(CUdeviceptr out, const char *way)
{
	double want[] = { 'c', 'x', 2.5, 123, (double)(1ull << 40), -7, 0.25, 1e15 }, got[8];
	int wrong = 0;

	works(cuMemcpyDtoH(got, out, sizeof got));
	for (int i = 0; i < 8; i++)
		wrong += got[i] < want[i] || got[i] > want[i];
	tap_ok(wrong == 0, "parameters of mixed sizes arrive by %s", way);
	works(cuMemsetD8(out, 0, sizeof got));
}

static void parameters(CUmodule module, CUdeviceptr out)
{
	CUfunction f = kit_kernel(module, "parameters");
	struct packed p = { out, 'c', sample, -7, 0.25f, 1000000000000000ull };
	void *args[] = { &p.out, &p.c, &p.m, &p.s, &p.f, &p.u };
	size_t size = sizeof p;
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &p, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END };

	works(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
	check_parameters(out, "kernelParams");
	works(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
	check_parameters(out, "extra");
	/* The values are taken at the call: changing them afterwards changes nothing. */
	works(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
	p.c = 'z';
	p.u = 0;
	works(cuCtxSynchronize());
	check_parameters(out, "value");
}

static void shapes(CUmodule module, CUdeviceptr out)
{
	CUfunction f = kit_kernel(module, "coordinates");
	static unsigned int host[2 * 3 * 4 * 4 * 5 * 6];
	void *args[] = { &out };
	unsigned int wrong = 0, place = 0;

	works(cuMemsetD8(out, 0xff, sizeof host));
	works(cuLaunchKernel(f, 2, 3, 4, 4, 5, 6, 0, NULL, args, NULL));
	works(cuMemcpyDtoH(host, out, sizeof host));
	for (unsigned int b = 0; b < 24; b++)
		for (unsigned int t = 0; t < 120; t++)
			wrong += host[place++] !=
				 (b / 6 << 20 | b / 2 % 3 << 16 | b % 2 << 12 | t / 20 << 8 | t / 4 % 5 << 4 | t % 4);
	is(wrong, 0);
}

static void dynamic_shared(CUmodule module, CUdeviceptr p)
{
	CUfunction f = kit_kernel(module, "reverse");
	unsigned int host[4 * 192], wrong = 0;
	void *args[] = { &p };

	for (unsigned int i = 0; i < 4 * 192; i++)
		host[i] = i;
	works(cuMemcpyHtoD(p, host, sizeof host));
	works(cuLaunchKernel(f, 4, 1, 1, 192, 1, 1, 192 * 4, NULL, args, NULL));
	works(cuMemcpyDtoH(host, p, sizeof host));
	for (unsigned int i = 0; i < 4 * 192; i++)
		wrong += host[i] != i / 192 * 192 + 191 - i % 192;
	is(wrong, 0);
}

static void refused(CUmodule module, CUdeviceptr p)
{
	CUfunction f = kit_kernel(module, "fill");
	unsigned int n = 16, v = 1, before[16], after[16];
	void *args[] = { &p, &n, &v };

	works(cuMemcpyDtoH(before, p, sizeof before));
	answers(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 0, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
	answers(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 0, 1, 1, 0, NULL, args, NULL));
	answers(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 1025, 1, 1, 0, NULL, args, NULL));
	answers(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 64, 32, 1, 0, NULL, args, NULL));
	answers(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 65, 0, NULL, args, NULL));
	answers(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 70000, 1, 32, 1, 1, 0, NULL, args, NULL));
	answers(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 1u << 30, NULL, args, NULL));
	answers(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(NULL, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
	works(cuCtxSynchronize());
	works(cuMemcpyDtoH(after, p, sizeof after));
	ok(!memcmp(before, after, sizeof after));
}

static void extended(CUmodule module, CUdeviceptr p)
{
	CUresult (*launch)(const CUlaunchConfig *, CUfunction, void **, void **) = NULL;
	unsigned int n = 128, v = 77, got = 0;
	void *args[] = { &p, &n, &v };
	CUlaunchConfig config = {
		.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 128, .blockDimY = 1, .blockDimZ = 1
	};

	*(void **)&launch = kit_find("cuLaunchKernelEx", 11060);
	if (!launch) {
		kit_skip("cuLaunchKernelEx", "this driver is older than CUDA 11.6");
		return;
	}
	works(launch(&config, kit_kernel(module, "fill"), args, NULL));
	works(cuMemcpyDtoH(&got, p + 127 * 4, 4));
	is(got, 77);
}

/* A launch by the per-thread-stream symbol does not wait for the legacy stream's blocking partners. */
static void per_thread_stream(CUmodule module, CUdeviceptr p)
{
	CUresult (*launch)(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
			   unsigned int, unsigned int, CUstream, void **, void **) = NULL;
	unsigned int n = 128, v = 5, got = 0;
	void *args[] = { &p, &n, &v };

	works(cuGetProcAddress(SHAPE_PREFIX "LaunchKernel", (void **)&launch, 7000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
			       NULL));
	needs(launch ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
	works(launch(kit_kernel(module, "fill"), 1, 1, 1, 128, 1, 1, 0, NULL, args, NULL));
	works(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	works(cuMemcpyDtoH(&got, p, 4));
	is(got, 5);
}

static const char pairs_ptx[] = ".version 7.8\n.target sm_90\n.address_size 64\n"
				".visible .entry pairs()\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n{\nret;\n}\n";

/* Asked of a kernel with parameters; and a kernel made for clusters of two takes whole clusters alone. */
static void clusters(CUmodule module)
{
	CUlaunchAttribute pair = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = { 2, 1, 1 } };
	CUlaunchConfig c = { .gridDimX = 8,
			     .gridDimY = 1,
			     .gridDimZ = 1,
			     .blockDimX = 64,
			     .blockDimY = 1,
			     .blockDimZ = 1,
			     .attrs = &pair,
			     .numAttrs = 1 };
	int able = 0, count = 0;
	CUmodule made;
	CUfunction f;

	works(cuDeviceGetAttribute(&able, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, kit.dev));
	if (!able) {
		kit_skip("clusters", "not there on this device");
		return;
	}
	f = kit_kernel(module, "fill");
	works(cuOccupancyMaxActiveClusters(&count, f, &c));
	ok(count > 0);
	count = 0;
	works(cuOccupancyMaxPotentialClusterSize(&count, f, &c));
	ok(count >= 2);
	needs(cuModuleLoadData(&made, pairs_ptx));
	f = kit_kernel(made, "pairs");
	ok(cuLaunchKernel(f, 3, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) != CUDA_SUCCESS);
	works(cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	works(cuCtxSynchronize());
	works(cuModuleUnload(made));
}

int main(void)
{
	CUmodule module;
	CUdeviceptr p;

	kit_begin();
	needs(cuModuleLoadData(&module, basic_ptx));
	needs(cuMemAlloc(&p, 65536));
	parameters(module, p);
	shapes(module, p);
	dynamic_shared(module, p);
	refused(module, p);
	extended(module, p);
	per_thread_stream(module, p);
	clusters(module);
	works(cuMemFree(p));
	works(cuModuleUnload(module));
	return kit_end();
}
