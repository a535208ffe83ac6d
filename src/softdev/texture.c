/*
 * texture.c: see texture.h. Checks are those of the driver API's documentation: what a texture may be made of, and how
 * it may be sampled.
 */
#include "softdev/texture.h"

#include "softdev/array.h"
#include "softdev/format.h"
#include "softdev/log.h"
#include "softdev/stream.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define ALIGNMENT 512u		  /* as the attributes say */
#define PITCH_ALIGNMENT 32u	  /* likewise */
#define NUMBERS (1u << 20)	  /* as many as the device has descriptors of */
#define LINEAR_MOST (1u << 27)	  /* elements */
#define PITCH_WIDTH_MOST 131072u  /* elements */
#define PITCH_HEIGHT_MOST 65000u  /* rows */
#define PITCH_BYTES_MOST 2097120u /* of a row */
#define SAMPLING_FLAGS                                                                                                 \
	(CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |                                     \
	 CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP)

_Static_assert(MIPMAP_LEVELS <= PTX_TEXTURE_LEVELS, "every level must have a place");

/* ---- what is seen ---- */

static CUresult elements_describe(CUarray_format f, unsigned channels, struct ptx_texture *ret)
{
	struct format format;

	if (!format_find(f, &format))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!format_element_bytes(f, channels))
		return CUDA_ERROR_INVALID_VALUE;
	ret->texel = format.integer;
	ret->channels = (uint8_t)channels;
	ret->element_bytes = (uint8_t)(format.bytes * channels);
	ret->is_float = format.is_float;
	ret->is_signed = format.is_signed;
	ret->data_type = f;
	ret->order = channels;
	return CUDA_SUCCESS;
}

static void level_describe(const struct array *a, struct ptx_texture_level *ret)
{
	*ret = (struct ptx_texture_level){
		a->data,      (uint32_t)a->descriptor.Width,	 (uint32_t)a->height, (uint32_t)a->depth,
		a->row_bytes, (uint64_t)a->row_bytes * a->height
	};
}

static CUresult array_describe(const CUDA_ARRAY3D_DESCRIPTOR *d, struct array *const *level, unsigned levels,
			       struct texture_view *ret)
{
	struct ptx_texture *t = &ret->seen;
	const bool layered = d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);

	t->kind = PTX_TEXTURE_ARRAY;
	t->cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;
	t->layers = layered ? (uint32_t)d->Depth : 0;
	t->dimensions = !d->Height ? 1 : !d->Depth || layered ? 2 : 3;
	t->levels = levels;
	for (unsigned i = 0; i < levels; i++)
		level_describe(level[i], &t->level[i]);
	return elements_describe(d->Format, d->NumChannels, t);
}

static CUresult linear_describe(const CUDA_RESOURCE_DESC *r, struct texture_view *ret)
{
	struct ptx_texture *t = &ret->seen;
	CUresult e = elements_describe(r->res.linear.format, r->res.linear.numChannels, t);

	if (e)
		return e;
	if (!r->res.linear.devPtr || r->res.linear.devPtr % ALIGNMENT ||
	    r->res.linear.sizeInBytes / t->element_bytes > LINEAR_MOST || !r->res.linear.sizeInBytes)
		return CUDA_ERROR_INVALID_VALUE;
	t->kind = PTX_TEXTURE_LINEAR;
	t->dimensions = t->levels = 1;
	t->level[0] = (struct ptx_texture_level){
		r->res.linear.devPtr, (uint32_t)(r->res.linear.sizeInBytes / t->element_bytes), 1, 1, 0, 0
	};
	ret->bytes = r->res.linear.sizeInBytes;
	return CUDA_SUCCESS;
}

