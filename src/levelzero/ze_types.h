/*
 * ze_types.h: Level Zero's types, as far as the face, the stand-in and the tests need them.
 *
 * Source: oneAPI Level Zero Specification 1.13 (core and sysman), whose names, values and layouts these are. mete is
 * built without the loader's headers. tests/levelzero/spec_test.py compares values and layouts with them if they are
 * installed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef enum ze_result_t {
	ZE_RESULT_SUCCESS = 0,
	ZE_RESULT_NOT_READY = 1,
	ZE_RESULT_ERROR_DEVICE_LOST = 0x70000001,
	ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY = 0x70000002,
	ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY = 0x70000003,
	ZE_RESULT_ERROR_MODULE_BUILD_FAILURE = 0x70000004,
	ZE_RESULT_ERROR_UNINITIALIZED = 0x78000001,
	ZE_RESULT_ERROR_UNSUPPORTED_VERSION = 0x78000002,
	ZE_RESULT_ERROR_UNSUPPORTED_FEATURE = 0x78000003,
	ZE_RESULT_ERROR_INVALID_ARGUMENT = 0x78000004,
	ZE_RESULT_ERROR_INVALID_NULL_HANDLE = 0x78000005,
	ZE_RESULT_ERROR_INVALID_NULL_POINTER = 0x78000007,
	ZE_RESULT_ERROR_INVALID_SIZE = 0x78000008,
	ZE_RESULT_ERROR_INVALID_KERNEL_NAME = 0x78000011,
	ZE_RESULT_ERROR_UNKNOWN = 0x7ffffffe,
} ze_result_t;

typedef enum ze_structure_type_t {
	ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES = 0x1,
	ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES = 0x3,
	ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES = 0x6,
	ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES = 0x7,
	ZE_STRUCTURE_TYPE_CONTEXT_DESC = 0xd,
	ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC = 0xe,
	ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC = 0xf,
	ZE_STRUCTURE_TYPE_EVENT_POOL_DESC = 0x10,
	ZE_STRUCTURE_TYPE_EVENT_DESC = 0x11,
	ZE_STRUCTURE_TYPE_FENCE_DESC = 0x12,
	ZE_STRUCTURE_TYPE_IMAGE_DESC = 0x13,
	ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC = 0x15,
	ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC = 0x16,
	ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES = 0x17,
	ZE_STRUCTURE_TYPE_MODULE_DESC = 0x1b,
	ZE_STRUCTURE_TYPE_KERNEL_DESC = 0x1d,
	ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC = 0x20,
	ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC = 0x1000a,
	ZE_STRUCTURE_TYPE_DEVICE_MEMORY_EXT_PROPERTIES = 0x1000e,
	ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 = 0x20006,
	ZE_STRUCTURE_TYPE_PITCHED_IMAGE_EXP_DESC = 0x2001f,
	ZE_STRUCTURE_TYPE_DRIVER_DDI_HANDLES_EXT_PROPERTIES = 0x20027,
} ze_structure_type_t;

#define ZE_VERSION(major, minor) ((uint32_t)(major) << 16 | (uint32_t)(minor))

#define ZE_HANDLE(name) typedef struct name *name##_handle_t
ZE_HANDLE(ze_driver);
ZE_HANDLE(ze_device);
ZE_HANDLE(ze_context);
ZE_HANDLE(ze_command_queue);
ZE_HANDLE(ze_command_list);
ZE_HANDLE(ze_fence);
ZE_HANDLE(ze_event_pool);
ZE_HANDLE(ze_event);
ZE_HANDLE(ze_image);
ZE_HANDLE(ze_module);
ZE_HANDLE(ze_module_build_log);
ZE_HANDLE(ze_kernel);
ZE_HANDLE(ze_physical_mem);
ZE_HANDLE(ze_external_semaphore_ext);
ZE_HANDLE(zes_mem);
typedef ze_driver_handle_t zes_driver_handle_t;
typedef ze_device_handle_t zes_device_handle_t;

/* The head of every structure. */
typedef struct ze_base_t {
	ze_structure_type_t stype;
	void *pNext;
} ze_base_t;

