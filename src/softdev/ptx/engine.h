/*
 * engine.h: what the parts of the PTX engine share: decoded operations, functions, modules, warps and blocks.
 *
 * A register is 32 lanes side by side (4, 8 or 16 bytes each; 8- and 16-bit values and predicates in 4-byte lanes, a
 * predicate lane is 0 or ~0). One operation works on all 32 lanes of a warp at once. An operand is an offset: into the
 * register frame, or, with LOC_CONST set, into the module's constants, which are laid out like registers, so that no
 * operation needs to know which it reads.
 */
#pragma once

#include "softdev/ptx/ptx.h"

#include <pthread.h>

#define LANES 32u
#define LOC_CONST 0x80000000u
#define LOC_NONE 0x7fffffffu
#define BARRIERS 16u
#define CLUSTER_MAX 16u /* blocks */
#define GROUPS_MAX 8u	/* of four warps in a block */
#define RANGES 8u	/* 0 shared, 1 local, 2 parameters, 3 of the grid, the rest found by ptx_memory.find */
#define RANGES_OWN 4u
#define SHARED_BYTES_MAX (227u * 1024)
/*
 * What a block's shared memory begins with in a module that asks for it by %reserved_smem_offset_*: on devices, from
 * compute capability 9.0 on, the system's own. Cooperative groups keep barriers in its used part, and expect them to be
 * zero when the block begins.
 */
#define SHARED_RESERVED 1024u
#define SHARED_RESERVED_USED 288u

/* The types of PTX. */
enum type {
	TY_none,
	TY_pred,
	TY_b8,
	TY_u8,
	TY_s8,
	TY_b16,
	TY_u16,
	TY_s16,
	TY_b32,
	TY_u32,
	TY_s32,
	TY_b64,
	TY_u64,
	TY_s64,
	TY_f16,
	TY_bf16,
	TY_f16x2,
	TY_bf16x2,
	TY_f32,
	TY_f64,
	TY_f32x2,
	TY_b128,
	TY_COUNT
};

uint32_t type_bytes(enum type t);      /* 0 for pred */
uint32_t type_lane_bytes(enum type t); /* of a register of this type: 4, 8 or 16 */
bool type_is_signed(enum type t);
enum type type_find(const char *name, size_t bytes); /* "u32"; TY_none */

struct warp;
struct op;
struct hot;
struct machine;
typedef void exec_fn(struct warp *w, const struct op *o);

/* The reaction of the warp's loop to an operation; other operations just run. */
enum control {
	CTL_NONE,
	CTL_BRA,
	CTL_BRX,
	CTL_CALL,
	CTL_RET,
	CTL_EXIT,
	CTL_BAR,
	CTL_SYNC, /* runs when all lanes of the member mask (operand f) have arrived */
};

#define OP_LEADER 1u /* lanes may wait here: the warp's loop checks before it continues */
#define OP_GUARD_NOT 2u
#define OP_ATOMIC 4u

struct op {
	exec_fn *full;		   /* all 32 lanes */
	exec_fn *masked;	   /* the lanes of warp.mask */
	exec_fn *inner;		   /* of a guarded operation: the function that runs under a smaller mask */
	uint32_t d, a, b, c, e, f; /* operands, see above */
	uint32_t guard;		   /* LOC_NONE: unguarded */
	uint8_t run;		   /* number of operations from here to the next control operation or leader, or part
				    * of them */
	uint8_t weight;		   /* number of instructions of the text that they stand for */
	uint8_t control;	   /* enum control */
	uint8_t flags;
	union {
		uint64_t imm;
		const struct op_list *list;
		const struct call *call;
		const struct barrier_use *bar;
		const uint32_t *targets; /* CTL_BRX: count, then positions */
	};
};

_Static_assert(sizeof(struct op) == 64, "one operation is one cache line");

/* Operands of instructions that take more than six: the first `defs` are results. */
struct op_list {
	uint32_t count, defs;
	uint64_t imm;
	const void *what; /* private data of the instruction's form */
	uint32_t loc[];
};

/* An argument or result: registers are copied lane by lane, memory byte by byte in the threads' local memory. */
struct call_value {
	uint32_t loc; /* a register or constant; LOC_NONE: memory */
	uint32_t lane_bytes;
	uint32_t offset; /* memory: in the frame's local memory */
	uint32_t bytes;
};

