/*
 * many_devices.c: the driver API as far as meted asks it, with 64 devices of three sizes, or as many as
 * METE_TEST_DEVICES says: for a node that is larger than the software device's 16. No program can use them.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int cuInit(unsigned int flags);
EXPORT int cuDriverGetVersion(int *version);
EXPORT int cuDeviceGetCount(int *count);
EXPORT int cuDeviceGet(int *device, int ordinal);
EXPORT int cuDeviceGetUuid(unsigned char *uuid, int device);
EXPORT int cuDeviceGetName(char *name, int size, int device);
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device);
EXPORT int cuGetErrorString(int error, const char **text);

int cuInit(unsigned int flags)
{
	return 0;
}

int cuDriverGetVersion(int *version)
{
	*version = 12080;
	return 0;
}

int cuDeviceGetCount(int *count)
{
	const char *devices = getenv("METE_TEST_DEVICES");

	*count = devices ? atoi(devices) : 64;
	return 0;
}

int cuDeviceGet(int *device, int ordinal)
{
	*device = ordinal;
	return 0;
}

int cuDeviceGetUuid(unsigned char *uuid, int device)
{
	for (int i = 0; i < 16; i++)
		uuid[i] = (unsigned char)((device + 1) * (i * 37 + 11));
	uuid[15] = (unsigned char)device;
	return 0;
}

int cuDeviceGetName(char *name, int size, int device)
{
	snprintf(name, (size_t)size, "mete test device");
	return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	static const size_t gib[] = { 80, 80, 80, 80, 80, 24, 80, 141 };

	*bytes = gib[device % 8] << 30;
	return 0;
}

int cuGetErrorString(int error, const char **text)
{
	*text = "an error";
	return 0;
}
