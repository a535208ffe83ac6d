/*
 * compile.c: libmete-compile.so: makes an object file of a kernel's operations by LLVM's C interface. See
 * softdev/ptx/compile.h.
 *
 * LLVM cannot be stopped once it has begun, so what it is given is bounded (COMPILE_OPS_MAX and the rest): the largest
 * functions take some seconds and more than 100 MiB.
 */
#include "compile/emit.h"

#include <errno.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern compile_fn mete_compile;

static const struct {
	const char *isa, *cpu;
} processors[] = { { "avx2", "x86-64-v3" }, { "avx512", "x86-64-v4" } };

static int failed(char *why, size_t why_bytes, const char *what, const char *text)
{
	snprintf(why, why_bytes, "%s: %s", what, text ? text : "?");
	return -EINVAL;
}

static LLVMTargetMachineRef machine_new(const struct compile_request *request, char *why, size_t why_bytes)
{
	const char *triple = "x86_64-unknown-linux-gnu", *cpu = NULL;
	LLVMTargetMachineRef m;
	LLVMTargetRef target;
	char *error = NULL;

	for (size_t i = 0; i < sizeof(processors) / sizeof(processors[0]); i++)
		if (!strcmp(processors[i].isa, request->isa))
			cpu = processors[i].cpu;
	if (!cpu) {
		failed(why, why_bytes, "LLVM", "this processor has no vectors that kernels are compiled for");
		return NULL;
	}
	LLVMInitializeX86TargetInfo();
	LLVMInitializeX86Target();
	LLVMInitializeX86TargetMC();
	LLVMInitializeX86AsmPrinter();
	LLVMInitializeX86AsmParser();
	if (LLVMGetTargetFromTriple(triple, &target, &error)) {
		failed(why, why_bytes, "LLVM", error);
		LLVMDisposeMessage(error);
		return NULL;
	}
	m = LLVMCreateTargetMachine(target, triple, cpu, request->dots ? "+avx512vnni" : "", LLVMCodeGenLevelDefault,
				    LLVMRelocPIC, LLVMCodeModelSmall);
	if (!m)
		failed(why, why_bytes, "LLVM", "it has no such processor");
	return m;
}

/*
 * Of LLVM's own -O2 what makes this code faster; all of it takes three times as long. No loop is unswitched: its body
 * would be there twice, with all its ways out.
 */
static const char passes[] =
	"function(lower-expect,sroa,early-cse<memssa>,simplifycfg,instcombine,jump-threading,correlated-propagation,"
	"simplifycfg,instcombine,reassociate,loop-simplify,loop-mssa(loop-rotate,licm),simplifycfg,instcombine,gvn,"
	"sccp,bdce,instcombine,jump-threading,correlated-propagation,adce,dse,loop-mssa(licm),"
	"simplifycfg<hoist-common-insts;sink-common-insts>,vector-combine,instcombine,simplifycfg)";

static int optimise(LLVMModuleRef module, LLVMTargetMachineRef machine, char *why, size_t why_bytes)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef error;
	char *text;

	LLVMPassBuilderOptionsSetLoopVectorization(options, false);
	LLVMPassBuilderOptionsSetSLPVectorization(options, false);
	LLVMPassBuilderOptionsSetLoopUnrolling(options, false);
	error = LLVMRunPasses(module, passes, machine, options);
	if (error) { /* a version that calls one of them otherwise: nothing has been done */
		LLVMConsumeError(error);
		error = LLVMRunPasses(module, "default<O2>", machine, options);
	}
	LLVMDisposePassBuilderOptions(options);
	if (!error)
		return 0;
	text = LLVMGetErrorMessage(error);
	failed(why, why_bytes, "LLVM", text);
	LLVMDisposeErrorMessage(text);
	return -EINVAL;
}

static int object_of(LLVMModuleRef module, LLVMTargetMachineRef machine, void **ret, size_t *ret_bytes, char *why,
		     size_t why_bytes)
{
	LLVMMemoryBufferRef object;
	char *error = NULL;

	if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile, &error, &object)) {
		failed(why, why_bytes, "LLVM", error);
		LLVMDisposeMessage(error);
		return -EINVAL;
	}
	*ret_bytes = LLVMGetBufferSize(object);
	*ret = malloc(*ret_bytes + 1);
	if (*ret)
		memcpy(*ret, LLVMGetBufferStart(object), *ret_bytes);
	LLVMDisposeMemoryBuffer(object);
	return *ret ? 0 : -ENOMEM;
}

static int module_compile(LLVMModuleRef module, const struct compile_request *request, void **ret, size_t *ret_bytes,
			  char *why, size_t why_bytes)
{
	LLVMTargetMachineRef machine = machine_new(request, why, why_bytes);
	LLVMTargetDataRef layout;
	char *text = NULL;
	int r = -EINVAL;

	if (!machine)
		return -EINVAL;
	layout = LLVMCreateTargetDataLayout(machine);
	LLVMSetModuleDataLayout(module, layout);
	LLVMDisposeTargetData(layout);
	LLVMSetTarget(module, "x86_64-unknown-linux-gnu");
	if (LLVMVerifyModule(module, LLVMReturnStatusAction, &text))
		failed(why, why_bytes, "a fault of mete's own", text);
	else
		r = optimise(module, machine, why, why_bytes);
	LLVMDisposeMessage(text);
	if (!r)
		r = object_of(module, machine, ret, ret_bytes, why, why_bytes);
	LLVMDisposeTargetMachine(machine);
	return r;
}

__attribute__((visibility("default"))) int mete_compile(const struct compile_request *request, void **ret,
							size_t *ret_bytes, char *why, size_t why_bytes)
{
	LLVMContextRef context;
	LLVMModuleRef module;
	struct flow f;
	int r;

	if (request->abi != COMPILE_ABI)
		return failed(why, why_bytes, COMPILE_LIBRARY, "it is of another build than the software device");
	r = flow_init(&f, request, why, why_bytes);
	if (!r) {
		context = LLVMContextCreate();
		module = emit_module(context, &f);
		r = module ? module_compile(module, request, ret, ret_bytes, why, why_bytes) : -ENOMEM;
		if (module)
			LLVMDisposeModule(module);
		LLVMContextDispose(context);
	}
	flow_deinit(&f);
	if (r == -ENOMEM)
		snprintf(why, why_bytes, "no memory");
	return r;
}
