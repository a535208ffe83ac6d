/* memory.c: see memory.h. */
#include "hip/memory.h"
#include "core/account.h"
#include "core/gate.h"
#include "core/records.h"
#include "hip/devices.h"
#include "hip/pools.h"

#include <string.h>

#define PITCH_MOST 512u /* to what a row may be rounded up; more is charged after the call */
#define UNKNOWN UINT64_MAX

hipError_t memory_begin_on(struct making *m, unsigned int device, uint64_t bytes)
{
	m->charged = false;
	if (bytes == UNKNOWN || charge_begin_units(&m->charge, device, wire_units(bytes)) != CHARGE_HELD)
		return start_no_memory();
	m->charge.context = devices_place(device);
	m->charged = true;
	return hipSuccess;
}

/* A thread on a device that is not granted gets no memory; one whose device the library does not say asks it for some.
 */
hipError_t memory_begin(struct making *m, uint64_t bytes)
{
	hipError_t r = start_refusal();
	unsigned int device;
	hip_ordinal real;

	m->charged = false;
	if (r != hipSuccess || !start_is_metered() || !bytes || shim_real.hipGetDevice(&real) != hipSuccess)
		return r;
	return devices_find(real, &device) ? memory_begin_on(m, device, bytes) : start_no_memory();
}

bool memory_made(struct making *m, hipError_t r, uint64_t key, uint8_t kind, uint32_t extra)
{
	struct record record = { .key = key,
				 .context = m->charge.context,
				 .units = m->charge.units,
				 .size_units = m->charge.units,
				 .extra = extra,
				 .kind = kind,
				 .device = (uint8_t)m->charge.device };

	if (!m->charged)
		return true;
	m->charged = false;
	if (r == hipSuccess && records_add(&record)) {
		gate_leave();
		return true;
	}
	charge_cancel(&m->charge);
	return r != hipSuccess;
}

/* What the library made is more or less than was charged. False: more cannot be had. */
static bool settle(struct making *m, uint64_t bytes)
{
	uint64_t units = wire_units(bytes);

	if (!m->charged || units == m->charge.units)
		return true;
	if (units > m->charge.units)
		return units <= WIRE_MAX_UNITS && charge_more(&m->charge, (uint32_t)units - m->charge.units);
	account_give(m->charge.device, m->charge.units - (uint32_t)units);
	m->charge.units = (uint32_t)units;
	return true;
}

void memory_give(unsigned int device, uint32_t units)
{
	gate_enter();
	account_give(device, units);
	gate_leave();
}

/* A product of sizes; UNKNOWN: beyond any memory. */
static uint64_t product(uint64_t a, uint64_t b)
{
	uint64_t r;

	return a == UNKNOWN || b == UNKNOWN || __builtin_mul_overflow(a, b, &r) ? UNKNOWN : r;
}

/* Plain memory ------------------------------------------------------------------------------------------------------
 */

static hipError_t finish_plain(struct making *m, hipError_t r, void **pointer)
{
	if (memory_made(m, r, r == hipSuccess && pointer ? record_pointer((uint64_t)(uintptr_t)*pointer) : 0,
			RECORD_PLAIN, 0))
		return r;
	shim_real.hipFree(*pointer);
	*pointer = NULL;
	return start_no_memory();
}

hipError_t shim_hipMalloc(void **ptr, size_t size)
{
	struct making m;
	hipError_t r = memory_begin(&m, size);

	return r == hipSuccess ? finish_plain(&m, shim_real.hipMalloc(ptr, size), ptr) : r;
}

hipError_t shim_hipExtMallocWithFlags(void **ptr, size_t sizeBytes, unsigned int flags)
{
	struct making m;
	hipError_t r = memory_begin(&m, sizeBytes);

	return r == hipSuccess ? finish_plain(&m, shim_real.hipExtMallocWithFlags(ptr, sizeBytes, flags), ptr) : r;
}

hipError_t shim_hipMallocManaged(void **dev_ptr, size_t size, unsigned int flags)
{
	struct making m;
	hipError_t r = memory_begin(&m, size);

	return r == hipSuccess ? finish_plain(&m, shim_real.hipMallocManaged(dev_ptr, size, flags), dev_ptr) : r;
}

static uint64_t padded(uint64_t width)
{
	return width > UNKNOWN - PITCH_MOST ? UNKNOWN : (width + PITCH_MOST - 1) / PITCH_MOST * PITCH_MOST;
}

