/*
 * fallback_dir.h: where a private meted lives when nothing else is named: in memory where there is /dev/shm, because
 * every process that attaches has a file there; else in /tmp. Both mete and meted must come to the same answer.
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
