/* launches.c: see launches.h. */
#include "shim/launches.h"
#include "cuda_shim.h"
#include "core/copies.h"
#include "core/waits.h"
#include "shim/start.h"

static const enum cuda_call armed_calls[] = {
	CUDA_CALL_cuStreamSynchronize,	  CUDA_CALL_cuStreamSynchronize_ptsz,
	CUDA_CALL_cuCtxSynchronize,	  CUDA_CALL_cuCtxSynchronize_v2,
	CUDA_CALL_cuEventSynchronize,	  CUDA_CALL_cuStreamQuery,
	CUDA_CALL_cuStreamQuery_ptsz,	  CUDA_CALL_cuEventQuery,
	CUDA_CALL_cuEventRecord,	  CUDA_CALL_cuEventRecord_ptsz,
	CUDA_CALL_cuEventRecordWithFlags, CUDA_CALL_cuEventRecordWithFlags_ptsz,
	CUDA_CALL_cuCtxRecordEvent,	  CUDA_CALL_cuGreenCtxRecordEvent,
#define GATED(engine, symbol, kinds)
#define NOT_GATED(symbol, kinds)
#define TREATED(treat, symbol) CUDA_CALL_##symbol,
#include "cuda_gates.h"
#undef GATED
#undef NOT_GATED
#undef TREATED
};

#define COPY_SEED 0x636f7079u

void launches_arm(void)
{
	for (size_t i = 0; i < sizeof armed_calls / sizeof *armed_calls; i++)
		start_treat(armed_calls[i]);
}

void launches_break(CUstream stream, bool per_thread)
{
	marks_break(stream, per_thread, MARKS_NONE);
}

/* The end of work, as the program learns of it ------------------------------------------------------------------ */

CUresult launches_synced(CUstream stream, bool per_thread, CUresult r)
{
	if (r == CUDA_SUCCESS)
		marks_ended(stream, per_thread);
	return faults_see(r);
}

CUresult launches_synced_all(CUresult r)
{
	if (r == CUDA_SUCCESS)
		marks_ended_all();
	return faults_see(r);
}

static CUresult wait_or_ask(CUresult (*call)(CUstream), CUstream stream, bool per_thread, bool sleeps)
{
	struct waits w;
	CUresult r;

	waits_begin(&w, (face_queue)stream, per_thread, sleeps);
	r = call(stream);
	if (r == CUDA_SUCCESS)
		waits_end(&w);
	return r;
}

CUresult launches_wait(CUresult (*call)(CUstream), CUstream stream, bool per_thread)
{
	return wait_or_ask(call, stream, per_thread, true);
}

CUresult launches_wait_context(CUresult (*call)(CUcontext), CUcontext context)
{
	struct waits w;
	CUresult r;

	waits_begin_context(&w, (face_context)context);
	r = call(context);
	if (r == CUDA_SUCCESS)
		waits_end(&w);
	return r;
}

CUresult launches_wait_current(CUresult (*call)(void))
{
	struct waits w;
	CUresult r;

	waits_begin_current(&w);
	r = call();
	if (r == CUDA_SUCCESS)
		waits_end(&w);
	return r;
}

CUresult launches_wait_event(CUevent event)
{
	struct waits w;
	CUresult r;

	waits_begin_event(&w, (face_marker)event);
	r = shim_real.cuEventSynchronize(event);
	if (r == CUDA_SUCCESS)
		waits_end_event(&w);
	return r;
}

CUresult shim_cuStreamQuery(CUstream hStream)
{
	return launches_synced(hStream, false, wait_or_ask(shim_real.cuStreamQuery, hStream, false, false));
}

CUresult shim_cuStreamQuery_ptsz(CUstream hStream)
{
	return launches_synced(hStream, true, wait_or_ask(shim_real.cuStreamQuery_ptsz, hStream, true, false));
}

CUresult shim_cuEventQuery(CUevent hEvent)
{
	return launches_synced_all(shim_real.cuEventQuery(hEvent));
}

/* The program's events: see waits.h ------------------------------------------------------------------------------ */

static CUresult recorded(uint64_t ticket, CUevent event, CUstream stream, bool per_thread, CUresult r)
{
	waits_record_end(ticket, r == CUDA_SUCCESS ? (face_marker)event : NULL, (face_queue)stream, per_thread);
	return r;
}

CUresult shim_cuEventRecord(CUevent hEvent, CUstream hStream)
{
	uint64_t ticket = waits_record_begin((face_marker)hEvent);

	return recorded(ticket, hEvent, hStream, false, shim_real.cuEventRecord(hEvent, hStream));
}

CUresult shim_cuEventRecord_ptsz(CUevent hEvent, CUstream hStream)
{
	uint64_t ticket = waits_record_begin((face_marker)hEvent);

	return recorded(ticket, hEvent, hStream, true, shim_real.cuEventRecord_ptsz(hEvent, hStream));
}

CUresult shim_cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
	uint64_t ticket = waits_record_begin((face_marker)hEvent);

	return recorded(ticket, hEvent, hStream, false, shim_real.cuEventRecordWithFlags(hEvent, hStream, flags));
}

CUresult shim_cuEventRecordWithFlags_ptsz(CUevent hEvent, CUstream hStream, unsigned int flags)
{
	uint64_t ticket = waits_record_begin((face_marker)hEvent);

	return recorded(ticket, hEvent, hStream, true, shim_real.cuEventRecordWithFlags_ptsz(hEvent, hStream, flags));
}

CUresult shim_cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent)
{
	uint64_t ticket = waits_record_begin((face_marker)hEvent);

	return recorded(ticket, NULL, NULL, false, shim_real.cuCtxRecordEvent(hCtx, hEvent));
}

CUresult shim_cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent)
{
	uint64_t ticket = waits_record_begin((face_marker)hEvent);

	return recorded(ticket, NULL, NULL, false, shim_real.cuGreenCtxRecordEvent(hCtx, hEvent));
}

/* Copies -------------------------------------------------------------------------------------------------------- */

static void begin(struct launch *l, enum cuda_call call, uint64_t bytes, CUstream stream, bool per_thread, bool waits)
{
	struct work w;

	l->pace = NULL;
	marks_break(stream, per_thread, WIRE_COPY);
	if (!pace_gated(WIRE_COPY))
		return;
	w = copies_work(estimate_mix(COPY_SEED, (uint64_t)call), bytes, stream, per_thread, waits,
			cuda_call_name[call]);
	copies_begin(l, &w);
}

void copy_begin(struct launch *l, enum cuda_call call, uint64_t bytes, CUstream stream, bool per_thread)
{
	begin(l, call, bytes, stream, per_thread, false);
}

void copy_begin_sync(struct launch *l, enum cuda_call call, uint64_t bytes, bool per_thread)
{
	begin(l, call, bytes, NULL, per_thread, true);
}

void copy_end_sync(struct launch *l, CUresult r)
{
	launches_synced(NULL, false, r);
	if (l->pace)
		pace_end_host(l, r == CUDA_SUCCESS);
}

/* The end of streams --------------------------------------------------------------------------------------------- */

CUresult shim_cuStreamDestroy(CUstream hStream)
{
	marks_queue_goes(hStream);
	return shim_real.cuStreamDestroy(hStream);
}

CUresult shim_cuStreamDestroy_v2(CUstream hStream)
{
	marks_queue_goes(hStream);
	return shim_real.cuStreamDestroy_v2(hStream);
}