struct call {
	const struct function *function; /* NULL: through the register op.a */
	uint32_t arg_count, result_count;
	struct call_value *arg, *result;
};

enum bar_kind { BAR_SYNC, BAR_ARRIVE, BAR_POPC, BAR_AND, BAR_OR };

struct barrier_use {
	enum bar_kind kind;
	bool negate;  /* of the source predicate */
	bool aligned; /* all threads of a warp must execute the same one */
};

struct function {
	const char *name;
	struct ptx_module *module;
	struct op *code;
	uint32_t *line; /* of each operation */
	uint32_t count;
	uint8_t *constants;   /* the module's, 64-byte aligned */
	uint32_t frame_bytes; /* registers */
	uint32_t local_bytes; /* of one thread: own arrays, call areas, parameters */
	struct call_value *param, *result;
	uint32_t param_count, result_count;
	struct function **callee;
	uint32_t callee_count;
	bool calls_unknown;   /* through a register */
	uint32_t stack_bytes; /* of one thread with all callees */
	bool recursive;
	bool takes_stack;		 /* alloca: the depth is known only at run time */
	uint32_t text;			 /* which of the module's texts it comes from */
	uint32_t instructions, operands; /* of the text */
	struct hot *hot;		 /* of kernels that may be compiled; NULL: see hot.h */
	uint32_t id;			 /* its address as a value: FUNCTION_ADDRESS(id) */
};

#define FUNCTION_ADDRESS(id) (((uint64_t)(id) + 1) * 16)

struct frame {
	struct frame *up;
	const struct function *function;
	const struct op *call; /* in the caller */
	uint32_t depth;
	uint32_t local_offset; /* of this frame in a thread's local memory */
	uint32_t return_pc;
	uint32_t mask;			 /* lanes inside */
	const struct function *made_for; /* whose size it has */
	uint32_t pad[4];
	uint8_t regs[];
};

_Static_assert(sizeof(struct frame) == 64, "registers must be aligned for vectors");

/* Number of backward jumps while other lanes wait, before those that waited longest get a turn. */
#define SPINS_MAX 4096u

struct block;

/* Lanes outside the group that are at the same position. Each live lane outside the group is in exactly one place. */
struct place {
	uint64_t key; /* depth and pc */
	struct frame *frame;
	uint32_t lanes;
	uint32_t stamp; /* when the first of them arrived: identifies starving lanes */
};

struct warp {
	_Alignas(64) uint32_t lanes[LANES]; /* 0 or ~0; kept only while mask is not full */
	uint32_t carry[LANES];
	uint32_t tid[3][LANES];
	struct place place[LANES];
	const struct op *lane_bar[LANES]; /* the reducing barrier at which it waits; NULL otherwise */
	uint32_t bar_lanes[BARRIERS];	  /* the lanes that wait at each barrier */
	uint32_t cluster_phase[LANES];	  /* of the cluster's barrier when the lane arrived there */
	uint32_t stack_taken[LANES];	  /* bytes, from the end of a thread's local memory down; see has_stack */
	const struct machine *machine;	  /* of the kernel, when the warp started; see hot.h */
	const struct machine *compiled;	  /* the same, while the group is in the kernel itself */
	uint32_t misses;		  /* number of times that it could not be entered */
	/*
	 * Where machine code goes on behind a barrier, plus 1: of registers that are no lanes the frame has only what
	 * it has left there for itself. 0: nowhere.
	 */
	uint32_t brief;
	uint8_t *base[2];		  /* registers, constants of the group's frame */
	uint8_t *local;			  /* of lane 0, at this frame's offset */
	uint32_t local_stride;
	uint32_t mask; /* the group: the lanes that currently run together; 0: none chosen */
	uint32_t live, wait_bar, wait_sync;
	uint32_t place_count;
	uint32_t pc;
	const struct op *code;
	struct frame *frame;
	uint64_t key_base; /* key = key_base | pc: deeper frames first, then smaller pc */
	uint64_t other;	   /* the smallest key outside the group; ~0: none, or not consulted while starving lanes run */
	uint32_t spins, stamp;
	bool strong;	      /* an atomic or a volatile access since the last backward jump */
	bool force;	      /* a sync operation must run with the lanes that have arrived */
	bool has_stack;	      /* some stack_taken may not be 0 */
	bool group_waits;     /* for the other warps of its group: warpgroup.c */
	uint32_t group_phase; /* of the group, when the warp arrived */
	uint32_t index;
	uint32_t checked; /* the lane whose access is being checked; LANES: several together */
	struct block *block;
	struct frame *entry_frame;
	uint64_t executed, executed_lanes; /* instructions of the text */
};

