/*
 * move.h: the messages between a client and its workers when a session continues with another worker (client/move.h).
 * The client has recorded the requests that created its living objects, and repeats them; this file has the requests
 * that no call of the API makes. The numbers of reasons and phases are those of wire/worker.h.
 */
#pragma once

#include "remote/sha256.h"
#include "ring/call.h"
#include "wire/worker.h"

#include <stdint.h>

#define CALL_MOVE (CALL_IMAGE - 16)

enum move_call {
	CALL_MOVE_NAMES = CALL_MOVE, /* struct move_names, ids; the next objects that the worker names get these ids */
	CALL_MOVE_PLACE,	     /* struct move_place, then a list of struct move_block: memory at given
				      * addresses */
	CALL_MOVE_IMAGE,	     /* struct move_image; answered with the bytes, padded */
	CALL_MOVE_SAY,		     /* struct move_said: the progress; without an answer */
	CALL_MOVE_WHY,		     /* struct move_why, before MOVE_SAY: why the other server refuses */
	CALL_MOVE_VARIABLES,   /* struct move_variables; answered with uint64_t address, bytes and a name for each: see
				* below */
	CALL_MOVE_VARIABLE,    /* struct move_variable, a name; answered with the bytes, padded */
	CALL_MOVE_VARIABLE_IN, /* the same and the bytes, padded */
	CALL_MOVE_VARIABLE_AT, /* struct move_variable, a name: the program knows it at the address `at` */
	CALL_MOVE_RESERVE,     /* struct move_place without blocks: addresses that must stay unused */
	CALL_MOVE_METED,       /* answered with uint64_t: 1 if the worker's meted can be reached, else 0 */
};

struct move_names {
	uint64_t next;	 /* the slot from which on the worker chooses ids itself */
	uint64_t count;	 /* ids that follow */
	uint64_t behind; /* 1: appended to the pending ids; 0: replaces them */
};

#define MOVE_NAMES_MOST 2048u

/* The answer is empty; CUDA_ERROR_INVALID_ADDRESS_SPACE: the addresses are occupied in this worker. */
struct move_place {
	uint64_t begin, bytes; /* multiples of MOVE_GRANULE; an existing place gets more blocks */
	uint64_t count;
};

struct move_block {
	uint64_t begin, bytes;
	uint64_t ordered; /* 1: of a pool, which belongs to no context */
};

#define MOVE_GRANULE (UINT64_C(2) << 20)
#define MOVE_BLOCKS_MOST 128u

struct move_image {
	uint8_t hash[SHA256_BYTES];
	uint64_t whole, at, bytes;
};

struct move_said {
	uint32_t phase, serial; /* enum worker_phase; of the wish */
	uint32_t stay, count;	/* enum worker_stay; number of such objects */
	uint64_t done, total;	/* bytes */
};

/*
 * Of a module, or of a library in the current context: the variables that kernels can write, according to the image
 * from which it was loaded. A name "": the variable has its initial value and need not be kept. CUDA_ERROR_NOT_FOUND:
 * the image does not name all of them, or the driver does not know one of them; CUDA_ERROR_NOT_SUPPORTED: there are too
 * many; CUDA_ERROR_NOT_PERMITTED: a packed image has kernels that allocate memory.
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
