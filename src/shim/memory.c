/*
 * memory.c: plain allocations: linear, pitched, managed, in both widths of the API, their release, and the figures of
 * cuMemGetInfo. Managed memory is charged its full size to the device it was allocated on, wherever its pages are.
 */
#include "cuda_shim.h"
#include "core/account.h"
#include "core/blocks.h"
#include "core/capture.h"
#include "core/charge.h"
#include "shim/contexts.h"
#include "core/gate.h"
#include "core/log.h"
#include "shim/devices.h"
#include "core/imports.h"
#include "shim/faults.h"
#include "shim/graphs.h"
#include "shim/later.h"
#include "shim/memory.h"
#include "shim/movable.h"
#include "shim/pools.h"
#include "core/sharing.h"
#include "shim/start.h"
#include "shim/vmm.h"

/* Row starts are aligned to this at most; a driver that aligns further is settled at its real pitch. */
#define PITCH_ALIGNMENT 512u

/* What the driver answered to a plain allocation, on its way to the program, which sees nothing of one that failed. */
static CUresult hand_on(struct charge *c, CUresult r, CUdeviceptr made, uint64_t bytes, CUdeviceptr *ret)
{
	if (!charge_end(c, r == CUDA_SUCCESS, made, bytes) && r == CUDA_SUCCESS)
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r == CUDA_SUCCESS)
		*ret = made;
	return r;
}

CUresult shim_cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
	CUdeviceptr made = 0;
	struct charge c;
	CUresult r;

	if (!dptr || !bytesize)
		return shim_real.cuMemAlloc_v2(dptr, bytesize);
	if (movable_alloc(bytesize, dptr, &r))
		return r;
	switch (charge_begin(&c, bytesize)) {
	case CHARGE_HELD:
		r = shim_real.cuMemAlloc_v2(&made, bytesize);
		return hand_on(&c, r, made, bytesize, dptr);
	case CHARGE_REFUSED:
		return CUDA_ERROR_OUT_OF_MEMORY;
	default:
		return contexts_lack(&r) ? r : shim_real.cuMemAlloc_v2(dptr, bytesize);
	}
}

CUresult shim_cuMemAlloc(CUdeviceptr_v1 *dptr, unsigned int bytesize)
{
	CUdeviceptr_v1 made = 0;
	CUdeviceptr wide;
	struct charge c;
	CUresult r;

	if (!dptr || !bytesize)
		return shim_real.cuMemAlloc(dptr, bytesize);
	switch (charge_begin(&c, bytesize)) {
	case CHARGE_HELD:
		r = shim_real.cuMemAlloc(&made, bytesize);
		r = hand_on(&c, r, made, bytesize, &wide);
		if (r == CUDA_SUCCESS)
			*dptr = made;
		return r;
	case CHARGE_REFUSED:
		return CUDA_ERROR_OUT_OF_MEMORY;
	default:
		return contexts_lack(&r) ? r : shim_real.cuMemAlloc(dptr, bytesize);
	}
}

CUresult shim_cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
	CUdeviceptr made = 0;
	struct charge c;
	CUresult r;

	if (!dptr || !bytesize)
		return shim_real.cuMemAllocManaged(dptr, bytesize, flags);
	switch (charge_begin(&c, bytesize)) {
	case CHARGE_HELD:
		r = shim_real.cuMemAllocManaged(&made, bytesize, flags);
		return hand_on(&c, r, made, bytesize, dptr);
	case CHARGE_REFUSED:
		return CUDA_ERROR_OUT_OF_MEMORY;
	default:
		return contexts_lack(&r) ? r : shim_real.cuMemAllocManaged(dptr, bytesize, flags);
	}
}

