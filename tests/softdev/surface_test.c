/*
 * surface_test.c: surfaces of every geometry with elements of every size, past all their sides; texture and surface
 * references; the forms of the instructions that compilers do not write; and handles that mean nothing.
 */
#include "softdev/image.h"

#define PLACES 4096u

static CUmodule module;
static char *kernels;

static char *read_text(const char *dir, const char *name)
{
	char path[4096], *text = NULL;
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	if (!f)
		return NULL;
	text = calloc(1, 1 << 20);
	if (text)
		n = fread(text, 1, (1 << 20) - 1, f);
	fclose(f);
	return n ? text : NULL;
}

static CUfunction function(CUmodule m, const char *name)
{
	CUfunction f = NULL;

	CU(cuModuleGetFunction(&f, m, name));
	return f;
}

static CUresult picture_back(const struct picture *p, void *to)
{
	CUDA_MEMCPY3D c = { .dstMemoryType = CU_MEMORYTYPE_HOST,
			    .dstHost = to,
			    .dstPitch = p->width[0] * element_bytes(p),
			    .dstHeight = p->height[0],
			    .srcMemoryType = CU_MEMORYTYPE_ARRAY,
			    .srcArray = p->array,
			    .WidthInBytes = p->width[0] * element_bytes(p),
			    .Height = p->height[0],
			    .Depth = p->depth[0] };

	return cuMemcpy3D(&c);
}

static CUsurfObject surface_of(CUarray a)
{
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a }, back;
	CUsurfObject s = 0;

	CU(cuSurfObjectCreate(&s, &r));
	CU(cuSurfObjectGetResourceDesc(&back, s));
	ok(back.res.array.hArray == a);
	return s;
}

/* ---- loads and stores ---- */

struct element {
	const char *suffix;
	CUarray_format format;
	unsigned channels;
	unsigned word; /* bytes of what is counted up */
};

/* Adds one to each word of an element. */
static void count_up(unsigned char *p, unsigned bytes, unsigned word)
{
	for (unsigned i = 0; i < bytes; i += word) {
		uint64_t v = 0;

		memcpy(&v, p + i, word);
		v++;
		memcpy(p + i, &v, word);
	}
}

