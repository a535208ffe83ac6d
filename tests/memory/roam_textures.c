/* roam_textures.c: arrays of all shapes, a mipmapped array, and texture and surface objects that come and go. */
#include "roamer.h"

#include <stdlib.h>
#include <string.h>

#define SIDE 32u
#define TEXELS (SIDE * SIDE)
#define LEVELS 3u
#define OBJECTS 9u

/* Each thread mixes what it reads by three textures, and writes it by a surface and to memory. */
static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			   ".visible .entry mix(.param .u64 image, .param .u64 line, .param .u64 levels, .param .u64 "
			   "out, .param .u64 sum) {\n"
			   "	.reg .u64 %d<8>; .reg .u32 %r<20>; .reg .f32 %f<4>;\n"
			   "	ld.param.u64 %d0, [image]; ld.param.u64 %d1, [line]; ld.param.u64 %d2, [levels];\n"
			   "	ld.param.u64 %d3, [out]; ld.param.u64 %d4, [sum];\n"
			   "	mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x;\n" /* y, x */
			   "	tex.2d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d0, {%r1, %r0}];\n"
			   "	mad.lo.u32 %r6, %r0, 32, %r1;\n"
			   "	tex.1d.v4.u32.s32 {%r7, %r8, %r9, %r10}, [%d1, {%r6}];\n"
			   "	shr.u32 %r11, %r1, 1; shr.u32 %r12, %r0, 1;\n"
			   "	cvt.rn.f32.u32 %f0, %r11; cvt.rn.f32.u32 %f1, %r12; mov.f32 %f2, 0f3f800000;\n"
			   "	mul.f32 %f0, %f0, 0f3d800000; mul.f32 %f1, %f1, 0f3d800000;\n"
			   "	tex.level.2d.v4.u32.f32 {%r13, %r14, %r15, %r16}, [%d2, {%f0, %f1}], %f2;\n"
			   "	mad.lo.u32 %r2, %r2, 1664525, %r7; add.u32 %r2, %r2, %r13; xor.b32 %r2, %r2, %r6;\n"
			   "	shl.b32 %r17, %r1, 2;\n"
			   "	sust.b.2d.b32.trap [%d3, {%r17, %r0}], {%r2};\n"
			   "	mul.wide.u32 %d5, %r6, 4; add.u64 %d4, %d4, %d5; st.global.u32 [%d4], %r2; ret;\n}\n";

static struct {
	CUmodule module;
	CUfunction mix;
	CUarray image[2], deep, layers;
	CUmipmappedArray levels;
	CUdeviceptr line, sum;
	CUtexObject of_image[2], of_line, of_levels, spare[OBJECTS];
	CUsurfObject onto[2];
} t;

static CUtexObject texture(CUDA_RESOURCE_DESC r, CUfilter_mode filter, unsigned int flags)
{
	CUDA_TEXTURE_DESC s = { .filterMode = filter,
				.mipmapFilterMode = CU_TR_FILTER_MODE_POINT,
				.flags = flags,
				.maxMipmapLevelClamp = LEVELS };
	CUtexObject o = 0;

	must(cuTexObjectCreate(&o, &r, &s, NULL), "a texture");
	return o;
}

static CUtexObject texture_of(CUarray a)
{
	return texture((CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a },
		       CU_TR_FILTER_MODE_POINT, CU_TRSF_READ_AS_INTEGER);
}

static CUsurfObject surface_of(CUarray a)
{
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a };
	CUsurfObject o = 0;

	must(cuSurfObjectCreate(&o, &r), "a surface");
	return o;
}

static CUarray array_of(size_t width, size_t height, size_t depth, CUarray_format format, unsigned int channels,
			unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { .Width = width,
				      .Height = height,
				      .Depth = depth,
				      .Format = format,
				      .NumChannels = channels,
				      .Flags = flags };
	CUarray a;

	must(cuArray3DCreate(&a, &d), "an array");
	return a;
}

static void copy(CUarray a, void *host, size_t row, size_t height, size_t depth, int out)
{
	CUDA_MEMCPY3D c = { .WidthInBytes = row, .Height = height, .Depth = depth };

	if (out) {
		c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
		c.srcArray = a;
		c.dstMemoryType = CU_MEMORYTYPE_HOST;
		c.dstHost = host;
		c.dstPitch = row;
		c.dstHeight = height;
	} else {
		c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
		c.dstArray = a;
		c.srcMemoryType = CU_MEMORYTYPE_HOST;
		c.srcHost = host;
		c.srcPitch = row;
		c.srcHeight = height;
	}
	must(cuMemcpy3D(&c), "a copy of an array");
}

static void fill(CUarray a, size_t row, size_t height, size_t depth, uint32_t seed)
{
	uint8_t *host = malloc(row * height * depth);

	for (size_t i = 0; i < row * height * depth; i++) {
		seed = seed * 1664525u + 1013904223u;
		host[i] = (uint8_t)(seed >> 24);
	}
	copy(a, host, row, height, depth, 0);
	free(host);
}

