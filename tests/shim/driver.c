/*
 * driver.c: a driver for tests of the shim, over the skeleton that the API's generator writes (every call not defined
 * here succeeds and does nothing). It computes nothing, but takes memory as a real driver does where the software
 *device does not: plain allocations come from blocks of 2 MiB that small ones share, pools grow in pieces of 32 MiB,
 *contexts and modules take memory that nobody announces.
 *
 *	TEST_DRIVER_FILE     what all processes together hold, per device, in bytes, and the most they ever held (struct
 *shared) TEST_DRIVER_GRANULE  bytes of a block; default 2 MiB TEST_DRIVER_CONTEXT  bytes of a context TEST_DRIVER_FAIL
 *1: every allocation fails after it was asked for TEST_DRIVER_EMPTY    1: allocations are numbers, for measuring what
 *the shim adds CUDA_VISIBLE_DEVICES 4 devices; indices or UUIDs, whose 16 bytes are all 0xd0 + index
 */
#include "driver.h"
#include "cuda_table.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define DEVICES 4
#define ORDINALS 80
#define DEVICE_BYTES (16ull << 30)
#define ALLOCATIONS_MAX 4096
#define UNSIZED 0x900000000000u /* another process's memory without a known size */
#define POOL_PIECE (32ull << 20)

struct context {
	int device;
	bool primary;
	int references;
	struct context *below; /* on the stack of the thread that made it */
};

struct allocation {
	uint64_t address, bytes; /* 0: a free place */
	uint64_t taken;		 /* bytes of the device that go with it, where no block is shared */
	struct context *context;
	struct pool *pool;
	struct external *external; /* it is a part of that */
	int device;
	bool shares; /* lies in blocks that others may use as well */
};

struct pool {
	int device;
	uint64_t reserved, used;
	int live;
	bool dead;
};

