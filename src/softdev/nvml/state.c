/* state.c: see state.h. */
#include "softdev/nvml/state.h"

#include "base/own_note.h"
#include "softdev/config.h"
#include "softdev/segment_fault.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

OWN_NOTE("the software device");

static struct {
	pthread_mutex_t lock; /* guards all below */
	unsigned int started; /* nvmlInit calls without their nvmlShutdown */
	bool stale;	      /* in a forked child: the place is the parent's */
	struct segment_place place;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* A handle is the address of its device's byte: no program can take one for a number. */
static char handles[SEGMENT_MAX_DEVICES];

static void child_after_fork(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	state.lock = unlocked;
	state.stale = true;
}

static nvmlReturn_t attach(void)
{
	char why[200];
	int r = segment_attach(SEGMENT_OBSERVER, &state.place, why, sizeof why);

	if (r < 0)
		return r == -EACCES || r == -EPERM ? NVML_ERROR_NO_PERMISSION : NVML_ERROR_DRIVER_NOT_LOADED;
	usage_reset(&state.place);
	return NVML_SUCCESS;
}

static nvmlReturn_t start(void)
{
	static bool watched;
	nvmlReturn_t r = NVML_SUCCESS;

	pthread_mutex_lock(&state.lock);
	if (!watched)
		watched = pthread_atfork(NULL, NULL, child_after_fork) == 0;
	if (!state.started)
		r = attach();
	if (r == NVML_SUCCESS) {
		state.stale = state.started && state.stale;
		state.started++;
	}
	pthread_mutex_unlock(&state.lock);
	return r;
}

nvmlReturn_t soft_nvmlInit(void)
{
	return start();
}

nvmlReturn_t soft_nvmlInit_v2(void)
{
	return start();
}

/* The flags (no devices is no error; do not open the devices) ask for nothing that would be different here. */
nvmlReturn_t soft_nvmlInitWithFlags(unsigned int flags)
{
	(void)flags;
	return start();
}

nvmlReturn_t soft_nvmlShutdown(void)
{
	nvmlReturn_t r = NVML_SUCCESS;

	pthread_mutex_lock(&state.lock);
	if (!state.started)
		r = NVML_ERROR_UNINITIALIZED;
	else if (--state.started == 0 && !state.stale)
		segment_detach(&state.place);
	pthread_mutex_unlock(&state.lock);
	return r;
}

nvmlReturn_t state_enter(struct segment_place **ret)
{
	nvmlReturn_t r = NVML_SUCCESS;

	pthread_mutex_lock(&state.lock);
	if (!state.started) {
		r = NVML_ERROR_UNINITIALIZED;
	} else if (state.stale) { /* the parent's place stays the parent's */
		r = attach();
		state.stale = r != NVML_SUCCESS;
	}
	if (r != NVML_SUCCESS)
		pthread_mutex_unlock(&state.lock);
	*ret = &state.place;
	return r;
}

void state_leave(void)
{
	pthread_mutex_unlock(&state.lock);
}

nvmlDevice_t state_handle(uint32_t index)
{
	return (nvmlDevice_t)(void *)&handles[index];
}

nvmlReturn_t state_device(const struct segment_place *p, nvmlDevice_t handle, uint32_t *ret_index)
{
	uintptr_t at = (uintptr_t)handle - (uintptr_t)handles;

	if (at >= p->segment->device_count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*ret_index = (uint32_t)at;
	return segment_lost(p->segment, *ret_index) ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
}

nvmlReturn_t state_text(const char *text, char *ret, unsigned int room)
{
	size_t n = strlen(text) + 1;

	if (!ret)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (room < n)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	memcpy(ret, text, n);
	return NVML_SUCCESS;
}

void state_uuid(const uint8_t uuid[16], char ret[41])
{
	static const char hex[] = "0123456789abcdef";
	char *at = ret;

	memcpy(at, "GPU", 3);
	at += 3;
	for (unsigned int i = 0; i < 16; i++) {
		if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10)
			*at++ = '-';
		*at++ = hex[uuid[i] >> 4];
		*at++ = hex[uuid[i] & 15];
	}
	*at = 0;
}

/*
 * The generated exports call this for calls that are not implemented. It prints nothing: clients ask for everything,
 * and take "not supported" for an answer.
 */
void soft_unsupported(enum nvml_call call)
{
	(void)call;
}

const char *soft_nvmlErrorString(nvmlReturn_t result)
{
	switch (result) {
	case NVML_SUCCESS:
		return "Success";
	case NVML_ERROR_UNINITIALIZED:
		return "Uninitialized";
	case NVML_ERROR_INVALID_ARGUMENT:
		return "Invalid Argument";
	case NVML_ERROR_NOT_SUPPORTED:
		return "Not Supported";
	case NVML_ERROR_NO_PERMISSION:
		return "Insufficient Permissions";
	case NVML_ERROR_ALREADY_INITIALIZED:
		return "Already Initialized";
	case NVML_ERROR_NOT_FOUND:
		return "Not Found";
	case NVML_ERROR_INSUFFICIENT_SIZE:
		return "Insufficient Size";
	case NVML_ERROR_DRIVER_NOT_LOADED:
		return "Driver Not Loaded";
	case NVML_ERROR_TIMEOUT:
		return "Timeout";
	case NVML_ERROR_LIBRARY_NOT_FOUND:
		return "Library Not Found";
	case NVML_ERROR_FUNCTION_NOT_FOUND:
		return "Function Not Found";
	case NVML_ERROR_GPU_IS_LOST:
		return "GPU is lost";
	case NVML_ERROR_MEMORY:
		return "Insufficient Memory";
	case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
		return "Argument Version Mismatch";
	default:
		return "Unknown Error";
	}
}

/* A number, which programs take apart: the CUDA version that it is of. Whose driver it is, the devices' name says. */
nvmlReturn_t soft_nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	char text[80], why[256];
	int cuda;

	config_driver_version(&cuda, why, sizeof why);
	snprintf(text, sizeof text, "%d.%d", cuda / 1000, cuda % 1000 / 10);
	return state_text(text, version, length);
}

/* The interface's version, as everywhere: the CUDA version that it belongs to, then the driver's own. */
nvmlReturn_t soft_nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
	char text[80];

	snprintf(text, sizeof text, "%d." METE_VERSION, CONFIG_DRIVER_VERSION / 1000);
	return state_text(text, version, length);
}

nvmlReturn_t soft_nvmlSystemGetCudaDriverVersion(int *version)
{
	char why[256];

	if (!version)
		return NVML_ERROR_INVALID_ARGUMENT;
	config_driver_version(version, why, sizeof(why));
	return NVML_SUCCESS;
}

nvmlReturn_t soft_nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	return soft_nvmlSystemGetCudaDriverVersion(version);
}

/* The program's path and name: the first word of its command line. */
nvmlReturn_t soft_nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
	struct segment_place *p;
	nvmlReturn_t r = state_enter(&p);
	char path[32], text[1024];
	size_t n;
	FILE *f;

	if (r != NVML_SUCCESS)
		return r;
	state_leave();
	if (!name || !length)
		return NVML_ERROR_INVALID_ARGUMENT;
	snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
	f = fopen(path, "re");
	if (!f)
		return NVML_ERROR_NOT_FOUND;
	n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = 0;
	snprintf(name, length, "%s", text);
	return NVML_SUCCESS;
}