static void read_back(CUarray a, size_t row, size_t height, size_t depth, uint64_t *d)
{
	uint8_t *host = malloc(row * height * depth);

	copy(a, host, row, height, depth, 1);
	digest(d, host, row * height * depth);
	free(host);
}

static void make_levels(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {
		.Width = SIDE, .Height = SIDE, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1
	};
	CUarray level;

	must(cuMipmappedArrayCreate(&t.levels, &d, LEVELS), "a mipmapped array");
	for (unsigned int i = 0; i < 2; i++) { /* the last level the program never asks for */
		must(cuMipmappedArrayGetLevel(&level, t.levels, i), "a level");
		fill(level, (SIDE >> i) * 4, SIDE >> i, 1, 7 + i);
	}
}

void textures_make(void)
{
	must(cuModuleLoadData(&t.module, text), "a module");
	t.mix = function_of(t.module, "mix");
	for (int i = 0; i < 2; i++) {
		t.image[i] = array_of(SIDE, SIDE, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST);
		fill(t.image[i], SIDE * 4, SIDE, 1, 1 + (uint32_t)i);
		t.of_image[i] = texture_of(t.image[i]);
		t.onto[i] = surface_of(t.image[i]);
	}
	t.deep = array_of(20, 10, 6, CU_AD_FORMAT_HALF, 2, 0);
	t.layers = array_of(24, 0, 5, CU_AD_FORMAT_UNSIGNED_INT8, 4, CUDA_ARRAY3D_LAYERED);
	fill(t.deep, 80, 10, 6, 3);
	fill(t.layers, 96, 1, 5, 4);
	make_levels();
	must(cuMemAlloc(&t.line, TEXELS * 4), "memory");
	must(cuMemAlloc(&t.sum, TEXELS * 4), "memory");
	must(cuMemsetD32(t.line, 5, TEXELS), "a fill");
	must(cuMemsetD32(t.sum, 0, TEXELS), "a fill");
	t.of_line =
		texture((CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_LINEAR,
					      .res.linear = { t.line, CU_AD_FORMAT_UNSIGNED_INT32, 1, TEXELS * 4 } },
			CU_TR_FILTER_MODE_POINT, CU_TRSF_READ_AS_INTEGER);
	t.of_levels = texture((CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
						    .res.mipmap.hMipmappedArray = t.levels },
			      CU_TR_FILTER_MODE_POINT, CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES);
}

/* No two objects that live have one number, not even those whose array has ended. */
static void numbers_differ(void)
{
	uint64_t list[OBJECTS + 6] = { t.of_image[0], t.of_image[1], t.of_line, t.of_levels, t.onto[0], t.onto[1] };

	for (unsigned int i = 0; i < OBJECTS; i++)
		list[i + 6] = t.spare[i];
	for (unsigned int i = 0; i < OBJECTS + 6; i++)
		for (unsigned int k = 0; k < i; k++)
			if (list[i] && list[i] == list[k])
				must(CUDA_ERROR_UNKNOWN, "two objects have one number");
}

/* Objects come and go, so that there are gaps between the numbers of those that stay. */
static void renew(unsigned int n)
{
	unsigned int i = n * 5 % OBJECTS, k = n * 7 % OBJECTS;

	if (!t.spare[i])
		t.spare[i] = texture_of(t.image[n % 2]);
	numbers_differ();
	if (t.spare[k]) {
		must(cuTexObjectDestroy(t.spare[k]), "a texture's end");
		t.spare[k] = 0;
	}
	if (n % 4)
		return;
	/* An array that goes before its texture does. */
	{
		CUarray a = array_of(SIDE, SIDE, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0);
		CUtexObject old = t.spare[8];

		t.spare[8] = texture_of(a);
		must(cuArrayDestroy(a), "an array's end");
		if (old)
			must(cuTexObjectDestroy(old), "the end of a texture whose array has ended");
	}
	must(cuSurfObjectDestroy(t.onto[1]), "a surface's end");
	t.onto[1] = surface_of(t.image[1]);
}

void textures_round(unsigned int n, uint64_t *d)
{
	uint32_t back[TEXELS];
	CUtexObject from = t.of_image[n % 2];
	CUsurfObject onto = t.onto[(n + 1) % 2];
	void *args[] = { &from, &t.of_line, &t.of_levels, &onto, &t.sum };

	run(t.mix, TEXELS, NULL, args);
	must(cuMemcpyDtoD(t.line, t.sum, TEXELS * 4), "a copy");
	must(cuMemcpyDtoH(back, t.sum, sizeof(back)), "a copy");
	digest(d, back, sizeof(back));
	if (n % 3 == 0) {
		CUarray level;

		read_back(t.deep, 80, 10, 6, d);
		read_back(t.layers, 96, 1, 5, d);
		fill(t.deep, 80, 10, 6, (uint32_t)*d);
		must(cuMipmappedArrayGetLevel(&level, t.levels, n % 2), "a level");
		fill(level, (SIDE >> n % 2) * 4, SIDE >> n % 2, 1, (uint32_t)*d);
	}
	renew(n);
}
