/* dmem_nvml.c: limits by NVML, see dmem.h. In a child: a driver's library may do as it likes there. */
#include "guard/dmem.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((format(printf, 3, 4))) static int say(char *why, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, DMEM_WHY, fmt, ap);
	va_end(ap);
	return r;
}

struct nvml_limits {
	const char *cgroup;
	unsigned long long soft, hard;
};

#define NVML_NOT_SUPPORTED 3
#define NVML_NO_PERMISSION 4

/* Value: the exit status of the child: an errno. */
static int nvml_set(const char *library, const char *uuid, const struct nvml_limits *limits)
{
	void *l = dlopen(library, RTLD_NOW | RTLD_LOCAL), *device = NULL;
	int (*init)(void), (*by_uuid)(const char *, void **), (*set)(void *, const struct nvml_limits *);
	int r;

	if (!l)
		return ENOENT;
	*(void **)&init = dlsym(l, "nvmlInit_v2");
	*(void **)&by_uuid = dlsym(l, "nvmlDeviceGetHandleByUUID");
	*(void **)&set = dlsym(l, "nvmlDeviceSetMemoryLimits_v1");
	if (!init || !by_uuid || !set)
		return ENOSYS;
	if (init() || by_uuid(uuid, &device))
		return ENODEV;
	r = set(device, limits);
	return !r ? 0 : r == NVML_NOT_SUPPORTED ? ENOTSUP : r == NVML_NO_PERMISSION ? EPERM : EIO;
}

int dmem_limit_nvml(const char *library, const char *uuid, const char *cgroup, uint64_t soft, uint64_t hard, char *why)
{
	const struct nvml_limits limits = { cgroup, soft, hard };
	int status;
	pid_t p = fork();

	if (p < 0)
		return say(why, -errno, "no process can be started (%s)", strerror(errno));
	if (!p)
		_exit(nvml_set(library, uuid, &limits));
	while (waitpid(p, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	return say(why, WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO,
		   "NVML (%s) does not limit the memory of cgroup %s (%s)", library, cgroup,
		   WIFEXITED(status) ? strerror(WEXITSTATUS(status)) : "it crashed");
}