/* What a pitched allocation takes with rows aligned as usual; UINT64_MAX when that is beyond counting. */
static uint64_t pitched_bytes(size_t width, size_t height)
{
	uint64_t pitch, bytes;

	if (__builtin_add_overflow((uint64_t)width, PITCH_ALIGNMENT - 1, &pitch))
		return UINT64_MAX;
	pitch -= pitch % PITCH_ALIGNMENT;
	return __builtin_mul_overflow(pitch, (uint64_t)height, &bytes) ? UINT64_MAX : bytes;
}

CUresult shim_cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
				 unsigned int ElementSizeBytes)
{
	CUdeviceptr made = 0;
	size_t pitch = 0;
	struct charge c;
	CUresult r;

	if (!dptr || !pPitch || !WidthInBytes || !Height)
		return shim_real.cuMemAllocPitch_v2(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes);
	if ((ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16) &&
	    movable_alloc(pitched_bytes(WidthInBytes, Height), dptr, &r)) {
		if (r == CUDA_SUCCESS)
			*pPitch = (WidthInBytes + PITCH_ALIGNMENT - 1) / PITCH_ALIGNMENT * PITCH_ALIGNMENT;
		return r;
	}
	switch (charge_begin(&c, pitched_bytes(WidthInBytes, Height))) {
	case CHARGE_HELD:
		r = shim_real.cuMemAllocPitch_v2(&made, &pitch, WidthInBytes, Height, ElementSizeBytes);
		r = hand_on(&c, r, made, (uint64_t)pitch * Height, dptr);
		if (r == CUDA_SUCCESS)
			*pPitch = pitch;
		return r;
	case CHARGE_REFUSED:
		return CUDA_ERROR_OUT_OF_MEMORY;
	default:
		return contexts_lack(&r)
			       ? r
			       : shim_real.cuMemAllocPitch_v2(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes);
	}
}

CUresult shim_cuMemAllocPitch(CUdeviceptr_v1 *dptr, unsigned int *pPitch, unsigned int WidthInBytes,
			      unsigned int Height, unsigned int ElementSizeBytes)
{
	CUdeviceptr_v1 made = 0;
	unsigned int pitch = 0;
	CUdeviceptr wide;
	struct charge c;
	CUresult r;

	if (!dptr || !pPitch || !WidthInBytes || !Height)
		return shim_real.cuMemAllocPitch(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes);
	switch (charge_begin(&c, pitched_bytes(WidthInBytes, Height))) {
	case CHARGE_HELD:
		r = shim_real.cuMemAllocPitch(&made, &pitch, WidthInBytes, Height, ElementSizeBytes);
		r = hand_on(&c, r, made, (uint64_t)pitch * Height, &wide);
		if (r == CUDA_SUCCESS) {
			*dptr = made;
			*pPitch = pitch;
		}
		return r;
	case CHARGE_REFUSED:
		return CUDA_ERROR_OUT_OF_MEMORY;
	default:
		return contexts_lack(&r)
			       ? r
			       : shim_real.cuMemAllocPitch(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes);
	}
}

uint32_t memory_refund(const struct record *r)
{
	uint32_t granule = accounts[r->device].granule_units, units = r->units;

	if (r->kind == RECORD_MOVABLE) {
		movable_forget(r);
		return 0;
	}
	/* Not in the driver's figure of this process (figure.h). */
	if (r->kind == RECORD_IMPORTED && r->extra == SHARING_OWN)
		account_give(r->device, r->size_units);
	if (r->kind == RECORD_EXTERNAL)
		imports_drop(r->extra);
	if (r->flags & RECORD_SHARED || (r->kind != RECORD_PLAIN && !(r->flags & RECORD_EXACT)))
		return 0;
	if (granule > 1)
		units = blocks_leave(r->key, (uint64_t)r->size_units * WIRE_UNIT_BYTES, granule);
	account_give(r->device, units);
	return units;
}

/* How the driver is asked to free; what the program called decides. */
enum free_call { FREE_V1, FREE_V2, FREE_ASYNC, FREE_ASYNC_PTSZ, FREE_IPC };

