/*
 * tenant_env.h: the environment that connects a program to its grant.
 *
 * LD_PRELOAD and LD_LIBRARY_PATH put the shim in front of the driver, however the program loads it. OPENCL_LAYERS names
 * OpenCL's layer to its loader, in addition to the user's own layers; ZE_ENABLE_ALT_DRIVERS names Level Zero's face to
 * its loader. METE_SOCKET, METE_DRIVER, METE_HIP_DRIVER, METE_LEVELZERO_DRIVER and similar variables, METE_NVML and
 * METE_LOG configure the shim. None of them is secret or trusted: meted identifies a client by the socket and the
 * kernel.
 */
#pragma once

#include "client/fault.h"
#include "model/shapes.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

struct tenant_env {
	const char *shim_dir;
	const char *socket;
	const char *libcuda; /* absolute path of the driver's; "": the grant's devices have no CUDA */
	bool no_cuda;	     /* the machine has no CUDA either: programs find no libcuda.so.1, as without mete */
	const char *libnvml; /* NULL: none */
	const char *kind;    /* of the grant's devices; NULL: no face beside a vendor's libraries (beside_env.h) */
	json_t *grant;	     /* meted's row, where `kind` is set */
	bool hip;	     /* the grant's devices have HIP */
	const char *libhip;  /* the library behind HIP's face, absolute; NULL: the program's own */
	bool levelzero;	     /* the grant's devices have Level Zero */
	const char *libze;   /* the driver behind Level Zero's face, absolute; NULL: the one that its loader knows */
	struct tenant_shape {
		const struct shape_row *row;
		const char *library; /* behind its face, absolute */
		bool preload;	     /* for programs whose own library comes before LD_LIBRARY_PATH */
	} shape[SHAPES_MAX]; /* the grant's libraries of model/shapes.h; ended by a row of NULL */
	const char *log; /* NULL: none */
	const char *runtime_dir; /* of mete's CUDA runtime library (runtime_env.h); NULL: the program's own */
	bool t3; /* also load tier T3's library */
	bool spill; /* the program's memory may leave the device */
	bool strict; /* refuse variants of calls that the shim does not know */
};

/* Changes the environment of this process, the child that will execute the program. Returns 0 or a negative errno. */
int tenant_env_enter(const struct tenant_env *e, struct fault *f);

/* Removes the settings of an outer `mete run` from the environment of this process. */
void tenant_env_leave(void);

/*
 * Puts entries in front of a list whose entries end at any of `ends`, and removes earlier ones of ours. False: no
 * memory.
 */
bool tenant_env_put_first(const char *name, const char *front, const char *ends);

/*
 * Writes the folder of the shim, or of another library to preload, in a form that LD_PRELOAD accepts: if the path has a
 * blank, ":" or "$", it is replaced by a symbolic link in the runtime directory. Returns 0 or a negative errno.
 */
int tenant_env_detour(char part[PATH_MAX], const char *dir, struct fault *f);
