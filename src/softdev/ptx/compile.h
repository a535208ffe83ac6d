/*
 * compile.h: the interface between the PTX engine and the library that compiles kernels (src/compile,
 * libmete-compile.so).
 *
 * The engine describes a function as the list of its operations, with their sources and results; the library produces
 * an object file. The machine code works on the engine's own structures: it runs a group of a warp's lanes as the
 * interpreter would. At anything else (an invalid address, a barrier, a call) it writes all registers back to the frame
 * and leaves the operation to the interpreter. Every operation can therefore be left to the interpreter, and faults and
 * barriers have one implementation.
 *
 * Both sides are built from one source: COMPILE_ABI distinguishes builds whose structures differ.
 */
#pragma once

#include "softdev/ptx/engine.h"

#define COMPILE_OPERANDS 6u
#define COMPILE_OPS_MAX 5000u	  /* per function: above it the function is interpreted */
#define COMPILE_REGS_MAX 1024u	  /* places of its frame, likewise */
#define COMPILE_LIVE_MAX 1000000u /* operations times places, which bounds the compile time */
#define COMPILE_PARTS_MAX                                                                                              \
	15000u /* the limit for functions that also get code for groups of lanes, which takes twice                    \
		* as long */
#define COMPILE_QUANTUM                                                                                                \
	4096			   /* the minimum of instructions that a warp runs before a backward jump yields to    \
				    * others */
#define COMPILE_QUANTUM_STRONG 256 /* in a function that accesses memory which others change */

#define COMPILE_RUN_SYMBOL "mete_run" /* compiled_fn */
#define COMPILE_ENTRIES_SYMBOL                                                                                         \
	"mete_entries"	       /* a byte for each operation: where mete_run may begin, COMPILE_ENTRY_                  \
				*/
#define COMPILE_ENTRY_ALL 1u   /* with all 32 lanes */
#define COMPILE_ENTRY_GROUP 2u /* with fewer */
#define COMPILE_LIBRARY "libmete-compile.so.0"
#define COMPILE_SYMBOL "mete_compile"

#define COMPILE_FORM 29u /* changes whenever the code for the same operations changes */
#define COMPILE_ABI                                                                                                    \
	((uint32_t)(COMPILE_FORM * 1000003u + sizeof(struct warp) * 31u + sizeof(struct block) * 7u +                  \
		    sizeof(struct ptx_launch) * 3u + __builtin_offsetof(struct block, range) +                         \
		    __builtin_offsetof(struct block, fault) * 5u + __builtin_offsetof(struct warp, executed)))

enum compile_place {
	COMPILE_NONE,
	COMPILE_REG,	  /* at `at` of the frame */
	COMPILE_FIXED,	  /* `value` in all lanes */
	COMPILE_CONSTANT, /* one value in all lanes, at `at` of the constants; known when the module is bound */
	COMPILE_LANES,	  /* different values in the lanes, there */
};

struct compile_operand {
	uint8_t place; /* enum compile_place */
	uint8_t lane;  /* bytes */
	uint32_t at;
	uint64_t value;
};

enum compile_kind {
	COMPILE_PLAIN,
	COMPILE_BRANCH,
	COMPILE_STOP,	 /* left to the interpreter, which may change any register */
	COMPILE_BARRIER, /* the same, and it changes only its results */
	COMPILE_END,	 /* the same, and nothing follows */
};

/*
 * A product of fragments in 8 columns whose elements are bytes, those of B with a sign, and sums of 32 bits: d, a, b, c
 * stand in this order in compile_op.more, as matrix.h says.
 */
struct compile_product {
	uint8_t rows; /* tiles of 8 rows each; 0: it is another one, or none */
	uint8_t deep; /* tiles along the sum, of 16 elements */
	bool a_signed;
};

struct compile_op {
	const char *name; /* the row's pattern */
	uint8_t kind;	  /* enum compile_kind */
	uint8_t defs;	  /* bits: which operands are results */
	uint8_t weight;	  /* instructions of the text */
	bool lanewise;	  /* each lane's result depends only on its own sources, and it cannot fault */
	bool guard_not;
	bool sync;    /* runs when the lanes that operand 5 names have arrived */
	bool wild;    /* the target of an indexed branch: nothing is known of registers */
	uint32_t to;  /* of a branch */
	uint64_t imm; /* of others */
	struct compile_operand operand[COMPILE_OPERANDS], guard;
	const struct compile_operand *more; /* of fragments of matrices; the first `more_defs` are results */
	uint32_t more_count, more_defs;	    /* if there are any, there is no guard */
	struct compile_product product;
};

/* How threads are laid out in warps; each layout has code of its own. */
enum compile_layout {
	COMPILE_ANY,
	COMPILE_ROWS,	/* blocks are a multiple of 32 threads wide, or one row: a warp is a row */
	COMPILE_HALVES, /* 16 threads wide: each half is one */
	COMPILE_LAYOUTS
};

struct compile_request {
	uint32_t abi;
	uint32_t count;
	const struct compile_op *op;
	const char *isa; /* "avx2", "avx512" */
	bool dots;	 /* the processor has 512-bit dot products of bytes, and they may be used */
	uint32_t layout; /* enum compile_layout */
	bool partial;	 /* blocks have a warp with fewer than 32 threads */
	bool alone;	 /* and no other warp */
	uint32_t local;	 /* bytes from one lane's local memory to the next one's; 0: each launch says it */
};

/* Lanes that wait at an operation while others of their warp run compiled code. */
struct compiled_wait {
	uint32_t pc, lanes;
	int64_t since; /* the smaller, the longer they have waited */
	uint32_t bar;  /* 0; or 1 and the number of the barrier in front of it, which they have come to */
};

/* Rounds of a loop that the lanes of a warp run by turns at most, before the next lane has its turn. */
#define COMPILE_ROUNDS 48u

/* What machine code needs from the engine. */
struct compiled_env {
	bool (*reach)(struct warp *w, uint64_t begin, uint64_t end, bool write, uint8_t *hint);
	uint8_t *hint; /* a byte for each operation: the index of the range that it found last */
	/* Takes over lanes that wait at one of these operations. False: some wait elsewhere, and nothing was done. */
	bool (*take)(struct warp *w, struct compiled_wait *wait, uint32_t count);
	/* The interpreter continues with the group `lanes`; the others wait. */
	void (*part)(struct warp *w, uint32_t lanes, struct compiled_wait *wait, uint32_t count, uint32_t spins);
	/*
	 * Of an access of `bytes` by `lanes`, each at element COMPILE_ROUNDS times its number of `at`: how many pieces
	 * of memory fewer than lanes it touches, because they lie at one place or in a row.
	 */
	int64_t (*alike)(const uint64_t *at, uint32_t lanes, uint32_t bytes);
};

enum compiled_result {
	COMPILED_NOTHING, /* the warp has not moved */
	COMPILED_SOME,	  /* the interpreter continues from w->pc */
	COMPILED_END,	  /* all 32 lanes have reached the kernel's end, which has been counted */
};

/* Runs the warp from w->pc, at which there is an entry for its group of lanes. Value: enum compiled_result. */
typedef uint32_t compiled_fn(struct warp *w, const struct compiled_env *env);

/*
 * Compiles. Value: 0 with an object file, which the caller frees by free(); or a negative errno with one line in `why`.
 * Several threads may call it, one at a time.
 */
typedef int compile_fn(const struct compile_request *request, void **ret, size_t *ret_bytes, char *why,
		       size_t why_bytes);
