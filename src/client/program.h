/*
 * program.h: the program that is to run: where it is, and whether the shim can reach it.
 *
 * The shim arrives by the dynamic linker of glibc. It does not reach a statically linked program, a program of another
 * C library, a 32-bit one, or one that gains privileges when it starts (the kernel then has the linker ignore
 * LD_PRELOAD). Such programs run all the same: the quota binds only what goes through the shim, and mete says so.
 * Limits: only the program itself is looked at, through #! lines and `env NAME`; what it starts later is not.
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
	PROGRAM_UNKNOWN, /* cannot be read, or damaged: the kernel will say so */
};

/*
 * Finds a program as execvp() would. Value: 0 with its path; -ENOENT: there is none; -EACCES: there is one that may not
 * be executed. A fault is set in both cases.
 */
int program_find(const char *name, char path[PATH_MAX], struct fault *f);

/* No binary file: what execvp() may hand to /bin/sh. */
bool program_is_text(const char *path);

/* Looks at the file. Unless it is reached or unknown, *f says what follows and what to do. */
enum program_kind program_inspect(const char *path, struct fault *f);
/* Value: 0; or -EACCES with a fault for a program that cannot be reached, where that is to be refused (--strict). */
int program_reachable(const char *path, struct fault *f);
/* The same for a program that is to find `what` ("the server's devices") instead. NULL: nothing is to be said. */
const char *program_warning(const char *path, const char *what, struct fault *f);
