/*
 * tenant_env.h: the environment by which a program gets its grant.
 *
 * LD_PRELOAD and LD_LIBRARY_PATH put the shim in front of the driver, whatever way the program loads it; OPENCL_LAYERS
 * names OpenCL's layer to its loader, beside the layers of the user's own; METE_SOCKET,
 * METE_DRIVER, METE_NVML and METE_LOG tell the shim the rest. None of them is a secret and none is trusted: who a
 * client is, meted knows from the socket and the kernel.
 */
#pragma once

#include "client/fault.h"

#include <limits.h>
#include <stdbool.h>

struct tenant_env {
	const char *shim_dir;
	const char *socket;
	const char *libcuda; /* the driver's, absolute; "": the grant's devices have no CUDA */
	bool no_cuda;	     /* nor has the machine: programs find no libcuda.so.1, as without mete */
	const char *libnvml; /* NULL: none */
	const char *log; /* NULL: none */
	const char *runtime_dir; /* of mete's CUDA runtime library (runtime_env.h); NULL: the program keeps its own */
	bool t3; /* tier T3's library goes along */
	bool spill; /* its memory may leave the device */
	bool strict; /* variants of calls that the shim does not know are refused */
};

/* Changes the environment of this process (the child, before it becomes the program). Value: 0 or a negative errno. */
int tenant_env_enter(const struct tenant_env *e, struct fault *f);

/* Removes what an outer `mete run` put there, from the environment of this process. */
void tenant_env_leave(void);

/* Puts entries before those of a list that ends them at any of `ends`, and takes ours out. False: no memory. */
bool tenant_env_put_first(const char *name, const char *front, const char *ends);

/*
 * The folder of the shim, or of another library to be preloaded, as LD_PRELOAD can name it: where its path has a blank,
 * ":" or "$", it is replaced by that of a symbolic link in the runtime directory. Value: 0 or a negative errno.
 */
int tenant_env_detour(char part[PATH_MAX], const char *dir, struct fault *f);