static CUresult pitch_describe(const CUDA_RESOURCE_DESC *r, struct texture_view *ret)
{
	const size_t width = r->res.pitch2D.width, height = r->res.pitch2D.height, pitch = r->res.pitch2D.pitchInBytes;
	struct ptx_texture *t = &ret->seen;
	CUresult e = elements_describe(r->res.pitch2D.format, r->res.pitch2D.numChannels, t);

	if (e)
		return e;
	if (!r->res.pitch2D.devPtr || r->res.pitch2D.devPtr % ALIGNMENT || pitch % PITCH_ALIGNMENT || !width ||
	    !height || width > PITCH_WIDTH_MOST || height > PITCH_HEIGHT_MOST || pitch > PITCH_BYTES_MOST ||
	    width * t->element_bytes > pitch)
		return CUDA_ERROR_INVALID_VALUE;
	t->kind = PTX_TEXTURE_PITCH;
	t->dimensions = 2;
	t->levels = 1;
	t->level[0] =
		(struct ptx_texture_level){ r->res.pitch2D.devPtr, (uint32_t)width, (uint32_t)height, 1, pitch, 0 };
	ret->bytes = pitch * (height - 1) + width * t->element_bytes;
	return CUDA_SUCCESS;
}

static CUresult source_keep(struct texture_view *v, struct handle *h)
{
	v->source = h;
	v->source_type = (enum handle_type)h->type;
	v->source_generation = h->generation;
	return CUDA_SUCCESS;
}

static CUresult resource_describe(const CUDA_RESOURCE_DESC *r, struct texture_view *ret)
{
	struct mipmap *m;
	struct array *a;
	CUresult e;

	*ret = (struct texture_view){ 0 };
	if (r->flags)
		return CUDA_ERROR_INVALID_VALUE;
	switch (r->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		e = array_find(r->res.array.hArray, &a);
		if (e)
			return e;
		e = array_describe(&a->descriptor, &a, 1, ret);
		return e ? e : source_keep(ret, &a->head);
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		m = handle_find(HANDLE_MIPMAP, r->res.mipmap.hMipmappedArray);
		if (!m)
			return CUDA_ERROR_INVALID_HANDLE;
		e = array_describe(&m->descriptor, m->level, m->levels, ret);
		return e ? e : source_keep(ret, &m->head);
	case CU_RESOURCE_TYPE_LINEAR:
		return linear_describe(r, ret);
	case CU_RESOURCE_TYPE_PITCH2D:
		return pitch_describe(r, ret);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* A part of the levels and layers, perhaps in another format of the same size. */
static CUresult area_apply(const CUDA_RESOURCE_VIEW_DESC *v, struct ptx_texture *t)
{
	const struct ptx_texture_level *l = &t->level[0];
	const unsigned bytes = t->element_bytes;
	CUarray_format format;
	unsigned channels;
	CUresult e;

	if (t->kind != PTX_TEXTURE_ARRAY)
		return CUDA_ERROR_INVALID_VALUE;
	if (v->format != CU_RES_VIEW_FORMAT_NONE) {
		if (!format_of_view(v->format, &format, &channels))
			return CUDA_ERROR_NOT_SUPPORTED;
		e = elements_describe(format, channels, t);
		if (e)
			return e;
	}
	if (t->element_bytes != bytes || v->width != l->width || v->height != (t->dimensions > 1 ? l->height : 0) ||
	    v->depth != (t->dimensions > 2 || t->layers ? l->depth : 0))
		return CUDA_ERROR_INVALID_VALUE;
	if (v->firstMipmapLevel > v->lastMipmapLevel || v->lastMipmapLevel >= t->levels ||
	    v->firstLayer > v->lastLayer || v->lastLayer >= (t->layers ? t->layers : 1))
		return CUDA_ERROR_INVALID_VALUE;
	t->levels = v->lastMipmapLevel - v->firstMipmapLevel + 1;
	memmove(t->level, t->level + v->firstMipmapLevel, t->levels * sizeof(*t->level));
	if (!t->layers)
		return CUDA_SUCCESS;
	t->layers = v->lastLayer - v->firstLayer + 1;
	if (t->cube && t->layers % 6)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < t->levels; i++)
		t->level[i].data += v->firstLayer * t->level[i].slice;
	return CUDA_SUCCESS;
}

/* Unnormalised coordinates know clamping and borders only; the other modes act as clamping. */
static uint8_t address_mode(CUaddress_mode m, bool normalized)
{
	switch (m) {
	case CU_TR_ADDRESS_MODE_BORDER:
		return PTX_ADDRESS_BORDER;
	case CU_TR_ADDRESS_MODE_WRAP:
		return normalized ? PTX_ADDRESS_WRAP : PTX_ADDRESS_CLAMP;
	case CU_TR_ADDRESS_MODE_MIRROR:
		return normalized ? PTX_ADDRESS_MIRROR : PTX_ADDRESS_CLAMP;
	default:
		return PTX_ADDRESS_CLAMP;
	}
}

static uint32_t border_integer(float x)
{
	return x >= 2147483648.0f   ? (x < 4294967296.0f ? (uint32_t)x : UINT32_MAX)
	       : x > -2147483648.0f ? (uint32_t)(int32_t)x
	       : x == x		    ? 0x80000000u
				    : 0;
}

/* Drivers accept this, and what the hardware then returns is documented nowhere. */
static CUresult integers_filtered(void)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		log_line("texture: integers that are read as such cannot be filtered linearly on the software device: "
			 "use CU_TR_FILTER_MODE_POINT, or read them as floats");
	return CUDA_ERROR_INVALID_VALUE;
}

