/*
 * texref.c: texture and surface references: variables of a module that kernels name, and that the program binds to
 * arrays or memory. Deprecated by the vendor; programs of before CUDA 12 use them.
 *
 * A setter waits for the device's work, so that kernels which were launched before see the reference as it was.
 */
#include "softdev/texture.h"

#include "softdev/array.h"
#include "softdev/format.h"
#include "softdev/module.h"
#include "softdev/stream.h"

#include <string.h>

#define ALIGNMENT 512u

static void texref_defaults(struct texref *r)
{
	for (int i = 0; i < 3; i++)
		r->sampling.addressMode[i] = CU_TR_ADDRESS_MODE_CLAMP;
	r->sampling.filterMode = CU_TR_FILTER_MODE_POINT;
	r->sampling.mipmapFilterMode = CU_TR_FILTER_MODE_POINT;
	r->format = CU_AD_FORMAT_FLOAT;
	r->channels = 1;
}

/* The view follows whatever has been set; a combination that makes no sense cannot be used until it is mended. */
static void texref_renew(struct texref *r)
{
	CUresult e = CUDA_ERROR_INVALID_VALUE;

	r->usable = false;
	if (r->kind == PTX_SURFREF && r->bound)
		e = surface_view_make(&r->resource, &r->view);
	else if (r->kind == PTX_TEXREF && r->bound)
		e = texture_view_make(r->context, &r->resource, &r->sampling, NULL, &r->view);
	r->usable = !e;
}

/* A .samplerref is never bound; its sampler is what the module says. */
static void sampler_set(struct texref *r)
{
	struct ptx_sampler *s = &r->view.seen.sampler;

	s->linear = r->sampling.filterMode == CU_TR_FILTER_MODE_LINEAR;
	s->normalized = r->sampling.flags & CU_TRSF_NORMALIZED_COORDINATES;
	for (int i = 0; i < 3; i++) {
		s->address[i] = (uint8_t)r->sampling.addressMode[i];
		if (!s->normalized && s->address[i] != PTX_ADDRESS_BORDER)
			s->address[i] = PTX_ADDRESS_CLAMP;
	}
}

CUresult texref_new(struct context *c, const struct ptx_variable *v, struct texref **ret)
{
	const struct ptx_reference *said = &v->reference;
	struct texref *r = handle_new(HANDLE_TEXREF);

	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r->context = c;
	r->kind = v->space;
	texref_defaults(r);
	if (said->linear >= 0)
		r->sampling.filterMode = (CUfilter_mode)said->linear;
	if (said->normalized > 0 || (said->normalized < 0 && r->kind == PTX_SAMPLERREF))
		r->sampling.flags |= CU_TRSF_NORMALIZED_COORDINATES;
	for (int i = 0; i < 3; i++)
		if (said->address[i] >= 0)
			r->sampling.addressMode[i] = (CUaddress_mode)said->address[i];
	sampler_set(r);
	*ret = r;
	return CUDA_SUCCESS;
}

static CUresult texref_find(const void *h, enum ptx_variable_space kind, struct texref **ret)
{
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	*ret = handle_find(HANDLE_TEXREF, h);
	return *ret && (*ret)->kind == kind ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* Before a change. */
static CUresult texref_take(const void *h, struct texref **ret)
{
	CUresult e = texref_find(h, PTX_TEXREF, ret);

	if (!e)
		stream_wait_device((*ret)->context->device);
	return e;
}

/* ---- of modules ---- */

static CUresult module_reference(CUmodule h, const char *name, enum ptx_variable_space kind, void **ret)
{
	const struct ptx_variable *v;
	struct context *c;
	struct module *m;
	CUresult e = context_current(&c);

	if (e)
		return e;
	m = handle_find(HANDLE_MODULE, h);
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret || !name || !name[0])
		return CUDA_ERROR_INVALID_VALUE;
	v = ptx_module_variable_find(m->ptx, name);
	if (!v || v->space != kind)
		return CUDA_ERROR_NOT_FOUND;
	atomic_store(&m->asked, true);
	*ret = (void *)(uintptr_t)v->address;
	return CUDA_SUCCESS;
}

CUresult soft_cuModuleGetTexRef(CUtexref *ret, CUmodule h, const char *name)
{
	return module_reference(h, name, PTX_TEXREF, (void **)ret);
}

CUresult soft_cuModuleGetSurfRef(CUsurfref *ret, CUmodule h, const char *name)
{
	return module_reference(h, name, PTX_SURFREF, (void **)ret);
}

