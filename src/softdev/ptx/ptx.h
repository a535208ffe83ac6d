/*
 * ptx.h: the PTX engine of the software device: texts in, kernels executed on this machine's cores.
 *
 * A module is loaded from one text or from several that are linked (relocatable device code). Loading decodes every
 * instruction once; one that the engine does not know refuses the module, with its name, line and kernel. The caller
 * allocates the module's variables and binds their addresses, then launches kernels on a pool of threads.
 *
 * Device addresses are host addresses. Which of them a launch may touch is asked of the caller (struct ptx_memory),
 * once per range and worker, so a wild access of a kernel ends as a fault of the launch and not of the process.
 *
 * A module is immutable after ptx_module_bind() and may be launched from many threads at once.
 */
#pragma once

#include "softdev/ptx/texture.h"
#include "wire/soft_native.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptx_module;
struct ptx_pool;

enum ptx_outcome {
	PTX_OK = 0,
	PTX_INVALID = 1,	 /* malformed text or an unknown instruction: CUDA_ERROR_INVALID_PTX; see the log */
	PTX_TOO_NEW_TARGET = 2,	 /* .target above the device: CUDA_ERROR_INVALID_PTX, as the vendor's JIT says */
	PTX_TOO_NEW_VERSION = 3, /* .version above PTX_VERSION_MAX: CUDA_ERROR_UNSUPPORTED_PTX_VERSION */
	PTX_UNRESOLVED = 4,	 /* an extern that no text defines: CUDA_ERROR_INVALID_PTX (a linker would say 209) */
};

#define PTX_VERSION_KNOWN 95u /* PTX ISA 9.5: a newer text is read all the same, and refused by its instructions */
#define PTX_VERSION_MAX 99u   /* of this major version, whose grammar is known */

/* .pragma "mete registers 32"; in a text limits what its kernels are said to take, as .maxnreg does. */
#define PTX_REGISTERS_PRAGMA "mete registers "

struct ptx_text {
	const char *text;
	size_t bytes;
};

/*
 * Whether kernels are compiled to machine code, by a library that may be missing (hot.h): never; when they have run for
 * some milliseconds, while the interpreter continues; or before they run, for tests.
 */
enum ptx_compile { PTX_COMPILE_NEVER, PTX_COMPILE_HOT, PTX_COMPILE_ALWAYS };

/* Zero is the default of every field. */
struct ptx_options {
	uint32_t arch;		/* of the device, 90 for 9.0 (default 90) */
	bool chosen;		/* `arch` is the target of an assembler or a linker, not a device's: for messages */
	uint32_t quantum;	/* instructions that a warp runs before the next one's turn (default 32) */
	uint32_t max_registers; /* upper bound of ptx_kernel.registers; 0: no limit */
	enum ptx_compile compile;
	const char *isa; /* "base", "avx2", "avx512": for tests; default the best of this machine */
};

struct ptx_param {
	uint32_t offset;
	uint32_t bytes;
	uint32_t align;
};

struct ptx_kernel {
	const char *name;
	const struct ptx_module *module;
	const struct ptx_param *param;
	uint32_t param_count;
	uint32_t param_bytes;	      /* of the packed buffer */
	uint32_t shared_bytes;	      /* static */
	uint32_t reserved_bytes;      /* in front of them: the system's own; 0 in modules that do not ask for it */
	uint32_t local_bytes;	      /* per thread */
	uint32_t const_bytes;	      /* of the module's .const variables */
	uint32_t registers;	      /* an estimate per thread, 1 to 255, for occupancy queries */
	uint32_t max_threads;	      /* .maxntid as a product; 1024 without one */
	uint32_t required_threads[3]; /* .reqntid, zeroes without one: the block must be exactly this */
	uint32_t cluster[3];	      /* .reqnctapercluster, zeroes without one: blocks of a cluster */
	uint32_t ptx_version;	      /* 90 for 9.0 */
	uint32_t target;	      /* 90 for sm_90 */
};

/* The last three are references: 8 bytes without memory, whose address is the handle that instructions find there. */
enum ptx_variable_space { PTX_GLOBAL, PTX_CONST, PTX_TEXREF, PTX_SURFREF, PTX_SAMPLERREF };

struct ptx_variable {
	const char *name;
	enum ptx_variable_space space;
	uint64_t bytes;
	uint32_t align;
	bool managed;	  /* .attribute(.managed) */
	bool visible;	  /* .visible, .weak, .common; every variable can be found by name, these first */
	uint64_t address; /* bound */
	struct ptx_reference reference;
};

