/* share.c: see share.h. */
#include "softdev/share.h"

#include "softdev/arena.h"
#include "softdev/space.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE UINT64_C(4096)

/* A page of small allocations that has become a file's. */
struct common_page {
	struct common_page *next;
	uint64_t address;
	uint64_t object;
};

pthread_rwlock_t share_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct common_page *common_pages; /* memory_mutex guards it */

static uint64_t page_begin(uint64_t address)
{
	return address / PAGE * PAGE;
}

static uint64_t page_end(uint64_t address)
{
	return (address + PAGE - 1) / PAGE * PAGE;
}

/* Copies what is not zero: the file's holes read as zero and take nothing. */
static void pages_copy(char *to, const char *from, uint64_t bytes)
{
	static const char zero[4096];

	for (uint64_t at = 0; at < bytes; at += PAGE)
		if (memcmp(from + at, zero, PAGE))
			memcpy(to + at, from + at, PAGE);
}

/* [begin, begin + bytes) becomes a mapping of a new object with the same contents, which takes over `units`. */
static CUresult pages_move(struct device *d, uint64_t begin, uint64_t bytes, uint64_t units, uint64_t *ret_object)
{
	struct segment_wish wish = { SEGMENT_MEMORY, d->index, units, bytes, true };
	void *at = (void *)(uintptr_t)begin, *m;
	int fd = segment_object_new(&driver.place, &wish, ret_object);

	if (fd < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	close(fd);
	if (m == MAP_FAILED)
		return CUDA_ERROR_MAP_FAILED;
	madvise(m, bytes, MADV_DONTFORK);
	madvise(m, bytes, MADV_DONTDUMP);
	pages_copy(m, at, bytes);
	if (mremap(m, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) == MAP_FAILED) {
		munmap(m, bytes);
		return CUDA_ERROR_MAP_FAILED;
	}
	return CUDA_SUCCESS;
}

/* The object of a page that several small allocations have. */
static CUresult common_export_locked(struct device *d, uint64_t begin, uint64_t *ret_object)
{
	struct common_page *p;
	CUresult e;

	for (p = common_pages; p && p->address != begin; p = p->next)
		;
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return CUDA_ERROR_OUT_OF_MEMORY;
		p->address = begin;
		e = pages_move(d, begin, PAGE, 0, &p->object);
		if (e) {
			free(p);
			return e;
		}
		p->next = common_pages;
		common_pages = p;
	}
	*ret_object = p->object;
	return CUDA_SUCCESS;
}

static CUresult small_export_locked(struct range *r, struct share_place *ret)
{
	uint64_t begin = page_begin(r->begin);
	CUresult e;

	*ret = (struct share_place){ .offset = r->begin - begin };
	e = common_export_locked(r->device, begin, &ret->object);
	if (!e && r->begin + r->bytes > begin + PAGE)
		e = common_export_locked(r->device, begin + PAGE, &ret->second);
	return e;
}

CUresult share_export_locked(struct range *r, struct share_place *ret)
{
	uint64_t object;
	CUresult e;

	if (!arena_owns_pages(r->device->arena, r->begin))
		return small_export_locked(r, ret);
	if (!r->object) {
		e = pages_move(r->device, r->begin, page_end(r->units * SEGMENT_UNIT_BYTES), r->units, &object);
		if (e == CUDA_ERROR_MAP_FAILED) {
			segment_reap(&driver.place); /* the object goes, and the charge with it: take it back */
			if (segment_charge(&driver.place, r->device->index, r->units))
				r->units = 0;
		}
		if (e)
			return e;
		r->object = object;
	}
	*ret = (struct share_place){ .object = r->object };
	return CUDA_SUCCESS;
}

void share_withdraw_locked(struct range *r)
{
	uint64_t bytes = page_end(r->units * SEGMENT_UNIT_BYTES);
	void *at = (void *)(uintptr_t)r->begin;

	mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	madvise(at, bytes, MADV_DONTFORK);
	madvise(at, bytes, MADV_DONTDUMP);
}

/* Maps an object's file at `at`, or anywhere. */
static CUresult object_map(uint64_t object, void *at, uint64_t bytes, void **ret)
{
	int fd = segment_object_open(&driver.place, object);

	if (fd < 0)
		return CUDA_ERROR_INVALID_HANDLE;
	*ret = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | (at ? MAP_FIXED : 0), fd, 0);
	close(fd);
	return *ret == MAP_FAILED ? CUDA_ERROR_MAP_FAILED : CUDA_SUCCESS;
}

static CUresult place_map(const struct share_place *at, uint64_t bytes, void **ret)
{
	void *second;
	CUresult e = object_map(at->object, NULL, bytes, ret);

	if (!e && at->second) {
		e = object_map(at->second, (char *)*ret + PAGE, PAGE, &second);
		if (e)
			munmap(*ret, bytes);
	}
	if (!e)
		madvise(*ret, bytes, MADV_DONTFORK);
	return e;
}

CUresult share_import(struct device *d, struct context *c, const struct share_place *at, uint64_t bytes,
		      struct range **ret)
{
	uint64_t all = page_end(at->offset + bytes);
	struct range *r = calloc(1, sizeof(*r));
	bool added;
	CUresult e;

	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*r = (struct range){ .kind = RANGE_IMPORTED, .bytes = bytes, .device = d, .context = c };
	r->object = at->object;
	r->opens = 1;
	e = place_map(at, all, &r->owned);
	if (e) {
		free(r);
		return e;
	}
	r->begin = (uint64_t)(uintptr_t)r->owned + at->offset;
	pthread_mutex_lock(&memory_mutex);
	added = range_add_locked(r);
	pthread_mutex_unlock(&memory_mutex);
	if (!added) {
		munmap(r->owned, all);
		free(r);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret = r;
	return CUDA_SUCCESS;
}

void share_close(struct range *r)
{
	space_give((uint64_t)(uintptr_t)r->owned, page_end(r->begin + r->bytes) - (uint64_t)(uintptr_t)r->owned);
	segment_reap(&driver.place); /* this may have been the last hold */
	free(r);
}
