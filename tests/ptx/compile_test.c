/*
 * compile_test.c: compiled kernels beside interpreted ones: the same results, counters and faults, also where lanes
 * part, blocks are odd, warps meet at barriers or a kernel must be stopped; and the files in which objects are kept,
 * of which nothing that is damaged, or that others could have written, may run.
 *
 * Whoever looks for the compiler looks once in a process, so each part of the second half has a process of its own.
 */
#include "harness.h"

#include "softdev/ptx/hot.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS 4096u

/* So many registers that a kernel has no code for lanes that have parted. */
#define TEN(f, n) f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7) f(n##8) f(n##9)
#define HUNDRED(f) TEN(f, 1) TEN(f, 2) TEN(f, 3) TEN(f, 4) TEN(f, 5) TEN(f, 6) TEN(f, 7) TEN(f, 8) TEN(f, 9) TEN(f, 10)
#define FILL(n) "mul.lo.u32 %b" #n ", %r1, " #n "77; "
#define DRAIN(n) "mad.lo.u32 %r9, %r9, 3, %b" #n "; "

static const char text[] =
	".version 8.0\n.target sm_80\n.address_size 64\n.global .align 4 .u32 base;\n"
	/* out[i] = a sum over in[i + k * step] for k < n, by twos where a bit of the input is set: lanes part */
	".visible .entry mix(.param .u64 pin, .param .u64 po, .param .u32 n, .param .u32 step)\n{\n"
	"\t.reg .pred %p<4>; .reg .b32 %r<20>; .reg .f32 %f<9>; .reg .b64 %d<9>; .shared .align 4 .b8 s[4096];\n"
	"\tmov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ntid.x; mad.lo.u32 %r1, %r2, %r3, %r1;\n"
	"\tmov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.y; mul.lo.u32 %r6, %r3, %r5; mad.lo.u32 %r7, %r4, %r6, %r1;\n"
	"\tld.param.u64 %d1, [pin]; ld.param.u64 %d2, [po]; ld.param.u32 %r8, [n]; ld.param.u32 %r9, [step];\n"
	"\tmov.f32 %f1, 0f00000000; mov.u32 %r10, 0; mov.u32 %r11, %r7;\n"
	"L1:\n\tsetp.ge.u32 %p1, %r10, %r8; @%p1 bra L3;\n"
	"\tand.b32 %r12, %r11, 1023; mad.wide.u32 %d3, %r12, 4, %d1; ld.global.f32 %f2, [%d3]; mov.b32 %r13, %f2;\n"
	"\tfma.rn.f32 %f1, %f2, %f2, %f1; and.b32 %r14, %r13, 64; setp.ne.u32 %p2, %r14, 0; @%p2 bra L2;\n"
	"\tadd.f32 %f1, %f1, %f2; shr.u32 %r15, %r13, 7; mul.hi.u32 %r15, %r15, %r11; @%p1 add.u32 %r15, %r15, 1;\n"
	"\tcvt.rn.f32.u32 %f3, %r15; add.f32 %f1, %f1, %f3;\n"
	"L2:\n\tadd.u32 %r10, %r10, 1; add.u32 %r11, %r11, %r9; bra L1;\n"
	"L3:\n\tmov.u32 %r16, s; shl.b32 %r17, %r1, 2; add.u32 %r18, %r16, %r17; st.shared.f32 [%r18], %f1; bar.sync "
	"0;\n"
	"\txor.b32 %r19, %r17, 4; add.u32 %r18, %r16, %r19; setp.lt.u32 %p3, %r19, %r6; ld.shared.f32 %f4, [%r18];\n"
	"\t@%p3 add.f32 %f1, %f1, %f4; mad.wide.u32 %d4, %r7, 4, %d2; st.global.f32 [%d4], %f1; ret;\n}\n"
	/* thread `who` of each block stores `far` bytes away */
	".visible .entry stray(.param .u64 po, .param .u32 who, .param .u64 far)\n{\n"
	"\t.reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<9>;\n"
	"\tmov.u32 %r1, %tid.x; ld.param.u64 %d1, [po]; ld.param.u32 %r2, [who]; ld.param.u64 %d2, [far];\n"
	"\tmul.wide.u32 %d3, %r1, 4; add.s64 %d1, %d1, %d3; setp.ne.u32 %p, %r1, %r2; @%p bra L1;\n"
	"\tadd.s64 %d1, %d1, %d2;\nL1:\n\tst.global.u32 [%d1], %r1; ret;\n}\n"
	/* all threads of the row, and the address wraps for none of them */
	".visible .entry row(.param .u64 po, .param .u64 far)\n{\n"
	"\t.reg .b32 %r<9>; .reg .b64 %d<9>;\n"
	"\tmov.u32 %r1, %tid.x; ld.param.u64 %d1, [po]; ld.param.u64 %d2, [far]; add.s64 %d1, %d1, %d2;\n"
	"\tmad.wide.u32 %d1, %r1, 4, %d1; st.global.u32 [%d1], %r1; ret;\n}\n"
	".visible .entry forever(.param .u64 po)\n{\n\t.reg .b32 %r<4>; .reg .b64 %d<4>; mov.u32 %r1, 0;\n"
	"L1:\n\tadd.u32 %r1, %r1, 1; bra L1;\n}\n"
	/* the lanes of a warp take a lock one after the other: those that wait for it keep the one that has it waiting
	 */
	".visible .entry turns(.param .u64 po)\n{\n"
	"\t.reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<9>;\n"
	"\tmov.u32 %r1, %tid.x; ld.param.u64 %d1, [po]; mul.wide.u32 %d2, %r1, 4; add.s64 %d2, %d2, %d1; mov.u32 %r5, "
	"0;\n"
	"L1:\n\tadd.u32 %r5, %r5, 1; atom.global.cas.b32 %r2, [%d1], 0, 1; setp.ne.u32 %p, %r2, 0; @%p bra L1;\n"
	"\tld.volatile.global.u32 %r3, [%d1+4]; mad.lo.u32 %r4, %r3, 3, %r1; st.volatile.global.u32 [%d1+4], %r4;\n"
	"\tatom.global.exch.b32 %r2, [%d1], 0; st.global.u32 [%d2+8], %r5; ret;\n}\n"
	/* a result that is not a number, which a function of the interpreter reads before it is stored */
	".visible .entry settled(.param .u64 po, .param .u32 from)\n{\n"
	"\t.reg .f32 %f<4>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n"
	"\tmov.u32 %r1, %tid.x; ld.param.u64 %d1, [po]; ld.param.u32 %r2, [from]; mad.wide.u32 %d2, %r1, 8, %d1;\n"
	"\tadd.u32 %r3, %r2, %r1; mov.b32 %f1, %r3; add.f32 %f2, %f1, %f1; xor.b32 %r4, %r1, 3; mov.b32 %r5, %f2;\n"
	"\tshfl.sync.idx.b32 %r6, %r5, %r4, 31, 0xffffffff; mov.b32 %r7, %f2;\n"
	"\tst.global.u32 [%d2], %r7; st.global.u32 [%d2+4], %r6; ret;\n}\n"
	/* all patterns of 16 bits by the steps of quantized products: bytes, halves, subnormals; of lanes and of one
	   number */
	".visible .entry quants(.param .u64 po, .param .u32 from)\n{\n"
	"\t.reg .f32 %f<12>; .reg .b32 %r<20>; .reg .b64 %d<4>; .reg .b16 %h<4>;\n"
	"\tmov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r1, %r2, %r3, %r1;\n"
	"\tld.param.u64 %d1, [po]; ld.param.u32 %r2, [from]; mad.wide.u32 %d2, %r1, 56, %d1;\n"
	"\tmul.lo.u32 %r4, %r1, 0x9e3779b1; add.u32 %r4, %r4, %r2; xor.b32 %r5, %r4, 0x80ff7f01; mad.lo.u32 %r5, %r5, "
	"%r2, %r5;\n"
	"\tdp4a.u32.u32 %r6, %r4, %r5, %r1; st.global.u32 [%d2], %r6; dp4a.u32.s32 %r6, %r4, %r5, %r6; st.global.u32 "
	"[%d2+4], %r6;\n"
	"\tdp4a.s32.u32 %r6, %r4, %r5, %r6; st.global.u32 [%d2+8], %r6; dp4a.s32.s32 %r6, %r4, %r5, 7; st.global.u32 "
	"[%d2+12], %r6;\n"
	"\tdp4a.s32.s32 %r6, %r2, %r2, %r1; st.global.u32 [%d2+16], %r6;\n"
	"\tadd.u32 %r7, %r1, %r2; mov.b32 {%h1, %h2}, %r7; cvt.f32.f16 %f1, %h1; st.global.f32 [%d2+20], %f1;\n"
	"\tmov.b32 {%h3, %h2}, %r4; cvt.f32.f16 %f2, %h2; st.global.f32 [%d2+24], %f2; mov.b32 %r8, {%h2, %h1}; "
	"st.global.u32 [%d2+28], %r8;\n"
	"\tshl.b32 %r9, %r7, 16; mov.b32 %f3, %r9; shl.b32 %r10, %r5, 8; mov.b32 %f4, %r10;\n"
	"\tmin.ftz.f32 %f5, %f3, %f4; st.global.f32 [%d2+32], %f5; max.ftz.f32 %f6, %f3, %f4; st.global.f32 [%d2+36], "
	"%f6;\n"
	"\tabs.ftz.f32 %f7, %f3; neg.ftz.f32 %f8, %f4; div.approx.ftz.f32 %f9, %f3, %f4; rcp.approx.ftz.f32 %f10, "
	"%f3;\n"
	"\tsqrt.approx.ftz.f32 %f11, %f7; st.global.f32 [%d2+40], %f8; st.global.f32 [%d2+44], %f9; st.global.f32 "
	"[%d2+48], %f10;\n"
	"\tst.global.f32 [%d2+52], %f11; ret;\n}\n"
	/* quotients and rests of numbers of all sizes, by 0 and by -1; f16 of halves between two of them */
	".visible .entry quotients(.param .u64 po, .param .u32 from)\n{\n"
	"\t.reg .f32 %f<4>; .reg .b32 %r<20>; .reg .b64 %d<4>; .reg .b16 %h<4>;\n"
	"\tmov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r1, %r2, %r3, %r1;\n"
	"\tld.param.u64 %d1, [po]; ld.param.u32 %r2, [from]; mad.wide.u32 %d2, %r1, 60, %d1;\n"
	"\tmul.lo.u32 %r4, %r1, 0x9e3779b1; mad.lo.u32 %r4, %r2, 0x85ebca6b, %r4; xor.b32 %r5, %r4, 0x5bd1e995; "
	"and.b32 %r6, %r1, 31;\n"
	"\tshr.s32 %r5, %r5, %r6; and.b32 %r7, %r4, 0x80000000;\n"
	"\tdiv.u32 %r8, %r4, %r5; st.global.u32 [%d2], %r8; rem.u32 %r8, %r4, %r5; st.global.u32 [%d2+4], %r8;\n"
	"\tdiv.s32 %r8, %r4, %r5; st.global.u32 [%d2+8], %r8; rem.s32 %r8, %r4, %r5; st.global.u32 [%d2+12], %r8;\n"
	"\tdiv.s32 %r8, %r7, %r5; st.global.u32 [%d2+16], %r8; rem.s32 %r8, %r7, %r5; st.global.u32 [%d2+20], %r8;\n"
	"\tdiv.u32 %r8, %r5, %r4; st.global.u32 [%d2+24], %r8; rem.s32 %r8, %r4, %r2; st.global.u32 [%d2+28], %r8;\n"
	"\tdiv.u32 %r8, %r4, 7; st.global.u32 [%d2+32], %r8; rem.u32 %r8, %r4, 1000003; st.global.u32 [%d2+36], %r8;\n"
	"\tdiv.s32 %r8, %r2, 3; rem.u32 %r9, %r2, 10; st.global.u32 [%d2+40], %r8; st.global.u32 [%d2+44], %r9;\n"
	"\tadd.u32 %r10, %r2, %r1; shl.b32 %r10, %r10, 16; and.b32 %r11, %r1, 15; shl.b32 %r11, %r11, 12; or.b32 %r10, "
	"%r10, %r11;\n"
	"\tmov.b32 %f1, %r10; cvt.rn.f16.f32 %h1, %f1; shl.b32 %r12, %r2, 16; mov.b32 %f2, %r12; cvt.rn.f16.f32 %h2, "
	"%f2;\n"
	"\tmov.b32 %r13, {%h1, %h2}; st.global.u32 [%d2+48], %r13; mov.b32 %f3, %r4; cvt.rn.ftz.f16.f32 %h3, %f3;\n"
	"\tadd.f32 %f1, %f1, %f1; cvt.rn.f16.f32 %h1, %f1; mov.b32 %r13, {%h3, %h1}; st.global.u32 [%d2+52], %r13; "
	"ret;\n}\n"
	/* redux of lanes that are no members, when the members have ended: what their register held is overwritten */
	".visible .entry absent(.param .u64 po)\n{\n"
	"\t.reg .pred %p; .reg .b32 %r<9>; .reg .f32 %f<2>; .reg .b64 %d<4>;\n"
	"\tmov.u32 %r1, %tid.x; ld.param.u64 %d1, [po]; mad.wide.u32 %d2, %r1, 8, %d1; mad.lo.u32 %r4, %r1, 77, 5;\n"
	"\tmov.u32 %r5, %r4; st.global.v2.u32 [%d2], {%r4, %r5}; and.b32 %r2, %r1, 31; setp.lt.u32 %p, %r2, 16; @%p "
	"bra L1;\n"
	"\tredux.sync.add.u32 %r4, %r2, 0x0000ffff; redux.sync.min.s32 %r5, %r2, 0x0000ffff;\n"
	"\tst.global.v2.u32 [%d2], {%r4, %r5};\nL1:\n\tret;\n}\n"
	/* lanes that end within a loop, while others go on */
	".visible .entry ends(.param .u64 po)\n{\n"
	"\t.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n"
	"\tmov.u32 %r1, %tid.x; ld.param.u64 %d1, [po]; mul.wide.u32 %d2, %r1, 4; add.s64 %d2, %d2, %d1; mov.u32 %r2, "
	"0;\n"
	"L1:\n\tadd.u32 %r2, %r2, 1; st.global.u32 [%d2], %r2; setp.eq.u32 %p1, %r2, %r1; @%p1 exit; setp.lt.u32 %p2, "
	"%r2, 40; "
	"@%p2 bra L1;\n\tactivemask.b32 %r3; st.global.u32 [%d2], %r3; ret;\n}\n"
	/* a line that wraps in 32 bits before it is widened */
	".visible .entry wraps(.param .u64 po, .param .u32 from)\n{\n"
	"\t.reg .b32 %r<9>; .reg .b64 %d<9>; mov.u32 %r1, %tid.x; ld.param.u64 %d1, [po]; ld.param.u32 %r2, [from];\n"
	"\tadd.u32 %r3, %r1, %r2; cvt.u64.u32 %d2, %r3; cvt.s64.s32 %d3, %r3; mad.wide.u32 %d4, %r1, 16, %d1;\n"
	"\tst.global.u64 [%d4], %d2; st.global.u64 [%d4+8], %d3; ret;\n}\n"
	/*
	 * loads beside each other: of pieces that are not aligned, with a sign, of rows that are none for the compiler,
	 * with a store between them or a new address; `far` is added to the address of `who` when the ranges are known
	 */
	".visible .entry near(.param .u64 po, .param .u32 who, .param .u64 far)\n{\n"
	"\t.reg .pred %p<4>; .reg .b32 %r<60>; .reg .b64 %d<20>; .reg .b16 %h<20>;\n"
	"\tmov.u32 %r1, %tid.x; ld.param.u64 %d1, [po]; ld.param.u32 %r2, [who]; ld.param.u64 %d2, [far];\n"
	"\tmad.wide.u32 %d3, %r1, 16, %d1; mul.lo.u32 %r3, %r1, 0x9e3779b1; xor.b32 %r4, %r3, 0x85ebca6b; not.b32 %r5, "
	"%r3;\n"
	"\tst.global.v4.u32 [%d3+4096], {%r3, %r4, %r5, %r1}; bar.sync 0;\n"
	"\tshr.u32 %r6, %r1, 1; and.b32 %r7, %r1, 1; mul.lo.u32 %r8, %r6, 18; mad.lo.u32 %r8, %r7, 8, %r8; mul.lo.u32 "
	"%r9, %r6, 20;\n"
	"\tcvt.u64.u32 %d4, %r8; cvt.u64.u32 %d5, %r9; add.s64 %d4, %d4, %d1; add.s64 %d5, %d5, %d1; setp.eq.u32 %p1, "
	"%r1, %r2;\n"
	"\tand.b32 %r10, %r2, 0; xor.b32 %r11, %r1, %r10;\n"
	"\tmad.wide.u32 %d6, %r11, 4, %d1; mad.wide.u32 %d7, %r11, 16, %d1; mov.u32 %r20, 0; mov.u32 %r21, 0;\n"
	"L1:\n\tadd.u32 %r20, %r20, 1; setp.eq.and.u32 %p3, %r20, 2, %p1; @%p3 add.s64 %d4, %d4, %d2; @%p3 add.s64 "
	"%d5, %d5, %d2;\n"
	"\tmov.u64 %d8, %d4;\n"
	"\tld.global.u16 %h1, [%d4+4098]; ld.global.u16 %h2, [%d4+4100]; mov.b32 %r22, {%h1, %h2}; ld.global.u32 %r23, "
	"[%d5+4100];\n"
	"\tld.global.s8 %r24, [%d4+4103]; ld.global.u16 %h3, [%d4+4102]; ld.global.s16 %r25, [%d4+4104]; mov.b32 %r26, "
	"{%h3, %h2};\n"
	"\tld.global.u32 %r27, [%d5+4104]; ld.global.u8 %r28, [%d5+4107]; ld.global.u32 %r29, [%d6+4096]; "
	"ld.global.u32 %r30, [%d6+4100];\n"
	"\tld.global.u16 %r31, [%d8+4096]; ld.global.u16 %r32, [%d8+4098]; add.s64 %d8, %d8, 18; ld.global.u16 %r33, "
	"[%d8+4096];\n"
	"\tld.global.s16 %r34, [%d8+4098]; ld.global.u32 %r35, [%d7]; ld.global.u32 %r36, [%d7+4]; add.u32 %r37, %r36, "
	"1;\n"
	"\tst.global.u32 [%d7+4], %r37; ld.global.u32 %r38, [%d7+4];\n"
	"\tmul.lo.u32 %r21, %r21, 31; add.u32 %r21, %r21, %r22; xor.b32 %r21, %r21, %r23; mul.lo.u32 %r21, %r21, 31; "
	"add.u32 %r21, %r21, %r24;\n"
	"\txor.b32 %r21, %r21, %r25; mul.lo.u32 %r21, %r21, 31; add.u32 %r21, %r21, %r26; xor.b32 %r21, %r21, %r27; "
	"add.u32 %r21, %r21, %r28;\n"
	"\tmul.lo.u32 %r21, %r21, 31; add.u32 %r21, %r21, %r29; xor.b32 %r21, %r21, %r30; mad.lo.u32 %r21, %r31, 77, "
	"%r21; xor.b32 %r21, %r21, %r32;\n"
	"\tmad.lo.u32 %r21, %r33, 99, %r21; xor.b32 %r21, %r21, %r34; add.u32 %r21, %r21, %r35; mad.lo.u32 %r21, %r38, "
	"101, %r21;\n"
	"\tst.global.u32 [%d7+8], %r21; setp.lt.u32 %p2, %r20, 3; @%p2 bra L1; st.global.u32 [%d7], %r20; ret;\n}\n"
	/*
	 * vectors and single elements of lanes that lie anywhere, several of them as far from each other; two lanes at
	 * one place, of which the last stays. In the second turn `who` lies `far` away, or in shared memory where that
	 * is 1
	 */
	".visible .entry vectors(.param .u64 po, .param .u32 who, .param .u64 far)\n{\n"
	"\t.reg .pred %p<5>; .reg .b32 %r<60>; .reg .b64 %d<30>; .reg .b16 %h<9>; .shared .align 16 .b8 s[9216];\n"
	"\tmov.u32 %r1, %tid.x; ld.param.u64 %d1, [po]; ld.param.u32 %r2, [who]; ld.param.u64 %d2, [far]; cvt.u32.u64 "
	"%r3, %d2;\n"
	"\tmul.lo.u32 %r4, %r1, 29; and.b32 %r4, %r4, 63; mad.wide.u32 %d3, %r4, 16, %d1; shl.b32 %r5, %r4, 4; mov.u32 "
	"%r6, s;\n"
	"\tadd.u32 %r6, %r6, %r5; and.b32 %r7, %r1, 61; mul.lo.u32 %r7, %r7, 29; and.b32 %r7, %r7, 63; mad.wide.u32 "
	"%d4, %r7, 16, %d1;\n"
	"\tmul.lo.u32 %r9, %r1, 0x9e3779b1; xor.b32 %r10, %r9, 0x85ebca6b; not.b32 %r11, %r9; mov.b64 %d10, {%r9, "
	"%r10};\n"
	"\tmov.b64 %d11, {%r11, %r1}; cvt.u16.u32 %h1, %r10; setp.eq.u32 %p1, %r1, %r2; mov.u32 %r20, 0; mov.u32 %r21, "
	"0;\n"
	"\tmov.u64 %d20, s; cvta.shared.u64 %d20, %d20; add.s64 %d20, %d20, 4096; and.b32 %r8, %r3, 14; setp.eq.u32 "
	"%p4, %r3, 1;\n"
	"L1:\n\tadd.u32 %r20, %r20, 1; setp.eq.and.u32 %p3, %r20, 2, %p1; @%p3 add.s64 %d3, %d3, %d2; @%p3 add.u32 "
	"%r6, %r6, %r8;\n"
	"\tand.pred %p3, %p3, %p4; @%p3 mov.u64 %d3, %d20; add.u32 %r9, %r9, %r20;\n"
	"\tst.shared.v4.b32 [%r6], {%r9, %r10, %r11, %r1}; st.shared.v2.b64 [%r6+1024], {%d10, %d11};\n"
	"\tst.shared.v2.b32 [%r6+2048], {%r9, %r1}; st.shared.b32 [%r6+2060], %r9; st.shared.u16 [%r6+2058], %h1; "
	"st.shared.u8 [%r6+2057], %r9;\n"
	"\tst.v4.b32 [%d3], {%r9, %r10, %r11, %r1}; st.v2.b64 [%d3+1024], {%d10, %d11}; add.s64 %d5, %d3, 2048;\n"
	"\tst.v2.b32 [%d5], {%r9, %r10}; st.b64 [%d5+8], %d10; add.s64 %d6, %d5, 1024; st.b32 [%d6], %r9; st.u16 "
	"[%d6+4], %h1;\n"
	"\tst.u8 [%d6+7], %r9; st.global.v4.b32 [%d4+4096], {%r1, %r9, %r20, %r21};\n"
	"\tld.v4.b32 {%r30, %r31, %r32, %r33}, [%d3+1024]; ld.v2.b64 {%d12, %d13}, [%d3]; ld.v2.b32 {%r34, %r35}, "
	"[%d5+8];\n"
	"\tld.u16 %r36, [%d6+2]; ld.b32 %r37, [%d6+4]; ld.shared.v4.b32 {%r40, %r41, %r42, %r43}, [%r6+1024];\n"
	"\tld.shared.v2.b64 {%d14, %d15}, [%r6]; ld.global.b32 %r38, [%d4+4096]; xor.b64 %d12, %d12, %d15; xor.b64 "
	"%d13, %d13, %d14;\n"
	"\tcvt.u32.u64 %r44, %d12; shr.u64 %d13, %d13, 32; cvt.u32.u64 %r45, %d13;\n"
	"\tmad.lo.u32 %r21, %r21, 31, %r30; xor.b32 %r21, %r21, %r31; mad.lo.u32 %r21, %r21, 31, %r32; xor.b32 %r21, "
	"%r21, %r33;\n"
	"\tmad.lo.u32 %r21, %r21, 31, %r34; xor.b32 %r21, %r21, %r35; mad.lo.u32 %r21, %r21, 31, %r36; xor.b32 %r21, "
	"%r21, %r37;\n"
	"\tmad.lo.u32 %r21, %r21, 31, %r40; xor.b32 %r21, %r21, %r41; mad.lo.u32 %r21, %r21, 31, %r42; xor.b32 %r21, "
	"%r21, %r43;\n"
	"\tmad.lo.u32 %r21, %r21, 31, %r44; xor.b32 %r21, %r21, %r45; mad.lo.u32 %r21, %r21, 31, %r38;\n"
	"\tsetp.lt.u32 %p2, %r20, 3; @%p2 bra L1; mad.wide.u32 %d7, %r1, 4, %d1; st.global.u32 [%d7+8192], %r21; "
	"ret;\n}\n"
	/*
	 * A loop in a loop, of which each lane has its own number of rounds, that writes to an array of its own. In the
	 * fourth round `who` loads `far` away, or from shared memory where that is 1: what has been written is taken
	 * back.
	 */
	".visible .entry nested(.param .u64 po, .param .u32 who, .param .u64 far)\n{\n"
	"\t.reg .pred %p<6>; .reg .b32 %r<40>; .reg .b64 %d<20>; .local .align 8 .b8 row[64]; .shared .align 8 .b8 "
	"s[4096];\n"
	"\tmov.u32 %r1, %tid.x; ld.param.u64 %d1, [po]; ld.param.u32 %r2, [who]; ld.param.u64 %d2, [far]; mov.u64 %d3, "
	"row;\n"
	"\tmov.u32 %r3, s; shl.b32 %r4, %r1, 2; add.u32 %r3, %r3, %r4; st.shared.u32 [%r3], %r1; cvt.u64.u32 %d4, "
	"%r3;\n"
	"\tcvta.shared.u64 %d4, %d4; setp.eq.u32 %p1, %r1, %r2; setp.eq.u64 %p2, %d2, 1; and.pred %p2, %p2, %p1;\n"
	"\tmov.u32 %r5, 0; mov.u64 %d5, %d3;\n"
	"L1:\n\tmad.lo.u32 %r6, %r5, 77, %r1; st.local.u32 [%d5], %r6; add.u32 %r5, %r5, 1; add.s64 %d5, %d5, 4;\n"
	"\tsetp.lt.u32 %p3, %r5, 16; @%p3 bra L1; mul.lo.u32 %r7, %r1, 7; and.b32 %r7, %r7, 15; add.u32 %r7, %r7, 1;\n"
	"\tmul.lo.u32 %r8, %r1, 5; and.b32 %r8, %r8, 7; add.u32 %r8, %r8, 1; mov.u32 %r9, 0; mov.u32 %r12, %r1;\n"
	"L2:\n\tmov.u32 %r10, 0; mad.lo.u32 %r11, %r1, 52, %r9; cvt.u64.u32 %d6, %r11; and.b64 %d6, %d6, 4092;\n"
	"\tadd.s64 %d6, %d6, %d1; add.s64 %d6, %d6, 4096; setp.eq.and.u32 %p4, %r9, 3, %p1; @%p4 add.s64 %d6, %d6, "
	"%d2;\n"
	"\tsetp.eq.and.u32 %p5, %r9, 3, %p2; @%p5 mov.u64 %d6, %d4;\n"
	"L3:\n\tmul.wide.u32 %d7, %r10, 4; add.s64 %d7, %d3, %d7; ld.local.u32 %r13, [%d7]; ld.u32 %r14, [%d6];\n"
	"\tadd.u32 %r14, %r14, %r12; min.s32 %r15, %r13, %r14; max.u32 %r12, %r15, %r13; add.u32 %r12, %r12, %r10;\n"
	"\tst.local.u32 [%d7], %r12; ld.local.u32 %r16, [%d7+4]; xor.b32 %r12, %r12, %r16; add.u32 %r10, %r10, 1;\n"
	"\tsetp.lt.u32 %p3, %r10, %r8; @%p3 bra L3; st.local.u32 [%d3+60], %r12; add.u32 %r9, %r9, 1;\n"
	"\tsetp.lt.u32 %p3, %r9, %r7; @%p3 bra L2; mov.u32 %r5, 0; mov.u64 %d5, %d3;\n"
	"L4:\n\tld.local.u32 %r6, [%d5]; mad.lo.u32 %r12, %r12, 31, %r6; add.u32 %r5, %r5, 1; add.s64 %d5, %d5, 4;\n"
	"\tsetp.lt.u32 %p3, %r5, 16; @%p3 bra L4; mad.wide.u32 %d8, %r1, 4, %d1; red.global.add.u32 [%d8], %r12; "
	"ret;\n}\n"
	/*
	 * A loop that writes to an array of its own, whose last place is beside the next lane's first one, and to other
	 * memory. In the fourth round `who` writes `far` away, or to its own array where that is 1.
	 */
	".visible .entry stacks(.param .u64 po, .param .u32 who, .param .u64 far)\n{\n"
	"\t.reg .pred %p<6>; .reg .b32 %r<40>; .reg .b64 %d<20>; .local .align 16 .b8 own[16];\n"
	"\tmov.u32 %r1, %tid.x; ld.param.u64 %d1, [po]; ld.param.u32 %r2, [who]; ld.param.u64 %d2, [far]; mov.u64 %d3, "
	"own;\n"
	"\tst.local.v4.b32 [%d3], {%r1, %r2, %r1, %r1}; cvta.local.u64 %d4, %d3; setp.eq.u32 %p1, %r1, %r2;\n"
	"\tsetp.eq.u64 %p2, %d2, 1; and.pred %p2, %p2, %p1; mul.lo.u32 %r7, %r1, 7; and.b32 %r7, %r7, 31;\n"
	"\tadd.u32 %r7, %r7, 1; mov.u32 %r9, 0; mov.u32 %r12, %r1; mad.wide.u32 %d8, %r1, 4, %d1;\n"
	"L1:\n\tmad.lo.u32 %r11, %r12, 52, %r9; cvt.u64.u32 %d6, %r11; and.b64 %d6, %d6, 4092; add.s64 %d6, %d6, %d1;\n"
	"\tld.global.u32 %r14, [%d6+4096]; add.u32 %r10, %r9, %r1; and.b32 %r10, %r10, 3; mul.wide.u32 %d7, %r10, 4;\n"
	"\tadd.s64 %d7, %d7, %d3; ld.local.u32 %r13, [%d7]; mad.lo.u32 %r12, %r13, 31, %r14; and.b32 %r15, %r12, 12;\n"
	"\tcvt.u64.u32 %d9, %r15; add.s64 %d9, %d9, %d3; st.local.u32 [%d9], %r12; mov.u64 %d10, %d8;\n"
	"\tsetp.eq.and.u32 %p4, %r9, 3, %p1; @%p4 add.s64 %d10, %d10, %d2; setp.eq.and.u32 %p5, %r9, 3, %p2;\n"
	"\t@%p5 mov.u64 %d10, %d4; st.u32 [%d10], %r12; add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, %r7; @%p3 bra L1;\n"
	"\tld.local.v4.b32 {%r3, %r4, %r5, %r6}, [%d3]; xor.b32 %r3, %r3, %r4; xor.b32 %r5, %r5, %r6;\n"
	"\tmad.lo.u32 %r3, %r3, 31, %r5; red.global.add.u32 [%d8], %r3; ret;\n}\n"
	/* lanes that have parted are together again, but no line any more, and load two rows: each half of them one */
	".visible .entry halved(.param .u64 po)\n{\n"
	"\t.reg .pred %p<3>; .reg .b32 %r<20>; .reg .b64 %d<9>; .shared .align 8 .b8 s[512];\n"
	"\tmov.u32 %r1, %tid.x; ld.param.u64 %d1, [po]; mov.u32 %r3, s; shl.b32 %r4, %r1, 2; add.u32 %r3, %r3, %r4;\n"
	"\tand.b32 %r5, %r1, 15; st.shared.u32 [%r3], %r5; ld.shared.u32 %r5, [%r3]; mad.wide.u32 %d2, %r5, 4, %d1;\n"
	"\tmov.u32 %r6, %r1; and.b32 %r7, %r5, 1; setp.eq.u32 %p1, %r7, 0; @%p1 bra L1; add.u32 %r6, %r6, 5;\n"
	"L1:\n\tld.global.u32 %r13, [%d2+4096]; mul.wide.u32 %d4, %r5, 4; sub.s64 %d4, %d2, %d4;\n"
	"\tld.global.u32 %r14, [%d4+4096]; mad.lo.u32 %r12, %r6, 31, %r13; add.u32 %r12, %r12, %r14;\n"
	"\tmad.wide.u32 %d3, %r1, 4, %d1; st.global.u32 [%d3], %r12; ret;\n}\n"
	/* arrays of a thread's own: written as vectors, read where each lane says */
	".visible .entry locals(.param .u64 po, .param .u32 who, .param .u64 far)\n{\n"
	"\t.reg .pred %p<4>; .reg .b32 %r<40>; .reg .b64 %d<20>; .local .align 16 .b8 own[64];\n"
	"\tmov.u32 %r1, %tid.x; ld.param.u64 %d1, [po]; ld.param.u32 %r2, [who]; ld.param.u64 %d2, [far]; mov.u64 %d3, "
	"own;\n"
	"\tmul.lo.u32 %r3, %r1, 0x9e3779b1; not.b32 %r4, %r3; mov.u32 %r5, 0; mov.b64 %d4, {%r3, %r1};\n"
	"\tst.local.v4.b32 [own], {%r5, %r5, %r5, %r5}; st.local.v4.b32 [own+16], {%r3, %r4, %r1, %r5}; "
	"st.local.v2.b64 [own+32], {%d4, %d4};\n"
	"\tst.local.v2.b32 [own+48], {%r4, %r1}; st.local.b64 [own+56], %d4; mul.lo.u32 %r6, %r1, 20; and.b32 %r6, "
	"%r6, 60;\n"
	"\tcvt.u64.u32 %d5, %r6; add.s64 %d5, %d5, %d3; mov.u32 %r7, 0; mov.u32 %r8, 0; setp.eq.u32 %p1, %r1, %r2; "
	"@%p1 add.s64 %d3, %d3, %d2;\n"
	"L1:\n\tld.local.b32 %r9, [%d5]; mad.lo.u32 %r8, %r8, 31, %r9; add.u32 %r9, %r9, %r7; st.local.b32 [%d5], %r9; "
	"add.u32 %r7, %r7, 1;\n"
	"\tsetp.lt.u32 %p2, %r7, 3; @%p2 bra L1; ld.local.v4.b32 {%r10, %r11, %r12, %r13}, [%d3+16]; ld.local.v2.b64 "
	"{%d6, %d7}, [%d3+32];\n"
	"\txor.b64 %d6, %d6, %d7; cvt.u32.u64 %r14, %d6; mad.lo.u32 %r8, %r8, 31, %r10; mad.lo.u32 %r8, %r8, 31, "
	"%r11;\n"
	"\tmad.lo.u32 %r8, %r8, 31, %r12; mad.lo.u32 %r8, %r8, 31, %r13; mad.lo.u32 %r8, %r8, 31, %r14;\n"
	"\tmad.wide.u32 %d8, %r1, 4, %d1; st.global.u32 [%d8], %r8; ret;\n}\n"
	/*
	 * as products of matrices read their tiles: eight lanes share a row, every eighth one a column; `far` is added
	 * to the address of `who`, and lanes above `who` take a turn less
	 */
	".visible .entry tiles(.param .u64 po, .param .u32 who, .param .u64 far)\n{\n"
	"\t.reg .pred %p<4>; .reg .b32 %r<60>; .reg .b64 %d<20>; .reg .f32 %f<20>; .shared .align 16 .b8 s[4096];\n"
	"\tmov.u32 %r1, %tid.x; ld.param.u64 %d1, [po]; ld.param.u32 %r2, [who]; ld.param.u64 %d2, [far]; cvt.u32.u64 "
	"%r3, %d2;\n"
	"\tmov.u32 %r4, s; mov.u32 %r40, 0; mov.u32 %r42, 0;\n"
	"L0:\n\tadd.u32 %r41, %r4, %r40; st.shared.v4.b32 [%r41], {%r42, %r42, %r42, %r42}; add.u32 %r40, %r40, 16;\n"
	"\tsetp.lt.u32 %p1, %r40, 4096; @%p1 bra L0; bar.sync 0;\n"
	"\tshl.b32 %r5, %r1, 4; and.b32 %r6, %r5, 4080; add.u32 %r7, %r4, %r6; mul.lo.u32 %r8, %r1, 40503;\n"
	"\tadd.u32 %r9, %r8, 77; xor.b32 %r10, %r8, 0x3f800000; mov.u32 %r11, 0x7fc01234;\n"
	"\tst.shared.v4.b32 [%r7], {%r8, %r9, %r10, %r11}; and.b32 %r12, %r1, 56; shl.b32 %r12, %r12, 1; add.u32 %r12, "
	"%r12, %r4;\n"
	"\tand.b32 %r13, %r1, 7; shl.b32 %r14, %r13, 4; add.u32 %r14, %r14, %r4; shl.b32 %r15, %r13, 2; add.u32 %r15, "
	"%r15, %r4;\n"
	"\tsetp.eq.u32 %p1, %r1, %r2; @%p1 add.u32 %r12, %r12, %r3; mov.u32 %r16, 2; setp.gt.u32 %p2, %r1, %r2; @%p2 "
	"mov.u32 %r16, 1;\n"
	"\tmov.u32 %r17, 0; mov.u32 %r18, 0; mov.u64 %d3, 0;\n"
	"L1:\n\tbar.sync 0; add.u32 %r17, %r17, 1;\n"
	"\tld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r12]; ld.shared.v4.b32 {%r24, %r25, %r26, %r27}, [%r14+128];\n"
	"\tld.shared.v2.b32 {%r28, %r29}, [%r14+8]; ld.shared.b32 %r30, [%r15+64]; ld.shared.b64 %d4, [%r14+16];\n"
	"\tmul.lo.u32 %r18, %r18, 31; add.u32 %r18, %r18, %r20; xor.b32 %r18, %r18, %r21; add.u32 %r18, %r18, %r22; "
	"xor.b32 %r18, %r18, %r23;\n"
	"\tmul.lo.u32 %r18, %r18, 31; add.u32 %r18, %r18, %r24; xor.b32 %r18, %r18, %r25; add.u32 %r18, %r18, %r26; "
	"xor.b32 %r18, %r18, %r27;\n"
	"\tmul.lo.u32 %r18, %r18, 31; add.u32 %r18, %r18, %r28; xor.b32 %r18, %r18, %r29; add.u32 %r18, %r18, %r30;\n"
	"\tmov.b64 %d5, {%r20, %r24}; fma.rn.f32x2 %d3, %d5, %d4, %d3; add.rn.f32x2 %d3, %d3, %d4; mul.rn.f32x2 %d6, "
	"%d5, %d5;\n"
	"\tsub.rn.f32x2 %d6, %d6, %d3; xor.b64 %d3, %d3, %d6; setp.lt.u32 %p3, %r17, %r16; @%p3 bra L1;\n"
	"\tcvt.u32.u64 %r31, %d3; shr.u64 %d7, %d3, 32; cvt.u32.u64 %r32, %d7; mad.wide.u32 %d8, %r1, 16, %d1;\n"
	"\tst.global.v4.b32 [%d8], {%r18, %r31, %r32, %r17}; ret;\n}\n"
	/*
	 * Each way leaves a pattern of its own in the register by which shared memory is read behind them. The lanes
	 * meet in the interpreter, where the register does not look as it does when all lanes have gone one way.
	 */
	".visible .entry forks(.param .u64 po, .param .u32 who, .param .u64 far)\n{\n"
	"\t.reg .pred %p<4>; .reg .b32 %r<20>, %b<110>; .reg .b64 %d<9>; .shared .align 16 .b8 s[1024];\n"
	"\tmov.u32 %r1, %tid.x; ld.param.u64 %d1, [po]; ld.param.u32 %r2, [who]; mov.u32 %r3, s; shl.b32 %r4, %r1, 2;\n"
	"\tand.b32 %r5, %r4, 1020; add.u32 %r5, %r5, %r3; st.shared.u32 [%r5], %r1; bar.sync 0; mov.u32 %r9, 0; "
	"mov.u32 %r10, 0;\n"
	"L1:\n\tand.b32 %r11, %r1, %r2; setp.eq.u32 %p1, %r11, 0; @%p1 bra L2; and.b32 %r6, %r1, 7; bra L3;\n"
	"L2:\n\tand.b32 %r6, %r1, 7; xor.b32 %r6, %r6, 5;\n"
	"L3:\n\tshl.b32 %r7, %r6, 2; add.u32 %r7, %r7, %r3;\n"
	"L4:\n\tld.shared.u32 %r8, [%r7]; add.u32 %r9, %r9, %r8; add.u32 %r10, %r10, 1; and.b32 %r12, %r10, 3; "
	"setp.ne.u32 %p2, %r12, 0;\n"
	"\t@%p2 bra L4; bar.sync 0; ld.shared.u32 %r8, [%r7]; mad.lo.u32 %r9, %r9, 3, %r8; setp.lt.u32 %p3, %r10, 12; "
	"@%p3 bra L1;\n"
	"\t" HUNDRED(FILL) "\n\t" HUNDRED(DRAIN) "\n"
						 "\tmad.wide.u32 %d2, %r1, 4, %d1; st.global.u32 [%d2], %r9; ret;\n}\n";

