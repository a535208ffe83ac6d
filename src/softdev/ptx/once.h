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
