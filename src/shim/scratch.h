/*
 * scratch.h: short-lived copies of a program's arrays, in memory from mmap, and the translation of device numbers in
 * locations.
 */
#pragma once

#include "shim/devices.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* Zeroed memory for `count` elements. NULL: too large, or no memory. */
static inline void *scratch_new(size_t count, size_t size)
{
	int saved = errno;
	size_t bytes;
	void *p;

	if (!count || __builtin_mul_overflow(count, size, &bytes))
		return NULL;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = saved;
	return p == MAP_FAILED ? NULL : p;
}

/* A copy of the array. NULL: nothing to copy (count 0 or no array), too large, or no memory. */
static inline void *scratch_copy(const void *array, size_t count, size_t size)
{
	void *copy = array ? scratch_new(count, size) : NULL;

	return copy ? memcpy(copy, array, count * size) : NULL;
}

static inline void scratch_free(void *copy, size_t count, size_t size)
{
	if (copy)
		munmap(copy, count * size);
}

/* True for memory of a device, or of a part of it that is nearer to some of its multiprocessors. */
static inline bool location_is_device(CUmemLocation l)
{
	return l.type == CU_MEM_LOCATION_TYPE_DEVICE || l.type == CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN;
}

/* The device of such a location. */
static inline CUdevice location_device(CUmemLocation l)
{
	return l.type == CU_MEM_LOCATION_TYPE_DEVICE ? l.id : l.localized.deviceId;
}

static inline CUmemLocation location_on(CUmemLocation l, CUdevice device)
{
	if (l.type == CU_MEM_LOCATION_TYPE_DEVICE)
		l.id = device;
	else
		l.localized.deviceId = (unsigned char)device;
	return l;
}

static inline CUmemLocation location_in(CUmemLocation l)
{
	return location_is_device(l) ? location_on(l, devices_in(location_device(l))) : l;
}

/* Copies a location to `room`, with the driver's number of its device; NULL stays NULL. */
static inline CUmemLocation *location_seen(const CUmemLocation *l, CUmemLocation *room)
{
	if (!l)
		return NULL;
	*room = location_in(*l);
	return room;
}

static inline CUmemLocation location_out(CUmemLocation l)
{
	return location_is_device(l) ? location_on(l, devices_out(location_device(l))) : l;
}

/* Copies a logical endpoint's description to `room`, with the driver's number of its device; NULL stays NULL. */
static inline const CUlogicalEndpointProp *endpoint_seen(const CUlogicalEndpointProp *p, CUlogicalEndpointProp *room)
{
	if (!p)
		return NULL;
	*room = *p;
	if (p->type == CU_LOGICAL_ENDPOINT_TYPE_UNICAST)
		room->unicast.device = devices_in(p->unicast.device);
	return room;
}