/* Sums of scaled integers, which become one step; then the same where something keeps the steps apart. */
static const char scaled[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".visible .entry scaled(.param .u64 po, .param .u32 mask, .param .u32 mix)\n{\n"
	"\t.reg .b32 %r<20>; .reg .f32 %f<40>; .reg .b64 %d<9>;\n"
	"\tmov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r1, %r2, 64, %r1;\n"
	"\tld.param.u64 %d1, [po]; ld.param.u32 %r3, [mask]; ld.param.u32 %r4, [mix]; mad.wide.u32 %d1, %r1, 32, %d1;\n"
	"\tmad.lo.u32 %r5, %r1, 2654435761, %r4; mad.lo.u32 %r6, %r5, 1664525, 1013904223; mad.lo.u32 %r7, %r6, "
	"22695477, 1;\n"
	"\tmad.lo.u32 %r8, %r7, 1664525, %r5; and.b32 %r9, %r6, %r3; and.b32 %r10, %r7, %r3; and.b32 %r11, %r8, %r3;\n"
	"\tshr.s32 %r12, %r5, %r4; mov.b32 %f1, %r9; mov.b32 %f2, %r10; mov.b32 %f3, %r11;\n"
	"\tcvt.rn.f32.s32 %f4, %r12; mul.ftz.f32 %f5, %f1, %f4; fma.rn.ftz.f32 %f6, %f5, %f2, %f3; st.global.f32 "
	"[%d1], %f6;\n"
	"\tcvt.rn.f32.s32 %f7, %r12; mul.ftz.f32 %f8, %f1, %f7; fma.rn.ftz.f32 %f9, %f8, %f2, %f3; add.f32 %f10, %f7, "
	"%f8;\n"
	"\tst.global.f32 [%d1+4], %f9;\n"
	"\tcvt.rn.f32.s32 %f11, %r12; mul.f32 %f12, %f11, %f1; fma.rn.f32 %f13, %f2, %f12, %f3; st.global.f32 [%d1+8], "
	"%f13;\n"
	"\tcvt.rn.f32.s32 %f14, %r12; mul.f32 %f15, %f14, %f1; fma.rn.f32 %f16, %f2, %f15, %f3; add.f32 %f10, %f10, "
	"%f15;\n"
	"\tst.global.f32 [%d1+12], %f16;\n"
	/* a source is written in between; a NaN that no operation has put in order is an integer too */
	"\tmov.u32 %r13, %r12; cvt.rn.f32.s32 %f17, %r13; mul.f32 %f18, %f17, %f1; add.s32 %r13, %r13, 77;\n"
	"\tfma.rn.f32 %f19, %f18, %f2, %f3; cvt.rn.f32.s32 %f20, %r13; add.f32 %f10, %f10, %f20; st.global.f32 "
	"[%d1+16], %f19;\n"
	"\tadd.f32 %f21, %f1, %f2; mov.b32 %r14, %f21; cvt.rn.f32.s32 %f22, %r14; mul.ftz.f32 %f23, %f22, %f2;\n"
	"\tfma.rn.ftz.f32 %f24, %f23, %f3, %f3; st.global.f32 [%d1+20], %f24;\n"
	"\tcvt.rn.f32.s32 %f25, %r14; mul.ftz.f32 %f26, %f25, %f2; fma.rn.ftz.f32 %f27, %f26, %f3, %f3; st.global.f32 "
	"[%d1+24], %f27;\n"
	"\tadd.f32 %f10, %f10, %f26; st.global.f32 [%d1+28], %f10; ret;\n}\n"
	/* products of bytes of which some are known to be small, on either side, of all lanes and of one number */
	".visible .entry dots(.param .u64 po, .param .u32 mask, .param .u32 mix)\n{\n"
	"\t.reg .pred %p; .reg .b32 %r<40>; .reg .b64 %d<9>;\n"
	"\tmov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r1, %r2, 64, %r1;\n"
	"\tld.param.u64 %d1, [po]; ld.param.u32 %r3, [mask]; ld.param.u32 %r4, [mix]; mad.wide.u32 %d1, %r1, 64, %d1;\n"
	"\tmad.lo.u32 %r5, %r1, 2654435761, %r4; mad.lo.u32 %r6, %r5, 1664525, 1013904223; shr.u32 %r7, %r5, 4;\n"
	"\tand.b32 %r8, %r5, 0x0f0f0f0f; and.b32 %r9, %r7, 0x7f7f7f7f; and.b32 %r10, %r6, 0x8f7f7f7f; or.b32 %r11, "
	"%r8, %r9;\n"
	"\tmov.u32 %r12, %r9; setp.lt.s32 %p, %r6, 0; @%p mov.u32 %r12, %r6; and.b32 %r13, %r3, 0x7f0f7f0f;\n"
	"\tdp4a.s32.s32 %r20, %r8, %r6, %r1; dp4a.s32.s32 %r21, %r6, %r9, %r20; dp4a.u32.u32 %r22, %r11, %r6, %r1;\n"
	"\tdp4a.u32.u32 %r23, %r6, %r8, %r22; dp4a.s32.u32 %r24, %r8, %r6, %r1; dp4a.u32.s32 %r25, %r6, %r9, %r24;\n"
	"\tdp4a.s32.s32 %r26, %r8, %r9, %r1; dp4a.u32.u32 %r27, %r9, %r8, %r26; dp4a.s32.s32 %r28, %r10, %r6, %r1;\n"
	"\tdp4a.s32.s32 %r29, %r12, %r6, %r1; dp4a.s32.s32 %r30, %r13, %r3, %r4; dp4a.u32.u32 %r31, %r3, %r13, %r1;\n"
	"\tst.global.v4.u32 [%d1], {%r20, %r21, %r22, %r23}; st.global.v4.u32 [%d1+16], {%r24, %r25, %r26, %r27};\n"
	"\tst.global.v4.u32 [%d1+32], {%r28, %r29, %r30, %r31}; ret;\n}\n";

/* What the compiler knows of floats, of registers at a barrier, and of lanes whose places lie at known distances. */
static const char facts[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	/* multiples of a power of two: of halves, integers, numbers; their products become subnormal sooner or later */
	".visible .entry grains(.param .u64 po, .param .u32 from, .param .u32 turns)\n{\n"
	"\t.reg .pred %p<4>; .reg .b32 %r<20>; .reg .b16 %h<4>; .reg .f32 %f<40>; .reg .b64 %d<4>;\n"
	"\tmov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r1, %r2, 64, %r1; ld.param.u64 %d1, [po];\n"
	"\tld.param.u32 %r3, [from]; ld.param.u32 %r4, [turns]; mad.wide.u32 %d1, %r1, 64, %d1; mad.lo.u32 %r5, %r1, "
	"0x9e3779b1, %r3;\n"
	"\tshr.u32 %r6, %r5, 22; and.b32 %r7, %r5, 0x83ff; mov.b32 {%h1, %h2}, %r6; mov.b32 {%h3, %h2}, %r7;\n"
	"\tcvt.f32.f16 %f1, %h1; cvt.f32.f16 %f2, %h3; shr.s32 %r8, %r5, 27; cvt.rn.f32.s32 %f3, %r8; mov.b32 %f4, "
	"%r5;\n"
	"\tmul.ftz.f32 %f5, %f1, %f3; mul.ftz.f32 %f6, %f2, 0f40800000; sub.ftz.f32 %f7, %f5, %f6; mul.ftz.f32 %f8, "
	"%f1, %f2;\n"
	"\tmul.ftz.f32 %f9, %f8, %f8; mul.ftz.f32 %f10, %f9, %f8; mul.ftz.f32 %f11, %f10, %f2; fma.rn.ftz.f32 %f12, "
	"%f9, %f2, %f7;\n"
	"\tfma.rn.ftz.f32 %f13, %f9, %f9, %f8; mul.ftz.f32 %f14, %f4, %f3; mul.ftz.f32 %f15, %f3, 0f00800000; "
	"mul.ftz.f32 %f16, %f1, 0f00800000;\n"
	"\tmin.ftz.f32 %f17, %f8, %f4; neg.ftz.f32 %f18, %f10; setp.lt.ftz.f32 %p1, %f1, %f2; selp.f32 %f19, %f8, %f1, "
	"%p1;\n"
	"\tmul.ftz.f32 %f19, %f19, %f9; mov.f32 %f20, %f1; @%p1 mul.ftz.f32 %f20, %f20, %f4; mul.ftz.f32 %f20, %f20, "
	"%f2;\n"
	"\tmul.f32 %f21, %f9, %f9; add.f32 %f22, %f21, %f10; mul.ftz.f32 %f23, %f22, 0f3F800000; mov.b32 %r10, %f8;\n"
	"\tshfl.sync.bfly.b32 %r11, %r10, 5, 31, -1; mov.b32 %f24, %r11; mul.ftz.f32 %f24, %f24, %f9; cvt.rni.f32.f32 "
	"%f25, %f1;\n"
	"\tmul.ftz.f32 %f25, %f25, %f10; mov.f32 %f30, 0f00000000; mov.f32 %f31, 0f3F800000; mov.f32 %f32, 0f3F800000; "
	"mov.u32 %r9, 0;\n"
	"L1:\n\tfma.rn.ftz.f32 %f30, %f1, %f7, %f30; mul.ftz.f32 %f31, %f31, 0f3F000000; mul.ftz.f32 %f32, %f32, %f1; "
	"add.ftz.f32 %f33, %f31, %f32;\n"
	"\tmul.ftz.f32 %f34, %f33, %f31; add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, %r4; @%p2 bra L1;\n"
	"\tadd.f32 %f5, %f5, %f6; st.global.v4.f32 [%d1], {%f5, %f7, %f11, %f12}; st.global.v4.f32 [%d1+16], {%f13, "
	"%f14, %f15, %f16};\n"
	"\tadd.f32 %f19, %f19, %f20; xor.b32 %r12, %r10, %r11; st.global.v4.f32 [%d1+32], {%f17, %f18, %f19, %f23};\n"
	"\tadd.ftz.f32 %f24, %f24, %f25; add.ftz.f32 %f30, %f30, %f34; st.global.v4.f32 [%d1+48], {%f24, %f30, %f33, "
	"%f31}; ret;\n}\n"
	/* products of fragments of bytes with a sign and without, of lanes and of one number, and bytes chosen by
	   number */
	".visible .entry products(.param .u64 po, .param .u32 from, .param .u32 turns)\n{\n"
	"\t.reg .pred %p; .reg .b32 %r<60>; .reg .b64 %d<4>;\n"
	"\tmov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r1, %r2, 64, %r1; ld.param.u64 %d1, [po];\n"
	"\tld.param.u32 %r3, [from]; ld.param.u32 %r4, [turns]; mad.wide.u32 %d1, %r1, 64, %d1;\n"
	"\tmad.lo.u32 %r5, %r1, 0x9e3779b1, %r3; mov.u32 %r9, 0; mov.u32 %r40, 0; mov.u32 %r41, %r1;\n"
	"\tmov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r22, 0x7fffffff; mov.u32 %r23, %r3; mov.u32 %r24, 1; mov.u32 "
	"%r25, %r1;\n"
	"\tmov.u32 %r26, 0; mov.u32 %r27, 0; mov.u32 %r28, 5; mov.u32 %r29, 6; mov.u32 %r30, 0; mov.u32 %r31, 0;\n"
	"L1:\n\tmad.lo.u32 %r5, %r5, 1664525, 1013904223; shr.u32 %r10, %r5, 7; xor.b32 %r10, %r10, %r5;\n"
	"\tmul.lo.u32 %r11, %r10, 0x85ebca6b; mul.lo.u32 %r12, %r11, 0xc2b2ae35; mad.lo.u32 %r13, %r12, 3, %r1;\n"
	"\tprmt.b32 %r14, %r10, %r11, 0xba98; prmt.b32 %r15, %r12, %r13, 0x5410; prmt.b32 %r16, %r13, %r10, 0x3c7f;\n"
	"\tprmt.b32 %r17, %r3, %r4, 0x9065; prmt.b32 %r18, %r10, %r12, %r5;\n"
	"\tmma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r20, %r21}, {%r10}, {%r11}, {%r20, %r21};\n"
	"\tmma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32 {%r22, %r23}, {%r12}, {%r11}, {%r22, %r23};\n"
	"\tmma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r24, %r25}, {%r3}, {%r13}, {%r25, %r24};\n"
	"\tmma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32 {%r26, %r27}, {%r10}, {%r11}, {%r26, %r27};\n"
	"\tmma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32 {%r28, %r29}, {%r10}, {%r12}, {%r22, %r23};\n"
	"\tmma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%r32, %r33, %r34, %r35}, {%r10, %r14}, {%r13}, {%r40, "
	"%r40, "
	"%r20, %r41};\n"
	"\tmma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%r36, %r37, %r38, %r39}, {%r10, %r11, %r14, %r15}, {%r12, "
	"%r4}, {%r32, %r33, %r34, %r35};\n"
	"\tmma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r42, %r43, %r44, %r45}, {%r16, %r11, %r13, %r17}, {%r18, "
	"%r15}, {%r36, %r37, %r39, %r38};\n"
	"\txor.b32 %r30, %r30, %r42; add.u32 %r31, %r31, %r43; xor.b32 %r5, %r5, %r44; add.u32 %r41, %r41, %r45;\n"
	"\tadd.u32 %r9, %r9, 1; setp.lt.u32 %p, %r9, %r4; @%p bra L1;\n"
	"\tst.global.v4.u32 [%d1], {%r20, %r21, %r22, %r23}; st.global.v4.u32 [%d1+16], {%r24, %r25, %r26, %r27};\n"
	"\tst.global.v4.u32 [%d1+32], {%r28, %r29, %r30, %r31}; st.global.v4.u32 [%d1+48], {%r41, %r5, %r17, %r18}; "
	"ret;\n}\n"
	/*
	 * Each lane packs a row of bytes into values and how often they follow each other; then a column; so often
	 * that it is tried lane by lane again after that has failed. It is a loop in a loop, which writes in the outer
	 * one, and whose addresses grow by 1 and by 64 in the inner one.
	 */
	".visible .entry runs(.param .u64 po, .param .u64 where, .param .u32 mask)\n"
	"{\n"
	"\t.reg .pred %p<9>; .reg .b32 %r<60>; .reg .b64 %d<20>;\n"
	"\tmov.u32 %r1, %tid.x; ld.param.u64 %d1, [po]; ld.param.u64 %d2, [where]; ld.param.u32 %r2, [mask]; "
	"add.s64 %d3, %d1, %d2; shl.b32 %r13, %r1, 6;\n"
	"\tcvt.u64.u32 %d4, %r13; add.s64 %d5, %d3, %d4; mul.lo.u32 %r3, %r1, 0x9e3779b1; mov.u32 %r40, 0; shr.u32 "
	"%r42, %r2, 31;\n"
	"L0:\n\tmov.u32 %r4, 0; setp.gt.u32 %p5, %r40, 300; setp.ne.and.u32 %p5, %r42, 0, %p5; selp.u32 %r41, 1048576, "
	"64, %p5;\n\t cvt.u64.u32 %d4, %r13; add.s64 %d5, %d3, %d4; bar.sync 0;\nL1:\n"
	"\tmul.lo.u32 %r3, %r3, 0x85ebca6b; shr.u32 %r5, %r3, 13; xor.b32 %r3, %r3, %r5; "
	"and.b32 %r6, %r3, %r2; cvt.u64.u32 %d6, %r4; add.s64 %d7, %d5, %d6;\n"
	"\tst.global.u32 [%d7], %r6; add.u32 %r4, %r4, 4; setp.lt.u32 %p1, %r4, 64; @%p1 bra L1;\n"
	"\tbar.sync 0;\n"
	"\tmov.u32 %r20, 0; mov.u32 %r21, 0;\n"
	"L21:\n"
	"\tcvt.s64.s32 %d10, %r20; add.s64 %d6, %d5, %d10; ld.global.u8 %r22, [%d6]; mov.u32 %r23, 1; "
	"add.u32 %r24, %r20, 1; setp.ge.u32 %p1, %r24, %r41; @%p1 bra L23;\n"
	"L22:\n"
	"\tcvt.s64.s32 %d10, %r23; add.s64 %d7, %d6, %d10; ld.global.u8 %r25, [%d7]; "
	"setp.ne.u32 %p2, %r25, %r22; @%p2 bra L23;\n"
	"\tadd.u32 %r23, %r23, 1; add.u32 %r24, %r23, %r20; setp.lt.u32 %p3, %r24, %r41; @%p3 bra L22;\n"
	"L23:\n"
	"\tadd.u32 %r26, %r21, %r13; cvt.u64.u32 %d8, %r26; add.s64 %d9, %d1, %d8; "
	"st.global.u8 [%d9+4096], %r22; st.global.u8 [%d9+8192], %r23;\n"
	"\tadd.u32 %r21, %r21, 1; add.u32 %r20, %r20, %r23; setp.lt.u32 %p4, %r20, %r41; @%p4 bra L21;\n"
	"\tbar.sync 0; cvt.u64.u32 %d4, %r1; add.s64 %d5, %d3, %d4;\n"
	"\tmov.u32 %r20, 0; mov.u32 %r21, 0;\n"
	"L31:\n"
	"\tmul.wide.s32 %d10, %r20, 64; add.s64 %d6, %d5, %d10; ld.global.u8 %r22, [%d6]; mov.u32 %r23, 1; "
	"add.u32 %r24, %r20, 1; setp.ge.u32 %p1, %r24, %r41; @%p1 bra L33;\n"
	"L32:\n"
	"\tmul.wide.s32 %d10, %r23, 64; add.s64 %d7, %d6, %d10; ld.global.u8 %r25, [%d7]; "
	"setp.ne.u32 %p2, %r25, %r22; @%p2 bra L33;\n"
	"\tadd.u32 %r23, %r23, 1; add.u32 %r24, %r23, %r20; setp.lt.u32 %p3, %r24, %r41; @%p3 bra L32;\n"
	"L33:\n"
	"\tadd.u32 %r26, %r21, %r13; cvt.u64.u32 %d8, %r26; add.s64 %d9, %d1, %d8; "
	"st.global.u8 [%d9+8192], %r22; st.global.u8 [%d9+12288], %r23;\n"
	"\tadd.u32 %r21, %r21, 1; add.u32 %r20, %r20, %r23; setp.lt.u32 %p4, %r20, %r41; @%p4 bra L31;\n"
	"\tadd.u32 %r40, %r40, 1; setp.lt.u32 %p1, %r40, 320; @%p1 bra L0; ret;\n"
	"}\n"
	/*
	 * Barriers of all kinds in a loop, with registers of all shapes before and behind them: the same in all lanes,
	 * a row, halves where the block is 16 wide, a pattern, and one that is a row on the one way and none on the
	 * other; a few instructions of the interpreter read them behind a barrier. Where `who` says so lanes part, or
	 * end, before one.
	 */
	".visible .entry meets(.param .u64 po, .param .u32 who, .param .u32 turns)\n{\n"
	"\t.reg .pred %p<9>; .reg .b32 %r<60>; .reg .b64 %d<20>; .shared .align 16 .b8 s[4096];\n"
	"\tmov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ntid.x; mov.u32 %r4, %ntid.y; mul.lo.u32 %r5, %r3, "
	"%r4;\n"
	"\tmad.lo.u32 %r6, %r2, %r3, %r1; ld.param.u64 %d1, [po]; ld.param.u32 %r7, [who]; ld.param.u32 %r8, [turns];\n"
	"\tadd.u32 %r9, %r5, 31; and.b32 %r9, %r9, 0xffffffe0; mov.u32 %r10, %ctaid.x; mad.lo.u32 %r11, %r10, %r5, "
	"%r6;\n"
	"\tmad.wide.u32 %d2, %r11, 4, %d1; mov.u32 %r12, s; shl.b32 %r13, %r6, 2; add.u32 %r14, %r12, %r13; shr.u32 "
	"%r15, %r1, 1;\n"
	"\tmul.lo.u32 %r15, %r15, 12; cvt.u64.u32 %d3, %r15; mul.lo.u32 %r16, %r6, 0x9e3779b1; mov.u32 %r17, %r1; "
	"mov.u32 %r20, 0; mov.u32 %r21, 7;\n"
	"\tsetp.eq.u32 %p1, %r7, 1; and.b32 %r50, %r16, 0x4000; setp.ne.u32 %p7, %r50, 0; and.pred %p7, %p7, %p1;\n"
	"L1:\n\tst.shared.u32 [%r14], %r16; bar.sync 0; xor.b32 %r22, %r13, 4; setp.lt.u32 %p2, %r22, %r5; add.u32 "
	"%r23, %r12, %r22;\n"
	"\tmov.u32 %r24, 0; @%p2 ld.shared.u32 %r24, [%r23]; mad.lo.u32 %r16, %r16, 31, %r24; @%p7 bra L2; mad.lo.u32 "
	"%r16, %r20, 5, %r16;\n"
	"\tmad.lo.u32 %r17, %r21, 3, %r1;\n"
	"L2:\n\tsetp.ne.u32 %p3, %r24, 0; bar.red.popc.u32 %r25, 0, %p3; add.u32 %r16, %r16, %r25; brev.b32 %r26, "
	"%r17; xor.b32 %r16, %r16, %r26;\n"
	"\tadd.u32 %r16, %r16, %r15; brev.b32 %r27, %r21; add.u32 %r16, %r16, %r27; add.s64 %d3, %d3, 8; and.b32 %r28, "
	"%r20, 7;\n"
	"\tbar.sync %r28, %r9; cvt.u32.u64 %r29, %d3; mad.lo.u32 %r16, %r29, 3, %r16; add.u32 %r21, %r21, 5; add.u32 "
	"%r17, %r17, 1;\n"
	"\tsetp.eq.u32 %p4, %r7, 2; @!%p4 bar.sync 3; bar.sync 1; bar.sync 2; brev.b32 %r30, %r20; add.u32 %r16, %r16, "
	"%r30;\n"
	"\tsetp.eq.u32 %p5, %r7, 3; setp.gt.and.u32 %p5, %r20, 1, %p5; @%p5 bra L4; add.u32 %r20, %r20, 1; setp.lt.u32 "
	"%p6, %r20, %r8; @%p6 bra L1;\n"
	"L3:\n\tadd.u32 %r16, %r16, %r17; st.global.u32 [%d2], %r16; ret;\n"
	"L4:\n\tsetp.lt.u32 %p5, %r6, 40; @%p5 bra L3; bar.sync 0; add.u32 %r16, %r16, %r13; bar.sync 0; bra L3;\n}\n"
	/*
	 * Lanes that jump backwards to a barrier come to it before the others of their warp, which run a loop first.
	 * Where `who` says so that loop is long, lanes end instead, or come to another barrier of this number.
	 */
	".visible .entry early(.param .u64 po, .param .u32 who, .param .u32 turns)\n{\n"
	"\t.reg .pred %p<9>; .reg .b32 %r<60>; .reg .b64 %d<20>; .shared .align 16 .b8 s[4096];\n"
	"\tmov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ntid.x; mov.u32 %r4, %ntid.y; mul.lo.u32 %r5, %r3, "
	"%r4;\n"
	"\tmad.lo.u32 %r6, %r2, %r3, %r1; ld.param.u64 %d1, [po]; ld.param.u32 %r7, [who]; ld.param.u32 %r8, [turns];\n"
	"\tmov.u32 %r10, %ctaid.x; mad.lo.u32 %r11, %r10, %r5, %r6; mad.wide.u32 %d2, %r11, 4, %d1; mov.u32 %r12, s; "
	"shl.b32 %r13, %r6, 2;\n"
	"\tadd.u32 %r14, %r12, %r13; mul.lo.u32 %r16, %r11, 0x9e3779b1; mov.u32 %r20, 0; setp.eq.u32 %p1, %r7, 1; "
	"selp.u32 %r9, 1023, 7, %p1;\n"
	"\tsetp.eq.u32 %p2, %r7, 2; setp.eq.u32 %p3, %r7, 3; mov.u32 %r40, %r6; bra L1;\n"
	"L0:\n\tbar.sync 2; add.u32 %r16, %r16, 1; bra L3;\n"
	"L2:\n\tbar.sync 2; add.u32 %r40, %r40, 3;\n"
	"L3:\n\txor.b32 %r16, %r16, %r40; add.u32 %r20, %r20, 1; setp.ge.u32 %p4, %r20, %r8; @%p4 bra L9;\n"
	"L1:\n\tst.shared.u32 [%r14], %r16; bar.sync 0; xor.b32 %r22, %r13, 4; shr.u32 %r23, %r22, 2; setp.lt.u32 %p5, "
	"%r23, %r5;\n"
	"\tadd.u32 %r23, %r12, %r22; mov.u32 %r24, 0; @%p5 ld.shared.u32 %r24, [%r23]; mad.lo.u32 %r16, %r16, 31, "
	"%r24; "
	"bar.sync 0;\n"
	"\tmul.lo.u32 %r25, %r16, 0x85ebca6b; shr.u32 %r26, %r25, 8; and.b32 %r27, %r25, 0x40000000; setp.ne.u32 %p6, "
	"%r27, 0; @%p6 bra L2;\n"
	"\tand.b32 %r28, %r26, %r9; mov.u32 %r41, %r40;\n"
	"L6:\n\tmad.lo.u32 %r16, %r16, 5, %r28; xor.b32 %r41, %r41, %r28; setp.gt.u32 %p7, %r28, 0; sub.u32 %r28, "
	"%r28, "
	"1; @%p7 bra L6;\n"
	"\tadd.u32 %r40, %r40, %r41; and.b32 %r29, %r25, 0x1800000; setp.eq.and.u32 %p7, %r29, 0, %p2; @%p7 bra L9; "
	"setp.eq.and.u32 %p7, %r29, 0, %p3;\n"
	"\t@%p7 bra L0; bra L2;\n"
	"L9:\n\tadd.u32 %r16, %r16, %r40; st.global.u32 [%d2], %r16; ret;\n}\n"
	/* pieces of blocks of 18, 20 and 36 bytes, two lanes at each, as they lie: of 2, 4 and 8 bytes together */
	".visible .entry strips(.param .u64 po, .param .u32 add, .param .u32 turns)\n{\n"
	"\t.reg .pred %p; .reg .b32 %r<60>; .reg .b64 %d<20>; .reg .b16 %h<20>;\n"
	"\tmov.u32 %r1, %tid.x; ld.param.u64 %d1, [po]; ld.param.u32 %r2, [add]; ld.param.u32 %r3, [turns]; "
	"mad.wide.u32 %d2, %r1, 16, %d1;\n"
	"\tmul.lo.u32 %r4, %r1, 0x9e3779b1; xor.b32 %r5, %r4, 0x85ebca6b; not.b32 %r6, %r4; mad.lo.u32 %r7, %r4, %r5, "
	"%r6;\n"
	"\tst.global.v4.u32 [%d2+4096], {%r4, %r5, %r6, %r7}; st.global.v4.u32 [%d2+5120], {%r7, %r4, %r5, %r6};\n"
	"\tst.global.v4.u32 [%d2+6144], {%r6, %r7, %r4, %r5}; st.global.v4.u32 [%d2+7168], {%r5, %r6, %r7, %r4}; "
	"bar.sync 0;\n"
	"\tshr.u32 %r10, %r1, 1; and.b32 %r11, %r1, 1; mul.lo.u32 %r12, %r10, 18; mad.lo.u32 %r12, %r11, 8, %r12; "
	"mul.lo.u32 %r13, %r10, 20;\n"
	"\tmad.lo.u32 %r13, %r11, 8, %r13; mul.lo.u32 %r14, %r10, 36; mad.lo.u32 %r14, %r11, 16, %r14; mul.lo.u32 "
	"%r15, %r10, 18;\n"
	"\tcvt.u64.u32 %d3, %r12; cvt.u64.u32 %d4, %r13; cvt.u64.u32 %d5, %r14; cvt.u64.u32 %d6, %r15; cvt.u64.u32 "
	"%d7, %r2; add.s64 %d8, %d1, %d7;\n"
	"\tadd.s64 %d3, %d3, %d8; add.s64 %d4, %d4, %d8; add.s64 %d5, %d5, %d8; add.s64 %d6, %d6, %d8; mul.lo.u32 "
	"%r16, %r10, 24; mad.lo.u32 %r16, %r11, 8, %r16;\n"
	"\tcvt.u64.u32 %d11, %r16; add.s64 %d11, %d11, %d8; mov.u32 %r20, 0; mov.u32 %r21, 0;\n"
	"L1:\n\tld.global.u16 %h1, [%d3+4098]; ld.global.u16 %h2, [%d3+4100]; ld.global.u16 %h3, [%d3+4102]; "
	"ld.global.u16 %h4, [%d3+4104];\n"
	"\tmov.b32 %r22, {%h1, %h2}; mov.b32 %r23, {%h3, %h4}; ld.global.u16 %r24, [%d6+4096];\n"
	"\tld.global.u32 %r25, [%d4+4096]; ld.global.u16 %r26, [%d4+4102]; ld.global.s8 %r27, [%d4+4101]; "
	"ld.global.s16 %r28, [%d4+4100];\n"
	"\tld.global.u32 %r29, [%d5+4096]; ld.global.u32 %r30, [%d5+4100]; ld.global.u16 %r31, [%d5+4108]; "
	"ld.global.u32 %r32, [%d5+4112];\n"
	"\tld.global.u64 %d9, [%d11+4616]; cvt.u32.u64 %r33, %d9; shr.u64 %d9, %d9, 32; cvt.u32.u64 %r34, %d9;\n"
	"\tmad.lo.u32 %r21, %r21, 31, %r22; mad.lo.u32 %r21, %r21, 31, %r23; mad.lo.u32 %r21, %r21, 31, %r24; "
	"mad.lo.u32 %r21, %r21, 31, %r25;\n"
	"\tmad.lo.u32 %r21, %r21, 31, %r26; mad.lo.u32 %r21, %r21, 31, %r27; mad.lo.u32 %r21, %r21, 31, %r28; "
	"mad.lo.u32 %r21, %r21, 31, %r29;\n"
	"\tmad.lo.u32 %r21, %r21, 31, %r30; mad.lo.u32 %r21, %r21, 31, %r31; mad.lo.u32 %r21, %r21, 31, %r32; "
	"mad.lo.u32 %r21, %r21, 31, %r33;\n"
	"\tmad.lo.u32 %r21, %r21, 31, %r34; add.s64 %d3, %d3, 36; add.s64 %d4, %d4, 40; add.s64 %d5, %d5, 4; add.s64 "
	"%d6, %d6, 36;\n"
	"\tadd.u32 %r20, %r20, 1; setp.lt.u32 %p, %r20, %r3; @%p bra L1; mad.wide.u32 %d10, %r1, 4, %d1; st.global.u32 "
	"[%d10], %r21; ret;\n}\n";

struct outcome {
	struct ptx_fault fault;
	struct ptx_stats stats;
	int r;
	bool compiled;
	uint32_t out[WORDS];
};

static struct outcome outcomes[2];

/*
 * The text, loaded once in a process for each way: a kernel is compiled when it first runs, which takes longer than all
 * its runs. No kernel uses the variable of the module, whose memory does not outlive device_reset().
 */
static struct ptx_module *loaded(enum ptx_compile how, const char *kernel)
{
	static const char *const others[2] = { scaled, facts };
	static struct ptx_module *modules[3][2];
	char entry[40];
	uint32_t n = 0;
	struct ptx_module **m;
	const struct ptx_options options = { .compile = how };
	const char *t = text;

	snprintf(entry, sizeof(entry), ".entry %s(", kernel);
	for (uint32_t k = 0; k < 2; k++)
		if (strstr(others[k], entry)) {
			t = others[k];
			n = k + 1;
		}
	m = &modules[n][how == PTX_COMPILE_ALWAYS];

	if (!*m)
		*m = load_text(t, strlen(t), &options);
	return *m;
}

/* The kernel by itself in a fresh memory: the same addresses each time. */
static void run(enum ptx_compile how, const char *name, struct dims grid, struct dims block, const uint64_t *more,
		struct outcome *ret)
{
	/* what never ends is ended soon; for what does, a limit that a busy machine keeps */
	struct ptx_launch l = { .timeout_ns = strcmp(name, "forever") ? 60000000000u : 300000000 };
	struct ptx_module *m = loaded(how, name);
	uint32_t *in, *out;
	uint64_t arg[4];

	device_reset();
	in = device_alloc(WORDS * 4);
	out = device_alloc(WORDS * 4);
	for (uint32_t i = 0; i < 1024; i++) {
		const float f = (float)(i * 37 % 101) / 7 - 5;

		memcpy(&in[i], &f, 4);
	}
	in[77] = 0xffc01234u; /* a NaN whose bits are not the device's */
	arg[0] = !strcmp(name, "mix") ? PTR(in) : PTR(out);
	arg[1] = !strcmp(name, "mix") ? PTR(out) : more[0];
	arg[2] = !strcmp(name, "mix") ? more[0] : more[1];
	arg[3] = more[1];
	ret->r = launch_with(&l, m, name, grid, block, arg);
	ret->fault = l.fault;
	ret->fault.function = NULL;
	ret->stats = l.stats;
	ret->compiled = ptx_kernel_is_compiled(ptx_module_kernel_find(m, name));
	memcpy(ret->out, out, sizeof(ret->out));
}

static bool compare(const char *name, struct dims grid, struct dims block, uint64_t first, uint64_t second)
{
	const uint64_t more[2] = { first, second };

	run(PTX_COMPILE_NEVER, name, grid, block, more, &outcomes[0]);
	run(PTX_COMPILE_ALWAYS, name, grid, block, more, &outcomes[1]);
	return !outcomes[0].compiled && outcomes[1].compiled && outcomes[0].r == outcomes[1].r;
}

static bool same_results(void)
{
	return !memcmp(outcomes[0].out, outcomes[1].out, sizeof(outcomes[0].out)) &&
	       !memcmp(&outcomes[0].stats, &outcomes[1].stats, sizeof(outcomes[0].stats));
}

static bool same_fault(void)
{
	return outcomes[0].r == 1 && !memcmp(&outcomes[0].fault, &outcomes[1].fault, sizeof(outcomes[0].fault));
}

static void test_results(void)
{
	static const struct dims shapes[] = { { 32, 1, 1 }, { 64, 1, 1 },  { 1, 1, 1 },	 { 33, 1, 1 }, { 16, 16, 1 },
					      { 16, 3, 1 }, { 16, 1, 1 },  { 20, 1, 1 }, { 20, 3, 1 }, { 8, 8, 1 },
					      { 32, 7, 1 }, { 100, 1, 1 }, { 256, 1, 1 } };
	/* f32 of which those of f16 are the least, subnormal, normal, the largest and none, in their upper halves */
	static const uint32_t starts[] = { 0,	   0xffffffff, 0x32c0, 0x3380, 0x3480, 0x3800, 0x3880,
					   0x3f80, 0x4700,     0x7f00, 0xb300, 0xb800, 0xc700, 0xff00 };

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const struct dims block = shapes[i];

		tap_ok(compare("mix", (struct dims){ 5, 1, 1 }, block, 40, 3) && same_results(),
		       "mix in blocks of %u x %u: results and counters", block.x, block.y);
	}
	ok(compare("mix", (struct dims){ 3, 1, 1 }, (struct dims){ 64, 1, 1 }, 0, 1) && same_results());
	ok(compare("mix", (struct dims){ 1, 1, 1 }, (struct dims){ 64, 1, 1 }, 5000, 0) && same_results());
	ok(compare("wraps", (struct dims){ 1, 1, 1 }, (struct dims){ 64, 1, 1 }, 0xfffffff0u, 0) && same_results());
	ok(compare("wraps", (struct dims){ 1, 1, 1 }, (struct dims){ 64, 1, 1 }, 0x7ffffff0u, 0) && same_results());
	ok(compare("wraps", (struct dims){ 1, 1, 1 }, (struct dims){ 64, 1, 1 }, 5, 0) && same_results());
	ok(compare("settled", (struct dims){ 1, 1, 1 }, (struct dims){ 64, 1, 1 }, 0xffc01234u, 0) && same_results());
	for (uint32_t from = 0; from < 0x10000;
	     from += 0x400) /* with zeroes, subnormals, infinities, what is no number */
		if (from < 0x400 || (from & 0x7c00) == 0x7c00 || from == 0x8000 || from == 0x3c00)
			tap_ok(compare("quants", (struct dims){ 4, 1, 1 }, (struct dims){ 64, 1, 1 }, from, 0) &&
				       same_results(),
			       "quants from 0x%x: results and counters", from);
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		tap_ok(compare("quotients", (struct dims){ 4, 1, 1 }, (struct dims){ 64, 1, 1 }, starts[i], 0) &&
			       same_results(),
		       "quotients from 0x%x: results and counters", starts[i]);
}

/* One step or three: the same bits, in both ways of executing them. */
static void test_scaled(void)
{
	static const uint32_t masks[] = { 0xffffffff, 0x80ffffff, 0x9fffffff, 0x807fffff, 0xbfffffff, 0 };

	for (uint32_t k = 0; k < 6 * sizeof(masks) / sizeof(masks[0]); k++) {
		bool good =
			compare("scaled", (struct dims){ 4, 1, 1 }, (struct dims){ 64, 1, 1 }, masks[k / 6], k % 6 * 6);

		good = good && same_results();
		for (uint32_t t = 0; good && t < 256; t++) {
			const uint32_t *o = outcomes[0].out + t * 8;

			good = o[0] == o[1] && o[2] == o[3] && o[2] == o[4] && o[5] == o[6];
		}
		tap_ok(good, "sums of scaled integers, mask 0x%x, %u", masks[k / 6], k % 6);
	}
	for (uint32_t k = 0; k < 4; k++)
		tap_ok(compare("dots", (struct dims){ 4, 1, 1 }, (struct dims){ 64, 1, 1 }, 0x9182f37fu * k, k * 77) &&
			       same_results(),
		       "products of small bytes, %u", k);
}

static void test_facts(void)
{
	static const struct dims shapes[] = { { 64, 1, 1 }, { 32, 4, 1 },  { 16, 16, 1 }, { 8, 8, 1 },
					      { 45, 1, 1 }, { 128, 1, 1 }, { 20, 5, 1 } };
	static const struct dims few[] = { { 32, 1, 1 }, { 16, 1, 1 }, { 16, 2, 1 },
					   { 7, 3, 1 },	 { 5, 1, 1 },  { 64, 1, 1 } };
	static const uint32_t starts[] = { 0, 0xffffffff, 0x01234567, 0x7c000000, 0xfc000200, 0x00400000 };
	/* the bytes apart from all that is written, below it, between, and at the end of memory */
	static const uint64_t wheres[] = { 0, 1 << 20, 4096 - 8, 8192 + 4, DEVICE_BYTES - WORDS * 4 - 4096 };
	const struct dims three = { 3, 1, 1 }, block = { 64, 1, 1 };

	for (uint32_t k = 0; k < 4 * sizeof(starts) / sizeof(starts[0]); k++)
		tap_ok(compare("grains", three, block, starts[k / 4], 1 + k % 4 * 50) && same_results(),
		       "multiples of powers of two, from 0x%x, %u turns", starts[k / 4], 1 + k % 4 * 50);
	for (uint32_t k = 0; k < 4 * sizeof(shapes) / sizeof(shapes[0]); k++)
		tap_ok(compare("meets", three, shapes[k / 4], k % 4, 5) && same_results() && !outcomes[1].r,
		       "barriers, blocks of %u x %u, way %u", shapes[k / 4].x, shapes[k / 4].y, k % 4);
	for (uint32_t k = 0; k < 4 * sizeof(few) / sizeof(few[0]); k++)
		tap_ok(compare("early", three, few[k / 4], k % 4, 9) && same_results() && !outcomes[1].r,
		       "lanes early at barriers, blocks of %u x %u, way %u", few[k / 4].x, few[k / 4].y, k % 4);
	for (uint32_t k = 0; k < 4 * sizeof(wheres) / sizeof(wheres[0]); k++)
		tap_ok(compare("runs", (struct dims){ 1, 1, 1 }, (struct dims){ k % 4 < 2 ? 32 : 20, 1, 1 },
			       wheres[k / 4], k & 1 ? 0x01010303 : 0x00010000) &&
			       same_results() && !outcomes[1].r,
		       "runs of bytes, %zu bytes further on, way %u", (size_t)wheres[k / 4], k % 4);
	ok(compare("runs", (struct dims){ 1, 1, 1 }, (struct dims){ 32, 1, 1 }, wheres[4], 0x80010303u) &&
	   same_fault());
	for (uint32_t k = 0; k < sizeof(starts) / sizeof(starts[0]); k++)
		tap_ok(compare("products", three, block, starts[k], 1 + k * 7) && same_results() && !outcomes[1].r,
		       "products of fragments and chosen bytes, from 0x%x", starts[k]);
	for (uint32_t k = 0; k < 3; k++)
		tap_ok(compare("strips", (struct dims){ 1, 1, 1 }, block, k * 8, 1 + k * 7) && same_results() &&
			       !outcomes[1].r,
		       "pieces of blocks, %u bytes further on", k * 8);
	tap_ok(compare("strips", (struct dims){ 1, 1, 1 }, block, 1, 2) && same_fault(), "pieces that are not aligned");
}

/* PTX leaves open what lanes get that take part for others; here it is 0. */
static void test_absent(void)
{
	uint32_t wrong = 0;

	ok(compare("absent", (struct dims){ 1, 1, 1 }, (struct dims){ 64, 1, 1 }, 0, 0) && same_results());
	for (uint32_t i = 0; i < 64; i++)
		for (uint32_t k = 0; k < 2; k++)
			wrong += outcomes[1].out[2 * i + k] != (i & 16 ? 0 : i * 77 + 5);
	is(wrong, 0);
}

/* Loads whose addresses are the same for some lanes. */
static void test_tiles(void)
{
	static const struct dims shapes[] = { { 64, 1, 1 },  { 32, 1, 1 }, { 32, 2, 1 },  { 40, 1, 1 },
					      { 16, 16, 1 }, { 8, 8, 1 },  { 256, 1, 1 }, { 7, 1, 1 } };
	const struct dims one = { 1, 1, 1 }, block = { 64, 1, 1 };

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const uint32_t threads = shapes[i].x * shapes[i].y;

		for (uint32_t mask = 0; mask < 32; mask += 3)
			ok(compare("forks", (struct dims){ 3, 1, 1 }, shapes[i], mask, 0) && same_results() &&
			   !outcomes[1].r);
		/* no such thread; one that reads another row, and behind which all others are a turn short */
		ok(compare("tiles", (struct dims){ 3, 1, 1 }, shapes[i], threads, 0) && same_results() &&
		   !outcomes[1].r);
		ok(compare("tiles", one, shapes[i], shapes[i].x - 3, 32) && same_results());
	}
	ok(compare("tiles", one, block, 64, 0) && same_results() && outcomes[1].out[3] == 2);
	ok(compare("tiles", one, block, 40, 4096) && same_fault() &&
	   outcomes[1].fault.kind == PTX_FAULT_ILLEGAL_ADDRESS && outcomes[1].fault.thread[0] == 40);
	ok(compare("tiles", one, block, 40, 0xfffff000u) && same_fault());
	ok(compare("tiles", one, block, 9, 4) && same_fault() && outcomes[1].fault.kind == PTX_FAULT_MISALIGNED &&
	   outcomes[1].fault.thread[0] == 9);
}

