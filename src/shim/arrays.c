/*
 * arrays.c: arrays and mipmaps. How a driver lays them out is its own affair, so they are measured; what their elements
 * need at least is known, and refuses the hopeless ones before the driver is asked.
 */
#include "cuda_shim.h"
#include "shim/account.h"
#include "shim/array_format.h"
#include "shim/charge.h"
#include "shim/measured.h"
#include "shim/records.h"
#include "shim/start.h"
#include "shim/vmm.h"

#include <stdbool.h>

#define ARRAY_SPARSE 0x40u   /* CUDA_ARRAY3D_SPARSE: addresses only */
#define ARRAY_DEFERRED 0x80u /* CUDA_ARRAY3D_DEFERRED_MAPPING: likewise */

static uint64_t least_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	uint64_t bytes = d->Width;

	if (d->Flags & (ARRAY_SPARSE | ARRAY_DEFERRED))
		return 0;
	if (__builtin_mul_overflow(bytes, (uint64_t)(d->Height ? d->Height : 1), &bytes) ||
	    __builtin_mul_overflow(bytes, (uint64_t)(d->Depth ? d->Depth : 1), &bytes) ||
	    __builtin_mul_overflow(bytes, (uint64_t)d->NumChannels * array_channel_bytes(d->Format), &bytes))
		return UINT64_MAX;
	return bytes;
}

struct make {
	enum cuda_call call;
	const void *description; /* what the program gave */
	unsigned int levels;
};

static CUresult ask_driver(void *ret, const struct make *m)
{
	switch (m->call) {
	case CUDA_CALL_cuArrayCreate:
		return shim_real.cuArrayCreate(ret, m->description);
	case CUDA_CALL_cuArrayCreate_v2:
		return shim_real.cuArrayCreate_v2(ret, m->description);
	case CUDA_CALL_cuArray3DCreate:
		return shim_real.cuArray3DCreate(ret, m->description);
	case CUDA_CALL_cuArray3DCreate_v2:
		return shim_real.cuArray3DCreate_v2(ret, m->description);
	case CUDA_CALL_cuMipmappedArrayCreate:
		return shim_real.cuMipmappedArrayCreate(ret, m->description, m->levels);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

static void unmake(void *made, const struct make *m)
{
	if (m->call == CUDA_CALL_cuMipmappedArrayCreate)
		shim_real.cuMipmappedArrayDestroy(made);
	else
		shim_real.cuArrayDestroy(made);
}

/*
 * Why an array that has no room is refused. What is larger than the whole device the driver refuses as well, and
 * for a better reason where it has one: a shape that no array can have.
 */
static CUresult refusal(const struct make *m, uint64_t least)
{
	size_t free_bytes, total = 0;
	void *made = NULL;
	CUresult r;

	if (shim_real.cuMemGetInfo_v2(&free_bytes, &total) != CUDA_SUCCESS || least <= total)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = ask_driver(&made, m);
	if (r != CUDA_SUCCESS)
		return r;
	unmake(made, m);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Charged and made; `least`: what its elements need. */
static CUresult create(void *ret, const struct make *make, const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
	struct record record = { .kind = RECORD_ARRAY };
	struct measured m;
	unsigned int device;
	CUcontext context;
	uint32_t units = 0;
	void *made = NULL;
	CUresult r;

	if (!ret || !shape || charge_current(&context, &device) == CHARGE_NOT_OURS)
		return ask_driver(ret, make);
	if (charge_current(&context, &device) == CHARGE_REFUSED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (measured_begin(&m, device, wire_units(least_bytes(shape)), MEASURED_UNKNOWN) != MEASURED_READY)
		return refusal(make, least_bytes(shape));
	r = ask_driver(&made, make);
	if (r != CUDA_SUCCESS) {
		measured_cancel(&m);
		return r;
	}
	if (measured_end(&m, &units) == MEASURED_OVER) {
		unmake(made, make);
		measured_cancel(&m);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	record.key = record_handle(made);
	record.context = context;
	record.units = units;
	record.device = (uint8_t)device;
	records_add(&record);
	*(void **)ret = made;
	return CUDA_SUCCESS;
}

static CUDA_ARRAY3D_DESCRIPTOR flat(size_t width, size_t height, CUarray_format format, unsigned int channels)
{
	return (CUDA_ARRAY3D_DESCRIPTOR){ .Width = width, .Height = height, .Format = format, .NumChannels = channels };
}

CUresult shim_cuArrayCreate(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR_v1 *pAllocateArray)
{
	const CUDA_ARRAY_DESCRIPTOR_v1 *d = pAllocateArray;
	struct make make = { .call = CUDA_CALL_cuArrayCreate, .description = d };
	CUDA_ARRAY3D_DESCRIPTOR shape;

	if (d)
		shape = flat(d->Width, d->Height, d->Format, d->NumChannels);
	return create(pHandle, &make, d ? &shape : NULL);
}

CUresult shim_cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
	const CUDA_ARRAY_DESCRIPTOR *d = pAllocateArray;
	struct make make = { .call = CUDA_CALL_cuArrayCreate_v2, .description = d };
	CUDA_ARRAY3D_DESCRIPTOR shape;

	if (d)
		shape = flat(d->Width, d->Height, d->Format, d->NumChannels);
	return create(pHandle, &make, d ? &shape : NULL);
}

CUresult shim_cuArray3DCreate(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR_v1 *pAllocateArray)
{
	const CUDA_ARRAY3D_DESCRIPTOR_v1 *d = pAllocateArray;
	struct make make = { .call = CUDA_CALL_cuArray3DCreate, .description = d };
	CUDA_ARRAY3D_DESCRIPTOR shape;

	if (d) {
		shape = flat(d->Width, d->Height, d->Format, d->NumChannels);
		shape.Depth = d->Depth;
		shape.Flags = d->Flags;
	}
	return create(pHandle, &make, d ? &shape : NULL);
}

CUresult shim_cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
	struct make make = { .call = CUDA_CALL_cuArray3DCreate_v2, .description = pAllocateArray };

	return create(pHandle, &make, pAllocateArray);
}

CUresult shim_cuMipmappedArrayCreate(CUmipmappedArray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
				     unsigned int numMipmapLevels)
{
	struct make make = { .call = CUDA_CALL_cuMipmappedArrayCreate,
			     .description = pMipmappedArrayDesc,
			     .levels = numMipmapLevels };

	return create(pHandle, &make, pMipmappedArrayDesc);
}

static CUresult destroy(void *array, CUresult (*real)(void *))
{
	struct record record;
	struct measured m;
	CUresult r;

	if (!array || !records_take(record_handle(array), &record))
		return real(array);
	measured_begin_release(&m, record.device);
	r = real(array);
	if (r != CUDA_SUCCESS)
		records_add(&record);
	measured_end_release(&m, 0, r == CUDA_SUCCESS ? record.units : 0);
	if (r == CUDA_SUCCESS)
		vmm_array_gone(array);
	return r;
}

static CUresult real_array(void *array)
{
	return shim_real.cuArrayDestroy(array);
}

static CUresult real_mipmap(void *array)
{
	return shim_real.cuMipmappedArrayDestroy(array);
}

CUresult shim_cuArrayDestroy(CUarray hArray)
{
	return destroy(hArray, real_array);
}

CUresult shim_cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray)
{
	return destroy(hMipmappedArray, real_mipmap);
}
