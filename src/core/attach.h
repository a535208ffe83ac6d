/*
 * attach.h: the connection of an injected library to meted.
 *
 * Each injected library (the core, NVML, tier T3) has its own copy of this state and its own connection: one socket and
 * one mapped page. meted takes the end of the socket for the end of the process. One request at a time is made, under a
 * mutex that comes before every other lock of the library. When the connection is lost (meted was restarted, or the
 * program closed or replaced the descriptor), the next request makes a new one.
 *
 * All functions preserve errno, may be called from any thread, and are not cancellation points.
 */
#pragma once

#include "wire/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum attach_library {
	ATTACH_DRIVER = 1,
	ATTACH_NVML = 2,
	ATTACH_RM = 3, /* tier T3's library; it holds no memory either */
};

/*
 * After a restart meted may give a new page instead of the old one. It is mapped at the same address. Between freeze()
 * and thaw() no other thread may change an account word. Both may be NULL where the library holds no memory.
 */
struct attach_hooks {
	void (*freeze)(void);
	void (*thaw)(void);
};

/*
 * Initialises this module; call it before its other functions. It reads the environment, which the program may change
 * later, and initialises the log. The hooks are not copied and must remain valid.
 */
void attach_init(enum attach_library library, const struct attach_hooks *hooks);

/* True if METE_SOCKET was set: this process belongs to a tenant. */
bool attach_wanted(void);

/* True if METE_OPEN=1: the operator allows programs to run without a limit if meted is out of reach when they start. */
bool attach_may_run_open(void);

/*
 * Connects, sends HELLO and maps the page. Returns 0 if the process is attached, also if it was before; else a negative
 * errno, and a log line names the cause and the remedy. -ENOENT: METE_SOCKET is not set.
 */
int attach_open(void);

/*
 * True if attach_open() returned r because the operator, or meted, lets no program of the grant begin. Such a program
 * must not run without a limit either.
 */
bool attach_shut_out(int r);

/*
 * Returns the page; NULL before attach_open() has succeeded, and in a child of fork() until it succeeds there. The
 * pointer is valid until the next fork().
 */
struct wire_page *attach_page(void);
/* Returns meted's answer to the last HELLO. Undefined while attach_page() is NULL. */
const struct wire_welcome *attach_welcome(void);

/*
 * Sends a request and waits for its answer. The request is a complete message with type and size; this function sets
 * the serial. Returns the answer's enum wire_status (0 or above), with *ret_answer filled up to answer_size and a
 * shorter answer padded with zeros; or a negative errno if meted could not be reached for `patience_ms`.
 */
int attach_ask(void *request, void *ret_answer, size_t answer_size, unsigned int patience_ms);

/* The same for an answer that carries one descriptor, which the caller owns. -1: the answer carries none. */
int attach_ask_fd(void *request, void *ret_answer, size_t answer_size, unsigned int patience_ms, int *ret_fd);

/*
 * The same; also increments *counter, on the page, when the request is sent. If there is an answer, the counter stays
 * incremented.
 */
int attach_ask_counted(void *request, void *ret_answer, size_t answer_size, unsigned int patience_ms,
		       _Atomic uint32_t *counter);

/* Decrements a counter on the page, not below 0: a new page does not contain what was counted on the old one. */
static inline void attach_uncount(_Atomic uint32_t *counter)
{
	uint32_t n = atomic_load_explicit(counter, memory_order_relaxed);

	while (n &&
	       !atomic_compare_exchange_weak_explicit(counter, &n, n - 1, memory_order_release, memory_order_relaxed))
		;
}

/* Sends WIRE_EVENT: one line for the operator in meted's events of the grant. It is lost while meted is away. */
__attribute__((format(printf, 2, 3))) void attach_event(uint32_t device, const char *fmt, ...);

/*
 * Reports that the program asked for a call that this release does not know; `given`: it got the driver's. Each name is
 * reported once, if need be after the next attach.
 */
void attach_unknown(const char *name, bool given);

/* Sends WIRE_FAULT: a context on the device returns this error from now on. It is lost while meted is away. */
void attach_fault(uint32_t device, uint32_t error);

/*
 * In the child of fork(): drops the connection and the page. With keep_socket the inherited descriptor stays open: a
 * child that holds a real driver's inherited descriptors keeps the parent's memory occupied, so the parent's account
 * must not end earlier.
 */
void attach_forget(bool keep_socket);

/*
 * True if meted holds the other end of the connection; a lost connection is made anew first. Does not wait for another
 * thread's request: while one is under way, the result is true.
 */
bool attach_alive(void);

/*
 * Waits until meted closes its end of the connection, for patience_ms at most. True: it did, or there is no connection.
 * Takes no lock while it waits. Use short waits: the function does not notice that the program has closed the
 * descriptor.
 */
bool attach_wait_end(unsigned int patience_ms);

#define ATTACH_PATIENCE_MS 5000u
