/*
 * cluster.c: blocks of one cluster: their barrier, and the shared memory of one another.
 *
 * An address of shared memory is an offset; one of another block of the cluster has that block's rank plus one in its
 * upper bits. As generic addresses both are what the host sees.
 *
 * The barrier of a cluster counts lanes. An arriving lane keeps the number of the phase, and waits until it is another:
 * the wait is a loop of a test and a jump (forms_async.c), so that a waiting block is set aside like one that waits for
 * a word in memory. The blocks may run on different threads of the host: the counts are under the cluster's lock.
 */
#include "softdev/ptx/once.h"
#include "softdev/ptx/reach.h"
#include "softdev/ptx/text.h"

#define RANK_SHIFT 24u

_Static_assert(SHARED_BYTES_MAX < 1u << RANK_SHIFT, "an offset leaves room for the rank");

static void complete_locked(struct cluster *c)
{
	if (!c->arrived || c->arrived < c->live)
		return;
	c->arrived = 0;
	__atomic_store_n(&c->phase, c->phase + 1, __ATOMIC_RELEASE); /* partner: cluster_test() */
}

void cluster_begin(struct cluster *c, uint32_t threads)
{
	c->live = threads;
	c->arrived = c->phase = c->ended = 0;
}

void cluster_leave(struct block *b, uint32_t threads)
{
	struct cluster *c = b->cluster;

	/* alone there is nobody to be kept out */
	if (c->count > 1)
		pthread_mutex_lock(&c->lock);
	c->live -= threads;
	complete_locked(c);
	if (c->count > 1)
		pthread_mutex_unlock(&c->lock);
}

void cluster_arrive(struct warp *w, const struct op *o)
{
	struct cluster *c = w->block->cluster;

	pthread_mutex_lock(&c->lock);
	for (u32 left = w->mask; left; left &= left - 1)
		w->cluster_phase[__builtin_ctz(left)] = c->phase;
	c->arrived += (u32)__builtin_popcount(w->mask);
	complete_locked(c);
	pthread_mutex_unlock(&c->lock);
}

/* d: whether the phase that the lane arrived in is over */
void cluster_test(struct warp *w, const struct op *o)
{
	const u32 phase = __atomic_load_n(&w->block->cluster->phase, __ATOMIC_ACQUIRE);
	u32 *d = at(w, o->d);

	for (u32 i = 0; i < LANES; i++)
		d[i] = w->mask & lane_bit[i] ? P(w->cluster_phase[i] != phase) : d[i];
}

bool cluster_reach(const struct block *b, uint64_t begin, uint64_t end)
{
	for (u32 i = 0; i < b->cluster->count; i++) {
		const u64 first = (uintptr_t)b->cluster->block[i]->shared;

		if (begin >= first && end <= first + b->shared_bytes && end >= begin)
			return true;
	}
	return false;
}

/* The rank of the block whose shared memory holds a generic address; LANES: none. */
static u32 owner_of(const struct block *b, u64 address)
{
	for (u32 i = 0; i < b->cluster->count; i++)
		if (address - (uintptr_t)b->cluster->block[i]->shared < b->shared_bytes)
			return i;
	return LANES;
}

/* A 32-bit shared address as a generic one; what names no byte of the cluster stays as it is, and faults. */
static u64 generic_of(const struct block *b, u32 a)
{
	const u32 rank = a >> RANK_SHIFT;

	if (!rank)
		return a < b->shared_bytes ? (uintptr_t)b->shared + a : a;
	if (rank > b->cluster->count)
		return a;
	return (uintptr_t)b->cluster->block[rank - 1]->shared + (a & ((1u << RANK_SHIFT) - 1));
}

void cluster_generic(struct warp *w, const struct op *o)
{
	const u32 *a = at(w, o->a);
	u64 *d = at(w, o->d);

	for (u32 left = w->mask; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left);

		d[i] = generic_of(w->block, a[i] + (u32)o->imm);
	}
}

/* d offset in the cluster's shared memory, a generic */
void cluster_offset(struct warp *w, const struct op *o)
{
	const u64 *a = at(w, o->a);
	u32 *d = at(w, o->d);

	for (u32 left = w->mask; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left), rank = owner_of(w->block, a[i]);

		d[i] = rank == LANES ? (u32)a[i]
				     : (rank + 1) << RANK_SHIFT |
					       (u32)(a[i] - (uintptr_t)w->block->cluster->block[rank]->shared);
	}
}

/* d = the address in block b that corresponds to the generic address a */
void cluster_map(struct warp *w, const struct op *o)
{
	const struct cluster *c = w->block->cluster;
	const u64 *a = at(w, o->a);
	const u32 *b = at(w, o->b);
	u64 *d = at(w, o->d);

	for (u32 left = w->mask; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left), from = owner_of(w->block, a[i]);

		if (b[i] >= c->count || from == LANES)
			warp_fault(w, PTX_FAULT_ILLEGAL_ADDRESS, o, i, from == LANES ? a[i] : b[i]);
		else
			d[i] = a[i] - (uintptr_t)c->block[from]->shared + (uintptr_t)c->block[b[i]]->shared;
	}
}

void cluster_rank_of(struct warp *w, const struct op *o)
{
	const u64 *a = at(w, o->a);
	u32 *d = at(w, o->d);

	for (u32 left = w->mask; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left), rank = owner_of(w->block, a[i]);

		d[i] = rank == LANES ? ~0u : rank;
	}
}

void cluster_is_shared(struct warp *w, const struct op *o)
{
	const u64 *a = at(w, o->a);
	u32 *d = at(w, o->d);

	for (u32 i = 0; i < LANES; i++)
		d[i] = w->mask & lane_bit[i] ? P(owner_of(w->block, a[i]) != LANES) : d[i];
}

void cluster_special(struct warp *w, const struct op *o)
{
	const struct block *b = w->block;
	const struct ptx_launch *l = b->launch;
	const u32 *size = b->cluster->size;
	u32 *d = at(w, o->d), v = 0;

	switch ((enum special)o->imm) {
	case SP_clusterid_x:
	case SP_clusterid_y:
	case SP_clusterid_z:
		v = b->id[o->imm - SP_clusterid_x] / size[o->imm - SP_clusterid_x];
		break;
	case SP_nclusterid_x:
	case SP_nclusterid_y:
	case SP_nclusterid_z:
		v = l->grid[o->imm - SP_nclusterid_x] / size[o->imm - SP_nclusterid_x];
		break;
	case SP_cluster_ctaid_x:
	case SP_cluster_ctaid_y:
	case SP_cluster_ctaid_z:
		v = b->id[o->imm - SP_cluster_ctaid_x] % size[o->imm - SP_cluster_ctaid_x];
		break;
	case SP_cluster_nctaid_x:
	case SP_cluster_nctaid_y:
	case SP_cluster_nctaid_z:
		v = size[o->imm - SP_cluster_nctaid_x];
		break;
	case SP_cluster_ctarank:
		v = b->cluster_rank;
		break;
	case SP_cluster_nctarank:
		v = b->cluster->count;
		break;
	default:
		v = P(b->cluster->explicit);
	}
	for (u32 i = 0; i < LANES; i++)
		d[i] = w->mask & lane_bit[i] ? v : d[i];
}
