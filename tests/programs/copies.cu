/* Copies and fills of one, two and three dimensions, pitched memory, registered host memory, variables of the device. */
#include "program.h"

enum { W = 50, H = 20, D = 6 };

#ifdef __CUDACC__

VARIABLE int scale = 3;
VARIABLE int table[16];
CONSTANT int constants[16];

KERNEL apply(int *z)
{
	z[threadIdx.x] = table[threadIdx.x] * scale + constants[15 - threadIdx.x];
	table[threadIdx.x] = -z[threadIdx.x];
}

KERNEL through_host(volatile int *p)
{
	p[threadIdx.x] = p[threadIdx.x] + 1;
}

#else
#include PROGRAM_STUBS
#endif

static void try_planes(void)
{
	static unsigned char x[D][H][W], z[D][H][W];
	unsigned char *plane = NULL, *other;
	struct cudaPitchedPtr box;
	struct cudaMemcpy3DParms copy;
	struct cudaExtent extent = { W, H, D };
	size_t pitch = 0;
	int i, j, k;

	for (i = 0; i < D * H * W; i++)
		((unsigned char *)x)[i] = (unsigned char)random32();
	CALL(cudaMallocPitch((void **)&plane, &pitch, W, H));
	CHECK(pitch >= W);
	other = DEVICE_ALLOC(unsigned char, W * H);
	CALL(cudaMemcpy2D(plane, pitch, x, W, W, H, cudaMemcpyHostToDevice));
	CALL(cudaMemset2D(plane + pitch * 2 + 10, pitch, 0xab, 7, 5));
	CALL(cudaMemcpy2D(other, W, plane, pitch, W, H, cudaMemcpyDeviceToDevice));
	CALL(cudaMemcpy(z, other, W * H, cudaMemcpyDeviceToHost));
	for (j = 0; j < H; j++)
		for (i = 0; i < W; i++)
			CHECK(z[0][j][i] == (j >= 2 && j < 7 && i >= 10 && i < 17 ? 0xab : x[0][j][i]));
	CALL(cudaMalloc3D(&box, extent));
	CHECK(box.pitch >= W && box.ysize == H);
	memset(&copy, 0, sizeof(copy));
	copy.srcPtr.ptr = x;
	copy.srcPtr.pitch = copy.srcPtr.xsize = W;
	copy.srcPtr.ysize = H;
	copy.dstPtr = box;
	copy.extent = extent;
	copy.kind = cudaMemcpyHostToDevice;
	CALL(cudaMemset3D(box, 0x11, extent));
	CALL(cudaMemcpy3D(&copy));
	/* a part of it comes back, to another place */
	memset(z, 0, sizeof(z));
	memset(&copy, 0, sizeof(copy));
	copy.srcPtr = box;
	copy.srcPos.x = 5;
	copy.srcPos.y = 3;
	copy.srcPos.z = 1;
	copy.dstPtr.ptr = z;
	copy.dstPtr.pitch = copy.dstPtr.xsize = W;
	copy.dstPtr.ysize = H;
	copy.dstPos.x = 1;
	copy.dstPos.z = 2;
	copy.extent.width = 20;
	copy.extent.height = 10;
	copy.extent.depth = 3;
	copy.kind = cudaMemcpyDeviceToHost;
	CALL(cudaMemcpy3DAsync(&copy, 0));
	SYNC();
	for (k = 0; k < D; k++)
		for (j = 0; j < H; j++)
			for (i = 0; i < W; i++)
				CHECK(z[k][j][i] == (k >= 2 && k < 5 && j < 10 && i >= 1 && i < 21 ? x[k - 1][j + 3][i + 4] : 0));
	CALL(cudaFree(plane));
	CALL(cudaFree(other));
	CALL(cudaFree(box.ptr));
}

static void try_symbols(void)
{
	int x[16], y[16], z[16], *dz = DEVICE_ALLOC(int, 16), i, factor = 5;
	void *address = NULL;
	size_t bytes = 0;

	for (i = 0; i < 16; i++) {
		x[i] = i * 7;
		y[i] = i + 1000;
	}
	CALL(cudaMemcpyToSymbol(SYMBOL(table), x, sizeof(x), 0, cudaMemcpyHostToDevice));
	CALL(cudaMemcpyToSymbol(SYMBOL(constants), y, sizeof(y), 0, cudaMemcpyHostToDevice));
	LAUNCH(apply, 1, 16, dz);
	BRING(z, dz);
	for (i = 0; i < 16; i++)
		CHECK(z[i] == i * 7 * 3 + 1015 - i);
	CALL(cudaMemcpyFromSymbol(z, SYMBOL(table), sizeof(int) * 4, sizeof(int) * 8, cudaMemcpyDeviceToHost));
	for (i = 0; i < 4; i++)
		CHECK(z[i] == -((i + 8) * 21 + 1015 - (i + 8)));
	CALL(cudaMemcpyToSymbolAsync(SYMBOL(scale), &factor, sizeof(factor), 0, cudaMemcpyHostToDevice, 0));
	CALL(cudaGetSymbolSize(&bytes, SYMBOL(table)));
	CHECK(bytes == sizeof(x));
	CALL(cudaGetSymbolAddress(&address, SYMBOL(table)));
	CALL(cudaMemcpy(address, x, sizeof(x), cudaMemcpyHostToDevice));
	LAUNCH(apply, 1, 16, dz);
	BRING(z, dz);
	for (i = 0; i < 16; i++)
		CHECK(z[i] == i * 7 * 5 + 1015 - i);
	GIVES(cudaMemcpyToSymbol(SYMBOL(table), x, sizeof(x) + 4, 0, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	(void)cudaGetLastError();
}

static void try_host(void)
{
	size_t bytes = 8192;
	int *own = (int *)aligned_alloc(4096, bytes), *pinned, *seen = NULL, i;
	struct cudaPointerAttributes a;
	unsigned flags = 0;

	memset(own, 0, bytes);
	CALL(cudaHostRegister(own, bytes, cudaHostRegisterMapped));
	CALL(cudaHostGetDevicePointer((void **)&seen, own, 0));
	LAUNCH(through_host, 1, 32, seen);
	LAUNCH(through_host, 1, 32, seen);
	SYNC();
	for (i = 0; i < 32; i++)
		CHECK(own[i] == 2);
	CALL(cudaHostUnregister(own));
	free(own);
	CALL(cudaHostAlloc((void **)&pinned, bytes, cudaHostAllocPortable | cudaHostAllocMapped));
	CALL(cudaHostGetFlags(&flags, pinned));
	CHECK((flags & (cudaHostAllocPortable | cudaHostAllocMapped)) == (cudaHostAllocPortable | cudaHostAllocMapped));
	CALL(cudaPointerGetAttributes(&a, pinned));
	CHECK(a.type == cudaMemoryTypeHost && a.hostPointer == pinned);
	seen = DEVICE_ALLOC(int, 4);
	CALL(cudaPointerGetAttributes(&a, seen + 1));
	CHECK(a.type == cudaMemoryTypeDevice && a.devicePointer == seen + 1);
	CALL(cudaMemset(seen, 0x5a, 16));
	CALL(cudaMemcpy(pinned, seen, 16, cudaMemcpyDefault));
	CHECK(pinned[3] == 0x5a5a5a5a);
	CALL(cudaFreeHost(pinned));
}

int main(void)
{
	try_planes();
	try_symbols();
	try_host();
	return program_end();
}