/* The documentation: nothing but CU_PARAM_TR_DEFAULT is taken; kernels name their references themselves. */
CUresult soft_cuParamSetTexRef(CUfunction f, int unit, CUtexref h)
{
	struct texref *r;
	CUresult e = texref_find(h, PTX_TEXREF, &r);

	return e ? e : unit == CU_PARAM_TR_DEFAULT ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuTexRefCreate(CUtexref *ret)
{
	struct ptx_variable v = { .space = PTX_TEXREF, .reference = { { -1, -1, -1 }, -1, -1 } };
	struct texref *r;
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	e = texref_new(c, &v, &r);
	if (e)
		return e;
	r->created = true;
	*ret = (CUtexref)r;
	return CUDA_SUCCESS;
}

CUresult soft_cuTexRefDestroy(CUtexref h)
{
	struct texref *r;
	CUresult e = texref_take(h, &r);

	if (e)
		return e;
	if (!r->created || !handle_retire(r))
		return CUDA_ERROR_INVALID_HANDLE;
	handle_free(r);
	return CUDA_SUCCESS;
}

/* ---- binding ---- */

CUresult soft_cuTexRefSetArray(CUtexref h, CUarray array, unsigned flags)
{
	struct texref *r;
	struct array *a;
	CUresult e = texref_take(h, &r);

	if (!e)
		e = array_find(array, &a);
	if (e)
		return e;
	if (flags != CU_TRSA_OVERRIDE_FORMAT)
		return CUDA_ERROR_INVALID_VALUE;
	r->resource = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array };
	r->format = a->descriptor.Format;
	r->channels = a->descriptor.NumChannels;
	r->bound = true;
	texref_renew(r);
	return CUDA_SUCCESS;
}

CUresult soft_cuTexRefSetMipmappedArray(CUtexref h, CUmipmappedArray array, unsigned flags)
{
	struct texref *r;
	struct mipmap *m;
	CUresult e = texref_take(h, &r);

	if (e)
		return e;
	m = handle_find(HANDLE_MIPMAP, array);
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags != CU_TRSA_OVERRIDE_FORMAT)
		return CUDA_ERROR_INVALID_VALUE;
	r->resource = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
					    .res.mipmap.hMipmappedArray = array };
	r->format = m->descriptor.Format;
	r->channels = m->descriptor.NumChannels;
	r->bound = true;
	texref_renew(r);
	return CUDA_SUCCESS;
}

/* Memory that does not begin where a texture may: the kernel adds the offset, so the texture begins before it. */
CUresult soft_cuTexRefSetAddress_v2(size_t *ret_offset, CUtexref h, CUdeviceptr address, size_t bytes)
{
	const size_t offset = address % ALIGNMENT;
	struct texref *r;
	CUresult e = texref_take(h, &r);

	if (e)
		return e;
	if (offset && !ret_offset)
		return CUDA_ERROR_INVALID_VALUE;
	r->resource = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_LINEAR };
	r->resource.res.linear.devPtr = address - offset;
	r->resource.res.linear.sizeInBytes = bytes + offset;
	r->resource.res.linear.format = r->format;
	r->resource.res.linear.numChannels = r->channels;
	r->bound = address;
	texref_renew(r);
	if (address && !r->usable)
		return CUDA_ERROR_INVALID_VALUE;
	if (ret_offset)
		*ret_offset = offset;
	return CUDA_SUCCESS;
}

CUresult soft_cuTexRefSetAddress2D_v3(CUtexref h, const CUDA_ARRAY_DESCRIPTOR *d, CUdeviceptr address, size_t pitch)
{
	struct texref *r;
	CUresult e = texref_take(h, &r);

	if (e)
		return e;
	if (!d || address % ALIGNMENT)
		return CUDA_ERROR_INVALID_VALUE;
	r->resource = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_PITCH2D };
	r->resource.res.pitch2D.devPtr = address;
	r->resource.res.pitch2D.format = r->format = d->Format;
	r->resource.res.pitch2D.numChannels = r->channels = d->NumChannels;
	r->resource.res.pitch2D.width = d->Width;
	r->resource.res.pitch2D.height = d->Height;
	r->resource.res.pitch2D.pitchInBytes = pitch;
	r->bound = address;
	texref_renew(r);
	return address && !r->usable ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult soft_cuTexRefSetAddress2D_v2(CUtexref h, const CUDA_ARRAY_DESCRIPTOR *d, CUdeviceptr address, size_t pitch)
{
	return soft_cuTexRefSetAddress2D_v3(h, d, address, pitch);
}

