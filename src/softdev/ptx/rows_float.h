/*
 * rows_float.h: floating point instructions, one row each. Read twice by exec.c, see lane.h.
 * N1, N2 and N3 are R1, R2 and R3 whose results of f32 have the devices' bits when they are not a number.
 */

N2("add{,.rn}.f32", add_f32, f32, f32, f32, a + b)
N2("add{,.rn}.ftz.f32", add_ftz, f32, f32, f32, ftz(ftz(a) + ftz(b)))
R2("add{,.rn}.sat.f32", add_sat_f32, f32, f32, f32, sat_f32(a + b))
R2("add{,.rn}.ftz.sat.f32", add_ftz_sat, f32, f32, f32, sat_f32(ftz(ftz(a) + ftz(b))))
RR2("add.<rz,rm,rp>.f32", add_r_f32, f32, f32, f32, a + b)
RR2("add.<rz,rm,rp>.ftz.f32", add_r_ftz, f32, f32, f32, ftz(ftz(a) + ftz(b)))
R2("add{,.rn}.f64", add_f64, f64, f64, f64, a + b)
RR2("add.<rz,rm,rp>.f64", add_r_f64, f64, f64, f64, a + b)
N2("sub{,.rn}.f32", sub_f32, f32, f32, f32, a - b)
N2("sub{,.rn}.ftz.f32", sub_ftz, f32, f32, f32, ftz(ftz(a) - ftz(b)))
R2("sub{,.rn}.sat.f32", sub_sat_f32, f32, f32, f32, sat_f32(a - b))
R2("sub{,.rn}.ftz.sat.f32", sub_ftz_sat, f32, f32, f32, sat_f32(ftz(ftz(a) - ftz(b))))
RR2("sub.<rz,rm,rp>.f32", sub_r_f32, f32, f32, f32, a - b)
RR2("sub.<rz,rm,rp>.ftz.f32", sub_r_ftz, f32, f32, f32, ftz(ftz(a) - ftz(b)))
R2("sub{,.rn}.f64", sub_f64, f64, f64, f64, a - b)
RR2("sub.<rz,rm,rp>.f64", sub_r_f64, f64, f64, f64, a - b)
N2("mul{,.rn}.f32", mul_f32, f32, f32, f32, a * b)
N2("mul{,.rn}.ftz.f32", mul_ftz, f32, f32, f32, ftz(ftz(a) * ftz(b)))
R2("mul{,.rn}.sat.f32", mul_sat_f32, f32, f32, f32, sat_f32(a * b))
R2("mul{,.rn}.ftz.sat.f32", mul_ftz_sat, f32, f32, f32, sat_f32(ftz(ftz(a) * ftz(b))))
RR2("mul.<rz,rm,rp>.f32", mul_r_f32, f32, f32, f32, a * b)
RR2("mul.<rz,rm,rp>.ftz.f32", mul_r_ftz, f32, f32, f32, ftz(ftz(a) * ftz(b)))
R2("mul{,.rn}.f64", mul_f64, f64, f64, f64, a * b)
RR2("mul.<rz,rm,rp>.f64", mul_r_f64, f64, f64, f64, a * b)
N3("{fma,mad}{,.rn}.f32", fma_f32, f32, f32, f32, f32, fmaf(a, b, c))
N3("{fma,mad}{,.rn}.ftz.f32", fma_ftz, f32, f32, f32, f32, ftz(fmaf(ftz(a), ftz(b), ftz(c))))
R3("{fma,mad}{,.rn}.sat.f32", fma_sat, f32, f32, f32, f32, sat_f32(fmaf(a, b, c)))
R3("{fma,mad}{,.rn}.ftz.sat.f32", fma_ftz_sat, f32, f32, f32, f32, sat_f32(ftz(fmaf(ftz(a), ftz(b), ftz(c)))))
RR3("{fma,mad}.<rz,rm,rp>.f32", fma_r_f32, f32, f32, f32, f32, fmaf(a, b, c))
RR3("{fma,mad}.<rz,rm,rp>.ftz.f32", fma_r_ftz, f32, f32, f32, f32, ftz(fmaf(ftz(a), ftz(b), ftz(c))))
R3("{fma,mad}{,.rn}.f64", fma_f64, f64, f64, f64, f64, fma(a, b, c))
RR3("{fma,mad}.<rz,rm,rp>.f64", fma_r_f64, f64, f64, f64, f64, fma(a, b, c))

