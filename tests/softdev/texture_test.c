/* texture_test.c: every kind of texture, sampled in every way, against the reference of image.h. */
#include "softdev/image.h"

#define POINTS 224u

static CUmodule module;
static CUdeviceptr places, results;
static struct place place[POINTS];
static uint32_t got[POINTS][4];

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

static bool run(const char *kernel, CUtexObject t)
{
	unsigned n = POINTS;
	void *params[] = { &t, &places, &results, &n };
	CUfunction f;

	return !cuModuleGetFunction(&f, module, kernel) && !cuMemcpyHtoD(places, place, sizeof(place)) &&
	       !cuLaunchKernel(f, 2, 1, 1, 128, 1, 1, 0, NULL, params, NULL) &&
	       !cuMemcpyDtoH(got, results, sizeof(got));
}

/* Around the picture, on exact quarters of texels, and at the values that break careless code. */
static void make_places(const struct picture *p, bool normalized)
{
	static const float odd[] = { NAN,  INFINITY, -INFINITY, 1e30f,	    -1e30f, 0.0f,    -0.0f,
				     1.0f, -1.0f,    2.0f,	8388608.0f, 1e-30f, -1e-30f, 3e9f };
	const float size[3] = { (float)p->width[0], (float)p->height[0], (float)p->depth[0] };

	for (unsigned i = 0; i < POINTS; i++) {
		float x[3];

		for (unsigned k = 0; k < 3; k++) {
			const float n = normalized ? 1.0f : size[k];

			if (i % 4 == 0)
				x[k] = random_between(-1.5f * n, 2.5f * n);
			else if (i % 4 == 1 && !normalized)
				x[k] = (float)random_below((unsigned)(4 * size[k])) / 4.0f;
			else
				x[k] = random_between(0, n);
		}
		if (i >= POINTS - sizeof(odd) / sizeof(odd[0]))
			x[i % 3] = odd[POINTS - 1 - i];
		place[i] = (struct place){ x[0], x[1], x[2], (int)random_below(9) - 2, 0, { 0 }, { 0 } };
		if (is_cube(p->shape))
			place[i] = (struct place){ .x = random_between(-1, 1),
						   .y = random_between(-1, 1),
						   .z = random_between(-1, 1),
						   .layer = (int)random_below(4) - 1 };
	}
}

static const char *const fetch_kernel[] = { "fetch_1d",		"fetch_2d",   "fetch_3d",	   "fetch_1d_layered",
					    "fetch_2d_layered", "fetch_cube", "fetch_cube_layered" };
static const char *const lod_kernel[] = { "lod_1d",	    "lod_2d",	"lod_3d",	   "lod_1d_layered",
					  "lod_2d_layered", "lod_cube", "lod_cube_layered" };

static unsigned judged;

/* Wrong results of a fetch of the base level. */
static unsigned wrong_fetches(const struct picture *p, const CUDA_TEXTURE_DESC *d)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < POINTS; i++) {
		bool is_float = true, bad = false;
		double want[4];

		if (!reference_at(p, d, 0, &place[i], want, &is_float))
			continue;
		judged++;
		for (unsigned c = 0; c < 4; c++)
			bad |= !same_value(got[i][c], want[c], is_float);
		if (bad && !wrong++)
			fprintf(stderr, "# (%g, %g, %g) layer %d: %08x %08x %08x %08x, not %g %g %g %g\n", place[i].x,
				place[i].y, place[i].z, place[i].layer, got[i][0], got[i][1], got[i][2], got[i][3],
				want[0], want[1], want[2], want[3]);
	}
	return wrong;
}

