/*
 * cuda_figure.c: see cuda_figure.h. NVML's few names are declared here as its documentation gives them; nothing of it
 * is linked.
 */
#include "shim/cuda_figure.h"
#include "base/setting.h"
#include "cuda_shim.h"
#include "core/account.h"
#include "core/attach.h"
#include "shim/devices.h"
#include "core/log.h"
#include "shim/start.h"
#include "wire/soft_usage.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NVML_DONE 0
#define NVML_UNKNOWN_BYTES UINT64_MAX
#define PROCESSES_MAX 1024u

struct nvml_process { /* nvmlProcessInfo_v2_t */
	unsigned int pid;
	unsigned long long used_bytes;
	unsigned int gpu_instance, compute_instance;
};

struct nvml_memory { /* nvmlMemory_t */
	unsigned long long total, free, used;
};

static struct { /* used with the gate closed, so by one thread at a time */
	bool tried;
	int (*init)(void);
	int (*by_uuid)(const char *uuid, void **device);
	int (*processes)(void *device, unsigned int *count, struct nvml_process *list);
	int (*memory)(void *device, struct nvml_memory *memory);
	void *device[WIRE_MAX_DEVICES];
	struct nvml_process list[PROCESSES_MAX];
} nvml;

static bool nvml_open(void)
{
	const char *path = setting_get("METE_NVML");
	void *handle;

	if (nvml.tried)
		return nvml.init;
	nvml.tried = true;
	if (!path || *path != '/')
		return false;
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		log_line("METE_NVML=%s cannot be opened; correct it, or modules and contexts are measured less exactly",
			 path);
		return false;
	}
	*(void **)&nvml.by_uuid = dlsym(handle, "nvmlDeviceGetHandleByUUID");
	*(void **)&nvml.processes = dlsym(handle, "nvmlDeviceGetComputeRunningProcesses_v3");
	if (!nvml.processes)
		*(void **)&nvml.processes = dlsym(handle, "nvmlDeviceGetComputeRunningProcesses_v2");
	*(void **)&nvml.memory = dlsym(handle, "nvmlDeviceGetMemoryInfo");
	*(void **)&nvml.init = dlsym(handle, "nvmlInit_v2");
	if (!nvml.init || !nvml.by_uuid || !nvml.processes || !nvml.memory || nvml.init() != NVML_DONE)
		nvml.init = NULL;
	return nvml.init;
}

static void *nvml_device(unsigned int device)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *uuid = attach_welcome()->device[device].uuid;
	char text[41] = "GPU-";
	char *p = text + 4;

	if (!nvml_open())
		return NULL;
	for (unsigned int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*p++ = '-';
		*p++ = digits[uuid[i] >> 4];
		*p++ = digits[uuid[i] & 15];
	}
	*p = 0;
	if (!nvml.device[device] && nvml.by_uuid(text, &nvml.device[device]) != NVML_DONE) {
		memcpy(text, "MIG-", 4);
		if (nvml.by_uuid(text, &nvml.device[device]) != NVML_DONE)
			nvml.device[device] = NULL;
	}
	return nvml.device[device];
}

/* The software device's list is complete and knows the process by the name that it has for itself. */
static void read_process(unsigned int device, void *handle, struct figure *ret)
{
	unsigned int count = PROCESSES_MAX, self = (unsigned int)syscall(SYS_getpid);
	unsigned int host = (unsigned int)attach_welcome()->host_pid;

	if (nvml.processes(handle, &count, nvml.list) != NVML_DONE)
		return;
	ret->listed = accounts[device].soft;
	for (unsigned int i = 0; i < count && i < PROCESSES_MAX; i++)
		if ((nvml.list[i].pid == self || nvml.list[i].pid == host) &&
		    nvml.list[i].used_bytes != NVML_UNKNOWN_BYTES) {
			ret->listed = ret->found = true;
			ret->process_bytes = nvml.list[i].used_bytes;
			return;
		}
}

const struct soft_usage_table *cuda_figure_soft(unsigned int device)
{
	static const CUuuid id = { SOFT_USAGE_ID };
	const void *table = NULL;

	if (!accounts[device].soft || shim_real.cuGetExportTable(&table, &id) != CUDA_SUCCESS || !table)
		return NULL;
	return SOFT_USAGE_HAS((const struct soft_usage_table *)table, variable_bytes) ? table : NULL;
}

/* What a software device says that this process holds. False: it does not. */
static bool read_soft(unsigned int device, struct figure *ret)
{
	const struct soft_usage_table *table = cuda_figure_soft(device);
	CUdevice real;

	if (!table || !devices_real(device, &real) || table->held(real, &ret->process_bytes) != CUDA_SUCCESS)
		return false;
	ret->listed = ret->found = true;
	return true;
}

void cuda_figure_read(unsigned int device, struct figure *ret)
{
	struct nvml_memory memory;
	size_t free, total;
	CUdevice current, real;
	void *handle;

	memset(ret, 0, sizeof *ret);
	if (read_soft(device, ret))
		return;
	handle = nvml_device(device);
	if (handle)
		read_process(device, handle, ret);
	if (ret->listed)
		return;
	if (handle && nvml.memory(handle, &memory) == NVML_DONE) {
		ret->whole = true;
		ret->device_bytes = memory.used;
	} else if (devices_real(device, &real) && shim_real.cuCtxGetDevice(&current) == CUDA_SUCCESS &&
		   current == real && shim_real.cuMemGetInfo_v2(&free, &total) == CUDA_SUCCESS) {
		ret->whole = true;
		ret->device_bytes = total - free;
	}
}

void cuda_figure_reset(void)
{
	memset(&nvml, 0, sizeof nvml);
}
