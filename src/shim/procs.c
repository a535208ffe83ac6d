/*
 * procs.c: cuGetProcAddress. The driver is asked first, so that its answers to unknown names, too old versions and odd
 * flags are its own; then the address of a call that we treat is replaced by our body of the same variant.
 */
#include "cuda_procs.h"
#include "shim/log.h"
#include "shim/start.h"

#include <stdatomic.h>

#define KNOWN_VERSION 13000 /* of api/cuda.toml: variants introduced later are unknown here */

/* The newest variant that the driver has as well. False: none. */
static bool find(const char *name, int version, uint64_t flags, enum cuda_call *ret)
{
	if (cuda_proc_find(name, version < KNOWN_VERSION ? version : KNOWN_VERSION, flags, ret) != PROC_FOUND)
		return false;
	while (shim_missing(*ret)) {
		size_t row = 0;

		while (row < cuda_proc_count && cuda_procs[row].call != (uint32_t)*ret)
			row++;
		if (row == cuda_proc_count || cuda_procs[row].since <= 0 ||
		    cuda_proc_find(name, cuda_procs[row].since - 1, flags, ret) != PROC_FOUND)
			return false;
	}
	return true;
}

/* What the program gets for what the driver gave. `known`: the driver's answer for KNOWN_VERSION. */
static void *answer(const char *name, int version, uint64_t flags, void *given, void *known)
{
	static _Atomic bool told;
	enum cuda_call call;
	void *body;

	if (!find(name, version, flags, &call))
		return given;
	body = start_body(call);
	if (!body)
		return given;
	if (version > KNOWN_VERSION && known != given) {
		if (!atomic_exchange_explicit(&told, true, memory_order_relaxed))
			log_line("%s of version %d is unknown to this release and is not metered; install a newer mete",
				 name, version);
		return given;
	}
	return body;
}

CUresult shim_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
				  CUdriverProcAddressQueryResult *symbolStatus)
{
	CUresult r = shim_real.cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, symbolStatus);
	void *known = NULL;

	if (r != CUDA_SUCCESS || !symbol || !pfn || !*pfn)
		return r;
	if (cudaVersion > KNOWN_VERSION)
		shim_real.cuGetProcAddress_v2(symbol, &known, KNOWN_VERSION, flags, NULL);
	*pfn = answer(symbol, cudaVersion, flags, *pfn, known);
	return r;
}

CUresult shim_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
	CUresult r = shim_real.cuGetProcAddress(symbol, pfn, cudaVersion, flags);
	void *known = NULL;

	if (r != CUDA_SUCCESS || !symbol || !pfn || !*pfn)
		return r;
	if (cudaVersion > KNOWN_VERSION)
		shim_real.cuGetProcAddress(symbol, &known, KNOWN_VERSION, flags);
	*pfn = answer(symbol, cudaVersion, flags, *pfn, known);
	return r;
}
