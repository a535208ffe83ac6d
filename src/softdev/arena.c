/* arena.c: see arena.h. */
#include "softdev/arena.h"

#include "base/extent.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define ARENA_PAGE 4096u
#define ARENA_GRANULE (UINT64_C(2) << 20)

struct arena {
	uint64_t begin;
	uint64_t middle; /* small requests below, larger ones from here on */
	uint64_t end;
	struct extent *small, *large;
};

/*
 * Where no system puts programs, libraries, stacks and heaps, nor the address sanitizer its shadow. A worker's client
 * has the same addresses for what it is given (remote/client/ranges.h), and what is its own would be in the way there.
 */
#define PLACES_BEGIN UINT64_C(0x120000000000)
#define PLACES_END UINT64_C(0x4a0000000000)
#define PLACES_TRIES 8

static uint64_t place_at_random(unsigned int try)
{
	const unsigned char *seed = (const unsigned char *)(uintptr_t)getauxval(AT_RANDOM);
	uint64_t random = 0;

	if (seed)
		memcpy(&random, seed, sizeof(random));
	random = (random + try) * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return PLACES_BEGIN + (random >> 16) % ((PLACES_END - PLACES_BEGIN) / ARENA_GRANULE) * ARENA_GRANULE;
}

static void *map_somewhere(uint64_t bytes)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

	/* A wish, not MAP_FIXED_NOREPLACE: the thread sanitizer changes addresses that it cannot watch. */
	for (unsigned int i = 0; i < PLACES_TRIES; i++) {
		void *wish = (void *)(uintptr_t)place_at_random(i);
		void *m = mmap(wish, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);

		if (m == wish)
			return m;
		if (m != MAP_FAILED)
			munmap(m, bytes);
	}
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
}

/* Whole granules of address space; what the machine does not give in full may be had in part. */
static uint64_t arena_reserve(uint64_t *bytes)
{
	for (; *bytes >= ARENA_GRANULE; *bytes = *bytes / 2 / ARENA_GRANULE * ARENA_GRANULE) {
		void *m = map_somewhere(*bytes + ARENA_GRANULE);
		uint64_t begin;

		if (m == MAP_FAILED)
			continue;
		madvise(m, *bytes + ARENA_GRANULE, MADV_DONTFORK);
		madvise(m, *bytes + ARENA_GRANULE, MADV_DONTDUMP);
		begin = ((uint64_t)(uintptr_t)m + ARENA_GRANULE - 1) / ARENA_GRANULE * ARENA_GRANULE;
		return begin;
	}
	return 0;
}

struct arena *arena_new(uint64_t device_bytes)
{
	uint64_t bytes = (device_bytes + 2 * ARENA_GRANULE) / ARENA_GRANULE * ARENA_GRANULE * 8;
	struct arena *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->begin = arena_reserve(&bytes);
	if (!a->begin)
		goto fail;
	a->end = a->begin + bytes;
	a->middle = a->begin + bytes / 4 / ARENA_GRANULE * ARENA_GRANULE;
	if (a->middle - a->begin < 3 * ARENA_GRANULE)
		goto fail;
	/* the first granule of the small half and the last one, which lies before the large half, stay the driver's */
	if (!extent_add(&a->small, a->begin + ARENA_GRANULE, a->middle - a->begin - 2 * ARENA_GRANULE, NULL) ||
	    !extent_add(&a->large, a->middle, a->end - a->middle, NULL))
		goto fail;
	return a;
fail:
	free(a);
	return NULL;
}

uint64_t arena_alloc(struct arena *a, uint64_t bytes, void *owner)
{
	struct extent *e;

	/* what is charged a whole page has it to itself, and so can be handed to other processes as one */
	if (bytes <= ARENA_PAGE - ARENA_ALIGN)
		e = extent_take(&a->small, (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN, owner);
	else
		e = extent_take(&a->large, (bytes + ARENA_PAGE - 1) / ARENA_PAGE * ARENA_PAGE, owner);
	return e ? e->begin : 0;
}

static void extent_clear(const struct arena *a, const struct extent *e)
{
	void *m = (void *)(uintptr_t)e->begin;

	if (e->begin < a->middle || madvise(m, e->bytes, MADV_DONTNEED))
		memset(m, 0, e->bytes);
}

static struct extent **arena_half(struct arena *a, uint64_t address)
{
	return address < a->middle ? &a->small : &a->large;
}

void arena_clear(struct arena *a, uint64_t address)
{
	extent_clear(a, extent_find(*arena_half(a, address), address));
}

void arena_free(struct arena *a, uint64_t address)
{
	arena_clear(a, address);
	extent_release(arena_half(a, address), address);
}

bool arena_covers(const struct arena *a, uint64_t address)
{
	return address >= a->begin && address < a->end;
}

void *arena_find(const struct arena *a, uint64_t address)
{
	struct extent *e;

	if (!arena_covers(a, address))
		return NULL;
	e = extent_find(address < a->middle ? a->small : a->large, address);
	return e ? e->owner : NULL;
}

bool arena_owns_pages(const struct arena *a, uint64_t address)
{
	return address >= a->middle;
}

bool arena_used(const struct arena *a, uint64_t begin, uint64_t end)
{
	struct extent *root = begin < a->middle ? a->small : a->large;
	struct extent *e = extent_previous(root, begin + 1);

	for (; e && e->begin < end; e = extent_next(root, e->begin + 1))
		if (e->owner && e->begin + e->bytes > begin)
			return true;
	return false;
}

bool arena_is_front(const struct arena *a, uint64_t address)
{
	return (address >= a->begin && address - a->begin < ARENA_GRANULE) ||
	       (address < a->middle && a->middle - address <= ARENA_GRANULE);
}

void arena_neighbours(const struct arena *a, uint64_t address, void **ret_before, void **ret_behind)
{
	struct extent *root = address < a->middle ? a->small : a->large;
	struct extent *e = extent_previous(root, address + 1);

	while (e && !e->owner)
		e = extent_previous(root, e->begin);
	*ret_before = e ? e->owner : NULL;
	e = extent_next(root, address + 1);
	while (e && !e->owner)
		e = extent_next(root, e->begin + 1);
	*ret_behind = e ? e->owner : NULL;
}

void arena_bounds(const struct arena *a, uint64_t *ret_begin, uint64_t *ret_end)
{
	if (*ret_begin < a->begin)
		*ret_begin = a->begin;
	if (*ret_end > a->end)
		*ret_end = a->end;
}