/* Many blocks: a loop that is given up is not tried again for a while. */
static void test_nested(void)
{
	static const struct dims shapes[] = { { 64, 1, 1 }, { 32, 1, 1 }, { 45, 1, 1 } };
	const struct dims one = { 1, 1, 1 }, some = { 300, 1, 1 }, block = { 64, 1, 1 };

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		ok(compare("nested", some, shapes[i], 64, 0) && same_results() && !outcomes[1].r);
		ok(compare("nested", some, shapes[i], 9, 1) && same_results() && !outcomes[1].r);
	}
	ok(compare("nested", one, block, 40, DEVICE_BYTES) && same_fault() && outcomes[1].fault.thread[0] == 40);
	ok(compare("nested", one, block, 9, 2) && same_fault() && outcomes[1].fault.kind == PTX_FAULT_MISALIGNED);
}

static void test_stacks(void)
{
	static const struct dims shapes[] = { { 64, 1, 1 }, { 32, 1, 1 }, { 45, 1, 1 }, { 16, 1, 1 } };
	const struct dims one = { 1, 1, 1 }, some = { 300, 1, 1 }, block = { 64, 1, 1 };

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		ok(compare("stacks", one, shapes[i], 64, 0) && same_results() && !outcomes[1].r);
		ok(compare("stacks", some, shapes[i], 9, 1) && !outcomes[1].r);
		ok(compare("stacks", one, shapes[i], 9, 1) && same_results());
		ok(compare("stacks", one, shapes[i], 9, 4096) && same_results());
	}
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		ok(compare("halved", some, shapes[i], 0, 0) && same_results() && !outcomes[1].r);
	ok(compare("stacks", one, block, 40, DEVICE_BYTES) && same_fault() && outcomes[1].fault.thread[0] == 40);
	ok(compare("stacks", one, block, 9, 2) && same_fault() && outcomes[1].fault.kind == PTX_FAULT_MISALIGNED);
}

