/* launches.c: see launches.h. */
#include "shim/launches.h"
#include "cuda_shim.h"
#include "shim/markers.h"
#include "shim/start.h"

static const enum cuda_call armed_calls[] = {
	CUDA_CALL_cuStreamSynchronize, CUDA_CALL_cuStreamSynchronize_ptsz, CUDA_CALL_cuCtxSynchronize,
	CUDA_CALL_cuCtxSynchronize_v2, CUDA_CALL_cuEventSynchronize,	   CUDA_CALL_cuStreamQuery,
	CUDA_CALL_cuStreamQuery_ptsz,  CUDA_CALL_cuEventQuery,
};

static _Atomic bool armed;

void launches_arm(void)
{
	if (atomic_load_explicit(&armed, memory_order_relaxed) || atomic_exchange(&armed, true))
		return;
	for (size_t i = 0; i < sizeof armed_calls / sizeof *armed_calls; i++)
		start_treat(armed_calls[i]);
}

/* What names a kind of kernel launch. Independent products: they overlap in the processor. */
static inline uint64_t kind_of(CUfunction f, uint64_t grid_xy, uint64_t grid_z_block_x, uint64_t block_yz,
			       uint64_t shared)
{
	uint64_t h = (uint64_t)(uintptr_t)f * 0x9e3779b97f4a7c15u + grid_xy * 0xc2b2ae3d27d4eb4fu +
		     grid_z_block_x * 0x165667b19e3779f9u + (block_yz ^ shared << 32) * 0xd6e8feb86659fd93u;

	h ^= h >> 32;
	return h * 0xd6e8feb86659fd93u | 1;
}

struct shape {
	unsigned int grid[3], block[3], shared;
};

static void kernel_work(struct work *w, CUfunction f, const struct shape *s, CUstream stream, bool per_thread)
{
	*w = (struct work){
		.engine = WIRE_COMPUTE,
		.key = kind_of(f, s->grid[0] | (uint64_t)s->grid[1] << 32, s->grid[2] | (uint64_t)s->block[0] << 32,
			       s->block[1] | (uint64_t)s->block[2] << 16, s->shared),
		.family = (uint64_t)(uintptr_t)f,
		.size = (uint64_t)s->grid[0] * s->grid[1] * s->grid[2],
		.stream = stream,
		.per_thread = per_thread,
	};
}

static void begin(struct launch *l, const struct work *w)
{
	if (w->per_thread || !pace_begin_fast(l, w->engine, w->key, w->stream))
		pace_begin_slow(l, w);
}

static __attribute__((noinline)) CUresult launch_gated(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
						       unsigned int gridDimZ, unsigned int blockDimX,
						       unsigned int blockDimY, unsigned int blockDimZ,
						       unsigned int sharedMemBytes, CUstream hStream,
						       void **kernelParams, void **extra)
{
	struct shape shape = { { gridDimX, gridDimY, gridDimZ }, { blockDimX, blockDimY, blockDimZ }, sharedMemBytes };
	struct launch l;
	struct work w;
	CUresult r;

	kernel_work(&w, f, &shape, hStream, false);
	begin(&l, &w);
	r = shim_real.cuLaunchKernel(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes,
				     hStream, kernelParams, extra);
	pace_end(&l, r);
	return r;
}

CUresult shim_cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
			     unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
			     unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra)
{
	if (__builtin_expect(pace_gated(WIRE_COMPUTE), 0))
		return launch_gated(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes,
				    hStream, kernelParams, extra);
	return shim_real.cuLaunchKernel(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
					sharedMemBytes, hStream, kernelParams, extra);
}

static __attribute__((noinline)) CUresult launch_gated_ptsz(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
							    unsigned int gridDimZ, unsigned int blockDimX,
							    unsigned int blockDimY, unsigned int blockDimZ,
							    unsigned int sharedMemBytes, CUstream hStream,
							    void **kernelParams, void **extra)
{
	struct shape shape = { { gridDimX, gridDimY, gridDimZ }, { blockDimX, blockDimY, blockDimZ }, sharedMemBytes };
	struct launch l;
	struct work w;
	CUresult r;

	kernel_work(&w, f, &shape, hStream, true);
	begin(&l, &w);
	r = shim_real.cuLaunchKernel_ptsz(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
					  sharedMemBytes, hStream, kernelParams, extra);
	pace_end(&l, r);
	return r;
}

CUresult shim_cuLaunchKernel_ptsz(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
				  unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
				  unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra)
{
	if (__builtin_expect(pace_gated(WIRE_COMPUTE), 0))
		return launch_gated_ptsz(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
					 sharedMemBytes, hStream, kernelParams, extra);
	return shim_real.cuLaunchKernel_ptsz(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
					     sharedMemBytes, hStream, kernelParams, extra);
}

