/* insn.h: the instruction table as the decoder sees it: full opcodes to rows. */
#pragma once

#include "softdev/ptx/text.h"

struct insn_match {
	const struct row *row;
	uint32_t variant; /* which of the row's <a,b> alternatives */
	struct name name; /* the opcode as the table spells it */
};

struct insn_table;

/* The table of an instruction set, made at the first use and kept; NULL: out of memory. */
const struct insn_table *insn_table_get(const struct isa *isa);
/* In any order of words that means the same. */
bool insn_find(const struct insn_table *t, struct name opcode, struct insn_match *ret);
