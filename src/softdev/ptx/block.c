/* block.c: the memory of a block of threads, and how it is made ready for a launch and for each block of it. */
#include "softdev/ptx/hot.h"
#include "softdev/ptx/run.h"

#include <stdlib.h>
#include <string.h>

#define SPARE_BLOCKS_MAX 64u

void block_free(struct block *b)
{
	if (!b)
		return;
	for (struct frame *f; (f = b->spare);) {
		b->spare = f->up;
		free(f);
	}
	pthread_mutex_destroy(&b->own_cluster.lock);
	free(b->buffer);
	free(b);
}

static size_t round_up(size_t v, size_t to)
{
	return (v + to - 1) / to * to;
}

static size_t shared_room(const struct ptx_launch *l)
{
	const struct ptx_kernel *k = l->kernel;

	return round_up((size_t)k->reserved_bytes + k->shared_bytes + 16 + l->shared_bytes, SHARED_ALIGN);
}

size_t block_bytes(const struct run *run, uint32_t warps, uint32_t stride)
{
	const struct ptx_launch *l = run->launch;
	const size_t frame = sizeof(struct frame) + round_up(run->function->frame_bytes, 64);

	return round_up((sizeof(struct warp) + frame) * warps, SHARED_ALIGN) + shared_room(l) +
	       (size_t)warps * LANES * stride;
}

/* Coordinates of the threads; warps lie at the head of the buffer, so they stay from launch to launch of one shape. */
static void block_shape(struct block *b, const uint32_t shape[3])
{
	uint32_t at[3] = { 0, 0, 0 };

	if (!memcmp(b->shape, shape, sizeof(b->shape)))
		return;
	memcpy(b->shape, shape, sizeof(b->shape));
	for (uint32_t t = 0; t < b->warp_count * LANES; t++) {
		struct warp *w = &b->warp[t / LANES];

		for (int k = 0; k < 3; k++)
			w->tid[k][t % LANES] = at[k];
		if (++at[0] == shape[0]) {
			at[0] = 0;
			if (++at[1] == shape[1]) {
				at[1] = 0;
				at[2]++;
			}
		}
	}
	for (uint32_t k = 0; k < b->warp_count; k++) {
		memset(b->warp[k].lane_bar, 0, sizeof(b->warp[k].lane_bar));
		memset(b->warp[k].carry, 0, sizeof(b->warp[k].carry));
		b->warp[k].has_stack = true;
	}
}

/*
 * What a block may use: its own and the dynamic memory, in the granules that devices give out. Compilers rely on the
 * granule: they read what lies beside a value together with it. A launch that is checked ends at the byte.
 */
static uint32_t shared_bytes(const struct ptx_launch *l)
{
	const uint32_t own = l->kernel->reserved_bytes + l->kernel->shared_bytes;
	const uint32_t bytes = l->shared_bytes ? (own + 15) / 16 * 16 + l->shared_bytes : own;

	return l->exact ? bytes : (bytes + SHARED_GRANULE - 1) / SHARED_GRANULE * SHARED_GRANULE;
}

/* Sets up what is the same for every block of the launch. */
static void block_attach(struct block *b, struct run *run)
{
	const struct ptx_launch *l = run->launch;
	const size_t frame = sizeof(struct frame) + round_up(run->function->frame_bytes, 64);
	const uint32_t stride = kernel_stack_bytes(l->kernel, l->stack_bytes);
	uint8_t *at = b->buffer;

	b->launch = l;
	b->run = run;
	b->threads = l->block[0] * l->block[1] * l->block[2];
	b->warp_count = (b->threads + LANES - 1) / LANES;
	b->warp = (struct warp *)(void *)at;
	at += sizeof(struct warp) * b->warp_count;
	block_shape(b, l->block);
	for (uint32_t k = 0; k < b->warp_count; k++) {
		struct warp *w = &b->warp[k];

		w->block = b;
		w->index = k;
		w->frame = NULL;
		w->entry_frame = (struct frame *)(void *)at;
		at += frame;
		*w->entry_frame = (struct frame){ .function = run->function, .made_for = run->function };
	}
	b->shared = b->buffer + round_up((size_t)(at - b->buffer), SHARED_ALIGN);
	b->shared_bytes = shared_bytes(l);
	b->local_stride = stride;
	b->local = b->shared + shared_room(l);
	memset(b->range, 0, sizeof(b->range));
	b->range[0] = (struct ptx_range){ (uintptr_t)b->shared, (uintptr_t)b->shared + b->shared_bytes, false };
	b->range[1] = (struct ptx_range){ (uintptr_t)b->local,
					  (uintptr_t)b->local + (size_t)b->warp_count * LANES * stride, false };
	b->range[2] = (struct ptx_range){ (uintptr_t)l->params, (uintptr_t)l->params + l->kernel->param_bytes, true };
	if (l->cooperative)
		b->range[3] = (struct ptx_range){ (uintptr_t)run->workspace,
						  (uintptr_t)run->workspace + sizeof(run->workspace), false };
	memset(b->texture, 0, sizeof(b->texture));
	b->number = UINT64_MAX - 1; /* the one before none */
	b->range_next = RANGES_OWN - 1;
	b->range_last = 0;
}

