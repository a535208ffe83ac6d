/* emit.h: converts a function's flow to LLVM's intermediate representation. */
#pragma once

#include "compile/flow.h"

#include <llvm-c/Core.h>

/* Creates a module with COMPILE_RUN_SYMBOL and COMPILE_ENTRIES_SYMBOL. NULL: no memory. */
LLVMModuleRef emit_module(LLVMContextRef context, const struct flow *f);
