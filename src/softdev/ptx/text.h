/*
 * text.h: the parser's result for a PTX text: symbols, and for each function a list of instructions with named
 * operands.
 *
 * Everything is in one arena per module, freed at once. Nothing here is executed: decode.c converts bodies to
 * operations.
 */
#pragma once

#include "softdev/ptx/engine.h"

struct arena_piece;

struct arena {
	struct arena_piece *piece;
};

/* Zeroed memory that lives as long as the arena; NULL: no memory. */
void *arena_take(struct arena *a, size_t bytes);
size_t arena_bytes(const struct arena *a);
void arena_deinit(struct arena *a);

/* The message of a failed load; the first one is kept. */
struct complaint {
	char *text;
	size_t bytes;
	int outcome; /* enum ptx_outcome or -ENOMEM; 0: none */
};

__attribute__((format(printf, 5, 6))) void complain(struct complaint *c, int outcome, uint32_t line,
						    const char *function, const char *fmt, ...);

struct name {
	const char *p;
	uint32_t bytes;
};

static inline bool name_is(struct name n, const char *s)
{
	size_t i = 0;

	for (; i < n.bytes && s[i]; i++)
		if (n.p[i] != s[i])
			return false;
	return i == n.bytes && !s[i];
}

uint32_t name_hash(struct name n);

/* The lower limit of two numbers of registers; 0 is none. */
static inline uint32_t registers_least(uint32_t a, uint32_t b)
{
	return !a ? b : !b ? a : a < b ? a : b;
}

enum symbol_kind {
	SYM_VARIABLE, /* .global, .const */
	SYM_SHARED,
	SYM_LOCAL,
	SYM_PARAM, /* of a function, or a call area: in local memory */
	SYM_KERNEL_PARAM,
	SYM_REG_PARAM, /* of a function, old style: a register */
	SYM_FUNCTION,  /* kernels too */
	SYM_LABEL,
	SYM_TARGETS,   /* .branchtargets */
	SYM_PROTOTYPE, /* .callprototype, .calltargets: not needed to run */
	SYM_OTHER,     /* references as parameters of functions: refused when used */
};

enum linkage { LINK_FILE, LINK_VISIBLE, LINK_WEAK, LINK_EXTERN };

struct relocation {
	struct relocation *next;
	struct symbol *symbol;
	uint64_t addend;
	uint64_t at;	/* in the variable */
	uint32_t bytes; /* 1 to 8 */
	uint32_t shift; /* mask operators take single bytes of an address */
	uint32_t line;
};

struct symbol {
	struct name name;
	struct symbol *next;	   /* of the module or function, in order */
	struct symbol *definition; /* an extern: its definition, after linking; otherwise itself */
	uint8_t kind;
	uint8_t linkage;
	uint8_t space;	       /* enum ptx_variable_space */
	uint8_t element;       /* enum type */
	uint8_t element_bytes; /* of a vector: all of it */
	bool managed, used, open_array;
	uint32_t align;
	uint32_t line;
	uint64_t bytes;
	uint64_t offset; /* shared: in the kernel's memory; local and params: in the frame; label: instruction */
	uint64_t index;	 /* variable: in the module; SYM_REG_PARAM: register */
	uint8_t *init;
	uint64_t init_bytes;
	struct relocation *relocation;
	struct body *body; /* function with a definition */
	struct symbol **targets;
	uint32_t target_count;
	struct symbol *mark;		 /* shared: the last kernel that counted it */
	struct ptx_reference *reference; /* of .texref and the like */
};

enum operand_kind {
	OPD_REG,
	OPD_INT,
	OPD_F32,     /* bits */
	OPD_F64,     /* bits */
	OPD_SPECIAL, /* %tid.x: value is the number of the register */
	OPD_SYMBOL,  /* its address plus value; a label, a function; element: plus reg times the size of an element */
	OPD_ADDRESS, /* [reg or symbol or nothing, plus value] */
	OPD_VECTOR,  /* {a, b} */
	OPD_LIST,    /* (a, b) */
	OPD_SINK,    /* _ */
};

