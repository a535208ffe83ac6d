/*
 * sensors_nvml.c: a stand-in for NVIDIA's libnvidia-ml.so.1 (and for the libcuda.so.1 that has to be there with it):
 * two devices, whose power, temperature and utilisation are what a file says. No error of a device ever happens.
 *
 * METE_TEST_SENSORS names the file: a line for each device, "MILLIWATTS CELSIUS PERCENT", "-" for what it does not
 * support. METE_TEST_SLOW: a question for the utilisation takes so many seconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define DEVICES 2u
#define NOT_SUPPORTED 3
#define TIMEOUT 10

struct memory {
	unsigned long long total, free, used;
};

struct pci {
	char legacy[16];
	unsigned int domain, bus, device, id, subsystem;
	char text[32];
};

struct rates {
	unsigned int gpu, memory;
};

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT int nvmlDeviceGetCount_v2(unsigned int *count);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device);
EXPORT int nvmlDeviceGetUUID(void *device, char *text, unsigned int size);
EXPORT int nvmlDeviceGetName(void *device, char *text, unsigned int size);
EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory);
EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned int size);
EXPORT const char *nvmlErrorString(int error);
EXPORT int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci);
EXPORT int nvmlEventSetCreate(void **set);
EXPORT int nvmlEventSetFree(void *set);
EXPORT int nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set);
EXPORT int nvmlEventSetWait_v2(void *set, void *event, unsigned int ms);
EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned int *milliwatts);
EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned int *celsius);
EXPORT int nvmlDeviceGetUtilizationRates(void *device, struct rates *rates);

static char devices[DEVICES];

static unsigned int index_of(const void *device)
{
	return (unsigned int)((const char *)device - devices);
}

/* The word of a device's line. */
static int sensor(const void *device, unsigned int word, unsigned int *ret)
{
	const char *path = getenv("METE_TEST_SENSORS");
	FILE *file = path ? fopen(path, "re") : NULL;
	char words[3][32] = { "-", "-", "-" };

	for (unsigned int i = 0; file && i <= index_of(device); i++)
		if (fscanf(file, "%31s %31s %31s", words[0], words[1], words[2]) != 3)
			strcpy(words[word], "-");
	if (file)
		fclose(file);
	*ret = (unsigned int)strtoul(words[word], NULL, 10);
	return strcmp(words[word], "-") ? 0 : NOT_SUPPORTED;
}

int nvmlInit_v2(void)
{
	return 0;
}

int nvmlShutdown(void)
{
	return 0;
}

int nvmlDeviceGetCount_v2(unsigned int *count)
{
	*count = DEVICES;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device)
{
	*device = &devices[index];
	return 0;
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned int size)
{
	snprintf(text, size, "GPU-00000000-0000-0000-0000-00000000000%u", index_of(device) + 1);
	return 0;
}

int nvmlDeviceGetName(void *device, char *text, unsigned int size)
{
	snprintf(text, size, "mete test device");
	return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory)
{
	*memory = (struct memory){ .total = 16ull << 30, .free = 15ull << 30, .used = 1ull << 30 };
	return 0;
}

int nvmlSystemGetDriverVersion(char *text, unsigned int size)
{
	snprintf(text, size, "1.0");
	return 0;
}

const char *nvmlErrorString(int error)
{
	return "an error";
}

int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci)
{
	*pci = (struct pci){ .bus = index_of(device) + 1 };
	return 0;
}

int nvmlEventSetCreate(void **set)
{
	*set = devices;
	return 0;
}

int nvmlEventSetFree(void *set)
{
	return 0;
}

int nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set)
{
	return 0;
}

int nvmlEventSetWait_v2(void *set, void *event, unsigned int ms)
{
	usleep(ms * 1000);
	return TIMEOUT;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned int *milliwatts)
{
	return sensor(device, 0, milliwatts);
}

int nvmlDeviceGetTemperature(void *device, int which, unsigned int *celsius)
{
	return sensor(device, 1, celsius);
}

int nvmlDeviceGetUtilizationRates(void *device, struct rates *rates)
{
	if (getenv("METE_TEST_SLOW"))
		sleep((unsigned int)atoi(getenv("METE_TEST_SLOW")));
	rates->memory = 0;
	return sensor(device, 2, &rates->gpu);
}