N2("div{.rn,.full,.approx}.f32", div_f32, f32, f32, f32, a / b)
N2("div{.rn,.full,.approx}.ftz.f32", div_ftz, f32, f32, f32, ftz(ftz(a) / ftz(b)))
RR2("div.<rz,rm,rp>.f32", div_r_f32, f32, f32, f32, a / b)
RR2("div.<rz,rm,rp>.ftz.f32", div_r_ftz, f32, f32, f32, ftz(ftz(a) / ftz(b)))
R2("div.rn.f64", div_f64, f64, f64, f64, a / b)
RR2("div.<rz,rm,rp>.f64", div_r_f64, f64, f64, f64, a / b)
N1("rcp{.rn,.approx}.f32", rcp_f32, f32, f32, 1.0f / a)
N1("rcp{.rn,.approx}.ftz.f32", rcp_ftz, f32, f32, ftz(1.0f / ftz(a)))
RR1("rcp.<rz,rm,rp>.f32", rcp_r_f32, f32, f32, 1.0f / a)
RR1("rcp.<rz,rm,rp>.ftz.f32", rcp_r_ftz, f32, f32, ftz(1.0f / ftz(a)))
R1("rcp.rn.f64", rcp_f64, f64, f64, 1.0 / a)
R1("rcp.approx.ftz.f64", rcp_ftz_f64, f64, f64, ftz_f64(1.0 / ftz_f64(a)))
RR1("rcp.<rz,rm,rp>.f64", rcp_r_f64, f64, f64, 1.0 / a)
N1("sqrt{.rn,.approx}.f32", sqrt_f32, f32, f32, sqrtf(a))
N1("sqrt{.rn,.approx}.ftz.f32", sqrt_ftz, f32, f32, sqrtf(ftz(a)))
RR1("sqrt.<rz,rm,rp>.f32", sqrt_r_f32, f32, f32, sqrtf(a))
RR1("sqrt.<rz,rm,rp>.ftz.f32", sqrt_r_ftz, f32, f32, sqrtf(ftz(a)))
R1("sqrt.rn.f64", sqrt_f64, f64, f64, sqrt(a))
RR1("sqrt.<rz,rm,rp>.f64", sqrt_r_f64, f64, f64, sqrt(a))
N1("rsqrt.approx.f32", rsqrt_f32, f32, f32, rsqrt_f32(a))
N1("rsqrt.approx.ftz.f32", rsqrt_ftz, f32, f32, ftz(rsqrt_f32(ftz(a))))
R1("rsqrt.approx.f64", rsqrt_f64, f64, f64, 1.0 / sqrt(a))
R1("rsqrt.approx.ftz.f64", rsqrt_ftz_f64, f64, f64, 1.0 / sqrt(ftz_f64(a)))
N1("sin.approx.f32", sin_f32, f32, f32, sinf(a))
N1("sin.approx.ftz.f32", sin_ftz, f32, f32, ftz(sinf(ftz(a))))
N1("cos.approx.f32", cos_f32, f32, f32, cosf(a))
N1("cos.approx.ftz.f32", cos_ftz, f32, f32, ftz(cosf(ftz(a))))
N1("lg2.approx.f32", lg2_f32, f32, f32, log2f(a))
N1("lg2.approx.ftz.f32", lg2_ftz, f32, f32, log2f(ftz(a)))
N1("ex2.approx.f32", ex2_f32, f32, f32, exp2f(a))
N1("ex2.approx.ftz.f32", ex2_ftz, f32, f32, ftz(exp2f(ftz(a))))
N1("tanh.approx.f32", tanh_f32, f32, f32, tanhf(a))

