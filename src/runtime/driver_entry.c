/* driver_entry.c: ways out of the runtime: to the driver's own calls, and to the vendor's private tables, which are not
 * here. */
#include "runtime/rt.h"

/* The vendor's libraries ask for private tables by number. There is nothing behind them here, and it is never
 * pretended. */
cudaError_t cudaGetExportTable(const void **ppExportTable, const cudaUUID_t *pExportTableId)
{
	if (!ppExportTable || !pExportTableId)
		return rt_done(cudaErrorInvalidValue);
	*ppExportTable = NULL;
	return rt_done(cudaErrorNotSupported);
}

static cudaError_t entry(const char *symbol, void **ret, unsigned version, unsigned long long flags,
			 CUdriverProcAddressQueryResult *status)
{
	cuuint64_t f = flags == cudaEnablePerThreadDefaultStream || (flags == cudaEnableDefault && rt_thread.per_thread)
			       ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
			       : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
	cudaError_t e = symbol && ret && flags <= cudaEnablePerThreadDefaultStream ? rt_find() : cudaErrorInvalidValue;

	*status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	if (e)
		return e;
	*ret = NULL;
	return rt_error(rt_driver.cuGetProcAddress_v2(symbol, ret, (int)version, f, status));
}

#if CUDART_MAJOR == 11
cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags)
{
	CUdriverProcAddressQueryResult status;
	cudaError_t e = entry(symbol, funcPtr, CUDART_VERSION, flags, &status);

	return rt_done(!e && status != CU_GET_PROC_ADDRESS_SUCCESS ? cudaErrorSymbolNotFound : e);
}
#else
cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr, unsigned int cudaVersion,
					     unsigned long long flags,
					     enum cudaDriverEntryPointQueryResult *driverStatus)
{
	CUdriverProcAddressQueryResult status;
	cudaError_t e = entry(symbol, funcPtr, cudaVersion, flags, &status);

	if (driverStatus)
		*driverStatus = (enum cudaDriverEntryPointQueryResult)status;
	/* A caller that does not ask for the status gets the error instead. */
	return rt_done(!e && !driverStatus && status != CU_GET_PROC_ADDRESS_SUCCESS ? cudaErrorSymbolNotFound : e);
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags,
				    enum cudaDriverEntryPointQueryResult *driverStatus)
{
	return cudaGetDriverEntryPointByVersion(symbol, funcPtr, CUDART_VERSION, flags, driverStatus);
}
#endif
