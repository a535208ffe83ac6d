/* context_calls.c: what a program asks of a context and sets in it, and its peers; context.c has its life. */
#include "remote/client/context.h"

#include "cuda_remote.h"
#include "remote/client/unified.h"
#include "remote/client/waited.h"

/* The context that a call asks about, which has a place to answer to. */
static CUresult asked(CUcontext handle, const void *place, struct context **ret)
{
	CUresult r = context_find(handle, ret);

	return r == CUDA_SUCCESS && !place ? CUDA_ERROR_INVALID_VALUE : r;
}

CUresult client_cuCtxGetDevice(CUdevice *device)
{
	return client_cuCtxGetDevice_v2(device, NULL);
}

CUresult client_cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
	struct context *c;
	CUresult r = asked(ctx, device, &c);

	if (r == CUDA_SUCCESS)
		*device = c->device;
	return r;
}

CUresult client_cuCtxGetFlags(unsigned int *flags)
{
	struct context *c;
	CUresult r = asked(NULL, flags, &c);

	if (r == CUDA_SUCCESS)
		*flags = c->flags;
	return r;
}

CUresult client_cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
	struct context *c;
	CUresult r = asked(ctx, ctxId, &c);

	if (r == CUDA_SUCCESS)
		*ctxId = c->number;
	return r;
}

CUresult client_cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
	struct context *c;
	CUresult r = asked(ctx, version, &c);

	if (r == CUDA_SUCCESS)
		*version = c->api_version;
	return r;
}

CUresult client_cuCtxGetCacheConfig(CUfunc_cache *pconfig)
{
	struct context *c;
	CUresult r = asked(NULL, pconfig, &c);

	if (r == CUDA_SUCCESS)
		*pconfig = (CUfunc_cache)c->cache;
	return r;
}

CUresult client_cuCtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
	struct context *c;
	CUresult r = asked(NULL, pConfig, &c);

	if (r == CUDA_SUCCESS)
		*pConfig = (CUsharedconfig)c->shared_config;
	return r;
}

CUresult client_cuCtxSetFlags(unsigned int flags)
{
	struct context *c;
	CUresult r = context_find(NULL, &c);

	if (r != CUDA_SUCCESS)
		return r;
	if (!context_flags_good(flags))
		return CUDA_ERROR_INVALID_VALUE;
	c->flags = flags;
	return CUDA_SUCCESS;
}

/* A number that concerns the current context and that nobody waits for. */
static CUresult tell(enum cuda_call call, uint32_t value)
{
	struct client_call c;

	client_call(&c, call);
	if (client_begin(&c, false)) {
		remote_put(&c.out, &value, sizeof value);
		client_send(&c);
	}
	return client_end(&c);
}

CUresult client_cuCtxSetCacheConfig(CUfunc_cache config)
{
	struct context *c;
	CUresult r = context_find(NULL, &c);

	if (r != CUDA_SUCCESS)
		return r;
	if ((unsigned int)config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	c->cache = config;
	return tell(CUDA_CALL_cuCtxSetCacheConfig, config);
}

/* No device that is sold has banks of another size; the call is deprecated, and changes nothing. */
CUresult client_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	struct context *c;
	CUresult r = context_find(NULL, &c);

	if (r != CUDA_SUCCESS)
		return r;
	return (unsigned int)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE
										: CUDA_SUCCESS;
}

CUresult client_cuCtxGetExecAffinity(CUexecAffinityParam *pExecAffinity, CUexecAffinityType type)
{
	struct context *c;
	CUresult r = context_find(NULL, &c);

	if (r != CUDA_SUCCESS)
		return r;
	return !pExecAffinity || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT ? CUDA_ERROR_INVALID_VALUE
									: CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
}

/* A call about the context alone, which is waited for. */
static CUresult ask(enum cuda_call call, CUcontext ctx)
{
	struct client_call c;
	uint64_t id;

	client_call(&c, call);
	id = client_use(&c, KIND_CONTEXT, ctx);
	if (client_begin(&c, true)) {
		remote_put(&c.out, &id, sizeof id);
		client_send(&c);
	}
	return client_end(&c);
}

static CUresult wait_for_all(CUcontext ctx)
{
	struct client_call c;
	uint64_t id;

	client_call(&c, CUDA_CALL_cuCtxSynchronize_v2);
	id = client_use(&c, KIND_CONTEXT, ctx);
	if (c.result == CUDA_SUCCESS && waited_still_context(&c))
		return client_end(&c);
	if (client_begin(&c, true)) {
		remote_put(&c.out, &id, sizeof id);
		client_send(&c);
	}
	waited_note_context(&c);
	return client_end(&c);
}

CUresult client_cuCtxSynchronize(void)
{
	return client_cuCtxSynchronize_v2(NULL);
}

CUresult client_cuCtxSynchronize_v2(CUcontext ctx)
{
	CUresult r = wait_for_all(ctx);

	return r == CUDA_SUCCESS ? unified_waited_context(ctx) : r;
}

CUresult client_cuCtxResetPersistingL2Cache(void)
{
	return ask(CUDA_CALL_cuCtxResetPersistingL2Cache, NULL);
}

CUresult client_cuCtxSetLimit(CUlimit limit, size_t value)
{
	struct client_call c;
	uint64_t sent[2] = { limit, value };

	client_call(&c, CUDA_CALL_cuCtxSetLimit);
	if (client_begin(&c, true)) {
		remote_put(&c.out, sent, sizeof sent);
		client_send(&c);
	}
	return client_end(&c);
}

CUresult client_cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
	struct client_call c;
	uint64_t which = limit, value = 0;

	client_call(&c, CUDA_CALL_cuCtxGetLimit);
	if (c.result == CUDA_SUCCESS && client_use_current(&c) && !pvalue)
		c.result = CUDA_ERROR_INVALID_VALUE;
	if (client_begin(&c, true)) {
		remote_put(&c.out, &which, sizeof which);
		client_send(&c);
		remote_get(&c.in, &value, sizeof value);
	}
	if (client_end(&c) == CUDA_SUCCESS)
		*pvalue = value;
	return c.result;
}

/* ---- peers ---- */

static CUresult peer_call(enum cuda_call call, CUcontext peer, unsigned int flags)
{
	struct context *here, *there;
	CUresult r = context_find(NULL, &here);

	if (r != CUDA_SUCCESS)
		return r;
	there = context_of(peer);
	if (!there || there == here)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (there->session != here->session)
		return call == CUDA_CALL_cuCtxEnablePeerAccess ? CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
							       : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	return ask(call, peer);
}

CUresult client_cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
	return peer_call(CUDA_CALL_cuCtxEnablePeerAccess, peerContext, Flags);
}

CUresult client_cuCtxDisablePeerAccess(CUcontext peerContext)
{
	return peer_call(CUDA_CALL_cuCtxDisablePeerAccess, peerContext, 0);
}
