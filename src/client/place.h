/*
 * place.h: the locations of the parts of mete, relative to the running binary.
 *
 * Parts are found from /proc/self/exe, and in libmete.so from that library's own file. An installed tree, a build tree
 * and an unpacked bundle therefore work alike:
 *
 *   installed, bundle   PREFIX/bin/mete, PREFIX/lib.../mete/shim/, .../mete/soft/, .../mete/runtime/, .../mete/remote/,
 *                       PREFIX/libexec/mete/mete-relay, .../mete-worker
 *   build tree          src/cli/mete, src/shim/, src/softdev/, src/runtime/, src/remote/, src/daemon/meted
 *
 * METE_LIBDIR, a folder that contains shim/ and soft/, overrides the folders of libraries.
 */
#pragma once

#include "client/fault.h"

#include <limits.h>

struct place {
	char exe_dir[PATH_MAX];
	char shim_dir[PATH_MAX]; /* the libcuda.so.1 and libnvidia-ml.so.1 for programs */
	char soft_dir[PATH_MAX]; /* the software device's libraries; "": absent */
	char runtime_dir[PATH_MAX]; /* mete's runtime library, libcudart.so.N; "": absent */
	char fronts_dir[PATH_MAX]; /* the fronts, which give PTX in place of machine code; "": absent */
	char remote_dir[PATH_MAX]; /* libcuda.so.1 of a remote client; "": absent */
	char relay[PATH_MAX]; /* mete-relay; "": absent */
	char worker[PATH_MAX]; /* mete-worker; "": absent */
	char meted[PATH_MAX]; /* "": absent */
};

/*
 * Finds all parts. Returns 0, or -ENOENT with a fault if the shim is absent. exe_dir and meted are set in either case.
 */
int place_find(struct place *p, struct fault *f);

/* The same where the shim is not needed. -ENOENT: the software device is absent. */
int place_find_soft(struct place *p, struct fault *f);

/* The same for programs whose device is behind a worker. -ENOENT: the client's library is absent. */
int place_find_remote(struct place *p, struct fault *f);

/* Writes a formatted path. False: it does not fit. */
bool path_join(char path[PATH_MAX], const char *fmt, ...) __attribute__((format(printf, 2, 3)));
