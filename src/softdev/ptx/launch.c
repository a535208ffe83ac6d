/*
 * launch.c: runs the blocks of launches on a pool of threads.
 *
 * A block runs on one thread at a time, its warps in turns of a quantum. Blocks start in order. One that runs for a
 * long time, or waits for something in memory, is set aside so that another can go on or start: a block may wait for
 * another one (a grid-wide barrier, a chain of blocks). The memory of a block is reused for the next one and by later
 * launches.
 *
 * The thread that launches works too; the pool's threads help whichever launches are under way.
 */
#include "softdev/ptx/children.h"

#include "base/clock.h"

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 256u
#define SPARE_BLOCKS_MAX 64u
#define SLICE_OPERATIONS (1u << 18) /* before a block is set aside */
#define SLICE_COOPERATIVE (1u << 14)
#define CHECK_OPERATIONS 8192u	  /* between looks at the clock and the cancel flag */
#define RESIDENT_BLOCKS_MAX 1024u /* that are set aside */
#define BATCH_MOST 64u
#define COOPERATIVE_BLOCKS_MAX 65536u
#define SHARED_ALIGN 1024u

struct run {
	struct ptx_launch *launch;
	struct ptx_pool *pool;
	const struct function *function;
	uint64_t total;
	uint64_t slice;
	uint64_t deadline_ns;
	uint32_t resident_most;
	uint32_t batch; /* blocks that a worker takes at a time */
	size_t buffer_bytes;
	pthread_mutex_t lock;
	uint64_t next;		  /* under lock: the next block to start */
	uint32_t resident;	  /* under lock: set aside once, not ended */
	atomic_uint parked_count; /* changed under lock */
	uint32_t vain;		  /* under lock: turns of blocks that only waited, since one ended or started */
	struct block *parked, **parked_end; /* under lock: set aside */
	struct cluster *clusters;	    /* under lock: those with blocks that have not ended */
	uint32_t cluster_size[3], cluster_count;
	struct ptx_stats stats; /* under lock */
	struct children children;
	struct ptx_fault fault; /* under lock: the first one */
	uint32_t workspace[16]; /* of the grid's barrier: kernels find it through %envreg1 and 2 and use it with atomics
				 */
	atomic_bool stop;
	pthread_mutex_t print_lock;
	uint32_t helpers;	    /* under pool->lock */
	struct run *before, *after; /* under pool->lock */
};

/* What one worker has taken of a run and not started yet, and what it did. */
struct share {
	uint64_t next, end;
	struct ptx_stats stats;
};

struct ptx_pool {
	pthread_mutex_t lock;
	pthread_cond_t work, idle;
	struct run *first, *last; /* under lock */
	bool ending;		  /* under lock */
	struct block *spare;	  /* under lock */
	uint32_t spare_count;	  /* under lock */
	uint32_t thread_count;
	pthread_t thread[THREADS_MAX];
};

static void block_free(struct block *b)
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

/* The size of what block_attach() hands out. */
static size_t block_bytes(const struct run *run, uint32_t warps, uint32_t stride)
{
	const struct ptx_launch *l = run->launch;
	const size_t frame = sizeof(struct frame) + round_up(run->function->frame_bytes, 64);
	const size_t shared = (size_t)l->kernel->shared_bytes + 16 + l->shared_bytes;

	return round_up((sizeof(struct warp) + frame) * warps, SHARED_ALIGN) + round_up(shared, SHARED_ALIGN) +
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
		w->entry_frame = (struct frame *)(void *)at;
		at += frame;
		*w->entry_frame = (struct frame){ .function = run->function, .made_for = run->function };
	}
	b->shared = b->buffer + round_up((size_t)(at - b->buffer), SHARED_ALIGN);
	b->shared_bytes =
		l->shared_bytes ? (l->kernel->shared_bytes + 15) / 16 * 16 + l->shared_bytes : l->kernel->shared_bytes;
	b->local_stride = stride;
	b->local = b->shared + round_up((size_t)l->kernel->shared_bytes + 16 + l->shared_bytes, SHARED_ALIGN);
	memset(b->range, 0, sizeof(b->range));
	b->range[0] = (struct ptx_range){ (uintptr_t)b->shared, (uintptr_t)b->shared + b->shared_bytes, false };
	b->range[1] = (struct ptx_range){ (uintptr_t)b->local,
					  (uintptr_t)b->local + (size_t)b->warp_count * LANES * stride, false };
	b->range[2] = (struct ptx_range){ (uintptr_t)l->params, (uintptr_t)l->params + l->kernel->param_bytes, true };
	if (l->cooperative)
		b->range[3] = (struct ptx_range){ (uintptr_t)run->workspace,
						  (uintptr_t)run->workspace + sizeof(run->workspace), false };
	memset(b->texture, 0, sizeof(b->texture));
	b->range_next = RANGES_OWN - 1;
	b->range_last = 0;
}

