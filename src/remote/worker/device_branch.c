/* device_branch.c: see device_filter.h. */
#include "remote/worker/device_filter.h"

#include <stdio.h>

#define VERSION_FILE "/sys/module/nvidia/version"

unsigned int device_branch(void)
{
	unsigned int branch = 0;
	FILE *f = fopen(VERSION_FILE, "re");

	if (!f)
		return 0;
	if (fscanf(f, "%u", &branch) != 1)
		branch = 0;
	fclose(f);
	return branch;
}
