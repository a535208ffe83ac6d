/*
 * matrix.h: the matrix instructions as the decoder leaves them.
 *
 * A fragment is spread over the warp so that one register of a fragment is a tile: lane 4r + c holds row r of it and
 * there the elements c * e to c * e + e - 1, where e of them fit into a register. Lanes are adjacent in the frame, so a
 * tile of A is eight consecutive rows, and nothing has to be gathered. For B the tile's rows are columns of the matrix;
 * an accumulator keeps each pair of neighbouring columns in two registers (16-bit ones: in one).
 *
 * Tiles of A are numbered downwards first (all rows, then the next columns), those of B along the sum first, those of
 * an accumulator downwards first. For mma this is the layout of the PTX manual; for wmma, whose layout the manual
 * leaves open, it is what hardware of compute capability 7.5 and later does, and fragments with more registers than the
 * matrix needs hold it several times.
 */
#pragma once

#include "softdev/ptx/engine.h"

enum element {
	EL_none,
	EL_f16,
	EL_bf16,
	EL_tf32,
	EL_f32,
	EL_f64,
	EL_s32,
	EL_s8,
	EL_u8,
	EL_s4,
	EL_u4,
	EL_b1,
	EL_e4m3,
	EL_e5m2,
	EL_e3m2, /* this and the next two: a byte each, as kind::f8f6f4 takes them */
	EL_e2m3,
	EL_e2m1_byte,
	EL_e2m1, /* two to a byte */
	EL_b16,	 /* ldmatrix and the like */
};

struct fragment {
	uint8_t element;
	uint8_t count;	/* registers, with those that repeat others */
	uint8_t tiles;	/* registers without repetition; an accumulator of 32 or 64 bits has two to a tile */
	uint16_t first; /* in op_list.loc */
};

/* The elements of a row of A that are kept; the 2-bit indices that name them follow one another. */
enum sparsity {
	SPARSE_none,
	SPARSE_of_2, /* one, with an index of 4 bits: tf32 */
	SPARSE_of_4, /* two */
	SPARSE_of_8, /* two pairs: elements of 4 bits */
};

struct matrix_use {
	uint16_t m, n, k;
	uint8_t which;	   /* loads and stores: 'a', 'b', 'c' or 'd' */
	uint8_t bits;	   /* of an element, loads and stores */
	bool a_col, b_col; /* as written; loads and stores: a_col, the matrix lies column by column */
	bool saturate;
	bool bits_and; /* b1: and instead of exclusive or */
	bool volta;    /* m8n8k4 of f16: four products at once, a layout of its own */
	bool shared, trans;
	bool bytes; /* ldmatrix of 16 x 16 and stmatrix of 16 x 8, turned: elements of a byte */
	uint8_t unpack;	  /* ldmatrix: 16 elements of so many bits become a byte each; 0: as they are */
	bool group;	  /* wgmma: this warp's rows of a product of four; B by a descriptor */
	bool a_described; /* wgmma: A by a descriptor too */
	bool negate;	  /* wgmma: the product */
	uint8_t blocks;	  /* along the sum, each with a scale of its own; 0: no scales */
	bool scale_e4m3;  /* of ue4m3 instead of ue8m0 */
	uint16_t scales;  /* in op_list.loc: scales of A, their byte and thread, and the same of B */
	uint8_t sparse;	  /* enum sparsity: how A, of which half is kept, is spread; its fragment is k / 2 wide */
	uint8_t selector; /* which lanes of each four have the metadata */
	uint16_t meta;	  /* in op_list.loc: the metadata */
	struct fragment d, a, b, c;
};

#define MATRIX_SIDE_MAX 32u
#define MATRIX_K_MAX 256u
