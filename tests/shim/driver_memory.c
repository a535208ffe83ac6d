/*
 * driver_memory.c: the test driver's memory by address: plain allocations in blocks, pools in pieces, memory of another
 * process.
 */
#include "driver_state.h"

#define UNSIZED 0x900000000000u /* another process's memory without a known size */
#define POOL_PIECE (32ull << 20)

static uint64_t free_block; /* of an allocation that had it to itself: the next one for small ones */
static struct {
	uint64_t block;
	uint64_t end; /* free from here */
	int users;
} shared_blocks[1024];
#define HELD_BACK 1024		      /* more than the shim can mark */
static uint64_t held_back[HELD_BACK]; /* addresses that are freed in the order of a stream which does not get on */

/* ---- plain memory ---- */

struct allocation *driver_find(uint64_t address)
{
	for (int i = 0; i < ALLOCATIONS_MAX; i++)
		if (driver.allocations[i].bytes && driver.allocations[i].address == address)
			return &driver.allocations[i];
	return NULL;
}

struct allocation *driver_place(void)
{
	for (int i = 0; i < ALLOCATIONS_MAX; i++)
		if (!driver.allocations[i].bytes)
			return &driver.allocations[i];
	return NULL;
}

/* A small allocation goes behind the last one of an open block of its device. */
static uint64_t place_small(int device, uint64_t bytes)
{
	uint64_t size = driver_up(bytes, 512);

	for (int i = 0; i < 1024; i++)
		if (shared_blocks[i].users && shared_blocks[i].block % 16 == (uint64_t)device &&
		    shared_blocks[i].end + size <= driver.granule) {
			uint64_t address = shared_blocks[i].block / 16 * driver.granule + shared_blocks[i].end;

			shared_blocks[i].end += size;
			shared_blocks[i].users++;
			return address;
		}
	for (int i = 0; i < 1024; i++)
		if (!shared_blocks[i].users) {
			uint64_t again = free_block;

			if (!driver_take(device, driver.granule))
				return 0;
			if (again) {
				free_block = 0;
				shared_blocks[i].block = again / driver.granule * 16 + (uint64_t)device;
				shared_blocks[i].end = size;
				shared_blocks[i].users = 1;
				return again;
			}
			driver.next_address = driver_up(driver.next_address, driver.granule);
			shared_blocks[i].block = driver.next_address / driver.granule * 16 + (uint64_t)device;
			shared_blocks[i].end = size;
			shared_blocks[i].users = 1;
			driver.next_address += driver.granule;
			return driver.next_address - driver.granule;
		}
	return 0;
}

static void leave_small(uint64_t address, int device)
{
	for (int i = 0; i < 1024; i++)
		if (shared_blocks[i].users &&
		    shared_blocks[i].block == address / driver.granule * 16 + (uint64_t)device &&
		    --shared_blocks[i].users == 0)
			driver_give(device, driver.granule);
}

static CUresult allocate(CUdeviceptr *ret, uint64_t bytes)
{
	struct allocation *a;
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

	if (!driver_current)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (driver.empty) {
		*ret = __atomic_fetch_add(&driver.next_address, driver_up(bytes, 512), __ATOMIC_RELAXED);
		return CUDA_SUCCESS;
	}
	if (!bytes || driver.fail)
		return driver.fail ? CUDA_ERROR_UNKNOWN : CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&driver.lock);
	a = driver_place();
	if (a) {
		*a = (struct allocation){ .device = driver_current->device,
					  .context = driver_current,
					  .shares = bytes <= driver.granule / 2 };
		if (a->shares) {
			a->address = place_small(a->device, bytes);
		} else if (driver_take(a->device, driver_up(bytes, driver.granule))) {
			a->taken = driver_up(bytes, driver.granule);
			a->address = driver.next_address = driver_up(driver.next_address, driver.granule);
			driver.next_address += a->taken;
		}
		if (a->address) {
			a->bytes = bytes;
			*ret = a->address;
			r = CUDA_SUCCESS;
		}
	}
	pthread_mutex_unlock(&driver.lock);
	return r;
}

static void release(struct allocation *a)
{
	if (a->external) {
		driver_external_leave(a->external);
	} else if (a->pool) {
		a->pool->used -= a->bytes;
		a->pool->live--;
		if (a->pool->dead && !a->pool->live) {
			driver_give(a->pool->device, a->pool->reserved);
			free(a->pool);
		}
	} else if (a->shares) {
		leave_small(a->address, a->device);
	} else {
		driver_give(a->device, a->taken);
		if (a->taken == driver.granule)
			free_block = a->address;
	}
	a->bytes = 0;
}

/* What a context held of the device ends with it. */
void driver_context_ends(struct context *c)
{
	memset(held_back, 0, sizeof held_back);
	driver_objects_end(c);
	pthread_mutex_lock(&driver.lock);
	for (int i = 0; i < ALLOCATIONS_MAX; i++)
		if (driver.allocations[i].bytes && driver.allocations[i].context == c)
			release(&driver.allocations[i]);
	pthread_mutex_unlock(&driver.lock);
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *ret, size_t bytes)
{
	return allocate(ret, bytes);
}

EXPORT CUresult cuMemAllocManaged(CUdeviceptr *ret, size_t bytes, unsigned int flags)
{
	return allocate(ret, bytes);
}

