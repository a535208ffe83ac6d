/*
 * rows_matrix.h: matrix instructions. The patterns say which combinations of shape, layout and type there are; words
 * and fragments are taken by forms_matrix.c (the number is its case), the work is done by matrix.c and matrix_move.c.
 */

/* mma.sync */
RF("mma.sync.aligned.m8n8k4.{row,col}.{row,col}.{f16,f32}.f16.f16.{f16,f32}", FORM_MATRIX, 0)
RF("mma.sync.aligned.{m16n8k8,m16n8k16}.row.col.{f16,f32}.f16.f16.{f16,f32}", FORM_MATRIX, 0)
RF("mma.sync.aligned.{m16n8k8,m16n8k16}.row.col.f32.bf16.bf16.f32", FORM_MATRIX, 0)
RF("mma.sync.aligned.{m16n8k4,m16n8k8}.row.col.f32.tf32.tf32.f32", FORM_MATRIX, 0)
RF("mma.sync.aligned.{m16n8k16,m16n8k32}.row.col.{f16.e4m3.e4m3.f16,f16.e4m3.e5m2.f16,f16.e5m2.e4m3.f16,"
   "f16.e5m2.e5m2.f16,f32.e4m3.e4m3.f32,f32.e4m3.e5m2.f32,f32.e5m2.e4m3.f32,f32.e5m2.e5m2.f32}",
   FORM_MATRIX, 0)
RF("mma.sync.aligned.{m8n8k4,m16n8k4,m16n8k8,m16n8k16}.row.col{,.rn}.f64.f64.f64.f64", FORM_MATRIX, 0)
RF("mma.sync.aligned.{m8n8k16,m16n8k16,m16n8k32}.row.col{,.satfinite}.s32.{s8,u8}.{s8,u8}.s32", FORM_MATRIX, 0)
RF("mma.sync.aligned.{m8n8k32,m16n8k32,m16n8k64}.row.col{,.satfinite}.s32.{s4,u4}.{s4,u4}.s32", FORM_MATRIX, 0)
RF("mma.sync.aligned.{m8n8k128,m16n8k128,m16n8k256}.row.col.s32.b1.b1.s32.{xor,and}.popc", FORM_MATRIX, 0)

/* wmma */
RF("wmma.mma.sync{,.aligned}.{row,col}.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.{f16,f32}.{f16,f32}", FORM_MATRIX, 0)
RF("wmma.mma.sync{,.aligned}.{row,col}.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.f32.bf16.bf16.f32", FORM_MATRIX, 0)
RF("wmma.mma.sync{,.aligned}.{row,col}.{row,col}.m16n16k8.f32.tf32.tf32.f32", FORM_MATRIX, 0)
RF("wmma.mma.sync{,.aligned}.{row,col}.{row,col}.m8n8k4{,.rn}.f64.f64.f64.f64{,.rn}", FORM_MATRIX, 0)
RF("wmma.mma.sync{,.aligned}.{row,col}.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.s32.{s8.s8,u8.u8}.s32{,.satfinite}",
   FORM_MATRIX, 0)
RF("wmma.mma.sync{,.aligned}.row.col.m8n8k32.s32.{s4.s4,u4.u4}.s32{,.satfinite}", FORM_MATRIX, 0)
RF("wmma.mma.{xor,and}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", FORM_MATRIX, 0)
RF("wmma.load.{a,b}.sync{,.aligned}.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.{f16,bf16,s8,u8}", FORM_MATRIX, 1)
RF("wmma.load.c.sync{,.aligned}.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.{f16,f32,s32}", FORM_MATRIX, 1)
RF("wmma.load.{a,b}.sync{,.aligned}.{row,col}.{m16n16k8.tf32,m8n8k4.f64}", FORM_MATRIX, 1)
RF("wmma.load.c.sync{,.aligned}.{row,col}.{m16n16k8.f32,m8n8k4.f64,m8n8k32.s32,m8n8k128.s32}", FORM_MATRIX, 1)
RF("wmma.load.{a.sync.aligned.row,b.sync.aligned.col}.{m8n8k32.s4,m8n8k32.u4,m8n8k128.b1}", FORM_MATRIX, 1)
RF("wmma.store.d.sync{,.aligned}.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.{f16,f32,s32}", FORM_MATRIX, 2)
RF("wmma.store.d.sync{,.aligned}.{row,col}.{m16n16k8.f32,m8n8k4.f64,m8n8k32.s32,m8n8k128.s32}", FORM_MATRIX, 2)

/* Tiles of 8 x 8 between shared memory and registers. */
RF("ldmatrix.sync.aligned.m8n8.{x1,x2,x4}{,.trans}.b16", FORM_MATRIX, 3)
RF("stmatrix.sync.aligned.m8n8.{x1,x2,x4}{,.trans}.b16", FORM_MATRIX, 4)
RF("movmatrix.sync.aligned.m8n8.trans.b16", FORM_MATRIX, 5)

RH("%mma", matrix_multiply, FORM_INTERNAL, 0)
RH("%wmma.load", wmma_load, FORM_INTERNAL, 0)
RH("%wmma.store", wmma_store, FORM_INTERNAL, 0)
RH("%ldmatrix", ldmatrix, FORM_INTERNAL, 0)
RH("%stmatrix", stmatrix, FORM_INTERNAL, 0)
RH("%movmatrix", movmatrix, FORM_INTERNAL, 0)