/* Of `rows` rows; the pitch is known now. */
static hipError_t finish_pitched(struct making *m, hipError_t r, void **pointer, uint64_t pitch, uint64_t rows)
{
	if (r == hipSuccess && !settle(m, product(pitch, rows))) {
		shim_real.hipFree(*pointer);
		*pointer = NULL;
		charge_cancel(&m->charge);
		return start_no_memory();
	}
	return finish_plain(m, r, pointer);
}

hipError_t shim_hipMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
	struct making m;
	hipError_t r = memory_begin(&m, product(padded(width), height));

	if (r != hipSuccess)
		return r;
	r = shim_real.hipMallocPitch(ptr, pitch, width, height);
	return finish_pitched(&m, r, ptr, r == hipSuccess ? *pitch : 0, height);
}

hipError_t shim_hipMemAllocPitch(hipDeviceptr_t *dptr, size_t *pitch, size_t widthInBytes, size_t height,
				 unsigned int elementSizeBytes)
{
	struct making m;
	hipError_t r = memory_begin(&m, product(padded(widthInBytes), height));

	if (r != hipSuccess)
		return r;
	r = shim_real.hipMemAllocPitch(dptr, pitch, widthInBytes, height, elementSizeBytes);
	return finish_pitched(&m, r, dptr, r == hipSuccess ? *pitch : 0, height);
}

hipError_t shim_hipMalloc3D(hipPitchedPtr *pitchedDevPtr, hipExtent extent)
{
	uint64_t rows = product(extent.height, extent.depth);
	struct making m;
	hipError_t r = memory_begin(&m, product(padded(extent.width), rows));

	if (r != hipSuccess)
		return r;
	r = shim_real.hipMalloc3D(pitchedDevPtr, extent);
	return finish_pitched(&m, r, pitchedDevPtr ? &pitchedDevPtr->ptr : NULL,
			      r == hipSuccess ? pitchedDevPtr->pitch : 0, rows);
}

/* hipFree() of nothing, or of what was made before the process was metered, is the library's matter. */
hipError_t shim_hipFree(void *ptr)
{
	struct record record;
	bool ours = start_is_metered() && records_take(record_pointer((uint64_t)(uintptr_t)ptr), &record);
	hipError_t r = shim_real.hipFree(ptr);

	if (!ours)
		return r;
	if (r == hipSuccess)
		pools_let_go(&record);
	else
		records_add(&record);
	return r;
}

/* Arrays ------------------------------------------------------------------------------------------------------------
 */

/* Bytes of an element of a format (hipArray_Format). One that is not known is taken for the largest. */
static uint64_t format_bytes(int format)
{
	static const uint8_t bytes[] = {
		[0x01] = 1, [0x02] = 2, [0x03] = 4, [0x08] = 1, [0x09] = 2, [0x0a] = 4, [0x10] = 2, [0x20] = 4
	};
	uint8_t known = format > 0 && (size_t)format < sizeof bytes ? bytes[format] : 0;

	return known ? known : 4;
}

static uint64_t desc_bytes(const hipChannelFormatDesc *desc)
{
	return desc ? ((uint64_t)(unsigned int)desc->x + (unsigned int)desc->y + (unsigned int)desc->z +
		       (unsigned int)desc->w + 7) /
			       8
		    : 0;
}

static uint64_t at_least_one(uint64_t n)
{
	return n ? n : 1;
}

static uint64_t array_bytes(uint64_t element, uint64_t width, uint64_t height, uint64_t depth)
{
	return product(product(element, width), product(at_least_one(height), at_least_one(depth)));
}

/* All levels: each has half the one before in every direction. */
static uint64_t mipmap_bytes(uint64_t element, uint64_t width, uint64_t height, uint64_t depth, unsigned int levels)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < levels && i < 64; i++) {
		uint64_t level = array_bytes(element, width, height, depth);

		if (level == UNKNOWN || __builtin_add_overflow(sum, level, &sum))
			return UNKNOWN;
		if (width <= 1 && height <= 1 && depth <= 1)
			break;
		width = at_least_one(width / 2);
		height /= height > 1 ? 2 : 1;
		depth /= depth > 1 ? 2 : 1;
	}
	return sum;
}

static hipError_t finish_array(struct making *m, hipError_t r, hipArray_t *array)
{
	if (memory_made(m, r, r == hipSuccess ? record_handle(*array) : 0, RECORD_ARRAY, 0))
		return r;
	shim_real.hipFreeArray(*array);
	*array = NULL;
	return start_no_memory();
}

static hipError_t finish_mipmap(struct making *m, hipError_t r, hipMipmappedArray_t *array)
{
	if (memory_made(m, r, r == hipSuccess ? record_handle(*array) : 0, RECORD_ARRAY, 0))
		return r;
	shim_real.hipFreeMipmappedArray(*array);
	*array = NULL;
	return start_no_memory();
}

