/* array.c: see array.h. */
#include "softdev/array.h"

#include "softdev/context.h"
#include "softdev/format.h"
#include "softdev/stream.h"

#include <string.h>

#define SIDE_MOST 131072u
#define DEPTH_MOST 16384u
#define FLAGS_KNOWN                                                                                                    \
	(CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER |       \
	 CUDA_ARRAY3D_DEPTH_TEXTURE | CUDA_ARRAY3D_COLOR_ATTACHMENT)

static CUresult descriptor_check(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	bool cube = d->Flags & CUDA_ARRAY3D_CUBEMAP, layered = d->Flags & CUDA_ARRAY3D_LAYERED;
	struct format format;

	if (d->Flags & ~(unsigned)FLAGS_KNOWN)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!format_find(d->Format, &format))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!format_element_bytes(d->Format, d->NumChannels))
		return CUDA_ERROR_INVALID_VALUE;
	if (!d->Width || d->Width > SIDE_MOST || d->Height > SIDE_MOST || d->Depth > DEPTH_MOST)
		return CUDA_ERROR_INVALID_VALUE;
	if (!d->Height && d->Depth && !layered)
		return CUDA_ERROR_INVALID_VALUE;
	if (layered && !d->Depth)
		return CUDA_ERROR_INVALID_VALUE;
	if (cube && (d->Width != d->Height || d->Depth % 6 || !d->Depth || (!layered && d->Depth != 6)))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static void array_shape(struct array *a, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	a->descriptor = *d;
	a->element_bytes = format_element_bytes(d->Format, d->NumChannels);
	a->row_bytes = a->element_bytes * d->Width;
	a->height = d->Height ? d->Height : 1;
	a->depth = d->Depth ? d->Depth : 1;
}

static uint64_t array_bytes(const struct array *a)
{
	return (uint64_t)a->row_bytes * a->height * a->depth;
}

CUresult array_find(CUarray h, struct array **ret)
{
	*ret = handle_find(HANDLE_ARRAY, h);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult soft_cuArray3DCreate_v2(CUarray *ret, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	struct context *c;
	struct array *a;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!ret || !d)
		return CUDA_ERROR_INVALID_VALUE;
	e = descriptor_check(d);
	if (e)
		return e;
	a = handle_new_of(HANDLE_ARRAY, c);
	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	array_shape(a, d);
	a->context = c;
	e = range_new(c->device, c, RANGE_ARRAY, array_bytes(a), &a->range);
	if (e) {
		handle_free(a);
		return e;
	}
	a->data = a->range->begin;
	*ret = (CUarray)a;
	return CUDA_SUCCESS;
}

CUresult soft_cuArrayCreate_v2(CUarray *ret, const CUDA_ARRAY_DESCRIPTOR *d)
{
	CUDA_ARRAY3D_DESCRIPTOR wide = { 0 };

	if (d) {
		wide.Width = d->Width;
		wide.Height = d->Height;
		wide.Format = d->Format;
		wide.NumChannels = d->NumChannels;
	}
	return soft_cuArray3DCreate_v2(ret, d ? &wide : NULL);
}

CUresult soft_cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *ret, CUarray h)
{
	struct context *c;
	struct array *a;
	CUresult e = context_current(&c);

	if (!e)
		e = array_find(h, &a);
	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = a->descriptor;
	return CUDA_SUCCESS;
}

CUresult soft_cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *ret, CUarray h)
{
	CUDA_ARRAY3D_DESCRIPTOR wide;
	CUresult e = soft_cuArray3DGetDescriptor_v2(&wide, h);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUDA_ARRAY_DESCRIPTOR){ wide.Width, wide.Height, wide.Format, wide.NumChannels };
	return CUDA_SUCCESS;
}

CUresult soft_cuArrayDestroy(CUarray h)
{
	struct context *c;
	struct array *a;
	CUresult e = context_current(&c);

	if (!e)
		e = array_find(h, &a);
	if (e)
		return e;
	if (a->mipmap)
		return CUDA_ERROR_INVALID_HANDLE;
	stream_wait_device(a->range->device); /* kernels in flight find it through their textures */
	if (!handle_retire(a))
		return CUDA_ERROR_INVALID_HANDLE;
	range_free(a->range);
	handle_free(a);
	return CUDA_SUCCESS;
}

