/*
 * place.h: where the parts of mete lie, seen from the running binary.
 *
 * Everything is found from /proc/self/exe, in libmete.so from that library's own file. So an installed tree, a build
 * tree and a bundle unpacked anywhere work alike:
 *
 *   installed, bundle   PREFIX/bin/mete, PREFIX/lib.../mete/shim/, .../mete/soft/, .../mete/runtime/, .../mete/remote/,
 *                       PREFIX/libexec/mete/mete-relay, .../mete-worker
 *   build tree          src/cli/mete, src/shim/, src/softdev/, src/runtime/, src/remote/, src/daemon/meted
 *
 * METE_LIBDIR, a folder with shim/ and soft/ in it, overrides the folders of libraries.
 */
#pragma once

#include "client/fault.h"

#include <limits.h>

struct place {
	char exe_dir[PATH_MAX];
	char shim_dir[PATH_MAX]; /* libcuda.so.1 and libnvidia-ml.so.1 that programs get */
	char soft_dir[PATH_MAX]; /* the software device's libraries; "" when it is not there */
	char runtime_dir[PATH_MAX]; /* mete's runtime library, libcudart.so.N; "" when it is not there */
	char fronts_dir[PATH_MAX]; /* what gives PTX in the place of machine code; "" when it is not there */
	char remote_dir[PATH_MAX]; /* libcuda.so.1 of a remote client; "" when it is not there */
	char relay[PATH_MAX]; /* mete-relay; "" when there is none */
	char worker[PATH_MAX]; /* mete-worker; "" when there is none */
	char meted[PATH_MAX]; /* "" when there is none */
};

/* Value: 0, or -ENOENT with a fault when the shim is not there. exe_dir and meted are set in either case. */
int place_find(struct place *p, struct fault *f);

/* The same where the shim is not needed. Value: 0, or -ENOENT when the software device is not there. */
int place_find_soft(struct place *p, struct fault *f);

/* The same for programs whose device is behind a worker: -ENOENT when the client's library is not there. */
int place_find_remote(struct place *p, struct fault *f);

/* Writes a path that may be the concatenation of others. Value: false when it does not fit. */
bool path_join(char path[PATH_MAX], const char *fmt, ...) __attribute__((format(printf, 2, 3)));
