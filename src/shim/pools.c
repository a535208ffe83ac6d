/*
 * pools.c: see pools.h; and the calls that wait for the device, after which pools may have less.
 */
#include "shim/pools.h"
#include "cuda_shim.h"
#include "core/gate.h"
#include "shim/graphs.h"
#include "shim/later.h"
#include "shim/launches.h"
#include "shim/pool.h"
#include "shim/start.h"

static const enum cuda_call sync_calls[] = { CUDA_CALL_cuStreamSynchronize, CUDA_CALL_cuStreamSynchronize_ptsz,
					     CUDA_CALL_cuCtxSynchronize, CUDA_CALL_cuCtxSynchronize_v2,
					     CUDA_CALL_cuEventSynchronize };

void pools_arm(void)
{
	static _Atomic bool armed;

	if (!atomic_exchange_explicit(&armed, true, memory_order_relaxed))
		for (size_t i = 0; i < sizeof sync_calls / sizeof *sync_calls; i++)
			start_treat(sync_calls[i]);
}

void pools_settle(unsigned int device)
{
	uint32_t count = atomic_load_explicit(&pool_count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++)
		if (pools[i].used && pools[i].device == device)
			pool_settle(&pools[i]);
}

uint64_t pools_reserved(unsigned int device)
{
	uint32_t count = atomic_load_explicit(&pool_count, memory_order_acquire);
	uint64_t units = 0;

	for (uint32_t i = 0; i < count; i++) {
		pthread_mutex_lock(&pools[i].lock);
		if (pools[i].used && pools[i].device == device &&
		    !(pools[i].exportable && accounts[device].soft)) /* figure.h: its memory is shared objects */
			units += wire_units(pool_reserved_locked(&pools[i]));
		pthread_mutex_unlock(&pools[i].lock);
	}
	return units;
}

bool pools_shrink(unsigned int device)
{
	uint32_t count = atomic_load_explicit(&pool_count, memory_order_acquire);
	bool shrunk = later_look();

	for (uint32_t i = 0; i < count; i++) {
		struct pool *p = &pools[i];
		uint32_t before, none = 0;

		gate_enter();
		pthread_mutex_lock(&p->lock);
		if (p->used && p->device == device && p->charged_units) {
			before = p->charged_units;
			shim_real.cuMemPoolTrimTo(p->handle, 0);
			pool_settle_locked(p, &none);
			shrunk |= p->charged_units < before;
		}
		pthread_mutex_unlock(&p->lock);
		gate_leave();
	}
	return graphs_shrink(device) || shrunk;
}

void pools_freed(uint32_t slot, uint64_t bytes)
{
	struct pool *p = &pools[slot];

	pthread_mutex_lock(&p->lock);
	p->live_bytes = p->live_bytes > bytes ? p->live_bytes - bytes : 0;
	pthread_mutex_unlock(&p->lock);
	pool_settle(p);
}

CUmemoryPool pools_handle(uint32_t slot)
{
	CUmemoryPool handle;

	pthread_mutex_lock(&pools[slot].lock);
	handle = pools[slot].used ? pools[slot].handle : NULL;
	pthread_mutex_unlock(&pools[slot].lock);
	return handle;
}

/*
 * After a wait. Nobody waits here for one who has the gate to himself: the driver may make that one wait for a function
 * of the program, and behind a wall this may be a copy that the function needs. The next wait settles.
 */
static CUresult settled(CUresult r)
{
	uint32_t count = atomic_load_explicit(&pool_count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++)
		if (pools[i].used && gate_try())
			pool_settle_and_leave(&pools[i]);
	graphs_settle();
	later_look();
	return r;
}

CUresult shim_cuStreamSynchronize(CUstream hStream)
{
	return launches_synced(hStream, false, settled(launches_wait(shim_real.cuStreamSynchronize, hStream, false)));
}

CUresult shim_cuStreamSynchronize_ptsz(CUstream hStream)
{
	return launches_synced(hStream, true,
			       settled(launches_wait(shim_real.cuStreamSynchronize_ptsz, hStream, true)));
}

CUresult shim_cuCtxSynchronize(void)
{
	return launches_synced_all(settled(launches_wait_current(shim_real.cuCtxSynchronize)));
}

CUresult shim_cuCtxSynchronize_v2(CUcontext ctx)
{
	return launches_synced_all(settled(launches_wait_context(shim_real.cuCtxSynchronize_v2, ctx)));
}

CUresult shim_cuEventSynchronize(CUevent hEvent)
{
	return launches_synced_all(settled(launches_wait_event(hEvent)));
}
