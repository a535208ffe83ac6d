/*
 * function.c: functions: attributes, parameters, occupancy. See module.h.
 *
 * Occupancy is that of the declared SM: 2048 threads, 32 blocks, 65536 registers in pieces of 256 per warp, 228 KiB of
 * shared memory in pieces of 128 bytes, of which each block's own administration takes 1 KiB. The engine's estimate of
 * a kernel's registers is cut to what lets its largest block run, as a compiler would.
 */
#include "softdev/module.h"

#include <string.h>

#define WARP 32
#define SM_THREADS 2048
#define SM_BLOCKS 32
#define SM_REGISTERS 65536
#define SM_SHARED (228 << 10)
#define BLOCK_SHARED_RESERVED (1 << 10)
#define SHARED_PIECE 128
#define REGISTER_PIECE 8 /* per thread: 256 per warp */

CUresult function_find(CUfunction h, struct context *c, struct function **ret)
{
	struct function *f = handle_find(HANDLE_FUNCTION, h);
	struct kernel *k;
	struct module *m;
	CUresult e;

	if (f && (f->module->leaving || f->module->context->closing))
		return CUDA_ERROR_INVALID_HANDLE;
	if (f) {
		*ret = f;
		return CUDA_SUCCESS;
	}
	k = handle_find(HANDLE_KERNEL, h);
	if (!k)
		return CUDA_ERROR_INVALID_HANDLE;
	e = library_module(k->library, c, &m);
	if (!e)
		e = module_function(m, k->kernel->name, ret);
	if (!e)
		atomic_store(&(*ret)->loaded, true);
	if (!e && k->settings_made[c->device->ordinal])
		(*ret)->settings = k->settings[c->device->ordinal];
	return e;
}

/* The function of a handle in the current context. */
static CUresult function_here(CUfunction h, struct function **ret)
{
	struct context *c;
	CUresult e = context_current(&c);

	return e ? e : function_find(h, c, ret);
}

/*
 * The same, for calls that NVIDIA's driver refuses for a function that a module listed and that it has not loaded yet
 * (seen with driver 580).
 */
static CUresult function_loaded_here(CUfunction h, struct function **ret)
{
	CUresult e = function_here(h, ret);

	return e || atomic_load(&(*ret)->loaded) ? e : CUDA_ERROR_FUNCTION_NOT_LOADED;
}

uint32_t function_shared_most(const struct ptx_kernel *k, int set)
{
	if (set >= 0)
		return (uint32_t)set;
	return k->shared_bytes < MODULE_SHARED_DEFAULT ? MODULE_SHARED_DEFAULT - k->shared_bytes : 0;
}

static uint32_t up(uint32_t n, uint32_t piece)
{
	return (n + piece - 1) / piece * piece;
}

static uint32_t registers_of(const struct ptx_kernel *k)
{
	uint32_t most = SM_REGISTERS / up(k->max_threads, WARP);

	most = most > 255 ? 255 : most / REGISTER_PIECE * REGISTER_PIECE;
	return !k->registers ? 1 : k->registers > most ? most : k->registers;
}

/* What may be set besides the size of dynamic shared memory: hints that nothing follows from. */
static bool hint_good(CUfunction_attribute attribute, int value)
{
	switch (attribute) {
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		return value >= -1 && value <= 100;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		return value == 0 || value == 1;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		return value >= CU_CLUSTER_SCHEDULING_POLICY_DEFAULT &&
		       value <= CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
	default:
		return false;
	}
}

CUresult settings_set(struct function_settings *s, const struct ptx_kernel *k, CUfunction_attribute attribute,
		      int value)
{
	if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
		if (value < 0 || (uint64_t)value + k->shared_bytes > MODULE_SHARED_MOST)
			return CUDA_ERROR_INVALID_VALUE;
		s->dynamic_shared_most = value;
		return CUDA_SUCCESS;
	}
	if (!hint_good(attribute, value))
		return CUDA_ERROR_INVALID_VALUE;
	if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
		s->carveout = value;
	else if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED)
		s->non_portable = value;
	else
		s->cluster_policy = value;
	return CUDA_SUCCESS;
}

