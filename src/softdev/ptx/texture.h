/*
 * texture.h: textures and surfaces in the engine.
 *
 * A kernel names a texture by a 64-bit handle: an object's in a register, or that of a .texref, .surfref or .samplerref
 * variable, which the caller assigns when the module is bound. The engine asks the caller for the meaning of a handle
 * (struct ptx_textures), once per handle and worker, and reads texels through the returned description, which does not
 * change until the launch ends.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PTX_TEXTURE_LEVELS 18u

/* The layout of a channel in memory, and the result of a fetch. */
enum ptx_texel {
	PTX_TEXEL_U8, /* integers: zero or sign extended */
	PTX_TEXEL_S8,
	PTX_TEXEL_U16,
	PTX_TEXEL_S16,
	PTX_TEXEL_32,  /* 32-bit integers as they are */
	PTX_TEXEL_F32, /* floats from here on: these can be filtered */
	PTX_TEXEL_F16,
	PTX_TEXEL_UNORM8, /* [0, 1] */
	PTX_TEXEL_SNORM8, /* [-1, 1] */
	PTX_TEXEL_UNORM16,
	PTX_TEXEL_SNORM16,
	PTX_TEXEL_SRGB8,   /* the first three channels; the fourth is UNORM8 */
	PTX_TEXEL_1010102, /* four channels in 32 bits */
};

enum ptx_texture_kind {
	PTX_TEXTURE_LINEAR, /* a row of elements: outside it reads zero, nothing is filtered */
	PTX_TEXTURE_PITCH,  /* two dimensions in plain memory */
	PTX_TEXTURE_ARRAY,
};

/* In the order of CUaddress_mode. */
enum ptx_address { PTX_ADDRESS_WRAP, PTX_ADDRESS_CLAMP, PTX_ADDRESS_MIRROR, PTX_ADDRESS_BORDER };

struct ptx_texture_level {
	uint64_t data;
	uint32_t width, height, depth; /* in texels, at least 1 */
	uint64_t pitch, slice;	       /* bytes from row to row; from plane, layer or face to the next */
};

/* The part that a .samplerref defines. */
struct ptx_sampler {
	uint8_t address[3]; /* enum ptx_address */
	bool linear;
	bool normalized; /* coordinates */
};

struct ptx_texture {
	uint8_t kind;  /* enum ptx_texture_kind */
	uint8_t texel; /* enum ptx_texel */
	uint8_t channels;
	uint8_t element_bytes;
	bool cube;
	bool seamless;		  /* cube maps: filtered across edges */
	bool is_float, is_signed; /* of a surface: the type of the data in formatted stores and reductions */
	struct ptx_sampler sampler;
	bool linear_levels; /* between mipmap levels */
	float bias, level_min, level_max;
	float border[4];
	uint32_t border_bits[4]; /* of fetches of integers */
	uint32_t dimensions;	 /* 1 to 3 */
	uint32_t layers;	 /* includes faces; 0: not layered */
	uint32_t levels;
	uint32_t data_type, order; /* for queries */
	struct ptx_texture_level level[PTX_TEXTURE_LEVELS];
};

enum ptx_texture_use { PTX_USE_TEXTURE, PTX_USE_SAMPLER, PTX_USE_SURFACE };

struct ptx_textures {
	/* NULL: no live object of this kind. Called from several threads. */
	const struct ptx_texture *(*find)(void *ctx, uint64_t handle, enum ptx_texture_use use);
	void *ctx;
};

/* Must be called before the first fetch. */
void ptx_texture_tables(void);

/* What a module specifies for the sampling of one of its references; -1: nothing. */
struct ptx_reference {
	int8_t address[3]; /* enum ptx_address */
	int8_t linear;
	int8_t normalized;
};
