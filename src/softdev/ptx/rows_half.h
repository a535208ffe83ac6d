/* rows_half.h: instructions on f16 and bf16, one and two at a time. Read twice by rows.h. */

/* f16 and bf16, one and two at a time. */
R2("add{,.rn}.f16", add_f16, f16, f16, f16, (u16)f2h(h2f(a) + h2f(b)))
R2("add{,.rn}.ftz.f16", add_ftz_f16, f16, f16, f16, (u16)FLUSHED2(hadd, a, b))
R2("add{,.rn}.sat.f16", add_sat_f16, f16, f16, f16, (u16)hsat(f2h(h2f(a) + h2f(b))))
R2("add{,.rn}.ftz.sat.f16", add_ftz_sat_f16, f16, f16, f16, (u16)hsat(FLUSHED2(hadd, a, b)))
R2("sub{,.rn}.f16", sub_f16, f16, f16, f16, (u16)f2h(h2f(a) - h2f(b)))
R2("sub{,.rn}.ftz.f16", sub_ftz_f16, f16, f16, f16, (u16)FLUSHED2(hsub, a, b))
R2("sub{,.rn}.sat.f16", sub_sat_f16, f16, f16, f16, (u16)hsat(f2h(h2f(a) - h2f(b))))
R2("sub{,.rn}.ftz.sat.f16", sub_ftz_sat_f16, f16, f16, f16, (u16)hsat(FLUSHED2(hsub, a, b)))
R2("mul{,.rn}.f16", mul_f16, f16, f16, f16, (u16)f2h(h2f(a) * h2f(b)))
R2("mul{,.rn}.ftz.f16", mul_ftz_f16, f16, f16, f16, (u16)FLUSHED2(hmul, a, b))
R2("mul{,.rn}.sat.f16", mul_sat_f16, f16, f16, f16, (u16)hsat(f2h(h2f(a) * h2f(b))))
R2("mul{,.rn}.ftz.sat.f16", mul_ftz_sat_f16, f16, f16, f16, (u16)hsat(FLUSHED2(hmul, a, b)))
R3("fma.rn.f16", fma_f16, f16, f16, f16, f16, (u16)hfma(a, b, c))
R3("fma.rn.ftz.f16", fma_ftz_f16, f16, f16, f16, f16, (u16)FLUSHED3(hfma, a, b, c))
R3("fma.rn.sat.f16", fma_sat_f16, f16, f16, f16, f16, (u16)hsat(hfma(a, b, c)))
R3("fma.rn.ftz.sat.f16", fma_ftz_sat_f16, f16, f16, f16, f16, (u16)hsat(FLUSHED3(hfma, a, b, c)))
R3("fma.rn.relu.f16", fma_relu_f16, f16, f16, f16, f16, (u16)hrelu(hfma(a, b, c)))
R3("fma.rn.ftz.relu.f16", fma_ftz_relu_f16, f16, f16, f16, f16, (u16)hrelu(FLUSHED3(hfma, a, b, c)))
R1("neg.{f16,bf16}", neg_f16, u16, u16, (u16)(a ^ 0x8000))
R1("neg.ftz.f16", neg_ftz_f16, u16, u16, (u16)hftz(a ^ 0x8000))
R1("abs.{f16,bf16}", abs_f16, u16, u16, (u16)(a & 0x7fff))
R1("abs.ftz.f16", abs_ftz_f16, u16, u16, (u16)hftz(a & 0x7fff))
R2("min.f16", min_f16, f16, f16, f16, (u16)hmin(a, b))
R2("min.ftz.f16", min_ftz_f16, f16, f16, f16, (u16)FLUSHED2(hmin, a, b))
R2("max.f16", max_f16, f16, f16, f16, (u16)hmax(a, b))
R2("max.ftz.f16", max_ftz_f16, f16, f16, f16, (u16)FLUSHED2(hmax, a, b))
R2("min.NaN.f16", min_nan_f16, f16, f16, f16, (u16)f2h(nan_f32(h2f(a), h2f(b), min_f32_of(h2f(a), h2f(b)))))
R2("min.ftz.NaN.f16", min_ftz_nan_f16, f16, f16, f16, (u16)FLUSHED2(hmin_nan, a, b))
R2("max.NaN.f16", max_nan_f16, f16, f16, f16, (u16)f2h(nan_f32(h2f(a), h2f(b), max_f32_of(h2f(a), h2f(b)))))
R2("max.ftz.NaN.f16", max_ftz_nan_f16, f16, f16, f16, (u16)FLUSHED2(hmax_nan, a, b))
R1("ex2.approx{,.ftz}.f16", ex2_f16, f16, f16, (u16)f2h(ex2_of(h2f(a))))
R1("tanh.approx.f16", tanh_f16, f16, f16, (u16)f2h(tanh_of(h2f(a))))
R2("add{,.rn}.f16x2", add_f16x2, u32, u32, u32, PAIR2(f2h(h2f(x) + h2f(y))))
R2("add{,.rn}.ftz.f16x2", add_ftz_f16x2, u32, u32, u32, PAIR2(FLUSHED2(hadd, x, y)))
R2("add{,.rn}.sat.f16x2", add_sat_f16x2, u32, u32, u32, PAIR2(hsat(f2h(h2f(x) + h2f(y)))))
R2("add{,.rn}.ftz.sat.f16x2", add_ftz_sat_f16x2, u32, u32, u32, PAIR2(hsat(FLUSHED2(hadd, x, y))))
R2("sub{,.rn}.f16x2", sub_f16x2, u32, u32, u32, PAIR2(f2h(h2f(x) - h2f(y))))
R2("sub{,.rn}.ftz.f16x2", sub_ftz_f16x2, u32, u32, u32, PAIR2(FLUSHED2(hsub, x, y)))
R2("sub{,.rn}.sat.f16x2", sub_sat_f16x2, u32, u32, u32, PAIR2(hsat(f2h(h2f(x) - h2f(y)))))
R2("sub{,.rn}.ftz.sat.f16x2", sub_ftz_sat_f16x2, u32, u32, u32, PAIR2(hsat(FLUSHED2(hsub, x, y))))
R2("mul{,.rn}.f16x2", mul_f16x2, u32, u32, u32, PAIR2(f2h(h2f(x) * h2f(y))))
R2("mul{,.rn}.ftz.f16x2", mul_ftz_f16x2, u32, u32, u32, PAIR2(FLUSHED2(hmul, x, y)))
R2("mul{,.rn}.sat.f16x2", mul_sat_f16x2, u32, u32, u32, PAIR2(hsat(f2h(h2f(x) * h2f(y)))))
R2("mul{,.rn}.ftz.sat.f16x2", mul_ftz_sat_f16x2, u32, u32, u32, PAIR2(hsat(FLUSHED2(hmul, x, y))))
R3("fma.rn.f16x2", fma_f16x2, u32, u32, u32, u32, PAIR3(hfma(x, y, z)))
R3("fma.rn.ftz.f16x2", fma_ftz_f16x2, u32, u32, u32, u32, PAIR3(FLUSHED3(hfma, x, y, z)))
R3("fma.rn.sat.f16x2", fma_sat_f16x2, u32, u32, u32, u32, PAIR3(hsat(hfma(x, y, z))))
R3("fma.rn.ftz.sat.f16x2", fma_ftz_sat_f16x2, u32, u32, u32, u32, PAIR3(hsat(FLUSHED3(hfma, x, y, z))))
R3("fma.rn.relu.f16x2", fma_relu_f16x2, u32, u32, u32, u32, PAIR3(hrelu(hfma(x, y, z))))
R3("fma.rn.ftz.relu.f16x2", fma_ftz_relu_f16x2, u32, u32, u32, u32, PAIR3(hrelu(FLUSHED3(hfma, x, y, z))))
R1("neg.{f16x2,bf16x2}", neg_f16x2, u32, u32, a ^ 0x80008000u)
R1("neg.ftz.f16x2", neg_ftz_f16x2, u32, u32, PAIR1(hftz(x ^ 0x8000)))
R1("abs.{f16x2,bf16x2}", abs_f16x2, u32, u32, a & 0x7fff7fffu)
R1("abs.ftz.f16x2", abs_ftz_f16x2, u32, u32, PAIR1(hftz(x & 0x7fff)))
R2("min.f16x2", min_f16x2, u32, u32, u32, PAIR2(hmin(x, y)))
R2("min.ftz.f16x2", min_ftz_f16x2, u32, u32, u32, PAIR2(FLUSHED2(hmin, x, y)))
R2("max.f16x2", max_f16x2, u32, u32, u32, PAIR2(hmax(x, y)))
R2("max.ftz.f16x2", max_ftz_f16x2, u32, u32, u32, PAIR2(FLUSHED2(hmax, x, y)))
R1("ex2.approx{,.ftz}.f16x2", ex2_f16x2, u32, u32, PAIR1(f2h(ex2_of(h2f(x)))))
R1("tanh.approx.f16x2", tanh_f16x2, u32, u32, PAIR1(f2h(tanh_of(h2f(x)))))
R2("add{,.rn}.bf16", add_bf16, bf16, bf16, bf16, (u16)bfma(0x3f80, a, b))
R2("sub{,.rn}.bf16", sub_bf16, bf16, bf16, bf16, (u16)bfma(0x3f80, a, b ^ 0x8000))
R2("mul{,.rn}.bf16", mul_bf16, bf16, bf16, bf16, (u16)bfma(a, b, (u32)((a ^ b) & 0x8000)))
R3("fma.rn.bf16", fma_bf16, bf16, bf16, bf16, bf16, (u16)bfma(a, b, c))
R3("fma.rn.relu.bf16", fma_relu_bf16, bf16, bf16, bf16, bf16, (u16)brelu(bfma(a, b, c)))
R2("min.bf16", min_bf16, bf16, bf16, bf16, (u16)bmin(a, b))
R2("max.bf16", max_bf16, bf16, bf16, bf16, (u16)bmax(a, b))
R1("ex2.approx.ftz.bf16", ex2_bf16, bf16, bf16, (u16)f2b(ex2_of(b2f(a))))
R1("tanh.approx.bf16", tanh_bf16, bf16, bf16, (u16)f2b(tanh_of(b2f(a))))
R2("add{,.rn}.bf16x2", add_bf16x2, u32, u32, u32, PAIR2(bfma(0x3f80, x, y)))
R2("sub{,.rn}.bf16x2", sub_bf16x2, u32, u32, u32, PAIR2(bfma(0x3f80, x, y ^ 0x8000)))
R2("mul{,.rn}.bf16x2", mul_bf16x2, u32, u32, u32, PAIR2(bfma(x, y, (x ^ y) & 0x8000)))
/* Zero where an operand is what a copy through a tensor map leaves for places outside of the array (tensor.c). */
#define OUTSIDE 0x7fffu
#define OOB(x, y, z, v) ((x) == OUTSIDE || (y) == OUTSIDE || (z) == OUTSIDE ? 0 : (v))
R3("fma.rn.oob.f16", fma_oob_f16, f16, f16, f16, f16, (u16)OOB(a, b, c, hfma(a, b, c)))
R3("fma.rn.oob.relu.f16", fma_oob_relu_f16, f16, f16, f16, f16, (u16)OOB(a, b, c, hrelu(hfma(a, b, c))))
R3("fma.rn.oob.f16x2", fma_oob_f16x2, u32, u32, u32, u32, PAIR3(OOB(x, y, z, hfma(x, y, z))))
R3("fma.rn.oob.relu.f16x2", fma_oob_relu_f16x2, u32, u32, u32, u32, PAIR3(OOB(x, y, z, hrelu(hfma(x, y, z)))))
R3("fma.rn.oob.bf16", fma_oob_bf16, bf16, bf16, bf16, bf16, (u16)OOB(a, b, c, bfma(a, b, c)))
R3("fma.rn.oob.relu.bf16", fma_oob_relu_bf16, bf16, bf16, bf16, bf16, (u16)OOB(a, b, c, brelu(bfma(a, b, c))))
R3("fma.rn.oob.bf16x2", fma_oob_bf16x2, u32, u32, u32, u32, PAIR3(OOB(x, y, z, bfma(x, y, z))))
R3("fma.rn.oob.relu.bf16x2", fma_oob_relu_bf16x2, u32, u32, u32, u32, PAIR3(OOB(x, y, z, brelu(bfma(x, y, z)))))
R3("fma.rn.bf16x2", fma_bf16x2, u32, u32, u32, u32, PAIR3(bfma(x, y, z)))
R3("fma.rn.relu.bf16x2", fma_relu_bf16x2, u32, u32, u32, u32, PAIR3(brelu(bfma(x, y, z))))
R2("min.bf16x2", min_bf16x2, u32, u32, u32, PAIR2(bmin(x, y)))
R2("max.bf16x2", max_bf16x2, u32, u32, u32, PAIR2(bmax(x, y)))

