/*
 * parked.h: stream-ordered memory that a loop frees and allocates again. Only the worker knows addresses, so each
 * cuMemAllocAsync() would be a round trip. Memory that the program has freed since its last wait is reused from here
 * without one, and a step of a loop requests all its memory at once (model/reuse.h decides what and when).
 *
 * All of it is freed at the worker before any call that waits, inspects memory or ends something: before each call
 * except those that such loops consist of. In a capture, in a faulted context and on a lost connection, calls go
 * directly to the worker.
 */
#pragma once

#include "cuda_table.h"
#include "model/reuse.h"

#include <stdbool.h>
#include <stdint.h>

#define PARKED_ASKED 32u /* requested at once, including the program's own */

struct parked_asking;

/* Keeps memory that the program frees. False: it must be freed at the worker. */
bool parked_put(const struct reuse_kind *kind, uint64_t at);
/* Notes that the memory was freed in another way. */
void parked_gone(const struct reuse_kind *kind);
/* The address of such a block, or 0: the worker must be asked. */
uint64_t parked_take(const struct reuse_kind *kind);
/* Drops a block that was taken and cannot be used. */
void parked_drop(const struct reuse_kind *kind, uint64_t at);
/*
 * Bracket the request for the program's own block: further requests precede it, and their answers are read after it.
 * The kind's context is the current one. NULL: nothing to do at the end.
 */
struct parked_asking *parked_ask(const struct reuse_kind *kind);
void parked_asked(struct parked_asking *asking, const struct reuse_kind *kind, bool good);
/*
 * The program frees, copies or fills memory that is not its own: if it is kept here, all of it is freed, so that the
 * worker judges the call.
 */
void parked_doubt(uint64_t at);
/* Frees all kept memory. Value: true if there was any. */
bool parked_let_go(void);
/* Called before each call of the API, see above. */
void parked_look(enum cuda_call call);
/* In the child of fork(): the memory is the parent's. */
void parked_forget(void);
