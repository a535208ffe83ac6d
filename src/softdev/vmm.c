/*
 * vmm.c: see vmm.h. Address reservations, memory by handle, mappings, sharing between processes.
 *
 * No descriptor stays open for a handle: the mapping at `home` keeps the memory and, for an object, the lock that says
 * that this process still has it. A child made by fork has none of the mappings.
 */
#include "softdev/vmm.h"

#include "base/setting.h"
#include "softdev/context.h"
#include "softdev/space.h"
#include "softdev/stream.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GRANULE (UINT64_C(2) << 20)

struct reservation {
	struct reservation *next;
	uint64_t begin, bytes;
};

static struct reservation *reservations; /* memory_mutex guards it */

/* ---- reservations ---- */

static bool reserved_locked(uint64_t begin, uint64_t bytes)
{
	for (struct reservation *r = reservations; r; r = r->next)
		if (begin >= r->begin && bytes <= r->bytes && begin - r->begin <= r->bytes - bytes)
			return true;
	return false;
}

/* Wishes may be ignored, and a driver whose space is taken ignores them: METE_SOFT_ADDRESSES=any. */
static uint64_t wished(CUdeviceptr wish)
{
	const char *word = wish ? setting_get("METE_SOFT_ADDRESSES") : NULL;

	return word && !strcmp(word, "any") ? 0 : wish;
}

CUresult soft_cuMemAddressReserve(CUdeviceptr *ret, size_t bytes, size_t align, CUdeviceptr wish,
				  unsigned long long flags)
{
	struct reservation *r;
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!ret || !bytes || bytes % GRANULE || flags || (align & (align - 1)) || wish % GRANULE)
		return CUDA_ERROR_INVALID_VALUE;
	r = calloc(1, sizeof(*r));
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r->begin = space_take(bytes, align > GRANULE ? align : GRANULE, wished(wish));
	r->bytes = bytes;
	if (!r->begin) {
		free(r);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	madvise((void *)(uintptr_t)r->begin, bytes, MADV_DONTFORK);
	pthread_mutex_lock(&memory_mutex);
	r->next = reservations;
	reservations = r;
	pthread_mutex_unlock(&memory_mutex);
	*ret = r->begin;
	return CUDA_SUCCESS;
}

CUresult soft_cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
	struct reservation *found = NULL;
	CUresult e = driver_ready();

	if (e)
		return e;
	pthread_mutex_lock(&memory_mutex);
	for (struct reservation **at = &reservations; *at; at = &(*at)->next)
		if ((*at)->begin == address && (*at)->bytes == bytes) {
			if (range_overlaps_locked(address, bytes))
				break; /* something is still mapped there */
			found = *at;
			*at = found->next;
			break;
		}
	pthread_mutex_unlock(&memory_mutex);
	if (!found)
		return CUDA_ERROR_INVALID_VALUE;
	space_give(address, bytes);
	free(found);
	return CUDA_SUCCESS;
}

/* ---- handles ---- */