static CUresult sampling_apply(const CUDA_TEXTURE_DESC *s, struct ptx_texture *t)
{
	const bool normalized = s->flags & CU_TRSF_NORMALIZED_COORDINATES;
	struct format format;

	if (s->flags & ~(unsigned)SAMPLING_FLAGS || (unsigned)s->filterMode > CU_TR_FILTER_MODE_LINEAR ||
	    (unsigned)s->mipmapFilterMode > CU_TR_FILTER_MODE_LINEAR)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < 3; i++) {
		if ((unsigned)s->addressMode[i] > CU_TR_ADDRESS_MODE_BORDER)
			return CUDA_ERROR_INVALID_VALUE;
		t->sampler.address[i] = address_mode(s->addressMode[i], normalized);
	}
	if (t->kind == PTX_TEXTURE_ARRAY && t->levels > 1 && !normalized)
		return CUDA_ERROR_INVALID_VALUE;
	format_find((CUarray_format)t->data_type, &format);
	if (!(s->flags & CU_TRSF_READ_AS_INTEGER))
		t->texel = format.normalized;
	if (s->flags & CU_TRSF_SRGB) {
		if (t->texel != PTX_TEXEL_UNORM8)
			return CUDA_ERROR_INVALID_VALUE;
		t->texel = PTX_TEXEL_SRGB8;
	}
	if (s->filterMode == CU_TR_FILTER_MODE_LINEAR && t->kind != PTX_TEXTURE_LINEAR && t->texel < PTX_TEXEL_F32)
		return integers_filtered();
	t->sampler.linear = s->filterMode == CU_TR_FILTER_MODE_LINEAR;
	t->sampler.normalized = normalized;
	t->linear_levels = s->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
	t->seamless = s->flags & CU_TRSF_SEAMLESS_CUBEMAP;
	t->bias = s->mipmapLevelBias;
	t->level_min = s->minMipmapLevelClamp;
	t->level_max = s->maxMipmapLevelClamp;
	for (int i = 0; i < 4; i++) {
		t->border[i] = s->borderColor[i];
		t->border_bits[i] = border_integer(s->borderColor[i]);
	}
	ptx_texture_tables();
	return CUDA_SUCCESS;
}

/* Whether a kernel of this context may read all of [address, address + bytes). */
static bool memory_accessible(struct context *c, uint64_t address, uint64_t bytes)
{
	uint64_t end;

	if (__builtin_add_overflow(address, bytes, &end))
		return false;
	while (address < end) {
		struct ptx_range r;

		if (!range_accessible(c, address, &r) || r.end <= address)
			return false;
		address = r.end;
	}
	return true;
}