/* Rows are aligned further than the shim expects at first. */
EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr *ret, size_t *pitch, size_t width, size_t height, unsigned int element)
{
	*pitch = driver_up(width, driver_number("TEST_DRIVER_PITCH", 512));
	return allocate(ret, *pitch * height);
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr address)
{
	struct allocation *a;

	if (driver.empty || !address)
		return CUDA_SUCCESS;
	if (address == UNSIZED) {
		driver.shared->opened--;
		return CUDA_SUCCESS;
	}
	pthread_mutex_lock(&driver.lock);
	a = driver_find(address);
	if (a)
		release(a);
	pthread_mutex_unlock(&driver.lock);
	return a ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
	for (int i = 0; i < ALLOCATIONS_MAX; i++)
		if (driver.allocations[i].bytes && address >= driver.allocations[i].address &&
		    address < driver.allocations[i].address + driver.allocations[i].bytes) {
			*base = driver.allocations[i].address;
			*size = driver.allocations[i].bytes;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_NOT_FOUND;
}

EXPORT CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	if (!driver_current)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!free_bytes || !total)
		return CUDA_ERROR_INVALID_VALUE;
	*total = DEVICE_BYTES;
	*free_bytes = DEVICE_BYTES - driver.shared->used[driver_current->device];
	return CUDA_SUCCESS;
}

/* ---- pools ---- */

EXPORT CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice d)
{
	*pool = (CUmemoryPool)&driver.default_pools[driver.visible[d]];
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice d)
{
	*pool = (CUmemoryPool)driver.current_pools[driver.visible[d]];
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	struct pool *p = calloc(1, sizeof *p);

	p->device = driver.visible[props->location.id];
	*pool = (CUmemoryPool)p;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	struct pool *p = (struct pool *)pool;

	pthread_mutex_lock(&driver.lock);
	while (p->reserved >= p->used + POOL_PIECE && p->reserved - POOL_PIECE >= keep) {
		p->reserved -= POOL_PIECE;
		driver_give(p->device, POOL_PIECE);
	}
	pthread_mutex_unlock(&driver.lock);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	struct pool *p = (struct pool *)pool;

	p->dead = true;
	if (p->live)
		return CUDA_SUCCESS;
	driver_give(p->device, p->reserved);
	free(p);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	struct pool *p = (struct pool *)pool;

	*(cuuint64_t *)value = attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ? p->reserved : p->used;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ret, size_t bytes, CUmemoryPool pool, CUstream stream)
{
	struct pool *p = (struct pool *)pool;
	struct allocation *a;
	uint64_t more;

	pthread_mutex_lock(&driver.lock);
	a = driver_place();
	more = p->used + bytes > p->reserved ? driver_up(p->used + bytes - p->reserved, POOL_PIECE) : 0;
	if (!a || !driver_take(p->device, more)) {
		pthread_mutex_unlock(&driver.lock);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	p->reserved += more;
	p->used += bytes;
	p->live++;
	*a = (struct allocation){ .address = driver.next_address, .bytes = bytes, .device = p->device, .pool = p };
	driver.next_address += driver_up(bytes, 512);
	*ret = a->address;
	pthread_mutex_unlock(&driver.lock);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAllocAsync(CUdeviceptr *ret, size_t bytes, CUstream stream)
{
	return cuMemAllocFromPoolAsync(ret, bytes, (CUmemoryPool)driver.current_pools[driver_current->device], stream);
}

static bool holds(void)
{
	return __atomic_load_n(&driver.shared->hold, __ATOMIC_RELAXED);
}

static void get_on(void)
{
	for (int i = 0; i < HELD_BACK && !holds(); i++)
		if (held_back[i]) {
			cuMemFree_v2(held_back[i]);
			held_back[i] = 0;
		}
}

EXPORT CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
	for (int i = 0; i < HELD_BACK && holds(); i++)
		if (!held_back[i]) {
			held_back[i] = address;
			return CUDA_SUCCESS;
		}
	return cuMemFree_v2(address);
}

EXPORT CUresult cuEventQuery(CUevent event)
{
	get_on();
	return holds() || driver_pending(event) ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

/* Who waits for a stream has it get on. */
EXPORT CUresult cuStreamSynchronize(CUstream stream)
{
	__atomic_store_n(&driver.shared->hold, 0, __ATOMIC_RELAXED);
	get_on();
	driver_work();
	driver_spin(driver.shared->wait_late_ns);
	return CUDA_SUCCESS;
}

/* ---- memory of another process: an address or a handle that takes nothing ---- */

EXPORT CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
	memset(handle, 0, sizeof *handle);
	memcpy(handle->reserved, &address, sizeof address);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *ret, CUipcMemHandle handle, unsigned int flags)
{
	struct allocation *a;

	if (driver_middle() != CUDA_SUCCESS) {
		driver.shared->opened++;
		*ret = UNSIZED;
		return CUDA_SUCCESS;
	}
	pthread_mutex_lock(&driver.lock);
	a = driver_place();
	*a = (struct allocation){ .address = driver.next_address, .bytes = 1, .device = driver_current->device };
	driver.next_address += driver.granule;
	*ret = a->address;
	pthread_mutex_unlock(&driver.lock);
	return driver.fail ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolImportPointer(CUdeviceptr *ret, CUmemoryPool pool, CUmemPoolPtrExportData *data)
{
	driver.shared->opened++;
	*ret = UNSIZED;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuPointerGetAttribute(void *ret, CUpointer_attribute attribute, CUdeviceptr address)
{
	struct allocation *a = driver_find(address);

	if (!a || attribute != CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
		return CUDA_ERROR_INVALID_VALUE;
	*(int *)ret = a->device;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr address)
{
	return cuMemFree_v2(address);
}