static void warp_start(struct warp *w, uint32_t threads, const struct machine *machine)
{
	const uint32_t left = threads - w->index * LANES;

	w->live = left >= LANES ? ~0u : (1u << left) - 1;
	w->mask = w->wait_bar = w->wait_sync = w->place_count = 0;
	w->other = ~0ull;
	w->spins = w->stamp = 0;
	w->force = w->strong = false;
	w->checked = LANES;
	w->executed = w->executed_lanes = 0;
	w->entry_frame->mask = w->live;
	w->local_stride = w->block->local_stride;
	memset(w->bar_lanes, 0, sizeof(w->bar_lanes));
	if (w->has_stack)
		memset(w->stack_taken, 0, sizeof(w->stack_taken));
	w->has_stack = w->group_waits = false;
	w->machine = machine;
	w->misses = 0;
	w->brief = 0;
	if (w->frame != w->entry_frame || w->live != ~0u) {
		warp_set_group(w, w->entry_frame, 0, w->live);
		return;
	}
	/* the group's frame is what it was for the block before */
	w->compiled = machine;
	w->pc = 0;
	w->mask = w->live;
}

/* Blocks are numbered cluster by cluster. */
static void block_place(struct block *b, uint64_t id)
{
	const struct run *run = b->run;
	const uint32_t *grid = run->launch->grid, *size = run->cluster_size;
	const uint64_t group = id / run->cluster_count, rank = id % run->cluster_count;
	const uint64_t wide = grid[0] / size[0], high = grid[1] / size[1];

	b->cluster_rank = (uint32_t)rank;
	b->id[0] = (uint32_t)(group % wide * size[0] + rank % size[0]);
	b->id[1] = (uint32_t)(group / wide % high * size[1] + rank / size[0] % size[1]);
	b->id[2] = (uint32_t)(group / wide / high * size[2] + rank / size[0] / size[1]);
}

void block_start(struct block *b, uint64_t id)
{
	const struct machine *machine;

	if (id == b->number + 1 && b->run->cluster_count == 1 && b->id[0] + 1 < b->run->launch->grid[0])
		b->id[0]++;
	else
		block_place(b, id);
	b->number = id;
	if (b->run->cluster_count == 1) {
		b->cluster = &b->own_cluster;
		b->cluster->block[0] = b;
		b->cluster->count = 1;
		memcpy(b->cluster->size, b->run->cluster_size, sizeof(b->cluster->size));
		b->cluster->explicit = false;
		cluster_begin(b->cluster, b->threads);
	}
	b->live_threads = b->threads;
	b->set_aside = false;
	b->bars_used = 0;
	b->sectors = 0;
	b->fault = (struct ptx_fault){ 0 };
	b->waits = 0;
	memset(b->group_arrived, 0, sizeof(b->group_arrived));
	if (b->launch->kernel->reserved_bytes)
		memset(b->shared, 0, SHARED_RESERVED_USED);
	machine = hot_machine(b->run->function, b->launch);
	for (uint32_t k = 0; k < b->warp_count; k++)
		warp_start(&b->warp[k], b->threads, machine);
}

struct block *block_get(struct run *run)
{
	struct ptx_pool *pool = run->pool;
	struct block *b;

	pthread_mutex_lock(&pool->lock);
	b = pool->spare;
	if (b) {
		pool->spare = b->next;
		pool->spare_count--;
	}
	pthread_mutex_unlock(&pool->lock);
	if (!b) {
		b = calloc(1, sizeof(*b));
		if (b)
			pthread_mutex_init(&b->own_cluster.lock, NULL);
	}
	if (b && b->buffer_bytes < run->buffer_bytes) {
		free(b->buffer);
		memset(b->shape, 0, sizeof(b->shape));
		b->buffer = aligned_alloc(SHARED_ALIGN, round_up(run->buffer_bytes, SHARED_ALIGN));
		b->buffer_bytes = b->buffer ? run->buffer_bytes : 0;
	}
	if (b && !b->buffer) {
		block_free(b);
		return NULL;
	}
	if (b)
		block_attach(b, run);
	return b;
}

void block_put(struct run *run, struct block *b)
{
	struct ptx_pool *pool = run->pool;
	/* frames belong to functions of a module that may go; a very large buffer is not kept either */
	const bool keep = b->buffer_bytes < (8u << 20);

	for (struct frame *f; (f = b->spare);) {
		b->spare = f->up;
		free(f);
	}
	pthread_mutex_lock(&pool->lock);
	if (keep && pool->spare_count < SPARE_BLOCKS_MAX) {
		b->next = pool->spare;
		pool->spare = b;
		pool->spare_count++;
		b = NULL;
	}
	pthread_mutex_unlock(&pool->lock);
	block_free(b);
}

/* Nested frames of lanes that were stopped in the middle. */
void block_drop_frames(struct block *b)
{
	for (uint32_t k = 0; k < b->warp_count; k++) {
		struct warp *w = &b->warp[k];
		struct frame *dead = NULL;

		memset(w->lane_bar, 0, sizeof(w->lane_bar));
		warp_save(w, w->mask, w->pc);
		for (uint32_t i = 0; i < w->place_count; i++) {
			struct frame *f = w->place[i].frame;

			/* a frame is taken once: its mask is cleared when it is */
			while (f && f->up && f->mask) {
				struct frame *up = f->up;

				f->mask = 0;
				f->up = dead;
				dead = f;
				f = up;
			}
		}
		for (struct frame *f; (f = dead);) {
			dead = f->up;
			free(f);
		}
	}
}
