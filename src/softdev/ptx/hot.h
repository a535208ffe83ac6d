/*
 * hot.h: kernels that are launched often or run long are compiled, on a thread of their own, while the interpreter goes
 * on. What it makes of them is used by warps that start after it is there.
 *
 * The library that compiles is optional (compile.h). Where it is not there, does not fit or refuses a function,
 * everything is interpreted.
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

/* Of a kernel's function; NULL: no memory, and it stays interpreted. */
struct hot *hot_new(enum ptx_compile when);
/* The module goes; what is being compiled for it is dropped when it is done. */
void hot_unref(struct hot *h);

/* A kernel has executed so many instructions of warps more, or has been launched. Asks for it to be compiled. */
void hot_add(const struct function *f, const struct ptx_launch *l, uint64_t instructions);
/* With PTX_COMPILE_ALWAYS: waits until it has been compiled or refused. */
void hot_wait(const struct function *f, const struct ptx_launch *l);
/* What warps of this launch may run; NULL: nothing. */
const struct machine *hot_machine(const struct function *f, const struct ptx_launch *l);

/*
 * describe.c: a function as the library wants it; alone: of blocks of one warp. The operations are for free(). Value: 0
 * or -ENOMEM.
 */
int describe(const struct function *f, bool alone, struct compile_op **ret, bool *ret_good);

/* object.c: code and entries of an object file, ready to run; checks everything that it reads. Value: 0 or -errno. */
int object_load(const void *object, size_t bytes, uint32_t operations, struct machine *ret);
void object_unload(struct machine *m);

/*
 * keep.c: object files that are kept in the user's own folder, found by all that they were made from. Value: an object
 * for free(), or NULL.
 */
void *keep_find(const struct compile_request *q, size_t *ret_bytes);
void keep_store(const struct compile_request *q, const void *object, size_t bytes);