typedef struct ze_driver_properties_t {
	ze_structure_type_t stype;
	void *pNext;
	uint8_t uuid[16];
	uint32_t driverVersion;
} ze_driver_properties_t;

/* Bit 0 of `flags`: handles point to the driver's own tables and bypass any layer. */
typedef struct ze_driver_ddi_handles_ext_properties_t {
	ze_structure_type_t stype;
	void *pNext;
	uint32_t flags;
} ze_driver_ddi_handles_ext_properties_t;

#define ZE_DEVICE_TYPE_GPU 1

typedef struct ze_device_properties_t {
	ze_structure_type_t stype;
	void *pNext;
	uint32_t type;
	uint32_t vendorId;
	uint32_t deviceId;
	uint32_t flags;
	uint32_t subdeviceId;
	uint32_t coreClockRate;
	uint64_t maxMemAllocSize;
	uint32_t maxHardwareContexts;
	uint32_t maxCommandQueuePriority;
	uint32_t numThreadsPerEU;
	uint32_t physicalEUSimdWidth;
	uint32_t numEUsPerSubslice;
	uint32_t numSubslicesPerSlice;
	uint32_t numSlices;
	uint64_t timerResolution; /* nanoseconds; with DEVICE_PROPERTIES_1_2 cycles per second */
	uint32_t timestampValidBits;
	uint32_t kernelTimestampValidBits;
	uint8_t uuid[16];
	char name[256];
} ze_device_properties_t;

typedef struct ze_device_memory_properties_t {
	ze_structure_type_t stype;
	void *pNext;
	uint32_t flags;
	uint32_t maxClockRate;
	uint32_t maxBusWidth;
	uint64_t totalSize;
	char name[256];
} ze_device_memory_properties_t;

typedef struct ze_device_memory_ext_properties_t {
	ze_structure_type_t stype;
	void *pNext;
	uint32_t type;
	uint64_t physicalSize;
	uint32_t readBandwidth;
	uint32_t writeBandwidth;
	uint32_t bandwidthUnit;
} ze_device_memory_ext_properties_t;

#define ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE 1u
#define ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY 2u

typedef struct ze_command_queue_group_properties_t {
	ze_structure_type_t stype;
	void *pNext;
	uint32_t flags;
	size_t maxMemoryFillPatternSize;
	uint32_t numQueues;
} ze_command_queue_group_properties_t;

#define ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS 1u

typedef struct ze_command_queue_desc_t {
	ze_structure_type_t stype;
	const void *pNext;
	uint32_t ordinal;
	uint32_t index;
	uint32_t flags;
	uint32_t mode;
	uint32_t priority;
} ze_command_queue_desc_t;

typedef struct ze_command_list_desc_t {
	ze_structure_type_t stype;
	const void *pNext;
	uint32_t commandQueueGroupOrdinal;
	uint32_t flags;
} ze_command_list_desc_t;

/* Of a context or a fence: flags alone. */
typedef struct ze_context_desc_t {
	ze_structure_type_t stype;
	const void *pNext;
	uint32_t flags;
} ze_context_desc_t;
typedef ze_context_desc_t ze_fence_desc_t;
typedef ze_context_desc_t ze_host_mem_alloc_desc_t;

#define ZE_EVENT_POOL_FLAG_HOST_VISIBLE 1u
#define ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP 4u

typedef struct ze_event_pool_desc_t {
	ze_structure_type_t stype;
	const void *pNext;
	uint32_t flags;
	uint32_t count;
} ze_event_pool_desc_t;

typedef struct ze_event_desc_t {
	ze_structure_type_t stype;
	const void *pNext;
	uint32_t index;
	uint32_t signal;
	uint32_t wait;
} ze_event_desc_t;

typedef struct ze_kernel_timestamp_data_t {
	uint64_t kernelStart;
	uint64_t kernelEnd;
} ze_kernel_timestamp_data_t;