struct handle {
	int device;
	uint64_t bytes;
	int references, mappings;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct driver_shared *shared, own;
static bool initialised, fail, empty;
static uint64_t free_block; /* of an allocation that had it to itself: the next one for small ones */
static uint64_t granule = 2ull << 20, context_bytes;
static int visible[ORDINALS], visible_count, strangers; /* ordinals before those, of devices that nobody grants */
static struct context primaries[DEVICES];
static __thread struct context *current;
static struct allocation allocations[ALLOCATIONS_MAX];
static struct pool default_pools[DEVICES];
static struct pool *current_pools[DEVICES];
static uint64_t next_address = 0x700000000000u;
static struct {
	uint64_t block;
	uint64_t end; /* free from here */
	int users;
} shared_blocks[1024];
static struct {
	uint64_t address, bytes;
	struct handle *handle;
} mappings[1024];
static struct {
	CUarray array;
	struct handle *handle;
} array_mappings[64];
static struct allocation *arrays[64]; /* a context takes its arrays along */

static bool take(int device, uint64_t bytes)
{
	uint64_t now = __atomic_add_fetch(&shared->used[device], bytes, __ATOMIC_SEQ_CST);
	uint64_t peak = __atomic_load_n(&shared->peak[device], __ATOMIC_SEQ_CST);

	if (now > DEVICE_BYTES) {
		__atomic_sub_fetch(&shared->used[device], bytes, __ATOMIC_SEQ_CST);
		return false;
	}
	while (now > peak && !__atomic_compare_exchange_n(&shared->peak[device], &peak, now, false, __ATOMIC_SEQ_CST,
							  __ATOMIC_SEQ_CST))
		;
	return true;
}

static void give(int device, uint64_t bytes)
{
	__atomic_sub_fetch(&shared->used[device], bytes, __ATOMIC_SEQ_CST);
}

static uint64_t up(uint64_t bytes, uint64_t to)
{
	return (bytes + to - 1) / to * to;
}

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void read_visible(void)
{
	char *list = getenv("CUDA_VISIBLE_DEVICES"), *word, *save;
	char copy[512];

	strangers = (int)number("TEST_DRIVER_STRANGERS", 0);
	visible_count = strangers;
	if (!list) {
		for (int i = 0; i < DEVICES; i++)
			visible[visible_count++] = i;
		return;
	}
	snprintf(copy, sizeof copy, "%s", list);
	for (word = strtok_r(copy, ",", &save); word && visible_count < strangers + DEVICES;
	     word = strtok_r(NULL, ",", &save)) {
		int index = strncmp(word, "GPU-d", 5) ? atoi(word) : word[5] - '0';

		if (index < 0 || index >= DEVICES)
			break;
		visible[visible_count++] = index;
	}
}

/* The middle of a call, for what happens beside it. */
static CUresult middle(void)
{
	void (*during)(void) = shared->during;
	bool refuse = shared->refuse;

	shared->during = NULL;
	shared->refuse = 0;
	if (during)
		during();
	return refuse ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

EXPORT CUresult cuInit(unsigned int flags)
{
	const char *path = getenv("TEST_DRIVER_FILE");

	if (initialised)
		return CUDA_SUCCESS;
	shared = &own;
	if (path) {
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

		if (fd < 0 || ftruncate(fd, sizeof *shared) < 0)
			return CUDA_ERROR_UNKNOWN;
		shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
	}
	granule = number("TEST_DRIVER_GRANULE", granule);
	context_bytes = number("TEST_DRIVER_CONTEXT", 0);
	fail = number("TEST_DRIVER_FAIL", 0);
	empty = number("TEST_DRIVER_EMPTY", 0);
	read_visible();
	for (int i = 0; i < DEVICES; i++) {
		default_pools[i].device = i;
		primaries[i] = (struct context){ .device = i, .primary = true };
		current_pools[i] = &default_pools[i];
	}
	initialised = true;
	return visible_count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

EXPORT CUresult cuDeviceGetCount(int *count)
{
	*count = visible_count;
	return initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

static bool known(CUdevice d)
{
	return d >= 0 && d < visible_count;
}

EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	if (!known(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice d)
{
	if (!known(d))
		return CUDA_ERROR_INVALID_DEVICE;
	memset(uuid, d < strangers ? 0x80 + d : 0xd0 + visible[d], sizeof *uuid);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice d)
{
	return cuDeviceGetUuid_v2(uuid, d);
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice d)
{
	if (!known(d))
		return CUDA_ERROR_INVALID_DEVICE;
	*bytes = DEVICE_BYTES;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice d)
{
	if (!known(d))
		return CUDA_ERROR_INVALID_DEVICE;
	*value = visible[d];
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceCanAccessPeer(int *can, CUdevice a, CUdevice b)
{
	if (!known(a) || !known(b))
		return CUDA_ERROR_INVALID_DEVICE;
	*can = visible[a] * 10 + visible[b];
	return CUDA_SUCCESS;
}

/* ---- contexts ---- */

EXPORT CUresult cuCtxGetCurrent(CUcontext *ret)
{
	*ret = (CUcontext)current;
	return initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext c)
{
	current = (struct context *)c;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetDevice(CUdevice *ret)
{
	if (!current)
		return CUDA_ERROR_INVALID_CONTEXT;
	for (int i = 0; i < visible_count; i++)
		if (visible[i] == current->device)
			*ret = i;
	return CUDA_SUCCESS;
}

static void free_context_memory(struct context *c);

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *ret, CUdevice d)
{
	struct context *c;
	bool good;

	if (!known(d))
		return CUDA_ERROR_INVALID_DEVICE;
	c = &primaries[visible[d]];
	pthread_mutex_lock(&lock);
	good = c->references || take(c->device, context_bytes);
	c->references += good;
	pthread_mutex_unlock(&lock);
	*ret = (CUcontext)c;
	return good ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice d, unsigned int *flags, int *active)
{
	*flags = 0;
	pthread_mutex_lock(&lock);
	*active = primaries[visible[d]].references > 0;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d)
{
	struct context *c = &primaries[visible[d]];

	if (!c->references)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (--c->references == 0) {
		free_context_memory(c);
		give(c->device, context_bytes);
	}
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice d)
{
	primaries[visible[d]].references = 1;
	return cuDevicePrimaryCtxRelease_v2(d);
}

EXPORT CUresult cuCtxCreate_v2(CUcontext *ret, unsigned int flags, CUdevice d)
{
	struct context *c;

	if (!known(d))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!take(visible[d], context_bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	c = calloc(1, sizeof *c);
	c->device = visible[d];
	c->below = current;
	*ret = (CUcontext)(current = c);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxDestroy_v2(CUcontext context)
{
	struct context *c = (struct context *)context;

	free_context_memory(c);
	give(c->device, context_bytes);
	if (current == c)
		current = c->below;
	free(c);
	return CUDA_SUCCESS;
}

/* ---- plain memory ---- */

static struct allocation *find(uint64_t address)
{
	for (int i = 0; i < ALLOCATIONS_MAX; i++)
		if (allocations[i].bytes && allocations[i].address == address)
			return &allocations[i];
	return NULL;
}

static struct allocation *place(void)
{
	for (int i = 0; i < ALLOCATIONS_MAX; i++)
		if (!allocations[i].bytes)
			return &allocations[i];
	return NULL;
}

/* A small allocation goes behind the last one of an open block of its device. */
static uint64_t place_small(int device, uint64_t bytes)
{
	uint64_t size = up(bytes, 512);

	for (int i = 0; i < 1024; i++)
		if (shared_blocks[i].users && shared_blocks[i].block % 16 == (uint64_t)device &&
		    shared_blocks[i].end + size <= granule) {
			uint64_t address = shared_blocks[i].block / 16 * granule + shared_blocks[i].end;

			shared_blocks[i].end += size;
			shared_blocks[i].users++;
			return address;
		}
	for (int i = 0; i < 1024; i++)
		if (!shared_blocks[i].users) {
			uint64_t again = free_block;

			if (!take(device, granule))
				return 0;
			if (again) {
				free_block = 0;
				shared_blocks[i].block = again / granule * 16 + (uint64_t)device;
				shared_blocks[i].end = size;
				shared_blocks[i].users = 1;
				return again;
			}
			next_address = up(next_address, granule);
			shared_blocks[i].block = next_address / granule * 16 + (uint64_t)device;
			shared_blocks[i].end = size;
			shared_blocks[i].users = 1;
			next_address += granule;
			return next_address - granule;
		}
	return 0;
}

static void leave_small(uint64_t address, int device)
{
	for (int i = 0; i < 1024; i++)
		if (shared_blocks[i].users && shared_blocks[i].block == address / granule * 16 + (uint64_t)device &&
		    --shared_blocks[i].users == 0)
			give(device, granule);
}

static CUresult allocate(CUdeviceptr *ret, uint64_t bytes)
{
	struct allocation *a;
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

	if (!current)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (empty) {
		*ret = __atomic_fetch_add(&next_address, up(bytes, 512), __ATOMIC_RELAXED);
		return CUDA_SUCCESS;
	}
	if (!bytes || fail)
		return fail ? CUDA_ERROR_UNKNOWN : CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	a = place();
	if (a) {
		*a = (struct allocation){ .device = current->device,
					  .context = current,
					  .shares = bytes <= granule / 2 };
		if (a->shares) {
			a->address = place_small(a->device, bytes);
		} else if (take(a->device, up(bytes, granule))) {
			a->taken = up(bytes, granule);
			a->address = next_address = up(next_address, granule);
			next_address += a->taken;
		}
		if (a->address) {
			a->bytes = bytes;
			*ret = a->address;
			r = CUDA_SUCCESS;
		}
	}
	pthread_mutex_unlock(&lock);
	return r;
}

/* Memory of another API: the device keeps it while it is imported or mapped. */
struct external {
	uint64_t bytes;
	struct context *context;
	int device, holds;
};

static struct external *externals[16]; /* a context takes them along */

static void leave_external(struct external *e)
{
	if (--e->holds)
		return;
	give(e->device, e->bytes);
	free(e);
}

static void release(struct allocation *a)
{
	if (a->external) {
		leave_external(a->external);
	} else if (a->pool) {
		a->pool->used -= a->bytes;
		a->pool->live--;
		if (a->pool->dead && !a->pool->live) {
			give(a->pool->device, a->pool->reserved);
			free(a->pool);
		}
	} else if (a->shares) {
		leave_small(a->address, a->device);
	} else {
		give(a->device, a->taken);
		if (a->taken == granule)
			free_block = a->address;
	}
	a->bytes = 0;
}

static void array_unmap(CUarray array);

static uint64_t held_back[16]; /* addresses that are freed in the order of a stream which does not get on */

static void free_context_memory(struct context *c)
{
	for (int i = 0; i < 16; i++)
		held_back[i] = 0;
	for (int i = 0; i < 64; i++)
		if (arrays[i] && arrays[i]->context == c) {
			array_unmap((CUarray)arrays[i]);
			give(arrays[i]->device, arrays[i]->bytes);
			free(arrays[i]);
			arrays[i] = NULL;
		}
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 16; i++)
		if (externals[i] && externals[i]->context == c) {
			leave_external(externals[i]);
			externals[i] = NULL;
		}
	for (int i = 0; i < ALLOCATIONS_MAX; i++)
		if (allocations[i].bytes && allocations[i].context == c)
			release(&allocations[i]);
	pthread_mutex_unlock(&lock);
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
	*pitch = up(width, number("TEST_DRIVER_PITCH", 512));
	return allocate(ret, *pitch * height);
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr address)
{
	struct allocation *a;

	if (empty || !address)
		return CUDA_SUCCESS;
	if (address == UNSIZED) {
		shared->opened--;
		return CUDA_SUCCESS;
	}
	pthread_mutex_lock(&lock);
	a = find(address);
	if (a)
		release(a);
	pthread_mutex_unlock(&lock);
	return a ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
	for (int i = 0; i < ALLOCATIONS_MAX; i++)
		if (allocations[i].bytes && address >= allocations[i].address &&
		    address < allocations[i].address + allocations[i].bytes) {
			*base = allocations[i].address;
			*size = allocations[i].bytes;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_NOT_FOUND;
}

EXPORT CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	if (!current)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!free_bytes || !total)
		return CUDA_ERROR_INVALID_VALUE;
	*total = DEVICE_BYTES;
	*free_bytes = DEVICE_BYTES - shared->used[current->device];
	return CUDA_SUCCESS;
}

/* ---- pools ---- */

EXPORT CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice d)
{
	*pool = (CUmemoryPool)&default_pools[visible[d]];
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice d)
{
	*pool = (CUmemoryPool)current_pools[visible[d]];
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	struct pool *p = calloc(1, sizeof *p);

	p->device = visible[props->location.id];
	*pool = (CUmemoryPool)p;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	struct pool *p = (struct pool *)pool;

	pthread_mutex_lock(&lock);
	while (p->reserved >= p->used + POOL_PIECE && p->reserved - POOL_PIECE >= keep) {
		p->reserved -= POOL_PIECE;
		give(p->device, POOL_PIECE);
	}
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	struct pool *p = (struct pool *)pool;

	p->dead = true;
	if (p->live)
		return CUDA_SUCCESS;
	give(p->device, p->reserved);
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

	pthread_mutex_lock(&lock);
	a = place();
	more = p->used + bytes > p->reserved ? up(p->used + bytes - p->reserved, POOL_PIECE) : 0;
	if (!a || !take(p->device, more)) {
		pthread_mutex_unlock(&lock);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	p->reserved += more;
	p->used += bytes;
	p->live++;
	*a = (struct allocation){ .address = next_address, .bytes = bytes, .device = p->device, .pool = p };
	next_address += up(bytes, 512);
	*ret = a->address;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAllocAsync(CUdeviceptr *ret, size_t bytes, CUstream stream)
{
	return cuMemAllocFromPoolAsync(ret, bytes, (CUmemoryPool)current_pools[current->device], stream);
}

static void get_on(void)
{
	for (int i = 0; i < 16 && !shared->hold; i++)
		if (held_back[i]) {
			cuMemFree_v2(held_back[i]);
			held_back[i] = 0;
		}
}

EXPORT CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
	for (int i = 0; i < 16 && shared->hold; i++)
		if (!held_back[i]) {
			held_back[i] = address;
			return CUDA_SUCCESS;
		}
	return cuMemFree_v2(address);
}

EXPORT CUresult cuEventQuery(CUevent event)
{
	get_on();
	return shared->hold ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

EXPORT CUresult cuStreamSynchronize(CUstream stream)
{
	get_on();
	return CUDA_SUCCESS;
}

/* ---- memory by handle ---- */

EXPORT CUresult cuMemGetAllocationGranularity(size_t *ret, const CUmemAllocationProp *prop,
					      CUmemAllocationGranularity_flags option)
{
	*ret = 2u << 20;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAddressReserve(CUdeviceptr *ret, size_t bytes, size_t alignment, CUdeviceptr address,
				    unsigned long long flags)
{
	static _Atomic uint64_t next = 0x20000000000u;

	*ret = atomic_fetch_add(&next, bytes);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle *ret, size_t bytes, const CUmemAllocationProp *prop,
			    unsigned long long flags)
{
	struct handle *h;

	if (!known(prop->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	if (bytes % (2u << 20))
		return CUDA_ERROR_INVALID_VALUE;
	if (!take(visible[prop->location.id], bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	h = calloc(1, sizeof *h);
	*h = (struct handle){ .device = visible[prop->location.id], .bytes = bytes, .references = 1 };
	*ret = (CUmemGenericAllocationHandle)(uintptr_t)h;
	return CUDA_SUCCESS;
}

static void handle_put(struct handle *h)
{
	if (h->references || h->mappings)
		return;
	give(h->device, h->bytes);
	free(h);
}

EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct handle *h = (struct handle *)(uintptr_t)handle;

	h->references--;
	handle_put(h);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
			 unsigned long long flags)
{
	for (int i = 0; i < 1024; i++)
		if (!mappings[i].bytes) {
			mappings[i].address = address;
			mappings[i].bytes = bytes;
			mappings[i].handle = (struct handle *)(uintptr_t)handle;
			mappings[i].handle->mappings++;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT CUresult cuMemUnmap(CUdeviceptr address, size_t bytes)
{
	bool found = false;

	for (int i = 0; i < 1024; i++)
		if (mappings[i].bytes && mappings[i].address >= address &&
		    mappings[i].address + mappings[i].bytes <= address + bytes) {
			mappings[i].handle->mappings--;
			handle_put(mappings[i].handle);
			mappings[i].bytes = 0;
			found = true;
		}
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *ret, void *address)
{
	uint64_t a = (uint64_t)(uintptr_t)address;

	for (int i = 0; i < 1024; i++)
		if (mappings[i].bytes && a >= mappings[i].address && a < mappings[i].address + mappings[i].bytes) {
			mappings[i].handle->references++;
			*ret = (CUmemGenericAllocationHandle)(uintptr_t)mappings[i].handle;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

static void array_unmap(CUarray array)
{
	for (int at = 0; at < 64; at++)
		if (array_mappings[at].handle && array_mappings[at].array == array) {
			array_mappings[at].handle->mappings--;
			handle_put(array_mappings[at].handle);
			array_mappings[at].handle = NULL;
		}
}

EXPORT CUresult cuMemMapArrayAsync(CUarrayMapInfo *list, unsigned int n, CUstream stream)
{
	CUresult r;

	for (unsigned int i = 0; i < n; i++)
		for (int at = 0; at < 64 && list[i].memHandle.memHandle; at++)
			if (!array_mappings[at].handle) {
				array_mappings[at].array = list[i].resource.array;
				array_mappings[at].handle = (struct handle *)(uintptr_t)list[i].memHandle.memHandle;
				array_mappings[at].handle->mappings++;
				break;
			}
	r = middle();
	if (r != CUDA_SUCCESS)
		array_unmap(list[0].resource.array);
	return r;
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

	if (middle() != CUDA_SUCCESS) {
		shared->opened++;
		*ret = UNSIZED;
		return CUDA_SUCCESS;
	}
	pthread_mutex_lock(&lock);
	a = place();
	*a = (struct allocation){ .address = next_address, .bytes = 1, .device = current->device };
	next_address += granule;
	*ret = a->address;
	pthread_mutex_unlock(&lock);
	return fail ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolImportPointer(CUdeviceptr *ret, CUmemoryPool pool, CUmemPoolPtrExportData *data)
{
	shared->opened++;
	*ret = UNSIZED;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuPointerGetAttribute(void *ret, CUpointer_attribute attribute, CUdeviceptr address)
{
	struct allocation *a = find(address);

	if (!a || attribute != CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
		return CUDA_ERROR_INVALID_VALUE;
	*(int *)ret = a->device;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr address)
{
	return cuMemFree_v2(address);
}

EXPORT CUresult cuMemExportToShareableHandle(void *ret, CUmemGenericAllocationHandle handle,
					     CUmemAllocationHandleType type, unsigned long long flags)
{
	char path[] = "/tmp/mete-object-XXXXXX";

	*(int *)ret = getenv("TEST_DRIVER_NODE") ? open("/dev/null", O_RDWR) : mkstemp(path);
	unlink(path);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *ret, void *fd,
					       CUmemAllocationHandleType type)
{
	struct handle *h = calloc(1, sizeof *h);

	h->device = current->device;
	h->references = 1;
	*ret = (CUmemGenericAllocationHandle)(uintptr_t)h;
	return CUDA_SUCCESS;
}

/* ---- modules and arrays: an image has a word "bytes N", and "ends N" for what goes elsewhere meanwhile ---- */

static uint64_t image_number(const char *image, const char *word)
{
	const char *p = strstr(image, word);

	return p ? strtoull(p + strlen(word), NULL, 0) : 0;
}

EXPORT CUresult cuModuleLoadData(CUmodule *ret, const void *image)
{
	struct allocation *m;
	uint64_t bytes = image_number(image, "bytes ");

	if (!current)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!take(current->device, bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	give(current->device, image_number(image, "ends "));
	__atomic_add_fetch(&shared->loads, 1, __ATOMIC_SEQ_CST);
	middle();
	m = calloc(1, sizeof *m);
	m->device = current->device;
	m->bytes = bytes;
	*ret = (CUmodule)m;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleUnload(CUmodule module)
{
	struct allocation *m = (struct allocation *)module;

	give(m->device, m->bytes);
	free(m);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuImportExternalMemory(CUexternalMemory *ret, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *d)
{
	struct external *e = calloc(1, sizeof *e);
	int i = 0;

	while (i < 15 && externals[i])
		i++;
	if (!take(current->device, d->size)) {
		free(e);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*e = (struct external){ .bytes = d->size, .context = current, .device = current->device, .holds = 1 };
	externals[i] = e;
	*ret = (CUexternalMemory)e;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDestroyExternalMemory(CUexternalMemory external)
{
	for (int i = 0; i < 16; i++)
		if (externals[i] == (struct external *)external)
			externals[i] = NULL;
	leave_external((struct external *)external);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *ret, CUexternalMemory external,
						const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *d)
{
	struct external *e = (struct external *)external;
	struct allocation *a = place();

	e->holds++;
	*a = (struct allocation){ .address = next_address = up(next_address, granule),
				  .bytes = d->size,
				  .context = current,
				  .external = e,
				  .device = e->device };
	next_address += up(d->size, granule);
	*ret = a->address;
	middle();
	return CUDA_SUCCESS;
}

static struct allocation *free_array; /* its handle is the next one's */

EXPORT CUresult cuArrayCreate_v2(CUarray *ret, const CUDA_ARRAY_DESCRIPTOR *d)
{
	struct allocation *a = free_array ? free_array : calloc(1, sizeof *a);

	free_array = NULL;
	a->device = current->device;
	a->bytes = up(d->Width * (d->Height ? d->Height : 1) * d->NumChannels, 64 << 10);
	if (!take(a->device, a->bytes)) {
		free(a);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	a->context = current;
	for (int i = 0; i < 64; i++)
		if (!arrays[i]) {
			arrays[i] = a;
			break;
		}
	*ret = (CUarray)a;
	return CUDA_SUCCESS;
}

/* In the middle its handle may already be another array's. */
EXPORT CUresult cuArrayDestroy(CUarray array)
{
	struct allocation *a = (struct allocation *)array;

	array_unmap(array);
	give(a->device, a->bytes);
	for (int i = 0; i < 64; i++)
		if (arrays[i] == a)
			arrays[i] = NULL;
	free_array = a;
	if (middle() == CUDA_SUCCESS && free_array == a) {
		free_array = NULL;
		free(a);
	}
	return CUDA_SUCCESS;
}

/* ---- graphs: what their allocation nodes need is reserved by the first upload or launch ---- */

struct graph {
	uint64_t bytes;
	int nodes;
};

struct exec {
	uint64_t bytes, reserved;
};

static struct exec *free_exec, *execs[16]; /* the handle of the last one that ended is the next one's */

/* Graphs, and events of contexts that end, live as long as the process: a leak check finds them here. */
extern void *driver_remembers[4096];
void *driver_remembers[4096];

static void *remember(void *object)
{
	static _Atomic unsigned int count;

	driver_remembers[atomic_fetch_add(&count, 1) % 4096] = object;
	return object;
}

EXPORT CUresult cuGraphCreate(CUgraph *ret, unsigned int flags)
{
	*ret = remember(calloc(1, sizeof(struct graph)));
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphAddMemAllocNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *after, size_t count,
				       CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	((struct graph *)graph)->bytes = params->bytesize;
	((struct graph *)graph)->nodes = 1;
	*ret = (CUgraphNode)graph;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *list, size_t *count)
{
	if (list)
		*list = (CUgraphNode)graph;
	*count = (size_t)((struct graph *)graph)->nodes;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *ret)
{
	*ret = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *ret)
{
	memset(ret, 0, sizeof *ret);
	ret->poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	ret->bytesize = ((struct graph *)node)->bytes;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
	struct exec *x = NULL;

	for (int i = 0; i < 16; i++)
		if (execs[i] == (struct exec *)exec)
			x = execs[i];
	if (!x) /* tests call with numbers for handles, too */
		return CUDA_SUCCESS;
	if (!x->reserved && !take(0, x->bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	x->reserved = x->bytes;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	return cuGraphUpload(exec, stream);
}

EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *ret, CUgraph graph, unsigned long long flags)
{
	struct exec *x = free_exec ? free_exec : calloc(1, sizeof *x);

	free_exec = NULL;
	*x = (struct exec){ .bytes = ((struct graph *)graph)->bytes };
	for (int i = 0; i < 16; i++)
		if (!execs[i] || execs[i] == x) {
			execs[i] = x;
			break;
		}
	*ret = (CUgraphExec)x;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphInstantiateWithParams(CUgraphExec *ret, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	cuGraphInstantiateWithFlags(ret, graph, params->flags);
	return params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD ? cuGraphUpload(*ret, params->hUploadStream)
								  : CUDA_SUCCESS;
}

/* Refused: it lives on. */
EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	struct exec *x = (struct exec *)exec;

	if (middle() != CUDA_SUCCESS)
		return CUDA_ERROR_UNKNOWN;
	give(0, x->reserved);
	x->reserved = 0;
	free_exec = x;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value)
{
	uint64_t bytes = 0;

	for (int i = 0; i < 16; i++)
		bytes += execs[i] ? execs[i]->reserved : 0;
	*(cuuint64_t *)value = bytes;
	return CUDA_SUCCESS;
}

static CUresult newer_cuMemAlloc(CUdeviceptr *p, size_t bytes)
{
	*p = 0x1234000;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
				    CUdriverProcAddressQueryResult *status)
{
	char name[128];
	Dl_info self;
	void *handle;

	/* A variant that is newer than the tables know. */
	if (version > 13050 && !strcmp(symbol, "cuMemAlloc")) {
		*pfn = (void *)newer_cuMemAlloc;
		return CUDA_SUCCESS;
	}
	/* The newest by name is enough here; which variant a version means is the tables' affair. */
	dladdr((void *)cuInit, &self);
	handle = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	*pfn = NULL;
	if (flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) {
		snprintf(name, sizeof name, "%s_ptsz", symbol);
		*pfn = dlsym(handle, name);
	}
	snprintf(name, sizeof name, "%s_v2", symbol);
	if (!*pfn)
		*pfn = dlsym(handle, name);
	if (!*pfn)
		*pfn = dlsym(handle, symbol);
	dlclose(handle);
	if (status)
		*status = *pfn ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}

/* Events. They happen when they are recorded; an event is the place where its time stands. ------------------------- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Tests call with numbers for handles, too. */
static bool is_event(CUevent event)
{
	return (uintptr_t)event > 0x10000;
}

EXPORT CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
	*event = remember(calloc(1, sizeof(uint64_t)));
	return *event ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT CUresult cuEventDestroy_v2(CUevent event)
{
	if (is_event(event))
		free(event);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuEventRecord(CUevent event, CUstream stream)
{
	if (is_event(event))
		__atomic_store_n((uint64_t *)event, now_ns(), __ATOMIC_RELAXED);
	__atomic_add_fetch(&shared->records, 1, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuEventElapsedTime(float *ms, CUevent begin, CUevent end)
{
	uint64_t from;

	if (!is_event(begin) || !is_event(end))
		return CUDA_ERROR_INVALID_HANDLE;
	from = __atomic_load_n((uint64_t *)begin, __ATOMIC_RELAXED);
	*ms = (float)((double)(int64_t)(__atomic_load_n((uint64_t *)end, __ATOMIC_RELAXED) - from) / 1e6);
	return CUDA_SUCCESS;
}
