/* device.c: which devices there are, what they can, limits and settings of the current one, peers, the profiler's
 * switch. */
#include "runtime/rt.h"

cudaError_t cudaGetDeviceCount(int *count)
{
	int n = 0;
	cudaError_t e = count ? rt_loaded() : cudaErrorInvalidValue;

	if (!e)
		e = rt_error(rt_driver.cuDeviceGetCount(&n));
	if (!e && !n)
		e = cudaErrorNoDevice;
	if (count)
		*count = n;
	return rt_done(e);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
	cudaError_t e = value ? rt_device_good(device) : cudaErrorInvalidValue;

	return rt_done(e ? e : rt_error(rt_driver.cuDeviceGetAttribute(value, (CUdevice_attribute)attr, device)));
}

cudaError_t cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)
{
	cudaError_t e = pciBusId && len > 0 ? rt_device_good(device) : cudaErrorInvalidValue;

	return rt_done(e ? e : rt_error(rt_driver.cuDeviceGetPCIBusId(pciBusId, len, device)));
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *pciBusId)
{
	CUdevice d = 0;
	cudaError_t e = device && pciBusId ? rt_loaded() : cudaErrorInvalidValue;

	if (!e)
		e = rt_error(rt_driver.cuDeviceGetByPCIBusId(&d, pciBusId));
	if (!e)
		*device = d;
	return rt_done(e);
}

/* Only one thing of the list is taken: its first good device becomes the default of this thread. */
cudaError_t cudaSetValidDevices(int *device_arr, int len)
{
	cudaError_t e = len < 0 || (len && !device_arr) ? cudaErrorInvalidValue : rt_loaded();

	for (int i = 0; !e && i < len; i++)
		e = rt_device_good(device_arr[i]);
	if (!e && !rt_thread.context)
		rt_thread.device = len ? device_arr[0] : 0;
	return rt_done(e);
}

/* ---- of the current device ---- */

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
	return RT_CALL(cuCtxSetLimit, (CUlimit)limit, value);
}

cudaError_t cudaDeviceGetLimit(size_t *pValue, enum cudaLimit limit)
{
	return RT_CALL(cuCtxGetLimit, pValue, (CUlimit)limit);
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache cacheConfig)
{
	return RT_CALL(cuCtxSetCacheConfig, (CUfunc_cache)cacheConfig);
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *pCacheConfig)
{
	CUfunc_cache c = CU_FUNC_CACHE_PREFER_NONE;
	cudaError_t e = pCacheConfig ? RT_TRY(cuCtxGetCacheConfig, &c) : cudaErrorInvalidValue;

	if (!e)
		*pCacheConfig = (enum cudaFuncCache)c;
	return rt_done(e);
}

cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
	return RT_CALL(cuCtxSetSharedMemConfig, (CUsharedconfig)config);
}

cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *pConfig)
{
	CUsharedconfig c = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
	cudaError_t e = pConfig ? RT_TRY(cuCtxGetSharedMemConfig, &c) : cudaErrorInvalidValue;

	if (!e)
		*pConfig = (enum cudaSharedMemConfig)c;
	return rt_done(e);
}

/* ---- names of before 4.0, gone with 13 ---- */

#if CUDART_MAJOR < 13
cudaError_t cudaThreadExit(void)
{
	return cudaDeviceReset();
}

cudaError_t cudaThreadSynchronize(void)
{
	return cudaDeviceSynchronize();
}

cudaError_t cudaThreadSetLimit(enum cudaLimit limit, size_t value)
{
	return cudaDeviceSetLimit(limit, value);
}

cudaError_t cudaThreadGetLimit(size_t *pValue, enum cudaLimit limit)
{
	return cudaDeviceGetLimit(pValue, limit);
}

cudaError_t cudaThreadSetCacheConfig(enum cudaFuncCache cacheConfig)
{
	return cudaDeviceSetCacheConfig(cacheConfig);
}

cudaError_t cudaThreadGetCacheConfig(enum cudaFuncCache *pCacheConfig)
{
	return cudaDeviceGetCacheConfig(pCacheConfig);
}

