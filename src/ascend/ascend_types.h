/*
 * ascend_types.h: the types of Ascend's runtime, as far as handled calls need them. Names, layouts and values are those
 * of the CANN documentation (hiascend.com, "Runtime API", 8.0 to 9.1: aclrtPhysicalMemProp, aclrtMemLocation,
 * aclrtEventRecordedStatus, aclrtUuid, aclError); they were not compared with an installed header.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Both levels return numbers of one list: libascendcl.so passes on what libruntime.so returns (aclError). */
typedef int aclError;
#define ACL_SUCCESS 0
#define ACL_ERROR_UNINITIALIZE 100001
#define ACL_ERROR_RT_PARAM_INVALID 107000
#define ACL_ERROR_RT_FEATURE_NOT_SUPPORT 207000
#define ACL_ERROR_RT_MEMORY_ALLOCATION 207001
#define ACL_ERROR_RT_NO_DEVICE 207004

typedef void *aclrtContext, *aclrtStream, *aclrtEvent, *aclrtNotify, *aclrtFuncHandle, *aclrtDrvMemHandle, *aclmdlRI;

#define ACL_EVENT_CAPTURE_STREAM_PROGRESS 2u
#define ACL_EVENT_TIME_LINE 8u
#define ACL_EVENT_RECORDED_STATUS_COMPLETE 1
#define ACL_CAPTURE_STATUS_ACTIVE 1 /* aclmdlRICaptureStatus */
#define ACL_MEM_LOCATION_TYPE_DEVICE 1

/* These bits of the memory type of rtMalloc() give its kind; RT_MEMORY_HOST is the host's. */
#define RT_MEMORY_KIND 0x3ffu
#define RT_MEMORY_HOST 0x81u

typedef struct aclrtMemLocation {
	uint32_t id;
	int type;
} aclrtMemLocation;

typedef struct aclrtPhysicalMemProp {
	int handleType, allocationType, memAttr;
	aclrtMemLocation location;
	uint64_t reserve;
} aclrtPhysicalMemProp;

/* rtDrvMemProp_t: where rtMallocPhysical() allocates memory. Side 1 is a device. */
typedef struct rtDrvMemProp {
	uint32_t side, devid, module_id, pg_type, mem_type;
	uint64_t reserve;
} rtDrvMemProp;
#define RT_MEM_DEV_SIDE 1u

typedef struct ascend_dim3 {
	uint32_t x, y, z;
} ascend_dim3;
