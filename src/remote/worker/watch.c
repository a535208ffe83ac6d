/*
 * watch.c: see src/remote/watch.h. The tenant's figures come from the shim, through the primary context that the worker
 * was charged for when it began: nothing is made for the question. The figure of the program alone comes from the
 * account page of this process.
 */
#include "remote/worker/watch.h"

#include "remote/watch.h"
#include "remote/worker/card_link.h"
#include "remote/worker/contexts.h"
#include "remote/worker/own_account.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static char version[WATCH_VERSION_BYTES];

static void version_read(void)
{
	FILE *f = fopen("/sys/module/nvidia/version", "re");

	if (!f)
		return;
	if (!fgets(version, sizeof(version), f))
		*version = 0;
	version[strcspn(version, "\n ")] = 0;
	fclose(f);
}

void watch_open(void)
{
	version_read();
	card_link_open("/sys/bus/pci/devices");
}

static CUresult figures_read(const struct cuda_table *driver, CUdevice device, struct watch_figures *ret)
{
	size_t free_bytes = 0, total_bytes = 0;
	CUcontext context;
	CUresult r = driver->cuDevicePrimaryCtxRetain(&context, device);

	if (r != CUDA_SUCCESS)
		return r;
	r = driver->cuCtxPushCurrent_v2(context);
	if (r == CUDA_SUCCESS) {
		r = driver->cuMemGetInfo_v2(&free_bytes, &total_bytes);
		driver->cuCtxPopCurrent_v2(&context);
	}
	driver->cuDevicePrimaryCtxRelease_v2(device);
	ret->total_bytes = total_bytes;
	ret->free_bytes = free_bytes;
	return r;
}

static uint64_t own_bytes(const struct cuda_table *driver, CUdevice device)
{
	CUuuid uuid;

	if (driver->cuDeviceGetUuid_v2(&uuid, device) != CUDA_SUCCESS)
		return WATCH_UNKNOWN;
	return own_account_bytes((const uint8_t *)uuid.bytes);
}

int worker_other_watch(struct work *work)
{
	struct watch_figures f = { 0 };
	int32_t device = -1;

	remote_get(&work->in, &device, sizeof(device));
	if (work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	memcpy(f.driver_version, version, sizeof(version));
	contexts_primary_lock(work, device);
	work->result = figures_read(work->driver, device, &f);
	contexts_primary_unlock(device);
	if (work->result != CUDA_SUCCESS)
		return 0;
	card_link_read(work->driver, device, &f.link);
	f.own_bytes = own_bytes(work->driver, device);
	remote_put(&work->out, &f, sizeof(f));
	return 0;
}
