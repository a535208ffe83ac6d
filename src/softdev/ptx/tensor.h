/*
 * tensor.h: tensor maps: the layout of an array of up to five dimensions, and the box of it that a copy takes.
 *
 * For programs a map is 128 opaque bytes. The format here is mete's own; cuTensorMapEncode... write it, and kernels
 * change fields by tensormap.replace, starting from a map of zeroes. Numbers of types and modes are those of the PTX
 * manual ("tensormap.replace", fields .elemtype, .swizzle_mode and so on).
 */
#pragma once

#include <stdint.h>

#define TENSOR_RANK_MAX 5u
#define TENSOR_SPACE_MAX (TENSOR_RANK_MAX - 2) /* width, height, depth */
#define TENSOR_ROWS 4u /* of gather4 and scatter4 */

struct tensor_map {
	uint64_t address;
	uint64_t stride[TENSOR_RANK_MAX - 1]; /* bytes from one to the next in dimension 1 and on */
	uint32_t dim[TENSOR_RANK_MAX];	      /* elements; 0: 2^32 */
	uint16_t box[TENSOR_RANK_MAX];	      /* elements, 1 to 256 */
	uint8_t step[TENSOR_RANK_MAX];	      /* of the elements that are taken in the box; 0: 1 */
	uint8_t rank_less;		      /* one less than the rank */
	uint8_t type;			      /* enum tensor_type */
	uint8_t interleave, swizzle;	      /* 0 none; 32, 64, 128 bytes */
	uint8_t fill;			      /* 1: elements outside are NaN instead of 0 */
	uint8_t atomicity;
	uint8_t im2col;		       /* 1: box[0] are channels of a pixel, box[1] pixels, up to 1024 */
	int16_t lower[TENSOR_SPACE_MAX]; /* of the box of an im2col in dimension 1 and on: from 0 ... */
	int16_t upper[TENSOR_SPACE_MAX]; /* ... and from the dimension's end */
	uint8_t unused[34];
};

_Static_assert(sizeof(struct tensor_map) == 128, "as CUtensorMap");

enum tensor_type {
	TENSOR_u8,
	TENSOR_u16,
	TENSOR_u32,
	TENSOR_s32,
	TENSOR_u64,
	TENSOR_s64,
	TENSOR_f16,
	TENSOR_f32,
	TENSOR_f32_ftz,
	TENSOR_f64,
	TENSOR_bf16,
	TENSOR_tf32,
	TENSOR_tf32_ftz,
	TENSOR_TYPES
};

/* The fields of tensormap.replace. */
enum tensor_field {
	TENSOR_FIELD_address,
	TENSOR_FIELD_rank,
	TENSOR_FIELD_box,
	TENSOR_FIELD_dim,
	TENSOR_FIELD_stride,
	TENSOR_FIELD_step,
	TENSOR_FIELD_type,
	TENSOR_FIELD_interleave,
	TENSOR_FIELD_swizzle,
	TENSOR_FIELD_fill,
	TENSOR_FIELD_atomicity,
};

enum tensor_way { TENSOR_LOAD, TENSOR_STORE, TENSOR_REDUCE };

enum tensor_mode {
	TENSOR_TILE,
	TENSOR_IM2COL,
	TENSOR_FOUR, /* gather4, scatter4: four rows of two dimensions, which have a coordinate each */
};

/* A copy, as the decoder leaves it (op_list.what); op_list.loc: the coordinates, and behind them im2col's offsets. */
struct tensor_use {
	uint8_t way, rank;
	uint8_t mode;
	uint8_t offsets; /* how many there are */
	uint8_t reduce; /* of async.c */
};
