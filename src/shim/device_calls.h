/*
 * device_calls.h: the calls that only carry devices and have a hand-written body, as X(symbol). start.c passes them
 * through, like those with a generated body, when the program sees all devices that the driver shows.
 */
X(cuDeviceGet)
X(cuDeviceGetCount)
X(cuGLGetDevices)
X(cuGLGetDevices_v2)
X(cuGraphAddMemAllocNode)
X(cuGraphAddNode)
X(cuGraphAddNode_v2)
X(cuGraphAddNode_v3)
X(cuGraphMemAllocNodeGetParams)
X(cuGraphNodeGetParams)
X(cuMemGetAllocationGranularity)
X(cuMemGetAllocationPropertiesFromHandle)
X(cuMemGetLocationInfo)
X(cuMemPoolSetAccess)
X(cuMemRangeGetAttribute)
X(cuMemRangeGetAttributes)
X(cuMemSetAccess)
X(cuPointerGetAttribute)
X(cuPointerGetAttributes)