/* Marking ------------------------------------------------------------------------------------------------------- */

/* What of the stream is unmarked gets its marker from this thread. */
static void mark_stream(struct pace *p, struct stream *s)
{
	struct flow *f = &s->flow[p->engine];
	bool due;

	pthread_mutex_lock(&p->lock);
	due = !f->claimed && (int64_t)(atomic_load(&f->submitted) - f->marked) > 0;
	f->claimed |= due;
	pthread_mutex_unlock(&p->lock);
	if (!due)
		return;
	if (lane_enter(s->lane)) {
		marker_record(p, s, NULL, 0);
		lane_leave(s->lane);
		return;
	}
	pthread_mutex_lock(&p->lock);
	f->claimed = false;
	pthread_mutex_unlock(&p->lock);
}

static void mark_pace(struct pace *p)
{
	struct stream *s;

	for (;;) {
		CUcontext popped;

		pthread_mutex_lock(&p->lock);
		s = p->busy ? markers_unmarked_locked(p) : NULL;
		if (s)
			s->flow[p->engine].claimed = false;
		pace_refresh_locked(p, 0);
		pthread_mutex_unlock(&p->lock);
		if (!s || shim_real.cuCtxPushCurrent_v2(s->lane->context) != CUDA_SUCCESS)
			return;
		mark_stream(p, s);
		shim_real.cuCtxPopCurrent_v2(&popped);
	}
}

void launches_mark_all(void)
{
	uint32_t count = atomic_load_explicit(&pace_count, memory_order_acquire);

	for (uint32_t d = 0; atomic_load_explicit(&armed, memory_order_relaxed) && d < count; d++)
		for (int e = 0; e < WIRE_ENGINES; e++)
			mark_pace(&paces[d][e]);
}

/* The end of work, as the program learns of it ------------------------------------------------------------------ */

static void fresh(struct stream *s)
{
	for (int e = 0; e < WIRE_ENGINES; e++)
		if (!(atomic_load_explicit(&s->flow[e].slow, memory_order_relaxed) & FLOW_FRESH))
			atomic_fetch_or_explicit(&s->flow[e].slow, FLOW_FRESH, memory_order_relaxed);
}

CUresult launches_synced(CUstream stream, bool per_thread, CUresult r)
{
	struct stream *s;
	uint64_t key;

	if (r != CUDA_SUCCESS || !atomic_load_explicit(&armed, memory_order_relaxed))
		return r;
	key = stream_key(stream, per_thread);
	s = key ? stream_lookup(key) : NULL;
	if (s)
		fresh(s);
	return r;
}

CUresult launches_synced_all(CUresult r)
{
	if (r == CUDA_SUCCESS && atomic_load_explicit(&armed, memory_order_relaxed))
		streams_each(fresh);
	return r;
}

CUresult shim_cuStreamQuery(CUstream hStream)
{
	return launches_synced(hStream, false, shim_real.cuStreamQuery(hStream));
}

CUresult shim_cuStreamQuery_ptsz(CUstream hStream)
{
	return launches_synced(hStream, true, shim_real.cuStreamQuery_ptsz(hStream));
}

CUresult shim_cuEventQuery(CUevent hEvent)
{
	return launches_synced_all(shim_real.cuEventQuery(hEvent));
}

/* The end of streams and contexts ------------------------------------------------------------------------------- */

/* Its work is marked before it goes, and the watcher keeps its hands off from then on. */
static void stream_goes(CUstream handle)
{
	struct stream *s;

	if (!atomic_load_explicit(&armed, memory_order_relaxed) || (uintptr_t)handle <= 2 ||
	    !(s = stream_lookup((uintptr_t)handle)))
		return;
	for (int e = 0; e < WIRE_ENGINES; e++) {
		struct pace *p = &paces[s->lane->device][e];

		mark_stream(p, s);
		markers_unclaimed(p, s);
	}
	stream_retire(s);
}

CUresult shim_cuStreamDestroy(CUstream hStream)
{
	stream_goes(hStream);
	return shim_real.cuStreamDestroy(hStream);
}

CUresult shim_cuStreamDestroy_v2(CUstream hStream)
{
	stream_goes(hStream);
	return shim_real.cuStreamDestroy_v2(hStream);
}

void launches_leave(CUcontext context)
{
	if (atomic_load_explicit(&armed, memory_order_relaxed))
		lane_freeze(context);
}

void launches_left(CUcontext context, bool gone)
{
	struct lane *l = atomic_load_explicit(&armed, memory_order_relaxed) ? lane_known(context) : NULL;

	if (!l)
		return;
	if (!gone) {
		lane_thaw(l);
		return;
	}
	streams_retire(l);
	for (int e = 0; e < WIRE_ENGINES; e++)
		markers_drop_lane(&paces[l->device][e], l);
	lane_drop(l);
}