CUresult texture_view_make(struct context *c, const CUDA_RESOURCE_DESC *r, const CUDA_TEXTURE_DESC *s,
			   const CUDA_RESOURCE_VIEW_DESC *area, struct texture_view *ret)
{
	CUresult e = resource_describe(r, ret);

	if (!e && area)
		e = area_apply(area, &ret->seen);
	if (!e)
		e = sampling_apply(s, &ret->seen);
	if (!e && !ret->source && !memory_accessible(c, ret->seen.level[0].data, ret->bytes))
		e = CUDA_ERROR_INVALID_VALUE;
	return e;
}

CUresult surface_view_make(const CUDA_RESOURCE_DESC *r, struct texture_view *ret)
{
	struct array *a;
	CUresult e;

	if (r->resType != CU_RESOURCE_TYPE_ARRAY)
		return CUDA_ERROR_INVALID_VALUE;
	e = resource_describe(r, ret);
	if (e)
		return e;
	e = array_find(r->res.array.hArray, &a);
	if (!e && !(a->descriptor.Flags & CUDA_ARRAY3D_SURFACE_LDST))
		e = CUDA_ERROR_INVALID_VALUE;
	return e;
}

/* ---- numbers ---- */

/*
 * Textures and surfaces have one table, and the next one has the lowest free number, from 1 on: seen on an H200 with
 * driver 580, where each context has a table of its own.
 */
static pthread_mutex_t number_mutex = PTHREAD_MUTEX_INITIALIZER; /* guards changes, and what follows */
static struct texture *_Atomic numbered[NUMBERS];
static uint32_t lowest = 1; /* nothing below is free */

/* False: too many. */
static bool number_take(struct texture *t)
{
	bool found;

	pthread_mutex_lock(&number_mutex);
	while (lowest < NUMBERS && numbered[lowest])
		lowest++;
	found = lowest < NUMBERS;
	if (found) {
		t->number = lowest;
		numbered[lowest++] = t;
	}
	pthread_mutex_unlock(&number_mutex);
	return found;
}

static void number_give(uint32_t number)
{
	pthread_mutex_lock(&number_mutex);
	numbered[number] = NULL;
	if (number < lowest)
		lowest = number;
	pthread_mutex_unlock(&number_mutex);
}

static struct texture *number_find(enum handle_type type, uint64_t number)
{
	struct texture *t = number && number < NUMBERS ? numbered[number] : NULL;

	return t && t->head.type == (uint32_t)type ? handle_find(type, t) : NULL;
}

/* ---- what a handle means to a kernel ---- */

static bool view_live(const struct texture_view *v, struct context *c)
{
	if (v->source)
		return handle_find(v->source_type, v->source) && v->source->generation == v->source_generation;
	return memory_accessible(c, v->seen.level[0].data, v->bytes);
}

static const struct ptx_texture *texref_seen(struct texref *r, struct context *c, enum ptx_texture_use use)
{
	const bool surface = r->kind == PTX_SURFREF;

	if (r->context != c || surface != (use == PTX_USE_SURFACE))
		return NULL;
	if (use == PTX_USE_SAMPLER)
		return &r->view.seen;
	return r->kind != PTX_SAMPLERREF && r->usable && view_live(&r->view, c) ? &r->view.seen : NULL;
}

const struct ptx_texture *texture_find(void *context, uint64_t handle, enum ptx_texture_use use)
{
	struct texture *t = number_find(use == PTX_USE_SURFACE ? HANDLE_SURFACE : HANDLE_TEXTURE, handle);
	struct texref *r = t ? NULL : handle_find(HANDLE_TEXREF, (const void *)(uintptr_t)handle);

	if (r)
		return texref_seen(r, context, use);
	if (!t || t->context != context)
		return NULL;
	return use == PTX_USE_SAMPLER || view_live(&t->view, context) ? &t->view.seen : NULL;
}

/* ---- texture objects ---- */

static struct texture *texture_new(enum handle_type type, struct context *c)
{
	struct texture *t = handle_new_of(type, c);