/* Doubles need no conversion on any device that these versions run on. */
cudaError_t cudaSetDoubleForDevice(double *d)
{
	return rt_done(d ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaSetDoubleForHost(double *d)
{
	return rt_done(d ? cudaSuccess : cudaErrorInvalidValue);
}
#endif

/* ---- peers ---- */

cudaError_t cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice)
{
	cudaError_t e = canAccessPeer ? rt_device_good(device) : cudaErrorInvalidValue;

	if (!e)
		e = rt_device_good(peerDevice);
	if (!e && device == peerDevice) {
		*canAccessPeer = 0;
		return cudaSuccess;
	}
	return rt_done(e ? e : rt_error(rt_driver.cuDeviceCanAccessPeer(canAccessPeer, device, peerDevice)));
}

cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
	CUcontext peer = NULL;
	cudaError_t e = flags ? cudaErrorInvalidValue : rt_device_good(peerDevice);

	if (!e)
		e = rt_ready();
	if (!e)
		e = rt_primary(peerDevice, &peer);
	if (e)
		return rt_done(e);
	e = rt_error(rt_driver.cuCtxEnablePeerAccess(peer, 0));
	/* A device is no peer of itself. */
	return rt_done(e == cudaErrorDeviceUninitialized ? cudaErrorInvalidDevice : e);
}

cudaError_t cudaDeviceDisablePeerAccess(int peerDevice)
{
	CUcontext peer = NULL;
	cudaError_t e = rt_device_good(peerDevice);

	if (!e)
		e = rt_ready();
	if (!e)
		e = rt_primary(peerDevice, &peer);
	return rt_done(e ? e : rt_error(rt_driver.cuCtxDisablePeerAccess(peer)));
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr, int srcDevice, int dstDevice)
{
	cudaError_t e = value ? rt_device_good(srcDevice) : cudaErrorInvalidValue;

	if (!e)
		e = rt_device_good(dstDevice);
	return rt_done(e ? e
			 : rt_error(rt_driver.cuDeviceGetP2PAttribute(value, (CUdevice_P2PAttribute)attr, srcDevice,
								      dstDevice)));
}

/* ---- the profiler: none listens ---- */

cudaError_t cudaProfilerStart(void)
{
	return cudaSuccess;
}

cudaError_t cudaProfilerStop(void)
{
	return cudaSuccess;
}

#if CUDART_MAJOR == 11
cudaError_t cudaProfilerInitialize(const char *configFile, const char *outputFile, cudaOutputMode_t outputMode)
{
	return rt_done(cudaErrorProfilerDisabled);
}
#endif

/* ---- news and promises of devices ---- */

cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(enum cudaFlushGPUDirectRDMAWritesTarget target,
					       enum cudaFlushGPUDirectRDMAWritesScope scope)
{
	return RT_CALL(cuFlushGPUDirectRDMAWrites, (CUflushGPUDirectRDMAWritesTarget)target,
		       (CUflushGPUDirectRDMAWritesScope)scope);
}

#if CUDART_MAJOR >= 12
_Static_assert(sizeof(struct cudaAsyncNotificationInfo) == sizeof(CUasyncNotificationInfo), "news are told alike");

cudaError_t cudaDeviceRegisterAsyncNotification(int device, cudaAsyncCallback callbackFunc, void *userData,
						cudaAsyncCallbackHandle_t *callback)
{
	cudaError_t e = rt_device_good(device);

	return rt_done(
		e ? e
		  : rt_error(rt_driver.cuDeviceRegisterAsyncNotification(device, (CUasyncCallback)callbackFunc,
									 userData, (CUasyncCallbackHandle *)callback)));
}

cudaError_t cudaDeviceUnregisterAsyncNotification(int device, cudaAsyncCallbackHandle_t callback)
{
	cudaError_t e = rt_device_good(device);

	return rt_done(
		e ? e
		  : rt_error(rt_driver.cuDeviceUnregisterAsyncNotification(device, (CUasyncCallbackHandle)callback)));
}
#endif

#if CUDART_MAJOR >= 13
cudaError_t cudaDeviceGetHostAtomicCapabilities(unsigned int *capabilities, const enum cudaAtomicOperation *operations,
						unsigned int count, int device)
{
	cudaError_t e = rt_device_good(device);

	return rt_done(e ? e
			 : rt_error(rt_driver.cuDeviceGetHostAtomicCapabilities(
				   capabilities, (const CUatomicOperation *)operations, count, device)));
}

cudaError_t cudaDeviceGetP2PAtomicCapabilities(unsigned int *capabilities, const enum cudaAtomicOperation *operations,
					       unsigned int count, int srcDevice, int dstDevice)
{
	cudaError_t e = rt_device_good(srcDevice);

	if (!e)
		e = rt_device_good(dstDevice);
	return rt_done(e ? e
			 : rt_error(rt_driver.cuDeviceGetP2PAtomicCapabilities(
				   capabilities, (const CUatomicOperation *)operations, count, srcDevice, dstDevice)));
}
#endif