static void sample_all(const struct picture *p, bool small)
{
	char kind;
	const unsigned bytes = channel_bytes(p->format, &kind);
	const bool narrow = (kind == 'u' || kind == 's') && bytes < 4;
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = p->array };
	unsigned wrong = 0;

	for (unsigned mode = 0; mode < (is_cube(p->shape) ? 1u : 4u); mode++)
		for (unsigned bits = 0; bits < 16; bits++) {
			const bool linear = bits & 1, normalized = bits & 2, integer = bits & 4, srgb = bits & 8;
			CUDA_TEXTURE_DESC d = {
				.addressMode = { (CUaddress_mode)mode, (CUaddress_mode)((mode + small) % 4),
						 (CUaddress_mode)mode },
				.filterMode = linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT,
				.borderColor = { 0.5f, -3.0f, 7.0f, 2.0f }
			};
			CUtexObject t;
			CUresult e;

			if ((srgb && (integer || kind != 'u' || bytes != 1)) || (integer && !narrow && !(kind == 'u')))
				continue;
			d.flags = (normalized ? CU_TRSF_NORMALIZED_COORDINATES : 0) |
				  (integer ? CU_TRSF_READ_AS_INTEGER : 0) | (srgb ? CU_TRSF_SRGB : 0);
			e = cuTexObjectCreate(&t, &r, &d, NULL);
			if (linear && (kind == 'u' || kind == 's') && (integer || bytes == 4)) {
				wrong += e != CUDA_ERROR_INVALID_VALUE;
				continue;
			}
			make_places(p, normalized);
			wrong += e || !run(fetch_kernel[p->shape], t);
			wrong += wrong_fetches(p, &d);
			if (wrong)
				fprintf(stderr, "# address %u, linear %d, normalized %d, integer %d, srgb %d\n", mode,
					linear, normalized, integer, srgb);
			wrong += cuTexObjectDestroy(t) != CUDA_SUCCESS;
			if (wrong)
				break;
		}
	tap_ok(!wrong, "shape %d, format %d x %u: every sampling", (int)p->shape, (int)p->format, p->channels);
}

static void shapes_and_formats(void)
{
	static const CUarray_format formats[] = { CU_AD_FORMAT_UNSIGNED_INT8,  CU_AD_FORMAT_UNSIGNED_INT16,
						  CU_AD_FORMAT_UNSIGNED_INT32, CU_AD_FORMAT_SIGNED_INT8,
						  CU_AD_FORMAT_SIGNED_INT16,   CU_AD_FORMAT_SIGNED_INT32,
						  CU_AD_FORMAT_HALF,	       CU_AD_FORMAT_FLOAT };
	struct picture p;

	for (unsigned s = 0; s <= SHAPE_CUBE_LAYERED; s++) {
		const bool cube = is_cube((enum shape)s);

		for (unsigned f = 0; f < 8; f++) {
			if (s != SHAPE_2D && f % 3 != s % 3 && f != 7)
				continue; /* every format in two dimensions, some in the others */
			for (unsigned channels = 1; channels <= 4; channels *= 2) {
				picture_make(&p, (enum shape)s, formats[f], channels, cube ? 5 : 13, cube ? 5 : 7,
					     s == SHAPE_CUBE ? 6
					     : cube	     ? 12
							     : 5,
					     0, 0);
				sample_all(&p, channels == 2);
				picture_free(&p);
			}
		}
	}
	for (int f = CU_AD_FORMAT_UNORM_INT8X1; f <= CU_AD_FORMAT_SNORM_INT16X4; f++) {
		picture_make(&p, SHAPE_2D, (CUarray_format)f, 1u << (f - CU_AD_FORMAT_UNORM_INT8X1) % 3, 13, 7, 1, 0,
			     0);
		sample_all(&p, true);
		picture_free(&p);
	}
	picture_make(&p, SHAPE_1D, CU_AD_FORMAT_FLOAT, 1, 1, 1, 1, 0, 0);
	sample_all(&p, true);
	picture_free(&p);
	picture_make(&p, SHAPE_2D, CU_AD_FORMAT_FLOAT, 4, 1000, 3, 1, 0, 0);
	sample_all(&p, true);
	picture_free(&p);
	ok(judged > 40000);
}

/* ---- mipmaps ---- */

