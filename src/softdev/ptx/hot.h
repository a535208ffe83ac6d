/*
 * hot.h: compiles kernels that are launched often or run long, on a separate thread, while the interpreter continues.
 * Warps that start after that use the machine code.
 *
 * The library that compiles is optional (compile.h). If it is missing, does not match or refuses a function, everything
 * is interpreted.
 */
#pragma once

#include "softdev/ptx/compile.h"

/* Machine code of a function, for as long as the function lives. */
struct machine {
	compiled_fn *run;
	const uint8_t *entries; /* of each operation */
	struct compiled_env env;
	void *map;
	size_t map_bytes;
};

struct hot;

/* Of a kernel's function; NULL: no memory, and it is always interpreted. */
struct hot *hot_new(enum ptx_compile when);
/* The module ends; a running compilation for it is dropped when it completes. */
void hot_unref(struct hot *h);

/*
 * Records that a kernel has executed so many warp instructions, or was launched. Requests its compilation if it is hot.
 */
void hot_add(const struct function *f, const struct ptx_launch *l, uint64_t instructions);
/* With PTX_COMPILE_ALWAYS: waits until it was compiled or refused. */
void hot_wait(const struct function *f, const struct ptx_launch *l);
/* The machine code for warps of this launch; NULL: none. */
const struct machine *hot_machine(const struct function *f, const struct ptx_launch *l);

/*
 * describe.c: a function as the library wants it; alone: of blocks of one warp. The operations are for free(). Value: 0
 * or -ENOMEM.
 */
int describe(const struct function *f, bool alone, struct compile_op **ret, bool *ret_good);

/*
 * object.c: loads the code and entries of an object file, ready to run; checks everything that it reads. Value: 0 or
 * -errno.
 */
int object_load(const void *object, size_t bytes, uint32_t operations, struct machine *ret);
void object_unload(struct machine *m);

/*
 * keep.c: object files that are cached in the user's own folder, found by all of their inputs. Value: an object for
 * free(), or NULL.
 */
void *keep_find(const struct compile_request *q, size_t *ret_bytes);
void keep_store(const struct compile_request *q, const void *object, size_t bytes);
