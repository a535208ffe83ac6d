/* nvml_limits.c: the four calls of NVML that dmem.c makes, for its test: what was asked goes to a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

struct limits {
	const char *cgroup;
	unsigned long long soft, hard;
};

API int nvmlInit_v2(void);
API int nvmlDeviceGetHandleByUUID(const char *uuid, void **ret);
API int nvmlDeviceSetMemoryLimits_v1(void *device, const struct limits *limits);

int nvmlInit_v2(void)
{
	return 0;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **ret)
{
	*ret = (void *)uuid;
	return strncmp(uuid, "GPU-", 4) ? 6 : 0;
}

int nvmlDeviceSetMemoryLimits_v1(void *device, const struct limits *l)
{
	FILE *f;

	if (!strcmp(device, "GPU-old"))
		return 3;
	if (!strcmp(device, "GPU-user"))
		return 4;
	f = fopen(getenv("METE_TEST_ASKED"), "w");
	fprintf(f, "%s %s %llu %llu", (const char *)device, l->cgroup, l->soft, l->hard);
	return fclose(f);
}