static void *launch_nested(void *right)
{
	const struct dims grid = { 300, 1, 1 }, block = { 64, 1, 1 };

	*(bool *)right = compare("nested", grid, block, 64, 0) && same_results() && !outcomes[1].r;
	return NULL;
}

/* From a thread whose stack is smaller than a frame of compiled code. */
static void test_small_stack(void)
{
	bool right = false;
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 48u << 10);
	ok(!pthread_create(&thread, &attr, launch_nested, &right) && !pthread_join(thread, NULL) && right);
	pthread_attr_destroy(&attr);
}

/* Loads that lie close together, which are fetched together. */
static void test_near(void)
{
	const struct dims one = { 1, 1, 1 }, block = { 64, 1, 1 };
	static const uint32_t last[] = { 4, 6, 8, 30 };

	ok(compare("near", one, block, 64, 0) && same_results() && !outcomes[1].r && outcomes[1].out[1] == 3);
	ok(compare("near", one, (struct dims){ 45, 1, 1 }, 64, 0) && same_results() && !outcomes[1].r);
	ok(compare("near", one, block, 40, 20) && same_results() && !outcomes[1].r);
	ok(compare("near", one, block, 9, 1) && same_fault() && outcomes[1].fault.kind == PTX_FAULT_MISALIGNED &&
	   outcomes[1].fault.thread[0] == 9);
	ok(compare("near", one, block, 9, 2) && same_fault() && outcomes[1].fault.kind == PTX_FAULT_MISALIGNED);
	ok(compare("near", one, block, 40, DEVICE_BYTES) && same_fault() && outcomes[1].fault.thread[0] == 40);
	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++) { /* thread 40 loads around the end of memory */
		const uint64_t far = DEVICE_BYTES - WORDS * 4 - 4096 - 360 - last[i];

		tap_ok(compare("near", one, block, 40, far) && same_fault() && outcomes[1].fault.thread[0] == 40,
		       "near, %u bytes before the end of memory", last[i]);
	}
}

