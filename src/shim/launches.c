/* launches.c: see launches.h. */
#include "shim/launches.h"
#include "cuda_shim.h"
#include "shim/capture.h"
#include "shim/markers.h"
#include "shim/start.h"
#include "shim/tick.h"

static const enum cuda_call armed_calls[] = {
	CUDA_CALL_cuStreamSynchronize, CUDA_CALL_cuStreamSynchronize_ptsz, CUDA_CALL_cuCtxSynchronize,
	CUDA_CALL_cuCtxSynchronize_v2, CUDA_CALL_cuEventSynchronize,	   CUDA_CALL_cuStreamQuery,
	CUDA_CALL_cuStreamQuery_ptsz,  CUDA_CALL_cuEventQuery,
#define GATED(engine, symbol, kinds)
#define NOT_GATED(symbol, kinds)
#define TREATED(treat, symbol) CUDA_CALL_##symbol,
#include "cuda_gates.h"
#undef GATED
#undef NOT_GATED
#undef TREATED
};

#define COPY_SEED 0x636f7079u
#define COPY_LEAST_BYTES 65536u /* a copy of nothing takes as long as one of so many bytes, about */

static _Atomic bool armed;

void launches_arm(void)
{
	if (atomic_load_explicit(&armed, memory_order_relaxed) || atomic_exchange(&armed, true))
		return;
	for (size_t i = 0; i < sizeof armed_calls / sizeof *armed_calls; i++)
		start_treat(armed_calls[i]);
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
		marker_record(p, s, NULL);
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
		pthread_mutex_lock(&p->lock);
		s = p->busy ? markers_unmarked_locked(p) : NULL;
		if (s)
			s->flow[p->engine].claimed = false;
		pace_refresh_locked(p, 0);
		pthread_mutex_unlock(&p->lock);
		if (!s || !face->enter(s->lane->context))
			return;
		mark_stream(p, s);
		face->leave();
	}
}

/* What was submitted is marked here, and what comes is preceded by an event. `but`: not for this engine. */
static void break_stream(struct stream *s, int but)
{
	for (int e = 0; e < WIRE_ENGINES; e++) {
		struct pace *p = &paces[s->lane->device][e];
		struct flow *f = &s->flow[e];

		if (e == but)
			continue;
		if (atomic_load(&f->submitted) != __atomic_load_n(&f->marked, __ATOMIC_RELAXED) &&
		    !(capture_going() && face->captured(s->handle, s->per_thread)))
			mark_stream(p, s);
		if (!(atomic_load_explicit(&f->slow, memory_order_relaxed) & FLOW_FRESH))
			atomic_fetch_or_explicit(&f->slow, FLOW_FRESH, memory_order_relaxed);
	}
}

void launches_mark_all(void)
{
	uint32_t count = atomic_load_explicit(&pace_count, memory_order_acquire);

	for (uint32_t d = 0; atomic_load_explicit(&armed, memory_order_relaxed) && d < count; d++)
		for (int e = 0; e < WIRE_ENGINES; e++)
			mark_pace(&paces[d][e]);
}

static void launches_break_but(CUstream stream, bool per_thread, int but)
{
	struct stream *s;
	uint64_t key;

	if (!atomic_load_explicit(&armed, memory_order_relaxed))
		return;
	/* Of any stream, known or not: the legacy stream waits for it. */
	if (but == WIRE_ENGINES)
		atomic_fetch_add_explicit(&lane_holds, 1, memory_order_relaxed);
	key = stream_key(stream, per_thread);
	s = key ? stream_lookup(key) : NULL;
	if (s)
		break_stream(s, but);
}

void launches_break(CUstream stream, bool per_thread)
{
	launches_break_but(stream, per_thread, WIRE_ENGINES);
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
		return faults_see(r);
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
	return faults_see(r);
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

/* Copies -------------------------------------------------------------------------------------------------------- */

static void copy_work(struct work *w, enum cuda_call call, uint64_t bytes, CUstream stream, bool per_thread)
{
	*w = (struct work){ .engine = WIRE_COPY,
			    .key = estimate_mix(estimate_mix(COPY_SEED, (uint64_t)call), bytes) | 1,
			    .family = estimate_mix(COPY_SEED, (uint64_t)call) | 1,
			    .size = bytes + COPY_LEAST_BYTES,
			    .stream = stream,
			    .per_thread = per_thread,
			    .what = cuda_call_name[call],
			    .threads = bytes };
}

void copy_begin(struct launch *l, enum cuda_call call, uint64_t bytes, CUstream stream, bool per_thread)
{
	struct work w;

	l->pace = NULL;
	launches_break_but(stream, per_thread, WIRE_COPY);
	if (!pace_gated(WIRE_COPY))
		return;
	copy_work(&w, call, bytes, stream, per_thread);
	if (per_thread || !pace_begin_fast(l, WIRE_COPY, w.key, stream))
		pace_begin_slow(l, &w);
}

void copy_begin_sync(struct launch *l, enum cuda_call call, uint64_t bytes, bool per_thread)
{
	struct work w;

	l->pace = NULL;
	launches_break_but(NULL, per_thread, WIRE_COPY);
	if (!pace_gated(WIRE_COPY))
		return;
	copy_work(&w, call, bytes, NULL, per_thread);
	w.waits = true;
	pace_begin_slow(l, &w);
	if (l->pace)
		l->host_ns = tick_now();
}

void copy_end_sync(struct launch *l, CUresult r)
{
	launches_synced(NULL, false, r);
	if (l->pace)
		pace_end_host(l, r == CUDA_SUCCESS);
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
