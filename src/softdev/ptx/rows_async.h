/*
 * rows_async.h: asynchronous copies, barriers in memory, fences, clusters. forms_async.c takes the operands (the number
 * is its case); async.c and cluster.c do the work.
 *
 * A copy is done when it is issued, which PTX allows: whoever waits for it finds it complete. So groups have nothing to
 * wait for.
 */

/* cp.async and its groups. */
RF("cp.async.{ca,cg}.shared{,::cta}.global{,.L2::cache_hint}{,.L2::64B,.L2::128B,.L2::256B}", FORM_ASYNC, 0)
RF("cp.async.{commit_group,wait_group,wait_all}", FORM_NOTHING, 0)
RF("cp.async.mbarrier.arrive{,.noinc}{,.shared,.shared::cta}.b64", FORM_ASYNC, 1)
RH("%cp.async", async_copy, FORM_INTERNAL, 0)

/* cp.async.bulk: whole stretches of memory, without tensor maps. */
RF("cp.async.bulk.{shared::cluster,shared::cta}.{global,shared::cta}.mbarrier::complete_tx::bytes"
   "{,.multicast::cluster}{,.L2::cache_hint}",
   FORM_ASYNC, 2)
RF("cp.async.bulk.global.shared::cta.bulk_group{,.L2::cache_hint}{,.cp_mask}", FORM_ASYNC, 2)
RF("cp.async.bulk.prefetch.L2.global{,.L2::cache_hint}", FORM_NOTHING, 0)
RF("cp.async.bulk.{commit_group,wait_group,wait_group.read}", FORM_NOTHING, 0)
RF("cp.reduce.async.bulk.{global.shared::cta.bulk_group,shared::cluster.shared::cta.mbarrier::complete_tx::bytes}"
   "{,.L2::cache_hint}.{add,min,max}.{u32,s32,u64,s64}",
   FORM_ASYNC, 3)
RF("cp.reduce.async.bulk.{global.shared::cta.bulk_group,shared::cluster.shared::cta.mbarrier::complete_tx::bytes}"
   "{,.L2::cache_hint}.{inc.u32,dec.u32,and.b32,and.b64,or.b32,or.b64,xor.b32,xor.b64}",
   FORM_ASYNC, 3)
RF("cp.reduce.async.bulk.global.shared::cta.bulk_group{,.L2::cache_hint}."
   "{add.f32,add.f64,add.noftz.f16,add.noftz.bf16,min.f16,min.bf16,max.f16,max.bf16}",
   FORM_ASYNC, 3)
RH("%cp.bulk", bulk_copy, FORM_INTERNAL, 0)
RH("%cp.masked", masked_copy, FORM_INTERNAL, 0)
RH("%cp.reduce", bulk_reduce, FORM_INTERNAL, 0)

/* Zeroes in shared memory. */
RF("st.bulk", FORM_ASYNC, 26)
RH("%st.bulk", bulk_zero, FORM_INTERNAL, 0)

/* Stores and reductions that complete a transaction of a barrier. */
RF("st.async.mbarrier::complete_tx::bytes.{b32,u32,s32,f32,b64,u64,s64,f64,b128}", FORM_ASYNC, 4)
RF("red.async.mbarrier::complete_tx::bytes.{add.u32,add.s32,add.u64,min.u32,min.s32,max.u32,max.s32,inc.u32,dec.u32,"
   "and.b32,or.b32,xor.b32}",
   FORM_ASYNC, 5)

/* mbarrier; space, order and scope are taken out of the opcode before. */
RF("mbarrier.init.b64", FORM_ASYNC, 6)
RF("mbarrier.inval.b64", FORM_ASYNC, 7)
RF("mbarrier.{arrive,arrive.noComplete}.b64", FORM_ASYNC, 8)
RF("mbarrier.{arrive_drop,arrive_drop.noComplete}.b64", FORM_ASYNC, 9)
RF("mbarrier.arrive.expect_tx.b64", FORM_ASYNC, 10)
RF("mbarrier.arrive_drop.expect_tx.b64", FORM_ASYNC, 11)
RF("mbarrier.expect_tx.b64", FORM_ASYNC, 12)
RF("mbarrier.complete_tx.b64", FORM_ASYNC, 13)
RF("mbarrier.{test_wait,try_wait}.b64", FORM_ASYNC, 14)
RF("mbarrier.{test_wait,try_wait}.parity.b64", FORM_ASYNC, 15)
RH("mbarrier.pending_count.b64", mbarrier_pending, FORM_PLAIN, 2, TY_u32, TY_b64)
RH("%mbarrier.init", mbarrier_init, FORM_INTERNAL, 0)
RH("%mbarrier.arrive", mbarrier_arrive, FORM_INTERNAL, 0)
RH("%mbarrier.expect", mbarrier_expect, FORM_INTERNAL, 0)
RH("%mbarrier.complete", mbarrier_complete, FORM_INTERNAL, 0)
RH("%mbarrier.test", mbarrier_test, FORM_INTERNAL, 0)

/* Fences between kinds of access: everything is done in order here, other threads of the host excepted. */
RH("fence.proxy.{alias,async,async.global,async.shared::cta,async.shared::cluster}", fence_all, FORM_PLAIN, 1, TY_none)
RH("fence.proxy.tensormap::generic.release.{cta,cluster,gpu,sys}", fence_all, FORM_PLAIN, 1, TY_none)
RH("fence.proxy.async::generic.{acquire,release}.sync_restrict::{shared::cta,shared::cluster}.cluster", fence_all,
   FORM_PLAIN, 1, TY_none)