/*
 * Loads and links `count` texts. Value: enum ptx_outcome or -ENOMEM. `log` (may be NULL) gets the message, one line:
 * "line 12, kernel foo: unknown instruction add.u12". *ret is written on PTX_OK only.
 */
int ptx_module_load(const struct ptx_text *text, size_t count, const struct ptx_options *options,
		    struct ptx_module **ret, char *log, size_t log_bytes);
void ptx_module_free(struct ptx_module *m);

/* The size of the decoded form of a module, for the check that it stays small. */
struct ptx_table_size {
	uint64_t instructions, operands; /* of the text; an address or a group is one operand */
	uint64_t operations;
	uint64_t bytes;		/* everything kept of the functions, decoded */
	uint64_t initial_bytes; /* descriptions of variables, and their initial contents */
};

void ptx_module_table_size(const struct ptx_module *m, struct ptx_table_size *ret);

size_t ptx_module_kernel_count(const struct ptx_module *m);
const struct ptx_kernel *ptx_module_kernel_at(const struct ptx_module *m, size_t i);
const struct ptx_kernel *ptx_module_kernel_find(const struct ptx_module *m, const char *name);

size_t ptx_module_variable_count(const struct ptx_module *m);
const struct ptx_variable *ptx_module_variable_at(const struct ptx_module *m, size_t i);
const struct ptx_variable *ptx_module_variable_find(const struct ptx_module *m, const char *name);

/*
 * Gives variable i the address `address[i]` (aligned as the variable asks) and writes the initial contents there:
 * initial bytes, addresses of variables and functions, zeroes for the rest. Must be called once before a launch, also
 * for a module without variables. Value: 0 or -EINVAL (misaligned or zero address).
 */
int ptx_module_bind(struct ptx_module *m, const uint64_t *address);

/* Addresses [begin, end) that a launch may access. */
struct ptx_range {
	uint64_t begin;
	uint64_t end;
	bool read_only;
};

struct ptx_memory {
	/*
	 * Finds the widest accessible range that contains `address`; false: none. Called from several threads; the
	 * engine keeps the result until the launch ends, so memory stays mapped while a launch may use it.
	 */
	bool (*find)(void *ctx, uint64_t address, struct ptx_range *ret);
	/* The device's heap for malloc and free in kernels; NULL: malloc gives 0. */
	uint64_t (*heap_alloc)(void *ctx, uint64_t bytes);
	void (*heap_free)(void *ctx, uint64_t address);
	void *ctx;
};

enum ptx_fault_kind {
	PTX_FAULT_NONE = 0,
	PTX_FAULT_ILLEGAL_ADDRESS,     /* CUDA_ERROR_ILLEGAL_ADDRESS */
	PTX_FAULT_MISALIGNED,	       /* CUDA_ERROR_MISALIGNED_ADDRESS */
	PTX_FAULT_TRAP,		       /* CUDA_ERROR_LAUNCH_FAILED */
	PTX_FAULT_ASSERT,	       /* CUDA_ERROR_ASSERT; the message has gone to ptx_launch.print */
	PTX_FAULT_ILLEGAL_INSTRUCTION, /* CUDA_ERROR_ILLEGAL_INSTRUCTION */
	PTX_FAULT_INVALID_PC,	       /* a call through a bad function pointer: CUDA_ERROR_INVALID_PC */
	PTX_FAULT_STACK_OVERFLOW,      /* CUDA_ERROR_HARDWARE_STACK_ERROR */
	PTX_FAULT_ADDRESS_SPACE,       /* an atomic on local memory or parameters: CUDA_ERROR_INVALID_ADDRESS_SPACE */
	PTX_FAULT_BARRIER_NUMBER,      /* `address` is it: CUDA_ERROR_ILLEGAL_INSTRUCTION */
	PTX_FAULT_BARRIER_COUNT,       /* of threads, no multiple of 32; likewise */
	PTX_FAULT_BARRIER_DIVERGENT,   /* other threads of its warp wait elsewhere; only in exact launches; likewise */
	PTX_FAULT_HANDLE,	       /* `address` is no live texture or surface: CUDA_ERROR_ILLEGAL_ADDRESS */
	PTX_FAULT_SURFACE,	       /* outside, with .trap; `address` is x, signed: CUDA_ERROR_LAUNCH_FAILED */
	PTX_FAULT_TIMEOUT,	       /* CUDA_ERROR_LAUNCH_TIMEOUT */
	PTX_FAULT_CANCELLED,	       /* ptx_launch.cancel was set */
	PTX_FAULT_DEADLOCK, /* every thread of a block waits at a barrier that cannot complete: the launch would hang */
	PTX_FAULT_NO_MEMORY, /* the host's: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES */
};

