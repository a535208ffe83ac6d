/*
 * children.h: the interface between launch.c, which runs one grid, and children.c, which keeps the launches of its
 * kernels.
 */
#pragma once

#include "softdev/ptx/engine.h"

/* The launches of one grid's kernels. */
struct children {
	pthread_mutex_t lock;
	struct child *filling;		/* under lock: buffers that are not launched yet */
	struct child *first, **end;	/* under lock */
	struct child *tail, **tail_end; /* under lock: behind all others */
	struct launch_error *error;	/* under lock: the last one of each thread that has one; they are few */
	uint32_t depth;			/* of the grid */
};

void children_begin(struct children *c, uint32_t depth);
/* What to run next: the children, the tail launches, and then `after`. */
struct child *children_end(struct children *c, const struct ptx_memory *m, struct child *after);
/* Runs the list to its end, unless r is not 0. Value: as of ptx_launch_run(), with the fault in `parent`. */
int children_run(struct ptx_pool *pool, struct ptx_launch *parent, struct child *list, int r);
exec_fn launch_buffer, launch_device, launch_error, launch_handle, launch_nothing;

/* launch.c */
bool launch_is_valid(const struct ptx_launch *l);
struct children *run_children(struct run *run);
/* Runs one grid without its children, which are put in front of *list. Value: as of ptx_launch_run(). */
int launch_grid(struct ptx_pool *pool, struct ptx_launch *l, uint32_t depth, struct child **list);

/* module.c */
const struct ptx_kernel *module_kernel_of(const struct ptx_module *m, uint64_t address); /* NULL: none there */
