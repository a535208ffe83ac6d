/* soft_env.c: see soft_env.h. */
#include "cli/soft_env.h"

#include "client/runtime_env.h"
#include "verb/say.h"
#include "client/tenant_env.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NO_DEVICE 100 /* CUDA_ERROR_NO_DEVICE */

static const struct {
	const char *option, *variable;
} variables[] = {
	{ "devices", "METE_SOFT_DEVICES" },
	{ "memory", "METE_SOFT_MEMORY" },
	{ "sms", "METE_SOFT_SMS" },
	{ "cc", "METE_SOFT_CC" },
	{ "driver-version", "METE_SOFT_DRIVER_VERSION" },
	{ "name", "METE_SOFT_NAME" },
	{ "context-memory", "METE_SOFT_CONTEXT_MEMORY" },
	{ "linger", "METE_SOFT_LINGER" },
	{ "threads", "METE_SOFT_THREADS" },
	{ "check", "METE_SOFT_CHECK" },
	{ "timeout", "METE_SOFT_TIMEOUT" },
	{ "duration", "METE_SOFT_DURATION" },
	{ "rate", "METE_SOFT_RATE" },
	{ "copy-rate", "METE_SOFT_COPY_RATE" },
	{ "slice", "METE_SOFT_SLICE" },
	{ "switch", "METE_SOFT_SWITCH" },
	{ "sharing", "METE_SOFT_SHARING" },
	{ "time", "METE_SOFT_TIME" },
	{ "compile", "METE_SOFT_COMPILE" },
};

static int set(const char *name, const char *value, struct fault *f)
{
	return setenv(name, value, 1)
		       ? fault_set(f, -ENOMEM, "no memory for the program's environment; end other programs")
		       : 0;
}

static int set_library_path(const struct place *p, struct fault *f)
{
	const char *old = getenv("LD_LIBRARY_PATH");
	char *value = NULL;
	int r;

	if (asprintf(&value, "%s%s%s%s%s", p->soft_dir, *p->runtime_dir ? ":" : "", p->runtime_dir,
		     old && *old ? ":" : "", old ? old : "") < 0)
		return fault_set(f, -ENOMEM, "no memory for the program's environment; end other programs");
	r = set("LD_LIBRARY_PATH", value, f);
	free(value);
	return r;
}

/* The runtime library in LD_PRELOAD too, for programs that name a toolkit's folder (runtime_env.h says why). */
static int set_preload(const struct place *p, struct fault *f)
{
	const char *old = getenv("LD_PRELOAD");
	char *libraries, *value = NULL;
	int r;

	if (!*p->runtime_dir || strpbrk(p->runtime_dir, " \t\n"))
		return 0;
	libraries = runtime_env_preload(p->runtime_dir, true, NULL);
	if (!libraries || asprintf(&value, "%s%s%s", libraries, old && *old ? ":" : "", old ? old : "") < 0)
		value = NULL;
	free(libraries);
	r = value ? set("LD_PRELOAD", value, f)
		  : fault_set(f, -ENOMEM, "no memory for the program's environment; end other programs");
	free(value);
	return r;
}

int soft_env_enter(const struct place *p, const struct command_line *line, struct fault *f)
{
	int r;

	if (strpbrk(p->soft_dir, ":;$"))
		return fault_set(f, -EINVAL,
				 "%s: a \":\", \";\" or \"$\" in this path keeps programs from finding the software "
				 "device; move mete, or set METE_LIBDIR to another path",
				 p->soft_dir);
	tenant_env_leave();
	r = set_library_path(p, f);
	if (!r)
		r = set_preload(p, f);
	if (!r && *p->runtime_dir && !runtime_env_tools(p->runtime_dir))
		r = fault_set(f, -ENOMEM, "no memory for the program's environment; end other programs");
	for (size_t i = 0; !r && i < sizeof(variables) / sizeof(*variables); i++)
		if (option_given(line, variables[i].option))
			r = set(variables[i].variable, option_value(line, variables[i].option), f);
	return r;
}

_Noreturn static void start_device(const struct place *p)
{
	char path[PATH_MAX];
	void *library;
	int (*init)(unsigned int);
	int r;

	if (!path_join(path, "%s/libcuda.so.1", p->soft_dir))
		_exit(1);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	init = library ? (int (*)(unsigned int))dlsym(library, "cuInit") : NULL;
	if (!init)
		say_error("%s; install all of mete", dlerror());
	/* A device that none is left of (CUDA_VISIBLE_DEVICES, --devices 0) is the program's to see. */
	r = init ? init(0) : 1;
	exit(r && r != NO_DEVICE);
}

bool soft_env_works(const struct place *p)
{
	int status = -1;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (!child)
		start_device(p);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}
