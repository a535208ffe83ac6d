/*
 * places.c: see places.h. Of one process, as it has one session. Places are few: each is a region that the client has
 * joined from what lies side by side.
 */
#include "remote/worker/places.h"

#include "remote/move.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct place {
	struct place *next;
	CUdeviceptr begin;
	size_t bytes;
	CUmemGenericAllocationHandle handle;
	uint64_t context;	  /* id, of the one in which it was made */
	uint32_t blocks;	  /* that are not freed */
	_Atomic uint32_t reached; /* blocks whose free a stream has come to */
	_Atomic uint32_t users;	  /* the list or who unmakes it, and streams that will come to a free */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static struct place *places;
static _Atomic uint32_t reached; /* of all places: something to reap */

static struct place **find_locked(CUdeviceptr at)
{
	struct place **p = &places;

	while (*p && (at < (*p)->begin || at - (*p)->begin >= (*p)->bytes))
		p = &(*p)->next;
	return p;
}

bool places_has(CUdeviceptr at)
{
	bool found;

	pthread_mutex_lock(&lock);
	found = *find_locked(at);
	pthread_mutex_unlock(&lock);
	return found;
}

static void unref(struct place *p)
{
	if (atomic_fetch_sub(&p->users, 1) == 1)
		free(p);
}

static void unmake(const struct cuda_table *driver, struct place *p)
{
	driver->cuMemUnmap(p->begin, p->bytes);
	driver->cuMemRelease(p->handle);
	driver->cuMemAddressFree(p->begin, p->bytes);
	unref(p);
}

/* ---- making ---- */

static CUresult make(struct work *work, struct place *p)
{
	const struct cuda_table *d = work->driver;
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location.type = CU_MEM_LOCATION_TYPE_DEVICE };
	CUmemAccessDesc access = { .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUdeviceptr at = 0;
	CUdevice device;
	CUresult r = d->cuCtxGetDevice(&device);

	if (r == CUDA_SUCCESS)
		r = d->cuMemAddressReserve(&at, p->bytes, 0, p->begin, 0);
	if (r == CUDA_SUCCESS && at != p->begin) {
		d->cuMemAddressFree(at, p->bytes);
		return CUDA_ERROR_INVALID_ADDRESS_SPACE;
	}
	if (r != CUDA_SUCCESS)
		return r;
	prop.location.id = device;
	access.location = prop.location;
	r = d->cuMemCreate(&p->handle, p->bytes, &prop, 0);
	if (r == CUDA_SUCCESS) {
		r = d->cuMemMap(p->begin, p->bytes, 0, p->handle, 0);
		if (r == CUDA_SUCCESS)
			r = d->cuMemSetAccess(p->begin, p->bytes, &access, 1);
		if (r == CUDA_SUCCESS)
			return r;
		d->cuMemUnmap(p->begin, p->bytes);
		d->cuMemRelease(p->handle);
	}
	d->cuMemAddressFree(p->begin, p->bytes);
	return r;
}

static bool place_good(const struct move_place *m)
{
	return m->bytes && !(m->begin % MOVE_GRANULE) && !(m->bytes % MOVE_GRANULE) && m->begin + m->bytes > m->begin &&
	       m->count <= MOVE_BLOCKS_MOST;
}

static CUresult find_or_make(struct work *work, const struct move_place *m, struct place **ret)
{
	struct place *p = *find_locked(m->begin);
	CUresult r;

	*ret = p;
	if (p)
		return p->begin == m->begin && p->bytes == m->bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	p = calloc(1, sizeof(*p));
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->begin = m->begin;
	p->bytes = m->bytes;
	p->context = work->head.context;
	p->users = 1;
	r = make(work, p);
	if (r != CUDA_SUCCESS) {
		free(p);
		return r;
	}
	p->next = places;
	places = p;
	*ret = p;
	return CUDA_SUCCESS;
}

