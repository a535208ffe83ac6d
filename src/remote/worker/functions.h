/* functions.h: what the worker knows of functions and kernels, and tells the client of them. */
#pragma once

#include "remote/code.h"
#include "remote/worker/worker.h"

/* Kept with the id. */
struct known {
	void *handle; /* CUfunction or CUkernel */
	bool layout;  /* the following are known */
	uint32_t params, param_bytes;
	struct code_param param[];
};

/*
 * What is known of a function's or kernel's id, worked out when nobody has asked before. NULL: work->result says why.
 */
const struct known *functions_known(struct work *work, uint64_t id);
/*
 * Names a function or kernel that the driver has given out, and writes what there is to say of it (struct code_told)
 * into the reply. False: there is no room for it, and nothing was written; or work->result says why.
 */
bool functions_tell(struct work *work, enum remote_kind kind, void *handle, const char *name, uint64_t owner);
/*
 * The functions of a module or the kernels of a library (id, handle) from the `from`-th on: as many as fit are written
 * and counted in *loaded. What cannot be told now is asked for by name later.
 */
void functions_list(struct work *work, uint64_t id, void *handle, uint32_t from, struct code_loaded *loaded);
