/* state.c: see state.h. */
#include "remote/client/nvml/state.h"

#include "base/own_note.h"
#include "cuda_remote.h"
#include "remote/client/session.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

OWN_NOTE("the remote client");

static struct {
	pthread_mutex_t lock; /* guards all below */
	unsigned int started; /* nvmlInit calls without their nvmlShutdown */
	bool stale;	      /* in a forked child: the sessions were the parent's */
	const struct watch_calls *calls;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* A handle is the address of its device's byte: no program can take one for a number. */
static char handles[SESSION_DEVICES];

static void child_after_fork(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	state.lock = unlocked;
	state.stale = true;
}

nvmlReturn_t state_error(CUresult r)
{
	switch (r) {
	case CUDA_SUCCESS:
		return NVML_SUCCESS;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return NVML_ERROR_MEMORY;
	case CUDA_ERROR_NOT_SUPPORTED: /* a worker that is older than this library */
		return NVML_ERROR_NOT_SUPPORTED;
	case CUDA_ERROR_NOT_PERMITTED:
		return NVML_ERROR_NO_PERMISSION;
	case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
		return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
	case CUDA_ERROR_DEVICE_UNAVAILABLE:
		return NVML_ERROR_GPU_IS_LOST;
	case CUDA_ERROR_INVALID_DEVICE:
		return NVML_ERROR_INVALID_ARGUMENT;
	default:
		return NVML_ERROR_UNKNOWN;
	}
}

/* The client that the program has loaded, or the one that is found as programs find it. */
static const struct watch_calls *find_client(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	const struct watch_calls *found = library ? dlsym(library, WATCH_SYMBOL) : NULL;

	if (found && found->size >= sizeof(*found) && found->fingerprint == CUDA_REMOTE_FINGERPRINT)
		return found;
	return NULL;
}

static nvmlReturn_t attach_locked(void)
{
	CUresult r;

	if (!state.calls)
		state.calls = find_client();
	if (!state.calls)
		return NVML_ERROR_DRIVER_NOT_LOADED;
	r = state.calls->open();
	return r == CUDA_ERROR_DEVICE_UNAVAILABLE || r == CUDA_ERROR_SYSTEM_NOT_READY || r == CUDA_ERROR_NO_DEVICE
		       ? NVML_ERROR_DRIVER_NOT_LOADED
		       : state_error(r);
}

static nvmlReturn_t start(void)
{
	static bool watched;
	int saved = errno;
	nvmlReturn_t r;

	pthread_mutex_lock(&state.lock);
	if (!watched)
		watched = pthread_atfork(NULL, NULL, child_after_fork) == 0;
	r = attach_locked();
	if (r == NVML_SUCCESS) {
		state.stale = false;
		state.started++;
	}
	pthread_mutex_unlock(&state.lock);
	errno = saved;
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

/* The sessions stay: the program's own calls may use them. */
nvmlReturn_t soft_nvmlShutdown(void)
{
	nvmlReturn_t r = NVML_SUCCESS;

	pthread_mutex_lock(&state.lock);
	if (state.started)
		state.started--;
	else
		r = NVML_ERROR_UNINITIALIZED;
	pthread_mutex_unlock(&state.lock);
	return r;
}

nvmlReturn_t state_enter(const struct watch_calls **ret)
{
	nvmlReturn_t r = NVML_SUCCESS;
	int saved = errno;

	pthread_mutex_lock(&state.lock);
	if (!state.started)
		r = NVML_ERROR_UNINITIALIZED;
	else if (state.stale && (r = attach_locked()) == NVML_SUCCESS)
		state.stale = false;
	*ret = state.calls;
	pthread_mutex_unlock(&state.lock);
	errno = saved;
	return r;
}

nvmlDevice_t state_handle(int device)
{
	return (nvmlDevice_t)(void *)&handles[device];
}

nvmlReturn_t state_device(const struct watch_calls *w, nvmlDevice_t handle, int *ret)
{
	uintptr_t at = (uintptr_t)handle - (uintptr_t)handles;

	if (at >= (uintptr_t)w->count())
		return NVML_ERROR_INVALID_ARGUMENT;
	*ret = (int)at;
	return NVML_SUCCESS;
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

nvmlReturn_t state_number(unsigned int *ret, unsigned int value)
{
	if (!ret)
		return NVML_ERROR_INVALID_ARGUMENT;
	*ret = value;
	return NVML_SUCCESS;
}

/* Clients ask for everything and take "not supported" for an answer. */
void soft_unsupported(enum nvml_call call)
{
	(void)call;
}

const char *soft_nvmlErrorString(nvmlReturn_t result)
{
	static const char *const words[] = {
		[NVML_SUCCESS] = "Success",
		[NVML_ERROR_UNINITIALIZED] = "Uninitialized",
		[NVML_ERROR_INVALID_ARGUMENT] = "Invalid Argument",
		[NVML_ERROR_NOT_SUPPORTED] = "Not Supported",
		[NVML_ERROR_NO_PERMISSION] = "Insufficient Permissions",
		[NVML_ERROR_NOT_FOUND] = "Not Found",
		[NVML_ERROR_INSUFFICIENT_SIZE] = "Insufficient Size",
		[NVML_ERROR_DRIVER_NOT_LOADED] = "Driver Not Loaded",
		[NVML_ERROR_GPU_IS_LOST] = "GPU is lost",
		[NVML_ERROR_LIB_RM_VERSION_MISMATCH] = "RM Version Mismatch",
		[NVML_ERROR_MEMORY] = "Insufficient Memory",
		[NVML_ERROR_ARGUMENT_VERSION_MISMATCH] = "Argument Version Mismatch",
	};
	bool known = (unsigned int)result < sizeof(words) / sizeof(*words) && words[result];

	return known ? words[result] : "Unknown Error";
}

/* ---- versions ---- */

/*
 * The driver's, where the worker has one with a version; else, as of the software device itself, the CUDA version. Of
 * several servers that of the first.
 */
nvmlReturn_t soft_nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	struct watch_figures f = { .driver_version = "" };
	const struct watch_calls *w;
	nvmlReturn_t r = state_enter(&w);
	char text[WATCH_VERSION_BYTES];
	int cuda = 0;

	if (r == NVML_SUCCESS)
		r = state_error(w->figures(0, &f));
	if (r == NVML_SUCCESS)
		r = state_error(w->version(&cuda));
	if (r != NVML_SUCCESS)
		return r;
	snprintf(text, sizeof(text), "%d.%d", cuda / 1000, cuda % 1000 / 10);
	return state_text(*f.driver_version ? f.driver_version : text, version, length);
}

nvmlReturn_t soft_nvmlSystemGetCudaDriverVersion(int *version)
{
	const struct watch_calls *w;
	nvmlReturn_t r = state_enter(&w);

	if (r != NVML_SUCCESS)
		return r;
	return version ? state_error(w->version(version)) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t soft_nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	return soft_nvmlSystemGetCudaDriverVersion(version);
}

/* The interface's: the CUDA version that it belongs to, then mete's own. */
nvmlReturn_t soft_nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
	char text[80];
	int cuda = 0;
	nvmlReturn_t r = soft_nvmlSystemGetCudaDriverVersion(&cuda);

	if (r != NVML_SUCCESS)
		return r;
	snprintf(text, sizeof(text), "%d." METE_VERSION, cuda / 1000);
	return state_text(text, version, length);
}

/* The program's path and name: the first word of its command line. */
nvmlReturn_t soft_nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
	const struct watch_calls *w;
	nvmlReturn_t r = state_enter(&w);
	char path[32], text[1024];
	int saved = errno;
	size_t n;
	FILE *f;

	if (r != NVML_SUCCESS)
		return r;
	if (!name || !length)
		return NVML_ERROR_INVALID_ARGUMENT;
	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	f = fopen(path, "re");
	if (!f) {
		errno = saved;
		return NVML_ERROR_NOT_FOUND;
	}
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	errno = saved;
	text[n] = 0;
	snprintf(name, length, "%s", text);
	return NVML_SUCCESS;
}
