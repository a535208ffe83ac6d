/*
 * driver.c: a driver for tests of the shim, over the skeleton that the API's generator writes (every call not defined
 * here succeeds and does nothing). It computes nothing, but takes memory as a real driver does where the software
 * device does not: plain allocations come from blocks of 2 MiB that small ones share, pools grow in pieces of 32 MiB,
 * contexts and modules take memory that nobody announces. This file has devices and contexts; driver_memory.c has
 * memory by address, driver_objects.c memory by handle, arrays, modules, graphs and events.
 *
 *	TEST_DRIVER_FILE	what all processes together hold, per device, in bytes, and the most they ever held
 *	TEST_DRIVER_GRANULE	bytes of a block; default 2 MiB
 *	TEST_DRIVER_CONTEXT	bytes of a context
 *	TEST_DRIVER_FAIL	1: every allocation fails after it was asked for
 *	TEST_DRIVER_EMPTY	1: allocations are numbers, for measuring what the shim adds
 *	CUDA_VISIBLE_DEVICES	4 devices; indices or UUIDs, whose 16 bytes are all 0xd0 + index
 */
#include "driver_state.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct driver_state driver = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.granule = 2ull << 20,
	.next_address = 0x700000000000u,
};
__thread struct context *driver_current;
static struct driver_shared own;
static bool initialised;
static int strangers; /* ordinals before those of the devices, of devices that nobody grants */
static struct context primaries[DEVICES];

