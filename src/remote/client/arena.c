/* arena.c: see arena.h. */
#include "remote/client/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u
#define LOOK_NS 1000000u /* between two looks of the thread that reads: another one may have given a piece back */

struct arena_block {
	struct arena_block *next;
	uint64_t offset, bytes;
	bool taken;
};

static void stage_init(struct arena_stage *stage, uint64_t offset, uint64_t bytes)
{
	uint64_t units = bytes / ARENA_UNIT;

	stage->offset = offset;
	stage->units = units < ARENA_UNITS_MOST ? (uint32_t)units : ARENA_UNITS_MOST;
}

int arena_init(struct arena *arena, struct link *link)
{
	const struct wall_welcome *w = &link->wall.welcome;

	memset(arena, 0, sizeof(*arena));
	arena->link = link;
	pthread_mutex_init(&arena->lock, NULL);
	stage_init(&arena->stage[ARENA_IN], w->in_offset, w->in_bytes);
	stage_init(&arena->stage[ARENA_OUT], w->out_offset, w->out_bytes);
	arena->heap = calloc(1, sizeof(*arena->heap));
	if (!arena->heap)
		return -ENOMEM;
	arena->heap->offset = w->heap_offset;
	arena->heap->bytes = w->arena_bytes - w->heap_offset;
	return 0;
}

void arena_deinit(struct arena *arena)
{
	struct arena_block *b;

	while ((b = arena->heap)) {
		arena->heap = b->next;
		free(b);
	}
}

/* ----------------------------------------------------------------------------------------------------- staging --- */

static bool unit_busy(const struct arena_stage *stage, uint32_t unit)
{
	return stage->busy[unit / 64] >> unit % 64 & 1;
}

static void units_set(struct arena_stage *stage, uint32_t first, uint32_t count, bool busy)
{
	for (uint32_t unit = first; unit < first + count; unit++) {
		uint64_t bit = UINT64_C(1) << unit % 64;

		if (busy)
			stage->busy[unit / 64] |= bit;
		else
			stage->busy[unit / 64] &= ~bit;
	}
}

/* The lowest run of free units; `units` when there is none. */
static uint32_t run_find(const struct arena_stage *stage, uint32_t count)
{
	uint32_t run = 0;

	for (uint32_t unit = 0; unit < stage->units; unit++) {
		run = unit_busy(stage, unit) ? 0 : run + 1;
		if (run == count)
			return unit + 1 - count;
	}
	return stage->units;
}

int arena_try(struct arena *arena, enum arena_way way, size_t bytes, struct arena_piece *ret)
{
	struct arena_stage *stage = &arena->stage[way];
	uint32_t count = (uint32_t)((bytes + ARENA_UNIT - 1) / ARENA_UNIT), first;

	if (!bytes || bytes > ARENA_PIECE || count > stage->units)
		return -EINVAL;
	pthread_mutex_lock(&arena->lock);
	first = run_find(stage, count);
	if (first < stage->units) {
		units_set(stage, first, count, true);
		stage->length[first] = (uint8_t)count;
		stage->serial[first] = 0;
	}
	pthread_mutex_unlock(&arena->lock);
	if (first == stage->units)
		return -EAGAIN;
	ret->offset = stage->offset + (uint64_t)first * ARENA_UNIT;
	ret->at = arena->link->wall.arena + ret->offset;
	ret->bytes = (uint32_t)bytes;
	ret->way = way;
	return 0;
}

int arena_take(struct arena *arena, enum arena_way way, size_t bytes, struct arena_piece *ret)
{
	uint32_t freed;
	int r;

	for (;;) {
		freed = __atomic_load_n(&arena->freed, __ATOMIC_ACQUIRE);
		r = arena_try(arena, way, bytes, ret);
		if (r != -EAGAIN)
			return r;
		r = link_until(arena->link, &arena->freed, freed, LOOK_NS);
		if (r < 0)
			return r;
	}
}

static uint32_t unit_of(const struct arena_stage *stage, const struct arena_piece *piece)
{
	return (uint32_t)((piece->offset - stage->offset) / ARENA_UNIT);
}

void arena_sent(struct arena *arena, const struct arena_piece *piece, uint64_t serial)
{
	struct arena_stage *stage = &arena->stage[piece->way];

	pthread_mutex_lock(&arena->lock);
	stage->serial[unit_of(stage, piece)] = serial;
	pthread_mutex_unlock(&arena->lock);
}

