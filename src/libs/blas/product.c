/* product.c: see product.h: what is planned at the call. product_run.c executes. */
#include "libs/blas/product.h"

#include "libs/blas/gemm.h"

#define TILE 1024
#define TILE_FLOAT 512
#define TILE_LEAST 96
#define BLOCKS_MOST 16384u

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
	       p->tile_columns <= TILE && type_bytes(p->scale_type) && product_sizes_good(p) && p->way &&
	       p->way == product_way(p) &&
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

uint32_t product_plan(struct product *p)
{
	uint64_t tiles;

	if (!p->m || !p->n || !p->batch)
		return 0;
	tiles_choose(p);
	tiles = tiles_of(p);
	/* what is added up or compared over all of D is one block's */
	if (p->amax || p->aux_amax || p->epilogue & (EPILOGUE_BGRAD | EPILOGUE_BGRADA | EPILOGUE_BGRADB))
		tiles = 1;
	return tiles < BLOCKS_MOST ? (uint32_t)tiles : BLOCKS_MOST;
}
