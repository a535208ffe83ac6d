/*
 * session.h: the workers (or relays) that METE_REMOTE names, with one session each for the life of the process.
 *
 * Their devices are numbered consecutively. All sessions are opened at once, by the first cuInit or by an earlier user
 * of watch.h, and none is opened later.
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
#define SESSION_DEVICES 64u /* of all sessions */

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
	bool coherent;	     /* the worker maps this process's arena */
	_Atomic int faulted; /* a kernel has faulted: every later call waits, and thereby returns the driver's error */
	_Atomic int owed;    /* an error that no call has returned yet, from an answer to the client's own request */
	_Atomic int unavailable;  /* the log has said that the driver returns CUDA_ERROR_DEVICE_UNAVAILABLE */
	_Atomic int graph_memory; /* some graphs allocate: their launches may find no memory */
	_Atomic int functions;	  /* number of the program's functions that the worker may call */
	struct mirrors mirrors;	  /* copies to pinned memory whose bytes have not arrived */
	_Atomic int unified;	  /* number of places of unified.h */
	/* for unified.c: work was submitted since all copies were equal, most recently so; in several ways; contexts */
	bool unified_work, unified_several, unified_mixed;
	struct unified_queue unified_last;
	_Atomic int apart; /* number of streams that do not wait for the legacy stream; see copy.c */
};

extern struct session *sessions[SESSIONS];
extern unsigned int session_count;
extern int session_devices; /* visible to the program */

/* Handles CALL_NOTICE_HOST on the link's service thread; defined by the file that runs host functions. */
__attribute__((weak, visibility("hidden"))) void session_host(struct session *session, const void *body, size_t bytes);

/* Opens all sessions. Value: CUDA_SUCCESS, or the documented error after one line in the log; then none is open. */
CUresult session_open_all(void);
/* Determines the devices that the program sees. CUDA_ERROR_NO_DEVICE: none. */
CUresult session_choose(void);
/* Closes the sessions; only before any was used. */
void session_close_all(void);
/* The worker answers, but its driver returns CUDA_ERROR_DEVICE_UNAVAILABLE: logs one line, once per session. */
void session_tell_unavailable(struct session *session);
/* In the child of fork(): the parent's sessions do not belong to it. */
void session_forget_all(void);