enum ptx_space { PTX_SPACE_DEVICE, PTX_SPACE_SHARED, PTX_SPACE_LOCAL, PTX_SPACE_PARAM };

struct ptx_fault {
	enum ptx_fault_kind kind;
	uint32_t line; /* of the PTX text; 0: no instruction in particular */
	uint32_t text; /* which of the module's texts */
	uint32_t block[3];
	uint32_t thread[3];
	uint64_t address;     /* device memory: as it is; else the offset in `space`, which has `space_bytes` */
	uint64_t space_bytes; /* shared: of the block; local: of the thread, as far as functions have called */
	enum ptx_space space;
	uint32_t bytes;	      /* of an access; 0: the fault is not an access */
	uint32_t threads;     /* of the warp, which do the same in this instruction; of the block, which wait in vain */
	const char *function; /* lives as long as the module */
};

/* The work of a launch, for time models and reports. */
struct ptx_stats {
	uint64_t blocks;
	uint64_t warp_instructions;
	uint64_t lane_instructions;
	uint64_t sectors; /* 32-byte pieces of global memory asked for, counted per warp access; an estimate */
};

struct ptx_launch {
	const struct ptx_kernel *kernel;
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t cluster[3];	   /* blocks of a cluster, which run side by side; 0: the kernel's own, or none */
	uint32_t shared_bytes;	   /* dynamic, on top of the kernel's own */
	const void *params;	   /* packed: kernel->param_bytes bytes */
	uint32_t stack_bytes;	   /* per thread, for recursive functions; 0: 16 KiB */
	bool cooperative;	   /* all blocks advance together, so a grid-wide barrier completes */
	bool exact;		   /* shared memory ends at the byte; local memory is checked per thread and call,
				      atomics for their space */
	uint32_t sm_count;	   /* %nsmid, and %smid counts below it; 0: 16 */
	uint64_t timeout_ns;	   /* 0: none */
	const atomic_bool *cancel; /* may be NULL; looked at every few thousand instructions of a block */
	_Atomic uint64_t *beat_ns; /* may be NULL; regularly set to the monotonic time */
	struct ptx_memory memory;
	struct ptx_textures textures;
	void (*print)(void *ctx, const char *text,
		      size_t bytes); /* printf of kernels; whole pieces, never concurrently */
	void *print_ctx;
	/* cudaGraphSetConditional of kernels; may be NULL. Called from several threads. */
	void (*condition)(void *ctx, uint64_t handle, uint32_t value);
	void *condition_ctx;
	/* The functions that mete_native calls, by number (wire/soft_native.h); may be NULL. */
	soft_native_function (*native)(uint32_t number);
	/* May be NULL: ptx_form_count() counters, to which the operations that warps execute are added by form. */
	_Atomic uint64_t *forms;
	struct ptx_fault fault; /* result: the first fault; kind NONE: there was none */
	struct ptx_stats stats; /* result */
};

/* True if there is machine code of it, for blocks of some shape. */
bool ptx_kernel_is_compiled(const struct ptx_kernel *k);

/*
 * The forms of instructions that ptx_launch.forms counts, by number: the rows of the instruction table, spelled as
 * there ("add.{u32,s32}"; with % in front what the decoder makes of several spellings), then those that move control.
 * What is counted are operations, as the decoder makes them of instructions. NULL: no such number.
 */
size_t ptx_form_count(const struct ptx_kernel *k);
const char *ptx_form_name(const struct ptx_kernel *k, size_t i);

/* `threads` includes the caller of ptx_launch_run(); 0: one per core. NULL: out of memory or threads. */
struct ptx_pool *ptx_pool_new(unsigned threads);
/* No launch may be running. */
void ptx_pool_free(struct ptx_pool *pool);

/*
 * Runs a launch to its end; the calling thread works too. Any number of threads may call at once, with other launches.
 * Value: 0 when every block ran to its end; 1 with launch->fault filled in; -EINVAL for sizes that no device takes (a
 * dimension of 0, a block above 1024 threads or the kernel's limits, a grid above 2^31-1 x 65535 x 65535, shared memory
 * above 227 KiB, a cluster above 16 blocks or that does not divide the grid or is not the kernel's own, a module that
 * is not bound); -ENOMEM. Does nothing to the caller's signals or errno.
 */
int ptx_launch_run(struct ptx_pool *pool, struct ptx_launch *launch);
