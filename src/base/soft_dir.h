/* soft_dir.h: where the software devices of a user have their shared state. */
#pragma once

#include "base/setting.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writes the path, METE_SOFT_DIR's where it is set. False: it does not fit. */
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