struct barrier {
	uint32_t arrived;  /* threads that did not wait, in whole warps */
	uint32_t waiting;  /* threads that wait */
	uint32_t expected; /* 0: all that live */
	uint32_t popc;
	bool all, any;
	bool results; /* some waiting threads get a result */
};

#define TEXTURE_SLOTS 4u

/* A handle that a block has looked up. */
struct texture_slot {
	uint64_t handle;
	const struct ptx_texture *texture;
	uint32_t use; /* enum ptx_texture_use */
};

/*
 * Blocks that run side by side and see each other's shared memory. In a launch without clusters each block has its own.
 */
struct cluster {
	pthread_mutex_t lock;
	uint32_t count, size[3];
	bool explicit; /* the launch has clusters */
	struct block *block[CLUSTER_MAX];
	uint32_t live, arrived;		 /* lanes; under lock */
	uint32_t phase;			 /* of the barrier; changed under lock, read without */
	uint32_t ended;			 /* blocks; under the run's lock */
	struct cluster **before, *after; /* list of the run; under its lock */
};

struct block {
	const struct ptx_launch *launch;
	struct run *run; /* run.h */
	uint64_t number; /* of the grid, x first */
	uint32_t id[3];
	uint32_t warp_count, threads, live_threads;
	struct barrier bar[BARRIERS];
	uint32_t bars_used; /* bits */
	uint8_t *shared;
	uint32_t shared_bytes;
	uint8_t *local;
	uint32_t local_stride; /* bytes of one thread */
	struct warp *warp;
	struct ptx_range range[RANGES];
	uint32_t range_next, range_last;
	uint64_t sectors;
	bool set_aside; /* at least once */
	bool shallow;	/* the thread that runs it has no stack for compiled code */
	uint64_t waits; /* rounds of loops that look at memory which others change */
	struct ptx_fault fault;
	const struct op *fault_op; /* of an access */
	struct texture_slot texture[TEXTURE_SLOTS];
	uint32_t texture_next;
	uint32_t shape[3]; /* of the threads that warp.tid was filled in for */
	uint32_t group_arrived[GROUPS_MAX],
		group_phase[GROUPS_MAX]; /* of groups of four warps: the number that have arrived */
	struct frame *spare;		 /* frames of functions, for reuse */
	struct cluster *cluster, own_cluster;
	uint32_t cluster_rank;
	uint8_t *buffer; /* warps, entry frames, shared and local memory in one piece */
	size_t buffer_bytes;
	struct block *next;
};

/* One row of the instruction table: a pattern of full opcodes, how operands are taken, and what executes it. */
enum form {
	FORM_PLAIN, /* d, a, b, c are the operands in order */
	FORM_SYNC,  /* as listed, the last operand is the member mask */
	FORM_SETP,
	FORM_SETP_PAIR,
	FORM_SET,
	FORM_MOV,
	FORM_LD,
	FORM_ST,
	FORM_ATOM,
	FORM_RED,
	FORM_BRA,
	FORM_BRX,
	FORM_CALL,
	FORM_RET,
	FORM_EXIT,
	FORM_BAR,
	FORM_CVTA,
	FORM_ISSPACEP,
	FORM_TEXTURE,
	FORM_MATRIX,   /* fragments and rows of matrices: forms_matrix.c */
	FORM_ASYNC,    /* copies, barriers in memory, clusters: forms_async.c */
	FORM_VIDEO,    /* parts of registers: forms_video.c */
	FORM_STACK,    /* local memory taken at run time */
	FORM_NOTHING,  /* takes operands, has no effect: fences, prefetch */
	FORM_POLICY,   /* returns a cache policy, for caches that do not exist here */
	FORM_INTERNAL, /* created by the decoder, has no spelling */
};

/* Of FORM_TEXTURE, as the count of a row. */
enum texture_shape {
	SHAPE_TEX,
	SHAPE_TEX_HALF,
	SHAPE_GATHER,
	SHAPE_QUERY,
	SHAPE_QUERY_LEVEL,
	SHAPE_QUERY_SURFACE,
	SHAPE_SULD,
	SHAPE_SUST,
	SHAPE_SURED,
	SHAPE_IS,
};