static bool reference_lod(const struct picture *p, const CUDA_TEXTURE_DESC *d, double lod, const struct place *a,
			  double ret[4])
{
	double fixed, other[4];
	bool is_float;

	lod += d->mipmapLevelBias;
	lod = fmin(fmax(lod, d->minMipmapLevelClamp), d->maxMipmapLevelClamp);
	lod = fmin(fmax(lod, 0), p->levels - 1);
	if (d->mipmapFilterMode == CU_TR_FILTER_MODE_POINT)
		return !near_step(lod + 0.5) && reference_at(p, d, (unsigned)floor(lod + 0.5), a, ret, &is_float);
	fixed = lod * 256 + 0.5;
	if (near_step(fixed))
		return false;
	fixed = floor(fixed) / 256;
	if (!reference_at(p, d, (unsigned)floor(fixed), a, ret, &is_float))
		return false;
	if (fixed == floor(fixed))
		return true;
	if (!reference_at(p, d, (unsigned)floor(fixed) + 1, a, other, &is_float))
		return false;
	for (int c = 0; c < 4; c++)
		ret[c] += (other[c] - ret[c]) * (fixed - floor(fixed));
	return true;
}

static unsigned wrong_lods(const struct picture *p, const CUDA_TEXTURE_DESC *d, bool gradient)
{
	const double size[3] = { p->width[0], p->height[0], p->depth[0] };
	unsigned wrong = 0;

	for (unsigned i = 0; i < POINTS; i++) {
		double want[4], lod = place[i].lod, sum[2] = { 0 };

		for (unsigned k = 0; gradient && k < shape_axes(p->shape); k++) {
			sum[0] += pow(place[i].dx[k] * size[k], 2);
			sum[1] += pow(place[i].dy[k] * size[k], 2);
		}
		if (gradient)
			lod = log2(sqrt(fmax(sum[0], sum[1])));
		if (!reference_lod(p, d, lod, &place[i], want))
			continue;
		judged++;
		for (unsigned c = 0; c < p->channels; c++)
			if (!same_value(got[i][c], want[c], true) && !wrong++)
				fprintf(stderr, "# (%g, %g, %g) lod %g: channel %u %08x, not %g\n", place[i].x,
					place[i].y, place[i].z, lod, c, got[i][c], want[c]);
	}
	return wrong;
}

static void mipmaps(void)
{
	static const float bias[] = { 0, 0.75f, -1.25f }, least[] = { 0, 0, 1.5f }, most[] = { 99, 2.25f, 3 };
	static const char *const grad_kernel[] = { "grad_1d", "grad_2d", "grad_3d" };
	struct picture p;

	for (unsigned s = 0; s <= SHAPE_CUBE_LAYERED; s++) {
		unsigned wrong = 0;

		picture_make(&p, (enum shape)s, s % 2 ? CU_AD_FORMAT_FLOAT : CU_AD_FORMAT_UNSIGNED_INT8, s % 2 ? 1 : 4,
			     21, is_cube((enum shape)s) ? 21 : 19,
			     s == SHAPE_CUBE	      ? 6
			     : is_cube((enum shape)s) ? 12
						      : 9,
			     5, 0);
		for (unsigned k = 0; k < 12; k++) {
			CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
						 .res.mipmap.hMipmappedArray = p.mipmap };
			CUDA_TEXTURE_DESC d = { .filterMode = (CUfilter_mode)(k & 1),
						.mipmapFilterMode = (CUfilter_mode)(k >> 1 & 1),
						.flags = CU_TRSF_NORMALIZED_COORDINATES,
						.mipmapLevelBias = bias[k / 4],
						.minMipmapLevelClamp = least[k / 4],
						.maxMipmapLevelClamp = most[k / 4] };
			CUtexObject t;

			wrong += cuTexObjectCreate(&t, &r, &d, NULL) != CUDA_SUCCESS;
			make_places(&p, true);
			for (unsigned i = 0; i < POINTS; i++) {
				place[i].lod = i % 3 ? (float)random_below(60) / 8.0f - 1.0f : random_between(-1, 6);
				for (unsigned x = 0; x < 3; x++) {
					place[i].dx[x] = random_between(-0.4f, 0.4f);
					place[i].dy[x] = random_between(-0.4f, 0.4f);
				}
			}
			wrong += !run(lod_kernel[s], t) || wrong_lods(&p, &d, false);
			if (s <= SHAPE_3D)
				wrong += !run(grad_kernel[s], t) || wrong_lods(&p, &d, true);
			wrong += cuTexObjectDestroy(t) != CUDA_SUCCESS;
		}
		tap_ok(!wrong, "shape %u: levels of detail", s);
		picture_free(&p);
	}
}