static CUresult ask_driver(enum free_call call, CUdeviceptr p, CUstream stream)
{
	switch (call) {
	case FREE_V1:
		return shim_real.cuMemFree((CUdeviceptr_v1)p);
	case FREE_V2:
		return shim_real.cuMemFree_v2(p);
	case FREE_ASYNC:
		return shim_real.cuMemFreeAsync(p, stream);
	case FREE_ASYNC_PTSZ:
		return shim_real.cuMemFreeAsync_ptsz(p, stream);
	case FREE_IPC:
		return shim_real.cuIpcCloseMemHandle(p);
	}
	return CUDA_ERROR_INVALID_VALUE;
}

static CUresult free_movable(enum free_call call, const struct record *record, CUstream stream)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	uint64_t bytes;
	uint32_t pool;

	/* What a capture forbids the driver says, which does not know the block otherwise. */
	if (capture_going() && call != FREE_IPC)
		r = shim_real.cuMemFree_v2(record->key);
	if (call == FREE_IPC || r != CUDA_ERROR_INVALID_VALUE) {
		records_add(record);
		return r;
	}
	if ((call == FREE_ASYNC || call == FREE_ASYNC_PTSZ) && !capture_going())
		later_free(record, stream, call == FREE_ASYNC_PTSZ);
	else
		movable_free(record);
	if (movable_pool(record, &pool, &bytes))
		pools_moving_freed(pool, bytes);
	return CUDA_SUCCESS;
}

/*
 * The record goes before the driver is asked, because from then on the same address may belong to another thread's new
 * allocation; the refund comes after. A pointer that is not ours is the driver's to judge.
 */
static CUresult memory_free(enum free_call call, CUdeviceptr p, CUstream stream)
{
	struct record record;
	CUresult r;
	bool ours, later;

	gate_enter();
	ours = p && records_take(record_pointer(p), &record);
	if (ours && record.kind == RECORD_MOVABLE) {
		gate_leave();
		return free_movable(call, &record, stream);
	}
	r = ask_driver(call, p, stream);
	later = ours && (call == FREE_ASYNC || call == FREE_ASYNC_PTSZ) && record.kind == RECORD_PLAIN &&
		!(record.flags & RECORD_SHARED) && !accounts[record.device].soft;
	if (ours && r == CUDA_SUCCESS && record.kind == RECORD_IMPORTED && record.units) {
		record.units--; /* opened more often than closed */
		records_add(&record);
		ours = false;
	} else if (ours && r == CUDA_SUCCESS && !later) {
		memory_refund(&record);
	} else if (ours && r != CUDA_SUCCESS) {
		records_add(&record);
	}
	gate_leave();
	if (!ours || r != CUDA_SUCCESS) {
		graphs_settle(); /* memory of a graph's node may be freed like any other */
		return faults_see(r);
	}
	if (later)
		later_free(&record, stream, call == FREE_ASYNC_PTSZ);
	if (record.kind == RECORD_POOL)
		pools_freed(record.extra, (uint64_t)record.size_units * WIRE_UNIT_BYTES);
	if (record.kind == RECORD_IMPORTED || record.flags & RECORD_SHARED)
		sharing_drop(record.extra);
	return r;
}

CUresult shim_cuMemFree(CUdeviceptr_v1 dptr)
{
	return memory_free(FREE_V1, dptr, NULL);
}

CUresult shim_cuMemFree_v2(CUdeviceptr dptr)
{
	return memory_free(FREE_V2, dptr, NULL);
}

CUresult shim_cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
	return memory_free(FREE_ASYNC, dptr, hStream);
}

CUresult shim_cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream)
{
	return memory_free(FREE_ASYNC_PTSZ, dptr, hStream);
}

CUresult shim_cuIpcCloseMemHandle(CUdeviceptr dptr)
{
	CUresult r;

	sharing_openings_lock();
	r = memory_free(FREE_IPC, dptr, NULL);
	sharing_openings_unlock();
	return r;
}