struct row {
	const char *pattern; /* {a,b} alternatives, <a,b> alternatives whose number goes into op.imm */
	exec_fn *full, *masked;
	uint8_t form;
	uint8_t count;
	uint8_t type[6]; /* enum type: d, a, b, c, ... */
};

struct rows {
	const struct row *row;
	size_t count;
};

/* once.c: the rows of instructions that are built once, for all instruction sets. */
extern const struct rows rows_once;

#define ISA_ROWS 6

/* A build of exec.c and the exec_*.c files for one instruction set. */
struct isa {
	const char *name;
	const struct rows *rows[ISA_ROWS];
	exec_fn *guarded;  /* runs op.inner under the guard */
	exec_fn *multiply; /* of matrix.c */
	/* Runs a warp until it waits, ends, faults or has used its quantum. */
	void (*warp_run)(struct warp *w, uint32_t quantum);
	void (*warp_run_counted)(struct warp *w, uint32_t quantum); /* for launches with counters of forms */
};

const struct isa *isa_find(const char *name); /* NULL name: the best of this machine. Value: NULL: unknown, or not
					       * runnable here */
bool isa_has_dots(const struct isa *isa);     /* with it this machine's dot products of bytes may be used */
const struct row *isa_row(const struct isa *isa, size_t i); /* NULL: it has fewer */

/* warp.c: control that does not depend on the instruction set. */
void warp_bar_release(struct block *b); /* completes the barriers that are full */
void warp_schedule(struct warp *w);
void warp_save(struct warp *w, uint32_t lanes, uint32_t pc);
const struct place *warp_place(const struct warp *w, uint32_t lane); /* of a lane outside the group */
void warp_fault(struct warp *w, enum ptx_fault_kind kind, const struct op *o, uint32_t lane, uint64_t address);
/*
 * The same for an access of `bytes`; further lanes of the same operation are counted. The address is an offset in
 * shared memory, or with PTX_SPACE_DEVICE a generic one.
 */
void warp_fault_access(struct warp *w, enum ptx_fault_kind kind, const struct op *o, uint32_t lane,
		       enum ptx_space space, uint64_t address, uint32_t bytes);
bool warp_off_limits(const struct warp *w, uint64_t address); /* for atomics: local memory and parameters */
void warp_where(struct warp *w, struct ptx_fault *f);	      /* fills in the position of a warp */
bool warp_reach(struct warp *w, uint64_t begin, uint64_t end, bool write); /* slow path of the address check */
void warp_enter(struct warp *w, const struct op *o, uint32_t lanes);
void warp_return(struct warp *w, uint32_t lanes);
void warp_exit(struct warp *w, uint32_t lanes);
void warp_end(struct warp *w); /* all 32 lanes exit together from the kernel itself */
void warp_arrive(struct warp *w, const struct op *o, uint32_t lanes);
void warp_wait_bar(struct warp *w, uint32_t id, uint32_t lanes); /* lanes wait at a barrier of the block from now on */
void warp_set_group(struct warp *w, struct frame *frame, uint32_t pc, uint32_t mask);

/* cluster.c */
void cluster_begin(struct cluster *c, uint32_t threads);
void cluster_leave(struct block *b, uint32_t threads);			 /* threads have ended */
bool cluster_reach(const struct block *b, uint64_t begin, uint64_t end); /* shared memory of one of its blocks */

/* launch.c */
void run_print(struct block *b, const char *text, size_t bytes);

/* builtin.c */
exec_fn builtin_vprintf, builtin_malloc, builtin_free, builtin_assertfail, builtin_set_condition, builtin_native;

/* texture.c, surface.c */
exec_fn texture_fetch, texture_gather, texture_query, texture_is, surface_load, surface_store, surface_reduce;

/* module.c */
const struct function *module_function_at(const struct ptx_module *m, uint64_t address);
uint32_t kernel_stack_bytes(const struct ptx_kernel *k, uint32_t asked);
const struct function *kernel_function(const struct ptx_kernel *k);
const struct isa *module_isa(const struct ptx_module *m);
uint32_t module_quantum(const struct ptx_module *m);
bool module_bound(const struct ptx_module *m);
bool module_constant_moves(const struct ptx_module *m, uint32_t offset); /* known only when the module is bound */
