/* Texture and surface objects: what they are made of, what kernels read through them, what may not be. */
#include "program.h"

#include <string.h>

enum { W = 8, H = 4 };

static const struct dim3 one = { 1, 1, 1 };
static float *got;

static float sample_at(cudaTextureObject_t t, float x, float y)
{
	void *args[] = { &t, &got, &x, &y };

	*got = -1;
	CALL(cudaLaunchKernel(&sample, one, one, args, 0, 0));
	CALL(cudaDeviceSynchronize());
	return *got;
}

static void test_array(void)
{
	struct cudaChannelFormatDesc desc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
	struct cudaResourceDesc resource = { .resType = cudaResourceTypeArray }, seen;
	struct cudaTextureDesc sampling = { .filterMode = cudaFilterModeLinear }, seen_sampling;
	float host[H][W], value = 77;
	cudaTextureObject_t t;
	cudaSurfaceObject_t s;
	cudaArray_t a;
	int x = 3 * 4, y = 2;
	void *args[] = { &s, &x, &y, &value };

	for (int i = 0; i < W * H; i++)
		host[i / W][i % W] = (float)i;
	CALL(cudaMallocArray(&a, &desc, W, H, cudaArraySurfaceLoadStore));
	CALL(cudaMemcpy2DToArray(a, 0, 0, host, sizeof(host[0]), sizeof(host[0]), H, cudaMemcpyHostToDevice));
	resource.res.array.array = a;
	sampling.addressMode[0] = sampling.addressMode[1] = cudaAddressModeClamp;
	CALL(cudaCreateTextureObject(&t, &resource, &sampling, NULL));
	ok(sample_at(t, 3.5f, 1.5f) == 11);
	ok(sample_at(t, 4.0f, 1.5f) == 11.5f);
	ok(sample_at(t, 4.0f, 2.0f) == 15.5f);
	ok(sample_at(t, -5.0f, 0.5f) == 0);
	CALL(cudaGetTextureObjectResourceDesc(&seen, t));
	ok(seen.resType == cudaResourceTypeArray && seen.res.array.array == a);
	CALL(cudaGetTextureObjectTextureDesc(&seen_sampling, t));
	is(seen_sampling.filterMode, cudaFilterModeLinear);
	is(seen_sampling.addressMode[1], cudaAddressModeClamp);
	is(seen_sampling.normalizedCoords, 0);
	CALL(cudaDestroyTextureObject(t));

	sampling.normalizedCoords = 1;
	sampling.filterMode = cudaFilterModePoint;
	sampling.addressMode[0] = sampling.addressMode[1] = cudaAddressModeWrap;
	CALL(cudaCreateTextureObject(&t, &resource, &sampling, NULL));
	ok(sample_at(t, 1.0f + 3.5f / W, 1.5f / H - 2) == 11);

	CALL(cudaCreateSurfaceObject(&s, &resource));
	CALL(cudaLaunchKernel(&store, one, one, args, 0, 0));
	ok(sample_at(t, 3.5f / W, 2.5f / H) == 77);
	CALL(cudaDestroySurfaceObject(s));
	CALL(cudaDestroyTextureObject(t));
	CALL(cudaFreeArray(a));
}

static void test_linear(void)
{
	struct cudaResourceDesc resource = { .resType = cudaResourceTypeLinear };
	struct cudaTextureDesc sampling = { .readMode = cudaReadModeElementType };
	signed char host[100], *device;
	cudaTextureObject_t t;
	int i = 42;
	void *args[] = { &t, &got, &i };

	for (int j = 0; j < 100; j++)
		host[j] = (signed char)(50 - j);
	CALL(cudaMalloc((void **)&device, sizeof(host)));
	CALL(cudaMemcpy(device, host, sizeof(host), cudaMemcpyHostToDevice));
	resource.res.linear.devPtr = device;
	resource.res.linear.sizeInBytes = sizeof(host);
	resource.res.linear.desc = cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindSigned);
	CALL(cudaCreateTextureObject(&t, &resource, &sampling, NULL));
	CALL(cudaLaunchKernel(&fetch, one, one, args, 0, 0));
	CALL(cudaDeviceSynchronize());
	is(*(int *)got, 8);
	CALL(cudaDestroyTextureObject(t));

	sampling.filterMode = cudaFilterModeLinear;
	FAILS(cudaCreateTextureObject(&t, &resource, &sampling, NULL), cudaErrorInvalidFilterSetting);
	sampling.filterMode = cudaFilterModePoint;
	sampling.readMode = cudaReadModeNormalizedFloat;
	resource.res.linear.desc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindSigned);
	FAILS(cudaCreateTextureObject(&t, &resource, &sampling, NULL), cudaErrorInvalidNormSetting);
	resource.res.linear.desc = cudaCreateChannelDesc(24, 0, 0, 0, cudaChannelFormatKindSigned);
	FAILS(cudaCreateTextureObject(&t, &resource, &sampling, NULL), cudaErrorInvalidChannelDescriptor);
	FAILS(cudaCreateTextureObject(&t, NULL, &sampling, NULL), cudaErrorInvalidValue);
	cudaGetLastError();
	CALL(cudaFree(device));
}

static void test_mipmapped(void)
{
	struct cudaChannelFormatDesc desc = cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindUnsigned), seen;
	cudaMipmappedArray_t m;
	struct cudaExtent x;
	cudaArray_t level;

	CALL(cudaMallocMipmappedArray(&m, &desc, (struct cudaExtent){ 16, 8, 0 }, 3, 0));
	CALL(cudaGetMipmappedArrayLevel(&level, m, 2));
	CALL(cudaArrayGetInfo(&seen, &x, NULL, level));
	is(x.width, 4);
	is(x.height, 2);
	is(seen.w, 8);
	CALL(cudaFreeMipmappedArray(m));
}

int main(void)
{
	program_begin("1");
	CALL(cudaMallocManaged((void **)&got, sizeof(*got), cudaMemAttachGlobal));
	test_array();
	test_linear();
	test_mipmapped();
	CALL(cudaFree(got));
	return program_end();
}