CUresult shim_cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
	struct movable_block block;

	if (!movable_find(dptr, &block))
		return movable_has(dptr) ? CUDA_ERROR_NOT_FOUND : shim_real.cuMemGetAddressRange_v2(pbase, psize, dptr);
	if (pbase)
		*pbase = block.base;
	if (psize)
		*psize = block.bytes;
	return CUDA_SUCCESS;
}

/* What has left the process could not leave the device: its plain allocations are not to be had for that. */
CUresult shim_cuMemGetHandleForAddressRange(void *handle, CUdeviceptr dptr, size_t size,
					    CUmemRangeHandleType handleType, unsigned long long flags)
{
	struct movable_block block;

	if (movable_find(dptr, &block)) {
		log_line(
			"cuMemGetHandleForAddressRange: memory that may leave the device (--spill) cannot be exported; "
			"run without --spill");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	if (!vmm_keep_range(dptr, size))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return shim_real.cuMemGetHandleForAddressRange(handle, dptr, size, handleType, flags);
}

CUresult shim_cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	CUdevice real = devices_in(dev);
	CUresult r = shim_real.cuDeviceTotalMem_v2(bytes, real);
	unsigned int device;

	if (r == CUDA_SUCCESS && bytes && start_is_metered() && devices_find(real, &device))
		*bytes = account_quota_bytes(device);
	return r;
}

CUresult shim_cuDeviceTotalMem(unsigned int *bytes, CUdevice dev)
{
	CUresult r = shim_real.cuDeviceTotalMem(bytes, devices_in(dev));
	size_t wide;

	if (r == CUDA_SUCCESS && bytes && shim_cuDeviceTotalMem_v2(&wide, dev) == CUDA_SUCCESS)
		*bytes = wide > UINT32_MAX ? UINT32_MAX : (unsigned int)wide;
	return r;
}

/* Never more than the device really has free: what others hold of it, outside of all grants, is not there to take. */
static void tenant_info(unsigned int device, uint64_t real_free, uint64_t *ret_free, uint64_t *ret_total)
{
	uint64_t held;

	account_info(device, ret_total, &held);
	*ret_free = held < *ret_total ? *ret_total - held : 0;
	if (*ret_free > real_free)
		*ret_free = real_free;
}

CUresult shim_cuMemGetInfo_v2(size_t *free, size_t *total)
{
	size_t real_free = 0, real_total = 0;
	uint64_t tenant_free, tenant_total;
	unsigned int device;
	face_context context;
	CUresult r;

	movable_trim(true);
	/* NULL goes down as NULL, so that the driver's own word on it is the answer. */
	r = shim_real.cuMemGetInfo_v2(free ? &real_free : NULL, total ? &real_total : NULL);
	if (r != CUDA_SUCCESS)
		return r;
	if (charge_current(&context, &device) != CHARGE_HELD) {
		tenant_free = real_free;
		tenant_total = real_total;
	} else {
		sharing_look();
		tenant_info(device, free ? real_free : UINT64_MAX, &tenant_free, &tenant_total);
	}
	if (free)
		*free = tenant_free;
	if (total)
		*total = tenant_total;
	return CUDA_SUCCESS;
}

CUresult shim_cuMemGetInfo(unsigned int *free, unsigned int *total)
{
	size_t wide_free = 0, wide_total = 0;
	CUresult r = shim_cuMemGetInfo_v2(free ? &wide_free : NULL, total ? &wide_total : NULL);

	if (r == CUDA_SUCCESS && free)
		*free = wide_free > UINT32_MAX ? UINT32_MAX : (unsigned int)wide_free;
	if (r == CUDA_SUCCESS && total)
		*total = wide_total > UINT32_MAX ? UINT32_MAX : (unsigned int)wide_total;
	return r;
}
