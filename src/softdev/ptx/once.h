/* once.h: executors of the rows that once.c lists, by the file that they are in. */
#pragma once

#include "softdev/ptx/engine.h"

/* matrix_move.c */
exec_fn matrix_multiply, wmma_load, wmma_store, ldmatrix, stmatrix, movmatrix;

/* async.c */
exec_fn async_copy, bulk_copy, masked_copy, bulk_zero, bulk_reduce, takeover_refuse, mbarrier_init, mbarrier_invalid,
	mbarrier_arrive, mbarrier_expect, mbarrier_complete, mbarrier_test, mbarrier_pending, fence_all;

/* cluster.c */
exec_fn cluster_map, cluster_rank_of, cluster_generic, cluster_offset, cluster_arrive, cluster_test, cluster_special,
	cluster_is_shared;

/* tensor.c */
exec_fn tensor_copy, tensor_replace;

/* async.c, for tensor.c: one of its reductions on each element; bytes of a barrier are complete (false: a fault) */
void async_reduce(uint8_t *to, const uint8_t *from, uint32_t bytes, uint32_t op, enum type t);
bool async_complete(struct warp *w, const struct op *o, uint32_t lane, uint64_t barrier, uint32_t bytes);

/* warpgroup.c */
exec_fn warpgroup_test;

/* video.c */
exec_fn video;

/* rare.c */
exec_fn stack_alloc, stack_save, stack_restore, redux_f32, atom_exch_128, atom_exch_128_shared, atom_cas_128,
	atom_cas_128_shared, atom_min_f16, atom_min_f16_shared, atom_max_f16, atom_max_f16_shared, atom_min_bf16,
	atom_min_bf16_shared, atom_max_bf16, atom_max_bf16_shared, atom_min_f16x2, atom_min_f16x2_shared,
	atom_max_f16x2, atom_max_f16x2_shared, atom_min_bf16x2, atom_min_bf16x2_shared, atom_max_bf16x2,
	atom_max_bf16x2_shared;
