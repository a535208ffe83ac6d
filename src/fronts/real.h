/*
 * real.h: finds the library of NVIDIA's that a front replaces, in the program's package.
 *
 * A front has the name by which programs request that library, so the dynamic linker would resolve that name to the
 * front itself: the real library is opened by its full path. The search order is: a variable that the user may set;
 * libraries that are loaded already; the folders that the dynamic linker would have searched for the loaded libraries;
 * the layout of Python packages above the folders of those libraries, of the program and of VIRTUAL_ENV; CONDA_PREFIX,
 * CUDA_PATH, CUDA_HOME; the usual places of a toolkit. A library of the front's own version takes precedence over
 * another one.
 */
#pragma once

#include <pthread.h>

struct real {
	const char *const *name;  /* "libnvrtc.so.13", ...: accepted names, the best first; ends with NULL */
	const char *const *wheel; /* folders below site-packages that contain it; ends with NULL */
	const char *variable;	  /* "METE_NVRTC": names a file */
	const char *what;	  /* for messages: "NVRTC" */
	const char *package;	  /* the package that contains it */
	pthread_once_t once;
	void *handle; /* NULL: none was found, which was logged */
};

/* A symbol of the real library; NULL: no such library, or no such symbol in it. Thread-safe. */
void *real_symbol(struct real *r, void (*open_once)(void), const char *symbol);

/* To be called by `open_once`. */
void real_open(struct real *r);
