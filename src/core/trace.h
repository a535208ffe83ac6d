/*
 * trace.h: writes launches to the page while meted traces (wire/turn.h). Only launches of gated engines are written.
 * While tracing is on, all launches take the slow path.
 */
#pragma once

#include "core/pace.h"

bool trace_on(void);

/* Writes a launch that passes the gate now or did not have to wait. Preserves errno. */
void trace_note(const struct work *w, const struct launch *l, uint64_t submitted_ns, uint64_t passed_ns);

/* In the child of fork(): resets the state. */
void trace_reset(void);
