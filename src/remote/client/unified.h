/*
 * unified.h: memory that the program and the device both reach: managed memory, and pinned memory whose device is in
 * another machine. Here it is ordinary memory, at the worker a device's (or pinned); the two are made equal where the
 * documentation lets one side hand it to the other: before work is submitted, and when work has been waited for.
 */
#pragma once

#include "model/advice.h"
#include "remote/client/session.h"

/* Whose bytes count at first. */
enum unified_start { UNIFIED_ZERO, UNIFIED_FROM_DEVICE, UNIFIED_FROM_HOST };

struct unified_place {
	struct session *session;
	uint64_t context; /* handle */
	uint64_t owner;	  /* handle of the library of a variable, or 0 */
	uint64_t host, device, bytes;
	uint64_t copy; /* UNIFIED_FROM_HOST: where in the arena the device's lies */
	enum unified_start start;
};

/* CUDA_SUCCESS, CUDA_ERROR_OUT_OF_MEMORY. The context is current. */
CUresult unified_add(const struct unified_place *place);
/* Whether one begins there. */
bool unified_has(uint64_t host);
/* What begins there; nothing happens when it is none. */
void unified_remove(uint64_t host);
void unified_drop_context(uint64_t context);
void unified_drop_owner(uint64_t owner);
/*
 * What has been advised about the managed memory `whole` in which the part lies; to be left soon. NULL: it does not lie
 * in any.
 */
struct advice **unified_advice_enter(struct advice_span part, struct advice_span *ret_whole);
void unified_advice_leave(void);
void unified_forget(void);
/*
 * Of a session that moves and whose streams are at rest: what the device has of memory that is pinned here, beside
 * ranges of the device, which whoever moves the session copies itself, and memory that both sides share, which moves by
 * itself. Counted; copied here; copied to the next worker, and forgotten. CUDA_ERROR_OUT_OF_MEMORY.
 */
uint64_t unified_aside(const struct session *session);
CUresult unified_out(const struct session *session);
CUresult unified_in(const struct session *session);
void unified_keep_none(void);

static inline bool unified_any(struct session *s)
{
	return s && atomic_load_explicit(&s->unified, memory_order_relaxed) > 0;
}

/* The place in which all of this memory of the program lies, if the device has it at an address of its own. */
bool unified_find(uint64_t host, uint64_t bytes, struct unified_place *ret);
/* Whether a copy reads or writes any of it, or may. */
bool unified_touches(uint64_t address, uint64_t bytes);
/* Work has been submitted that may write it, and that nobody has waited for. */
bool unified_pending(const struct session *session);

/* Work is submitted to the stream: what the program has written goes to the device. */
void unified_begin(struct session *session, CUstream stream);
/* The same for work in a stream that is not known here: it is there before the work is sent. */
void unified_begin_unknown(struct session *session);
/*
 * A stream, a context (NULL: the current one) or an event of the session has been waited for, or was found done. What
 * the device has written comes here, or the wait has failed: CUresult.
 */
CUresult unified_waited(CUstream stream);
CUresult unified_waited_context(CUcontext context);
CUresult unified_waited_event(struct session *session);
/* Around a function of the program in a stream. */
void unified_host_begin(struct session *session);
void unified_host_end(struct session *session);
