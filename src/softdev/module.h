/*
 * module.h: modules, libraries, functions and kernels.
 *
 * A module is one PTX engine module with its variables in one device's memory, in one context. A library is an image
 * without a context; it becomes a module in each context that uses it. A function belongs to a module, a kernel to a
 * library; a kernel's handle is taken wherever a function's is, and means the function in the context of the call.
 *
 * A module's variables are charged to the device, each rounded up to 512 bytes; code takes none of its memory.
 */
#pragma once

#include "softdev/context.h"
#include "softdev/memory.h"
#include "softdev/ptx/ptx.h"

#include <stdatomic.h>

struct library;

/* The PTX texts of an image, kept for loading them again. */
struct source {
	struct ptx_text *text; /* each owned */
	size_t count;
	uint32_t max_registers; /* as the program asked when it loaded them; 0: no limit */
};

struct module {
	struct handle head;
	struct context *context;
	struct library *library; /* NULL: loaded by itself */
	struct ptx_module *ptx;
	struct source source;	   /* of a module that was loaded by itself, while reports are asked for */
	struct range **variable;   /* one per variable of the engine's module ... */
	struct texref **reference; /* ... but for those that are references */
	_Atomic bool leaving;	   /* no call finds it any more, nor its functions: work that has them may still run */
	_Atomic bool asked;	   /* the program has a function or an address of it: work may be using it */
	/* module_mutex (module.c) guards the following */
	struct function *functions;
	struct module *next; /* of the library's modules */
};

/* What programs set of a function, or of a kernel on one device. */
struct function_settings {
	int dynamic_shared_most; /* -1: not set; the limit is then 48 KiB in all */
	int carveout;
	int non_portable, cluster_policy;
};

#define FUNCTION_SETTINGS_NONE ((struct function_settings){ -1, CU_SHAREDMEM_CARVEOUT_DEFAULT, 0, 0 })

struct function {
	struct handle head;
	struct module *module;
	const struct ptx_kernel *kernel;
	struct function *next;
	struct function_settings settings;
	CUfunc_cache cache;
	_Atomic bool loaded; /* the program has looked it up by name, or used it; one that was only listed is not
			      * loaded */
	_Atomic uint64_t declared; /* its declared duration in ns and 1; 0: not looked up; DURATION_OPEN: none */
	/* of the oldest way to launch */
	uint32_t block[3];
	uint32_t shared_bytes;
	uint32_t param_bytes;
	unsigned char param[4096];
};

struct kernel {
	struct handle head;
	struct library *library;
	const struct ptx_kernel *kernel; /* of the library's first module */
	struct kernel *next;
	struct function_settings settings[SEGMENT_MAX_DEVICES]; /* by ordinal */
	bool settings_made[SEGMENT_MAX_DEVICES];
};

struct library {
	struct handle head;
	struct source source;
	struct ptx_module *first; /* decoded at loading, never bound: names, parameters and attributes */
	/* module_mutex guards the following */
	struct module *modules;
	struct kernel *kernels;
};

#define MODULE_SHARED_DEFAULT (48 << 10) /* bytes that a block may have by default */
#define MODULE_SHARED_MOST (227 << 10)	 /* the maximum */

/*
 * An image without a size, or one of `bytes` bytes (0: without). Fills in the texts and a decoded module. Errors are
 * those of cuModuleLoadData; `log` gets one line.
 */
CUresult source_load(const void *image, size_t bytes, struct source *ret, struct ptx_module **ret_module, char *log,
		     size_t log_bytes);
/* The texts once more, as another module. */
CUresult source_decode(const struct source *s, struct ptx_module **ret, char *log, size_t log_bytes);
void source_deinit(struct source *s);
/* A whole file, with a NUL after it. */
CUresult image_read_file(const char *path, char **ret, size_t *ret_bytes);

extern pthread_mutex_t module_mutex;
/*
 * Read-locked by a call while it uses modules, functions and kernels, from finding the context to its last access;
 * write-locked while a context, a library or a module is removed from lookups. Objects that were found therefore remain
 * until the call ends, and an ending object waits for its work after no call can add more. Taken only after
 * module_ending; a writer precedes new readers, so a call takes it once, and calls no code of the program with it.
 */
extern pthread_rwlock_t module_life;

static inline int module_stay_begin(void)
{
	return pthread_rwlock_rdlock(&module_life);
}

static inline void module_stay_end(const int *unused)
{
	(void)unused;
	pthread_rwlock_unlock(&module_life);
}

/* Holds the lock until the end of the block. Must precede declarations whose initialisers look something up. */
#define MODULES_STAY __attribute__((cleanup(module_stay_end), unused)) const int modules_stay = module_stay_begin()

/* Held while modules end: one of a library ends with it or with its context, whichever is first. */
extern pthread_mutex_t module_ending;

/* A module in the context from a decoded one, which it takes over, also on failure. library: NULL: it is loaded by
 * itself. */
CUresult module_new(struct context *c, struct ptx_module *ptx, struct library *library, struct module **ret);
/* Frees everything that it has; its work has completed. */
void module_free(struct module *m);
/* All modules of the context, with their memory. */
void module_free_all(struct context *c);
/* The library's module in the context; created at first use. */
CUresult library_module(struct library *l, struct context *c, struct module **ret);
/* With module_ending held: a module of a library ends. */
void library_forget(struct module *m);
/* Bytes that the variables of a module or of a library take of a device (wire/soft_usage.h). */
uint64_t module_need_bytes(const void *handle);
/* A variable by name; either result may be NULL. */
CUresult module_global(struct module *m, const char *name, CUdeviceptr *ret, size_t *ret_bytes, bool managed);
/* The module's function of that name; always the same object. */
CUresult module_function(struct module *m, const char *name, struct function **ret);
/* Resolves a CUfunction in a context: a function, or a kernel's function there. */
CUresult function_find(CUfunction h, struct context *c, struct function **ret);
/* The maximum dynamic shared memory of a launch; `set`: the program's setting, -1 for none. */
uint32_t function_shared_most(const struct ptx_kernel *k, int set);
CUresult function_attribute(const struct ptx_kernel *k, const struct function_settings *s,
			    CUfunction_attribute attribute, int *ret);
CUresult settings_set(struct function_settings *s, const struct ptx_kernel *k, CUfunction_attribute attribute,
		      int value);
CUresult function_param_info(const struct ptx_kernel *k, size_t index, size_t *ret_offset, size_t *ret_bytes);
CUresult function_param_count(const struct ptx_kernel *k, size_t *ret);
/* The number of blocks of this size that an SM holds at once; 0: none fits. */
int function_blocks_per_sm(const struct ptx_kernel *k, uint32_t threads, size_t dynamic);
