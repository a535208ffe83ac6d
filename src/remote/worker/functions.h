/* functions.h: what the worker knows of functions and kernels, and reports to the client. */
#pragma once

#include "remote/code.h"
#include "remote/worker/worker.h"

/* Kept with the id. */
struct known {
	void *handle; /* CUfunction or CUkernel */
	bool layout;  /* the following fields are known */
	uint32_t params, param_bytes;
	struct code_param param[];
};

/* The record of a function's or kernel's id, created at the first call. NULL: work->result gives the reason. */
const struct known *functions_known(struct work *work, uint64_t id);
/*
 * Assigns an id to a function or kernel that the driver has returned, and writes its description (struct code_told) to
 * the reply. False: there is no room for it, and nothing was written; or work->result gives the reason.
 */
bool functions_tell(struct work *work, enum remote_kind kind, void *handle, const char *name, uint64_t owner);
/*
 * Writes the functions of a module or the kernels of a library (id, handle) from the `from`-th on, as many as fit, and
 * counts them in *loaded. The client requests the others by name later.
 */
void functions_list(struct work *work, uint64_t id, void *handle, uint32_t from, struct code_loaded *loaded);
