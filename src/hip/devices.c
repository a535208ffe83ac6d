/* devices.c: see devices.h. And what the library says of its devices, as far as it is the share that counts. */
#include "hip/devices.h"
#include "base/hip_card.h"
#include "core/account.h"
#include "core/attach.h"
#include "core/log.h"
#include "core/ordinals.h"
#include "core/shape.h"

#include <limits.h>
#include <stdatomic.h>
#include <string.h>

#define MEMORY_AT 256u	     /* of totalGlobalMem in a device's properties: behind the name */
#define MEMORY_WITHIN 416u /* the size stands before this, where its place is not known */
#define MEMORY_AT_R0600 288u /* since ROCm 6: behind UUID, LUID and mask of nodes as well */

static struct ordinals devices;

hip_ordinal devices_first;
__thread bool devices_settled;

static char places[WIRE_MAX_DEVICES]; /* only their addresses count */

static bool ordinal_uuid(int real, uint8_t ret_uuid[16])
{
	uint8_t told[16] = { 0 };
	char address[32] = "";

	if (start_has(HIP_CALL_hipDeviceGetUuid) &&
	    shim_real.hipDeviceGetUuid((hipUUID *)(void *)told, real) != hipSuccess)
		memset(told, 0, sizeof told);
	if (shim_real.hipDeviceGetPCIBusId(address, sizeof address, real) != hipSuccess)
		address[0] = 0;
	return !hip_card_uuid(told, address, ret_uuid);
}

void devices_match(void)
{
	int count = 0;

	if (shim_real.hipGetDeviceCount(&count) != hipSuccess)
		count = 0;
	ordinals_match(&devices, count, ordinal_uuid);
	if (count && !devices.seen_count)
		log_line("none of HIP's %d devices is of the grant '%s': the program sees no device", count,
			 attach_welcome()->grant_name);
	devices_first = devices.seen_count ? devices.real[0] : 0;
}

void devices_settle(void)
{
	devices_settled = true;
	shim_real.hipSetDevice(devices_first);
}

void devices_keep(void)
{
	devices.same = true;
}

hip_ordinal devices_in(hip_ordinal seen)
{
	return ordinals_in(&devices, seen);
}

hip_ordinal devices_out(hip_ordinal real)
{
	return ordinals_out(&devices, real, INT_MAX);
}

void devices_tell(hipError_t r, hip_ordinal *device)
{
	if (r == hipSuccess && device)
		*device = devices_out(*device);
}

hipMemLocation devices_location(hipMemLocation location)
{
	if (location.type == hipMemLocationTypeDevice)
		location.id = devices_in(location.id);
	return location;
}

bool devices_find(hip_ordinal real, unsigned int *ret_device)
{
	return ordinals_find(&devices, real, ret_device);
}

bool devices_real(unsigned int device, hip_ordinal *ret_real)
{
	return ordinals_real(&devices, device, ret_real);
}

bool devices_current(unsigned int *ret_device)
{
	hip_ordinal real;

	return shim_real.hipGetDevice(&real) == hipSuccess && devices_find(real, ret_device);
}

face_context devices_place(unsigned int device)
{
	return &places[device];
}

bool devices_placed(face_context context, unsigned int *ret_device)
{
	const char *place = context;

	if (place < places || place >= places + WIRE_MAX_DEVICES)
		return false;
	*ret_device = (unsigned int)(place - places);
	return *ret_device < account_count;
}

/* What programs see ------------------------------------------------------------------------------------------------ */

hipError_t shim_hipInit(unsigned int flags)
{
	hipError_t r = start_refusal();

	return r == hipSuccess ? shim_real.hipInit(flags) : r;
}

hipError_t shim_hipGetDeviceCount(int *count)
{
	hipError_t r = start_refusal();

	if (r == hipSuccess)
		r = shim_real.hipGetDeviceCount(count);
	if (r != hipSuccess || devices.same || !count)
		return r;
	*count = devices.seen_count;
	return *count ? hipSuccess : hipErrorNoDevice;
}

int shim_hipGetStreamDeviceId(hipStream_t stream)
{
	return devices_out(shim_real.hipGetStreamDeviceId(stream));
}

/* The share in place of the card's memory. */
static void clamp(hip_ordinal seen, void *memory)
{
	unsigned int device;
	uint64_t most;
	size_t is;

	if (!start_is_metered() || !devices_find(devices_in(seen), &device))
		return;
	most = account_quota_bytes(device);
	memcpy(&is, memory, sizeof is);
	if (is <= most)
		return;
	is = most;
	memcpy(memory, &is, sizeof is);
}

/*
 * Where a vendor's properties have the memory's size: of AMD's it is known, of one with other names not more than that
 * the name comes first. There it is the word that says what hipDeviceTotalMem() says. 0: none is.
 */
static size_t memory_place(const char *prop, hip_ordinal real, size_t known)
{
	size_t total, word;

	if (!strcmp(shape.plain, shape.prefix))
		return known;
	if (shim_real.hipDeviceTotalMem(&total, real) != hipSuccess)
		return 0;
	for (size_t at = MEMORY_AT; at < MEMORY_WITHIN; at += sizeof word) {
		memcpy(&word, prop + at, sizeof word);
		if (word == total)
			return at;
	}
	return 0;
}

static hipError_t properties(hipError_t (*ask)(void *prop, hip_ordinal device), void *prop, hip_ordinal seen,
			     size_t memory_at)
{
	hipError_t r = start_refusal();

	if (r == hipSuccess)
		r = ask(prop, devices_in(seen));
	memory_at = r == hipSuccess && prop ? memory_place(prop, devices_in(seen), memory_at) : 0;
	if (memory_at)
		clamp(seen, (char *)prop + memory_at);
	return r;
}

hipError_t shim_hipGetDeviceProperties(void *prop, hip_ordinal deviceId)
{
	return properties(shim_real.hipGetDeviceProperties, prop, deviceId, MEMORY_AT);
}

hipError_t shim_hipGetDevicePropertiesR0000(void *prop, hip_ordinal deviceId)
{
	return properties(shim_real.hipGetDevicePropertiesR0000, prop, deviceId, MEMORY_AT);
}

hipError_t shim_hipGetDevicePropertiesR0600(void *prop, hip_ordinal deviceId)
{
	return properties(shim_real.hipGetDevicePropertiesR0600, prop, deviceId, MEMORY_AT_R0600);
}

hipError_t shim_hipDeviceTotalMem(size_t *bytes, hip_ordinal device)
{
	hipError_t r = start_refusal();

	if (r == hipSuccess)
		r = shim_real.hipDeviceTotalMem(bytes, devices_in(device));
	if (r == hipSuccess && bytes)
		clamp(device, bytes);
	return r;
}

/* Free is what the grant has left, where the card has that much. */
hipError_t shim_hipMemGetInfo(size_t *free, size_t *total)
{
	uint64_t quota, held, left;
	unsigned int device;
	hipError_t r = start_refusal();

	if (r == hipSuccess)
		r = shim_real.hipMemGetInfo(free, total);
	if (r != hipSuccess || !start_is_metered() || !devices_current(&device))
		return r;
	account_info(device, &quota, &held);
	left = held < quota ? quota - held : 0;
	if (total && *total > quota)
		*total = quota;
	if (free && *free > left)
		*free = left;
	return r;
}
