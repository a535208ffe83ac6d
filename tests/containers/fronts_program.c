/*
 * fronts_program.c: asks NVRTC and nvJitLink for machine code, by their sonames, and runs what they give on the device:
 * what a framework does in a container. Prints PASS, or where it ended.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static const char ptx[] = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry twice(.param .u64 p)\n{\n"
			  ".reg .b64 %a; .reg .f32 %f;\nld.param.u64 %a, [p]; ld.global.f32 %f, [%a];\n"
			  "add.f32 %f, %f, %f; st.global.f32 [%a], %f; ret;\n}\n";

static void *symbol(void *library, const char *name)
{
	void *p = library ? dlsym(library, name) : NULL;

	if (!p) {
		printf("no %s: %s\n", name, dlerror());
		exit(1);
	}
	return p;
}

#define OF(library, name, ...) ((int (*)(__VA_ARGS__))symbol(library, #name))
#define DRIVER_NAME(name) #name
#define DRIVER(name) ((__typeof__(&name))symbol(driver, DRIVER_NAME(name)))
#define MUST(what)                                                                                                     \
	do {                                                                                                           \
		const int r_ = (int)(what);                                                                            \
		if (r_) {                                                                                              \
			printf("%s: %d\n", #what, r_);                                                                 \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

static char *by_nvrtc(size_t *bytes)
{
	void *l = dlopen("libnvrtc.so.13", RTLD_NOW), *program = NULL;
	const char *option = "-arch=sm_90";
	char *code;

	MUST(OF(l, nvrtcCreateProgram, void **, const char *, const char *, int, const char *const *,
		const char *const *)(&program, "twice", "twice.cu", 0, NULL, NULL));
	MUST(OF(l, nvrtcCompileProgram, void *, int, const char *const *)(program, 1, &option));
	MUST(OF(l, nvrtcGetCUBINSize, void *, size_t *)(program, bytes));
	code = malloc(*bytes);
	MUST(OF(l, nvrtcGetCUBIN, void *, char *)(program, code));
	return code;
}

static char *by_linker(size_t *bytes)
{
	void *l = dlopen("libnvJitLink.so.13", RTLD_NOW), *link = NULL;
	const char *option = "-arch=sm_90";
	const int is_ptx = 2;
	char *code;

	MUST(OF(l, nvJitLinkCreate, void **, unsigned int, const char **)(&link, 1, &option));
	MUST(OF(l, nvJitLinkAddData, void *, int, const void *, size_t, const char *)(link, is_ptx, ptx, sizeof(ptx),
										      "twice.ptx"));
	MUST(OF(l, nvJitLinkComplete, void *)(link));
	MUST(OF(l, nvJitLinkGetLinkedCubinSize, void *, size_t *)(link, bytes));
	code = malloc(*bytes);
	MUST(OF(l, nvJitLinkGetLinkedCubin, void *, void *)(link, code));
	return code;
}

static void run(void *driver, const char *code)
{
	float v = 21;
	CUdeviceptr p;
	CUmodule m;
	CUfunction f;
	void *arg[] = { &p };

	MUST(DRIVER(cuModuleLoadData)(&m, code));
	MUST(DRIVER(cuModuleGetFunction)(&f, m, "twice"));
	MUST(DRIVER(cuMemAlloc)(&p, sizeof(v)));
	MUST(DRIVER(cuMemcpyHtoD)(p, &v, sizeof(v)));
	MUST(DRIVER(cuLaunchKernel)(f, 1, 1, 1, 1, 1, 1, 0, NULL, arg, NULL));
	MUST(DRIVER(cuMemcpyDtoH)(&v, p, sizeof(v)));
	MUST(v != 42);
}

int main(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	CUcontext context;
	size_t bytes;

	MUST(DRIVER(cuInit)(0));
	MUST(DRIVER(cuDevicePrimaryCtxRetain)(&context, 0));
	MUST(DRIVER(cuCtxSetCurrent)(context));
	run(driver, by_nvrtc(&bytes));
	run(driver, by_linker(&bytes));
	printf("PASS\n");
	return 0;
}
