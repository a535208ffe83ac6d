/*
 * amd_hip.c: a libamdhip64 as AMD's is where it differs from the software device's: its device tells a serial number in
 * place of a UUID, and a place on the PCI bus. Memory is the process's own; nothing is computed.
 *
 * AMD_HIP_ADDRESS is the place (0000:03:00.0); several, with commas: as many devices, each with a part of the memory,
 * as a card in partitions has them. AMD_HIP=crash or hang is what the first call does.
 */
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CARD (8ull << 30)
#define TOTAL (CARD / (unsigned int)devices())
#define EXPORT __attribute__((visibility("default")))
#define CALL(name, ...)                                                                                                \
	EXPORT int name(__VA_ARGS__);                                                                                  \
	int name(__VA_ARGS__)

static __thread int current;

static const char *places(void)
{
	const char *text = getenv("AMD_HIP_ADDRESS");

	return text ? text : "0000:03:00.0";
}

static int devices(void)
{
	int n = 1;

	for (const char *p = places(); *p; p++)
		n += *p == ',';
	return n;
}

static int is_wrong(int device)
{
	return device < 0 || device >= devices() ? 101 : 0;
}

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
	*count = devices();
	return 0;
}

CALL(hipSetDevice, int device)
{
	if (!is_wrong(device))
		current = device;
	return is_wrong(device);
}

CALL(hipGetDevice, int *device)
{
	*device = current;
	return 0;
}

CALL(hipDeviceGetName, char *name, int size, int device)
{
	snprintf(name, (size_t)size, "a card for tests");
	return is_wrong(device);
}

CALL(hipDeviceTotalMem, size_t *bytes, int device)
{
	*bytes = TOTAL;
	return is_wrong(device);
}

CALL(hipDeviceGetPCIBusId, char *text, int size, int device)
{
	const char *place = places();

	if (is_wrong(device))
		return is_wrong(device);
	for (int i = 0; i < device; i++)
		place = strchr(place, ',') + 1;
	snprintf(text, (size_t)size, "%.*s", (int)strcspn(place, ","), place);
	return is_wrong(device);
}

CALL(hipDeviceGetUuid, void *uuid, int device)
{
	memcpy(uuid, "8a1f00c5d2e94b07", 16);
	return is_wrong(device);
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
	return is_wrong(device);
}

CALL(hipGetDevicePropertiesR0600, char *prop, int device)
{
	size_t total = TOTAL;

	hipDeviceGetName(prop, 256, device);
	memcpy(prop + 288, &total, sizeof total);
	return is_wrong(device);
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
