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
#include "softdev/ptx/hot.h"
#include "softdev/ptx/run.h"
#include "softdev/ptx/stack.h"

#include "base/clock.h"

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_OPERATIONS (1u << 18) /* before a block is set aside */
#define SLICE_COOPERATIVE (1u << 14)
#define RESIDENT_BLOCKS_MAX 1024u /* that are set aside */
#define BATCH_MOST 64u
#define COOPERATIVE_BLOCKS_MAX 65536u

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

void run_work(struct run *run)
{
	const struct isa *isa = module_isa(run->launch->kernel->module);
	const uint32_t quantum = module_quantum(run->launch->kernel->module);
	const bool shallow = !stack_is_deep();
	struct share share = { 0 };
	struct block *b, *spare = NULL;
	uint64_t id = 0, unchecked = 0;
	bool fresh;

	while ((b = run_take(run, &share, &spare, &id, &fresh))) {
		if (fresh && run->cluster_count == 1)
			block_start(b, id);
		b->shallow = shallow;
		switch (block_run(b, isa, quantum, &unchecked)) {
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
	hot_add(run->function, run->launch, 0);
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
	hot_wait(run.function, l);
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
