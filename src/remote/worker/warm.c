/* warm.c: see warm.h. */
#include "remote/worker/warm.h"

#include "remote/worker/driver.h"
#include "remote/worker/occupied.h"
#include "remote/worker/pageable.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "GPU-xxxxxxxx-xxxx-..." as bytes. False: it is none. */
static bool read_uuid(const char *text, size_t length, uint8_t ret[16])
{
	unsigned int n = 0;

	for (size_t i = 4; i < length && n < 32; i++) {
		int digit = text[i] >= '0' && text[i] <= '9'   ? text[i] - '0'
			    : text[i] >= 'a' && text[i] <= 'f' ? text[i] - 'a' + 10
							       : -1;

		if (text[i] == '-')
			continue;
		if (digit < 0)
			return false;
		ret[n / 2] = (uint8_t)(n % 2 ? ret[n / 2] << 4 | digit : digit);
		n++;
	}
	return n == 32;
}

static bool is_device(const struct cuda_table *driver, CUdevice device, const uint8_t wanted[16])
{
	CUuuid uuid;

	if (driver->cuDeviceGetUuid_v2(&uuid, device) != CUDA_SUCCESS &&
	    driver->cuDeviceGetUuid(&uuid, device) != CUDA_SUCCESS)
		return false;
	return !memcmp(uuid.bytes, wanted, 16);
}

static bool find_device(const struct cuda_table *driver, const uint8_t wanted[16], CUdevice *ret)
{
	int count = 0;

	if (driver->cuDeviceGetCount(&count) != CUDA_SUCCESS)
		return false;
	for (int i = 0; i < count; i++)
		if (driver->cuDeviceGet(ret, i) == CUDA_SUCCESS && is_device(driver, *ret, wanted))
			return true;
	return false;
}

/*
 * What NVIDIA's driver opens when it first needs it, which a worker behind its fence can no longer do: the compiler of
 * PTX, by compiling and by linking. Seen with driver 580: without it a load of PTX ends in
 * CUDA_ERROR_JIT_COMPILER_NOT_FOUND.
 */
static void compile_once(const struct cuda_table *driver, CUdevice device)
{
	char ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry warm() { ret; }\n";
	CUlinkState link;
	CUcontext context;
	CUmodule module;
	size_t bytes;
	void *cubin;

	if (driver->cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS)
		return;
	if (driver->cuCtxSetCurrent(context) == CUDA_SUCCESS) {
		if (driver->cuModuleLoadData(&module, ptx) == CUDA_SUCCESS)
			driver->cuModuleUnload(module);
		if (driver->cuLinkCreate_v2(0, NULL, NULL, &link) == CUDA_SUCCESS) {
			if (driver->cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, ptx, sizeof(ptx), "warm", 0, NULL,
						     NULL) == CUDA_SUCCESS)
				driver->cuLinkComplete(link, &cubin, &bytes);
			driver->cuLinkDestroy(link);
		}
		driver->cuCtxSetCurrent(NULL);
	}
	driver->cuDevicePrimaryCtxRelease_v2(device);
}

static bool make_contexts(struct warm *warm, const char *devices, char *why, size_t why_bytes)
{
	CUcontext context;
	uint8_t uuid[16];
	CUresult r;

	for (const char *p = devices; *p; p += strspn(p, ",")) {
		size_t length = strcspn(p, ",");

		if (warm->count == WARM_DEVICES || !read_uuid(p, length, uuid) ||
		    !find_device(&warm->driver, uuid, &warm->device[warm->count])) {
			snprintf(why, why_bytes, "device %.*s is not there", (int)length, p);
			return false;
		}
		r = warm->driver.cuDevicePrimaryCtxRetain(&context, warm->device[warm->count]);
		if (r != CUDA_SUCCESS) {
			snprintf(why, why_bytes, "no context can be made on device %.*s: CUDA error %d", (int)length, p,
				 (int)r);
			return false;
		}
		if (!warm->count)
			compile_once(&warm->driver, warm->device[0]);
		if (pageable_reached(&warm->driver, warm->device[warm->count]))
			fprintf(stderr,
				"device %.*s reaches this worker's own memory (HMM or shared page tables), so its wall "
				"holds against honest tenants only: load nvidia-uvm with uvm_disable_hmm=1\n",
				(int)length, p);
		warm->context_bytes[warm->count++] = occupied_bytes(p, length);
		p += length;
	}
	return true;
}

/* The driver's compilers for intermediate code (NVVM), which lie beside it; it finds them by name once they are open.
 */
static void open_compilers(const char *driver)
{
	static const char *const names[] = { "libnvidia-nvvm.so.4", "libnvidia-nvvm70.so.4" };
	char real[PATH_MAX], path[PATH_MAX + 32], *slash;

	if (!realpath(driver, real))
		return;
	slash = strrchr(real, '/');
	if (!slash)
		return;
	*slash = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", real, names[i]);
		dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	}
}

bool warm_up(struct warm *warm, const char *shim, const char *devices, char *why, size_t why_bytes)
{
	const char *path = getenv("METE_DRIVER");
	CUresult r;

	memset(warm, 0, sizeof(*warm));
	/*
	 * The shim is loaded before the driver: libraries of NVIDIA's ask for libcuda.so.1 by its name, and get what
	 * has that name first. With the driver itself what they take would be charged to nobody.
	 */
	if (!driver_open(shim, &warm->shim, why, why_bytes))
		return false;
	if (!path || !*path || !driver_open(path, &warm->driver, why, why_bytes)) {
		if (!path || !*path)
			snprintf(why, why_bytes, "METE_DRIVER names no driver");
		return false;
	}
	setenv("CUDA_CACHE_DISABLE", "1", 1); /* there is nowhere to keep what NVIDIA's driver compiles */
	setenv("METE_SOFT_SEALED", "1", 1); /* the software device keeps open what it needs later */
	r = warm->driver.cuInit(0);
	if (r != CUDA_SUCCESS) {
		snprintf(why, why_bytes, "the driver does not start: CUDA error %d", (int)r);
		return false;
	}
	occupied_open();
	open_compilers(path);
	return make_contexts(warm, devices, why, why_bytes);
}

CUresult warm_take(struct warm *warm)
{
	CUresult r = warm->shim.cuInit(0);
	CUcontext context;
	CUdevice device;

	for (unsigned int i = 0; i < warm->count && r == CUDA_SUCCESS; i++) {
		r = warm->shim.cuDeviceGet(&device, (int)i);
		if (r == CUDA_SUCCESS)
			r = warm->shim.cuDevicePrimaryCtxRetain(&context, device);
	}
	return r;
}
