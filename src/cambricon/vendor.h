/*
 * vendor.h: Cambricon's part of the face beside its libraries (beside/start.h).
 *
 * Most programs call libcnrt.so (cnrt*); libraries of operators and other programs call libcndrv.so (cn*), which
 * libcnrt.so calls too. The face meters both.
 */
#pragma once

#include "base/npu_card.h"
#include "cambricon_shim.h"
#include "core/face.h"

#include <stdbool.h>

#define VENDOR_NAME "CNDrv"
#define VENDOR_NOTE "Cambricon's face"
#define VENDOR_LIBRARY "libmete-cambricon.so"
#define VENDOR_CALL_COUNT CAMBRICON_CALL_COUNT
#define vendor_call cambricon_call
#define vendor_call_name cambricon_call_name

typedef CNresult vendor_result;
#define VENDOR_SUCCESS CN_SUCCESS
#define VENDOR_NO_MEMORY CN_MEMORY_ERROR_OUT_OF_MEMORY
#define VENDOR_REFUSED CN_ERROR_NOT_INITIALIZED

static const char *const vendor_libraries[] = { "libcnrt.so", "libcndrv.so", NULL };
static const char *const vendor_prefixes[] = { "cnrt", "cn", NULL };

/*
 * In the core, queue 2 is the thread's default queue and 1 the context's (core/streams.c); CNDrv numbers them the other
 * way round.
 */
static inline face_queue vendor_queue(CNqueue queue)
{
	if (queue == CN_QUEUE_TYPE_PER_THREAD)
		return (face_queue)2;
	return queue == CN_QUEUE_TYPE_LEGACY ? NULL : queue;
}

static inline CNqueue vendor_queue_back(face_queue queue)
{
	return queue == (face_queue)2 ? CN_QUEUE_TYPE_PER_THREAD : queue;
}

static inline bool vendor_count(int *ret)
{
	return shim_real.cnDeviceGetCount(ret) == CN_SUCCESS;
}

static inline bool vendor_uuid(int ordinal, uint8_t ret_uuid[16])
{
	uint8_t told[16] = { 0 };
	char address[32] = "";
	CNdev device;

	if (shim_real.cnDeviceGet(&device, ordinal) != CN_SUCCESS)
		return false;
	if (shim_real.cnDeviceGetUuid(told, device) != CN_SUCCESS)
		told[0] = told[15] = 0;
	if (shim_real.cnDeviceGetPCIBusId(address, sizeof address, device) != CN_SUCCESS)
		address[0] = 0;
	return !npu_card_uuid(told, address, -1, "MLU0", ret_uuid);
}

static inline bool vendor_context(face_context *ret)
{
	*ret = NULL;
	return shim_real.cnCtxGetCurrent(ret) == CN_SUCCESS && *ret;
}

static inline bool vendor_enter(face_context context)
{
	return shim_real.cnCtxSetCurrent(context) == CN_SUCCESS;
}

/* A device handle is its ordinal. */
static inline bool vendor_device(int *ret)
{
	return shim_real.cnCtxGetDevice(ret) == CN_SUCCESS;
}

static inline bool vendor_captured(face_queue queue)
{
	int status = 0;

	return shim_real.cnQueueIsCapturing(vendor_queue_back(queue), &status) == CN_SUCCESS && status;
}

static inline face_marker vendor_event_new(void)
{
	CNnotifier notifier = NULL;

	return shim_real.cnCreateNotifier(&notifier, 0) == CN_SUCCESS ? notifier : NULL;
}

static inline void vendor_event_free(face_marker notifier)
{
	shim_real.cnDestroyNotifier(notifier);
}

static inline bool vendor_event_put(face_marker notifier, face_queue queue)
{
	return shim_real.cnPlaceNotifier(notifier, vendor_queue_back(queue)) == CN_SUCCESS;
}

static inline enum face_state vendor_state(CNresult r)
{
	switch (r) {
	case CN_SUCCESS:
		return FACE_HAPPENED;
	case CN_ERROR_NOT_READY:
		return FACE_PENDING;
	case CN_ERROR_DEINITIALIZED:
		return FACE_GONE;
	default:
		return FACE_FAILED;
	}
}

static inline enum face_state vendor_event_look(face_marker notifier)
{
	return vendor_state(shim_real.cnQueryNotifier(notifier));
}

static inline enum face_state vendor_event_wait(face_marker notifier)
{
	return vendor_state(shim_real.cnWaitNotifier(notifier));
}

static inline bool vendor_event_between(face_marker from, face_marker to, int64_t *ret_ns)
{
	float ms;

	if (shim_real.cnNotifierElapsedTime(&ms, from, to) != CN_SUCCESS)
		return false;
	*ret_ns = (int64_t)((double)ms * 1e6);
	return true;
}

static inline void vendor_free(uint64_t address)
{
	shim_real.cnFree(address);
}
