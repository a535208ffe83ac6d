/*
 * vendor.h: Ascend's part of the face beside its libraries (beside/start.h).
 *
 * Programs call libascendcl.so (aclrt*, aclop*, aclmdl*). Operators of libopapi.so (aclnn*), of the graph engine and of
 * HCCL call libruntime.so (rt*, rts*), which libascendcl.so calls too. The face meters both.
 */
#pragma once

#include "ascend_shim.h"
#include "base/npu_card.h"
#include "core/face.h"

#include <stdbool.h>

#define VENDOR_NAME "Ascend's runtime"
#define VENDOR_NOTE "Ascend's face"
#define VENDOR_LIBRARY "libmete-ascend.so"
#define VENDOR_CALL_COUNT ASCEND_CALL_COUNT
#define vendor_call ascend_call
#define vendor_call_name ascend_call_name

typedef aclError vendor_result;
#define VENDOR_SUCCESS ACL_SUCCESS
#define VENDOR_NO_MEMORY ACL_ERROR_RT_MEMORY_ALLOCATION
#define VENDOR_REFUSED ACL_ERROR_UNINITIALIZE

/*
 * The libraries whose names begin with one of the prefixes; CANN 9 has aclrt* in libacl_rt.so, which libascendcl.so
 * depends on.
 */
static const char *const vendor_libraries[] = { "libascendcl.so", "libacl_rt.so",	   "libruntime.so",
						"libacl_dvpp.so", "libacl_op_compiler.so", NULL };

static const char *const vendor_prefixes[] = { "aclrt", "aclop", "aclmdl", "acldvpp", "rt", "rts", NULL };

/* A stream of 0 is the default stream of the current context; no other number has a special meaning. */
static inline face_queue vendor_queue(aclrtStream stream)
{
	return stream;
}

static inline bool vendor_count(int *ret)
{
	uint32_t count = 0;

	if (shim_real.aclrtGetDeviceCount(&count) != ACL_SUCCESS)
		return false;
	*ret = (int)count;
	return true;
}

static inline bool vendor_uuid(int device, uint8_t ret_uuid[16])
{
	uint8_t told[16] = { 0 };
	char address[32] = "";
	uint32_t chip = 0;
	bool known;

	if (shim_real.aclrtDeviceGetUuid(device, told) != ACL_SUCCESS)
		told[0] = told[15] = 0;
	if (shim_real.aclrtDeviceGetPCIBusId(device, address, sizeof address) != ACL_SUCCESS)
		address[0] = 0;
	known = shim_real.rtGetDevicePhyIdByIndex((uint32_t)device, &chip) == ACL_SUCCESS;
	return !npu_card_uuid(told, address, known ? (int)chip : -1, "ACL0", ret_uuid);
}

static inline bool vendor_context(face_context *ret)
{
	*ret = NULL;
	return shim_real.aclrtGetCurrentContext(ret) == ACL_SUCCESS && *ret;
}

static inline bool vendor_enter(face_context context)
{
	return shim_real.aclrtSetCurrentContext(context) == ACL_SUCCESS;
}

static inline bool vendor_device(int *ret)
{
	return shim_real.aclrtGetDevice(ret) == ACL_SUCCESS;
}

/* A runtime without captures captures nothing. */
static inline bool vendor_captured(face_queue queue)
{
	aclmdlRI model = NULL;
	int status = 0;

	return shim_real.aclmdlRICaptureGetInfo(queue, &status, &model) == ACL_SUCCESS &&
	       status == ACL_CAPTURE_STATUS_ACTIVE;
}

/* Tries the newest call first: events of the older one come from a small pool of the chip. */
static inline face_marker vendor_event_new(void)
{
	const uint32_t flags = ACL_EVENT_TIME_LINE | ACL_EVENT_CAPTURE_STREAM_PROGRESS;
	aclrtEvent event = NULL;

	if (shim_real.aclrtCreateEventExWithFlag(&event, flags) == ACL_SUCCESS ||
	    shim_real.aclrtCreateEventWithFlag(&event, flags) == ACL_SUCCESS ||
	    shim_real.aclrtCreateEvent(&event) == ACL_SUCCESS)
		return event;
	return NULL;
}

static inline void vendor_event_free(face_marker event)
{
	shim_real.aclrtDestroyEvent(event);
}

static inline bool vendor_event_put(face_marker event, face_queue queue)
{
	return shim_real.aclrtRecordEvent(event, queue) == ACL_SUCCESS;
}

static inline enum face_state vendor_event_look(face_marker event)
{
	int status = 0;
	aclError r = shim_real.aclrtQueryEventStatus(event, &status);

	if (r == ACL_ERROR_UNINITIALIZE)
		return FACE_GONE;
	if (r != ACL_SUCCESS)
		return FACE_FAILED;
	return status == ACL_EVENT_RECORDED_STATUS_COMPLETE ? FACE_HAPPENED : FACE_PENDING;
}

static inline enum face_state vendor_event_wait(face_marker event)
{
	aclError r = shim_real.aclrtSynchronizeEvent(event);

	return r == ACL_SUCCESS ? FACE_HAPPENED : r == ACL_ERROR_UNINITIALIZE ? FACE_GONE : FACE_FAILED;
}

static inline bool vendor_event_between(face_marker from, face_marker to, int64_t *ret_ns)
{
	float ms;

	if (shim_real.aclrtEventElapsedTime(&ms, from, to) != ACL_SUCCESS)
		return false;
	*ret_ns = (int64_t)((double)ms * 1e6);
	return true;
}

static inline void vendor_free(uint64_t address)
{
	shim_real.aclrtFree((void *)(uintptr_t)address);
}

/* Frees an allocation of this call by the matching function. */
static inline aclError vendor_free_by(enum ascend_call call, void *pointer)
{
	switch (call) {
	case ASCEND_CALL_acldvppMalloc:
		return shim_real.acldvppFree(pointer);
	case ASCEND_CALL_rtDvppMalloc:
	case ASCEND_CALL_rtDvppMallocWithFlag:
		return shim_real.rtDvppFree(pointer);
	default:
		return call < ASCEND_CALL_rtMalloc ? shim_real.aclrtFree(pointer) : shim_real.rtFree(pointer);
	}
}
