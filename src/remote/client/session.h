/*
 * session.h: the workers (or relays) that METE_REMOTE names, one session with each, for as long as the process lives.
 *
 * Their devices are numbered one after the other. All sessions are opened at once, by the first
 * cuInit or by whoever watches before it (watch.h), and none is opened later.
 */
#pragma once

#include "cuda_table.h"
#include "remote/client/arena.h"
#include "remote/client/handles.h"
#include "remote/client/link.h"
#include "remote/client/memo.h"
#include "remote/client/mirrors.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SESSIONS 32u
#define SESSION_DEVICES 64u /* of all together */

/* How work was submitted. Only who has done it knows that a wait for the same stream comes behind it. */
struct unified_queue {
	uint64_t stream, context; /* handles */
	uint32_t thread;
};

struct session {
	unsigned int index;
	struct link link;
	struct arena arena;
	struct handles handles;
	struct memo memo;
	const char *path; /* for messages */
	bool open;
	bool coherent;	     /* the worker sees this process's arena */
	_Atomic int faulted; /* a kernel has faulted: from then on every call waits, and so tells the driver's error */
	_Atomic int owed;    /* an error that nobody has been told yet: what came with an answer of the client's own */
	_Atomic int unavailable;  /* it was told that the driver answers CUDA_ERROR_DEVICE_UNAVAILABLE */
	_Atomic int graph_memory; /* there are graphs that allocate: launches of graphs may find no memory */
	_Atomic int functions;	  /* of the program, that the worker may call */
	struct mirrors mirrors;	  /* copies to pinned memory whose bytes have not come */
	_Atomic int unified;	  /* places of unified.h */
	/* unified.c's own: work was submitted since all was equal, the last so; in several ways; in several contexts */
	bool unified_work, unified_several, unified_mixed;
	struct unified_queue unified_last;
	_Atomic int apart; /* there are streams that do not wait for the legacy stream; see copy.c */
};

extern struct session *sessions[SESSIONS];
extern unsigned int session_count;
extern int session_devices; /* that the program sees */

/* CALL_NOTICE_HOST, on the link's service thread; written by whoever runs host functions. */
__attribute__((weak, visibility("hidden"))) void session_host(struct session *session, const void *body, size_t bytes);

/* Opens all. CUDA_SUCCESS, or the documented error, after one line in the log; then none is open. */
CUresult session_open_all(void);
/* Which of their devices the program sees. CUDA_ERROR_NO_DEVICE: none. */
CUresult session_choose(void);
/* Ends those that nothing was done with. */
void session_close_all(void);
/* The worker answers, but its driver says CUDA_ERROR_DEVICE_UNAVAILABLE: one line in the log, once for each session. */
void session_tell_unavailable(struct session *session);
/* In the child of fork(): the parent's sessions are not the child's. */
void session_forget_all(void);
