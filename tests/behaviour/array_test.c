/* array_test.c: arrays of one, two and three dimensions and mipmapped arrays: shape, contents, what they take. */
#include "kit.h"

static unsigned char from[64 * 32 * 8 * 4], to[sizeof from];

static void pattern(unsigned char seed)
{
	for (size_t i = 0; i < sizeof from; i++)
		from[i] = (unsigned char)(i * 5 + (i >> 7) + seed);
	memset(to, 0, sizeof to);
}

static void flat(void)
{
	CUDA_ARRAY_DESCRIPTOR want = { .Width = 64, .Height = 32, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 }, got;
	CUDA_MEMCPY2D in = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			     .srcHost = from,
			     .srcPitch = 256,
			     .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			     .WidthInBytes = 256,
			     .Height = 32 },
		      out = { 0 };
	size_t before = kit_free();
	CUarray a;

	pattern(1);
	needs(cuArrayCreate(&a, &want));
	ok(before - kit_free() >= (kit.soft ? 64 * 32 * 4 : 0));
	works(cuArrayGetDescriptor(&got, a));
	ok(got.Width == 64 && got.Height == 32 && got.Format == CU_AD_FORMAT_FLOAT && got.NumChannels == 1);
	in.dstArray = a;
	works(cuMemcpy2D(&in));
	out = (CUDA_MEMCPY2D){ .srcMemoryType = CU_MEMORYTYPE_ARRAY,
			       .srcArray = a,
			       .srcXInBytes = 8,
			       .srcY = 3,
			       .dstMemoryType = CU_MEMORYTYPE_HOST,
			       .dstHost = to,
			       .dstPitch = 100,
			       .WidthInBytes = 100,
			       .Height = 20 };
	works(cuMemcpy2D(&out));
	for (size_t y = 0; y < 20; y++) {
		if (memcmp(to + y * 100, from + (y + 3) * 256 + 8, 100)) {
			tap_ok(0, "row %zu of the array comes back", y);
			break;
		}
	}
	works(cuMemcpyHtoA(a, 0, from + 512, 256));
	works(cuMemcpyAtoH(to, a, 0, 256));
	ok(!memcmp(to, from + 512, 256));
	works(cuArrayDestroy(a));
	if (kit.soft)
		is(kit_free(), before);
}

static void deep(void)
{
	CUDA_ARRAY3D_DESCRIPTOR want = { .Width = 64,
					 .Height = 32,
					 .Depth = 8,
					 .Format = CU_AD_FORMAT_UNSIGNED_INT8,
					 .NumChannels = 4 },
				got;
	CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			    .srcHost = from,
			    .srcPitch = 256,
			    .srcHeight = 32,
			    .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			    .WidthInBytes = 256,
			    .Height = 32,
			    .Depth = 8 };
	size_t before = kit_free();
	CUarray a;

	pattern(2);
	needs(cuArray3DCreate(&a, &want));
	if (kit.soft)
		ok(before - kit_free() >= sizeof from);
	works(cuArray3DGetDescriptor(&got, a));
	ok(got.Depth == 8 && got.NumChannels == 4);
	c.dstArray = a;
	works(cuMemcpy3D(&c));
	c = (CUDA_MEMCPY3D){ .srcMemoryType = CU_MEMORYTYPE_ARRAY,
			     .srcArray = a,
			     .dstMemoryType = CU_MEMORYTYPE_HOST,
			     .dstHost = to,
			     .dstPitch = 256,
			     .dstHeight = 32,
			     .WidthInBytes = 256,
			     .Height = 32,
			     .Depth = 8 };
	works(cuMemcpy3D(&c));
	ok(!memcmp(to, from, sizeof from));
	works(cuArrayDestroy(a));
	if (kit.soft)
		is(kit_free(), before);
}

static void mipmaps(void)
{
	CUDA_ARRAY3D_DESCRIPTOR want = { .Width = 64,
					 .Height = 64,
					 .Format = CU_AD_FORMAT_UNSIGNED_INT8,
					 .NumChannels = 4 },
				level;
	size_t before = kit_free();
	CUmipmappedArray m;
	CUarray a;

	needs(cuMipmappedArrayCreate(&m, &want, 4));
	if (kit.soft)
		ok(before - kit_free() >= 64 * 64 * 4 + 32 * 32 * 4 + 16 * 16 * 4 + 8 * 8 * 4);
	works(cuMipmappedArrayGetLevel(&a, m, 2));
	works(cuArray3DGetDescriptor(&level, a));
	ok(level.Width == 16 && level.Height == 16);
	ok(cuMipmappedArrayGetLevel(&a, m, 4) != CUDA_SUCCESS);
	works(cuMipmappedArrayDestroy(m));
	if (kit.soft)
		is(kit_free(), before);
}

static void refused(void)
{
	CUDA_ARRAY_DESCRIPTOR d = { .Width = 0, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
	size_t before = kit_free();
	CUarray a;

	answers(CUDA_ERROR_INVALID_VALUE, cuArrayCreate(&a, &d));
	d.Width = 1ull << 40; /* no array is so wide, whatever room there is */
	if (kit.soft)
		answers(CUDA_ERROR_INVALID_VALUE, cuArrayCreate(&a, &d));
	d.Width = 16;
	d.NumChannels = 3;
	ok(cuArrayCreate(&a, &d) != CUDA_SUCCESS);
	ok(cuArrayDestroy(NULL) != CUDA_SUCCESS);
	is(kit_free(), before);
}

int main(void)
{
	kit_begin();
	flat();
	deep();
	mipmaps();
	refused();
	return kit_end();
}