/* A view of a part of the levels, in another format of the same size. */
static void views(void)
{
	CUDA_RESOURCE_VIEW_DESC v = { .format = CU_RES_VIEW_FORMAT_UINT_1X32,
				      .width = 16,
				      .height = 16,
				      .firstMipmapLevel = 1,
				      .lastMipmapLevel = 2 },
				back;
	CUDA_TEXTURE_DESC d = { .flags = CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_READ_AS_INTEGER,
				.maxMipmapLevelClamp = 9 };
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY };
	struct picture p, layers;
	CUtexObject t;
	uint32_t want;

	picture_make(&p, SHAPE_2D, CU_AD_FORMAT_UNSIGNED_INT8, 4, 16, 16, 1, 4, 0);
	r.res.mipmap.hMipmappedArray = p.mipmap;
	CU(cuTexObjectCreate(&t, &r, &d, &v));
	make_places(&p, true);
	place[0] = (struct place){ .x = 0.99f, .y = 0.99f, .lod = 0 };
	place[1] = (struct place){ .x = 0.0f, .y = 0.0f, .lod = 1 };
	place[2] = (struct place){ .x = 0.0f, .y = 0.0f, .lod = 7 };
	ok(run("lod_2d", t));
	memcpy(&want, p.data[1] + 4 * 63, 4);
	is(got[0][0], want);
	memcpy(&want, p.data[2], 4);
	is(got[1][0], want);
	is(got[2][0], want);
	CU(cuTexObjectGetResourceViewDesc(&back, t));
	ok(back.width == 16 && back.lastMipmapLevel == 2);
	CU(cuTexObjectDestroy(t));
	v.lastMipmapLevel = 4;
	FAILS(cuTexObjectCreate(&t, &r, &d, &v), CUDA_ERROR_INVALID_VALUE);
	v.lastMipmapLevel = 1;
	v.format = CU_RES_VIEW_FORMAT_UINT_2X32;
	FAILS(cuTexObjectCreate(&t, &r, &d, &v), CUDA_ERROR_INVALID_VALUE);
	v.format = CU_RES_VIEW_FORMAT_UNSIGNED_BC1;
	FAILS(cuTexObjectCreate(&t, &r, &d, &v), CUDA_ERROR_NOT_SUPPORTED);
	d.filterMode = CU_TR_FILTER_MODE_LINEAR;
	FAILS(cuTexObjectCreate(&t, &r, &d, NULL), CUDA_ERROR_INVALID_VALUE); /* integers are read, not filtered */
	d.filterMode = CU_TR_FILTER_MODE_POINT;
	d.flags = 0;
	FAILS(cuTexObjectCreate(&t, &r, &d, NULL), CUDA_ERROR_INVALID_VALUE); /* levels need normalised coordinates */
	picture_free(&p);

	picture_make(&layers, SHAPE_2D_LAYERED, CU_AD_FORMAT_SIGNED_INT32, 1, 4, 4, 6, 0, 0);
	r = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = layers.array };
	v = (CUDA_RESOURCE_VIEW_DESC){ .width = 4, .height = 4, .depth = 6, .firstLayer = 2, .lastLayer = 3 };
	d.flags = 0;
	CU(cuTexObjectCreate(&t, &r, &d, &v));
	make_places(&layers, false);
	for (int i = 0; i < 4; i++)
		place[i] = (struct place){ .x = 1, .y = 2, .layer = i };
	ok(run("fetch_2d_layered", t));
	for (unsigned i = 0; i < 4; i++) {
		memcpy(&want, layers.data[0] + ((i ? 3 : 2) * 16 + 2 * 4 + 1) * 4, 4);
		is(got[i][0], want);
	}
	CU(cuTexObjectDestroy(t));
	picture_free(&layers);
}

/* ---- memory ---- */

