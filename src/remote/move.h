/*
 * move.h: what a client and its workers say when a session goes on with another worker (client/move.h). The client has
 * kept what its living objects were made by, and asks for them anew; here is what no call of the API asks for. The
 * numbers of reasons and phases are those of wire/worker.h.
 */
#pragma once

#include "remote/sha256.h"
#include "ring/call.h"
#include "wire/worker.h"

#include <stdint.h>

#define CALL_MOVE (CALL_IMAGE - 16)

enum move_call {
	CALL_MOVE_NAMES = CALL_MOVE, /* struct move_names, ids; what the worker names next has these ids */
	CALL_MOVE_PLACE,	     /* struct move_place, struct move_block each: memory at given addresses */
	CALL_MOVE_IMAGE,	     /* struct move_image; answered with the bytes, padded */
	CALL_MOVE_SAY,		     /* struct move_said: how far it is; nobody waits */
	CALL_MOVE_WHY,		     /* struct move_why, before MOVE_SAY: why the other server does not take it */
	CALL_MOVE_VARIABLES, /* struct move_variables; answered with uint64_t address, bytes, a name each: see below */
	CALL_MOVE_VARIABLE,  /* struct move_variable, a name; answered with the bytes, padded */
	CALL_MOVE_VARIABLE_IN, /* the same and the bytes, padded */
	CALL_MOVE_VARIABLE_AT, /* struct move_variable, a name: the program has been told that it lies `at` */
	CALL_MOVE_RESERVE,     /* struct move_place without blocks: addresses where nothing may come to lie */
};

struct move_names {
	uint64_t next;	 /* the slot from which on the worker names by itself */
	uint64_t count;	 /* ids that follow */
	uint64_t behind; /* 1: they come behind those that are wanted already; 0: in their place */
};

#define MOVE_NAMES_MOST 2048u

/* Answered with nothing; CUDA_ERROR_INVALID_ADDRESS_SPACE: the addresses are taken in this worker. */
struct move_place {
	uint64_t begin, bytes; /* multiples of MOVE_GRANULE; a place that is there already gets more blocks */
	uint64_t count;
};

struct move_block {
	uint64_t begin, bytes;
	uint64_t ordered; /* 1: of a pool, which no context owns */
};

#define MOVE_GRANULE (UINT64_C(2) << 20)
#define MOVE_BLOCKS_MOST 128u

struct move_image {
	uint8_t hash[SHA256_BYTES];
	uint64_t whole, at, bytes;
};

struct move_said {
	uint32_t phase, serial; /* enum worker_phase; of the wish */
	uint32_t stay, count;	/* enum worker_stay; how many of them */
	uint64_t done, total;	/* bytes */
};

/*
 * Of a module, or of a library in the current context: its variables that kernels can write, by the image that it was
 * loaded from. A name "": it holds what the image has for it, and is not to be kept. CUDA_ERROR_NOT_FOUND: the image
 * does not name all of them, or the driver does not know one of them; CUDA_ERROR_NOT_SUPPORTED: they are too many;
 * CUDA_ERROR_NOT_PERMITTED: a packed image has kernels that take memory by themselves.
 */
struct move_variables {
	uint64_t owner;
	uint8_t hash[SHA256_BYTES];
	uint64_t whole;
};

#define MOVE_VARIABLE_BYTES (24u << 10)

struct move_variable {
	uint64_t owner;
	uint64_t at, bytes; /* of the variable; at most MOVE_VARIABLE_BYTES */
};

struct move_why {
	char text[WORKER_WHERE_BYTES]; /* one line */
};