CUresult soft_cuTexRefSetFormat(CUtexref h, CUarray_format f, int channels)
{
	struct texref *r;
	CUresult e = texref_take(h, &r);

	if (e)
		return e;
	if (!format_element_bytes(f, (unsigned)channels))
		return CUDA_ERROR_INVALID_VALUE;
	r->format = f;
	r->channels = (unsigned)channels;
	if (r->bound && r->resource.resType == CU_RESOURCE_TYPE_LINEAR) {
		r->resource.res.linear.format = f;
		r->resource.res.linear.numChannels = (unsigned)channels;
		texref_renew(r);
	}
	return CUDA_SUCCESS;
}

/* ---- sampling ---- */

CUresult soft_cuTexRefSetAddressMode(CUtexref h, int axis, CUaddress_mode mode)
{
	struct texref *r;
	CUresult e = texref_take(h, &r);

	if (e)
		return e;
	if (axis < 0 || axis > 2 || (unsigned)mode > CU_TR_ADDRESS_MODE_BORDER)
		return CUDA_ERROR_INVALID_VALUE;
	r->sampling.addressMode[axis] = mode;
	texref_renew(r);
	return CUDA_SUCCESS;
}

CUresult soft_cuTexRefSetFilterMode(CUtexref h, CUfilter_mode mode)
{
	struct texref *r;
	CUresult e = texref_take(h, &r);

	if (e)
		return e;
	if ((unsigned)mode > CU_TR_FILTER_MODE_LINEAR)
		return CUDA_ERROR_INVALID_VALUE;
	r->sampling.filterMode = mode;
	texref_renew(r);
	return CUDA_SUCCESS;
}

CUresult soft_cuTexRefSetMipmapFilterMode(CUtexref h, CUfilter_mode mode)
{
	struct texref *r;
	CUresult e = texref_take(h, &r);

	if (e)
		return e;
	if ((unsigned)mode > CU_TR_FILTER_MODE_LINEAR)
		return CUDA_ERROR_INVALID_VALUE;
	r->sampling.mipmapFilterMode = mode;
	texref_renew(r);
	return CUDA_SUCCESS;
}

CUresult soft_cuTexRefSetMipmapLevelBias(CUtexref h, float bias)
{
	struct texref *r;
	CUresult e = texref_take(h, &r);

	if (e)
		return e;
	r->sampling.mipmapLevelBias = bias;
	texref_renew(r);
	return CUDA_SUCCESS;
}

CUresult soft_cuTexRefSetMipmapLevelClamp(CUtexref h, float least, float most)
{
	struct texref *r;
	CUresult e = texref_take(h, &r);

	if (e)
		return e;
	r->sampling.minMipmapLevelClamp = least;
	r->sampling.maxMipmapLevelClamp = most;
	texref_renew(r);
	return CUDA_SUCCESS;
}

CUresult soft_cuTexRefSetMaxAnisotropy(CUtexref h, unsigned most)
{
	struct texref *r;
	CUresult e = texref_take(h, &r);

	if (!e)
		r->sampling.maxAnisotropy = most;
	return e;
}

CUresult soft_cuTexRefSetBorderColor(CUtexref h, float *color)
{
	struct texref *r;
	CUresult e = texref_take(h, &r);

	if (e)
		return e;
	if (!color)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(r->sampling.borderColor, color, sizeof(r->sampling.borderColor));
	texref_renew(r);
	return CUDA_SUCCESS;
}

CUresult soft_cuTexRefSetFlags(CUtexref h, unsigned flags)
{
	struct texref *r;
	CUresult e = texref_take(h, &r);

	if (e)
		return e;
	if (flags & ~(unsigned)(CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
				CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP))
		return CUDA_ERROR_INVALID_VALUE;
	r->sampling.flags = flags;
	texref_renew(r);
	return CUDA_SUCCESS;
}

/* ---- what has been set ---- */

CUresult soft_cuTexRefGetAddress_v2(CUdeviceptr *ret, CUtexref h)
{
	struct texref *r;
	CUresult e = texref_find(h, PTX_TEXREF, &r);

	if (e)
		return e;
	if (!ret || !r->bound ||
	    (r->resource.resType != CU_RESOURCE_TYPE_LINEAR && r->resource.resType != CU_RESOURCE_TYPE_PITCH2D))
		return CUDA_ERROR_INVALID_VALUE;
	*ret = r->resource.resType == CU_RESOURCE_TYPE_LINEAR ? r->resource.res.linear.devPtr
							      : r->resource.res.pitch2D.devPtr;
	return CUDA_SUCCESS;
}

