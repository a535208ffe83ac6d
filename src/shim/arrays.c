/*
 * arrays.c: arrays and mipmaps. The software device says what one takes (wire/soft_usage.h), so there it is charged
 * like a plain allocation. How a real driver lays them out is its own affair, so they are measured; what their elements
 * need at least is known, and refuses the hopeless ones before the driver is asked. What they may need at most is a
 * guess at first: only where it was too small is everything set aside.
 */
#include "cuda_shim.h"
#include "core/account.h"
#include "shim/array_format.h"
#include "core/charge.h"
#include "shim/contexts.h"
#include "shim/cuda_figure.h"
#include "core/gate.h"
#include "core/measured.h"
#include "shim/memory.h"
#include "core/records.h"
#include "shim/start.h"
#include "shim/vmm.h"
#include "wire/soft_usage.h"

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

/* Tiles of a real driver are no larger than this, and a mipmap adds at most its first level again. */
#define TILE_ROW_BYTES 512u
#define TILE_ROWS 128u

static uint64_t round_up(uint64_t value, uint64_t step)
{
	return (value + step - 1) / step * step;
}

/* Where a real driver's array is likely to fit, in units; MEASURED_UNKNOWN: no idea. */
static uint64_t likely_units(const CUDA_ARRAY3D_DESCRIPTOR *d, const struct make *make, unsigned int device)
{
	uint64_t bytes = least_bytes(d), rows = d->Height ? d->Height : 1, layers = d->Depth ? d->Depth : 1, row;

	if (!bytes || bytes > (uint64_t)WIRE_MAX_UNITS * WIRE_UNIT_BYTES)
		return MEASURED_UNKNOWN;
	row = bytes / layers / rows;
	if (__builtin_mul_overflow(round_up(row, TILE_ROW_BYTES), round_up(rows, TILE_ROWS), &bytes) ||
	    __builtin_mul_overflow(bytes, make->levels > 1 ? layers * 2 : layers, &bytes))
		return MEASURED_UNKNOWN;
	return charge_units(device, bytes) + accounts[device].granule_units;
}

static bool remember(void *made, CUcontext context, unsigned int device, uint32_t units, uint8_t flags)
{
	return records_add(&(struct record){ .key = record_handle(made),
					     .context = context,
					     .units = units,
					     .kind = RECORD_ARRAY,
					     .flags = flags,
					     .device = (uint8_t)device });
}

/* What an array takes is known to the byte. */
static CUresult create_exact(void **ret, const struct make *make, const CUDA_ARRAY3D_DESCRIPTOR *shape,
			     struct charge *c, uint64_t bytes)
{
	CUresult r;

	if (charge_begin_units(c, c->device, wire_units(bytes)) != CHARGE_HELD)
		return refusal(make, least_bytes(shape));
	r = ask_driver(ret, make);
	if (r == CUDA_SUCCESS && !remember(*ret, c->context, c->device, c->units, RECORD_EXACT)) {
		unmake(*ret, make);
		r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (r == CUDA_SUCCESS)
		gate_leave();
	else
		charge_cancel(c);
	return r;
}

/* Measured, with at most `most` units set aside. False: the array took more, and is gone again. */
static bool create_within(void **ret, const struct make *make, const CUDA_ARRAY3D_DESCRIPTOR *shape,
			  const struct charge *c, uint64_t most, CUresult *ret_r)
{
	uint64_t least = measured_least_units(c->device, least_bytes(shape));
	struct measured m;
	uint32_t units = 0;

	if (measured_begin(&m, c->device, least, most) != MEASURED_READY) {
		*ret_r = refusal(make, least_bytes(shape));
		return true;
	}
	m.floor_units = (uint32_t)least;
	*ret_r = ask_driver(ret, make);
	if (*ret_r != CUDA_SUCCESS) {
		measured_cancel(&m);
		return true;
	}
	if (measured_end(&m, &units) == MEASURED_OVER) {
		unmake(*ret, make);
		measured_cancel(&m);
		*ret_r = CUDA_ERROR_OUT_OF_MEMORY;
		return false;
	}
	if (!remember(*ret, c->context, c->device, units, 0)) {
		measured_begin_release(&m, c->device);
		unmake(*ret, make);
		measured_end_release(&m, 0, units);
		*ret_r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	return true;
}

static CUresult create_measured(void **ret, const struct make *make, const CUDA_ARRAY3D_DESCRIPTOR *shape,
				const struct charge *c)
{
	uint64_t most = likely_units(shape, make, c->device);
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

	if (!create_within(ret, make, shape, c, most, &r) && most != MEASURED_UNKNOWN)
		create_within(ret, make, shape, c, MEASURED_UNKNOWN, &r);
	return r;
}

/* Charged and made. */
static CUresult create(void *ret, const struct make *make, const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
	const struct soft_usage_table *soft;
	struct charge c = { 0 };
	uint64_t bytes = 0;
	void *made = NULL;
	CUresult r;
	int found;

	found = ret && shape ? charge_current(&c.context, &c.device) : CHARGE_NOT_OURS;
	if (found == CHARGE_NOT_OURS)
		return ret && shape && contexts_lack(&r) ? r : ask_driver(ret, make);
	if (found == CHARGE_REFUSED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	soft = cuda_figure_soft(c.device);
	if (soft)
		bytes = soft->array_bytes(shape, make->levels);
	r = bytes ? create_exact(&made, make, shape, &c, bytes) : create_measured(&made, make, shape, &c);
	if (r == CUDA_SUCCESS)
		*(void **)ret = made;
	return r;
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
	uint64_t mapped;
	bool exact;
	CUresult r;

	if (!array || !records_take(record_handle(array), &record))
		return real(array);
	mapped = vmm_array_leaves(array);
	exact = record.flags & RECORD_EXACT || record.kind == RECORD_EXTERNAL;
	if (exact)
		gate_enter();
	else
		measured_begin_release(&m, record.device);
	r = real(array);
	if (r != CUDA_SUCCESS)
		records_add(&record);
	else if (exact)
		memory_refund(&record);
	if (exact)
		gate_leave();
	else
		measured_end_release(&m, 0, r == CUDA_SUCCESS ? record.units : 0);
	vmm_array_left(mapped, array, r == CUDA_SUCCESS);
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