RH("fence.mbarrier_init.release.cluster", fence_all, FORM_PLAIN, 1, TY_none)
RH("fence.{acquire,release}.{cta,cluster,gpu,sys}", fence_all, FORM_PLAIN, 1, TY_none)
RH("fence.{acquire,release}.sync_restrict::{shared::cta,shared::cluster}.cluster", fence_all, FORM_PLAIN, 1, TY_none)

/* Copies through tensor maps (tensor.c), and changes of a map. */
#define TENSOR_END "{,.L2::cache_hint}"
RF("cp.async.bulk.tensor.{1d,2d,3d,4d,5d}.{shared::cluster,shared::cta}.global{,.tile}.mbarrier::complete_tx::bytes"
   "{,.multicast::cluster}{,.cta_group::1}" TENSOR_END,
   FORM_ASYNC, 21)
RF("cp.async.bulk.tensor.{1d,2d,3d,4d,5d}.global.shared::cta{,.tile}.bulk_group" TENSOR_END, FORM_ASYNC, 22)
RF("cp.reduce.async.bulk.tensor.{1d,2d,3d,4d,5d}.global.shared::cta.{add,min,max,inc,dec,and,or,xor}{,.tile}.bulk_"
   "group" TENSOR_END,
   FORM_ASYNC, 23)
RF("cp.async.bulk.prefetch.tensor.{1d,2d,3d,4d,5d}.L2.global{,.tile}" TENSOR_END, FORM_NOTHING, 0)
RF("cp.async.bulk.tensor.{3d,4d,5d}.{shared::cluster,shared::cta}.global.im2col.mbarrier::complete_tx::bytes"
   "{,.multicast::cluster}{,.cta_group::1}" TENSOR_END,
   FORM_ASYNC, 21)
RF("cp.async.bulk.tensor.2d.{shared::cluster,shared::cta}.global.tile::gather4.mbarrier::complete_tx::bytes"
   "{,.multicast::cluster}{,.cta_group::1}" TENSOR_END,
   FORM_ASYNC, 21)
RF("cp.async.bulk.tensor.{3d,4d,5d}.global.shared::cta.im2col_no_offs.bulk_group" TENSOR_END, FORM_ASYNC, 22)
RF("cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group" TENSOR_END, FORM_ASYNC, 22)
RF("cp.reduce.async.bulk.tensor.{3d,4d,5d}.global.shared::cta.{add,min,max,inc,dec,and,or,xor}.im2col_no_offs.bulk_"
   "group" TENSOR_END,
   FORM_ASYNC, 23)
RF("cp.async.bulk.prefetch.tensor.{3d,4d,5d}.L2.global.im2col" TENSOR_END, FORM_NOTHING, 0)
RF("cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4" TENSOR_END, FORM_NOTHING, 0)
RF("tensormap.replace.tile.{global_address,global_stride}{,.global,.shared::cta}.b1024.b64", FORM_ASYNC, 24)
RF("tensormap.replace.tile.{rank,box_dim,global_dim,element_stride,elemtype,interleave_layout,swizzle_mode,fill_mode,"
   "swizzle_atomicity}{,.global,.shared::cta}.b1024.b32",
   FORM_ASYNC, 24)
RF("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.{cta,cluster,gpu,sys}.sync.aligned",
   FORM_ASYNC, 25)
RF("fence.proxy.tensormap::generic.acquire.{cta,cluster,gpu,sys}", FORM_NOTHING, 0)
RH("%tensor.copy", tensor_copy, FORM_INTERNAL, 0)
RH("%tensor.replace", tensor_replace, FORM_INTERNAL, 0)

/* Groups of four warps: each computes its rows of a product when it issues it (matrix.c); here they meet. */
RF("wgmma.{fence,commit_group}.sync.aligned", FORM_NOTHING, 0)
RF("wgmma.wait_group.sync.aligned", FORM_ASYNC, 20)
RH("%warpgroup.test", warpgroup_test, FORM_INTERNAL, 0)

/*
 * Clusters that take over the work of others which have not begun. None gets any here, and each does its own: a request
 * may fail, and every kernel must be ready for it.
 */
RF("clusterlaunchcontrol.try_cancel.async{,.shared::cta}.mbarrier::complete_tx::bytes{,.multicast::cluster::all}.b128",
   FORM_ASYNC, 27)
RF("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128", FORM_ASYNC, 28)
RH("%takeover", takeover_refuse, FORM_INTERNAL, 0)

/* Clusters of blocks. */
RF("barrier.cluster.arrive{,.release,.relaxed}{,.aligned}", FORM_ASYNC, 16)
RF("barrier.cluster.wait{,.acquire}{,.aligned}", FORM_ASYNC, 17)
RF("mapa{,.shared::cluster}.{u32,u64}", FORM_ASYNC, 18)
RF("getctarank{,.shared::cluster}.{u32,u64}", FORM_ASYNC, 19)
RH("%cluster.arrive", cluster_arrive, FORM_INTERNAL, 0)
RH("%cluster.test", cluster_test, FORM_INTERNAL, 0)
RH("%cluster.special", cluster_special, FORM_INTERNAL, 0)
RH("%cluster.map", cluster_map, FORM_INTERNAL, 0)
RH("%cluster.offset", cluster_offset, FORM_INTERNAL, 0)
RH("%cluster.rank", cluster_rank_of, FORM_INTERNAL, 0)
RH("%cluster.is_shared", cluster_is_shared, FORM_INTERNAL, 0)
RH("%shared.generic", cluster_generic, FORM_INTERNAL, 0)