CUresult soft_cuTexRefGetArray(CUarray *ret, CUtexref h)
{
	struct texref *r;
	CUresult e = texref_find(h, PTX_TEXREF, &r);

	if (e)
		return e;
	if (!ret || !r->bound || r->resource.resType != CU_RESOURCE_TYPE_ARRAY)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = r->resource.res.array.hArray;
	return CUDA_SUCCESS;
}

CUresult soft_cuTexRefGetMipmappedArray(CUmipmappedArray *ret, CUtexref h)
{
	struct texref *r;
	CUresult e = texref_find(h, PTX_TEXREF, &r);

	if (e)
		return e;
	if (!ret || !r->bound || r->resource.resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = r->resource.res.mipmap.hMipmappedArray;
	return CUDA_SUCCESS;
}

CUresult soft_cuTexRefGetAddressMode(CUaddress_mode *ret, CUtexref h, int axis)
{
	struct texref *r;
	CUresult e = texref_find(h, PTX_TEXREF, &r);

	if (e)
		return e;
	if (!ret || axis < 0 || axis > 2)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = r->sampling.addressMode[axis];
	return CUDA_SUCCESS;
}

CUresult soft_cuTexRefGetFormat(CUarray_format *ret, int *ret_channels, CUtexref h)
{
	struct texref *r;
	CUresult e = texref_find(h, PTX_TEXREF, &r);

	if (e)
		return e;
	if (!ret && !ret_channels)
		return CUDA_ERROR_INVALID_VALUE;
	if (ret)
		*ret = r->format;
	if (ret_channels)
		*ret_channels = (int)r->channels;
	return CUDA_SUCCESS;
}

CUresult soft_cuTexRefGetMipmapLevelClamp(float *ret_least, float *ret_most, CUtexref h)
{
	struct texref *r;
	CUresult e = texref_find(h, PTX_TEXREF, &r);

	if (e)
		return e;
	if (!ret_least || !ret_most)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_least = r->sampling.minMipmapLevelClamp;
	*ret_most = r->sampling.maxMipmapLevelClamp;
	return CUDA_SUCCESS;
}

CUresult soft_cuTexRefGetBorderColor(float *ret, CUtexref h)
{
	struct texref *r;
	CUresult e = texref_find(h, PTX_TEXREF, &r);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(ret, r->sampling.borderColor, sizeof(r->sampling.borderColor));
	return CUDA_SUCCESS;
}

#define GETTER(call, T, field)                                                                                         \
	CUresult call(T *ret, CUtexref h)                                                                              \
	{                                                                                                              \
		struct texref *r;                                                                                      \
		CUresult e = texref_find(h, PTX_TEXREF, &r);                                                           \
		if (e)                                                                                                 \
			return e;                                                                                      \
		if (!ret)                                                                                              \
			return CUDA_ERROR_INVALID_VALUE;                                                               \
		*ret = (T)r->sampling.field;                                                                           \
		return CUDA_SUCCESS;                                                                                   \
	}
GETTER(soft_cuTexRefGetFilterMode, CUfilter_mode, filterMode)
GETTER(soft_cuTexRefGetMipmapFilterMode, CUfilter_mode, mipmapFilterMode)
GETTER(soft_cuTexRefGetMipmapLevelBias, float, mipmapLevelBias)
GETTER(soft_cuTexRefGetMaxAnisotropy, int, maxAnisotropy)
GETTER(soft_cuTexRefGetFlags, unsigned, flags)

/* ---- surfaces ---- */

CUresult soft_cuSurfRefSetArray(CUsurfref h, CUarray array, unsigned flags)
{
	struct texref *r;
	struct array *a;
	CUresult e = texref_find(h, PTX_SURFREF, &r);

	if (!e)
		e = array_find(array, &a);
	if (e)
		return e;
	if (flags || !(a->descriptor.Flags & CUDA_ARRAY3D_SURFACE_LDST))
		return CUDA_ERROR_INVALID_VALUE;
	stream_wait_device(r->context->device);
	r->resource = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array };
	r->bound = true;
	texref_renew(r);
	return CUDA_SUCCESS;
}

CUresult soft_cuSurfRefGetArray(CUarray *ret, CUsurfref h)
{
	struct texref *r;
	CUresult e = texref_find(h, PTX_SURFREF, &r);

	if (e)
		return e;
	if (!ret || !r->bound)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = r->resource.res.array.hArray;
	return CUDA_SUCCESS;
}
