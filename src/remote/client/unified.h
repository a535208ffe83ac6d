/*
 * unified.h: memory that both the program and the device can reach: managed memory, and pinned memory whose device is
 * in another machine. Here it is ordinary memory, at the worker a device's (or pinned). The two copies are made equal
 * where the documentation lets one side pass it to the other: before work is submitted, and when work has been waited
 * for.
 */
#pragma once

#include "model/advice.h"
#include "remote/client/session.h"

/* Which copy is valid at first. */
enum unified_start { UNIFIED_ZERO, UNIFIED_FROM_DEVICE, UNIFIED_FROM_HOST };

struct unified_place {
	struct session *session;
	uint64_t context; /* handle */
	uint64_t owner;	  /* handle of the library of a variable, or 0 */
	uint64_t host, device, bytes;
	uint64_t copy; /* UNIFIED_FROM_HOST: where in the arena the device's lies */
	enum unified_start start;
};

/* The context must be current. Value: CUDA_SUCCESS, CUDA_ERROR_OUT_OF_MEMORY. */
CUresult unified_add(const struct unified_place *place);
/* True if a place begins there. */
bool unified_has(uint64_t host);
/* Removes the place that begins there, if any. */
void unified_remove(uint64_t host);
void unified_drop_context(uint64_t context);
void unified_drop_owner(uint64_t owner);
/*
 * The advice for the managed memory `whole` that contains the part; unified_advice_leave() must follow soon. NULL: the
 * part is not in any.
 */
struct advice **unified_advice_enter(struct advice_span part, struct advice_span *ret_whole);
void unified_advice_leave(void);
void unified_forget(void);
/*
 * For a session that moves and whose streams are at rest: the device's copy of memory that is pinned here. Not included
 * are ranges of the device, which move_memory.c copies, and memory that both sides share, which moves by itself. Count
 * the bytes; copy them here; copy them to the next worker; drop them. Value: CUDA_ERROR_OUT_OF_MEMORY.
 */
uint64_t unified_aside(const struct session *session);
CUresult unified_out(const struct session *session);
CUresult unified_in(const struct session *session);
void unified_keep_none(void);

static inline bool unified_any(struct session *s)
{
	return s && atomic_load_explicit(&s->unified, memory_order_relaxed) > 0;
}

/* Finds the place that contains all of this memory of the program, if the device has it at another address. */
bool unified_find(uint64_t host, uint64_t bytes, struct unified_place *ret);
/* True if a copy reads or writes any of it, or may. */
bool unified_touches(uint64_t address, uint64_t bytes);
/* True if work was submitted that may write it and that was not waited for. */
bool unified_pending(const struct session *session);

/* Called when work is submitted to the stream: copies the program's writes to the device. */
void unified_begin(struct session *session, CUstream stream);
/* The same for work in a stream that is not known here: the copy is complete before the work is sent. */
void unified_begin_unknown(struct session *session);
/*
 * Called when a stream, a context (NULL: the current one) or an event of the session has been waited for, or was found
 * complete. Copies the device's writes to this process. Value: CUDA_SUCCESS, or why the copy failed.
 */
CUresult unified_waited(CUstream stream);
CUresult unified_waited_context(CUcontext context);
CUresult unified_waited_event(struct session *session);
/* Bracket a function of the program in a stream. */
void unified_host_begin(struct session *session);
void unified_host_end(struct session *session);
