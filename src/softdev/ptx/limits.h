/*
 * limits.h: what no device has room for, whatever its attributes say. A text beyond a limit is refused when it is
 * loaded or assembled, as the vendor's assembler does (tests/fronts/judge_test.py compares).
 */
#pragma once

#include "softdev/ptx/engine.h"
#include "softdev/ptx/text.h"

/* Of a kernel in a text of this version of PTX (81 for 8.1). */
uint32_t limits_param_bytes(uint32_t version);
/* Value: 0, or PTX_INVALID with its complaint. */
int limits_check_params(const struct body *b, uint64_t bytes, const char *kernel, struct complaint *complaint);
int limits_check_shared(const struct body *b, uint32_t bytes, const char *kernel, struct complaint *complaint);
/* Of all variables together. */
int limits_check_const(const struct ptx_module *m, struct complaint *complaint);
