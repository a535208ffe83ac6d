/*
 * nvrtc.c: NVRTC's front on the software device.
 *
 * A program that asks NVRTC for machine code (a target sm_90, nvrtcGetCUBIN) asks for what this device cannot run. PTX
 * is its machine code: the target becomes compute_90, the real NVRTC compiles, and what is handed out as the CUBIN is
 * the PTX, with a first line that says so. A program that asks for a compute_ target, or for nothing, has the real
 * library's answers unchanged, and so has everything else: each other call goes to the real one as it is.
 *
 * Facts: NVRTC documentation, "Basic Usage" and the options --gpu-architecture, nvrtcGetCUBINSize ("0 if the value
 * specified to -arch is a virtual architecture").
 */
#include "base/cleanup.h"
#include "fronts/real.h"
#include "softdev/log.h"

#include <stdbool.h>
#include <string.h>

enum {
	NVRTC_SUCCESS = 0,
	NVRTC_ERROR_OUT_OF_MEMORY = 1,
	NVRTC_ERROR_INVALID_INPUT = 3,
	NVRTC_ERROR_INTERNAL_ERROR = 11
};

typedef struct nvrtc_program *nvrtcProgram;

static const char head[] = "// PTX in the place of machine code, by mete for its software device\n";

static const char *const names[] = {
#if FRONT_MAJOR == 12
	"libnvrtc.so.12", "libnvrtc.so.13",
#else
	"libnvrtc.so.13", "libnvrtc.so.12",
#endif
	"libnvrtc.so.11.2", "libnvrtc.so", NULL
};
static const char *const wheels[] = {
#if FRONT_MAJOR == 12
	"nvidia/cuda_nvrtc/lib", "nvidia/cu12/lib", "nvidia/cu13/lib",
#else
	"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib", "nvidia/cu12/lib",
#endif
	NULL
};

static struct real real = { .name = names,
			    .wheel = wheels,
			    .variable = "METE_NVRTC",
			    .what = "NVRTC (libnvrtc)",
			    .package = "nvidia-cuda-nvrtc",
			    .once = PTHREAD_ONCE_INIT };

/* Programs that were compiled for an sm_ target, and of which the CUBIN is therefore the PTX. */
struct translated {
	nvrtcProgram program;
	struct translated *next;
};

static pthread_mutex_t translated_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct translated *translated_list;

static void open_once(void)
{
	real_open(&real);
}

/* The same for every call that the library there does not have. */
static int missing(const char *call)
{
	if (real.handle)
		log_line("%s: the NVRTC that was found does not have this call; use a newer package %s", call,
			 real.package);
	return NVRTC_ERROR_INTERNAL_ERROR;
}

#define REAL(call) ((__typeof__(&call))real_symbol(&real, open_once, #call))

/* A call that goes to the real library as it is. */
#define PASS(call, parameters, arguments)                                                                              \
	int call parameters;                                                                                           \
	__attribute__((visibility("default"))) int call parameters                                                     \
	{                                                                                                              \
		__typeof__(&call) f = REAL(call);                                                                      \
		return f ? f arguments : missing(#call);                                                               \
	}

PASS(nvrtcVersion, (int *major, int *minor), (major, minor))
PASS(nvrtcGetNumSupportedArchs, (int *count), (count))
PASS(nvrtcGetSupportedArchs, (int *archs), (archs))
PASS(nvrtcCreateProgram,
	(nvrtcProgram *p, const char *source, const char *name, int count, const char *const *headers,
		const char *const *include_names),
	(p, source, name, count, headers, include_names))
PASS(nvrtcGetPTXSize, (nvrtcProgram p, size_t *ret), (p, ret))
PASS(nvrtcGetPTX, (nvrtcProgram p, char *ret), (p, ret))
PASS(nvrtcGetNVVMSize, (nvrtcProgram p, size_t *ret), (p, ret))
PASS(nvrtcGetNVVM, (nvrtcProgram p, char *ret), (p, ret))
PASS(nvrtcGetLTOIRSize, (nvrtcProgram p, size_t *ret), (p, ret))
PASS(nvrtcGetLTOIR, (nvrtcProgram p, char *ret), (p, ret))
PASS(nvrtcGetOptiXIRSize, (nvrtcProgram p, size_t *ret), (p, ret))
PASS(nvrtcGetOptiXIR, (nvrtcProgram p, char *ret), (p, ret))
PASS(nvrtcGetTileIRSize, (nvrtcProgram p, size_t *ret), (p, ret))
PASS(nvrtcGetTileIR, (nvrtcProgram p, char *ret), (p, ret))
PASS(nvrtcGetProgramLogSize, (nvrtcProgram p, size_t *ret), (p, ret))
PASS(nvrtcGetProgramLog, (nvrtcProgram p, char *ret), (p, ret))
PASS(nvrtcAddNameExpression, (nvrtcProgram p, const char *name), (p, name))
PASS(nvrtcGetLoweredName, (nvrtcProgram p, const char *name, const char **ret), (p, name, ret))
PASS(nvrtcGetPCHHeapSize, (size_t * ret), (ret))
PASS(nvrtcSetPCHHeapSize, (size_t bytes), (bytes))
PASS(nvrtcGetPCHCreateStatus, (nvrtcProgram p), (p))
PASS(nvrtcGetPCHHeapSizeRequired, (nvrtcProgram p, size_t *ret), (p, ret))
PASS(nvrtcSetFlowCallback, (nvrtcProgram p, int (*callback)(void *, void *), void *payload), (p, callback, payload))
PASS(nvrtcInstallBundledHeaders, (const char *folder, void *a, void *b), (folder, a, b))
PASS(nvrtcRemoveBundledHeaders, (const char *folder, void *a, void *b), (folder, a, b))
PASS(nvrtcGetBundledHeadersInfo, (void *a, void *b, void *c), (a, b, c))

const char *nvrtcGetErrorString(int result);
__attribute__((visibility("default"))) const char *nvrtcGetErrorString(int result)
{
	__typeof__(&nvrtcGetErrorString) f = REAL(nvrtcGetErrorString);

	if (f)
		return f(result);
	return result ? "NVRTC_ERROR_INTERNAL_ERROR: NVIDIA's NVRTC was not found; install the package "
			"nvidia-cuda-nvrtc, or name it with METE_NVRTC"
		      : "NVRTC_SUCCESS";
}

/* ---- which programs are translated ---- */

static bool translated_find(nvrtcProgram p)
{
	bool found = false;

	pthread_mutex_lock(&translated_mutex);
	for (const struct translated *t = translated_list; t && !found; t = t->next)
		found = t->program == p;
	pthread_mutex_unlock(&translated_mutex);
	return found;
}

static void translated_remove(nvrtcProgram p)
{
	struct translated *gone = NULL;

	pthread_mutex_lock(&translated_mutex);
	for (struct translated **t = &translated_list; *t; t = &(*t)->next)
		if ((*t)->program == p) {
			gone = *t;
			*t = gone->next;
			break;
		}
	pthread_mutex_unlock(&translated_mutex);
	free(gone);
}

static bool translated_add(nvrtcProgram p)
{
	struct translated *t;

	translated_remove(p);
	t = calloc(1, sizeof(*t));
	if (!t)
		return false;
	t->program = p;
	pthread_mutex_lock(&translated_mutex);
	t->next = translated_list;
	translated_list = t;
	pthread_mutex_unlock(&translated_mutex);
	return true;
}

int nvrtcDestroyProgram(nvrtcProgram *p);
__attribute__((visibility("default"))) int nvrtcDestroyProgram(nvrtcProgram *p)
{
	__typeof__(&nvrtcDestroyProgram) f = REAL(nvrtcDestroyProgram);

	if (p)
		translated_remove(*p);
	return f ? f(p) : missing("nvrtcDestroyProgram");
}

/* ---- compiling ---- */

/* The value of an option that names the target, within the option or as the next one. NULL: another option. */
static const char *target_of(const char *option, const char *next, bool *ret_next)
{
	static const char *const name[] = { "--gpu-architecture", "-arch" };

	*ret_next = false;
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
		size_t n = strlen(name[i]);

		if (strncmp(option, name[i], n))
			continue;
		if (option[n] == '=')
			return option + n + 1;
		if (!option[n] && next) {
			*ret_next = true;
			return next;
		}
	}
	return NULL;
}