static CUresult props_check(const CUmemAllocationProp *p, struct device **ret)
{
	if (!p || p->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (p->location.type == CU_MEM_LOCATION_TYPE_HOST || p->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
	    p->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (p->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	if (p->requestedHandleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	return device_find(p->location.id, ret);
}

CUresult soft_cuMemGetAllocationGranularity(size_t *ret, const CUmemAllocationProp *p,
					    CUmemAllocationGranularity_flags option)
{
	struct device *d;
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!ret || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
		return CUDA_ERROR_INVALID_VALUE;
	e = props_check(p, &d);
	if (!e)
		*ret = GRANULE;
	return e;
}

static void *home_map(uint64_t bytes, int fd)
{
	void *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | (fd < 0 ? MAP_ANONYMOUS : 0),
		       fd, 0);

	if (m == MAP_FAILED)
		return NULL;
	madvise(m, bytes, MADV_DONTFORK);
	return m;
}

static struct allocation *allocation_new(struct device *d, uint64_t bytes, const CUmemAllocationProp *props)
{
	struct allocation *a = handle_new(HANDLE_ALLOCATION);

	if (!a)
		return NULL;
	a->device = d;
	a->bytes = bytes;
	a->props = *props;
	a->references = 1;
	return a;
}

/* Private memory is charged to this process, an object to the segment's table, where it may outlive the process. */
static CUresult allocation_back(struct allocation *a)
{
	uint64_t units = a->bytes / SEGMENT_UNIT_BYTES;
	struct segment_wish wish = { SEGMENT_HANDLE, a->device->index, units, a->bytes, false };
	int fd;

	if (!a->props.requestedHandleTypes) {
		if (segment_charge(&driver.place, a->device->index, units))
			return CUDA_ERROR_OUT_OF_MEMORY;
		a->home = home_map(a->bytes, -1);
		if (!a->home)
			segment_refund(&driver.place, a->device->index, units);
		return a->home ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	fd = segment_object_new(&driver.place, &wish, &a->object);
	if (fd < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a->home = home_map(a->bytes, fd);
	close(fd);
	if (!a->home)
		segment_reap(&driver.place);
	return a->home ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult soft_cuMemCreate(CUmemGenericAllocationHandle *ret, size_t bytes, const CUmemAllocationProp *props,
			  unsigned long long flags)
{
	struct allocation *a;
	struct device *d;
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!ret || !bytes || bytes % GRANULE || flags)
		return CUDA_ERROR_INVALID_VALUE;
	e = props_check(props, &d);
	if (e)
		return e;
	a = allocation_new(d, bytes, props);
	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e = allocation_back(a);
	if (e)
		handle_free(a);
	else
		*ret = (CUmemGenericAllocationHandle)(uintptr_t)a;
	return e;
}

/* The last reference and the last mapping are gone. */
static void allocation_end(struct allocation *a)
{
	if (a->object)
		segment_object_adopt(&driver.place, a->object); /* descriptors of it may be left here */
	munmap(a->home, a->bytes);
	if (a->object)
		segment_reap(&driver.place); /* nobody may hold the object any more */
	else
		segment_refund(&driver.place, a->device->index, a->bytes / SEGMENT_UNIT_BYTES);
	handle_free(a);
}

static CUresult allocation_find(CUmemGenericAllocationHandle h, struct allocation **ret)
{
	CUresult e = driver_ready();

	if (e)
		return e;
	*ret = handle_find(HANDLE_ALLOCATION, (void *)(uintptr_t)h);
	return *ret && (*ret)->references ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuMemRelease(CUmemGenericAllocationHandle h)
{
	struct allocation *a;
	bool last = false;
	CUresult e = allocation_find(h, &a);

	if (e)
		return e;
	pthread_mutex_lock(&memory_mutex);
	if (!a->references)
		e = CUDA_ERROR_INVALID_VALUE;
	else
		last = !--a->references && !a->mappings;
	pthread_mutex_unlock(&memory_mutex);
	if (last)
		allocation_end(a);
	return e;
}

CUresult soft_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *ret, CUmemGenericAllocationHandle h)
{
	struct allocation *a;
	CUresult e = allocation_find(h, &a);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = a->props;
	return CUDA_SUCCESS;
}

CUresult soft_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *ret, void *p)
{
	struct range *r;
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!ret || !p)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&memory_mutex);
	r = range_find_locked((uint64_t)(uintptr_t)p);
	if (r && r->kind == RANGE_MAPPED) {
		r->allocation->references++;
		*ret = (CUmemGenericAllocationHandle)(uintptr_t)r->allocation;
	} else {
		e = CUDA_ERROR_INVALID_VALUE;
	}
	pthread_mutex_unlock(&memory_mutex);
	return e;
}

/* ---- mappings ---- */

static CUresult map_locked(struct range *r, struct allocation *a, uint64_t offset)
{
	void *at = (void *)(uintptr_t)r->begin;

	if (!a->references)
		return CUDA_ERROR_INVALID_VALUE;
	if (!reserved_locked(r->begin, r->bytes) || range_overlaps_locked(r->begin, r->bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (!range_add_locked(r))
		return CUDA_ERROR_OUT_OF_MEMORY;
	/* An old size of 0 doubles a shared mapping: both show the same memory. */
	if (mremap((char *)a->home + offset, 0, r->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) == MAP_FAILED) {
		range_remove_locked(r);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	mprotect(at, r->bytes, PROT_NONE);
	madvise(at, r->bytes, MADV_DONTFORK);
	a->mappings++;
	return CUDA_SUCCESS;
}

CUresult soft_cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle h,
		       unsigned long long flags)
{
	struct allocation *a;
	struct range *r;
	CUresult e = allocation_find(h, &a);

	if (e)
		return e;
	if (!address || !bytes || address % GRANULE || bytes % GRANULE || offset % GRANULE || flags ||
	    offset > a->bytes || bytes > a->bytes - offset)
		return CUDA_ERROR_INVALID_VALUE;
	r = calloc(1, sizeof(*r));
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r->kind = RANGE_MAPPED;
	r->begin = address;
	r->bytes = bytes;
	r->device = a->device;
	r->allocation = a;
	pthread_mutex_lock(&memory_mutex);
	e = map_locked(r, a, offset);
	pthread_mutex_unlock(&memory_mutex);
	if (e)
		free(r);
	return e;
}

/* The mappings that make up [address, address + bytes) exactly; value: false where something else is. */
static bool mappings_exact_locked(uint64_t address, uint64_t bytes)
{
	while (bytes) {
		struct range *r = range_find_locked(address);

		if (!r || r->kind != RANGE_MAPPED || r->begin != address || r->bytes > bytes)
			return false;
		address += r->bytes;
		bytes -= r->bytes;
	}
	return true;
}

CUresult soft_cuMemUnmap(CUdeviceptr address, size_t bytes)
{
	CUresult e = driver_ready();
	bool exact;

	if (e)
		return e;
	if (!address || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&memory_mutex);
	exact = mappings_exact_locked(address, bytes);
	pthread_mutex_unlock(&memory_mutex);
	if (!exact)
		return CUDA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; i < driver.device_count; i++)
		stream_wait_device(&driver.device[i]);
	while (bytes) {
		struct allocation *end = NULL;
		struct range *r;

		pthread_mutex_lock(&memory_mutex);
		r = range_find_locked(address);
		if (!r || r->kind != RANGE_MAPPED || r->begin != address) {
			pthread_mutex_unlock(&memory_mutex);
			return CUDA_ERROR_INVALID_VALUE;
		}
		mmap((void *)(uintptr_t)r->begin, r->bytes, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		range_remove_locked(r);
		if (!--r->allocation->mappings && !r->allocation->references)
			end = r->allocation;
		pthread_mutex_unlock(&memory_mutex);
		if (end)
			allocation_end(end);
		address += r->bytes;
		bytes -= r->bytes;
		free(r);
	}
	return CUDA_SUCCESS;
}

static int access_protection(unsigned flags)
{
	return flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? PROT_READ | PROT_WRITE
	       : flags == CU_MEM_ACCESS_FLAGS_PROT_READ	   ? PROT_READ
							   : PROT_NONE;
}

CUresult soft_cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *desc, size_t count)
{
	unsigned flags = 0;
	struct device *d;
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!address || !bytes || !desc || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
			return CUDA_ERROR_NOT_SUPPORTED;
		if (device_find(desc[i].location.id, &d))
			return CUDA_ERROR_INVALID_DEVICE;
		if (desc[i].flags != 0 && desc[i].flags != 1 && desc[i].flags != 3)
			return CUDA_ERROR_INVALID_VALUE;
		flags |= (unsigned)desc[i].flags;
	}
	pthread_mutex_lock(&memory_mutex);
	if (!mappings_exact_locked(address, bytes))
		e = CUDA_ERROR_INVALID_VALUE;
	while (!e && bytes) {
		struct range *r = range_find_locked(address);

		r->flags = flags;
		mprotect((void *)(uintptr_t)r->begin, r->bytes, access_protection(flags));
		address += r->bytes;
		bytes -= r->bytes;
	}
	pthread_mutex_unlock(&memory_mutex);
	return e;
}

CUresult soft_cuMemGetAccess(unsigned long long *ret, const CUmemLocation *location, CUdeviceptr address)
{
	struct device *d;
	struct range *r;
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!ret || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	if (device_find(location->id, &d))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&memory_mutex);
	r = range_find_locked(address);
	if (r && r->kind == RANGE_MAPPED)
		*ret = r->flags;
	else
		e = CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_unlock(&memory_mutex);
	return e;
}

/* ---- between processes ---- */

CUresult soft_cuMemExportToShareableHandle(void *ret, CUmemGenericAllocationHandle h, CUmemAllocationHandleType type,
					   unsigned long long flags)
{
	struct allocation *a;
	int fd;
	CUresult e = allocation_find(h, &a);

	if (e)
		return e;
	if (!ret || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	if (!a->object)
		return CUDA_ERROR_INVALID_VALUE; /* was not asked for at cuMemCreate */
	fd = segment_object_give(&driver.place, a->object);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	*(int *)ret = fd;
	return CUDA_SUCCESS;
}

CUresult soft_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *ret, void *handle,
					     CUmemAllocationHandleType type)
{
	CUmemAllocationProp props = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR };
	struct allocation *a;
	struct device *d;
	uint64_t id, units;
	uint32_t index;
	CUresult e = driver_ready();
	int fd;

	if (e)
		return e;
	if (!ret || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	if (segment_object_find(&driver.place, SEGMENT_HANDLE, (int)(intptr_t)handle, &id, &index, &units))
		return CUDA_ERROR_INVALID_VALUE;
	d = device_at(index);
	if (!d)
		return CUDA_ERROR_INVALID_DEVICE; /* lies on a device that this program does not see */
	props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	props.location.id = d->ordinal;
	a = allocation_new(d, units * SEGMENT_UNIT_BYTES, &props);
	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a->object = id;
	fd = segment_object_open(&driver.place, id);
	if (fd >= 0) {
		a->home = home_map(a->bytes, fd);
		close(fd);
	}
	if (!a->home) {
		handle_free(a);
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
	*ret = (CUmemGenericAllocationHandle)(uintptr_t)a;
	return CUDA_SUCCESS;
}