CUresult function_attribute(const struct ptx_kernel *k, const struct function_settings *s,
			    CUfunction_attribute attribute, int *ret)
{
	switch (attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*ret = (int)k->max_threads;
		break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*ret = (int)k->shared_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
		*ret = (int)k->const_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*ret = (int)k->local_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*ret = (int)registers_of(k);
		break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
		*ret = (int)k->target;
		break;
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*ret = (int)(driver.device[0].config->cc_major * 10 + driver.device[0].config->cc_minor);
		break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*ret = (int)function_shared_most(k, s->dynamic_shared_most);
		break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		*ret = s->carveout;
		break;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		*ret = s->non_portable;
		break;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		*ret = s->cluster_policy;
		break;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		*ret = (int)k->cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
		break;
	default:
		if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX)
			return CUDA_ERROR_INVALID_VALUE;
		*ret = 0;
		break;
	}
	return CUDA_SUCCESS;
}

CUresult soft_cuFuncGetAttribute(int *ret, CUfunction_attribute attribute, CUfunction h)
{
	MODULES_STAY;
	struct function *f;
	CUresult e = function_loaded_here(h, &f);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	return function_attribute(f->kernel, &f->settings, attribute, ret);
}

CUresult soft_cuFuncSetAttribute(CUfunction h, CUfunction_attribute attribute, int value)
{
	MODULES_STAY;
	struct function *f;
	CUresult e = function_loaded_here(h, &f);

	if (e)
		return e;
	return settings_set(&f->settings, f->kernel, attribute, value);
}

CUresult soft_cuFuncSetCacheConfig(CUfunction h, CUfunc_cache config)
{
	MODULES_STAY;
	struct function *f;
	CUresult e = function_here(h, &f);

	if (e)
		return e;
	if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	f->cache = config;
	return CUDA_SUCCESS;
}

CUresult soft_cuFuncSetSharedMemConfig(CUfunction h, CUsharedconfig config)
{
	MODULES_STAY;
	struct function *f;
	CUresult e = function_here(h, &f);

	if (e)
		return e;
	return (unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult soft_cuFuncGetModule(CUmodule *ret, CUfunction h)
{
	MODULES_STAY;
	struct function *f;
	CUresult e = function_here(h, &f);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUmodule)f->module;
	return CUDA_SUCCESS;
}

CUresult soft_cuFuncGetName(const char **ret, CUfunction h)
{
	MODULES_STAY;
	struct function *f;
	CUresult e = function_here(h, &f);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = f->kernel->name;
	return CUDA_SUCCESS;
}

CUresult function_param_info(const struct ptx_kernel *k, size_t index, size_t *ret_offset, size_t *ret_bytes)
{
	if (!ret_offset || index >= k->param_count)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_offset = k->param[index].offset;
	if (ret_bytes)
		*ret_bytes = k->param[index].bytes;
	return CUDA_SUCCESS;
}

CUresult soft_cuFuncGetParamInfo(CUfunction h, size_t index, size_t *ret_offset, size_t *ret_bytes)
{
	MODULES_STAY;
	struct function *f;
	CUresult e = function_here(h, &f);

	return e ? e : function_param_info(f->kernel, index, ret_offset, ret_bytes);
}

CUresult function_param_count(const struct ptx_kernel *k, size_t *ret)
{
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = k->param_count;
	return CUDA_SUCCESS;
}

CUresult soft_cuFuncGetParamCount(CUfunction h, size_t *ret)
{
	MODULES_STAY;
	struct function *f;
	CUresult e = function_here(h, &f);

	return e ? e : function_param_count(f->kernel, ret);
}

CUresult soft_cuFuncIsLoaded(CUfunctionLoadingState *ret, CUfunction h)
{
	MODULES_STAY;
	struct function *f;
	CUresult e = function_here(h, &f);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = atomic_load(&f->loaded) ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED;
	return CUDA_SUCCESS;
}

CUresult soft_cuFuncLoad(CUfunction h)
{
	MODULES_STAY;
	struct function *f;
	CUresult e = function_here(h, &f);

	if (!e)
		atomic_store(&f->loaded, true);
	return e;
}

/* ---- occupancy: of the declared SM ---- */

static size_t shared_of_block(const struct ptx_kernel *k, size_t dynamic)
{
	return up((uint32_t)(k->shared_bytes + dynamic), SHARED_PIECE) + BLOCK_SHARED_RESERVED;
}

int function_blocks_per_sm(const struct ptx_kernel *k, uint32_t threads, size_t dynamic)
{
	uint32_t warps = (threads + WARP - 1) / WARP;
	size_t blocks, registers;

	if (!threads || threads > k->max_threads || dynamic > MODULE_SHARED_MOST ||
	    k->shared_bytes + dynamic > MODULE_SHARED_MOST)
		return 0;
	blocks = SM_THREADS / (warps * WARP);
	if (blocks > SM_BLOCKS)
		blocks = SM_BLOCKS;
	registers = (size_t)up(registers_of(k), REGISTER_PIECE) * warps * WARP;
	if (blocks > SM_REGISTERS / registers)
		blocks = SM_REGISTERS / registers;
	if (blocks > SM_SHARED / shared_of_block(k, dynamic))
		blocks = SM_SHARED / shared_of_block(k, dynamic);
	return (int)blocks;
}

CUresult soft_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret, CUfunction h, int threads, size_t dynamic,
								   unsigned flags)
{
	MODULES_STAY;
	struct function *f;
	CUresult e = function_here(h, &f);

	if (e)
		return e;
	if (!ret || threads <= 0 || flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = function_blocks_per_sm(f->kernel, (uint32_t)threads, dynamic);
	return CUDA_SUCCESS;
}

CUresult soft_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *ret, CUfunction h, int threads, size_t dynamic)
{
	return soft_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(ret, h, threads, dynamic, 0);
}

