/* product.c: see product.h: what is checked and planned at the call. product_run.c executes. */
#include "libs/blas/product.h"

#include "libs/blas/gemm.h"

#define TILE 1024
#define TILE_FLOAT 512
#define TILE_LEAST 96
#define BLOCKS_MOST 16384u

bool product_op(int operation, uint8_t *ret)
{
	static const uint8_t op[] = { GEMM_N, GEMM_T, GEMM_H };

	if (operation < 0 || operation >= (int)sizeof(op))
		return false;
	*ret = op[operation];
	return true;
}

static bool type_is_fp8(unsigned int type)
{
	return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

static bool type_is_small(unsigned int type)
{
	return type == CUDA_R_16F || type == CUDA_R_16BF || type_is_fp8(type);
}

/* One type throughout, which is a gemm's. */
static bool direct(const struct product *p)
{
	unsigned int type = p->type[PRODUCT_A];

	for (int i = 0; i < PRODUCT_MATRICES; i++)
		if (p->type[i] != type || p->scale[i])
			return false;
	return p->alpha.place != PRODUCT_VECTOR && p->scale_type == type &&
	       (type == CUDA_R_32F || type == CUDA_R_64F || type_is_complex(type));
}

static bool result_float(unsigned int type)
{
	return type == CUDA_R_32F || type_is_small(type);
}

/* Which way does it; 0: none. */
static uint8_t way_of(const struct product *p)
{
	unsigned int a = p->type[PRODUCT_A], b = p->type[PRODUCT_B], c = p->type[PRODUCT_C], d = p->type[PRODUCT_D];
	bool scale_float = p->scale_type == CUDA_R_32F || p->scale_type == CUDA_R_16F;

	if (direct(p))
		return p->epilogue == EPILOGUE_NONE || !type_is_complex(a) ? PRODUCT_DIRECT : 0;
	if (a == CUDA_R_8I && b == CUDA_R_8I && c == d) {
		if (p->scale_type == CUDA_R_32I && d == CUDA_R_32I)
			return PRODUCT_INTEGER;
		return p->scale_type == CUDA_R_32F && (d == CUDA_R_8I || d == CUDA_R_32F) ? PRODUCT_INTEGER : 0;
	}
	if (!scale_float || !result_float(d) || !(c == d || (type_is_small(c) && type_is_fp8(d))))
		return 0;
	if (type_is_fp8(a) && type_is_fp8(b))
		return PRODUCT_FLOAT;
	if (a == b && (a == CUDA_R_16F || a == CUDA_R_16BF))
		return d == a || d == CUDA_R_32F ? PRODUCT_FLOAT : 0;
	return a == CUDA_R_32F && b == CUDA_R_32F ? PRODUCT_FLOAT : 0;
}

static bool ld_good(int64_t ld, int64_t rows)
{
	return ld >= (rows > 1 ? rows : 1);
}

static bool sizes_good(const struct product *p)
{
	return p->m >= 0 && p->n >= 0 && p->k >= 0 && p->batch >= 0 &&
	       ld_good(p->ld[PRODUCT_A], p->op[0] == GEMM_N ? p->m : p->k) &&
	       ld_good(p->ld[PRODUCT_B], p->op[1] == GEMM_N ? p->k : p->n) && ld_good(p->ld[PRODUCT_C], p->m) &&
	       ld_good(p->ld[PRODUCT_D], p->m);
}

/* As cublasLt has them: at most one function of the sum or of its gradient, whose auxiliary matrix is of one kind. */
static bool epilogue_sound(uint32_t e)
{
	uint32_t function = e & (EPILOGUE_RELU | EPILOGUE_GELU | EPILOGUE_DRELU | EPILOGUE_DGELU);

	return !(function & (function - 1)) &&
	       (e & (EPILOGUE_BGRADA | EPILOGUE_BGRADB)) != (EPILOGUE_BGRADA | EPILOGUE_BGRADB);
}

bool product_sound(const struct product *p)
{
	for (int i = 0; i < PRODUCT_MATRICES; i++)
		if (!type_bytes(p->type[i]) || p->scale[i] > SCALE_OUTER)
			return false;
	if (!epilogue_sound(p->epilogue) || p->batch > 1 << 30 || p->alpha_stride < 0 || p->alpha_stride > 1 << 30)
		return false;
	return p->op[0] <= GEMM_H && p->op[1] <= GEMM_H && p->alpha.place <= PRODUCT_VECTOR &&
	       p->beta.place <= PRODUCT_AT && p->tile_rows && p->tile_columns && p->tile_rows <= TILE &&
	       p->tile_columns <= TILE && type_bytes(p->scale_type) && sizes_good(p) && p->way && p->way == way_of(p) &&
	       (p->way == PRODUCT_DIRECT || (p->tile_rows <= TILE_FLOAT && p->tile_columns <= TILE_FLOAT)) &&
	       (!p->bias || (type_bytes(p->bias_type) && !type_is_complex(p->bias_type))) &&
	       (!p->aux || (type_bytes(p->aux_type) && !type_is_complex(p->aux_type)));
}

static uint64_t parts(int64_t size, uint32_t tile)
{
	return ((uint64_t)size + tile - 1) / tile;
}

static uint64_t tiles_of(const struct product *p)
{
	return parts(p->m, p->tile_rows) * parts(p->n, p->tile_columns) * (uint64_t)p->batch;
}

/* Evenly: no last tile that is a sliver. In sixteens: bytes of bits belong to one tile alone. */
static uint32_t even(int64_t size, uint32_t tile)
{
	uint64_t count = parts(size, tile);

	return (uint32_t)(((uint64_t)size + count - 1) / count + 15) & ~15u;
}

/* Tiles large enough to be worth it, and enough of them for all threads. */
static void tiles_choose(struct product *p)
{
	uint32_t most = p->way == PRODUCT_DIRECT ? TILE : TILE_FLOAT, wanted = 2 * device_threads();

	p->tile_rows = even(p->m, most);
	p->tile_columns = even(p->n, most);
	while (tiles_of(p) < wanted) {
		if (p->tile_columns >= p->tile_rows && p->tile_columns > TILE_LEAST)
			p->tile_columns = even(p->n, p->tile_columns / 2);
		else if (p->tile_rows > TILE_LEAST)
			p->tile_rows = even(p->m, p->tile_rows / 2);
		else if (p->tile_columns > TILE_LEAST)
			p->tile_columns = even(p->n, p->tile_columns / 2);
		else
			break;
	}
}

cublasStatus_t product_plan(struct product *p, uint32_t *ret_blocks)
{
	uint64_t tiles;

	*ret_blocks = 0;
	if (!sizes_good(p))
		return CUBLAS_STATUS_INVALID_VALUE;
	p->way = way_of(p);
	if (!p->way)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (!p->m || !p->n || !p->batch)
		return CUBLAS_STATUS_SUCCESS;
	tiles_choose(p);
	tiles = tiles_of(p);
	/* what is added up or compared over all of D is one block's */
	if (p->amax || p->aux_amax || p->epilogue & (EPILOGUE_BGRAD | EPILOGUE_BGRADA | EPILOGUE_BGRADB))
		tiles = 1;
	*ret_blocks = tiles < BLOCKS_MOST ? (uint32_t)tiles : BLOCKS_MOST;
	return CUBLAS_STATUS_SUCCESS;
}