bool driver_take(int device, uint64_t bytes)
{
	uint64_t now = __atomic_add_fetch(&driver.shared->used[device], bytes, __ATOMIC_SEQ_CST);
	uint64_t peak = __atomic_load_n(&driver.shared->peak[device], __ATOMIC_SEQ_CST);

	if (now > DEVICE_BYTES) {
		__atomic_sub_fetch(&driver.shared->used[device], bytes, __ATOMIC_SEQ_CST);
		return false;
	}
	while (now > peak && !__atomic_compare_exchange_n(&driver.shared->peak[device], &peak, now, false,
							  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	return true;
}

void driver_give(int device, uint64_t bytes)
{
	__atomic_sub_fetch(&driver.shared->used[device], bytes, __ATOMIC_SEQ_CST);
}

uint64_t driver_number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void read_visible(void)
{
	char *list = getenv("CUDA_VISIBLE_DEVICES"), *word, *save;
	char copy[512];

	strangers = (int)driver_number("TEST_DRIVER_STRANGERS", 0);
	driver.visible_count = strangers;
	if (!list) {
		for (int i = 0; i < DEVICES; i++)
			driver.visible[driver.visible_count++] = i;
		return;
	}
	snprintf(copy, sizeof copy, "%s", list);
	for (word = strtok_r(copy, ",", &save); word && driver.visible_count < strangers + DEVICES;
	     word = strtok_r(NULL, ",", &save)) {
		int index = strncmp(word, "GPU-d", 5) ? atoi(word) : word[5] - '0';

		if (index < 0 || index >= DEVICES)
			break;
		driver.visible[driver.visible_count++] = index;
	}
}

/* The middle of a call, for what happens beside it. */
CUresult driver_middle(void)
{
	void (*during)(void) = driver.shared->during;
	bool refuse = driver.shared->refuse;

	driver.shared->during = NULL;
	driver.shared->refuse = 0;
	if (during)
		during();
	return refuse ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

EXPORT CUresult cuInit(unsigned int flags)
{
	const char *path = getenv("TEST_DRIVER_FILE");

	if (initialised)
		return CUDA_SUCCESS;
	driver.shared = &own;
	if (path) {
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

		if (fd < 0 || ftruncate(fd, sizeof *driver.shared) < 0)
			return CUDA_ERROR_UNKNOWN;
		driver.shared = mmap(NULL, sizeof *driver.shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
	}
	driver.granule = driver_number("TEST_DRIVER_GRANULE", driver.granule);
	driver.context_bytes = driver_number("TEST_DRIVER_CONTEXT", 0);
	driver.fail = driver_number("TEST_DRIVER_FAIL", 0);
	driver.empty = driver_number("TEST_DRIVER_EMPTY", 0);
	read_visible();
	for (int i = 0; i < DEVICES; i++) {
		driver.default_pools[i].device = i;
		primaries[i] = (struct context){ .device = i, .primary = true };
		driver.current_pools[i] = &driver.default_pools[i];
	}
	initialised = true;
	return driver.visible_count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

EXPORT CUresult cuDeviceGetCount(int *count)
{
	*count = driver.visible_count;
	return initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

bool driver_knows(CUdevice d)
{
	return d >= 0 && d < driver.visible_count;
}

EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	if (!driver_knows(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice d)
{
	if (!driver_knows(d))
		return CUDA_ERROR_INVALID_DEVICE;
	memset(uuid, d < strangers ? 0x80 + d : 0xd0 + driver.visible[d], sizeof *uuid);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice d)
{
	return cuDeviceGetUuid_v2(uuid, d);
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice d)
{
	if (!driver_knows(d))
		return CUDA_ERROR_INVALID_DEVICE;
	*bytes = DEVICE_BYTES;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice d)
{
	if (!driver_knows(d))
		return CUDA_ERROR_INVALID_DEVICE;
	*value = driver.visible[d];
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceCanAccessPeer(int *can, CUdevice a, CUdevice b)
{
	if (!driver_knows(a) || !driver_knows(b))
		return CUDA_ERROR_INVALID_DEVICE;
	*can = driver.visible[a] * 10 + driver.visible[b];
	return CUDA_SUCCESS;
}

/* ---- contexts ---- */

EXPORT CUresult cuCtxGetCurrent(CUcontext *ret)
{
	*ret = (CUcontext)driver_current;
	return initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext c)
{
	driver_current = (struct context *)c;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetDevice(CUdevice *ret)
{
	if (!driver_current)
		return CUDA_ERROR_INVALID_CONTEXT;
	for (int i = 0; i < driver.visible_count; i++)
		if (driver.visible[i] == driver_current->device)
			*ret = i;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *ret, CUdevice d)
{
	struct context *c;
	bool good;

	if (!driver_knows(d))
		return CUDA_ERROR_INVALID_DEVICE;
	c = &primaries[driver.visible[d]];
	pthread_mutex_lock(&driver.lock);
	good = c->references || driver_take(c->device, driver.context_bytes);
	c->references += good;
	pthread_mutex_unlock(&driver.lock);
	*ret = (CUcontext)c;
	return good ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice d, unsigned int *flags, int *active)
{
	*flags = 0;
	pthread_mutex_lock(&driver.lock);
	*active = primaries[driver.visible[d]].references > 0;
	pthread_mutex_unlock(&driver.lock);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d)
{
	struct context *c = &primaries[driver.visible[d]];

	if (!c->references)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (--c->references == 0) {
		driver_context_ends(c);
		driver_give(c->device, driver.context_bytes);
	}
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice d)
{
	primaries[driver.visible[d]].references = 1;
	return cuDevicePrimaryCtxRelease_v2(d);
}

EXPORT CUresult cuCtxCreate_v2(CUcontext *ret, unsigned int flags, CUdevice d)
{
	struct context *c;

	if (!driver_knows(d))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!driver_take(driver.visible[d], driver.context_bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	c = calloc(1, sizeof *c);
	c->device = driver.visible[d];
	c->below = driver_current;
	*ret = (CUcontext)(driver_current = c);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxDestroy_v2(CUcontext context)
{
	struct context *c = (struct context *)context;

	driver_context_ends(c);
	driver_give(c->device, driver.context_bytes);
	if (driver_current == c)
		driver_current = c->below;
	free(c);
	return CUDA_SUCCESS;
}

/* What is pushed and popped; a green context is none. */
static struct green {
	struct context context;
	bool is;
} greens[4];
static __thread struct context *pushed[16];
static __thread unsigned int push_depth;

static bool is_green(const void *context)
{
	return (const char *)context >= (const char *)greens && (const char *)context < (const char *)(greens + 4) &&
	       ((const char *)context - (const char *)greens) % sizeof *greens == offsetof(struct green, is);
}

EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context)
{
	if (!context || is_green(context) || push_depth == sizeof pushed / sizeof *pushed)
		return CUDA_ERROR_INVALID_CONTEXT;
	pushed[push_depth++] = driver_current;
	driver_current = (struct context *)context;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *ret)
{
	if (ret)
		*ret = (CUcontext)driver_current;
	if (push_depth)
		driver_current = pushed[--push_depth];
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGreenCtxCreate(CUgreenCtx *ret, CUdevResourceDesc desc, CUdevice d, unsigned int flags)
{
	struct green *g = greens;

	while (g < greens + 4 && g->is)
		g++;
	if (!driver_knows(d) || g == greens + 4)
		return CUDA_ERROR_INVALID_DEVICE;
	*g = (struct green){ { .device = driver.visible[d] }, true };
	*ret = (CUgreenCtx)(void *)&g->is;
	return CUDA_SUCCESS;
}

static struct green *green_of(CUgreenCtx h)
{
	return (struct green *)(void *)((char *)h - offsetof(struct green, is));
}

EXPORT CUresult cuCtxFromGreenCtx(CUcontext *ret, CUgreenCtx h)
{
	*ret = (CUcontext)&green_of(h)->context;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGreenCtxDestroy(CUgreenCtx h)
{
	driver_context_ends(&green_of(h)->context);
	green_of(h)->is = false;
	return CUDA_SUCCESS;
}

/* ---- the table of calls ---- */

static CUresult newer_cuMemAlloc(CUdeviceptr *p, size_t bytes)
{
	*p = 0x1234000;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
				    CUdriverProcAddressQueryResult *status)
{
	char name[128];
	Dl_info self;
	void *handle;

	/* A variant that is newer than the tables know. */
	if (version > 13050 && !strcmp(symbol, "cuMemAlloc")) {
		*pfn = (void *)newer_cuMemAlloc;
		return CUDA_SUCCESS;
	}
	/* The newest by name is enough here; which variant a version means is the tables' affair. */
	dladdr((void *)cuInit, &self);
	handle = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	*pfn = NULL;
	if (flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) {
		snprintf(name, sizeof name, "%s_ptsz", symbol);
		*pfn = dlsym(handle, name);
	}
	snprintf(name, sizeof name, "%s_v2", symbol);
	if (!*pfn)
		*pfn = dlsym(handle, name);
	if (!*pfn)
		*pfn = dlsym(handle, symbol);
	dlclose(handle);
	if (status)
		*status = *pfn ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}
