/* emit.h: from a function's flow to LLVM's intermediate form. */
#pragma once

#include "compile/flow.h"

#include <llvm-c/Core.h>

/* A module with COMPILE_RUN_SYMBOL and COMPILE_ENTRIES_SYMBOL. NULL: no memory. */
LLVMModuleRef emit_module(LLVMContextRef context, const struct flow *f);
