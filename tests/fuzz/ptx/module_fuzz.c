/*
 * module_fuzz.c: fuzz target for cuModuleLoadData and what follows it: an input is an image of any kind, without a
 * size, that ends where memory ends. What loads is asked for its kernels, which are launched for a moment; whatever
 * comes of it, the call answers and the process goes on.
 */
#include "fuzz.h"

#include <cuda.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define IMAGE_ROOM ((size_t)1 << 19)
#define KERNELS_MAX 4

static uint8_t *image_end; /* nothing can be read from here on */
static char folder[64];
static CUcontext context;
static CUdeviceptr memory;

static void device_close(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/segment", folder);
	unlink(path);
	rmdir(folder);
}

static void device_open(void)
{
	uint8_t *p = mmap(NULL, IMAGE_ROOM + 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(p != MAP_FAILED && !mprotect(p + IMAGE_ROOM, 65536, PROT_NONE));
	image_end = p + IMAGE_ROOM;
	snprintf(folder, sizeof(folder), "%s/mete-fuzz-%d", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", getpid());
	setenv("METE_SOFT_DIR", folder, 1);
	setenv("METE_SOFT_DEVICES", "1", 1);
	setenv("METE_SOFT_MEMORY", "64M", 1);
	setenv("METE_SOFT_TIMEOUT", "0.005", 1);
	if (!getenv("METE_LOG"))
		setenv("METE_LOG", "/dev/null", 1);
	unsetenv("CUDA_VISIBLE_DEVICES");
	atexit(device_close);
	check(!cuInit(0));
}

/* A fault ends a context: the next input gets a new one. */
static void context_open(void)
{
	check(!cuCtxCreate(&context, NULL, 0, 0));
	check(!cuMemAlloc(&memory, 1 << 20));
}

static void launch(CUfunction f)
{
	static uint64_t params[4096 / 8];
	size_t bytes = sizeof(params);
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, params, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
			  CU_LAUNCH_PARAM_END };

	for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++)
		params[i] = memory;
	cuLaunchKernel(f, 2, 1, 1, 40, 1, 1, 0, NULL, NULL, extra);
}

static void use(CUmodule m)
{
	CUfunction f[KERNELS_MAX];
	unsigned int count = 0;

	check(!cuModuleGetFunctionCount(&count, m));
	count = count < KERNELS_MAX ? count : KERNELS_MAX;
	if (!count || cuModuleEnumerateFunctions(f, count, m))
		return;
	for (unsigned int i = 0; i < count; i++)
		launch(f[i]);
	if (cuCtxSynchronize()) {
		cuCtxDestroy(context);
		context = NULL;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	/* a text has its NUL, but for every eighth */
	const size_t nul = length % 8 && data[0] < 0x7f && data[0] >= ' ';
	uint8_t *image;
	CUmodule m = NULL;

	if (!image_end)
		device_open();
	if (!context)
		context_open();
	if (length + nul > IMAGE_ROOM)
		return 0;
	image = image_end - length - nul;
	image_end[-1] = 0;
	memcpy(image, data, length);
	if (!cuModuleLoadData(&m, image)) {
		use(m);
		if (context)
			check(!cuModuleUnload(m));
	}
	return 0;
}

#ifndef FUZZ_ENGINE
int main(int argc, char **argv)
{
	return fuzz_main(argc, argv, "\x01\x02\x08\x10\x20\x40\x80\xff.P");
}
#endif
