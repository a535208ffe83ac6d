/*
 * parked.h: stream-ordered memory that a loop frees and asks for again. Only the worker knows addresses, so that each
 * cuMemAllocAsync() is a round trip; what the program has freed since its last wait is given back to it from here
 * without one, and a step of a loop asks for its memory all at once (model/reuse.h says what and when).
 *
 * All of it is freed at the worker before any call that waits, looks at memory or ends something: before each call but
 * those of which such loops are made. A capture, a faulted context and a lost line go the direct way.
 */
#pragma once

#include "cuda_table.h"
#include "model/reuse.h"

#include <stdbool.h>
#include <stdint.h>

#define PARKED_ASKED 32u /* at once, with the program's own */

struct parked_asking;

/* The program frees it. True: it stays here; false: the worker is to be told. */
bool parked_put(const struct reuse_kind *kind, uint64_t at);
/* It was freed in another way. */
void parked_gone(const struct reuse_kind *kind);
/* The address of such a block, or 0: the worker is to be asked. */
uint64_t parked_take(const struct reuse_kind *kind);
/* What was taken cannot be used after all. */
void parked_drop(const struct reuse_kind *kind, uint64_t at);
/*
 * Around the request for the program's own block: requests go ahead of it, and their answers are taken behind it. The
 * kind's context is the current one. NULL: nothing to do at the end.
 */
struct parked_asking *parked_ask(const struct reuse_kind *kind);
void parked_asked(struct parked_asking *asking, const struct reuse_kind *kind, bool good);
/* The program frees, copies or fills what is not its own: if it lies here all goes, so that the worker judges. */
void parked_doubt(uint64_t at);
/* All of them are freed. Value: there were any. */
bool parked_let_go(void);
/* Before each call of the API, see above. */
void parked_look(enum cuda_call call);
/* In the child of fork(): they are the parent's. */
void parked_forget(void);
