/* own.h: how this meted was started, and how it becomes another program. For the files of this folder. */
#pragma once

#define OPTIONS_MOST 62

/* The file's path. */
const char *own_binary(void);
/* The options that the next meted gets too. Value: how many. */
int own_options(char *ret[OPTIONS_MOST]);

/*
 * Becomes `binary`, or the program behind `fd` where that is NULL, with the handover in `file`. Returns when it cannot:
 * -errno.
 */
int own_become(const char *binary, int fd, const char *name, int file);

/* Is the file a program for this machine, as this one is? 0 or -ENOEXEC; a file that cannot be read is for execve(). */
int own_fits(const char *binary);
