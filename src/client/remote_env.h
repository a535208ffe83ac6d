/*
 * remote_env.h: the environment that connects a program to devices of a worker: behind a wall on this machine, or
 * through a relay on another one.
 *
 * LD_PRELOAD and LD_LIBRARY_PATH put the client's library in place of the driver, together with mete's CUDA runtime
 * library (runtime_env.h: NVIDIA's own accepts NVIDIA's driver only). METE_REMOTE names the sockets, METE_LOG the log.
 * None of them is secret or trusted: the socket decides who may connect.
 */
#pragma once

#include "client/fault.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct remote_env {
	const char *client_dir; /* folder of the client's libcuda.so.1 */
	const char *sockets; /* separated by ","; their devices are 0 ... n - 1 in this order */
	const char *log; /* NULL: none */
	const char *runtime_dir; /* folder of mete's CUDA runtime library; NULL: the program keeps its own */
	bool soft; /* the devices are software devices: assemblers and linkers give PTX (runtime_env.h) */
};

/* Changes the environment of this process, the child that will execute the program. Returns 0 or a negative errno. */
int remote_env_enter(const struct remote_env *e, struct fault *f);

/* True if this entry of LD_PRELOAD or LD_LIBRARY_PATH was made by remote_env_enter(). */
bool remote_env_is_entry(const char *entry, size_t length);
