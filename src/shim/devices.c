/* devices.c: see devices.h. The calls that carry a device stand in device_calls.c. */
#include "shim/devices.h"
#include "core/account.h"
#include "core/attach.h"
#include "core/log.h"
#include "shim/start.h"

#include <limits.h>
#include <string.h>

static struct {
	int real_count; /* the driver's visible devices */
	int seen_count; /* of those, the ones in the grant */
	bool same;
	bool told;		   /* the log knows when nothing is left */
	int8_t index[DEVICES_MAX]; /* by the driver's ordinal: index in the grant, -1: not in it */
	int8_t seen[DEVICES_MAX];  /* by the driver's ordinal: what the program calls it, -1: not shown */
	int8_t real[DEVICES_MAX];  /* by what the program calls it: the driver's ordinal */
} devices = { .same = true };

static int grant_index(const CUuuid *uuid)
{
	const struct wire_welcome *welcome = attach_welcome();

	for (unsigned int i = 0; i < welcome->device_count; i++)
		if (!memcmp(welcome->device[i].uuid, uuid->bytes, sizeof uuid->bytes))
			return (int)i;
	return -1;
}

/* A partition of a device has a UUID of its own, which only the second version of the call tells. */
static CUresult real_uuid(CUdevice device, CUuuid *ret)
{
	CUresult r = CUDA_ERROR_NOT_SUPPORTED;

	if (shim_has(CUDA_CALL_cuDeviceGetUuid_v2))
		r = shim_real.cuDeviceGetUuid_v2(ret, device);
	return r == CUDA_SUCCESS ? r : shim_real.cuDeviceGetUuid(ret, device);
}

int devices_match(void)
{
	int count = 0, all, seen = 0;

	if (shim_real.cuDeviceGetCount(&count) != CUDA_SUCCESS)
		return -1;
	all = count;
	if (count > DEVICES_MAX)
		count = DEVICES_MAX;
	for (int i = 0; i < count; i++) {
		CUdevice device;
		CUuuid uuid;
		int index = -1;

		if (shim_real.cuDeviceGet(&device, i) == CUDA_SUCCESS && real_uuid(device, &uuid) == CUDA_SUCCESS)
			index = grant_index(&uuid);
		devices.index[i] = (int8_t)index;
		devices.seen[i] = (int8_t)(index < 0 ? -1 : seen);
		if (index >= 0)
			devices.real[seen++] = (int8_t)i;
	}
	devices.real_count = count;
	devices.seen_count = seen;
	devices.same = seen == all; /* what lies behind the table is hidden, and so refused */
	if (all > count && !devices.told)
		log_line("the driver shows %d devices; the first %d are looked at, and the rest are hidden: name those "
			 "of "
			 "the grant '%s' in CUDA_VISIBLE_DEVICES",
			 all, count, attach_welcome()->grant_name);
	else if (count && !seen && !devices.told)
		log_line("none of the %d visible devices belongs to the grant '%s'; check CUDA_VISIBLE_DEVICES", count,
			 attach_welcome()->grant_name);
	devices.told = true;
	return seen;
}

bool devices_same(void)
{
	return devices.same;
}

bool devices_find(CUdevice real, unsigned int *ret_device)
{
	if (real < 0 || real >= devices.real_count || devices.index[real] < 0)
		return false;
	*ret_device = (unsigned int)devices.index[real];
	return true;
}

bool devices_real(unsigned int device, CUdevice *ret_real)
{
	for (int i = 0; i < devices.real_count; i++)
		if (devices.index[i] == (int)device) {
			*ret_real = i;
			return true;
		}
	return false;
}

int devices_seen_count(void)
{
	return devices.seen_count;
}

CUdevice devices_in(CUdevice seen)
{
	if (devices.same || seen < 0)
		return seen;
	return seen < devices.seen_count ? devices.real[seen] : INT_MAX;
}

CUdevice devices_out(CUdevice real)
{
	if (devices.same || real < 0)
		return real;
	return real < devices.real_count && devices.seen[real] >= 0 ? devices.seen[real] : CU_DEVICE_INVALID;
}
