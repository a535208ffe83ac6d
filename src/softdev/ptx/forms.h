/* forms.h: the interface between decode.c and the files forms*.c: taking operands and adding steps. */
#pragma once

#include "softdev/ptx/decode.h"
#include "softdev/ptx/tensor.h"

#define FORM_KEY_BYTES 96u

/* The parts of an opcode besides operation and type. */
struct form_words {
	struct name key; /* the key of the instruction table: without space, order, scope, cache hints, vector */
	char text[FORM_KEY_BYTES];
	uint8_t vector; /* 1, 2, 4, 8 */
	bool cluster;	/* shared::cluster: an address may be of another block */
	char space;	/* 'g'lobal, 'c'onst, 's'hared, 'l'ocal, 'p'aram, 0 generic */
	bool to;	/* cvta.to */
	uint8_t boolop; /* setp: 'a'nd, 'o'r, 'x'or */
	bool strong;	/* volatile, or ordered: memory that other threads change */
	bool hint;	/* an operand with a cache policy follows */
};

__attribute__((format(printf, 2, 3))) void decode_fail(struct decoder *d, const char *fmt, ...);
void decode_no_memory(struct decoder *d);
void *decode_take(struct decoder *d, size_t bytes);    /* zeroed; lives as long as the module */
void *decode_scratch(struct decoder *d, size_t bytes); /* freed when the module has been loaded */
const struct row *decode_row(struct decoder *d, const char *name);
struct step *decode_step(struct decoder *d, const struct row *row);
void step_use(struct step *s, uint32_t i, uint32_t reg);
void step_def(struct step *s, uint32_t i, uint32_t reg);
uint32_t decode_temp(struct decoder *d, enum type t);
uint32_t decode_constant(struct decoder *d, uint64_t value, uint32_t lane);
uint32_t decode_address_constant(struct decoder *d, struct symbol *symbol, uint64_t addend);
uint32_t decode_special(struct decoder *d, enum special s);
uint32_t decode_source(struct decoder *d, const struct operand *o, enum type t);
uint32_t decode_dest(struct decoder *d, const struct operand *o, enum type t);
bool decode_count(struct decoder *d, uint32_t least, uint32_t most);
/* Refuses operands that do not agree with the types of an instruction whose operands come in order (agree.c). */
void agree_operands(struct decoder *d, const struct row *row);
void decode_plain(struct decoder *d, const struct row *row, uint32_t variant);

struct address {
	const char *access; /* "", ".strong", ".shared", ".kparam", ".frame" */
	uint32_t loc;
	uint64_t imm;
};

struct address form_address(struct decoder *d, const struct operand *o, const struct form_words *words, uint64_t bytes);
/* Tells the warp's loop that threads wait for each other in this way. */
void form_strong(struct decoder *d);

/* The type that an opcode ends in. */
enum type form_last_type(struct name key);
bool name_starts(struct name n, const char *with);
/* A step with a result and two sources (LOC_NONE: one). */
struct step *form_plain2(struct decoder *d, const char *row, uint32_t dest, uint32_t a, uint32_t b);

void form_words(struct name opcode, struct form_words *ret);
void form_decode(struct decoder *d, const struct insn_match *m, const struct form_words *words);
void form_matrix(struct decoder *d, const struct insn_match *m, const struct form_words *words);
void form_async(struct decoder *d, const struct insn_match *m, const struct form_words *words);
/* The address of an operand in global ('g'), shared ('s') or any (0) memory, as a generic one. */
uint32_t form_generic_address(struct decoder *d, const struct operand *o, char space);
/* Which of async.c's reductions a word of the opcode names. */
uint32_t form_reduction(struct name opcode);
/* forms_tensor.c */
void form_tensor_copy(struct decoder *d, enum tensor_way way);
void form_tensor_replace(struct decoder *d);
void form_tensor_publish(struct decoder *d);
/* A 32-bit address of shared memory plus an offset as a generic address. */
uint32_t form_shared_generic(struct decoder *d, uint32_t loc, uint64_t offset);
/* The reason that a known instruction is not supported; NULL: it is not known. */
const char *form_refusal(struct name opcode);
/* forms_memory.c */
void form_ld(struct decoder *d, const struct form_words *words);
void form_st(struct decoder *d, const struct form_words *words);
void form_atom(struct decoder *d, const struct insn_match *m, const struct form_words *words, bool red);
void form_cvta(struct decoder *d, const struct form_words *words);
void form_isspacep(struct decoder *d, const struct form_words *words);
/* forms_compare.c */
void form_setp(struct decoder *d, const struct row *row, const struct form_words *words);
void form_set(struct decoder *d, const struct form_words *words);
void form_setp_pair(struct decoder *d, const struct form_words *words);
/* forms_control.c */
void form_bra(struct decoder *d);
void form_brx(struct decoder *d);
void form_call(struct decoder *d);
void form_return(struct decoder *d);
void form_exit(struct decoder *d);
void form_bar(struct decoder *d, const struct insn_match *m);
/* forms_video.c */
void form_video(struct decoder *d);
void form_random_four(struct decoder *d);
void form_stack(struct decoder *d, const struct form_words *words);
void form_stack_begin(struct decoder *d);
void form_stack_end(struct decoder *d);
/* For a plain instruction with a second form, distinguished by its operands. False: it has none. */
bool form_plain_other(struct decoder *d, const struct insn_match *m);
/* forms_tex.c */
void form_texture(struct decoder *d, const struct insn_match *m, const struct form_words *words);