/* ---- mipmaps ---- */

/* The shape of one level: each side is halved, layers are not. */
static CUDA_ARRAY3D_DESCRIPTOR level_descriptor(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned level)
{
	CUDA_ARRAY3D_DESCRIPTOR l = *d;

	l.Width = d->Width >> level ? d->Width >> level : 1;
	if (d->Height)
		l.Height = d->Height >> level ? d->Height >> level : 1;
	if (d->Depth && !(d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)))
		l.Depth = d->Depth >> level ? d->Depth >> level : 1;
	return l;
}

static unsigned levels_most(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	size_t side = d->Width > d->Height ? d->Width : d->Height;
	unsigned levels = 1;

	if (!(d->Flags & CUDA_ARRAY3D_LAYERED) && d->Depth > side)
		side = d->Depth;
	while (side >>= 1)
		levels++;
	return levels < MIPMAP_LEVELS ? levels : MIPMAP_LEVELS;
}

uint64_t array_need_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels)
{
	uint64_t bytes = 0;

	if (descriptor_check(d))
		return 0;
	if (levels > levels_most(d))
		levels = levels_most(d);
	for (unsigned level = 0; level < (levels ? levels : 1); level++) {
		CUDA_ARRAY3D_DESCRIPTOR l = level_descriptor(d, level);
		struct array a;

		array_shape(&a, &l);
		bytes += array_bytes(&a);
	}
	return bytes;
}

static void mipmap_free(struct mipmap *m)
{
	for (unsigned i = 0; i < m->levels; i++)
		if (m->level[i])
			handle_free(m->level[i]);
	handle_free(m);
}

static CUresult mipmap_fill(struct mipmap *m)
{
	uint64_t offset[MIPMAP_LEVELS], all = 0;
	CUresult e;

	for (unsigned i = 0; i < m->levels; i++) {
		CUDA_ARRAY3D_DESCRIPTOR d = level_descriptor(&m->descriptor, i);
		struct array *a = m->level[i] = handle_new_of(HANDLE_ARRAY, m);

		if (!a)
			return CUDA_ERROR_OUT_OF_MEMORY;
		array_shape(a, &d);
		a->mipmap = m;
		a->context = m->context;
		offset[i] = all;
		all += array_bytes(a);
	}
	e = range_new(m->context->device, m->context, RANGE_ARRAY, all, &m->range);
	for (unsigned i = 0; !e && i < m->levels; i++)
		m->level[i]->data = m->range->begin + offset[i];
	return e;
}

CUresult soft_cuMipmappedArrayCreate(CUmipmappedArray *ret, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels)
{
	struct context *c;
	struct mipmap *m;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!ret || !d || !levels)
		return CUDA_ERROR_INVALID_VALUE;
	e = descriptor_check(d);
	if (e)
		return e;
	m = handle_new_of(HANDLE_MIPMAP, c);
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->context = c;
	m->descriptor = *d;
	m->levels = levels < levels_most(d) ? levels : levels_most(d);
	e = mipmap_fill(m);
	if (e)
		mipmap_free(m);
	else
		*ret = (CUmipmappedArray)m;
	return e;
}

CUresult soft_cuMipmappedArrayGetLevel(CUarray *ret, CUmipmappedArray h, unsigned level)
{
	struct context *c;
	struct mipmap *m;
	CUresult e = context_current(&c);

	if (e)
		return e;
	m = handle_find(HANDLE_MIPMAP, h);
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret || level >= m->levels)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUarray)m->level[level];
	return CUDA_SUCCESS;
}

CUresult soft_cuMipmappedArrayDestroy(CUmipmappedArray h)
{
	struct context *c;
	struct mipmap *m;
	CUresult e = context_current(&c);

	if (e)
		return e;
	m = handle_find(HANDLE_MIPMAP, h);
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	stream_wait_device(m->range->device);
	if (!handle_retire(m))
		return CUDA_ERROR_INVALID_HANDLE;
	range_free(m->range);
	mipmap_free(m);
	return CUDA_SUCCESS;
}

static void mipmap_end(void *object)
{
	mipmap_free(object);
}

void array_free_all(struct context *c)
{
	handle_end_all(HANDLE_ARRAY, c, handle_free);
	handle_end_all(HANDLE_MIPMAP, c, mipmap_end);
}
