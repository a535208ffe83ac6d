/*
 * sample.h: texels, addresses and filters, between the instructions (texture.c, surface.c) and memory.
 *
 * A texel is four 32-bit values: floats, or integers of a texture that is read as integers. Channels that the format
 * does not have are 0, the fourth is 1.
 */
#pragma once

#include "softdev/ptx/engine.h"
#include "softdev/ptx/texture.h"

enum geometry { GEO_1D, GEO_2D, GEO_3D, GEO_A1D, GEO_A2D, GEO_CUBE, GEO_ACUBE };

/* An instruction's operands, in the order of call.arg. Behind op.call. */
struct texture_use {
	struct call call; /* first; function is NULL */
	uint8_t geometry;
	uint8_t coordinates; /* without the layer */
	bool layered;
	bool integer;	   /* coordinates */
	uint8_t lod;	   /* enum lod */
	uint8_t half;	   /* results: 0 32 bits each, 1 f16x2, 2 f16 */
	bool sampler;	   /* arg[1] is one */
	bool resident;	   /* the last result is the predicate */
	uint8_t component; /* of a gather */
	uint8_t offsets;   /* how many */
	/* where arguments begin */
	uint8_t at_coordinate, at_lod, at_offset, at_value;
	/* queries and surfaces */
	uint8_t query;
	uint8_t bytes;	/* of an element */
	uint8_t vector; /* elements */
	uint8_t border; /* enum surface_border; of a query: it is about a surface */
	bool formatted;
	uint8_t reduction;
	uint8_t type; /* enum type of a reduction */
};

enum lod { LOD_NONE, LOD_BASE, LOD_LEVEL, LOD_GRAD };
enum surface_border { BORDER_TRAP, BORDER_CLAMP, BORDER_ZERO };
enum surface_reduction { REDUCE_ADD, REDUCE_MIN, REDUCE_MAX, REDUCE_AND, REDUCE_OR };

/* In the order of rows_tex.h; those from QUERY_UNNORMALIZED on concern the sampler. */
enum texture_query {
	QUERY_WIDTH,
	QUERY_HEIGHT,
	QUERY_DEPTH,
	QUERY_DATA_TYPE,
	QUERY_ORDER,
	QUERY_NORMALIZED,
	QUERY_ARRAY_SIZE,
	QUERY_LEVELS,
	QUERY_SAMPLES,
	QUERY_MEMORY_LAYOUT,
	QUERY_UNNORMALIZED,
	QUERY_FILTER,
	QUERY_ADDRESS_0,
	QUERY_ADDRESS_1,
	QUERY_ADDRESS_2,
};

/* Where to sample. */
struct sample_at {
	float x[3];
	int32_t i[3]; /* instead of x, when the coordinates are integers */
	int32_t offset[3];
	uint32_t layer;
	bool integer;
};

/* The texture of the handle in this launch; NULL: there is none, and the launch has failed with a fault. */
const struct ptx_texture *texture_get(struct warp *w, const struct op *o, uint32_t lane, uint64_t handle,
				      enum ptx_texture_use use);
void texel_read(const struct ptx_texture *t, const uint8_t *p, uint32_t ret[4]);
/* One level, with the sampler's filter. */
void sample_level(const struct ptx_texture *t, const struct ptx_sampler *s, uint32_t level, const struct sample_at *at,
		  uint32_t ret[4]);
/* The 2 x 2 texels that a linear filter would read, one channel of each, counter-clockwise from the lower left. */
void sample_gather(const struct ptx_texture *t, const struct ptx_sampler *s, const struct sample_at *at,
		   uint32_t component, uint32_t ret[4]);
/* One or two levels, according to the level of detail. */
void sample_lod(const struct ptx_texture *t, const struct ptx_sampler *s, float lod, const struct sample_at *at,
		uint32_t ret[4]);
/* The face to which a direction points; x[0], x[1] become the position on it, 0 to 1, and the layer the face. */
void sample_cube(const struct ptx_texture *t, struct sample_at *at);
/* The level of detail of coordinates that change by dx and dy from pixel to pixel. */
float sample_gradient(const struct ptx_texture *t, const struct ptx_sampler *s, const struct sample_at *at,
		      const float dx[3], const float dy[3]);
uint16_t half_of(float x);
