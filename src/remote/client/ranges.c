/* ranges.c: see ranges.h. Two ordered maps: what is there, and which addresses of this process are kept for it. */
#include "remote/client/ranges.h"

#include "base/extent.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define PAGE UINT64_C(4096)
#define LEAST UINT64_C(65536) /* below is NULL, and what a program finds by it: root could map that */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all */
static struct extent *there;				 /* owner: struct range */
static struct extent *reserved;				 /* by cuMemAddressReserve; owner: struct range */
static struct extent *places; /* kept in this process, readable by nobody; never given back */
static uint64_t next_id;

/* ---- places ---- */

/* The system may give another place than the one that was asked for: then the place is taken. */
static bool place_map(uint64_t begin, uint64_t bytes)
{
	void *want = (void *)(uintptr_t)begin;
	int saved = errno;
	void *got =
		mmap(want, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (got != want && got != MAP_FAILED)
		munmap(got, bytes);
	errno = saved;
	return got == want;
}

/* A gap of [begin, end) in which nothing is kept yet: the pieces around it if they are free, else just the pages. */
static int place_fill(uint64_t begin, uint64_t end)
{
	uint64_t low = begin / RANGES_PIECE * RANGES_PIECE,
		 high = (end + RANGES_PIECE - 1) / RANGES_PIECE * RANGES_PIECE;
	struct extent *before = extent_previous(places, begin + 1), *behind = extent_next(places, begin);

	if (before && before->begin + before->bytes > low)
		low = before->begin + before->bytes;
	if (behind && behind->begin < high)
		high = behind->begin;
	if (!place_map(low, high - low)) {
		low = begin;
		high = end;
		if (!place_map(low, high - low))
			return -EEXIST;
	}
	return extent_add(&places, low, high - low, &places) ? 0 : -ENOMEM;
}

static int place_locked(uint64_t address, uint64_t bytes)
{
	uint64_t at = address / PAGE * PAGE, end;
	int r;

	if (address < LEAST || __builtin_add_overflow(address, bytes, &end) || end > UINT64_MAX - PAGE)
		return -EEXIST;
	end = (end + PAGE - 1) / PAGE * PAGE;
	while (at < end) {
		struct extent *e = extent_find(places, at), *next;

		if (e) {
			at = e->begin + e->bytes;
			continue;
		}
		next = extent_next(places, at);
		r = place_fill(at, next && next->begin < end ? next->begin : end);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- ranges ---- */

/* Whether a place has to be kept for it; the arena has its own. */
static bool ours(const struct range *r)
{
	const struct wall *w = &r->session->link.wall;

	return r->kind != RANGE_HOST && r->kind != RANGE_REGISTERED &&
	       (r->kind != RANGE_ALIAS || r->begin - (uint64_t)(uintptr_t)w->arena >= w->arena_bytes);
}

static bool overlaps(struct extent *root, uint64_t begin, uint64_t bytes)
{
	struct extent *e = extent_previous(root, begin + bytes);

	return e && e->begin + e->bytes > begin;
}

static struct range *find_locked(uint64_t address)
{
	struct extent *e = extent_find(there, address);

	return e ? e->owner : NULL;
}

static void remove_locked(struct extent **root, struct range *r)
{
	extent_remove(root, r->begin);
	free(r);
}

/*
 * What its worker gives out anew cannot be in use there: what lay here went away with something else (a pool with its
 * context, memory of a graph). False: another session's, or the program's own.
 */
static bool renew_locked(struct extent **root, const struct range *range)
{
	struct extent *e;
	struct range *old;

	while (overlaps(*root, range->begin, range->bytes)) {
		e = extent_previous(*root, range->begin + range->bytes);
		old = e->owner;
		if (old->session != range->session || (old->kind != RANGE_DEVICE && old->kind != RANGE_POOL))
			return false;
		remove_locked(root, old);
	}
	return true;
}

static int add_locked(const struct range *range)
{
	struct extent **root = range->kind == RANGE_RESERVED ? &reserved : &there;
	struct range *copy;
	int r = 0;

	if (!range->bytes || range->begin + range->bytes < range->begin)
		return -EINVAL;
	if (ours(range))
		r = place_locked(range->begin, range->bytes);
	if (r < 0)
		return r;
	if (!renew_locked(root, range))
		return -EEXIST;
	copy = malloc(sizeof *copy);
	if (!copy)
		return -ENOMEM;
	*copy = *range;
	copy->id = ++next_id;
	if (!extent_add(root, range->begin, range->bytes, copy)) {
		free(copy);
		return -ENOMEM;
	}
	return 0;
}

int ranges_add(const struct range *range)
{
	int r;

	pthread_mutex_lock(&lock);
	r = add_locked(range);
	pthread_mutex_unlock(&lock);
	return r;
}

bool ranges_find(uint64_t address, struct range *ret)
{
	struct range *r;

	pthread_mutex_lock(&lock);
	r = find_locked(address);
	if (r)
		*ret = *r;
	pthread_mutex_unlock(&lock);
	return r;
}

bool ranges_kept(uint64_t address)
{
	bool kept;

	pthread_mutex_lock(&lock);
	kept = extent_find(places, address);
	pthread_mutex_unlock(&lock);
	return kept;
}

bool ranges_find_reserved(uint64_t address, struct range *ret)
{
	struct extent *e;

	pthread_mutex_lock(&lock);
	e = extent_find(reserved, address);
	if (e)
		*ret = *(struct range *)e->owner;
	pthread_mutex_unlock(&lock);
	return e;
}

bool ranges_take(uint64_t begin, unsigned int kinds, struct range *ret)
{
	struct extent **root = kinds == 1u << RANGE_RESERVED ? &reserved : &there;
	struct extent *e;
	struct range *r;

	pthread_mutex_lock(&lock);
	e = extent_find(*root, begin);
	r = e ? e->owner : NULL;
	if (r && (r->begin != begin || !(kinds & 1u << r->kind)))
		r = NULL;
	if (r) {
		*ret = *r;
		remove_locked(root, r);
	}
	pthread_mutex_unlock(&lock);
	return r;
}

static bool cover_locked(uint64_t address, uint64_t bytes, struct range *ret)
{
	struct range *r = find_locked(address);

	if (!r)
		return false;
	*ret = *r;
	for (;;) {
		uint64_t rest = r->bytes - (address - r->begin);

		if (bytes <= rest)
			return true;
		if (r->kind != RANGE_MAPPED)
			return false;
		address += rest;
		bytes -= rest;
		r = find_locked(address);
		if (!r || r->kind != RANGE_MAPPED || r->session != ret->session)
			return false;
	}
}

bool ranges_cover(uint64_t address, uint64_t bytes, struct range *ret)
{
	bool good;

	pthread_mutex_lock(&lock);
	good = cover_locked(address, bytes, ret);
	pthread_mutex_unlock(&lock);
	return good;
}

/* All that `which` says go; one at a time, because the map changes. */
static void drop(bool (*which)(const struct range *r, uint64_t arg), uint64_t arg, void (*told)(const struct range *r))
{
	uint64_t at = 0;

	for (;;) {
		struct extent *e;
		struct range copy;
		bool gone;

		pthread_mutex_lock(&lock);
		e = extent_next(there, at);
		if (!e) {
			pthread_mutex_unlock(&lock);
			return;
		}
		at = e->begin + 1;
		copy = *(struct range *)e->owner;
		gone = which(e->owner, arg);
		if (gone)
			remove_locked(&there, e->owner);
		pthread_mutex_unlock(&lock);
		if (gone && told)
			told(&copy);
	}
}

static bool of_context(const struct range *r, uint64_t context)
{
	return r->context == context && r->kind != RANGE_POOL && r->kind != RANGE_MAPPED;
}

static bool of_owner(const struct range *r, uint64_t owner)
{
	return r->owner == owner;
}

void ranges_drop_context(uint64_t context, void (*host)(const struct range *range))
{
	drop(of_context, context, host);
}

void ranges_drop_owner(uint64_t owner)
{
	drop(of_owner, owner, NULL);
}

static size_t list(struct extent *root, const struct session *session, struct range *to)
{
	size_t n = 0;

	for (struct extent *e = extent_next(root, 0); e; e = extent_next(root, e->begin + 1)) {
		const struct range *r = e->owner;

		if (r->session != session)
			continue;
		if (to)
			to[n] = *r;
		n++;
	}
	return n;
}

struct range *ranges_all(const struct session *session, size_t *ret_count)
{
	struct range *all;
	size_t n;

	pthread_mutex_lock(&lock);
	n = list(there, session, NULL) + list(reserved, session, NULL);
	all = calloc(n + 1, sizeof(*all));
	if (all) {
		n = list(there, session, all);
		n += list(reserved, session, all + n);
	}
	pthread_mutex_unlock(&lock);
	*ret_count = n;
	return all;
}

bool ranges_set_sync(uint64_t address, bool sync)
{
	struct range *r;

	pthread_mutex_lock(&lock);
	r = find_locked(address);
	if (r)
		r->sync_memops = sync;
	pthread_mutex_unlock(&lock);
	return r;
}

void ranges_set_access(uint64_t address, uint64_t bytes, unsigned int flags, CUdevice device)
{
	struct extent *e;

	pthread_mutex_lock(&lock);
	for (e = extent_next(there, address); e && e->begin < address + bytes; e = extent_next(there, e->begin + 1)) {
		struct range *r = e->owner;

		r->flags = flags;
		r->wide |= device != r->device;
	}
	pthread_mutex_unlock(&lock);
}

/* The map is the parent's; the child makes none. */
void ranges_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	there = reserved = places = NULL;
}
