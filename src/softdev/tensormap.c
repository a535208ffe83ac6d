/* tensormap.c: cuTensorMap...: maps for copies of boxes of arrays, as the engine reads them (ptx/tensor.h). */
#include "softdev/ptx/tensor.h"

#include "softdev/driver.h"

#include <stddef.h>
#include <string.h>

/* The numbers that kernels give to types (tensormap.replace) by those of the driver API; the packed ones are not there.
 */
static const uint8_t types[] = {
	[CU_TENSOR_MAP_DATA_TYPE_UINT8] = TENSOR_u8,
	[CU_TENSOR_MAP_DATA_TYPE_UINT16] = TENSOR_u16,
	[CU_TENSOR_MAP_DATA_TYPE_UINT32] = TENSOR_u32,
	[CU_TENSOR_MAP_DATA_TYPE_INT32] = TENSOR_s32,
	[CU_TENSOR_MAP_DATA_TYPE_UINT64] = TENSOR_u64,
	[CU_TENSOR_MAP_DATA_TYPE_INT64] = TENSOR_s64,
	[CU_TENSOR_MAP_DATA_TYPE_FLOAT16] = TENSOR_f16,
	[CU_TENSOR_MAP_DATA_TYPE_FLOAT32] = TENSOR_f32,
	[CU_TENSOR_MAP_DATA_TYPE_FLOAT64] = TENSOR_f64,
	[CU_TENSOR_MAP_DATA_TYPE_BFLOAT16] = TENSOR_bf16,
	[CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ] = TENSOR_f32_ftz,
	[CU_TENSOR_MAP_DATA_TYPE_TFLOAT32] = TENSOR_tf32,
	[CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ] = TENSOR_tf32_ftz,
};
static const uint8_t bytes_of[] = { 1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4 }; /* by enum tensor_type */

#define BOX_MOST 256u
#define STEP_MOST 8u
#define DIM_MOST (UINT64_C(1) << 32)
#define STRIDE_END (UINT64_C(1) << 40)

static CUresult tensor_check(const struct tensor_map *m, unsigned rank, const cuuint64_t *dim, const cuuint64_t *stride,
			     const cuuint32_t *box, const cuuint32_t *step)
{
	const unsigned size = bytes_of[m->type], line = box[0] * size;

	if (m->address % 16 || line % 16 || (m->swizzle && line > 16u << m->swizzle))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < rank; i++)
		if (!dim[i] || dim[i] > DIM_MOST || !box[i] || box[i] > BOX_MOST || !step[i] || step[i] > STEP_MOST ||
		    (i && (!stride[i - 1] || stride[i - 1] % 16 || stride[i - 1] >= STRIDE_END)))
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult soft_cuTensorMapEncodeTiled(CUtensorMap *ret, CUtensorMapDataType type, cuuint32_t rank, void *address,
				     const cuuint64_t *dim, const cuuint64_t *stride, const cuuint32_t *box,
				     const cuuint32_t *step, CUtensorMapInterleave interleave,
				     CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
				     CUtensorMapFloatOOBfill fill)
{
	struct tensor_map m = { .address = (uintptr_t)address };
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!ret || (uintptr_t)ret % 64 || !dim || !box || !step || !rank || rank > TENSOR_RANK_MAX ||
	    (rank > 1 && !stride) || (unsigned)type > CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B ||
	    (unsigned)interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
	    (unsigned)swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B ||
	    (unsigned)fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
		return CUDA_ERROR_INVALID_VALUE;
	if ((unsigned)type >= sizeof(types) || interleave || swizzle > CU_TENSOR_MAP_SWIZZLE_128B)
		return CUDA_ERROR_NOT_SUPPORTED;
	m.type = types[type];
	m.rank_less = (uint8_t)(rank - 1);
	m.swizzle = (uint8_t)swizzle;
	m.fill = (uint8_t)fill;
	e = tensor_check(&m, rank, dim, stride, box, step);
	if (e)
		return e;
	for (unsigned i = 0; i < rank; i++) {
		m.dim[i] = (uint32_t)dim[i];
		m.box[i] = (uint16_t)box[i];
		m.step[i] = (uint8_t)step[i];
		if (i)
			m.stride[i - 1] = stride[i - 1];
	}
	memcpy(ret, &m, sizeof(m));
	return CUDA_SUCCESS;
}

CUresult soft_cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
	const uint64_t value = (uintptr_t)address;
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!map || value % 16)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy((char *)map + offsetof(struct tensor_map, address), &value, sizeof(value));
	return CUDA_SUCCESS;
}

/* This architecture's maps have one class: what is asked for changes nothing. */
CUresult soft_cuTensorMapSetAllocationClass(CUtensorMap *map, CUtensorMapAllocClass class, CUtensorMapAllocClass *ret)
{
	CUresult e = driver_ready();

	if (ret)
		*ret = CU_TENSOR_MAP_ALLOC_CLASS_SMALL;
	if (e)
		return e;
	return !map || (unsigned)class > CU_TENSOR_MAP_ALLOC_CLASS_LARGE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
