/*
 * decode.h: from a body of named instructions to operations.
 *
 * The intermediate form is a list of steps: operations whose operands are still virtual registers. decode.c produces
 * the steps, alloc.c assigns places to the registers, and both are freed when the function is complete.
 */
#pragma once

#include "softdev/ptx/insn.h"

#define STEP_OPERANDS 6u

enum step_role { ROLE_NONE, ROLE_USE, ROLE_DEF };

/* An address that is known when the module is bound, and is then written into a constant. */
struct constant_relocation {
	struct constant_relocation *next;
	uint32_t offset; /* of the constant */
	struct symbol *symbol;
	uint64_t addend;
};

/* The constants of a module, laid out like registers, each once for all functions. */
struct constant_pool {
	uint8_t *bytes;
	uint32_t count, room;
	struct constant_slot *slot; /* a hash of them */
	uint32_t slot_count, slot_room;
	struct constant_relocation *relocation;
};

void constant_pool_deinit(struct constant_pool *c);

struct step {
	const struct row *row;		 /* NULL for control */
	uint32_t operand[STEP_OPERANDS]; /* d a b c e f: register, LOC_CONST | offset, LOC_NONE */
	uint8_t role[STEP_OPERANDS];
	uint8_t control;
	bool guard_not, atomic;
	uint32_t guard; /* register or LOC_NONE */
	uint32_t line;
	uint32_t weight; /* instructions of the text that it stands for: of an instruction's steps the first has 1 */
	uint64_t imm; /* a branch: the instruction it goes to, later the step */
	struct call *call;
	struct barrier_use *bar;
	uint32_t *targets;
	struct op_list *list; /* its registers are virtual like `operand` */
	uint32_t *use, *def; /* further registers of a call; 0-terminated lists of register + 1 */
};

struct decoder {
	struct program *program;
	struct ptx_module *module;
	const struct isa *isa;
	const struct insn_table *table;
	struct body *body;
	struct function *function;
	struct step *step;
	uint32_t step_count, step_room;
	uint8_t *reg_lane; /* size of a lane of each register; the body's first, then temporaries */
	uint8_t *reg_pred;
	uint32_t reg_count, reg_room;
	uint32_t *first_step; /* of each instruction, and the end */
	struct constant_pool *constants; /* of the module */
	const struct insn *insn; /* being decoded */
	uint32_t guard;		 /* for the steps being added */
	bool guard_not;
	uint32_t after[STEP_OPERANDS][3]; /* widenings to add after the instruction: register, from, signed */
	uint32_t after_count;
	uint32_t stack; /* register with the stack use at the function's entry; or LOC_NONE */
	struct function **callee;
	uint32_t callee_count, callee_room;
	uint32_t weight; /* of the next step */
	bool failed;
};

/* Sets function->code and the rest. Value: 0 or the outcome of the complaint. */
int decode_body(struct decoder *d);

/* improve.c: reduces the steps without changing their result; rewrites branches. Value: 0 or -ENOMEM. */
int improve_steps(struct decoder *d);

/* alloc.c: assigns places to registers; rewrites the steps' operands into offsets. Value: 0 or -ENOMEM. */
int alloc_registers(struct decoder *d);
