/*
 * rows_float.h: floating point instructions, one row each. Read twice by rows.h.
 * N1, N2 and N3 are R1, R2 and R3 whose results of f32 have the devices' bits when they are not a number; P2 and P3
 * compute on two f32 side by side, in the same way.
 */

N2("add{,.rn}.f32", add_f32, f32, f32, f32, a + b)
N2("add{,.rn}.ftz.f32", add_ftz, f32, f32, f32, ftz(ftz(a) + ftz(b)))
R2("add{,.rn}.sat.f32", add_sat_f32, f32, f32, f32, sat_f32(a + b))
R2("add{,.rn}.ftz.sat.f32", add_ftz_sat, f32, f32, f32, sat_f32(ftz(ftz(a) + ftz(b))))
R2("add{,.rn}.f64", add_f64, f64, f64, f64, a + b)
N2("sub{,.rn}.f32", sub_f32, f32, f32, f32, a - b)
N2("sub{,.rn}.ftz.f32", sub_ftz, f32, f32, f32, ftz(ftz(a) - ftz(b)))
R2("sub{,.rn}.sat.f32", sub_sat_f32, f32, f32, f32, sat_f32(a - b))
R2("sub{,.rn}.ftz.sat.f32", sub_ftz_sat, f32, f32, f32, sat_f32(ftz(ftz(a) - ftz(b))))
R2("sub{,.rn}.f64", sub_f64, f64, f64, f64, a - b)
N2("mul{,.rn}.f32", mul_f32, f32, f32, f32, a * b)
N2("mul{,.rn}.ftz.f32", mul_ftz, f32, f32, f32, ftz(ftz(a) * ftz(b)))
R2("mul{,.rn}.sat.f32", mul_sat_f32, f32, f32, f32, sat_f32(a * b))
R2("mul{,.rn}.ftz.sat.f32", mul_ftz_sat, f32, f32, f32, sat_f32(ftz(ftz(a) * ftz(b))))
R2("mul{,.rn}.f64", mul_f64, f64, f64, f64, a * b)
N3("{fma,mad}{,.rn}.f32", fma_f32, f32, f32, f32, f32, fmaf(a, b, c))
N3("{fma,mad}{,.rn}.ftz.f32", fma_ftz, f32, f32, f32, f32, ftz(fmaf(ftz(a), ftz(b), ftz(c))))
R3("{fma,mad}{,.rn}.sat.f32", fma_sat, f32, f32, f32, f32, sat_f32(fmaf(a, b, c)))
R3("{fma,mad}{,.rn}.ftz.sat.f32", fma_ftz_sat, f32, f32, f32, f32, sat_f32(ftz(fmaf(ftz(a), ftz(b), ftz(c)))))
R3("{fma,mad}{,.rn}.f64", fma_f64, f64, f64, f64, f64, fma(a, b, c))
N4("%scaleadd.f32", scale_add, f32, s32, f32, f32, f32, fmaf((f32)a * b, c, e))
N4("%scaleadd.ftz.f32", scale_add_ftz, f32, s32, f32, f32, f32, ftz(fmaf(ftz((f32)a * ftz(b)), ftz(c), ftz(e))))
P2("add{,.rn}.f32x2", add_f32x2, a + b)
P2("add{,.rn}.ftz.f32x2", add_ftz_f32x2, ftz(ftz(a) + ftz(b)))
P2("sub{,.rn}.f32x2", sub_f32x2, a - b)
P2("sub{,.rn}.ftz.f32x2", sub_ftz_f32x2, ftz(ftz(a) - ftz(b)))
P2("mul{,.rn}.f32x2", mul_f32x2, a * b)
P2("mul{,.rn}.ftz.f32x2", mul_ftz_f32x2, ftz(ftz(a) * ftz(b)))
P3("fma.rn.f32x2", fma_f32x2, fmaf(a, b, c))

N2("div{.rn,.full,.approx}.f32", div_f32, f32, f32, f32, a / b)
N2("div{.rn,.full,.approx}.ftz.f32", div_ftz, f32, f32, f32, ftz(ftz(a) / ftz(b)))
R2("div.rn.f64", div_f64, f64, f64, f64, a / b)
N1("rcp{.rn,.approx}.f32", rcp_f32, f32, f32, 1.0f / a)
N1("rcp{.rn,.approx}.ftz.f32", rcp_ftz, f32, f32, ftz(1.0f / ftz(a)))
R1("rcp.rn.f64", rcp_f64, f64, f64, 1.0 / a)
R1("rcp.approx.ftz.f64", rcp_ftz_f64, f64, f64, ftz_f64(1.0 / ftz_f64(a)))
N1("sqrt{.rn,.approx}.f32", sqrt_f32, f32, f32, sqrtf(a))
N1("sqrt{.rn,.approx}.ftz.f32", sqrt_ftz, f32, f32, sqrtf(ftz(a)))
R1("sqrt.rn.f64", sqrt_f64, f64, f64, sqrt(a))
N1("rsqrt.approx.f32", rsqrt_f32, f32, f32, rsqrt_f32(a))
N1("rsqrt.approx.ftz.f32", rsqrt_ftz, f32, f32, ftz(rsqrt_f32(ftz(a))))
R1("rsqrt.approx.f64", rsqrt_f64, f64, f64, 1.0 / sqrt(a))
R1("rsqrt.approx.ftz.f64", rsqrt_ftz_f64, f64, f64, 1.0 / sqrt(ftz_f64(a)))
RH("sin.approx.f32", sin_f32, FORM_PLAIN, 2, TY_f32, TY_f32)
RH("sin.approx.ftz.f32", sin_ftz, FORM_PLAIN, 2, TY_f32, TY_f32)
RH("cos.approx.f32", cos_f32, FORM_PLAIN, 2, TY_f32, TY_f32)
RH("cos.approx.ftz.f32", cos_ftz, FORM_PLAIN, 2, TY_f32, TY_f32)
N1("lg2.approx.f32", lg2_f32, f32, f32, lg2_of(a))
N1("lg2.approx.ftz.f32", lg2_ftz, f32, f32, lg2_of(ftz(a)))
N1("ex2.approx.f32", ex2_f32, f32, f32, ex2_of(a))
N1("ex2.approx.ftz.f32", ex2_ftz, f32, f32, ftz(ex2_of(ftz(a))))
N1("tanh.approx.f32", tanh_f32, f32, f32, tanh_of(a))

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
RF("set.{eq,ne,lt,le,gt,ge,lo,ls,hi,hs,equ,neu,ltu,leu,gtu,geu,num,nan}{,.ftz}.{u16,s16,f16,bf16,u32,s32,f32}."
   "{b16,u16,s16,b32,u32,s32,b64,u64,s64,f16,bf16,f32,f64}",
   FORM_SET, 0)
