/*
 * real.h: the library of NVIDIA's that a front stands before, found where the program's package has it.
 *
 * A front carries the name by which programs ask for that library, so the dynamic linker would answer that name with
 * the front itself: the real one is opened by its whole path. Looked at, in this order: a variable that the user may
 * set; what is loaded already; the folders that the dynamic linker would have searched for the libraries that are
 * loaded; the layout of Python packages above the folders of those libraries, of the program and of VIRTUAL_ENV;
 * CONDA_PREFIX, CUDA_PATH, CUDA_HOME; the usual places of a toolkit. A library of the front's own version goes before
 * one of another.
 */
#pragma once

#include <pthread.h>

struct real {
	const char *const *name;  /* "libnvrtc.so.13", ...: acceptable, the best first; ends with NULL */
	const char *const *wheel; /* folders below site-packages that hold it; ends with NULL */
	const char *variable;	  /* "METE_NVRTC": names a file */
	const char *what;	  /* for messages: "NVRTC" */
	const char *package;	  /* that brings it */
	pthread_once_t once;
	void *handle; /* NULL: none was found, and one log line has said so */
};

/* A symbol of the real library; NULL: no such library, or no such symbol in it. Thread-safe. */
void *real_symbol(struct real *r, void (*open_once)(void), const char *symbol);

/* What `open_once` calls. */
void real_open(struct real *r);
