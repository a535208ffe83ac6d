/* operation.h: computing operations: with inline code, or by the interpreter's functions. */
#pragma once

#include "compile/plan.h"
#include "compile/value.h"

void make_inline(struct emit *e, const struct plan *p);
void make_call(struct emit *e, const struct plan *p);
void make_local(struct emit *e, const struct plan *p);
void make_special(struct emit *e, const struct plan *p);
void make_shuffle(struct emit *e, const struct plan *p);