static void memory(void)
{
	float row[100];
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_LINEAR }, back;
	CUDA_TEXTURE_DESC d = { .filterMode = CU_TR_FILTER_MODE_LINEAR }, sampling;
	struct picture p = { .shape = SHAPE_2D, .format = CU_AD_FORMAT_FLOAT, .channels = 1, .levels = 1 };
	unsigned wrong = 0;
	size_t pitch, most;
	CUdeviceptr m;
	CUtexObject t;

	for (int i = 0; i < 100; i++)
		row[i] = (float)i * 1.5f + 1;
	CU(cuMemAlloc(&m, sizeof(row)));
	CU(cuMemcpyHtoD(m, row, sizeof(row)));
	r.res.linear.devPtr = m;
	r.res.linear.format = CU_AD_FORMAT_FLOAT;
	r.res.linear.numChannels = 1;
	r.res.linear.sizeInBytes = sizeof(row);
	CU(cuTexObjectCreate(&t, &r, &d, NULL));
	for (unsigned i = 0; i < POINTS; i++)
		place[i].x = (float)i - 50;
	place[POINTS - 1].x = 2147483520.0f;
	place[POINTS - 2].x = -2147483648.0f;
	ok(run("fetch_linear", t));
	for (unsigned i = 0; i < POINTS; i++) {
		const float x = place[i].x;

		wrong += !same_value(got[i][0], x >= 0 && x < 100 ? row[(int)x] : 0, true);
	}
	is(wrong, 0); /* outside is zero */
	CU(cuTexObjectGetResourceDesc(&back, t));
	ok(back.res.linear.devPtr == m);
	CU(cuTexObjectGetTextureDesc(&sampling, t));
	is(sampling.filterMode, CU_TR_FILTER_MODE_LINEAR);
	CU(cuTexObjectDestroy(t));
	FAILS(cuTexObjectDestroy(t), CUDA_ERROR_INVALID_VALUE);
	r.res.linear.devPtr = m + 4;
	FAILS(cuTexObjectCreate(&t, &r, &d, NULL), CUDA_ERROR_INVALID_VALUE);
	r.res.linear.devPtr = 512;
	FAILS(cuTexObjectCreate(&t, &r, &d, NULL), CUDA_ERROR_INVALID_VALUE);
	r.res.linear.devPtr = m;
	r.res.linear.sizeInBytes = (size_t)1 << 40;
	FAILS(cuTexObjectCreate(&t, &r, &d, NULL), CUDA_ERROR_INVALID_VALUE);
	CU(cuDeviceGetTexture1DLinearMaxWidth(&most, CU_AD_FORMAT_FLOAT, 4, 0));
	is(most, 1 << 27);
	CU(cuMemFree(m));

	p.width[0] = 37;
	p.height[0] = 11;
	p.depth[0] = 1;
	p.data[0] = malloc(37 * 11 * 4);
	picture_fill(&p, 0);
	CU(cuMemAllocPitch(&m, &pitch, 37 * 4, 11, 4));
	CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			    .srcHost = p.data[0],
			    .srcPitch = 37 * 4,
			    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			    .dstDevice = m,
			    .dstPitch = pitch,
			    .WidthInBytes = 37 * 4,
			    .Height = 11 };
	CU(cuMemcpy2D(&c));
	r = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_PITCH2D };
	r.res.pitch2D.devPtr = m;
	r.res.pitch2D.format = CU_AD_FORMAT_FLOAT;
	r.res.pitch2D.numChannels = 1;
	r.res.pitch2D.width = 37;
	r.res.pitch2D.height = 11;
	r.res.pitch2D.pitchInBytes = pitch;
	for (unsigned k = 0; k < 16; k++) {
		CUDA_TEXTURE_DESC all = { .addressMode = { (CUaddress_mode)(k / 4), (CUaddress_mode)(k / 4) },
					  .filterMode = (CUfilter_mode)(k & 1),
					  .flags = k & 2 ? CU_TRSF_NORMALIZED_COORDINATES : 0,
					  .borderColor = { 2 } };

		CU(cuTexObjectCreate(&t, &r, &all, NULL));
		make_places(&p, k & 2);
		ok(run("fetch_2d", t) && !wrong_fetches(&p, &all));
		CU(cuTexObjectDestroy(t));
	}
	r.res.pitch2D.pitchInBytes = 37 * 4;
	FAILS(cuTexObjectCreate(&t, &r, &d, NULL), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemFree(m));
	free(p.data[0]);
}

/* ---- gathers ---- */

