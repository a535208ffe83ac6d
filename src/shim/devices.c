/* devices.c: see devices.h. The calls that carry a device stand in device_calls.c. */
#include "shim/devices.h"
#include "core/attach.h"
#include "core/log.h"
#include "core/ordinals.h"
#include "core/shape.h"
#include "shim/start.h"

#include <string.h>

static struct ordinals devices = { .same = true };
static bool devices_told; /* the log knows when nothing is left */

/* A partition of a device has a UUID of its own, which only the second version of the call tells. */
static CUresult real_uuid(CUdevice device, CUuuid *ret)
{
	CUresult r = CUDA_ERROR_NOT_SUPPORTED;

	if (shim_has(CUDA_CALL_cuDeviceGetUuid_v2))
		r = shim_real.cuDeviceGetUuid_v2(ret, device);
	return r == CUDA_SUCCESS ? r : shim_real.cuDeviceGetUuid(ret, device);
}

static bool ordinal_uuid(int real, uint8_t ret_uuid[16])
{
	CUdevice device;
	CUuuid uuid;

	if (shim_real.cuDeviceGet(&device, real) != CUDA_SUCCESS || real_uuid(device, &uuid) != CUDA_SUCCESS)
		return false;
	memcpy(ret_uuid, uuid.bytes, sizeof uuid.bytes);
	return true;
}

int devices_match(void)
{
	int count = 0;

	if (shim_real.cuDeviceGetCount(&count) != CUDA_SUCCESS)
		return -1;
	ordinals_match(&devices, count, ordinal_uuid);
	if (count > ORDINALS_MAX && !devices_told)
		log_line("the driver shows %d devices; the first %d are looked at, and the rest are hidden: name those "
			 "of the grant '%s' in %s",
			 count, ORDINALS_MAX, attach_welcome()->grant_name, shape.visible);
	else if (count && !devices.seen_count && !devices_told)
		log_line("none of the %d visible devices belongs to the grant '%s'; check %s", count,
			 attach_welcome()->grant_name, shape.visible);
	devices_told = true;
	return devices.seen_count;
}

bool devices_same(void)
{
	return devices.same;
}

bool devices_find(CUdevice real, unsigned int *ret_device)
{
	return ordinals_find(&devices, real, ret_device);
}

bool devices_real(unsigned int device, CUdevice *ret_real)
{
	return ordinals_real(&devices, device, ret_real);
}

int devices_seen_count(void)
{
	return devices.seen_count;
}

CUdevice devices_in(CUdevice seen)
{
	return ordinals_in(&devices, seen);
}

CUdevice devices_out(CUdevice real)
{
	return ordinals_out(&devices, real, CU_DEVICE_INVALID);
}
