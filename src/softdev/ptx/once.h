/* once.h: executors of the rows that once.c lists, by the file that they are in. */
#pragma once

#include "softdev/ptx/engine.h"

/* matrix_move.c */
exec_fn matrix_multiply, wmma_load, wmma_store, ldmatrix, stmatrix, movmatrix;

/* async.c */
exec_fn async_copy, bulk_copy, bulk_reduce, mbarrier_init, mbarrier_invalid, mbarrier_arrive, mbarrier_expect,
	mbarrier_complete, mbarrier_test, mbarrier_pending, fence_all;

/* cluster.c */
exec_fn cluster_map, cluster_rank_of, cluster_generic, cluster_offset, cluster_arrive, cluster_test, cluster_special,
	cluster_is_shared;

/* video.c */
exec_fn video;

/* rare.c */
exec_fn stack_alloc, stack_save, stack_restore, redux_f32, atom_exch_128, atom_exch_128_shared, atom_cas_128,
	atom_cas_128_shared, atom_min_f16, atom_min_f16_shared, atom_max_f16, atom_max_f16_shared, atom_min_bf16,
	atom_min_bf16_shared, atom_max_bf16, atom_max_bf16_shared, atom_min_f16x2, atom_min_f16x2_shared,
	atom_max_f16x2, atom_max_f16x2_shared, atom_min_bf16x2, atom_min_bf16x2_shared, atom_max_bf16x2,
	atom_max_bf16x2_shared;
