/* probe.c: see probe.h. The child has PROBE_SECONDS; a driver that hangs or crashes is reported as such. */
#include "cli/probe.h"
#include "base/cleanup.h"
#include "cuda_table.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBE_SECONDS 30

/* What nvidia-smi and the management bindings of frameworks ask first. */
static const char *const nvml_names[] = {
	"nvmlInit_v2",
	"nvmlInitWithFlags",
	"nvmlShutdown",
	"nvmlErrorString",
	"nvmlSystemGetDriverVersion",
	"nvmlDeviceGetCount_v2",
	"nvmlDeviceGetHandleByIndex_v2",
	"nvmlDeviceGetHandleByUUID",
	"nvmlDeviceGetUUID",
	"nvmlDeviceGetName",
	"nvmlDeviceGetMemoryInfo",
	"nvmlDeviceGetMemoryInfo_v2",
	"nvmlDeviceGetComputeRunningProcesses_v3",
};

static void look_for(struct probe *p, void *library, const char *name)
{
	p->functions++;
	if (dlsym(library, name))
		return;
	if (!p->missing++)
		snprintf(p->first_missing, sizeof(p->first_missing), "%s", name);
}

static void ask_driver(struct probe *p, void *library)
{
	CUresult (*init)(unsigned int) = (CUresult(*)(unsigned int))dlsym(library, "cuInit");
	CUresult (*version)(int *) = (CUresult(*)(int *))dlsym(library, "cuDriverGetVersion");
	CUresult (*count)(int *) = (CUresult(*)(int *))dlsym(library, "cuDeviceGetCount");
	CUresult (*name)(char *, int, CUdevice) = (CUresult(*)(char *, int, CUdevice))dlsym(library, "cuDeviceGetName");
	CUresult (*attribute)(int *, CUdevice_attribute, CUdevice) =
		(CUresult(*)(int *, CUdevice_attribute, CUdevice))dlsym(library, "cuDeviceGetAttribute");
	char text[256] = "";
	int major = 0, minor = 0;

	if (!init || !version || !count || !name) {
		p->loaded = false;
		snprintf(p->error, sizeof(p->error), "%.400s: not a CUDA driver", p->path);
		return;
	}
	p->result = (int)init(0);
	if (!p->result)
		p->result = (int)version(&p->cuda_version);
	if (!p->result)
		p->result = (int)count(&p->devices);
	if (!p->result && p->devices && attribute &&
	    !attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0) &&
	    !attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0))
		p->arch = (unsigned int)(major * 10 + minor);
	if (!p->result && p->devices && !name(text, (int)sizeof(text), 0))
		p->soft = !!strstr(text, "software device");
}

static void look(struct probe *p, const char *name, enum probe_kind kind)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	struct link_map *map;

	if (!library) {
		snprintf(p->error, sizeof(p->error), "%s", dlerror());
		return;
	}
	p->loaded = true;
	snprintf(p->path, sizeof(p->path), "%s", name);
	if (!dlinfo(library, RTLD_DI_LINKMAP, &map) && map->l_name)
		snprintf(p->path, sizeof(p->path), "%s", map->l_name);
	if (kind == PROBE_DRIVER)
		ask_driver(p, library);
	for (size_t i = 0; kind == PROBE_CUDA_EXPORTS && i < CUDA_CALL_COUNT; i++)
		look_for(p, library, cuda_call_name[i]);
	for (size_t i = 0; kind == PROBE_NVML_EXPORTS && i < sizeof(nvml_names) / sizeof(*nvml_names); i++)
		look_for(p, library, nvml_names[i]);
}

_Noreturn static void probe_child(const char *name, enum probe_kind kind, int tell)
{
	struct probe p = { 0 };
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	signal(SIGALRM, SIG_DFL);
	alarm(PROBE_SECONDS);
	/* Some drivers print when they find no device. */
	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	look(&p, name, kind);
	_exit(write(tell, &p, sizeof(p)) != sizeof(p));
}

void probe_library(const char *library, enum probe_kind kind, struct probe *ret)
{
	_cleanup_close_ int hear = -1, tell = -1;
	struct probe p = { 0 };
	int ends[2], status = 0;
	ssize_t n = -1;
	pid_t child;

	*ret = p;
	fflush(NULL);
	if (pipe2(ends, O_CLOEXEC)) {
		snprintf(ret->error, sizeof(ret->error), "%s: %s", library, strerror(errno));
		return;
	}
	hear = ends[0];
	tell = ends[1];
	child = fork();
	if (!child)
		probe_child(library, kind, tell);
	close(steal_fd(&tell));
	if (child > 0) {
		while ((n = read(hear, &p, sizeof(p))) < 0 && errno == EINTR)
			;
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
	}
	if (n == (ssize_t)sizeof(p))
		*ret = p;
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		snprintf(ret->error, sizeof(ret->error), "%s: hangs when it is asked (%d s)", library, PROBE_SECONDS);
	else if (WIFSIGNALED(status))
		snprintf(ret->error, sizeof(ret->error), "%s: crashes when it is asked (%s)", library,
			 strsignal(WTERMSIG(status)));
	else
		snprintf(ret->error, sizeof(ret->error), "%s: could not be asked: no process for it", library);
}