CUresult soft_cuOccupancyMaxPotentialBlockSizeWithFlags(int *ret_grid, int *ret_block, CUfunction h,
							CUoccupancyB2DSize shared_of, size_t dynamic, int limit,
							unsigned flags)
{
	int best_block = 0, best_blocks = 0, most;
	struct function *f;
	CUresult e = function_here(h, &f);

	if (e)
		return e;
	if (!ret_grid || !ret_block || limit < 0 || flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
		return CUDA_ERROR_INVALID_VALUE;
	most = (int)f->kernel->max_threads;
	if (limit && limit < most)
		most = limit;
	for (int threads = (most + WARP - 1) / WARP * WARP; threads > 0; threads -= WARP) {
		int block = threads < most ? threads : most;
		int blocks = function_blocks_per_sm(f->kernel, (uint32_t)block, shared_of ? shared_of(block) : dynamic);

		if (blocks * block > best_blocks * best_block) {
			best_blocks = blocks;
			best_block = block;
		}
	}
	*ret_block = best_block;
	*ret_grid = best_blocks * (int)f->module->context->device->config->sm_count;
	return CUDA_SUCCESS;
}

CUresult soft_cuOccupancyMaxPotentialBlockSize(int *ret_grid, int *ret_block, CUfunction h,
					       CUoccupancyB2DSize shared_of, size_t dynamic, int limit)
{
	return soft_cuOccupancyMaxPotentialBlockSizeWithFlags(ret_grid, ret_block, h, shared_of, dynamic, limit, 0);
}

CUresult soft_cuOccupancyAvailableDynamicSMemPerBlock(size_t *ret, CUfunction h, int blocks, int threads)
{
	MODULES_STAY;
	struct function *f;
	size_t most;
	CUresult e = function_here(h, &f);

	if (e)
		return e;
	if (!ret || blocks <= 0 || threads <= 0 || function_blocks_per_sm(f->kernel, (uint32_t)threads, 0) < blocks)
		return CUDA_ERROR_INVALID_VALUE;
	most = (size_t)SM_SHARED / (size_t)blocks / SHARED_PIECE * SHARED_PIECE - BLOCK_SHARED_RESERVED;
	most = most > f->kernel->shared_bytes ? most - f->kernel->shared_bytes : 0;
	if (most > MODULE_SHARED_MOST - f->kernel->shared_bytes)
		most = MODULE_SHARED_MOST - f->kernel->shared_bytes;
	*ret = most;
	return CUDA_SUCCESS;
}