/* Accesses of lanes that lie anywhere: one load or store for each, and one check for several of them. */
static void test_vectors(void)
{
	static const struct dims shapes[] = { { 64, 1, 1 }, { 32, 1, 1 }, { 45, 1, 1 }, { 16, 2, 1 } };
	const struct dims one = { 1, 1, 1 }, block = { 64, 1, 1 };
	const uint64_t rest = DEVICE_BYTES - WORDS * 4;

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		ok(compare("vectors", one, shapes[i], 64, 0) && same_results() && !outcomes[1].r);
		ok(compare("locals", (struct dims){ 3, 1, 1 }, shapes[i], 64, 0) && same_results() && !outcomes[1].r);
	}
	ok(compare("vectors", one, block, 40, 9216) && same_results() && !outcomes[1].r);
	ok(compare("vectors", one, block, 40, 1) && same_results() && !outcomes[1].r);
	ok(compare("vectors", one, block, 40, 4) && same_fault() && outcomes[1].fault.kind == PTX_FAULT_MISALIGNED &&
	   outcomes[1].fault.thread[0] == 40);
	ok(compare("vectors", one, block, 40, 8193) && same_fault() && outcomes[1].fault.kind == PTX_FAULT_MISALIGNED &&
	   outcomes[1].fault.thread[0] == 40);
	for (uint64_t before = 0; before < 4500; before += 360) /* in the end each access is the first that is out */
		tap_ok(compare("vectors", one, block, 40, (rest - before) & ~15ull) &&
			       (outcomes[0].r ? same_fault() : same_results()),
		       "vectors, %u bytes before the end of memory", (unsigned)before);
	ok(compare("vectors", one, block, 40, 1ull << 63) && same_fault() && outcomes[1].fault.thread[0] == 40);
	ok(compare("vectors", one, block, 40, 0ull - (1ull << 40)) && same_fault() &&
	   outcomes[1].fault.thread[0] == 40);
	ok(compare("locals", one, block, 40, 8) && same_fault() && outcomes[1].fault.kind == PTX_FAULT_MISALIGNED &&
	   outcomes[1].fault.thread[0] == 40);
	ok(compare("locals", one, block, 40, 1ull << 40) && same_fault() && outcomes[1].fault.thread[0] == 40);
}