static void surface_case(const struct element *e, enum shape shape, const char *name, const char *mode)
{
	static unsigned char got[PLACES * 16], after[PLACES * 16], zero[16];
	const bool inside = !strcmp(mode, "trap");
	const unsigned axes = shape == SHAPE_1D ? 1 : shape == SHAPE_2D || shape == SHAPE_1D_LAYERED ? 2 : 3;
	int least = inside ? 0 : -1, w, h, d, n, bytes;
	unsigned wrong = 0;
	struct picture p;
	CUsurfObject s;
	CUdeviceptr out;
	char kernel[64];
	void *params[] = { &s, &out, &n, &bytes, &w, &h, &least };

	picture_make(&p, shape, e->format, e->channels, 11, 6, 5, 0, CUDA_ARRAY3D_SURFACE_LDST);
	bytes = (int)element_bytes(&p);
	const int side[3] = { 11, shape == SHAPE_1D_LAYERED ? 5 : 6, 5 };

	w = side[0] - 2 * least;
	h = axes > 1 ? side[1] - 2 * least : 1;
	d = axes > 2 ? side[2] - 2 * least : 1;
	n = w * h * d;
	s = surface_of(p.array);
	CU(cuMemAlloc(&out, sizeof(got)));
	snprintf(kernel, sizeof(kernel), "surf_%s_%s_%s", name, e->suffix, mode);
	CU(cuLaunchKernel(function(module, kernel), (unsigned)n / 128 + 1, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
	CU(cuMemcpyDtoH(got, out, (size_t)(n * bytes)));
	for (int i = 0; i < n; i++) {
		const int x = i % w + least, y = axes > 1 ? i / w % h + least : 0, z = axes > 2 ? i / w / h + least : 0;
		const bool in = x >= 0 && x < side[0] && y >= 0 && (axes < 2 || y < side[1]) && z >= 0 &&
				(axes < 3 || z < side[2]);
		unsigned char *element = p.data[0] + ((z * side[1] + y) * side[0] + x) * bytes;

		if (memcmp(got + i * bytes, in ? element : zero, (size_t)bytes))
			wrong++;
		if (in)
			count_up(element, (unsigned)bytes, e->word);
	}
	is(wrong, 0);
	CU(picture_back(&p, after));
	tap_ok(!memcmp(after, p.data[0], (size_t)p.width[0] * p.height[0] * p.depth[0] * (size_t)bytes), "%s: stored",
	       kernel);
	CU(cuSurfObjectDestroy(s));
	CU(cuMemFree(out));
	picture_free(&p);
}

static void surfaces(void)
{
	static const struct element elements[] = {
		{ "u1", CU_AD_FORMAT_UNSIGNED_INT32, 1, 4 }, { "c1", CU_AD_FORMAT_UNSIGNED_INT8, 1, 1 },
		{ "s1", CU_AD_FORMAT_SIGNED_INT16, 1, 2 },   { "u2", CU_AD_FORMAT_SIGNED_INT32, 2, 4 },
		{ "u4", CU_AD_FORMAT_UNSIGNED_INT32, 4, 4 }, { "c4", CU_AD_FORMAT_SIGNED_INT8, 4, 1 },
		{ "s2", CU_AD_FORMAT_UNSIGNED_INT16, 2, 2 }, { "l2", CU_AD_FORMAT_FLOAT, 4, 8 },
	};
	static const struct {
		enum shape shape;
		const char *name;
	} shapes[] = { { SHAPE_1D, "1d" },
		       { SHAPE_2D, "2d" },
		       { SHAPE_3D, "3d" },
		       { SHAPE_1D_LAYERED, "1dl" },
		       { SHAPE_2D_LAYERED, "2dl" } };

	for (unsigned s = 0; s < 5; s++) {
		for (unsigned i = 0; i < sizeof(elements) / sizeof(elements[0]); i++)
			surface_case(&elements[i], shapes[s].shape, shapes[s].name, "zero");
		surface_case(&elements[0], shapes[s].shape, shapes[s].name, "trap");
	}
}

static void clamped(void)
{
	int n = 15 * 10, bytes = 4, w = 15, h = 10, least = -2;
	unsigned got[150], wrong = 0;
	CUdeviceptr out;
	struct picture p;
	CUsurfObject s;
	void *params[] = { &s, &out, &n, &bytes, &w, &h, &least };

	picture_make(&p, SHAPE_2D, CU_AD_FORMAT_UNSIGNED_INT32, 1, 11, 6, 1, 0, CUDA_ARRAY3D_SURFACE_LDST);
	s = surface_of(p.array);
	CU(cuMemAlloc(&out, sizeof(got)));
	CU(cuLaunchKernel(function(module, "surf_2d_clamp"), 2, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
	CU(cuMemcpyDtoH(got, out, sizeof(got)));
	for (int i = 0; i < n; i++) {
		int x = i % 15 - 2, y = i / 15 - 2;

		x = x < 0 ? 0 : x > 10 ? 10 : x;
		y = y < 0 ? 0 : y > 5 ? 5 : y;
		wrong += memcmp(&got[i], p.data[0] + (y * 11 + x) * 4, 4) != 0;
	}
	is(wrong, 0);
	CU(cuSurfObjectDestroy(s));
	CU(cuMemFree(out));
	picture_free(&p);
}

/* The faces of a cube are its layers. */
static void faces(void)
{
	static unsigned got[6 * 25], after[6 * 25];
	int n = 6 * 25, w = 5;
	unsigned wrong = 0;
	CUdeviceptr out;
	struct picture p;
	CUsurfObject s;
	void *params[] = { &s, &out, &n, &w };

	picture_make(&p, SHAPE_CUBE, CU_AD_FORMAT_UNSIGNED_INT32, 1, 5, 5, 6, 0, CUDA_ARRAY3D_SURFACE_LDST);
	s = surface_of(p.array);
	CU(cuMemAlloc(&out, sizeof(got)));
	CU(cuLaunchKernel(function(module, "surf_cube"), 2, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
	CU(cuMemcpyDtoH(got, out, sizeof(got)));
	CU(picture_back(&p, after));
	for (int i = 0; i < n; i++)
		wrong += memcmp(&got[i], p.data[0] + i * 4, 4) || after[i] != got[i] + 1;
	is(wrong, 0);
	CU(cuSurfObjectDestroy(s));
	CU(cuMemFree(out));
	picture_free(&p);
}

/* ---- what compilers do not write ---- */

static const char hand[] =
	".version 8.0\n.target sm_70\n.address_size 64\n"
	".global .texref named;\n"
	".global .surfref board;\n"
	".global .samplerref soft = { filter_mode = linear, addr_mode_0 = clamp_to_border, force_unnormalized_coords = "
	"1 };\n"
	/* results: 4 words per case */
	".visible .entry forms(.param .u64 out, .param .u64 t, .param .u64 s, .param .texref p)\n{\n"
	".reg .b64 %d<4>;\n.reg .f32 %f<9>;\n.reg .b32 %r<9>;\n.reg .b16 %h<5>;\n.reg .pred %q<5>;\n"
	"ld.param.u64 %d1, [out];\nld.param.u64 %d2, [t];\nld.param.u64 %d3, [s];\n"
	"mov.f32 %f5, 0f40200000;\n" /* 2.5 */
	"mov.f32 %f6, 0f3FC00000;\n" /* 1.5 */
	/* 0: by name, with the residency of the texel */
	"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}|%q1, [named, {%f5, %f6}];\n"
	"selp.f32 %f4, 0f3F800000, 0f00000000, %q1;\n"
	"st.global.v4.f32 [%d1], {%f1, %f2, %f3, %f4};\n"
	/* 1: an offset of (1, -1) */
	"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d2, {%f5, %f6}], {1, -1};\n"
	"st.global.v4.f32 [%d1+16], {%f1, %f2, %f3, %f4};\n"
	/* 2: f16x2, by a handle in a parameter */
	"tex.2d.v2.f16x2.f32 {%r1, %r2}, [p, {%f5, %f6}];\n"
	"st.global.v4.b32 [%d1+32], {%r1, %r2, 0, 0};\n"
	/* 3: integer coordinates, the base level */
	"mov.u32 %r3, 2;\nmov.u32 %r4, 1;\n"
	"tex.base.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d2, {%r3, %r4}];\n"
	"st.global.v4.f32 [%d1+48], {%f1, %f2, %f3, %f4};\n"
	/* 4: a sampler of its own: linear, at (3, 1.5): between two texels */
	"mov.f32 %f7, 0f40400000;\n"
	"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d2, soft, {%f7, %f6}];\n"
	"st.global.v4.f32 [%d1+64], {%f1, %f2, %f3, %f4};\n"
	/* 5: f16 results */
	"tex.2d.v4.f16.f32 {%h1, %h2, %h3, %h4}, [%d2, {%f5, %f6}];\n"
	"st.global.v4.b16 [%d1+80], {%h1, %h2, %h3, %h4};\n"
	/* 6 to 8: queries */
	"txq.width.b32 %r1, [named];\ntxq.height.b32 %r2, [%d2];\n"
	"txq.num_mipmap_levels.b32 %r3, [named];\ntxq.normalized_coords.b32 %r4, [named];\n"
	"st.global.v4.b32 [%d1+96], {%r1, %r2, %r3, %r4};\n"
	"txq.filter_mode.b32 %r1, [soft];\ntxq.addr_mode_0.b32 %r2, [soft];\n"
	"txq.level.width.b32 %r3, [named], 0;\ntxq.array_size.b32 %r4, [named];\n"
	"st.global.v4.b32 [%d1+112], {%r1, %r2, %r3, %r4};\n"
	"suq.width.b32 %r1, [board];\nsuq.height.b32 %r2, [%d3];\nsuq.depth.b32 %r3, [%d3];\n"
	"suq.channel_order.b32 %r4, [%d3];\n"
	"st.global.v4.b32 [%d1+128], {%r1, %r2, %r3, %r4};\n"
	/* 9: what is what */
	"istypep.texref %q1, %d2;\nistypep.surfref %q2, %d2;\nistypep.surfref %q3, %d3;\nistypep.samplerref %q4, %d3;\n"
	"selp.b32 %r1, 1, 0, %q1;\nselp.b32 %r2, 1, 0, %q2;\nselp.b32 %r3, 1, 0, %q3;\nselp.b32 %r4, 1, 0, %q4;\n"
	"st.global.v4.b32 [%d1+144], {%r1, %r2, %r3, %r4};\n"
	"ret;\n}\n"
	/* 64 threads, two dimensions: sums, least, most, bits, each in its own row of `board` */
	".visible .entry reduce(.param .u64 s)\n{\n"
	".reg .b64 %d<3>;\n.reg .b32 %r<9>;\n"
	"ld.param.u64 %d1, [s];\nmov.u32 %r1, %tid.x;\nadd.u32 %r2, %r1, 1;\nneg.s32 %r3, %r2;\n"
	"and.b32 %r5, %r1, 7;\nmov.b32 %r6, 1;\nshl.b32 %r6, %r6, %r5;\n"
	"sured.b.add.2d.u32.clamp [board, {0, 0}], %r2;\n"
	"sured.b.min.2d.s32.clamp [%d1, {4, 1}], %r3;\n"
	"sured.p.max.2d.b32.zero [%d1, {2, 2}], %r2;\n"
	"sured.b.or.2d.b32.trap [%d1, {12, 3}], %r6;\n"
	"sured.p.add.2d.b32.zero [%d1, {9, 2}], %r2;\n" /* outside: dropped */
	"ret;\n}\n"
	/* formatted stores */
	".visible .entry formatted(.param .u64 a, .param .u64 b)\n{\n"
	".reg .b64 %d<3>;\n.reg .f32 %f<9>;\n"
	"ld.param.u64 %d1, [a];\nld.param.u64 %d2, [b];\n"
	"sust.p.2d.v4.b32.trap [%d1, {1, 0}], {0f3F800000, 0f3F000000, 0fBF800000, 0f40000000};\n"
	"sust.p.2d.v2.b32.zero [%d2, {1, 1}], {300, -300};\n"
	"sust.p.1d.b32.zero [%d2, {-1}], {7};\n"
	"ret;\n}\n";

static float float_of(uint32_t b)
{
	float f;

	memcpy(&f, &b, 4);
	return f;
}

static double texel_at(const struct picture *p, long x, long y, unsigned c)
{
	bool is_float;

	return texel(p, 0, x, y, 0, c, 0, &is_float);
}

static void forms(CUmodule m)
{
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
	CUDA_TEXTURE_DESC d = { .addressMode = { CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP } };
	uint32_t got[10][4];
	struct picture p, q;
	uint16_t h[4];
	CUtexObject t;
	CUsurfObject s;
	CUtexref named;
	CUsurfref board;
	CUdeviceptr out;
	CUarray back;
	void *params[] = { &out, &t, &s, &t };

	picture_make(&p, SHAPE_2D, CU_AD_FORMAT_FLOAT, 4, 7, 5, 1, 0, 0);
	picture_make(&q, SHAPE_2D, CU_AD_FORMAT_UNSIGNED_INT32, 2, 9, 3, 1, 0, CUDA_ARRAY3D_SURFACE_LDST);
	CU(cuModuleGetTexRef(&named, m, "named"));
	CU(cuModuleGetSurfRef(&board, m, "board"));
	CU(cuTexRefSetArray(named, p.array, CU_TRSA_OVERRIDE_FORMAT));
	CU(cuTexRefGetArray(&back, named));
	ok(back == p.array);
	CU(cuSurfRefSetArray(board, q.array, 0));
	r.res.array.hArray = p.array;
	CU(cuTexObjectCreate(&t, &r, &d, NULL));
	s = surface_of(q.array);
	CU(cuMemAlloc(&out, sizeof(got)));
	CU(cuLaunchKernel(function(m, "forms"), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	CU(cuMemcpyDtoH(got, out, sizeof(got)));
	for (unsigned c = 0; c < 4; c++) {
		ok(float_of(got[0][c]) == (c == 3 ? 1 : texel_at(&p, 2, 1, c)));
		ok(float_of(got[1][c]) == texel_at(&p, 3, 0, c));
		ok(float_of(got[3][c]) == texel_at(&p, 2, 1, c));
		ok(float_of(got[4][c]) == (texel_at(&p, 2, 1, c) + texel_at(&p, 3, 1, c)) / 2);
	}
	memcpy(h, got[2], sizeof(h));
	for (unsigned c = 0; c < 4; c++)
		is(h[c], half_small((float)texel_at(&p, 2, 1, c)));
	memcpy(h, got[5], sizeof(h));
	for (unsigned c = 0; c < 4; c++)
		is(h[c], half_small((float)texel_at(&p, 2, 1, c)));
	ok(got[6][0] == 7 && got[6][1] == 5 && got[6][2] == 1 && got[6][3] == 0);
	ok(got[7][0] == 1 && got[7][1] == CU_TR_ADDRESS_MODE_BORDER && got[7][2] == 7 && got[7][3] == 0);
	ok(got[8][0] == 9 && got[8][1] == 3 && got[8][2] == 0 && got[8][3] == 2);
	ok(got[9][0] == 1 && got[9][1] == 0 && got[9][2] == 1 && got[9][3] == 0);
	CU(cuTexObjectDestroy(t));
	CU(cuSurfObjectDestroy(s));
	CU(cuMemFree(out));
	picture_free(&p);
	picture_free(&q);
}

static void reductions(CUmodule m)
{
	uint32_t zero[4 * 4] = { 0 }, back[4 * 4];
	CUsurfref board;
	struct picture p;
	CUsurfObject s;
	void *params[] = { &s };

	picture_make(&p, SHAPE_2D, CU_AD_FORMAT_SIGNED_INT32, 1, 4, 4, 1, 0, CUDA_ARRAY3D_SURFACE_LDST);
	memcpy(p.data[0], zero, sizeof(zero));
	CU(picture_copy(&p, p.array, 0));
	CU(cuModuleGetSurfRef(&board, m, "board"));
	CU(cuSurfRefSetArray(board, p.array, 0));
	s = surface_of(p.array);
	CU(cuLaunchKernel(function(m, "reduce"), 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
	CU(picture_back(&p, back));
	is(back[0], 64 * 65 / 2);
	is((int)back[4 + 1], -64);
	is(back[8 + 2], 64);
	is(back[12 + 3], 255);
	is(back[8 + 3], 0);
	CU(cuSurfObjectDestroy(s));
	picture_free(&p);
}

static void formatted(CUmodule m)
{
	unsigned char bytes[2 * 2 * 4];
	int16_t shorts[2 * 2 * 2];
	struct picture p, q;
	CUsurfObject a, b;
	void *params[] = { &a, &b };

	picture_make(&p, SHAPE_2D, CU_AD_FORMAT_SNORM_INT8X4, 4, 2, 2, 1, 0, CUDA_ARRAY3D_SURFACE_LDST);
	picture_make(&q, SHAPE_2D, CU_AD_FORMAT_SIGNED_INT8, 2, 2, 2, 1, 0, CUDA_ARRAY3D_SURFACE_LDST);
	a = surface_of(p.array);
	b = surface_of(q.array);
	CU(cuLaunchKernel(function(m, "formatted"), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	CU(picture_back(&p, bytes));
	ok((int8_t)bytes[4] == 127 && (int8_t)bytes[5] == 64 && (int8_t)bytes[6] == -127 && (int8_t)bytes[7] == 127);
	ok(!memcmp(bytes, p.data[0], 4) && !memcmp(bytes + 8, p.data[0] + 8, 8));
	CU(picture_back(&q, shorts));
	ok(((int8_t *)shorts)[6] == 127 && ((int8_t *)shorts)[7] == -128);
	ok(!memcmp(shorts, q.data[0], 6));
	CU(cuSurfObjectDestroy(a));
	CU(cuSurfObjectDestroy(b));
	picture_free(&p);
	picture_free(&q);
}

/* ---- references ---- */

static void references(CUmodule m)
{
	CUDA_ARRAY_DESCRIPTOR plain = { 4, 4, CU_AD_FORMAT_FLOAT, 1 };
	float color[4] = { 1, 2, 3, 4 }, back[4], least, most, bias;
	CUfilter_mode filter;
	CUaddress_mode mode;
	CUarray_format format;
	int channels, anisotropy;
	unsigned flags;
	CUtexref named, own;
	CUsurfref board;
	CUdeviceptr d, bound;
	CUarray array;
	size_t offset = 7;

	FAILS(cuModuleGetTexRef(&named, m, "board"), CUDA_ERROR_NOT_FOUND);
	FAILS(cuModuleGetSurfRef(&board, m, "nothing"), CUDA_ERROR_NOT_FOUND);
	FAILS(cuModuleGetGlobal(&d, &offset, m, "named"), CUDA_ERROR_NOT_FOUND);
	CU(cuModuleGetTexRef(&named, m, "named"));
	CU(cuTexRefCreate(&own));
	FAILS(cuTexRefGetArray(&array, own), CUDA_ERROR_INVALID_VALUE);
	CU(cuTexRefSetFormat(own, CU_AD_FORMAT_UNSIGNED_INT8, 4));
	CU(cuTexRefGetFormat(&format, &channels, own));
	ok(format == CU_AD_FORMAT_UNSIGNED_INT8 && channels == 4);
	FAILS(cuTexRefSetFormat(own, CU_AD_FORMAT_UNSIGNED_INT8, 3), CUDA_ERROR_INVALID_VALUE);
	CU(cuTexRefSetFilterMode(own, CU_TR_FILTER_MODE_LINEAR));
	CU(cuTexRefGetFilterMode(&filter, own));
	is(filter, CU_TR_FILTER_MODE_LINEAR);
	CU(cuTexRefSetMipmapFilterMode(own, CU_TR_FILTER_MODE_LINEAR));
	CU(cuTexRefGetMipmapFilterMode(&filter, own));
	is(filter, CU_TR_FILTER_MODE_LINEAR);
	CU(cuTexRefGetAddressMode(&mode, own, 1));
	is(mode, CU_TR_ADDRESS_MODE_CLAMP);
	CU(cuTexRefSetAddressMode(own, 1, CU_TR_ADDRESS_MODE_MIRROR));
	CU(cuTexRefGetAddressMode(&mode, own, 1));
	is(mode, CU_TR_ADDRESS_MODE_MIRROR);
	FAILS(cuTexRefSetAddressMode(own, 3, CU_TR_ADDRESS_MODE_MIRROR), CUDA_ERROR_INVALID_VALUE);
	CU(cuTexRefSetFlags(own, CU_TRSF_NORMALIZED_COORDINATES));
	CU(cuTexRefGetFlags(&flags, own));
	is(flags, CU_TRSF_NORMALIZED_COORDINATES);
	CU(cuTexRefSetMipmapLevelBias(own, 0.5f));
	CU(cuTexRefGetMipmapLevelBias(&bias, own));
	ok(bias == 0.5f);
	CU(cuTexRefSetMipmapLevelClamp(own, 1, 2));
	CU(cuTexRefGetMipmapLevelClamp(&least, &most, own));
	ok(least == 1 && most == 2);
	CU(cuTexRefSetMaxAnisotropy(own, 8));
	CU(cuTexRefGetMaxAnisotropy(&anisotropy, own));
	is(anisotropy, 8);
	CU(cuTexRefSetBorderColor(own, color));
	CU(cuTexRefGetBorderColor(back, own));
	ok(!memcmp(color, back, sizeof(color)));
	CU(cuMemAlloc(&d, 4096));
	CU(cuTexRefSetAddress(&offset, own, d + 16, 256));
	is(offset, 16);
	CU(cuTexRefGetAddress(&bound, own));
	is(bound, d);
	FAILS(cuTexRefSetAddress(NULL, own, d + 16, 256), CUDA_ERROR_INVALID_VALUE);
	CU(cuTexRefSetAddress2D(own, &plain, d, 512));
	CU(cuTexRefGetFormat(&format, &channels, own));
	ok(format == CU_AD_FORMAT_FLOAT && channels == 1);
	FAILS(cuTexRefSetAddress2D(own, &plain, d, 8), CUDA_ERROR_INVALID_VALUE);
	CU(cuTexRefDestroy(own));
	FAILS(cuTexRefDestroy(own), CUDA_ERROR_INVALID_HANDLE);
	FAILS(cuTexRefDestroy(named), CUDA_ERROR_INVALID_HANDLE); /* the module's */
	FAILS(cuTexRefSetFlags((CUtexref)m, 0), CUDA_ERROR_INVALID_HANDLE);
	CU(cuMemFree(d));
}

/* A launch sees a reference and an object as they were when it was made. */
static void order(CUmodule m)
{
	CUDA_ARRAY3D_DESCRIPTOR a = { 8, 8, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST };
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
	CUDA_TEXTURE_DESC d = { 0 };
	CUdeviceptr out;
	CUarray array;
	CUtexObject t;
	int rounds = 200;
	float step = 0.01f;
	void *params[] = { &t, &out, &rounds, &step };

	CU(cuArray3DCreate(&array, &a));
	r.res.array.hArray = array;
	CU(cuTexObjectCreate(&t, &r, &d, NULL));
	CU(cuMemAlloc(&out, 64 * 256 * 4));
	for (int i = 0; i < 4; i++)
		CU(cuLaunchKernel(function(m, "many_2d"), 64, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
	CU(cuTexObjectDestroy(t));
	CU(cuArrayDestroy(array));
	CU(cuCtxSynchronize());
	CU(cuMemFree(out));
}

/* ---- handles that mean nothing ---- */

enum bad {
	BAD_ZERO,
	BAD_NUMBER,
	BAD_DESTROYED,
	BAD_ARRAY_GONE,
	BAD_MEMORY_GONE,
	BAD_SURFACE,
	BAD_CONTEXT,
	BAD_UNBOUND,
	BAD_TRAP,
	BAD_MISALIGNED,
	BAD_COUNT
};

static void bad_handle(enum bad kind, CUcontext primary)
{
	CUDA_ARRAY3D_DESCRIPTOR a = { 8, 8, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST };
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
	CUDA_TEXTURE_DESC d = { 0 };
	int rounds = 1, n = 64, w = 8, h = 8, least = kind == BAD_TRAP ? -1 : 0, bytes = kind == BAD_MISALIGNED ? 2 : 4;
	float step = 1;
	CUtexObject t = kind == BAD_NUMBER ? 0x123456789 : 0;
	CUdeviceptr out, memory;
	CUcontext c;
	CUmodule m;
	CUarray array;
	CUresult wanted = CUDA_ERROR_ILLEGAL_ADDRESS;
	void *params[] = { &t, &out, &rounds, &step };
	void *surface_params[] = { &t, &out, &n, &bytes, &w, &h, &least };
	void *linear_params[] = { &t, &out, &rounds, &w };
	void *reduce_params[] = { &t };

	CU(cuCtxCreate(&c, NULL, 0, 0));
	CU(cuModuleLoadData(&m, kind == BAD_UNBOUND ? hand : kernels));
	CU(cuMemAlloc(&out, 4096));
	CU(cuArray3DCreate(&array, &a));
	r.res.array.hArray = array;
	if (kind == BAD_CONTEXT)
		CU(cuCtxPushCurrent(primary));
	if (kind == BAD_DESTROYED || kind == BAD_ARRAY_GONE || kind == BAD_CONTEXT) {
		if (kind == BAD_CONTEXT) {
			CU(cuArray3DCreate(&array, &a));
			r.res.array.hArray = array;
		}
		CU(cuTexObjectCreate(&t, &r, &d, NULL));
		if (kind == BAD_DESTROYED)
			CU(cuTexObjectDestroy(t));
		if (kind == BAD_ARRAY_GONE)
			CU(cuArrayDestroy(array));
	}
	if (kind == BAD_CONTEXT)
		CU(cuCtxPopCurrent(NULL));
	if (kind == BAD_SURFACE || kind == BAD_TRAP || kind == BAD_MISALIGNED)
		t = surface_of(array);
	if (kind == BAD_MEMORY_GONE) {
		CU(cuMemAlloc(&memory, 64 << 20));
		r = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_LINEAR };
		r.res.linear.devPtr = memory;
		r.res.linear.format = CU_AD_FORMAT_FLOAT;
		r.res.linear.numChannels = 1;
		r.res.linear.sizeInBytes = 64 << 20;
		CU(cuTexObjectCreate(&t, &r, &d, NULL));
		CU(cuMemFree(memory));
	}
	if (kind == BAD_TRAP || kind == BAD_MISALIGNED) {
		wanted = kind == BAD_TRAP ? CUDA_ERROR_LAUNCH_FAILED : CUDA_ERROR_MISALIGNED_ADDRESS;
		CU(cuLaunchKernel(function(m, "surf_2d_u1_trap"), 1, 1, 1, 64, 1, 1, 0, NULL, surface_params, NULL));
	} else if (kind == BAD_UNBOUND) {
		CU(cuLaunchKernel(function(m, "reduce"), 1, 1, 1, 64, 1, 1, 0, NULL, reduce_params, NULL));
	} else if (kind == BAD_MEMORY_GONE) {
		CU(cuLaunchKernel(function(m, "many_linear"), 1, 1, 1, 64, 1, 1, 0, NULL, linear_params, NULL));
	} else {
		CU(cuLaunchKernel(function(m, "many_2d"), 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
	}
	FAILS(cuCtxSynchronize(), wanted);
	CU(cuCtxDestroy(c));
	CU(cuCtxSetCurrent(primary));
	if (kind == BAD_CONTEXT) {
		CU(cuTexObjectDestroy(t));
		CU(cuArrayDestroy(array));
	}
}

/* What the checker wrote about the bad handles. */
static void reported(const char *path)
{
	static const char *const wanted[] = { "0x123456789 is no live texture or surface of this context",
					      "read outside a surface, at x = -4" };
	static char text[1 << 16];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = 0;
	unlink(path);
	for (unsigned i = 0; i < 2; i++)
		tap_ok(strstr(text, wanted[i]) != NULL, "the report says \"%s\"", wanted[i]);
}

/* Arguments: where the kernels are; "report": under the checker. */
int main(int argc, char **argv)
{
	const bool report = argc > 2 && !strcmp(argv[2], "report");
	char path[64];
	CUcontext primary;
	size_t all;
	CUmodule m;

	soft_begin("1", "256M");
	snprintf(path, sizeof(path), "/tmp/mete-surface-%d", getpid());
	if (report) {
		setenv("METE_SOFT_CHECK", "report", 1);
		setenv("METE_LOG", path, 1);
	}
	primary = soft_context();
	kernels = argc > 1 ? read_text(argv[1], "texture.ptx") : NULL;
	ok(kernels != NULL);
	all = soft_free();
	CU(cuModuleLoadData(&module, kernels));
	CU(cuModuleLoadData(&m, hand));
	is(soft_free(), all); /* references take no memory */
	surfaces();
	clamped();
	faces();
	forms(m);
	reductions(m);
	formatted(m);
	references(m);
	order(module);
	for (int kind = 0; kind < BAD_COUNT; kind++)
		bad_handle((enum bad)kind, primary);
	CU(cuModuleUnload(m));
	CU(cuModuleUnload(module));
	is(soft_free(), all);
	if (report)
		reported(path);
	free(kernels);
	return soft_end();
}
