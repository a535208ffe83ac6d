/*
 * amd_hip.c: a libamdhip64 as AMD's is where it differs from the software device's: its device tells a serial number in
 * place of a UUID, and a place on the PCI bus. Memory is the process's own; nothing is computed.
 *
 * AMD_HIP_ADDRESS is the place (0000:03:00.0); AMD_HIP=crash or hang is what the first call does.
 */
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOTAL (8ull << 30)
#define EXPORT __attribute__((visibility("default")))
#define CALL(name, ...)                                                                                                \
	EXPORT int name(__VA_ARGS__);                                                                                  \
	int name(__VA_ARGS__)

CALL(hipInit, unsigned int flags)
{
	const char *how = getenv("AMD_HIP");

	if (how && !strcmp(how, "crash"))
		raise(SIGABRT);
	while (how && !strcmp(how, "hang"))
		pause();
	return flags ? 1 : 0;
}

CALL(hipGetDeviceCount, int *count)
{
	*count = 1;
	return 0;
}

CALL(hipSetDevice, int device)
{
	return device ? 101 : 0;
}

CALL(hipGetDevice, int *device)
{
	*device = 0;
	return 0;
}

CALL(hipDeviceGetName, char *name, int size, int device)
{
	snprintf(name, (size_t)size, "a card for tests");
	return device ? 101 : 0;
}

CALL(hipDeviceTotalMem, size_t *bytes, int device)
{
	*bytes = TOTAL;
	return device ? 101 : 0;
}

CALL(hipDeviceGetPCIBusId, char *text, int size, int device)
{
	const char *address = getenv("AMD_HIP_ADDRESS");

	snprintf(text, (size_t)size, "%s", address ? address : "0000:03:00.0");
	return device ? 101 : 0;
}

CALL(hipDeviceGetUuid, void *uuid, int device)
{
	memcpy(uuid, "8a1f00c5d2e94b07", 16);
	return device ? 101 : 0;
}

CALL(hipRuntimeGetVersion, int *version)
{
	*version = 60200000;
	return 0;
}

CALL(hipGetDeviceProperties, char *prop, int device)
{
	size_t total = TOTAL;

	hipDeviceGetName(prop, 256, device);
	memcpy(prop + 256, &total, sizeof total);
	return device ? 101 : 0;
}

CALL(hipGetDevicePropertiesR0600, char *prop, int device)
{
	size_t total = TOTAL;

	hipDeviceGetName(prop, 256, device);
	memcpy(prop + 288, &total, sizeof total);
	return device ? 101 : 0;
}

CALL(hipMemGetInfo, size_t *free, size_t *total)
{
	*free = *total = TOTAL;
	return 0;
}

CALL(hipMalloc, void **pointer, size_t bytes)
{
	*pointer = malloc(bytes);
	return *pointer ? 0 : 2;
}

CALL(hipFree, void *pointer)
{
	free(pointer);
	return 0;
}

CALL(hipGetLastError, void)
{
	return 0;
}

CALL(hipPeekAtLastError, void)
{
	return 0;
}