/* Whose turn it is depends on the order of lanes, which is the interpreter's, to the last instruction. */
static void test_turns(void)
{
	static const uint32_t threads[] = { 32, 7, 20 };

	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		const struct dims block = { threads[i], 1, 1 };

		tap_ok(compare("turns", (struct dims){ 1, 1, 1 }, block, 0, 0) && same_results() && !outcomes[1].r &&
			       outcomes[1].out[1],
		       "a lock that %u lanes of a warp take in turns", block.x);
		tap_ok(compare("ends", (struct dims){ 2, 1, 1 }, block, 0, 0) && same_results(),
		       "lanes of %u end within a loop", block.x);
	}
	ok(compare("ends", (struct dims){ 1, 1, 1 }, (struct dims){ 96, 1, 1 }, 0, 0) && same_results());
}

static void test_faults(void)
{
	const struct dims one = { 1, 1, 1 }, block = { 64, 1, 1 };

	ok(compare("stray", one, block, 40, DEVICE_BYTES) && same_fault() &&
	   outcomes[1].fault.kind == PTX_FAULT_ILLEGAL_ADDRESS && outcomes[1].fault.thread[0] == 40);
	ok(compare("stray", one, block, 3, 2) && same_fault() && outcomes[1].fault.kind == PTX_FAULT_MISALIGNED);
	ok(compare("stray", one, block, 70, DEVICE_BYTES) && same_results()); /* no such thread */
	ok(compare("row", one, block, DEVICE_BYTES, 0) && same_fault() && outcomes[1].fault.thread[0] == 0);
	ok(compare("row", one, block, 1, 0) && same_fault() && outcomes[1].fault.kind == PTX_FAULT_MISALIGNED);
	/* the last 10 threads of the second warp are beyond the end of memory */
	ok(compare("row", one, block, DEVICE_BYTES - WORDS * 4 - 54 * 4, 0) && same_fault() &&
	   outcomes[1].fault.thread[0] == 54);
	ok(compare("row", one, block, 0ull - PTR(device) - WORDS * 4 - 128, 0) && same_fault());
	ok(compare("forever", one, block, 0, 0) && outcomes[1].r == 1 && outcomes[1].fault.kind == PTX_FAULT_TIMEOUT);
}

