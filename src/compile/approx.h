/* approx.h: the approximations ex2, lg2 and tanh of f32, of a scalar or of all lanes. */
#pragma once

#include "compile/value.h"

/* CODE_EX2, CODE_LG2, CODE_TANH. A result that is not a number may have any of its bits. */
LLVMValueRef approx(struct emit *e, enum code code, LLVMValueRef x);