static void warp_start(struct warp *w, uint32_t threads)
{
	const uint32_t left = threads - w->index * LANES;

	w->live = left >= LANES ? ~0u : (1u << left) - 1;
	w->mask = w->wait_bar = w->wait_sync = 0;
	w->other = ~0ull;
	w->spins = w->stamp = 0;
	w->force = w->strong = w->together = false;
	w->checked = LANES;
	w->executed = w->executed_lanes = 0;
	w->frame = w->entry_frame;
	w->entry_frame->mask = w->live;
	w->local_stride = w->block->local_stride;
	memset(w->bar_lanes, 0, sizeof(w->bar_lanes));
	if (w->has_stack)
		memset(w->stack_taken, 0, sizeof(w->stack_taken));
	w->has_stack = false;
	warp_set_group(w, w->entry_frame, 0, w->live);
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

static void block_start(struct block *b, uint64_t id)
{
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
	for (uint32_t k = 0; k < b->warp_count; k++)
		warp_start(&b->warp[k], b->threads);
}

static struct block *block_get(struct run *run)
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

static void block_put(struct run *run, struct block *b)
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
static void block_drop_frames(struct block *b)
{
	for (uint32_t k = 0; k < b->warp_count; k++) {
		struct warp *w = &b->warp[k];
		struct frame *dead = NULL;

		memset(w->lane_bar, 0, sizeof(w->lane_bar));
		warp_save(w, w->mask, w->pc);
		for (uint32_t left = w->live; left; left &= left - 1) {
			struct frame *f = w->lane_frame[__builtin_ctz(left)];

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

enum slice { SLICE_ENDED, SLICE_OVER, SLICE_WAITS, SLICE_FAULT };

/* Where the first thread stands that has not ended, or the first of those that wait at a barrier, who are counted. */
static void fault_where(struct block *b, bool waits)
{
	struct warp *first = NULL;

	for (uint32_t k = b->warp_count; k-- > 0;) {
		struct warp *w = &b->warp[k];

		if (!(waits ? w->live & w->wait_bar : w->live))
			continue;
		first = w;
		b->fault.threads += (uint32_t)__builtin_popcount(w->live & w->wait_bar);
	}
	if (first)
		warp_where(first, &b->fault);
}

static bool out_of_time(struct block *b)
{
	struct run *run = b->run;
	const struct ptx_launch *l = run->launch;

	if (l->beat_ns)
		atomic_store_explicit(l->beat_ns, clock_now_ns(), memory_order_relaxed);
	if (atomic_load_explicit(&run->stop, memory_order_relaxed))
		b->fault.kind = PTX_FAULT_CANCELLED;
	else if (l->cancel && atomic_load_explicit(l->cancel, memory_order_relaxed))
		b->fault.kind = PTX_FAULT_CANCELLED;
	else if (run->deadline_ns && clock_now_ns() > run->deadline_ns)
		b->fault.kind = PTX_FAULT_TIMEOUT;
	if (b->fault.kind)
		fault_where(b, false);
	return b->fault.kind != PTX_FAULT_NONE;
}

/* Runs the warps of a block in turns. */
static enum slice block_run(struct block *b, const struct isa *isa, uint32_t quantum)
{
	uint64_t spent = 0, checked = 0, waited = b->waits;

	while (b->live_threads) {
		uint64_t round = 0;

		for (uint32_t k = 0; k < b->warp_count; k++) {
			struct warp *w = &b->warp[k];
			const uint64_t before = w->executed;

			if (!w->live || (!w->mask && !(w->live & ~w->wait_bar)))
				continue;
			isa->warp_run(w, quantum);
			if (b->fault.kind)
				return SLICE_FAULT;
			round += w->executed - before;
		}
		if (!round && b->live_threads) {
			b->fault = (struct ptx_fault){ .kind = PTX_FAULT_DEADLOCK, .function = b->run->function->name };
			fault_where(b, true);
			return SLICE_FAULT;
		}
		spent += round;
		if (spent - checked >= CHECK_OPERATIONS) {
			checked = spent;
			if (out_of_time(b))
				return SLICE_FAULT;
			if (b->waits - waited > CHECK_OPERATIONS / 64 && b->live_threads)
				return SLICE_WAITS;
			waited = b->waits;
		}
		if (spent >= b->run->slice && b->live_threads)
			return SLICE_OVER;
	}
	return SLICE_ENDED;
}

static bool run_has_parked(const struct run *run)
{
	return atomic_load_explicit(&run->parked_count, memory_order_relaxed) != 0;
}

static void run_end_block(struct run *run, struct share *share, const struct block *b)
{
	share->stats.blocks++;
	share->stats.sectors += b->sectors;
	for (uint32_t k = 0; k < b->warp_count; k++) {
		share->stats.warp_instructions += b->warp[k].executed;
		share->stats.lane_instructions += b->warp[k].executed_lanes;
	}
	if (!b->set_aside && !run_has_parked(run))
		return;
	pthread_mutex_lock(&run->lock);
	run->resident -= b->set_aside;
	run->vain = 0;
	pthread_mutex_unlock(&run->lock);
}

static void run_end_share(struct run *run, const struct share *share)
{
	pthread_mutex_lock(&run->lock);
	run->stats.blocks += share->stats.blocks;
	run->stats.sectors += share->stats.sectors;
	run->stats.warp_instructions += share->stats.warp_instructions;
	run->stats.lane_instructions += share->stats.lane_instructions;
	pthread_mutex_unlock(&run->lock);
}

static void run_fault(struct run *run, const struct ptx_fault *fault)
{
	pthread_mutex_lock(&run->lock);
	/* a block that was stopped because of another one has nothing to tell */
	if (!run->fault.kind)
		run->fault = *fault;
	atomic_store_explicit(&run->stop, true, memory_order_relaxed);
	pthread_mutex_unlock(&run->lock);
}

/*
 * Whether to start a block rather than to go on with one that was set aside. Cooperative blocks all start first.
 * Otherwise those that have started go on, in order, until all of them have waited in vain: then what they wait for is
 * yet to start. A block of this thread's share comes before those behind it: they may wait for it, as for any block
 * that a device would have started before them.
 */
static bool run_starts_locked(const struct run *run, const struct share *share)
{
	if (share->next == share->end && run->next == run->total)
		return false;
	if (!run->parked || (share->next < share->end && share->next < run->parked->number))
		return true;
	return run->resident < run->resident_most && (run->launch->cooperative || run->vain >= run->parked_count);
}

static uint64_t share_take_locked(struct run *run, struct share *share)
{
	if (share->next == share->end) {
		share->next = run->next;
		run->next += run->total - run->next < run->batch ? run->total - run->next : run->batch;
		share->end = run->next;
	}
	return share->next++;
}

static void cluster_free(struct run *run, struct cluster *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (c->block[i])
			block_put(run, c->block[i]);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static void run_park_locked(struct run *run, struct block *b)
{
	run->resident += !b->set_aside;
	b->set_aside = true;
	run->parked_count++;
	b->next = NULL;
	*run->parked_end = b;
	run->parked_end = &b->next;
}

/* All blocks of the cluster whose first one is block `id`, set aside but for the first. NULL: no memory. */
static struct block *cluster_start(struct run *run, uint64_t id)
{
	struct cluster *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	c->count = run->cluster_count;
	c->explicit = true;
	memcpy(c->size, run->cluster_size, sizeof(c->size));
	for (uint32_t i = 0; i < c->count; i++) {
		c->block[i] = block_get(run);
		if (!c->block[i]) {
			cluster_free(run, c);
			return NULL;
		}
		c->block[i]->cluster = c;
		block_start(c->block[i], id + i);
	}
	cluster_begin(c, c->block[0]->threads * c->count);
	pthread_mutex_lock(&run->lock);
	c->before = &run->clusters;
	c->after = run->clusters;
	if (c->after)
		c->after->before = &c->after;
	run->clusters = c;
	for (uint32_t i = 1; i < c->count; i++)
		run_park_locked(run, c->block[i]);
	pthread_mutex_unlock(&run->lock);
	return c->block[0];
}

/* A block of a cluster has ended. Its shared memory stays until the last one has. */
static void cluster_end_block(struct run *run, struct cluster *c)
{
	bool last;

	pthread_mutex_lock(&run->lock);
	last = ++c->ended == c->count;
	if (last) {
		*c->before = c->after;
		if (c->after)
			c->after->before = c->before;
	}
	pthread_mutex_unlock(&run->lock);
	if (last)
		cluster_free(run, c);
}

/* The next block to run. `spare` is memory at hand, used or left. NULL: nothing to do. */
static struct block *run_take(struct run *run, struct share *share, struct block **spare, uint64_t *ret_id,
			      bool *ret_fresh)
{
	struct block *b = NULL;

	*ret_fresh = false;
	if (atomic_load_explicit(&run->stop, memory_order_relaxed))
		return NULL;
	if (share->next < share->end && *spare && !run_has_parked(run)) {
		*ret_id = share->next++;
		*ret_fresh = true;
		b = *spare;
		*spare = NULL;
		return b;
	}
	pthread_mutex_lock(&run->lock);
	if (run_starts_locked(run, share)) {
		*ret_id = share_take_locked(run, share);
		if (run->cluster_count > 1) /* a share is a cluster */
			share->next = share->end;
		*ret_fresh = true;
		run->vain = 0;
	} else if (run->parked) {
		b = run->parked;
		run->parked = b->next;
		if (!run->parked)
			run->parked_end = &run->parked;
		run->parked_count--;
	}
	pthread_mutex_unlock(&run->lock);
	if (!*ret_fresh)
		return b;
	if (run->cluster_count > 1) {
		b = cluster_start(run, *ret_id);
	} else {
		b = *spare ? *spare : block_get(run);
		*spare = NULL;
	}
	if (!b) {
		run_fault(run, &(struct ptx_fault){ .kind = PTX_FAULT_NO_MEMORY, .function = run->function->name });
		*ret_fresh = false;
	}
	return b;
}

static void run_park(struct run *run, struct block *b, bool waits)
{
	pthread_mutex_lock(&run->lock);
	run->vain += waits;
	run_park_locked(run, b);
	pthread_mutex_unlock(&run->lock);
}

static void run_work(struct run *run)
{
	const struct isa *isa = module_isa(run->launch->kernel->module);
	const uint32_t quantum = module_quantum(run->launch->kernel->module);
	struct share share = { 0 };
	struct block *b, *spare = NULL;
	uint64_t id = 0;
	bool fresh;

	while ((b = run_take(run, &share, &spare, &id, &fresh))) {
		if (fresh && run->cluster_count == 1)
			block_start(b, id);
		switch (block_run(b, isa, quantum)) {
		case SLICE_OVER:
			run_park(run, b, false);
			continue;
		case SLICE_WAITS:
			run_park(run, b, true);
			/* who waits for another block must not keep that one's thread from its core */
			sched_yield();
			continue;
		case SLICE_FAULT:
			run_fault(run, &b->fault);
			block_drop_frames(b);
			break;
		case SLICE_ENDED:
			break;
		}
		run_end_block(run, &share, b);
		if (run->cluster_count > 1) {
			cluster_end_block(run, b->cluster);
			continue;
		}
		if (spare)
			block_put(run, spare);
		spare = b;
	}
	run_end_share(run, &share);
	if (spare)
		block_put(run, spare);
}

void run_print(struct block *b, const char *text, size_t bytes)
{
	const struct ptx_launch *l = b->launch;

	if (!l->print || !bytes)
		return;
	pthread_mutex_lock(&b->run->print_lock);
	l->print(l->print_ctx, text, bytes);
	pthread_mutex_unlock(&b->run->print_lock);
}

static bool run_has_work(struct run *run)
{
	bool yes;

	pthread_mutex_lock(&run->lock);
	yes = !atomic_load_explicit(&run->stop, memory_order_relaxed) && (run->next < run->total || run->parked);
	pthread_mutex_unlock(&run->lock);
	return yes;
}

static void pool_remove_locked(struct ptx_pool *pool, struct run *run)
{
	*(run->before ? &run->before->after : &pool->first) = run->after;
	*(run->after ? &run->after->before : &pool->last) = run->before;
	run->before = run->after = NULL;
}

static void pool_append_locked(struct ptx_pool *pool, struct run *run)
{
	run->before = pool->last;
	run->after = NULL;
	*(pool->last ? &pool->last->after : &pool->first) = run;
	pool->last = run;
}

static void *pool_thread(void *arg)
{
	struct ptx_pool *pool = arg;
	struct run *run;

	pthread_mutex_lock(&pool->lock);
	while (!pool->ending) {
		for (run = pool->first; run && !run_has_work(run); run = run->after)
			;
		if (!run) {
			pthread_cond_wait(&pool->work, &pool->lock);
			continue;
		}
		/* to the end of the list: the next helper looks at the others first */
		pool_remove_locked(pool, run);
		pool_append_locked(pool, run);
		run->helpers++;
		pthread_mutex_unlock(&pool->lock);
		run_work(run);
		pthread_mutex_lock(&pool->lock);
		if (!--run->helpers)
			pthread_cond_broadcast(&pool->idle);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

struct ptx_pool *ptx_pool_new(unsigned threads)
{
	struct ptx_pool *pool = calloc(1, sizeof(*pool));
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	sigset_t all, before;

	if (!pool)
		return NULL;
	if (!threads)
		threads = cores > 0 ? (unsigned)cores : 1;
	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->idle, NULL);
	/* signals belong to the program's own threads */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (pool->thread_count + 1 < threads &&
	       !pthread_create(&pool->thread[pool->thread_count], NULL, pool_thread, pool))
		pool->thread_count++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pool;
}

void ptx_pool_free(struct ptx_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->ending = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (uint32_t i = 0; i < pool->thread_count; i++)
		pthread_join(pool->thread[i], NULL);
	for (struct block *b; (b = pool->spare);) {
		pool->spare = b->next;
		block_free(b);
	}
	pthread_cond_destroy(&pool->idle);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

struct children *run_children(struct run *run)
{
	return &run->children;
}

bool launch_is_valid(const struct ptx_launch *l)
{
	const struct ptx_kernel *k = l->kernel;
	const uint64_t threads = (uint64_t)l->block[0] * l->block[1];

	if (!k || !module_bound(k->module) || (k->param_bytes && !l->params))
		return false;
	for (int i = 0; i < 3; i++)
		if (!l->grid[i] || !l->block[i] || (k->required_threads[0] && l->block[i] != k->required_threads[i]))
			return false;
	if (l->grid[0] > INT32_MAX || l->grid[1] > 65535 || l->grid[2] > 65535)
		return false;
	if (l->block[0] > 1024 || l->block[1] > 1024 || l->block[2] > 64 || threads * l->block[2] > 1024)
		return false;
	if (threads * l->block[2] > k->max_threads)
		return false;
	if (l->cooperative && (uint64_t)l->grid[0] * l->grid[1] * l->grid[2] > COOPERATIVE_BLOCKS_MAX)
		return false;
	return (uint64_t)k->shared_bytes + l->shared_bytes <= SHARED_BYTES_MAX;
}

/* Few enough that all workers end together, many enough that they seldom meet. */
static uint32_t run_batch(const struct run *run)
{
	const uint64_t each = run->total / ((run->pool->thread_count + 1) * 32);

	return each < 1 ? 1 : each > BATCH_MOST ? BATCH_MOST : (uint32_t)each;
}

/* Blocks of a cluster: what the launch says, or the kernel, or one. False: no such launch. */
static bool launch_cluster(const struct ptx_launch *l, uint32_t size[3])
{
	const uint32_t *own = l->kernel->cluster;
	uint64_t count = 1;

	for (int i = 0; i < 3; i++) {
		size[i] = l->cluster[0] ? l->cluster[i] : own[0] ? own[i] : 1;
		if (!size[i] || size[i] > CLUSTER_MAX || l->grid[i] % size[i] || (own[0] && size[i] != own[i]))
			return false;
		count *= size[i];
	}
	return count <= CLUSTER_MAX;
}

static void run_finish(struct run *run)
{
	struct ptx_launch *l = run->launch;

	for (struct block *b; (b = run->parked);) {
		run->parked = b->next;
		block_drop_frames(b);
		if (run->cluster_count == 1)
			block_put(run, b);
	}
	for (struct cluster *c; (c = run->clusters);) {
		run->clusters = c->after;
		cluster_free(run, c);
	}
	l->fault = run->fault;
	l->stats = run->stats;
	pthread_mutex_destroy(&run->print_lock);
	pthread_mutex_destroy(&run->lock);
}

int launch_grid(struct ptx_pool *pool, struct ptx_launch *l, uint32_t depth, struct child **list)
{
	const int saved = errno;
	struct run run = { .launch = l, .pool = pool };
	uint32_t warps;
	fenv_t env;

	l->fault = (struct ptx_fault){ 0 };
	l->stats = (struct ptx_stats){ 0 };
	if (!launch_is_valid(l) || !launch_cluster(l, run.cluster_size))
		return -EINVAL;
	run.cluster_count = run.cluster_size[0] * run.cluster_size[1] * run.cluster_size[2];
	run.function = kernel_function(l->kernel);
	run.total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	run.slice = l->cooperative || run.cluster_count > 1 ? SLICE_COOPERATIVE : SLICE_OPERATIONS;
	run.resident_most = l->cooperative ? UINT32_MAX : RESIDENT_BLOCKS_MAX;
	run.deadline_ns = l->timeout_ns ? clock_now_ns() + l->timeout_ns : 0;
	run.batch = run.cluster_count > 1 ? run.cluster_count : l->cooperative ? 1 : run_batch(&run);
	run.parked_end = &run.parked;
	warps = (l->block[0] * l->block[1] * l->block[2] + LANES - 1) / LANES;
	run.buffer_bytes = block_bytes(&run, warps, kernel_stack_bytes(l->kernel, l->stack_bytes));
	pthread_mutex_init(&run.lock, NULL);
	pthread_mutex_init(&run.print_lock, NULL);
	children_begin(&run.children, depth);

	pthread_mutex_lock(&pool->lock);
	pool_append_locked(pool, &run);
	if (run.total > 1)
		pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);

	/* the program's own rounding mode and flags are none of the kernel's business, and the other way round */
	feholdexcept(&env);
	fesetenv(FE_DFL_ENV);
	run_work(&run);
	fesetenv(&env);

	pthread_mutex_lock(&pool->lock);
	pool_remove_locked(pool, &run);
	while (run.helpers)
		pthread_cond_wait(&pool->idle, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
	run_finish(&run);
	*list = children_end(&run.children, &l->memory, *list);
	errno = saved;
	return run.fault.kind != PTX_FAULT_NONE;
}

int ptx_launch_run(struct ptx_pool *pool, struct ptx_launch *l)
{
	struct child *list = NULL;
	const int r = launch_grid(pool, l, 0, &list);

	return list ? children_run(pool, l, list, r) : r;
}