N1("abs.f32", abs_f32, f32, f32, fabsf(a))
N1("abs.ftz.f32", abs_ftz, f32, f32, ftz(fabsf(a)))
R1("abs.f64", abs_f64, u64, u64, a & 0x7fffffffffffffffull)
N1("neg.f32", neg_f32, f32, f32, -a)
N1("neg.ftz.f32", neg_ftz, f32, f32, ftz(-a))
R1("neg.f64", neg_f64, u64, u64, a ^ 0x8000000000000000ull)
R2("copysign.f32", copysign_f32, u32, u32, u32, (b & 0x7fffffffu) | (a & 0x80000000u))
R2("copysign.f64", copysign_f64, u64, u64, u64, (b & 0x7fffffffffffffffull) | (a & 0x8000000000000000ull))
R2("min.f32", min_f32, f32, f32, f32, min_f32_of(a, b))
R2("min.ftz.f32", min_ftz, f32, f32, f32, min_f32_of(ftz(a), ftz(b)))
R2("min.NaN.f32", min_nan, f32, f32, f32, nan_f32(a, b, min_f32_of(a, b)))
R2("min.ftz.NaN.f32", min_nan_ftz, f32, f32, f32, nan_f32(a, b, min_f32_of(ftz(a), ftz(b))))
R2("min.xorsign.abs.f32", min_xorsign, f32, f32, f32, xorsign_f32(min_f32_of(fabsf(a), fabsf(b)), a, b))
R2("min.ftz.xorsign.abs.f32", min_xorsign_ftz, f32, f32, f32,
   xorsign_f32(min_f32_of(fabsf(ftz(a)), fabsf(ftz(b))), a, b))
R2("max.f32", max_f32, f32, f32, f32, max_f32_of(a, b))
R2("max.ftz.f32", max_ftz, f32, f32, f32, max_f32_of(ftz(a), ftz(b)))
R2("max.NaN.f32", max_nan, f32, f32, f32, nan_f32(a, b, max_f32_of(a, b)))
R2("max.ftz.NaN.f32", max_nan_ftz, f32, f32, f32, nan_f32(a, b, max_f32_of(ftz(a), ftz(b))))
R2("max.xorsign.abs.f32", max_xorsign, f32, f32, f32, xorsign_f32(max_f32_of(fabsf(a), fabsf(b)), a, b))
R2("max.ftz.xorsign.abs.f32", max_xorsign_ftz, f32, f32, f32,
   xorsign_f32(max_f32_of(fabsf(ftz(a)), fabsf(ftz(b))), a, b))
R2("min.f64", min_f64, f64, f64, f64, min_f64_of(a, b))
R2("max.f64", max_f64, f64, f64, f64, max_f64_of(a, b))
RH("testp.<finite,infinite,number,notanumber,normal,subnormal>.f32", testp_32, FORM_PLAIN, 2, TY_pred, TY_f32)
RH("testp.<finite,infinite,number,notanumber,normal,subnormal>.f64", testp_64, FORM_PLAIN, 2, TY_pred, TY_f64)

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
R1("ex2.approx{,.ftz}.f16", ex2_f16, f16, f16, (u16)f2h(exp2f(h2f(a))))
R1("tanh.approx.f16", tanh_f16, f16, f16, (u16)f2h(tanhf(h2f(a))))
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
R1("ex2.approx{,.ftz}.f16x2", ex2_f16x2, u32, u32, PAIR1(f2h(exp2f(h2f(x)))))
R1("tanh.approx.f16x2", tanh_f16x2, u32, u32, PAIR1(f2h(tanhf(h2f(x)))))
R2("add{,.rn}.bf16", add_bf16, bf16, bf16, bf16, (u16)bfma(0x3f80, a, b))
R2("sub{,.rn}.bf16", sub_bf16, bf16, bf16, bf16, (u16)bfma(0x3f80, a, b ^ 0x8000))
R2("mul{,.rn}.bf16", mul_bf16, bf16, bf16, bf16, (u16)bfma(a, b, (u32)((a ^ b) & 0x8000)))
R3("fma.rn.bf16", fma_bf16, bf16, bf16, bf16, bf16, (u16)bfma(a, b, c))
R3("fma.rn.relu.bf16", fma_relu_bf16, bf16, bf16, bf16, bf16, (u16)brelu(bfma(a, b, c)))
R2("min.bf16", min_bf16, bf16, bf16, bf16, (u16)bmin(a, b))
R2("max.bf16", max_bf16, bf16, bf16, bf16, (u16)bmax(a, b))
R1("ex2.approx.ftz.bf16", ex2_bf16, bf16, bf16, (u16)f2b(exp2f(b2f(a))))
R1("tanh.approx.bf16", tanh_bf16, bf16, bf16, (u16)f2b(tanhf(b2f(a))))
R2("add{,.rn}.bf16x2", add_bf16x2, u32, u32, u32, PAIR2(bfma(0x3f80, x, y)))
R2("sub{,.rn}.bf16x2", sub_bf16x2, u32, u32, u32, PAIR2(bfma(0x3f80, x, y ^ 0x8000)))
R2("mul{,.rn}.bf16x2", mul_bf16x2, u32, u32, u32, PAIR2(bfma(x, y, (x ^ y) & 0x8000)))
R3("fma.rn.bf16x2", fma_bf16x2, u32, u32, u32, u32, PAIR3(bfma(x, y, z)))
R3("fma.rn.relu.bf16x2", fma_relu_bf16x2, u32, u32, u32, u32, PAIR3(brelu(bfma(x, y, z))))
R2("min.bf16x2", min_bf16x2, u32, u32, u32, PAIR2(bmin(x, y)))
R2("max.bf16x2", max_bf16x2, u32, u32, u32, PAIR2(bmax(x, y)))

