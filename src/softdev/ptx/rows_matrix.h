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

/* The same with half of A, and metadata that says which half. Indices in order or not: nothing depends on it here. */
#define SPARSE "mma.{sp,sp::ordered_metadata}.sync.aligned."
RF(SPARSE "{m16n8k16,m16n8k32}.row.col.{f16,f32}.f16.f16.{f16,f32}", FORM_MATRIX, 0)
RF(SPARSE "{m16n8k16,m16n8k32}.row.col.f32.bf16.bf16.f32", FORM_MATRIX, 0)
RF(SPARSE "{m16n8k8,m16n8k16}.row.col.f32.tf32.tf32.f32", FORM_MATRIX, 0)
RF(SPARSE "m16n8k64.row.col.{f16.e4m3.e4m3.f16,f16.e4m3.e5m2.f16,f16.e5m2.e4m3.f16,f16.e5m2.e5m2.f16,f32.e4m3.e4m3.f32,"
	  "f32.e4m3.e5m2.f32,f32.e5m2.e4m3.f32,f32.e5m2.e5m2.f32}",
   FORM_MATRIX, 0)
RF(SPARSE "{m16n8k32,m16n8k64}.row.col{,.satfinite}.s32.{s8,u8}.{s8,u8}.s32", FORM_MATRIX, 0)
RF(SPARSE "{m16n8k64,m16n8k128}.row.col{,.satfinite}.s32.{s4,u4}.{s4,u4}.s32", FORM_MATRIX, 0)

/* Products of four warps, each with 16 of the 64 rows. A from registers or, like B, by its descriptor. */
#define WIDE(k)                                                                                                        \
	"{"                                                                                                            \
	"m64n8k" k ",m64n16k" k ",m64n24k" k ",m64n32k" k ",m64n40k" k ",m64n48k" k ",m64n56k" k ",m64n64k" k          \
	",m64n72k" k ",m64n80k" k ",m64n88k" k ",m64n96k" k ",m64n104k" k ",m64n112k" k ",m64n120k" k ",m64n128k" k    \
	",m64n136k" k ",m64n144k" k ",m64n152k" k ",m64n160k" k ",m64n168k" k ",m64n176k" k ",m64n184k" k              \
	",m64n192k" k ",m64n200k" k ",m64n208k" k ",m64n216k" k ",m64n224k" k ",m64n232k" k ",m64n240k" k              \
	",m64n248k" k ",m64n256k" k "}"
#define WIDE_INT(k)                                                                                                    \
	"{"                                                                                                            \
	"m64n8k" k ",m64n16k" k ",m64n24k" k ",m64n32k" k ",m64n48k" k ",m64n64k" k ",m64n80k" k ",m64n96k" k          \
	",m64n112k" k ",m64n128k" k ",m64n144k" k ",m64n160k" k ",m64n176k" k ",m64n192k" k ",m64n208k" k              \
	",m64n224k" k ",m64n240k" k ",m64n256k" k "}"
RF("wgmma.mma_async.sync.aligned." WIDE("16") ".{f16,f32}.f16.f16", FORM_MATRIX, 6)
RF("wgmma.mma_async.sync.aligned." WIDE("16") ".f32.bf16.bf16", FORM_MATRIX, 6)
RF("wgmma.mma_async.sync.aligned." WIDE("8") ".f32.tf32.tf32", FORM_MATRIX, 6)
RF("wgmma.mma_async.sync.aligned." WIDE("32") ".{f16,f32}.{e4m3,e5m2}.{e4m3,e5m2}", FORM_MATRIX, 6)
RF("wgmma.mma_async.sync.aligned." WIDE_INT("32") "{,.satfinite}.s32.{s8,u8}.{s8,u8}", FORM_MATRIX, 6)
RF("wgmma.mma_async.sync.aligned." WIDE_INT("256") ".s32.b1.b1.and.popc", FORM_MATRIX, 6)
#define WIDE_SPARSE "wgmma.mma_async.sp.sync.aligned."
RF(WIDE_SPARSE WIDE("32") ".{f16,f32}.f16.f16", FORM_MATRIX, 6)
RF(WIDE_SPARSE WIDE("32") ".f32.bf16.bf16", FORM_MATRIX, 6)
RF(WIDE_SPARSE WIDE("16") ".f32.tf32.tf32", FORM_MATRIX, 6)
RF(WIDE_SPARSE WIDE("64") ".{f16,f32}.{e4m3,e5m2}.{e4m3,e5m2}", FORM_MATRIX, 6)
RF(WIDE_SPARSE WIDE_INT("64") "{,.satfinite}.s32.{s8,u8}.{s8,u8}", FORM_MATRIX, 6)

/* Floats of 4 and 6 bits, each in a byte; and with a scale for each block of 32 or 16 along the sum. */
#define NARROW "{e4m3,e5m2,e3m2,e2m3,e2m1}"
RF("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16." NARROW "." NARROW ".f16", FORM_MATRIX, 0)
RF("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32." NARROW "." NARROW ".f32", FORM_MATRIX, 0)
RF("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale{,.scale_vec::1X}.f32." NARROW "." NARROW ".f32.ue8m0",
   FORM_MATRIX, 7)
RF("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale{,.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0", FORM_MATRIX, 7)
RF("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", FORM_MATRIX, 7)
RF("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.{ue4m3,ue8m0}",
   FORM_MATRIX, 7)

#define ORDERED "mma.sp::ordered_metadata.sync.aligned."
RF(ORDERED "m16n8k64.row.col.kind::f8f6f4.f16." NARROW "." NARROW ".f16", FORM_MATRIX, 0)
RF(ORDERED "m16n8k64.row.col.kind::f8f6f4.f32." NARROW "." NARROW ".f32", FORM_MATRIX, 0)
RF(ORDERED "m16n8k64.row.col.kind::mxf8f6f4.block_scale{,.scale_vec::1X}.f32." NARROW "." NARROW ".f32.ue8m0",
   FORM_MATRIX, 7)
RF(ORDERED "m16n8k128.row.col.kind::mxf4.block_scale{,.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0", FORM_MATRIX, 7)
RF(ORDERED "m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", FORM_MATRIX, 7)
RF(ORDERED "m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.{ue4m3,ue8m0}", FORM_MATRIX, 7)

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
RF("ldmatrix.sync.aligned.m8n16.{x1,x2,x4}.b8x16.{b6x16_p32,b4x16_p64}", FORM_MATRIX, 3)
RF("ldmatrix.sync.aligned.m16n16.{x1,x2}.trans.{b8,b8x16.b6x16_p32,b8x16.b4x16_p64}", FORM_MATRIX, 3)
RF("stmatrix.sync.aligned.m8n8.{x1,x2,x4}{,.trans}.b16", FORM_MATRIX, 4)
RF("stmatrix.sync.aligned.m16n8.{x1,x2,x4}.trans.b8", FORM_MATRIX, 4)
RF("movmatrix.sync.aligned.m8n8.trans.b16", FORM_MATRIX, 5)

RH("%mma", matrix_multiply, FORM_INTERNAL, 0)
RH("%wmma.load", wmma_load, FORM_INTERNAL, 0)
RH("%wmma.store", wmma_store, FORM_INTERNAL, 0)
RH("%ldmatrix", ldmatrix, FORM_INTERNAL, 0)
RH("%stmatrix", stmatrix, FORM_INTERNAL, 0)
RH("%movmatrix", movmatrix, FORM_INTERNAL, 0)