static void gathers(void)
{
	static const struct {
		const char *kernel;
		unsigned channel;
	} cases[] = { { "gather_0", 0 }, { "gather_1", 1 }, { "gather_3", 3 } };
	static const int order[4][2] = { { 0, 1 }, { 1, 1 }, { 1, 0 }, { 0, 0 } };
	CUDA_TEXTURE_DESC d = { .addressMode = { CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP } };
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
	struct picture p;
	CUtexObject t;

	picture_make(&p, SHAPE_2D, CU_AD_FORMAT_FLOAT, 4, 9, 6, 1, 0, CUDA_ARRAY3D_TEXTURE_GATHER);
	r.res.array.hArray = p.array;
	CU(cuTexObjectCreate(&t, &r, &d, NULL));
	for (unsigned k = 0; k < 3; k++) {
		unsigned wrong = 0;

		for (unsigned i = 0; i < POINTS; i++)
			place[i] = (struct place){ .x = (float)random_below(44) / 4 - 0.875f,
						   .y = (float)random_below(32) / 4 - 0.875f };
		ok(run(cases[k].kernel, t));
		for (unsigned i = 0; i < POINTS; i++)
			for (unsigned c = 0; c < 4; c++) {
				bool is_float;
				long x = fold(CU_TR_ADDRESS_MODE_CLAMP, false,
					      (long)floor(place[i].x - 0.5) + order[c][0], 9);
				long y = fold(CU_TR_ADDRESS_MODE_CLAMP, false,
					      (long)floor(place[i].y - 0.5) + order[c][1], 6);

				wrong += !same_value(got[i][c], texel(&p, 0, x, y, 0, cases[k].channel, 0, &is_float),
						     true);
			}
		is(wrong, 0);
	}
	CU(cuTexObjectDestroy(t));
	picture_free(&p);
}

/* A seamless cube map of a function that is smooth over all directions: so must be what is sampled. */
static void seamless(void)
{
	enum { SIDE = 32 };
	CUDA_TEXTURE_DESC d = { .filterMode = CU_TR_FILTER_MODE_LINEAR,
				.flags = CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SEAMLESS_CUBEMAP };
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
	double worst[2] = { 0 };
	struct picture p;
	CUtexObject t;

	picture_make(&p, SHAPE_CUBE, CU_AD_FORMAT_FLOAT, 1, SIDE, SIDE, 6, 0, 0);
	for (unsigned i = 0; i < 6 * SIDE * SIDE; i++) {
		const float u = ((float)(i % SIDE) + 0.5f) / SIDE * 2 - 1,
			    v = ((float)(i / SIDE % SIDE) + 0.5f) / SIDE * 2 - 1;
		const float dir[6][3] = { { 1, -v, -u }, { -1, -v, u }, { u, 1, v },
					  { u, -1, -v }, { u, -v, 1 },	{ -u, -v, -1 } };
		const float *a = dir[i / SIDE / SIDE];
		const float value = (a[0] + 2 * a[1] + 3 * a[2]) / sqrtf(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);

		memcpy(p.data[0] + 4 * i, &value, 4);
	}
	CU(picture_copy(&p, p.array, 0));
	r.res.array.hArray = p.array;
	for (unsigned k = 0; k < 2; k++) {
		CU(cuTexObjectCreate(&t, &r, &d, NULL));
		for (unsigned i = 0; i < POINTS; i++) { /* close to edges */
			const float s = i & 1 ? 1 : -1, near = 1 - random_between(0, 0.02f), w = random_between(-1, 1);

			place[i] = i % 3 == 0	? (struct place){ .x = s, .y = near, .z = w }
				   : i % 3 == 1 ? (struct place){ .x = w, .y = s, .z = -near }
						: (struct place){ .x = near, .y = w, .z = s };
		}
		ok(run("fetch_cube", t));
		for (unsigned i = 0; i < POINTS; i++) {
			const struct place *a = &place[i];
			const double want =
				(a->x + 2 * a->y + 3 * a->z) / sqrt(a->x * a->x + a->y * a->y + a->z * a->z);
			float f;

			memcpy(&f, &got[i][0], 4);
			worst[k] = fmax(worst[k], fabs(f - want));
		}
		CU(cuTexObjectDestroy(t));
		d.flags &= ~(unsigned)CU_TRSF_SEAMLESS_CUBEMAP;
	}
	tap_ok(worst[0] < 0.03 && worst[1] > 0.05, "seamless: off by %g, otherwise %g", worst[0], worst[1]);
	picture_free(&p);
}