typedef struct ze_kernel_timestamp_result_t {
	ze_kernel_timestamp_data_t global;
	ze_kernel_timestamp_data_t context;
} ze_kernel_timestamp_result_t;

typedef struct ze_image_format_t {
	uint32_t layout;
	uint32_t type;
	uint32_t x, y, z, w;
} ze_image_format_t;

#define ZE_IMAGE_TYPE_2D 2u

typedef struct ze_image_desc_t {
	ze_structure_type_t stype;
	const void *pNext;
	uint32_t flags;
	uint32_t type;
	ze_image_format_t format;
	uint64_t width;
	uint32_t height;
	uint32_t depth;
	uint32_t arraylevels;
	uint32_t miplevels;
} ze_image_desc_t;

typedef struct ze_image_region_t {
	uint32_t originX, originY, originZ;
	uint32_t width, height, depth;
} ze_image_region_t;
typedef ze_image_region_t ze_copy_region_t;

typedef struct ze_group_count_t {
	uint32_t groupCountX, groupCountY, groupCountZ;
} ze_group_count_t;

typedef struct ze_device_mem_alloc_desc_t {
	ze_structure_type_t stype;
	const void *pNext;
	uint32_t flags;
	uint32_t ordinal;
} ze_device_mem_alloc_desc_t;

#define ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE 2u

typedef struct ze_memory_free_ext_desc_t {
	ze_structure_type_t stype;
	const void *pNext;
	uint32_t freePolicy;
} ze_memory_free_ext_desc_t;

#define ZE_MEMORY_TYPE_UNKNOWN 0u
#define ZE_MEMORY_TYPE_HOST 1u
#define ZE_MEMORY_TYPE_DEVICE 2u
#define ZE_MEMORY_TYPE_SHARED 3u

typedef struct ze_memory_allocation_properties_t {
	ze_structure_type_t stype;
	void *pNext;
	uint32_t type;
	uint64_t id;
	uint64_t pageSize;
} ze_memory_allocation_properties_t;

#define ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST 2u

typedef struct ze_physical_mem_desc_t {
	ze_structure_type_t stype;
	const void *pNext;
	uint32_t flags;
	size_t size;
} ze_physical_mem_desc_t;

typedef struct ze_ipc_mem_handle_t {
	char data[64];
} ze_ipc_mem_handle_t;

#define ZE_MODULE_FORMAT_NATIVE 1u

typedef struct ze_module_desc_t {
	ze_structure_type_t stype;
	const void *pNext;
	uint32_t format;
	size_t inputSize;
	const uint8_t *pInputModule;
	const char *pBuildFlags;
	const void *pConstants;
} ze_module_desc_t;

typedef struct ze_kernel_desc_t {
	ze_structure_type_t stype;
	const void *pNext;
	uint32_t flags;
	const char *pKernelName;
} ze_kernel_desc_t;

/* Sysman. Its device properties begin with the core's, behind two words. */
#define ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES 0x1
#define ZES_STRING_BYTES 64u

typedef struct zes_device_properties_t {
	uint32_t stype;
	void *pNext;
	ze_device_properties_t core;
	uint32_t numSubdevices;
	char serialNumber[ZES_STRING_BYTES];
	char boardNumber[ZES_STRING_BYTES];
	char brandName[ZES_STRING_BYTES];
	char modelName[ZES_STRING_BYTES];
	char vendorName[ZES_STRING_BYTES];
	char driverVersion[ZES_STRING_BYTES];
} zes_device_properties_t;

typedef struct zes_mem_properties_t {
	uint32_t stype;
	void *pNext;
	uint32_t type;
	uint8_t onSubdevice;
	uint32_t subdeviceId;
	uint32_t location;
	uint64_t physicalSize;
	int32_t busWidth;
	int32_t numChannels;
} zes_mem_properties_t;

#define ZES_MEM_LOC_DEVICE 1u

typedef struct zes_mem_state_t {
	uint32_t stype;
	const void *pNext;
	uint32_t health;
	uint64_t free;
	uint64_t size;
} zes_mem_state_t;