struct operand {
	uint8_t kind;
	bool negate;  /* !p */
	bool element; /* a symbol with a subscript: name[reg + number] */
	uint32_t reg; /* LOC_NONE: an address, or a subscript, without a register */
	uint64_t value;
	struct symbol *symbol;
	struct operand *item;
	uint32_t count;
	struct operand *pair; /* p|q */
	struct name select;   /* h10 of %r1.h10: the parts that a video instruction takes */
};

struct insn {
	struct name opcode;
	uint32_t guard; /* register or LOC_NONE */
	bool guard_not;
	uint32_t line;
	uint32_t count;
	struct operand *operand;
};

struct body {
	struct symbol *symbol;
	bool kernel;
	struct insn *insn;
	uint32_t count, room;
	uint8_t *reg_type; /* enum type of each register */
	uint32_t reg_count, reg_room;
	struct symbol *local, **local_end; /* local arrays, call areas */
	struct symbol *param, **param_end;
	struct symbol *result, **result_end;
	uint32_t max_threads[3], required[3], cluster[3];
	uint32_t max_registers; /* .maxnreg; 0: none */
	uint32_t version, target;
	uint32_t text; /* index of its text */
	struct body *next;
	struct function *function;
	struct symbol **shared_used; /* by this body's own instructions */
	uint32_t shared_used_count;
};

/* All texts of a module. */
struct program {
	struct arena arena;
	struct arena scratch; /* instructions, labels, names: until they are decoded */
	struct complaint *complaint;
	struct symbol *variable, **variable_end;
	struct symbol *shared, **shared_end;
	struct symbol *function, **function_end;
	struct body *body, **body_end;
	uint32_t max_registers; /* the least of the texts' pragmas; 0: none */
	uint32_t text;		/* index of the text being read */
	uint32_t arch;
	uint32_t reserved_bytes; /* of shared memory: SHARED_RESERVED, or 0 where nothing asks for it */
	bool chosen;		 /* ptx_options.chosen */
};

/* Reads one text into the program. Value: 0, or complaint->outcome. */
int text_parse(struct program *p, const struct ptx_text *text);

/* device_runtime.c: a further text, of functions that the program declares and does not have; NULL: it needs none. */
const struct ptx_text *device_runtime_text(const struct program *p);

/* link.c: gives every symbol of the program its definition. Value: 0, or complaint->outcome. */
int link_texts(struct program *p);
bool symbol_is_definition(const struct symbol *s);

/* Special registers: numbers and names. */
enum special {
	SP_tid_x,
	SP_tid_y,
	SP_tid_z,
	SP_ntid_x,
	SP_ntid_y,
	SP_ntid_z,
	SP_ctaid_x,
	SP_ctaid_y,
	SP_ctaid_z,
	SP_nctaid_x,
	SP_nctaid_y,
	SP_nctaid_z,
	SP_laneid,
	SP_warpid,
	SP_nwarpid,
	SP_smid,
	SP_nsmid,
	SP_gridid,
	SP_lanemask_eq,
	SP_lanemask_le,
	SP_lanemask_lt,
	SP_lanemask_ge,
	SP_lanemask_gt,
	SP_clock,
	SP_clock_hi,
	SP_clock64,
	SP_globaltimer,
	SP_globaltimer_lo,
	SP_globaltimer_hi,
	SP_dynamic_smem_size,
	SP_total_smem_size,
	SP_aggr_smem_size,
	SP_grid_low, /* address of the grid's barrier, 0 in a launch that is not cooperative */
	SP_grid_high,
	SP_zero,
	SP_one,
	SP_cluster_explicit, /* from here on: cluster.c */
	SP_clusterid_x,
	SP_clusterid_y,
	SP_clusterid_z,
	SP_nclusterid_x,
	SP_nclusterid_y,
	SP_nclusterid_z,
	SP_cluster_ctaid_x,
	SP_cluster_ctaid_y,
	SP_cluster_ctaid_z,
	SP_cluster_nctaid_x,
	SP_cluster_nctaid_y,
	SP_cluster_nctaid_z,
	SP_cluster_ctarank,
	SP_cluster_nctarank,
	SP_none
};

enum special special_find(struct name n);
/* Those that say where the reserved shared memory is: numbers. False: n is none of them. */
bool special_reserved(struct name n, uint64_t *ret);
enum type special_type(enum special s);
