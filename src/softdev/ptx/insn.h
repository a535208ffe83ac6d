/* insn.h: the instruction table for the decoder: maps full opcodes to rows. */
#pragma once

#include "softdev/ptx/text.h"

struct insn_match {
	const struct row *row;
	uint32_t variant; /* the index of the row's <a,b> alternative */
	struct name name; /* the opcode as spelled in the table */
};

struct insn_table;

/* The table of an instruction set, created at the first use and kept; NULL: no memory. */
const struct insn_table *insn_table_get(const struct isa *isa);
/* Finds an opcode with its words in any equivalent order. */
bool insn_find(const struct insn_table *t, struct name opcode, struct insn_match *ret);