/* What cannot be made. */
static void refusals(void)
{
	CUDA_ARRAY3D_DESCRIPTOR a = { 8, 8, 0, CU_AD_FORMAT_UNORM_INT8X2, 4, 0 };
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
	CUDA_TEXTURE_DESC d = { .flags = 0x1000 };
	CUtexObject t;
	CUarray array;

	FAILS(cuArray3DCreate(&array, &a), CUDA_ERROR_INVALID_VALUE); /* the format has two channels */
	a.Format = CU_AD_FORMAT_NV12;
	FAILS(cuArray3DCreate(&array, &a), CUDA_ERROR_NOT_SUPPORTED);
	FAILS(cuTexObjectCreate(&t, &r, &d, NULL), CUDA_ERROR_INVALID_HANDLE);
	a = (CUDA_ARRAY3D_DESCRIPTOR){ 8, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0 };
	CU(cuArray3DCreate(&array, &a));
	r.res.array.hArray = array;
	FAILS(cuTexObjectCreate(&t, &r, &d, NULL), CUDA_ERROR_INVALID_VALUE);
	d.flags = CU_TRSF_SRGB;
	FAILS(cuTexObjectCreate(&t, &r, &d, NULL), CUDA_ERROR_INVALID_VALUE);
	d.flags = 0;
	d.addressMode[1] = (CUaddress_mode)7;
	FAILS(cuTexObjectCreate(&t, &r, &d, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuTexObjectCreate(NULL, &r, &d, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuTexObjectCreate(&t, &r, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuSurfObjectCreate(&t, &r), CUDA_ERROR_INVALID_VALUE); /* without the flag for surfaces */
	FAILS(cuTexObjectGetResourceViewDesc(NULL, 12345), CUDA_ERROR_INVALID_VALUE);
	CU(cuArrayDestroy(array));
}

/* Arrays take their bytes, textures nothing, and all of it comes back. */
static void accounting(void)
{
	CUDA_ARRAY3D_DESCRIPTOR a = { 100, 30, 7, CU_AD_FORMAT_FLOAT, 2, CUDA_ARRAY3D_LAYERED };
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
	CUDA_TEXTURE_DESC d = { 0 };
	size_t all = soft_free(), mip = 0;
	CUmipmappedArray m;
	CUtexObject t;
	CUarray array;

	CU(cuArray3DCreate(&array, &a));
	is(all - soft_free(), (100 * 30 * 7 * 8 + 511) / 512 * 512);
	r.res.array.hArray = array;
	CU(cuTexObjectCreate(&t, &r, &d, NULL));
	is(all - soft_free(), (100 * 30 * 7 * 8 + 511) / 512 * 512);
	CU(cuTexObjectDestroy(t));
	CU(cuArrayDestroy(array));
	is(soft_free(), all);
	for (unsigned i = 0; i < 7; i++)
		mip += (size_t)(100 >> i) * (30 >> i ? 30 >> i : 1) * 7 * 8;
	CU(cuMipmappedArrayCreate(&m, &a, 20));
	is(all - soft_free(), (mip + 511) / 512 * 512);
	CU(cuMipmappedArrayDestroy(m));
	is(soft_free(), all);
}

int main(int argc, char **argv)
{
	char *text;

	soft_begin("1", "256M");
	soft_context();
	text = argc > 1 ? read_text(argv[1], "texture.ptx") : NULL;
	ok(text != NULL);
	CU(cuModuleLoadData(&module, text));
	CU(cuMemAlloc(&places, sizeof(place)));
	CU(cuMemAlloc(&results, sizeof(got)));
	shapes_and_formats();
	mipmaps();
	views();
	memory();
	gathers();
	seamless();
	refusals();
	accounting();
	CU(cuMemFree(places));
	CU(cuMemFree(results));
	CU(cuModuleUnload(module));
	free(text);
	return soft_end();
}