	if (t && number_take(t))
		return t;
	if (t)
		handle_free(t);
	return NULL;
}

static void texture_free(struct texture *t)
{
	number_give(t->number);
	handle_free(t);
}

CUresult soft_cuTexObjectCreate(CUtexObject *ret, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *sampling,
				const CUDA_RESOURCE_VIEW_DESC *area)
{
	struct texture_view view;
	struct texture *t;
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!ret || !resource || !sampling)
		return CUDA_ERROR_INVALID_VALUE;
	e = texture_view_make(c, resource, sampling, area, &view);
	if (e)
		return e;
	t = texture_new(HANDLE_TEXTURE, c);
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->context = c;
	t->resource = *resource;
	t->sampling = *sampling;
	t->has_area = area;
	if (area)
		t->area = *area;
	t->view = view;
	*ret = t->number;
	return CUDA_SUCCESS;
}

static CUresult object_find(enum handle_type type, uint64_t handle, struct texture **ret)
{
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	*ret = number_find(type, handle);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult object_destroy(enum handle_type type, uint64_t handle)
{
	struct texture *t;
	CUresult e = object_find(type, handle, &t);

	if (e)
		return e;
	stream_wait_device(t->context->device); /* kernels in flight look it up when they come to it */
	if (!handle_retire(t))
		return CUDA_ERROR_INVALID_VALUE;
	texture_free(t);
	return CUDA_SUCCESS;
}

CUresult soft_cuTexObjectDestroy(CUtexObject handle)
{
	return object_destroy(HANDLE_TEXTURE, handle);
}

CUresult soft_cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *ret, CUtexObject handle)
{
	struct texture *t;
	CUresult e = object_find(HANDLE_TEXTURE, handle, &t);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = t->resource;
	return CUDA_SUCCESS;
}

CUresult soft_cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *ret, CUtexObject handle)
{
	struct texture *t;
	CUresult e = object_find(HANDLE_TEXTURE, handle, &t);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = t->sampling;
	return CUDA_SUCCESS;
}

/* The documentation: an error for an object that was made without one. */
CUresult soft_cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *ret, CUtexObject handle)
{
	struct texture *t;
	CUresult e = object_find(HANDLE_TEXTURE, handle, &t);

	if (e)
		return e;
	if (!ret || !t->has_area)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = t->area;
	return CUDA_SUCCESS;
}

/* ---- surface objects ---- */

CUresult soft_cuSurfObjectCreate(CUsurfObject *ret, const CUDA_RESOURCE_DESC *resource)
{
	struct texture_view view;
	struct texture *t;
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!ret || !resource)
		return CUDA_ERROR_INVALID_VALUE;
	e = surface_view_make(resource, &view);
	if (e)
		return e;
	t = texture_new(HANDLE_SURFACE, c);
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->context = c;
	t->resource = *resource;
	t->view = view;
	*ret = t->number;
	return CUDA_SUCCESS;
}

CUresult soft_cuSurfObjectDestroy(CUsurfObject handle)
{
	return object_destroy(HANDLE_SURFACE, handle);
}

CUresult soft_cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *ret, CUsurfObject handle)
{
	struct texture *t;
	CUresult e = object_find(HANDLE_SURFACE, handle, &t);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = t->resource;
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceGetTexture1DLinearMaxWidth(size_t *ret, CUarray_format f, unsigned channels, CUdevice ordinal)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	if (!ret || !format_element_bytes(f, channels))
		return CUDA_ERROR_INVALID_VALUE;
	*ret = LINEAR_MOST;
	return CUDA_SUCCESS;
}

static void object_end(void *object)
{
	texture_free(object);
}

static void texref_end(void *object, void *context)
{
	struct texref *r = object;

	if (r->context == context && r->created)
		handle_free(r);
}

void texture_free_all(struct context *c)
{
	handle_end_all(HANDLE_TEXTURE, c, object_end);
	handle_end_all(HANDLE_SURFACE, c, object_end);
	handle_each(HANDLE_TEXREF, texref_end, c);
}
