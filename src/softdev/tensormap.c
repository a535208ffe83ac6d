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
#define PIXELS_MOST 1024u
#define STEP_MOST 8u
#define DIM_MOST (UINT64_C(1) << 32)
#define STRIDE_END (UINT64_C(1) << 40)

/* What both kinds of map have in common. */
struct array {
	CUtensorMapDataType type;
	cuuint32_t rank;
	void *address;
	const cuuint64_t *dim, *stride;
	const cuuint32_t *step;
	CUtensorMapInterleave interleave;
	CUtensorMapSwizzle swizzle;
	CUtensorMapFloatOOBfill fill;
};

/*
 * The array that a map is of. Steps in the first dimension count for nothing without an interleave, as the API says.
 * The map itself may lie anywhere: cuda-core keeps it within an object of Python's, at a multiple of 16, and encodes it
 * there on GPUs, although the API asks for 64.
 */
static CUresult array_take(const struct array *a, CUtensorMap *ret, struct tensor_map *m)
{
	const CUresult e = driver_ready();

	if (e)
		return e;
	if (!ret || !a->dim || !a->step || !a->rank || a->rank > TENSOR_RANK_MAX || (a->rank > 1 && !a->stride) ||
	    (unsigned)a->type > CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B ||
	    (unsigned)a->interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
	    (unsigned)a->swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B ||
	    (unsigned)a->fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA || (uintptr_t)a->address % 16)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < a->rank; i++)
		if (!a->dim[i] || a->dim[i] > DIM_MOST || !a->step[i] || a->step[i] > STEP_MOST ||
		    (i && (!a->stride[i - 1] || a->stride[i - 1] % 16 || a->stride[i - 1] >= STRIDE_END)))
			return CUDA_ERROR_INVALID_VALUE;
	if ((unsigned)a->type >= sizeof(types) || a->interleave || a->swizzle > CU_TENSOR_MAP_SWIZZLE_128B)
		return CUDA_ERROR_NOT_SUPPORTED;
	*m = (struct tensor_map){ .address = (uintptr_t)a->address,
				  .rank_less = (uint8_t)(a->rank - 1),
				  .type = types[a->type],
				  .swizzle = (uint8_t)a->swizzle,
				  .fill = (uint8_t)a->fill };
	for (unsigned i = 0; i < a->rank; i++) {
		m->dim[i] = (uint32_t)a->dim[i];
		m->step[i] = i ? (uint8_t)a->step[i] : 1;
		if (i)
			m->stride[i - 1] = a->stride[i - 1];
	}
	return CUDA_SUCCESS;
}

/* A line of so many elements, which lie side by side in shared memory. */
static bool line_fits(const struct tensor_map *m, cuuint32_t count)
{
	const unsigned line = count * bytes_of[m->type];

	return count && count <= BOX_MOST && line % 16 == 0 && (!m->swizzle || line <= 16u << m->swizzle);
}

CUresult soft_cuTensorMapEncodeTiled(CUtensorMap *ret, CUtensorMapDataType type, cuuint32_t rank, void *address,
				     const cuuint64_t *dim, const cuuint64_t *stride, const cuuint32_t *box,
				     const cuuint32_t *step, CUtensorMapInterleave interleave,
				     CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
				     CUtensorMapFloatOOBfill fill)
{
	const struct array a = { type, rank, address, dim, stride, step, interleave, swizzle, fill };
	struct tensor_map m;
	const CUresult e = array_take(&a, ret, &m);

	(void)promotion;
	if (e)
		return e;
	if (!box || !line_fits(&m, box[0]))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < rank; i++) {
		if (!box[i] || box[i] > BOX_MOST)
			return CUDA_ERROR_INVALID_VALUE;
		m.box[i] = (uint16_t)box[i];
	}
	memcpy(ret, &m, sizeof(m));
	return CUDA_SUCCESS;
}

/* Corners are in the order of the dimensions, width first; how far they may lie out depends on how many there are. */
CUresult soft_cuTensorMapEncodeIm2col(CUtensorMap *ret, CUtensorMapDataType type, cuuint32_t rank, void *address,
				      const cuuint64_t *dim, const cuuint64_t *stride, const int *lower,
				      const int *upper, cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *step,
				      CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
				      CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
	static const int most[] = { [3] = 1 << 15, [4] = 1 << 7, [5] = 1 << 4 };
	const struct array a = { type, rank, address, dim, stride, step, interleave, swizzle, fill };
	struct tensor_map m;
	const CUresult e = array_take(&a, ret, &m);

	(void)promotion;
	if (e)
		return e;
	if (rank < 3 || !lower || !upper || !line_fits(&m, channels) || !pixels || pixels > PIXELS_MOST)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < rank - 2; i++) {
		if (lower[i] < -most[rank] || lower[i] >= most[rank] || upper[i] < -most[rank] ||
		    upper[i] >= most[rank])
			return CUDA_ERROR_INVALID_VALUE;
		m.lower[i] = (int16_t)lower[i];
		m.upper[i] = (int16_t)upper[i];
	}
	m.im2col = 1;
	m.box[0] = (uint16_t)channels;
	m.box[1] = (uint16_t)pixels;
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
