/*
 * hip_types.h: the types of HIP, as far as calls that are treated need them. Layouts and values are those of AMD's
 * public HIP API reference; no installed header has been compared with them. Not included: what is only handed on.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef enum {
	hipSuccess = 0,
	hipErrorInvalidValue = 1,
	hipErrorOutOfMemory = 2,
	hipErrorNotInitialized = 3,
	hipErrorDeinitialized = 4,
	hipErrorNoDevice = 100,
	hipErrorInvalidDevice = 101,
	hipErrorInvalidContext = 201,
	hipErrorInvalidHandle = 400,
	hipErrorNotFound = 500,
	hipErrorNotReady = 600,
	hipErrorNotSupported = 801,
	hipErrorUnknown = 999,
} hipError_t;

typedef int hip_ordinal; /* a device, as the program counts: api/hip.toml */
typedef void *hipDeviceptr_t;
typedef struct ihipCtx_t *hipCtx_t;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct ihipMemPoolHandle_t *hipMemPool_t;
typedef struct hipArray *hipArray_t;
typedef const struct hipArray *hipArray_const_t;
typedef struct hipMipmappedArray *hipMipmappedArray_t;
typedef struct ihipMemGenericAllocationHandle *hipMemGenericAllocationHandle_t;
typedef struct ihipGraph *hipGraph_t;
typedef struct hipGraphNode *hipGraphNode_t;
typedef struct hipGraphExec *hipGraphExec_t;
typedef void *hipExternalSemaphore_t, *hipExternalMemory_t;
typedef void (*hipStreamCallback_t)(hipStream_t stream, hipError_t status, void *data);

/* Numbers that are handed on, or compared with what stands beside them. */
typedef int hipDeviceAttribute_t, hipDeviceP2PAttr, hipMemoryAdvise, hipMemcpyKind, hipStreamCaptureMode, hipJitOption,
	hipMemAllocationHandleType, hipMemAllocationGranularity_flags, hipMemAccessFlags;
typedef int hipStreamCaptureStatus; /* 0: none */
typedef int hipMemPoolAttr;
#define hipMemPoolAttrReleaseThreshold 4
#define hipMemcpyDefault 4

#define hipStreamPerThread ((hipStream_t)2)
#define hipEventBlockingSync 1u
#define hipGraphNodeTypeMemAlloc 10

typedef struct hipExternalSemaphoreWaitParams hipExternalSemaphoreWaitParams;

typedef struct {
	int type;
	union {
		int fd;
		struct {
			void *handle;
			const void *name;
		} win32;
		const void *object;
	} handle;
	unsigned long long size;
	unsigned int flags, reserved[16];
} hipExternalMemoryHandleDesc;

typedef struct {
	unsigned long long offset, size;
	unsigned int flags, reserved[16];
} hipExternalMemoryBufferDesc;

typedef struct hipMemPoolPtrExportData hipMemPoolPtrExportData;
typedef struct hipMemcpy3DParms hipMemcpy3DParms;
typedef struct HIP_MEMCPY3D HIP_MEMCPY3D;
typedef struct hip_Memcpy2D hip_Memcpy2D;

typedef struct dim3 {
	uint32_t x, y, z;
} dim3;

typedef struct hipExtent {
	size_t width, height, depth;
} hipExtent;

typedef struct hipPitchedPtr {
	void *ptr;
	size_t pitch, xsize, ysize;
} hipPitchedPtr;

typedef struct hipChannelFormatDesc {
	int x, y, z, w, f; /* bits of each channel */
} hipChannelFormatDesc;

typedef struct HIP_ARRAY_DESCRIPTOR {
	size_t Width, Height;
	int Format;
	unsigned int NumChannels;
} HIP_ARRAY_DESCRIPTOR;

typedef struct HIP_ARRAY3D_DESCRIPTOR {
	size_t Width, Height, Depth;
	int Format;
	unsigned int NumChannels, Flags;
} HIP_ARRAY3D_DESCRIPTOR;

typedef struct hipUUID {
	char bytes[16];
} hipUUID;

typedef struct hipIpcMemHandle_t {
	char reserved[64];
} hipIpcMemHandle_t;

typedef struct hipMemLocation {
	int type; /* 1: a device */
	int id;
} hipMemLocation;
#define hipMemLocationTypeDevice 1

typedef struct hipMemAccessDesc {
	hipMemLocation location;
	int flags;
} hipMemAccessDesc;

typedef struct hipMemPoolProps {
	int allocType, handleTypes;
	hipMemLocation location;
	void *win32SecurityAttributes;
	unsigned char reserved[64];
} hipMemPoolProps;

/* Since ROCm 5.3; before, calls that take one did nothing. */
typedef struct hipMemAllocationProp {
	int type, requestedHandleType;
	hipMemLocation location;
	void *win32HandleMetaData;
	unsigned char allocFlags[8];
} hipMemAllocationProp;

typedef struct hipLaunchParams {
	void *func;
	dim3 gridDim, blockDim;
	void **args;
	size_t sharedMem;
	hipStream_t stream;
} hipLaunchParams;

typedef struct hipFunctionLaunchParams {
	hipFunction_t function;
	unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
	hipStream_t hStream;
	void **kernelParams;
} hipFunctionLaunchParams;

typedef struct hipLaunchConfig_t {
	dim3 gridDim, blockDim;
	size_t dynamicSmemBytes;
	hipStream_t stream;
	void *attrs;
	unsigned int numAttrs;
} hipLaunchConfig_t;

typedef struct HIP_LAUNCH_CONFIG {
	unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
	hipStream_t hStream;
	void *attrs;
	unsigned int numAttrs;
} HIP_LAUNCH_CONFIG;

typedef struct hipGraphNodeParams {
	int type;
	int reserved[3];
	long long rest[30];
} hipGraphNodeParams;
