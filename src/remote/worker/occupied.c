/* occupied.c: see occupied.h. NVML's few names are declared here as its documentation gives them. */
#include "remote/worker/occupied.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCESSES_MAX 1024u
#define UUID_TEXT 64u

struct process { /* nvmlProcessInfo_v2_t */
	unsigned int pid;
	unsigned long long used_bytes;
	unsigned int gpu_instance, compute_instance;
};

static struct {
	int (*by_uuid)(const char *uuid, void **device);
	int (*processes)(void *device, unsigned int *count, struct process *list);
} nvml;

void occupied_open(void)
{
	const char *path = getenv("METE_NVML");
	void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*init)(void) = NULL;

	if (library)
		*(void **)&init = dlsym(library, "nvmlInit_v2");
	if (!init || init())
		return;
	*(void **)&nvml.by_uuid = dlsym(library, "nvmlDeviceGetHandleByUUID");
	*(void **)&nvml.processes = dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3");
	if (!nvml.processes)
		*(void **)&nvml.processes = dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v2");
}

static bool find(const char *uuid, size_t length, void **ret)
{
	char text[UUID_TEXT];

	if (!nvml.by_uuid || !nvml.processes || length >= sizeof(text))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)length, uuid);
	if (!nvml.by_uuid(text, ret))
		return true;
	memcpy(text, "MIG-", 4); /* a part of a device has the same number under another prefix */
	return !nvml.by_uuid(text, ret);
}

uint64_t occupied_bytes(const char *uuid, size_t length)
{
	static struct process list[PROCESSES_MAX];
	unsigned int count = PROCESSES_MAX;
	void *device;

	if (!find(uuid, length, &device) || nvml.processes(device, &count, list))
		return 0;
	for (unsigned int i = 0; i < count && i < PROCESSES_MAX; i++)
		if (list[i].pid == (unsigned int)getpid() && list[i].used_bytes != UINT64_MAX)
			return list[i].used_bytes;
	return 0;
}