/* ---- in a process of its own ---- */

static char folder[64];
static char library[4096];

static bool compiles(void)
{
	const uint64_t more[2] = { 9, 5 };

	run(PTX_COMPILE_NEVER, "mix", (struct dims){ 2, 1, 1 }, (struct dims){ 64, 1, 1 }, more, &outcomes[0]);
	run(PTX_COMPILE_ALWAYS, "mix", (struct dims){ 2, 1, 1 }, (struct dims){ 64, 1, 1 }, more, &outcomes[1]);
	return outcomes[1].compiled;
}

/* Whether `mix` is compiled in a process with this compiler and this folder; results must be right in any case. */
static bool child_compiles(const char *compiler, const char *cache)
{
	int status = -1;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (!child) {
		setenv("METE_SOFT_COMPILER", compiler, 1);
		setenv("METE_SOFT_COMPILE_CACHE", cache, 1);
		device_open(1);
		const bool compiled = compiles();

		_exit(same_results() ? compiled : 9);
	}
	waitpid(child, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
	return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

/* The only file that is kept. */
static bool kept_file(char *ret, size_t room)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.') {
			snprintf(ret, room, "%s/%s", folder, e->d_name);
			n++;
		}
	if (d)
		closedir(d);
	return n == 1;
}

static void flip(const char *path, long from_end)
{
	FILE *f = fopen(path, "r+b");
	int c;

	fseek(f, -from_end, SEEK_END);
	c = fgetc(f);
	fseek(f, -from_end, SEEK_END);
	fputc(c ^ 1, f);
	fclose(f);
}

/* The object of a file that is kept: 32 bytes, the key, whose size stands at 20, and the object. */
static uint8_t *object_of(const char *path, size_t *ret_bytes)
{
	FILE *f = fopen(path, "rb");
	uint32_t head[8];
	uint8_t *object;

	if (!f || fread(head, sizeof(head), 1, f) != 1 || fseek(f, head[5], SEEK_CUR))
		exit(1);
	object = malloc(head[6]);
	if (!object || fread(object, head[6], 1, f) != 1)
		exit(1);
	fclose(f);
	*ret_bytes = head[6];
	return object;
}

/* Names that are said to lie where the file has nothing. */
static void test_object(const char *path)
{
	struct machine m;
	size_t bytes;
	uint8_t *object = object_of(path, &bytes);
	const Elf64_Ehdr *head = (const void *)object;
	Elf64_Shdr *section = (void *)(object + head->e_shoff), *names = NULL;

	ok(!object_load(object, bytes, 1, &m));
	object_unload(&m);
	for (uint32_t i = 0; i < head->e_shnum; i++)
		if (section[i].sh_type == SHT_SYMTAB)
			names = &section[section[i].sh_link];
	names->sh_offset = 1ull << 40;
	ok(object_load(object, bytes, 1, &m) == -EINVAL);
	names->sh_type = SHT_NOBITS;
	ok(object_load(object, bytes, 1, &m) == -EINVAL);
	free(object);
}

