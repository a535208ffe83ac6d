/*
 * program.h: finds the program to run, and tells whether the shim can be loaded into it.
 *
 * glibc's dynamic linker loads the shim. It does not do so for a statically linked program, a program of another C
 * library, a 32-bit program, or one that gains privileges when it starts (the linker then ignores LD_PRELOAD). Such
 * programs run all the same: the quota binds only what uses the shim, and mete warns.
 *
 * Limits: only the program itself is examined, through #! lines and `env NAME`; programs that it starts later are not.
 */
#pragma once

#include "client/fault.h"

#include <limits.h>

enum program_kind {
	PROGRAM_REACHED, /* dynamically linked, or a script whose interpreter is */
	PROGRAM_STATIC,
	PROGRAM_OTHER_LIBC,
	PROGRAM_OTHER_MACHINE, /* 32-bit, or another architecture */
	PROGRAM_PRIVILEGED, /* setuid, setgid or file capabilities */
	PROGRAM_UNKNOWN, /* cannot be read, or is damaged: the kernel reports it */
};

/*
 * Finds a program as execvp() would. Returns 0 with its path; -ENOENT: it does not exist; -EACCES: it may not be
 * executed. A fault is set in both cases.
 */
int program_find(const char *name, char path[PATH_MAX], struct fault *f);

/* True if the file is not binary; execvp() may pass it to /bin/sh. */
bool program_is_text(const char *path);

/* Examines the file. Unless it is reached or unknown, *f holds the consequence and the remedy. */
enum program_kind program_inspect(const char *path, struct fault *f);
/* Returns 0; or -EACCES with a fault if the program cannot be reached, for --strict. */
int program_reachable(const char *path, struct fault *f);
/* Returns a warning for a program that should use `what` ("the server's devices"), or NULL. */
const char *program_warning(const char *path, const char *what, struct fault *f);
