/* proc.c: lookup of calls by name, and the vendor's private tables, which are not there (see softdev/proc.c). */
#include "base/static_runtime.h"
#include "cuda_procs.h"
#include "cuda_remote.h"
#include "errors.h"
#include "remote/client/start.h"
#include "core/log.h"

#include <stdatomic.h>
#include <string.h>

static void *address_of(enum cuda_call call)
{
	void *p;

	memcpy(&p, (const char *)&cuda_remote_table + call * sizeof(p), sizeof(p));
	return p;
}

CUresult client_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
				    CUdriverProcAddressQueryResult *symbolStatus)
{
	enum cuda_call call;
	int outcome;

	if (!symbol || !pfn || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	outcome = cuda_proc_find(symbol, cudaVersion, flags, &call);
	*pfn = outcome == PROC_FOUND ? address_of(call) : NULL;
	if (symbolStatus)
		*symbolStatus = symbol[0] ? (CUdriverProcAddressQueryResult)outcome : CU_GET_PROC_ADDRESS_SUCCESS;
	return CUDA_SUCCESS;
}

CUresult client_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
	enum cuda_call call;

	if (!symbol || !pfn || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	*pfn = NULL;
	if (!symbol[0])
		return CUDA_SUCCESS;
	if (cuda_proc_find(symbol, cudaVersion, flags, &call) != PROC_FOUND)
		return CUDA_ERROR_NOT_FOUND;
	*pfn = address_of(call);
	return CUDA_SUCCESS;
}

CUresult client_cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
	static _Atomic bool told;
	char line[512];

	if (!ppExportTable || !pExportTableId)
		return CUDA_ERROR_INVALID_VALUE;
	*ppExportTable = NULL;
	if (static_runtime_line(pExportTableId, "remote devices", line, sizeof(line)) &&
	    !atomic_exchange_explicit(&told, true, memory_order_relaxed))
		log_line("%s", line);
	return CUDA_ERROR_NOT_FOUND;
}

CUresult client_cuGetErrorName(CUresult error, const char **pStr)
{
	if (!pStr)
		return CUDA_ERROR_INVALID_VALUE;
	*pStr = cuda_error_name(error);
	return *pStr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult client_cuGetErrorString(CUresult error, const char **pStr)
{
	if (!pStr)
		return CUDA_ERROR_INVALID_VALUE;
	*pStr = cuda_error_text(error);
	return *pStr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
