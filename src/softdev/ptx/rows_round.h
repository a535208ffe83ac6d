/*
 * rows_round.h: arithmetic and conversions with a rounding other than to nearest. Built once: the host's rounding mode
 * is switched around a loop that the compiler cannot look through, so that no instruction set makes it faster. The
 * number of the rounding goes to round_begin().
 */

RR2("add.<rz,rm,rp>.f32", add_r_f32, f32, f32, f32, a + b)
RR2("add.<rz,rm,rp>.ftz.f32", add_r_ftz, f32, f32, f32, ftz(ftz(a) + ftz(b)))
RR2("add.<rz,rm,rp>.f64", add_r_f64, f64, f64, f64, a + b)
RR2("sub.<rz,rm,rp>.f32", sub_r_f32, f32, f32, f32, a - b)
RR2("sub.<rz,rm,rp>.ftz.f32", sub_r_ftz, f32, f32, f32, ftz(ftz(a) - ftz(b)))
RR2("sub.<rz,rm,rp>.f64", sub_r_f64, f64, f64, f64, a - b)
RR2("mul.<rz,rm,rp>.f32", mul_r_f32, f32, f32, f32, a * b)
RR2("mul.<rz,rm,rp>.ftz.f32", mul_r_ftz, f32, f32, f32, ftz(ftz(a) * ftz(b)))
RR2("mul.<rz,rm,rp>.f64", mul_r_f64, f64, f64, f64, a * b)
RR3("{fma,mad}.<rz,rm,rp>.f32", fma_r_f32, f32, f32, f32, f32, fmaf(a, b, c))
RR3("{fma,mad}.<rz,rm,rp>.ftz.f32", fma_r_ftz, f32, f32, f32, f32, ftz(fmaf(ftz(a), ftz(b), ftz(c))))
RR3("{fma,mad}.<rz,rm,rp>.f64", fma_r_f64, f64, f64, f64, f64, fma(a, b, c))
/* Clamped to [0, 1], and with 16-bit sources. */
#define DIRECTED_SAT(op, sign)                                                                                         \
	RR2(#op ".<rz,rm,rp>.sat.f32", op##_r_sat_f32, f32, f32, f32, sat_f32(a sign b))                               \
	RR2(#op ".<rz,rm,rp>.sat.ftz.f32", op##_r_sat_ftz, f32, f32, f32, sat_f32(ftz(ftz(a) sign ftz(b))))            \
	RR2(#op ".<rz,rm,rp>.f32.f16", op##_r_f32_f16, f32, f16, f32, h2f(a) sign b)                                   \
	RR2(#op ".<rz,rm,rp>.f32.bf16", op##_r_f32_bf16, f32, bf16, f32, b2f(a) sign b)                                \
	RR2(#op ".<rz,rm,rp>.sat.f32.f16", op##_r_sat_f32_f16, f32, f16, f32, sat_f32(h2f(a) sign b))                  \
	RR2(#op ".<rz,rm,rp>.sat.f32.bf16", op##_r_sat_f32_bf16, f32, bf16, f32, sat_f32(b2f(a) sign b))
DIRECTED_SAT(add, +)
DIRECTED_SAT(sub, -)
RR3("fma.<rz,rm,rp>.sat.f32", fma_r_sat_f32, f32, f32, f32, f32, sat_f32(fmaf(a, b, c)))
RR3("fma.<rz,rm,rp>.sat.ftz.f32", fma_r_sat_ftz, f32, f32, f32, f32, sat_f32(ftz(fmaf(ftz(a), ftz(b), ftz(c)))))
RR3("fma.<rz,rm,rp>.f32.f16", fma_r_f32_f16, f32, f16, f16, f32, fmaf(h2f(a), h2f(b), c))
RR3("fma.<rz,rm,rp>.f32.bf16", fma_r_f32_bf16, f32, bf16, bf16, f32, fmaf(b2f(a), b2f(b), c))
RR3("fma.<rz,rm,rp>.sat.f32.f16", fma_r_sat_f32_f16, f32, f16, f16, f32, sat_f32(fmaf(h2f(a), h2f(b), c)))
RR3("fma.<rz,rm,rp>.sat.f32.bf16", fma_r_sat_f32_bf16, f32, bf16, bf16, f32, sat_f32(fmaf(b2f(a), b2f(b), c)))
RR2("div.<rz,rm,rp>.f32", div_r_f32, f32, f32, f32, a / b)
RR2("div.<rz,rm,rp>.ftz.f32", div_r_ftz, f32, f32, f32, ftz(ftz(a) / ftz(b)))
RR2("div.<rz,rm,rp>.f64", div_r_f64, f64, f64, f64, a / b)
RR1("rcp.<rz,rm,rp>.f32", rcp_r_f32, f32, f32, 1.0f / a)
RR1("rcp.<rz,rm,rp>.ftz.f32", rcp_r_ftz, f32, f32, ftz(1.0f / ftz(a)))
RR1("rcp.<rz,rm,rp>.f64", rcp_r_f64, f64, f64, 1.0 / a)
RR1("sqrt.<rz,rm,rp>.f32", sqrt_r_f32, f32, f32, sqrtf(a))
RR1("sqrt.<rz,rm,rp>.ftz.f32", sqrt_r_ftz, f32, f32, sqrtf(ftz(a)))
RR1("sqrt.<rz,rm,rp>.f64", sqrt_r_f64, f64, f64, sqrt(a))
/* Two f32 side by side. */
#define EACH_F32(F, e)                                                                                                 \
	TWO_F32(({ const f32 x = F(f32_of((u32)a)), y = F(f32_of((u32)b)); e; }),                                      \
		({ const f32 x = F(f32_of((u32)(a >> 32))), y = F(f32_of((u32)(b >> 32))); e; }))
#define SAME(x) (x)
RR2("add.<rz,rm,rp>.f32x2", add_r_f32x2, u64, u64, u64, EACH_F32(SAME, x + y))
RR2("add.<rz,rm,rp>.ftz.f32x2", add_r_ftz_f32x2, u64, u64, u64, EACH_F32(ftz, ftz(x + y)))
RR2("sub.<rz,rm,rp>.f32x2", sub_r_f32x2, u64, u64, u64, EACH_F32(SAME, x - y))
RR2("sub.<rz,rm,rp>.ftz.f32x2", sub_r_ftz_f32x2, u64, u64, u64, EACH_F32(ftz, ftz(x - y)))
RR2("mul.<rz,rm,rp>.f32x2", mul_r_f32x2, u64, u64, u64, EACH_F32(SAME, x * y))
RR2("mul.<rz,rm,rp>.ftz.f32x2", mul_r_ftz_f32x2, u64, u64, u64, EACH_F32(ftz, ftz(x * y)))
RR1("cvt.<rz,rm,rp>.f32.f64", cvt_r_f32_f64, f32, f64, (f32)a)
#define DIRECTED_FROM(from)                                                                                            \
	RR1("cvt.<rz,rm,rp>.f32." #from, cvt_r_f32_##from, f32, from, int_directed(f32, a))                            \
	RR1("cvt.<rz,rm,rp>.f64." #from, cvt_r_f64_##from, f64, from, int_directed(f64, a))
DIRECTED_FROM(u8)
DIRECTED_FROM(s8)
DIRECTED_FROM(u16)
DIRECTED_FROM(s16)
DIRECTED_FROM(u32)
DIRECTED_FROM(s32)
DIRECTED_FROM(u64)
DIRECTED_FROM(s64)