static void test_kept(void)
{
	char path[512];
	struct stat st;

	ok(!child_compiles("none", folder));
	ok(child_compiles(library, folder));
	ok(kept_file(path, sizeof(path)));
	ok(!stat(path, &st) && (st.st_mode & 0777) == 0600);
	tap_ok(child_compiles("none", folder), "what is kept needs no compiler");
	test_object(path);
	for (long at = 1; at < st.st_size; at += st.st_size / 7) {
		flip(path, at);
		tap_ok(!child_compiles("none", folder), "a byte is wrong, %ld before the end: it does not run", at);
		flip(path, at);
	}
	ok(child_compiles("none", folder));
	ok(!truncate(path, st.st_size - 1) && !child_compiles("none", folder));
	tap_ok(child_compiles(library, folder) && child_compiles("none", folder), "a damaged file is replaced");
	ok(!chmod(path, 0620) && !child_compiles("none", folder));
	ok(!chmod(path, 0600) && !chmod(folder, 0777) && !child_compiles("none", folder));
	ok(!chmod(folder, 0700) && child_compiles("none", folder));
	if (!geteuid()) {
		ok(!chown(path, 1, 1) && !child_compiles("none", folder));
		ok(!chown(path, 0, 0));
	}
	ok(!unlink(path) && !symlink("/etc/passwd", path) && !child_compiles("none", folder));
	ok(!unlink(path));
	tap_ok(child_compiles(library, "/proc/nowhere"), "a folder that cannot be made: compiled and not kept");
	tap_ok(!child_compiles("/nonexistent.so", folder), "a library that is not there");
	tap_ok(!child_compiles("/lib/x86_64-linux-gnu/libm.so.6", folder), "a library that is something else");
}

/* A file system that takes a part of the file: nothing stays, under no name. */
static void test_full(void)
{
	struct rlimit before, few;
	char path[512];
	DIR *d;
	int n = 0;

	getrlimit(RLIMIT_FSIZE, &before);
	few = before;
	few.rlim_cur = 8192;
	signal(SIGXFSZ, SIG_IGN);
	fflush(NULL);
	setrlimit(RLIMIT_FSIZE, &few);
	n = child_compiles(library, folder);
	setrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_DFL);
	tap_ok(n && !kept_file(path, sizeof(path)), "a full folder: compiled and not kept");
	n = 0;
	d = opendir(folder);
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	ok(n == 2);
	tap_ok(child_compiles(library, folder) && child_compiles("none", folder) && kept_file(path, sizeof(path)) &&
		       !unlink(path),
	       "and kept when there is room");
}

/* Two processes that compile the same at once. */
static void test_together(void)
{
	pid_t child[4];
	char path[512];
	int status, good = 0;

	fflush(NULL);
	for (int i = 0; i < 4; i++)
		if (!(child[i] = fork())) {
			setenv("METE_SOFT_COMPILER", library, 1);
			setenv("METE_SOFT_COMPILE_CACHE", folder, 1);
			device_open(1);
			_exit(compiles() && same_results() ? 0 : 1);
		}
	for (int i = 0; i < 4; i++)
		good += waitpid(child[i], &status, 0) == child[i] && !status;
	ok(good == 4);
	ok(kept_file(path, sizeof(path)) && child_compiles("none", folder));
	unlink(path);
}

/* A process that ends while the compiler works waits for it. */
static void test_ending(void)
{
	const struct ptx_options options = { .compile = PTX_COMPILE_HOT };
	int good = 0;

	for (unsigned i = 0; i < 4; i++) {
		int status = -1;
		pid_t child;

		fflush(NULL);
		child = fork();
		if (!child) {
			setenv("METE_SOFT_COMPILER", library, 1);
			setenv("METE_SOFT_COMPILE_CACHE", "off", 1);
			device_open(1);
			struct ptx_module *m = load_text(text, strlen(text), &options);

			for (int k = 0; k < 1500; k++)
				launch(m, "row", (struct dims){ 1, 1, 1 }, (struct dims){ 32, 1, 1 },
				       (uint64_t[]){ PTR(device), 0, 0, 0 });
			usleep(i * 40000); /* somewhere in the middle */
			exit(0);
		}
		good += waitpid(child, &status, 0) == child && !status;
	}
	ok(good == 4);
}

/* A kernel becomes hot while it is launched again and again; nobody waits for the compiler. */
static void test_hot(void)
{
	const struct ptx_options options = { .compile = PTX_COMPILE_HOT };
	const uint64_t end = 60;
	struct ptx_module *m;
	uint64_t arg[4];
	uint32_t *out;
	time_t begin = time(NULL);
	uint32_t launches = 0;

	device_reset();
	out = device_alloc(WORDS * 4);
	m = load_text(text, strlen(text), &options);
	arg[0] = PTR(device_alloc(WORDS * 4));
	arg[1] = PTR(out);
	arg[2] = 20;
	arg[3] = 1;
	ok(!launch(m, "mix", (struct dims){ 1, 1, 1 }, (struct dims){ 64, 1, 1 }, arg));
	ok(!ptx_kernel_is_compiled(ptx_module_kernel_find(m, "mix")));
	while (!ptx_kernel_is_compiled(ptx_module_kernel_find(m, "mix")) && (uint64_t)(time(NULL) - begin) < end) {
		launch(m, "mix", (struct dims){ 1, 1, 1 }, (struct dims){ 64, 1, 1 }, arg);
		launches++;
	}
	tap_ok(ptx_kernel_is_compiled(ptx_module_kernel_find(m, "mix")), "compiled meanwhile, after many launches");
	ok(launches > 50);
	ok(!launch(m, "mix", (struct dims){ 1, 1, 1 }, (struct dims){ 64, 1, 1 }, arg));
	ok(!ptx_kernel_is_compiled(ptx_module_kernel_find(m, "row")));
	ptx_module_free(m);
	/* a module that goes while its kernel waits for the compiler */
	for (int i = 0; i < 20; i++) {
		m = load_text(text, strlen(text), &options);
		for (int k = 0; k < 1200; k++)
			launch(m, "row", (struct dims){ 1, 1, 1 }, (struct dims){ 32, 1, 1 },
			       (uint64_t[]){ PTR(out), 0, 0, 0 });
		ptx_module_free(m);
	}
	ok(true);
}

static void *large_text(size_t *ret_bytes)
{
	char *t = malloc(1 << 22), *p = t;

	p += sprintf(p, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry large(.param .u64 po)\n{\n"
			"\t.reg .b32 %%r<2000>; .reg .b64 %%d<4>; ld.param.u64 %%d1, [po]; mov.u32 %%r0, %%tid.x;\n");
	for (int i = 0; i < 20000; i++)
		p += sprintf(p, "\tmad.lo.u32 %%r%d, %%r%d, %%r%d, %d;\n", (i + 1) % 2000, i % 2000, i * 7 % 2000, i);
	p += sprintf(p, "\tst.global.u32 [%%d1], %%r5; ret;\n}\n");
	*ret_bytes = (size_t)(p - t);
	return t;
}

/* What would take LLVM too long stays interpreted. */
static void test_large(void)
{
	const struct ptx_options options = { .compile = PTX_COMPILE_ALWAYS };
	size_t bytes;
	char *t = large_text(&bytes);
	struct ptx_module *m;

	device_reset();
	m = load_text(t, bytes, &options);
	ok(!launch(m, "large", (struct dims){ 1, 1, 1 }, (struct dims){ 32, 1, 1 },
		   (uint64_t[]){ PTR(device_alloc(64)), 0, 0, 0 }));
	ok(!ptx_kernel_is_compiled(ptx_module_kernel_find(m, "large")));
	ptx_module_free(m);
	free(t);
}

/*
 * The shared memory that devices keep for the system: each block finds zeroes in it, and behind it its own variables.
 * The second kernel asks for it by a function only.
 */
static const char reserved_text[] =
	".version 8.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 more[];\n"
	".shared .align 4 .b8 common[40];\n"
	".func (.reg .u32 %o) reserved_at()\n{\n\t.reg .b32 %r<4>;\n"
	"\tmov.u32 %r1, common; mov.u32 %o, %reserved_smem_offset_1; add.u32 %o, %o, %r1; sub.u32 %o, %o, %r1; "
	"ret;\n}\n"
	".visible .entry reserved(.param .u64 po)\n{\n"
	"\t.reg .pred %p; .reg .b32 %r<20>; .reg .b64 %d<9>; .shared .align 4 .b8 s[400];\n"
	"\tmov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; ld.param.u64 %d1, [po]; mul.wide.u32 %d2, %r2, 64;\n"
	"\tadd.s64 %d1, %d1, %d2; mov.u32 %r3, %reserved_smem_offset_1; cvt.u64.u32 %d3, %r3; cvta.shared.u64 %d4, "
	"%d3;\n"
	"\tmov.u32 %r4, s; rem.u32 %r5, %r1, 100; shl.b32 %r5, %r5, 2; add.u32 %r4, %r4, %r5; st.shared.u32 [%r4], "
	"%r1;\n"
	"\tatom.add.u32 %r6, [%d4], 1; bar.sync 0; setp.ne.u32 %p, %r1, 0; @%p bra L1;\n"
	"\tmov.b32 %r7, %reserved_smem_offset_begin; st.global.u32 [%d1], %r7;\n"
	"\tmov.b32 %r8, %reserved_smem_offset_end; st.global.u32 [%d1 + 4], %r8;\n"
	"\tmov.b32 %r9, %reserved_smem_offset_cap; st.global.u32 [%d1 + 8], %r9;\n"
	"\tmov.b32 %r10, %reserved_smem_offset_0; st.global.u32 [%d1 + 12], %r10; st.global.u32 [%d1 + 16], %r3;\n"
	"\tld.shared.u32 %r11, [%r3]; st.global.u32 [%d1 + 20], %r11; ld.shared.u32 %r12, [%r4]; st.global.u32 [%d1 + "
	"24], %r12;\n"
	"\tst.global.u32 [%d1 + 28], %r4; mov.u32 %r13, more; st.global.u32 [%d1 + 32], %r13;\n"
	"\tmov.u32 %r14, %total_smem_size; st.global.u32 [%d1 + 36], %r14;\n"
	"\tmov.u32 %r15, %aggr_smem_size; st.global.u32 [%d1 + 40], %r15;\nL1:\n\tret;\n}\n"
	".visible .entry by_function(.param .u64 po)\n{\n"
	"\t.reg .b32 %r<9>; .reg .b64 %d<9>; ld.param.u64 %d1, [po]; mov.u32 %r2, %ctaid.x; mul.wide.u32 %d2, %r2, "
	"64;\n"
	"\tadd.s64 %d1, %d1, %d2; call (%r1), reserved_at, (); atom.shared.add.u32 %r3, [%r1], 1; bar.sync 0;\n"
	"\tld.shared.u32 %r4, [%r1]; st.global.u32 [%d1], %r4; mov.u32 %r5, common; st.global.u32 [%d1 + 4], %r5; "
	"ret;\n}\n";

static void test_reserved(enum ptx_compile how)
{
	enum { BLOCKS = 9, THREADS = 100 };
	static const uint32_t wanted[11] = { 0, 288, 1024, 0, 0, THREADS, 0, 1024, 1024 + 400, 512, 1536 };
	const struct ptx_options options = { .compile = how };
	uint32_t *out, wrong = 0;
	struct ptx_module *m;

	device_reset();
	m = load_text(reserved_text, strlen(reserved_text), &options);
	out = device_alloc(BLOCKS * 64);
	ok(m && !launch(m, "reserved", (struct dims){ BLOCKS, 1, 1 }, (struct dims){ THREADS, 1, 1 },
			(uint64_t[]){ PTR(out), 0, 0, 0 }));
	for (uint32_t b = 0; b < BLOCKS; b++)
		wrong += !!memcmp(out + b * 16, wanted, sizeof(wanted));
	tap_ok(!wrong, "the reserved shared memory, %s", how == PTX_COMPILE_ALWAYS ? "compiled" : "interpreted");
	ok(m && !launch(m, "by_function", (struct dims){ BLOCKS, 1, 1 }, (struct dims){ THREADS, 1, 1 },
			(uint64_t[]){ PTR(out), 0, 0, 0 }));
	for (uint32_t b = 0; b < BLOCKS; b++)
		wrong += out[b * 16] != THREADS || out[b * 16 + 1] != 1024;
	tap_ok(!wrong, "the same by a function, %s", how == PTX_COMPILE_ALWAYS ? "compiled" : "interpreted");
	ok(m && ptx_kernel_is_compiled(ptx_module_kernel_find(m, "reserved")) == (how == PTX_COMPILE_ALWAYS));
	is(ptx_module_kernel_find(m, "reserved")->shared_bytes, 400);
	ptx_module_free(m);
}

int main(void)
{
	const char *compiler = getenv("METE_SOFT_COMPILER");

	if (!compiler || !strcmp(isa_find(NULL)->name, "base")) {
		printf("1..0 # SKIP no compiler was built, or this processor has no vectors for it\n");
		return 0;
	}
	tap_begin();
	snprintf(library, sizeof(library), "%s", compiler);
	strcpy(folder, "/tmp/mete-compile-test-XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	test_kept();
	test_full();
	test_together();
	test_ending();
	device_open(2);
	test_results();
	test_scaled();
	test_facts();
	test_absent();
	test_tiles();
	test_near();
	test_nested();
	test_stacks();
	test_small_stack();
	test_vectors();
	test_turns();
	test_faults();
	test_hot();
	test_large();
	test_reserved(PTX_COMPILE_NEVER);
	test_reserved(PTX_COMPILE_ALWAYS);
	device_close();
	rmdir(folder);
	return tap_end();
}