#define COMPAREF(t, op, names, id, cond)                                                                              \
	R2F("setp." op names, setp_##id##_##t, FORM_SETP, pred, t, t, ({                                              \
		    f32 x = h2f(a), y = h2f(b);                                                                       \
		    P(cond);                                                                                           \
	    }))
COMPARE_FLOAT(f16, ".f16", x, y)
#undef COMPAREF
#define COMPAREF(t, op, names, id, cond)                                                                              \
	R2F("setp." op names, setp_##id##_ftz_##t, FORM_SETP, pred, t, t, ({                                          \
		    f32 x = h2f(hftz(a)), y = h2f(hftz(b));                                                           \
		    P(cond);                                                                                           \
	    }))
COMPARE_FLOAT(f16, ".ftz.f16", x, y)
#undef COMPAREF
#define COMPAREF(t, op, names, id, cond)                                                                              \
	R2F("setp." op names, setp_##id##_##t, FORM_SETP, pred, t, t, ({                                              \
		    f32 x = b2f(a), y = b2f(b);                                                                       \
		    P(cond);                                                                                           \
	    }))
COMPARE_FLOAT(bf16, ".bf16", x, y)
#undef COMPAREF
RF("setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{,.ftz}.f16x2", FORM_SETP_PAIR, 0)
RF("setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.bf16x2", FORM_SETP_PAIR, 0)

/* Both halves at once: 1.0 or all ones where the comparison holds. */
#define COMPARISONS "eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan"
#define SET_PAIR(words, name, of, yes)                                                                                 \
	R2("set.<" COMPARISONS ">" words, name, u32, u32, u32,                                                         \
	   PAIR2(float_relation(of(x), of(y)) & comparison_relations[o->imm] ? yes : 0))
#define FLUSHED_H2F(x) h2f(hftz(x))
SET_PAIR(".f16x2.f16x2", set_f16x2, h2f, 0x3c00u)
SET_PAIR(".ftz.f16x2.f16x2", set_ftz_f16x2, FLUSHED_H2F, 0x3c00u)
SET_PAIR(".{u32,s32}.f16x2", set_u32_f16x2, h2f, 0xffffu)
SET_PAIR(".ftz.{u32,s32}.f16x2", set_ftz_u32_f16x2, FLUSHED_H2F, 0xffffu)
SET_PAIR(".bf16x2.bf16x2", set_bf16x2, b2f, 0x3f80u)
SET_PAIR(".{u32,s32}.bf16x2", set_u32_bf16x2, b2f, 0xffffu)
