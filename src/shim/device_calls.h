/*
 * device_calls.h: every call that only carries devices and has a body by hand, as X(symbol): start.c passes them
 * through, as those with the generated body, when the program sees all that the driver shows.
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
