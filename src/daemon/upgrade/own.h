/* own.h: how this meted was started, and how it becomes another program. For the files of this folder. */
#pragma once

#define OPTIONS_MOST 62

/* The path of the executable file. */
const char *own_binary(void);
/* The options that the next meted also gets. Value: their number. */
int own_options(char *ret[OPTIONS_MOST]);

/*
 * Executes `binary`, or the program behind `fd` if that is NULL, with the handover in `file`. Returns only on an error:
 * -errno.
 */
int own_become(const char *binary, int fd, const char *name, int file);

/*
 * Checks that the file is a program for this machine, as this one is. Value: 0 or -ENOEXEC; a file that cannot be read
 * is left to execve().
 */
int own_fits(const char *binary);
