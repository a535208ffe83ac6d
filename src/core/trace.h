/*
 * trace.h: what was launched, on the page, while meted traces (wire/turn.h). Launches of gated engines only; while it
 * is on, all of them take the slow path.
 */
#pragma once

#include "core/pace.h"

bool trace_on(void);

/* The launch, which may go now, or has nothing to wait for. Keeps errno. */
void trace_note(const struct work *w, const struct launch *l, uint64_t submitted_ns, uint64_t passed_ns);

/* In the child of fork(). */
void trace_reset(void);
