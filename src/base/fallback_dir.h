/*
 * fallback_dir.h: the default folder of a private meted. It is in /dev/shm if that can be written, because each
 * attached process has a file in the folder; else in /tmp. mete and meted must compute the same path.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

/* Writes the path. False: it does not fit. */
static inline bool fallback_dir(char *dir, size_t size)
{
	const char *parent = access("/dev/shm", W_OK | X_OK) ? "/tmp" : "/dev/shm";

	return snprintf(dir, size, "%s/mete-%u", parent, (unsigned int)geteuid()) < (int)size;
}