static void free_locked(struct arena *arena, struct arena_stage *stage, uint32_t first)
{
	units_set(stage, first, stage->length[first], false);
	stage->length[first] = 0;
	stage->serial[first] = 0;
	__atomic_store_n(&arena->freed, arena->freed + 1, __ATOMIC_RELEASE);
}

void arena_give(struct arena *arena, const struct arena_piece *piece)
{
	struct arena_stage *stage = &arena->stage[piece->way];

	pthread_mutex_lock(&arena->lock);
	free_locked(arena, stage, unit_of(stage, piece));
	pthread_mutex_unlock(&arena->lock);
	link_changed(arena->link);
}

void arena_retired(struct arena *arena, uint64_t serial)
{
	struct arena_stage *stage = &arena->stage[ARENA_IN];
	bool found = false;

	pthread_mutex_lock(&arena->lock);
	for (uint32_t unit = 0; serial && unit < stage->units && !found; unit++) {
		found = stage->serial[unit] == serial && stage->length[unit];
		if (found)
			free_locked(arena, stage, unit);
	}
	pthread_mutex_unlock(&arena->lock);
	if (found)
		link_changed(arena->link);
}

void arena_left(struct arena *arena)
{
	struct arena_stage *stage = &arena->stage[ARENA_IN];

	pthread_mutex_lock(&arena->lock);
	for (uint32_t unit = 0; unit < stage->units; unit++)
		if (stage->length[unit] && stage->serial[unit])
			free_locked(arena, stage, unit);
	pthread_mutex_unlock(&arena->lock);
	link_changed(arena->link);
}

/* -------------------------------------------------------------------------------------------------------- heap --- */

/* What is left of a free block behind the first `bytes` of it becomes a block of its own. */
static int block_split(struct arena_block *b, uint64_t bytes)
{
	struct arena_block *rest;

	if (b->bytes == bytes)
		return 0;
	rest = calloc(1, sizeof(*rest));
	if (!rest)
		return -ENOMEM;
	rest->next = b->next;
	rest->offset = b->offset + bytes;
	rest->bytes = b->bytes - bytes;
	b->next = rest;
	b->bytes = bytes;
	return 0;
}

int arena_heap_take(struct arena *arena, uint64_t bytes, uint64_t *ret_offset)
{
	struct arena_block *b;
	int r = -ENOMEM;

	if (!bytes || bytes > UINT64_MAX - PAGE)
		return -ENOMEM;
	bytes = (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	pthread_mutex_lock(&arena->lock);
	for (b = arena->heap; b; b = b->next)
		if (!b->taken && b->bytes >= bytes) {
			r = block_split(b, bytes);
			b->taken = !r;
			if (!r)
				*ret_offset = b->offset;
			break;
		}
	pthread_mutex_unlock(&arena->lock);
	return r;
}

static void blocks_join(struct arena_block *b)
{
	struct arena_block *next;

	while ((next = b->next) && !b->taken && !next->taken) {
		b->bytes += next->bytes;
		b->next = next->next;
		free(next);
	}
}

uint64_t arena_heap_give(struct arena *arena, uint64_t offset)
{
	struct arena_block *b, *before = NULL;
	int saved = errno;
	uint64_t bytes = 0;

	pthread_mutex_lock(&arena->lock);
	for (b = arena->heap; b && b->offset < offset; b = b->next)
		before = b;
	if (b && b->offset == offset && b->taken) {
		bytes = b->bytes;
		/* The next one who gets it finds zeroes, and until then it is nobody's memory. */
		if (madvise(arena->link->wall.arena + offset, bytes, MADV_REMOVE))
			memset(arena->link->wall.arena + offset, 0, bytes);
		b->taken = false;
		blocks_join(b);
		if (before)
			blocks_join(before);
	}
	pthread_mutex_unlock(&arena->lock);
	errno = saved;
	return bytes;
}

bool arena_heap_find(struct arena *arena, const void *at, uint64_t *ret_offset, uint64_t *ret_begin,
		     uint64_t *ret_bytes)
{
	uint64_t offset = (uint64_t)((uintptr_t)at - (uintptr_t)arena->link->wall.arena);
	struct arena_block *b;
	bool found;

	if (offset >= arena->link->wall.arena_bytes)
		return false;
	pthread_mutex_lock(&arena->lock);
	for (b = arena->heap; b && b->offset + b->bytes <= offset; b = b->next)
		;
	found = b && b->taken && b->offset <= offset;
	if (found) {
		*ret_offset = offset;
		*ret_begin = b->offset;
		*ret_bytes = b->bytes;
	}
	pthread_mutex_unlock(&arena->lock);
	return found;
}
