/*
 * remote_env.h: the environment by which a program gets devices that a worker has: behind a wall on this machine, or
 * through a relay on another one.
 *
 * LD_PRELOAD and LD_LIBRARY_PATH put the client's library in the driver's place, and mete's CUDA runtime library
 * with it (runtime_env.h: NVIDIA's own accepts NVIDIA's driver only); METE_REMOTE names the sockets, METE_LOG where its
 * lines go. None of them is a secret and none is trusted: who may connect is said by the socket.
 */
#pragma once

#include "client/fault.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct remote_env {
	const char *client_dir; /* of the client's libcuda.so.1 */
	const char *sockets; /* separated by ",": their devices are 0 ... n - 1 in this order */
	const char *log; /* NULL: none */
	const char *runtime_dir; /* of mete's CUDA runtime library; NULL: the program keeps its own */
	bool soft; /* the devices are software devices, so that assemblers and linkers give PTX (runtime_env.h) */
};

/* Changes the environment of this process (the child, before it becomes the program). Value: 0 or a negative errno. */
int remote_env_enter(const struct remote_env *e, struct fault *f);

/* Is this an entry of LD_PRELOAD or LD_LIBRARY_PATH that the above made? */
bool remote_env_is_entry(const char *entry, size_t length);
