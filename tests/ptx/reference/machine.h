/* machine.h: threads of a launch of the reference executor. */
#pragma once

#include "reference.h"
#include "text.h"

enum { WARP = 32, BARRIERS_MAX = 16, LOCAL_MAX = 1 << 14, FRAMES_MAX = 64 };

/* Where each space lies in the space of generic addresses. */
#define FUNCTION_BASE 0x0000400000000000ull
#define MODULE_BASE 0x0000500000000000ull
#define SHARED_BASE 0x0000600000000000ull
#define LOCAL_BASE 0x0000700000000000ull

struct frame {
	struct ref_function *f;
	int pc;
	wide *reg;
	bool *written; /* reading a register before that is an error */
	uint8_t *params;
	uint64_t local_from;
	const struct ref_insn *call; /* of the caller, to bring back results */
};

enum state { RUNS, AT_WARP, AT_BARRIER, ENDED };

struct thread {
	uint32_t id[3], lane, warp;
	enum state state;
	struct frame frame[FRAMES_MAX];
	int depth;
	bool carry;
	uint8_t *local;
	int barrier;		   /* of AT_BARRIER */
	const struct ref_insn *at; /* where it waits */
};

struct barrier {
	uint32_t arrived, expected; /* expected 0: all threads that live */
	uint32_t yes, asked;
};

struct machine {
	struct ref_module *m;
	struct ref_launch *l;
	struct thread *thread;
	uint32_t threads, block[3];
	struct barrier barrier[BARRIERS_MAX];
	uint8_t shared[1 << 16];
	uint64_t left; /* instructions */
	bool failed;
};

void machine_fail(struct machine *x, const struct thread *t, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static inline struct frame *frame_of(struct thread *t)
{
	return &t->frame[t->depth - 1];
}

static inline void machine_set(struct thread *t, int reg, wide v)
{
	frame_of(t)->reg[reg] = v;
	frame_of(t)->written[reg] = true;
}

/* The value of an operand for one thread; writes one. */
wide machine_value(struct machine *x, struct thread *t, const struct ref_operand *o, const struct ref_type *as);
void machine_write(struct machine *x, struct thread *t, const struct ref_operand *o, wide v);

/* Bytes in a space ('g', 'c', 's', 'l', or 0 for generic); NULL after a failure. */
uint8_t *machine_bytes(struct machine *x, struct thread *t, char space, uint64_t address, uint64_t bytes);

/* Memory instructions (access.c). Value: false when the opcode is none of them. */
bool machine_access(struct machine *x, struct thread *t, const struct ref_insn *in);
/* Lets threads that wait for others of their warp go on (across.c). Value: whether any did. */
bool machine_join_warp(struct machine *x, struct thread *first, uint32_t count);
bool machine_is_warp_wide(const struct ref_op *op);