int places_add(struct work *work)
{
	struct move_place m;
	struct move_block b;
	struct place *p = NULL;

	remote_get(&work->in, &m, sizeof(m));
	if (work->in.bad || !place_good(&m) || work->in.size - work->in.used != m.count * sizeof(b))
		return -EPROTO;
	pthread_mutex_lock(&lock);
	work->result = find_or_make(work, &m, &p);
	for (uint64_t i = 0; i < m.count && work->result == CUDA_SUCCESS; i++) {
		remote_get(&work->in, &b, sizeof(b));
		if (b.begin < p->begin || b.bytes > p->bytes || b.begin - p->begin > p->bytes - b.bytes ||
		    worker_range_add(work, b.begin, b.bytes, b.ordered ? 0 : work->head.context))
			work->result = CUDA_ERROR_INVALID_VALUE;
		else
			p->blocks++;
	}
	pthread_mutex_unlock(&lock);
	work->created = true;
	return 0;
}

/* ---- freeing ---- */

/* Takes it out when its last block has gone. */
static struct place *let_go_locked(struct place **at, uint32_t blocks)
{
	struct place *p = *at;

	p->blocks -= blocks < p->blocks ? blocks : p->blocks;
	if (p->blocks)
		return NULL;
	*at = p->next;
	return p;
}

bool places_free(struct work *work, CUdeviceptr at, bool block)
{
	struct place **p, *over = NULL;
	bool found;

	pthread_mutex_lock(&lock);
	found = *find_locked(at);
	pthread_mutex_unlock(&lock);
	if (!found)
		return false;
	/* Work that may still touch it ends first; what fails there is the context's own. */
	work->result = block ? work->driver->cuCtxSynchronize() : CUDA_ERROR_INVALID_VALUE;
	if (work->result != CUDA_SUCCESS)
		return true;
	pthread_mutex_lock(&lock);
	p = find_locked(at);
	if (*p)
		over = let_go_locked(p, 1);
	pthread_mutex_unlock(&lock);
	if (over)
		unmake(work->driver, over);
	return true;
}

static void CUDA_CB reach(void *data)
{
	struct place *p = data;

	atomic_fetch_add_explicit(&p->reached, 1, memory_order_release);
	atomic_fetch_add_explicit(&reached, 1, memory_order_release);
	unref(p);
}

bool places_free_ordered(struct work *work, CUdeviceptr at, bool block, CUstream stream)
{
	struct place *p;

	pthread_mutex_lock(&lock);
	p = *find_locked(at);
	if (p) {
		atomic_fetch_add(&p->users, 1);
		work->result = block ? work->driver->cuLaunchHostFunc(stream, reach, p) : CUDA_ERROR_INVALID_VALUE;
		if (work->result != CUDA_SUCCESS)
			unref(p);
	}
	pthread_mutex_unlock(&lock);
	return p;
}

static void unmake_all(const struct cuda_table *driver, struct place *first)
{
	while (first) {
		struct place *p = first;

		first = p->next;
		unmake(driver, p);
	}
}

void places_reap(const struct cuda_table *driver)
{
	struct place *over = NULL, **next;

	if (!atomic_load_explicit(&reached, memory_order_relaxed))
		return;
	pthread_mutex_lock(&lock);
	atomic_store_explicit(&reached, 0, memory_order_relaxed);
	for (struct place **at = &places; *at; at = next) {
		uint32_t blocks = atomic_exchange_explicit(&(*at)->reached, 0, memory_order_acquire);
		struct place *p = blocks ? let_go_locked(at, blocks) : NULL;

		next = p ? at : &(*at)->next;
		if (p) {
			p->next = over;
			over = p;
		}
	}
	pthread_mutex_unlock(&lock);
	unmake_all(driver, over);
}

void places_context_gone(const struct cuda_table *driver, uint64_t context)
{
	struct place *over = NULL, **next;

	pthread_mutex_lock(&lock);
	for (struct place **at = &places; *at; at = next) {
		struct place *p = (*at)->context == context ? *at : NULL;

		next = p ? at : &(*at)->next;
		if (p) {
			*at = p->next;
			p->next = over;
			over = p;
		}
	}
	pthread_mutex_unlock(&lock);
	unmake_all(driver, over);
}
