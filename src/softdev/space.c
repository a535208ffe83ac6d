/* space.c: see space.h. What is kept is a list in the order of addresses, whose neighbours are one. */
#include "softdev/space.h"

#include "softdev/fence.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u
#define NO_ACCESS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

struct piece {
	struct piece *next;
	uint64_t begin, end;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct piece *kept; /* mutex guards it */

static uint64_t address_of(void *m)
{
	return (uint64_t)(uintptr_t)m;
}

static void *at_address(uint64_t begin)
{
	return (void *)(uintptr_t)begin;
}

/* ---- what is kept ---- */

/* [begin, end) leaves the piece, which is freed with the last of it. False: no memory for what is left behind it. */
static bool cut_locked(struct piece **at, uint64_t begin, uint64_t end)
{
	struct piece *p = *at, *behind = NULL;

	if (begin > p->begin && end < p->end) {
		behind = malloc(sizeof(*behind));
		if (!behind)
			return false;
		*behind = (struct piece){ p->next, end, p->end };
		p->next = behind;
		p->end = begin;
	} else if (begin > p->begin) {
		p->end = begin;
	} else if (end < p->end) {
		p->begin = end;
	} else {
		*at = p->next;
		free(p);
	}
	return true;
}

/* `exact`: a multiple of `align` that is wanted; 0: anywhere. */
static uint64_t kept_take(uint64_t bytes, uint64_t align, uint64_t exact)
{
	uint64_t found = 0;

	pthread_mutex_lock(&mutex);
	for (struct piece **at = &kept; *at && !found; at = &(*at)->next) {
		const struct piece *p = *at;
		uint64_t begin = exact ? exact : (p->begin + align - 1) / align * align;

		if (begin < p->begin || begin >= p->end || bytes > p->end - begin)
			continue;
		if (cut_locked(at, begin, begin + bytes))
			found = begin;
		break;
	}
	pthread_mutex_unlock(&mutex);
	return found;
}

static bool keep(uint64_t begin, uint64_t end)
{
	struct piece **at = &kept, *p = malloc(sizeof(*p)), *next;

	if (!p)
		return false;
	pthread_mutex_lock(&mutex);
	while (*at && (*at)->end < begin)
		at = &(*at)->next;
	*p = (struct piece){ *at, begin, end };
	*at = p;
	while ((next = p->next) && next->begin <= p->end) {
		p->begin = next->begin < p->begin ? next->begin : p->begin;
		p->end = next->end > p->end ? next->end : p->end;
		p->next = next->next;
		free(next);
	}
	pthread_mutex_unlock(&mutex);
	return true;
}

/* ---- address space ---- */

static uint64_t map_at(uint64_t bytes, uint64_t wish)
{
	void *m = mmap(at_address(wish), bytes, PROT_NONE, NO_ACCESS | MAP_FIXED_NOREPLACE, -1, 0);

	if (m == at_address(wish))
		return wish;
	if (m != MAP_FAILED)
		munmap(m, bytes);
	return 0;
}

static uint64_t map_anywhere(uint64_t bytes, uint64_t align)
{
	uint64_t begin, all, end;
	void *m;

	if (__builtin_add_overflow(bytes, align > PAGE ? align : 0, &all))
		return 0;
	m = mmap(NULL, all, PROT_NONE, NO_ACCESS, -1, 0);
	if (m == MAP_FAILED)
		return 0;
	begin = (address_of(m) + align - 1) / align * align;
	end = address_of(m) + all;
	if (begin > address_of(m))
		munmap(m, begin - address_of(m));
	if (end > begin + bytes)
		munmap(at_address(begin + bytes), end - begin - bytes);
	return begin;
}

uint64_t space_take(uint64_t bytes, uint64_t align, uint64_t wish)
{
	uint64_t begin = 0;

	if (wish) {
		begin = kept_take(bytes, align, wish);
		begin = begin ? begin : map_at(bytes, wish);
	}
	if (!begin)
		begin = kept_take(bytes, align, 0);
	return begin ? begin : map_anywhere(bytes, align);
}

/* Locked memory is memory that the machine has; more cannot be had, although the kernel may promise it. */
static uint64_t machine_bytes(void)
{
	const long pages = sysconf(_SC_PHYS_PAGES);

	return pages > 0 ? (uint64_t)pages * PAGE : UINT64_MAX;
}

void *space_take_memory(uint64_t bytes)
{
	uint64_t all, begin;

	if (__builtin_add_overflow(bytes, PAGE - 1, &all))
		return NULL;
	all = all / PAGE * PAGE;
	if (all > machine_bytes())
		return NULL;
	begin = space_take(all, PAGE, 0);
	if (!begin)
		return NULL;
	if (mmap(at_address(begin), all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
	    MAP_FAILED)
		return at_address(begin);
	space_give(begin, all);
	return NULL;
}

void space_give(uint64_t begin, uint64_t bytes)
{
	bytes = (bytes + PAGE - 1) / PAGE * PAGE;
	if (!fence_stands()) {
		munmap(at_address(begin), bytes);
		return;
	}
	/* Without memory for the list it is nobody's for good. */
	mmap(at_address(begin), bytes, PROT_NONE, NO_ACCESS | MAP_FIXED, -1, 0);
	keep(begin, begin + bytes);
}