#define COMPAREF(t, op, names, id, cond) R2F("setp." op names, setp_##id##_##t, FORM_SETP, pred, t, t, P(cond))
COMPARE_FLOAT(f32, ".f32", a, b)
COMPARE_FLOAT(f64, ".f64", a, b)
#undef COMPAREF
#define COMPAREF(t, op, names, id, cond)                                                                              \
	R2F("setp." op names, setp_##id##_ftz, FORM_SETP, pred, t, t, ({                                              \
		    f32 x = ftz(a), y = ftz(b);                                                                       \
		    P(cond);                                                                                           \
	    }))
COMPARE_FLOAT(f32, ".ftz.f32", x, y)
#undef COMPAREF
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
RF("set.{eq,ne,lt,le,gt,ge,lo,ls,hi,hs,equ,neu,ltu,leu,gtu,geu,num,nan}{,.ftz}.{u16,s16,f16,bf16,u32,s32,f32}."
   "{b16,u16,s16,b32,u32,s32,b64,u64,s64,f16,bf16,f32,f64}",
   FORM_SET, 0)
RF("setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{,.ftz}.f16x2", FORM_SETP_PAIR, 0)
RF("setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.bf16x2", FORM_SETP_PAIR, 0)

/* Both halves at once: 1.0 or all ones where the comparison holds. */
#define COMPAREF(t, op, names, id, cond)                                                                              \
	R2("set." op ".f16x2.f16x2", set_##id##_f16x2, u32, u32, u32,                                                  \
	   PAIR2(({ f32 p = h2f(x), q = h2f(y); (cond) ? 0x3c00u : 0; })))                                             \
	R2("set." op ".ftz.f16x2.f16x2", set_##id##_ftz_f16x2, u32, u32, u32,                                          \
	   PAIR2(({ f32 p = h2f(hftz(x)), q = h2f(hftz(y)); (cond) ? 0x3c00u : 0; })))                                 \
	R2("set." op ".{u32,s32}.f16x2", set_##id##_u32_f16x2, u32, u32, u32,                                          \
	   PAIR2(({ f32 p = h2f(x), q = h2f(y); (cond) ? 0xffffu : 0; })))                                             \
	R2("set." op ".ftz.{u32,s32}.f16x2", set_##id##_ftz_u32_f16x2, u32, u32, u32,                                  \
	   PAIR2(({ f32 p = h2f(hftz(x)), q = h2f(hftz(y)); (cond) ? 0xffffu : 0; })))                                 \
	R2("set." op ".bf16x2.bf16x2", set_##id##_bf16x2, u32, u32, u32,                                               \
	   PAIR2(({ f32 p = b2f(x), q = b2f(y); (cond) ? 0x3f80u : 0; })))                                             \
	R2("set." op ".{u32,s32}.bf16x2", set_##id##_u32_bf16x2, u32, u32, u32,                                        \
	   PAIR2(({ f32 p = b2f(x), q = b2f(y); (cond) ? 0xffffu : 0; })))
COMPARE_FLOAT(f16x2, "", p, q)
#undef COMPAREF