hipError_t shim_hipMallocArray(hipArray_t *array, const hipChannelFormatDesc *desc, size_t width, size_t height,
			       unsigned int flags)
{
	struct making m;
	hipError_t r = memory_begin(&m, array_bytes(desc_bytes(desc), width, height, 0));

	return r == hipSuccess ? finish_array(&m, shim_real.hipMallocArray(array, desc, width, height, flags), array)
			       : r;
}

hipError_t shim_hipMalloc3DArray(hipArray_t *array, const hipChannelFormatDesc *desc, hipExtent extent,
				 unsigned int flags)
{
	struct making m;
	hipError_t r = memory_begin(&m, array_bytes(desc_bytes(desc), extent.width, extent.height, extent.depth));

	return r == hipSuccess ? finish_array(&m, shim_real.hipMalloc3DArray(array, desc, extent, flags), array) : r;
}

hipError_t shim_hipArrayCreate(hipArray_t *pHandle, const HIP_ARRAY_DESCRIPTOR *d)
{
	struct making m;
	hipError_t r =
		memory_begin(&m, d ? array_bytes(format_bytes(d->Format) * d->NumChannels, d->Width, d->Height, 0) : 0);

	return r == hipSuccess ? finish_array(&m, shim_real.hipArrayCreate(pHandle, d), pHandle) : r;
}

hipError_t shim_hipArray3DCreate(hipArray_t *array, const HIP_ARRAY3D_DESCRIPTOR *d)
{
	struct making m;
	hipError_t r = memory_begin(
		&m, d ? array_bytes(format_bytes(d->Format) * d->NumChannels, d->Width, d->Height, d->Depth) : 0);

	return r == hipSuccess ? finish_array(&m, shim_real.hipArray3DCreate(array, d), array) : r;
}

hipError_t shim_hipMallocMipmappedArray(hipMipmappedArray_t *mipmappedArray, const hipChannelFormatDesc *desc,
					hipExtent extent, unsigned int numLevels, unsigned int flags)
{
	struct making m;
	hipError_t r =
		memory_begin(&m, mipmap_bytes(desc_bytes(desc), extent.width, extent.height, extent.depth, numLevels));

	if (r != hipSuccess)
		return r;
	r = shim_real.hipMallocMipmappedArray(mipmappedArray, desc, extent, numLevels, flags);
	return finish_mipmap(&m, r, mipmappedArray);
}

hipError_t shim_hipMipmappedArrayCreate(hipMipmappedArray_t *pHandle, HIP_ARRAY3D_DESCRIPTOR *d,
					unsigned int numMipmapLevels)
{
	struct making m;
	hipError_t r = memory_begin(&m, d ? mipmap_bytes(format_bytes(d->Format) * d->NumChannels, d->Width, d->Height,
							 d->Depth, numMipmapLevels)
					  : 0);

	return r == hipSuccess
		       ? finish_mipmap(&m, shim_real.hipMipmappedArrayCreate(pHandle, d, numMipmapLevels), pHandle)
		       : r;
}

/* Around the call that frees what the handle is of. */
static bool array_take(const void *handle, struct record *ret)
{
	return start_is_metered() && records_take(record_handle(handle), ret);
}

static hipError_t array_gone(bool ours, const struct record *record, hipError_t r)
{
	if (ours && r == hipSuccess)
		memory_give(record->device, record->units);
	else if (ours)
		records_add(record);
	return r;
}

hipError_t shim_hipFreeArray(hipArray_t array)
{
	struct record record;
	bool ours = array_take(array, &record);

	return array_gone(ours, &record, shim_real.hipFreeArray(array));
}

hipError_t shim_hipArrayDestroy(hipArray_t array)
{
	struct record record;
	bool ours = array_take(array, &record);

	return array_gone(ours, &record, shim_real.hipArrayDestroy(array));
}

hipError_t shim_hipFreeMipmappedArray(hipMipmappedArray_t mipmappedArray)
{
	struct record record;
	bool ours = array_take(mipmappedArray, &record);

	return array_gone(ours, &record, shim_real.hipFreeMipmappedArray(mipmappedArray));
}

hipError_t shim_hipMipmappedArrayDestroy(hipMipmappedArray_t hMipmappedArray)
{
	struct record record;
	bool ours = array_take(hMipmappedArray, &record);

	return array_gone(ours, &record, shim_real.hipMipmappedArrayDestroy(hMipmappedArray));
}
