/*
 * soft_dir.h: the folder of the shared state of a user's software devices.
 *
 * Containers have separate devices, in a folder beside it that is open to programs of any user. Programs outside
 * containers never attach to those: a process trusts the shared state, so any user who can write to it can take over
 * the process.
 */
#pragma once

#include "base/setting.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writes the path: METE_SOFT_DIR if it is set, else the default. False: it does not fit. */
static inline bool soft_dir_find(char *dir, size_t size)
{
	const char *asked = setting_get("METE_SOFT_DIR");
	struct stat st;
	bool shm;

	if (asked && asked[0])
		return snprintf(dir, size, "%s", asked) < (int)size;
	shm = !stat("/dev/shm", &st) && S_ISDIR(st.st_mode) && !access("/dev/shm", W_OK | X_OK);
	return snprintf(dir, size, "%s/mete-soft-%u", shm ? "/dev/shm" : "/tmp", (unsigned)geteuid()) < (int)size;
}

#define SOFT_DIR_OF_CONTAINERS "-containers"

/* The same for containers. */
static inline bool soft_dir_find_for_containers(char *dir, size_t size)
{
	size_t n;

	if (!soft_dir_find(dir, size))
		return false;
	for (n = strlen(dir); n > 1 && dir[n - 1] == '/'; n--)
		;
	return snprintf(dir + n, size - n, SOFT_DIR_OF_CONTAINERS) < (int)(size - n);
}
