/*
 * copy.h: requests about memory that are not calls of the API (from CALL_MEMORY on): every copy, every fill, pinned
 * memory.
 *
 * All copying calls become one request: a box of bytes from one side to the other. Boxes from or to memory of the
 * program that is not pinned are sent in pieces, each through a piece of the arena's staging, or inside the message if
 * they are small.
 */
#pragma once

#include "ring/call.h"

#include <stdint.h>

#define CALL_COPY (CALL_MEMORY + 0)  /* struct copy_request, then the bytes if the source is COPY_INLINE */
#define CALL_FILL (CALL_MEMORY + 1)  /* struct fill_request */
#define CALL_PIN (CALL_MEMORY + 2)   /* struct pin_request: answered with the worker's address, uint64_t */
#define CALL_UNPIN (CALL_MEMORY + 3) /* struct pin_request */
#define CALL_MERGE (CALL_MEMORY + 4) /* struct merge_request, then a uint64_t for each line, then the bytes */

/* Copies up to this size are sent inside the message. */
#define COPY_INLINE_BYTES 2048u

enum copy_kind {
	COPY_DEVICE, /* `at`: a device address */
	COPY_ARRAY,  /* `at`: an id */
	COPY_ARENA,  /* `at`: an offset in the arena */
	COPY_INLINE, /* in the request, or in the reply; contiguous rows */
};

struct copy_side {
	uint32_t kind, lod;
	uint64_t at;
	uint64_t x, y, z;	/* x in bytes */
	uint64_t pitch, height; /* of linear memory, in bytes and rows; never 0 where they are used */
};

enum copy_flag {
	COPY_DONE = 1 << 0,   /* answered when the bytes have been copied; otherwise when the copy was submitted, if
			       * at all */
	COPY_PIPED = 1 << 1,  /* with COPY_DONE: more pieces follow, and the worker continues meanwhile */
	COPY_RETIRE = 1 << 2, /* the payload is staged: the notice RETIRED follows when it has been read */
};

struct copy_request {
	uint64_t stream;
	uint64_t flags;		       /* enum copy_flag */
	uint64_t width, height, depth; /* all above 0 */
	struct copy_side source, target;
};

struct fill_request {
	uint64_t stream;
	uint64_t at, pitch, width, height; /* width in elements */
	uint32_t value, element;	   /* 1, 2 or 4 bytes */
};

struct pin_request {
	uint64_t offset, bytes; /* in the arena's heap */
};

/*
 * Pinned memory that the program has written while work may write it as well: of each line of MERGE_LINE bytes those
 * change whose bits are set, at once. It is there before the next request begins.
 */
struct merge_request {
	uint64_t offset, bytes; /* in the arena's heap; the offset is a multiple of MERGE_LINE; at most MERGE_BYTES */
};

#define MERGE_BYTES 2048u