/* "-arch=sm_90a" as "--gpu-architecture=compute_90a", allocated; NULL: no memory. */
static char *virtual_option(const char *target)
{
	char *option = NULL;

	return asprintf(&option, "--gpu-architecture=compute_%s", target + 3) < 0 ? NULL : option;
}

int nvrtcCompileProgram(nvrtcProgram p, int count, const char *const *options);
__attribute__((visibility("default"))) int nvrtcCompileProgram(nvrtcProgram p, int count, const char *const *options)
{
	__typeof__(&nvrtcCompileProgram) f = REAL(nvrtcCompileProgram);
	_cleanup_free_ const char **list = NULL;
	_cleanup_free_ char *replaced = NULL;
	int n = 0;

	if (!f)
		return missing("nvrtcCompileProgram");
	translated_remove(p);
	if (count <= 0 || !options)
		return f(p, count, options);
	list = calloc((size_t)count + 1, sizeof(*list));
	if (!list)
		return NVRTC_ERROR_OUT_OF_MEMORY;
	for (int i = 0; i < count; i++) {
		bool next;
		const char *target =
			options[i] ? target_of(options[i], i + 1 < count ? options[i + 1] : NULL, &next) : NULL;

		if (!target || strncmp(target, "sm_", 3) || replaced) {
			list[n++] = options[i];
			continue;
		}
		replaced = virtual_option(target);
		if (!replaced || !translated_add(p))
			return NVRTC_ERROR_OUT_OF_MEMORY;
		list[n++] = replaced;
		i += next;
	}
	return f(p, n, list);
}

/* ---- the CUBIN ---- */

int nvrtcGetCUBINSize(nvrtcProgram p, size_t *ret);
__attribute__((visibility("default"))) int nvrtcGetCUBINSize(nvrtcProgram p, size_t *ret)
{
	__typeof__(&nvrtcGetCUBINSize) f = REAL(nvrtcGetCUBINSize);
	size_t bytes = 0;
	int r;

	if (!f || !ret || !translated_find(p))
		return f ? f(p, ret) : missing("nvrtcGetCUBINSize");
	r = nvrtcGetPTXSize(p, &bytes);
	if (!r)
		*ret = bytes > 1 ? bytes + sizeof(head) - 1 : 0; /* none with -dlto */
	return r;
}

int nvrtcGetCUBIN(nvrtcProgram p, char *ret);
__attribute__((visibility("default"))) int nvrtcGetCUBIN(nvrtcProgram p, char *ret)
{
	__typeof__(&nvrtcGetCUBIN) f = REAL(nvrtcGetCUBIN);

	if (!f || !ret || !translated_find(p))
		return f ? f(p, ret) : missing("nvrtcGetCUBIN");
	memcpy(ret, head, sizeof(head) - 1);
	return nvrtcGetPTX(p, ret + sizeof(head) - 1);
}
