/* text.h: PTX texts as lists of instructions, for machine.c. */
#pragma once

#include "compute.h"

#include <stddef.h>

enum ref_operand_kind {
	OPERAND_REG,
	OPERAND_NUMBER,
	OPERAND_ADDRESS,
	OPERAND_VECTOR,
	OPERAND_LIST,
	OPERAND_NAME,
	OPERAND_SINK
};

struct ref_operand {
	enum ref_operand_kind kind;
	bool negate;		       /* !p */
	int reg;		       /* of OPERAND_REG and of the base of OPERAND_ADDRESS; -1: none */
	int pair;		       /* q of p|q; -1: none */
	wide number;		       /* also the offset of OPERAND_ADDRESS */
	struct ref_variable *variable; /* that a name or an address means */
	char name[72];
	struct ref_operand *item; /* elements of a vector or list */
	int items;
};

struct ref_insn {
	int line;
	int guard; /* register, -1: none */
	bool guard_not;
	struct ref_op op;
	struct ref_operand operand[6];
	int operands;
};

/* A variable: of the module ('g' global, 'c' const), of the block ('s'), of a frame ('l' local, 'p' param). */
struct ref_variable {
	char name[72];
	char space;
	uint64_t offset, size;
	int depth; /* of its scope */
	struct ref_variable *next;
};

struct ref_register {
	char name[72];
	int first, count; /* count 0: this name alone */
	int depth;
	struct ref_register *next;
};

struct ref_label {
	char name[72];
	int at;
	char *targets[64]; /* of .branchtargets */
	int target_count;
	struct ref_label *next;
};

struct ref_function {
	char name[72];
	bool entry;
	struct ref_variable *formal[16], *result[4];
	int formals, results;
	struct ref_insn *insn;
	int insns, room;
	struct ref_label *labels;
	int registers;
	uint64_t param_bytes, local_bytes;
	bool has_body;
};

struct ref_module {
	struct ref_function *function[64];
	int functions;
	struct ref_variable *variables; /* those in scope while reading; the module's afterwards */
	struct ref_variable *closed;	/* those of scopes that have ended: instructions point at them */
	struct ref_register *registers;
	uint8_t data[1 << 16]; /* .global and .const variables */
	uint64_t data_bytes, shared_bytes;
};

struct ref_function *ref_function_find(struct ref_module *m, const char *name);
