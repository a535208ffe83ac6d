/*
 * attach.h: the connection of an injected library to meted.
 *
 * Each injected library (driver API, NVML) has its own copy of this state and its own connection: one socket, whose
 * closing is the process's death certificate, and one mapped page. Requests are asked one at a time under a mutex,
 * outside of every other lock of the library. A connection that was lost (meted restarted, the program closed the
 * descriptor or put something else in its place) is made again by the next request.
 *
 * All functions keep errno, may be called from any thread, and never block in a cancellation point.
 */
#pragma once

#include "wire/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum attach_library {
	ATTACH_DRIVER = 1,
	ATTACH_NVML = 2,
	ATTACH_RM = 3, /* tier T3's; holds nothing either */
};

/*
 * A page that meted could not give back after a restart is replaced at the same address; between freeze() and thaw()
 * no other thread may change an account word. Either may be NULL: the library holds nothing.
 */
struct attach_hooks {
	void (*freeze)(void);
	void (*thaw)(void);
};

/*
 * Before everything else here. Reads the environment, which the program may change later; so does the log. The hooks
 * are kept, not copied.
 */
void attach_init(enum attach_library library, const struct attach_hooks *hooks);

/* METE_SOCKET was set: this process belongs to a tenant. */
bool attach_wanted(void);

/* METE_OPEN=1: the operator lets programs run unmetered when meted is out of reach at their start. */
bool attach_may_run_open(void);

/*
 * Connects, says HELLO, maps the page. 0: attached (also when it was before); else -errno, and one log line has said
 * what is wrong and what to do. -ENOENT: METE_SOCKET is not set.
 */
int attach_open(void);

/* attach_open() answered this because the operator, or meted, lets no program of the grant begin: no reason to run
 * open. */
bool attach_shut_out(int r);

/* NULL before attach_open() succeeded, and in a child of fork() until it did there. Valid until the next fork(). */
struct wire_page *attach_page(void);
/* What meted said at the last HELLO. Undefined while attach_page() is NULL. */
const struct wire_welcome *attach_welcome(void);

/*
 * One request and its answer. Request: a whole message with type and size set; the serial is filled in here.
 * 0 or above: the answer's enum wire_status, *ret_answer filled up to answer_size (zeros behind a shorter one).
 * Below 0: -errno; meted could not be reached for `patience_ms`.
 */
int attach_ask(void *request, void *ret_answer, size_t answer_size, unsigned int patience_ms);

/* The same, for an answer that comes with one descriptor: -1: none; the caller's. */
int attach_ask_fd(void *request, void *ret_answer, size_t answer_size, unsigned int patience_ms, int *ret_fd);

/* The same; *counter, on the page, is raised when the request is sent, and stays raised when there is an answer. */
int attach_ask_counted(void *request, void *ret_answer, size_t answer_size, unsigned int patience_ms,
		       _Atomic uint32_t *counter);

/* Lowers a counter on the page. It may be on a new page, which knows of nothing that was raised on the old one. */
static inline void attach_uncount(_Atomic uint32_t *counter)
{
	uint32_t n = atomic_load_explicit(counter, memory_order_relaxed);

	while (n &&
	       !atomic_compare_exchange_weak_explicit(counter, &n, n - 1, memory_order_release, memory_order_relaxed))
		;
}

/* WIRE_EVENT: one line for the operator in meted's record of the grant. Lost when meted is away. */
__attribute__((format(printf, 2, 3))) void attach_event(uint32_t device, const char *fmt, ...);

/*
 * The program has asked for a call that this release does not know; once for each name. Where meted is not connected,
 * it is told when it is.
 */
void attach_unknown(const char *name, bool given);

/* WIRE_FAULT: a context on the device answers this error from now on. Lost when meted is away. */
void attach_fault(uint32_t device, uint32_t error);

/*
 * In the child of fork(): forgets the connection and the page. keep_socket leaves the inherited descriptor open: while
 * the child keeps a real driver's inherited descriptors alive, the parent's memory does not return at its death.
 */
void attach_forget(bool keep_socket);

/*
 * meted holds the other end of the connection, which is made anew where it was lost. Does not wait for another thread's
 * request: while there is one, the answer is yes.
 */
bool attach_alive(void);

/*
 * Waits until meted's end of the connection is closed, for patience_ms at most. True: it is, or there is no connection.
 * Takes no lock while it waits. Not for long: a program that closes our descriptor is not seen to have done so.
 */
bool attach_wait_end(unsigned int patience_ms);

#define ATTACH_PATIENCE_MS 5000u
