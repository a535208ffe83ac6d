/* Arrays and the copies that have one at an end; pools; images that a program loads itself. */
#include "program.h"

#include <string.h>

enum { W = 37, H = 11, D = 5 };

static struct cudaChannelFormatDesc float2_desc(void)
{
	return cudaCreateChannelDesc(32, 32, 0, 0, cudaChannelFormatKindFloat);
}

static void fill(float *p, size_t n, float first)
{
	for (size_t i = 0; i < n; i++)
		p[i] = first + (float)i;
}

static void test_two_dimensions(void)
{
	struct cudaChannelFormatDesc desc = float2_desc(), seen;
	struct cudaExtent x;
	unsigned flags = 99;
	float host[H][W * 2], back[H][W * 2] = { { 0 } }, *device;
	cudaArray_t a, b;
	size_t row = sizeof(host[0]);

	fill(&host[0][0], W * H * 2, 1);
	CALL(cudaMallocArray(&a, &desc, W, H, cudaArrayDefault));
	CALL(cudaMallocArray(&b, &desc, W, H, cudaArraySurfaceLoadStore));
	CALL(cudaArrayGetInfo(&seen, &x, &flags, b));
	ok(!memcmp(&seen, &desc, sizeof(desc)));
	is(x.width, W);
	is(x.height, H);
	is(x.depth, 0);
	is(flags, cudaArraySurfaceLoadStore);
	CALL(cudaMemcpy2DToArray(a, 0, 0, host, row, row, H, cudaMemcpyHostToDevice));
	CALL(cudaMemcpy2DArrayToArray(b, 0, 0, a, 0, 0, row, H, cudaMemcpyDeviceToDevice));
	CALL(cudaMemcpy2DFromArray(back, row, b, 0, 0, row, H, cudaMemcpyDefault));
	ok(!memcmp(host, back, sizeof(host)));

	/* A piece in the middle, by way of device memory. */
	CALL(cudaMalloc((void **)&device, 8 * 3));
	CALL(cudaMemcpy2DFromArrayAsync(device, 8, a, 16, 4, 8, 3, cudaMemcpyDeviceToDevice, 0));
	CALL(cudaMemcpy(back, device, 8 * 3, cudaMemcpyDeviceToHost));
	ok(back[0][0] == host[4][4] && back[0][1] == host[4][5] && back[0][2] == host[5][4] &&
	   back[0][4] == host[6][4]);
	CALL(cudaFree(device));

	FAILS(cudaMemcpy2DToArray(a, 0, 0, host, row, row, H, (enum cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
	FAILS(cudaMemcpy2DToArray(a, 8, 0, host, row, row, H, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	FAILS(cudaMemcpy2DToArray(a, 0, 0, host, row - 8, row, H, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
	CALL(cudaFreeArray(a));
	CALL(cudaFreeArray(b));
	CALL(cudaFreeArray(NULL));
	desc.z = 32;
	FAILS(cudaMallocArray(&a, &desc, W, H, 0), cudaErrorInvalidChannelDescriptor);
	cudaGetLastError();
}

static void test_flowing(void)
{
	struct cudaChannelFormatDesc desc = cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);
	unsigned char host[W * H], back[W * H] = { 0 };
	cudaArray_t a;

	for (int i = 0; i < W * H; i++)
		host[i] = (unsigned char)(i * 7);
	CALL(cudaMallocArray(&a, &desc, W, H, 0));
	CALL(cudaMemcpyToArray(a, 0, 0, host, sizeof(host), cudaMemcpyHostToDevice));
	CALL(cudaMemcpyToArray(a, W - 2, 1, host, 40, cudaMemcpyHostToDevice)); /* the end of a row, one, part of one */
	CALL(cudaMemcpyFromArray(back, a, 0, 0, sizeof(back), cudaMemcpyDeviceToHost));
	ok(!memcmp(back + 2 * W - 2, host, 40));
	ok(!memcmp(back, host, 2 * W - 2));
	ok(!memcmp(back + 2 * W + 38, host + 2 * W + 38, sizeof(host) - 2 * W - 38));
	FAILS(cudaMemcpyToArray(a, W, 0, host, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	cudaGetLastError();
	CALL(cudaFreeArray(a));
}

static void test_three_dimensions(void)
{
	struct cudaChannelFormatDesc desc = float2_desc();
	struct cudaExtent x = { W, H, D };
	static float host[D][H][W * 2], back[D][H][W * 2];
	struct cudaMemcpy3DParms p = { 0 };
	struct cudaPitchedPtr device;
	cudaArray_t a;

	fill(&host[0][0][0], W * H * D * 2, 3);
	CALL(cudaMalloc3DArray(&a, &desc, x, 0));
	p.srcPtr = (struct cudaPitchedPtr){ host, sizeof(host[0][0]), W, H };
	p.dstArray = a;
	p.extent = x; /* in texels, since an array takes part */
	p.kind = cudaMemcpyHostToDevice;
	CALL(cudaMemcpy3D(&p));

	CALL(cudaMalloc3D(&device, (struct cudaExtent){ W * 8, H, D }));
	p = (struct cudaMemcpy3DParms){
		.srcArray = a, .dstPtr = device, .extent = x, .kind = cudaMemcpyDeviceToDevice
	};
	CALL(cudaMemcpy3DAsync(&p, 0));

	/* Without an array the extent is in bytes. */
	p = (struct cudaMemcpy3DParms){ .srcPtr = device, .kind = cudaMemcpyDeviceToHost };
	p.dstPtr = (struct cudaPitchedPtr){ back, sizeof(back[0][0]), W, H };
	p.extent = (struct cudaExtent){ W * 8, H, D };
	CALL(cudaMemcpy3D(&p));
	ok(!memcmp(host, back, sizeof(host)));

	/* One texel from its place in the array to a place in host memory. */
	p = (struct cudaMemcpy3DParms){ .srcArray = a, .kind = cudaMemcpyDeviceToHost, .extent = { 1, 1, 1 } };
	p.srcPos = (struct cudaPos){ 3, 2, 4 };
	p.dstPtr = (struct cudaPitchedPtr){ back, sizeof(back[0][0]), W, H };
	p.dstPos = (struct cudaPos){ 8, 1, 2 };
	CALL(cudaMemcpy3D(&p));
	ok(back[2][1][2] == host[4][2][6] && back[2][1][3] == host[4][2][7]);

	p.extent.width = W;
	FAILS(cudaMemcpy3D(&p), cudaErrorInvalidValue); /* beyond the array's row */
	p.srcArray = NULL;
	FAILS(cudaMemcpy3D(&p), cudaErrorInvalidValue);
	FAILS(cudaMemcpy3D(NULL), cudaErrorInvalidValue);
	cudaGetLastError();
	CALL(cudaFree(device.ptr));
	CALL(cudaFreeArray(a));
}

static void test_pools(void)
{
	cudaMemPool_t pool, own;
	struct cudaMemPoolProps props = { .allocType = cudaMemAllocationTypePinned,
					  .location = { cudaMemLocationTypeDevice, 0 } };
	unsigned long long used = 1;
	cudaStream_t stream;
	unsigned *p, *q, host[4] = { 1, 2, 3, 4 };

	CALL(cudaStreamCreate(&stream));
	CALL(cudaMallocAsync((void **)&p, sizeof(host), stream));
	CALL(cudaMemcpyAsync(p, host, sizeof(host), cudaMemcpyHostToDevice, stream));
	CALL(cudaMemcpyAsync(host + 2, p, 8, cudaMemcpyDeviceToHost, stream));
	CALL(cudaFreeAsync(p, stream));
	CALL(cudaStreamSynchronize(stream));
	is(host[3], 2);
	CALL(cudaDeviceGetDefaultMemPool(&pool, 0));
	CALL(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	is(used, 0);
	CALL(cudaMemPoolCreate(&own, &props));
	CALL(cudaMallocFromPoolAsync((void **)&q, 1000, own, stream));
	CALL(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &used));
	ok(used >= 1000);
	CALL(cudaFreeAsync(q, stream));
	CALL(cudaStreamSynchronize(stream));
	CALL(cudaMemPoolTrimTo(own, 0));
	CALL(cudaMemPoolDestroy(own));
	CALL(cudaStreamDestroy(stream));
}

static void test_library(void)
{
#if CUDART_VERSION >= 12000
	unsigned *p, n = 1, x = 5, got = 0;
	void *args[] = { &p, &n, &x }, *variable;
	cudaLibrary_t library;
	cudaKernel_t kernel;
	size_t bytes;

	CALL(cudaLibraryLoadData(&library, program_ptx, NULL, NULL, 0, NULL, NULL, 0));
	CALL(cudaLibraryGetKernel(&kernel, library, "add"));
	CALL(cudaMalloc((void **)&p, 4));
	CALL(cudaMemset(p, 0, 4));
	CALL(cudaLaunchKernel((const void *)kernel, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, args, 0, 0));
	CALL(cudaMemcpy(&got, p, 4, cudaMemcpyDeviceToHost));
	is(got, 5);
	CALL(cudaLibraryGetGlobal(&variable, &bytes, library, "counter"));
	is(bytes, 4);
	FAILS(cudaLibraryGetKernel(&kernel, library, "nothing"), cudaErrorSymbolNotFound);
	cudaGetLastError();
	CALL(cudaFree(p));
	CALL(cudaLibraryUnload(library));
#endif
}

int main(void)
{
	program_begin("1");
	test_two_dimensions();
	test_flowing();
	test_three_dimensions();
	test_pools();
	test_library();
	return program_end();
}
