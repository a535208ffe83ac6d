/*
 * rows_narrow.h: conversions to and from floats of 4 to 8 bits, the rarer ones of f16, bf16 and tf32, and 16-bit and
 * packed arithmetic that newer targets have.
 */

/* Pairs of 8-bit floats: the first source goes into the upper half. */
#define NARROW_PAIR(f, bits)                                                                                           \
	R2("cvt.rn.satfinite." #f "x2.f32", cvt_##f##_f32, u32, f32, f32, PACKED(f, bits, a, b, false))                \
	R2("cvt.rn.satfinite.relu." #f "x2.f32", cvt_relu_##f##_f32, u32, f32, f32, PACKED(f, bits, a, b, true))       \
	R1("cvt.rn{,.satfinite}.f16x2." #f "x2", cvt_f16x2_##f, u32, u32,                                              \
	   f2h(UPPER(f, bits)) << 16 | f2h(LOWER(f, bits)))                                                            \
	R1("cvt.rn{,.satfinite}.relu.f16x2." #f "x2", cvt_relu_f16x2_##f, u32, u32,                                    \
	   hrelu(f2h(UPPER(f, bits))) << 16 | hrelu(f2h(LOWER(f, bits))))                                              \
	R1("cvt.rn.satfinite." #f "x2.f16x2", cvt_##f##_f16x2, u32, u32,                                               \
	   PACKED(f, bits, h2f(a >> 16), h2f(a & 0xffff), false))                                                      \
	R1("cvt.rn.satfinite.relu." #f "x2.f16x2", cvt_relu_##f##_f16x2, u32, u32,                                     \
	   PACKED(f, bits, h2f(a >> 16), h2f(a & 0xffff), true))                                                       \
	R1("cvt.rn.satfinite." #f "x2.bf16x2", cvt_##f##_bf16x2, u32, u32,                                             \
	   PACKED(f, bits, b2f(a >> 16), b2f(a & 0xffff), false))                                                      \
	R1("cvt.rn.satfinite.relu." #f "x2.bf16x2", cvt_relu_##f##_bf16x2, u32, u32,                                   \
	   PACKED(f, bits, b2f(a >> 16), b2f(a & 0xffff), true))                                                       \
	R1("cvt.rn{,.satfinite}.bf16x2." #f "x2", cvt_bf16x2_##f, u32, u32,                                            \
	   f2b(UPPER(f, bits)) << 16 | f2b(LOWER(f, bits)))                                                            \
	R1("cvt.rn{,.satfinite}.relu.bf16x2." #f "x2", cvt_relu_bf16x2_##f, u32, u32,                                  \
	   brelu(f2b(UPPER(f, bits))) << 16 | brelu(f2b(LOWER(f, bits))))
NARROW_PAIR(e4m3, 8)
NARROW_PAIR(e5m2, 8)
NARROW_PAIR(e2m3, 8)
NARROW_PAIR(e3m2, 8)
NARROW_PAIR(e2m1, 4)
#define SCALE_PAIR(words, name, up, finite)                                                                            \
	R2("cvt." words ".ue8m0x2.f32", cvt_##name##_ue8m0_f32, u32, f32, f32,                                         \
	   scale_of(a, up, finite) << 8 | scale_of(b, up, finite))                                                     \
	R1("cvt." words ".ue8m0x2.bf16x2", cvt_##name##_ue8m0_bf16x2, u32, u32,                                        \
	   scale_of(b2f(a >> 16), up, finite) << 8 | scale_of(b2f(a & 0xffff), up, finite))
SCALE_PAIR("rz", rz, false, false)
SCALE_PAIR("rp", rp, true, false)
SCALE_PAIR("rz.satfinite", rz_fin, false, true)
SCALE_PAIR("rp.satfinite", rp_fin, true, true)
R1("cvt.rn.bf16x2.ue8m0x2", cvt_bf16x2_ue8m0, u32, u32, scale_value(a >> 8 & 255) << 16 | scale_value(a & 255))

/* Integers to 16-bit floats, rounded as asked. */
#define DIRECTED_INT(from)                                                                                             \
	R1("cvt.rz.f16." #from, cvt_rz_f16_##from, u32, from, f2h_dir(int_odd(a), 0))                                  \
	R1("cvt.rm.f16." #from, cvt_rm_f16_##from, u32, from, f2h_dir(int_odd(a), 1))                                  \
	R1("cvt.rp.f16." #from, cvt_rp_f16_##from, u32, from, f2h_dir(int_odd(a), 2))                                  \
	R1("cvt.rz.bf16." #from, cvt_rz_bf16_##from, u32, from, f2b_dir(int_odd(a), 0))                                \
	R1("cvt.rm.bf16." #from, cvt_rm_bf16_##from, u32, from, f2b_dir(int_odd(a), 1))                                \
	R1("cvt.rp.bf16." #from, cvt_rp_bf16_##from, u32, from, f2b_dir(int_odd(a), 2))
DIRECTED_INT(u8)
DIRECTED_INT(s8)
DIRECTED_INT(u16)
DIRECTED_INT(s16)
DIRECTED_INT(u32)
DIRECTED_INT(s32)
DIRECTED_INT(u64)
DIRECTED_INT(s64)

/* Between floats. */
R1("cvt.rm.bf16.f32", cvt_rm_bf16_f32, u32, f32, f2b_dir(a, 1))
R1("cvt.rp.bf16.f32", cvt_rp_bf16_f32, u32, f32, f2b_dir(a, 2))
R1("cvt.rz.f16.f64", cvt_rz_f16_f64, u32, f64, f2h_dir(odd_f32(a), 0))
R1("cvt.rm.f16.f64", cvt_rm_f16_f64, u32, f64, f2h_dir(odd_f32(a), 1))
R1("cvt.rp.f16.f64", cvt_rp_f16_f64, u32, f64, f2h_dir(odd_f32(a), 2))
R1("cvt.rz.bf16.f64", cvt_rz_bf16_f64, u32, f64, f2b_dir(odd_f32(a), 0))
R1("cvt.rm.bf16.f64", cvt_rm_bf16_f64, u32, f64, f2b_dir(odd_f32(a), 1))
R1("cvt.rp.bf16.f64", cvt_rp_bf16_f64, u32, f64, f2b_dir(odd_f32(a), 2))
R1("cvt.rni.bf16.bf16", cvt_rni_bf16, u32, bf16, f2b(rintf(b2f(a))))
R1("cvt.rzi.bf16.bf16", cvt_rzi_bf16, u32, bf16, f2b(truncf(b2f(a))))
R1("cvt.rmi.bf16.bf16", cvt_rmi_bf16, u32, bf16, f2b(floorf(b2f(a))))
R1("cvt.rpi.bf16.bf16", cvt_rpi_bf16, u32, bf16, f2b(ceilf(b2f(a))))
R1("cvt.f16.f16", cvt_f16_f16, u32, f16, a)
R1("cvt{.sat,.rn.sat}.f16.f16", cvt_sat_f16_f16, u32, f16, hsat(a))
R1("cvt.sat.f32.f16", cvt_sat_f32_f16, f32, f16, sat_f32(h2f(a)))
R1("cvt.rn.satfinite.f16.f32", cvt_fin_f16_f32, u32, f32, hfinite(f2h(a)))
R1("cvt.rn.relu.satfinite.f16.f32", cvt_relu_fin_f16_f32, u32, f32, hrelu(hfinite(f2h(a))))
R1("cvt.rz{,.ftz}.relu.f16.f32", cvt_rz_relu_f16_f32, u32, f32, hrelu(f2h_dir(a, 0)))
R1("cvt.rn.satfinite.bf16.f32", cvt_fin_bf16_f32, u32, f32, bfinite(f2b(a)))
R1("cvt.rn.relu.satfinite.bf16.f32", cvt_relu_fin_bf16_f32, u32, f32, brelu(bfinite(f2b(a))))
R1("cvt.rz.relu.bf16.f32", cvt_rz_relu_bf16_f32, u32, f32, brelu(f2b_dir(a, 0)))
R2("cvt.rn.satfinite.f16x2.f32", cvt_fin_f16x2_f32, u32, f32, f32, hfinite(f2h(a)) << 16 | hfinite(f2h(b)))
R2("cvt.rn.relu.satfinite.f16x2.f32", cvt_relu_fin_f16x2_f32, u32, f32, f32,
   hrelu(hfinite(f2h(a))) << 16 | hrelu(hfinite(f2h(b))))
R2("cvt.rz.relu.f16x2.f32", cvt_rz_relu_f16x2_f32, u32, f32, f32, hrelu(f2h_dir(a, 0)) << 16 | hrelu(f2h_dir(b, 0)))
R2("cvt.rn.satfinite.bf16x2.f32", cvt_fin_bf16x2_f32, u32, f32, f32, bfinite(f2b(a)) << 16 | bfinite(f2b(b)))
R2("cvt.rn.relu.satfinite.bf16x2.f32", cvt_relu_fin_bf16x2_f32, u32, f32, f32,
   brelu(bfinite(f2b(a))) << 16 | brelu(bfinite(f2b(b))))
R2("cvt.rz.bf16x2.f32", cvt_rz_bf16x2_f32, u32, f32, f32, f2b_dir(a, 0) << 16 | f2b_dir(b, 0))
R2("cvt.rz.relu.bf16x2.f32", cvt_rz_relu_bf16x2_f32, u32, f32, f32, brelu(f2b_dir(a, 0)) << 16 | brelu(f2b_dir(b, 0)))
R1("cvt.rn.relu.tf32.f32", cvt_relu_tf32_f32, u32, f32, a <= 0 ? 0 : tf32_of(a))
R1("cvt.rz.tf32.f32", cvt_rz_tf32_f32, u32, f32, tf32_toward_zero(a))
R1("cvt.rz.relu.tf32.f32", cvt_rz_relu_tf32_f32, u32, f32, a <= 0 ? 0 : tf32_toward_zero(a))
R1("cvt.rn.relu.satfinite.tf32.f32", cvt_relu_fin_tf32_f32, u32, f32, a <= 0 ? 0 : tf32_finite(tf32_of(a)))
R1("cvt.rz.satfinite.tf32.f32", cvt_rz_fin_tf32_f32, u32, f32, tf32_finite(tf32_toward_zero(a)))
R1("cvt.rz.relu.satfinite.tf32.f32", cvt_rz_relu_fin_tf32_f32, u32, f32,
   a <= 0 ? 0 : tf32_finite(tf32_toward_zero(a)))

/* Minimum and maximum in all their forms. */
#define MINMAX(op) \
	R2(#op ".NaN.f16x2", op##_nan_f16x2, u32, u32, u32, \
	   PAIR2(hnan(x, y, h##op(x, y)))) \
	R2(#op ".xorsign.abs.f16", op##_xorsign_f16, f16, f16, f16, \
	   (u16)HXORSIGN(h##op, a, b)) \
	R2(#op ".xorsign.abs.f16x2", op##_xorsign_f16x2, u32, u32, u32, \
	   PAIR2(HXORSIGN(h##op, x, y))) \
	R2(#op ".NaN.xorsign.abs.f16", op##_nan_xorsign_f16, f16, f16, f16, \
	   (u16)hnan(a, b, HXORSIGN(h##op, a, b))) \
	R2(#op ".NaN.xorsign.abs.f16x2", op##_nan_xorsign_f16x2, u32, u32, u32, \
	   PAIR2(hnan(x, y, HXORSIGN(h##op, x, y)))) \
	R2(#op ".NaN.xorsign.abs.f32", op##_nan_xorsign_f32, f32, f32, f32, \
	   nan_f32(a, b, xorsign_f32(op##_f32_of(fabsf(a), fabsf(b)), a, b))) \
	R2(#op ".ftz.NaN.f16x2", op##_nan_ftz_f16x2, u32, u32, u32, \
	   PAIR2(hnan(x, y, h##op(hftz(x), hftz(y))))) \
	R2(#op ".ftz.xorsign.abs.f16", op##_xorsign_ftz_f16, f16, f16, f16, \
	   (u16)HXORSIGN(h##op, hftz(a), hftz(b))) \
	R2(#op ".ftz.xorsign.abs.f16x2", op##_xorsign_ftz_f16x2, u32, u32, u32, \
	   PAIR2(HXORSIGN(h##op, hftz(x), hftz(y)))) \
	R2(#op ".ftz.NaN.xorsign.abs.f16", op##_nan_xorsign_ftz_f16, f16, f16, f16, \
	   (u16)hnan(a, b, HXORSIGN(h##op, hftz(a), hftz(b)))) \
	R2(#op ".ftz.NaN.xorsign.abs.f16x2", op##_nan_xorsign_ftz_f16x2, u32, u32, u32, \
	   PAIR2(hnan(x, y, HXORSIGN(h##op, hftz(x), hftz(y))))) \
	R2(#op ".ftz.NaN.xorsign.abs.f32", op##_nan_xorsign_ftz_f32, f32, f32, f32, \
	   nan_f32(a, b, xorsign_f32(op##_f32_of(fabsf(ftz(a)), fabsf(ftz(b))), a, b))) \
	R2(#op ".NaN.bf16", op##_nan_bf16, bf16, bf16, bf16, \
	   (u16)bnan(a, b, b##op(a, b))) \
	R2(#op ".NaN.bf16x2", op##_nan_bf16x2, u32, u32, u32, \
	   PAIR2(bnan(x, y, b##op(x, y)))) \
	R2(#op ".xorsign.abs.bf16", op##_xorsign_bf16, bf16, bf16, bf16, \
	   (u16)BXORSIGN(b##op, a, b)) \
	R2(#op ".xorsign.abs.bf16x2", op##_xorsign_bf16x2, u32, u32, u32, \
	   PAIR2(BXORSIGN(b##op, x, y))) \
	R2(#op ".NaN.xorsign.abs.bf16", op##_nan_xorsign_bf16, bf16, bf16, bf16, \
	   (u16)bnan(a, b, BXORSIGN(b##op, a, b))) \
	R2(#op ".NaN.xorsign.abs.bf16x2", op##_nan_xorsign_bf16x2, u32, u32, u32, \
	   PAIR2(bnan(x, y, BXORSIGN(b##op, x, y))))
MINMAX(min)
MINMAX(max)
R2("min.s32.relu", min_s32_relu, s32, s32, s32, a < b ? (a < 0 ? 0 : a) : b < 0 ? 0 : b)
R2("max.s32.relu", max_s32_relu, s32, s32, s32, a > b ? (a < 0 ? 0 : a) : b < 0 ? 0 : b)
R2("min{.s16x2.relu,.relu.s16x2}", min_s16x2_relu, u32, u32, u32, SIGNED_PAIR(x < y ? x : y))
R2("max{.s16x2.relu,.relu.s16x2}", max_s16x2_relu, u32, u32, u32, SIGNED_PAIR(x > y ? x : y))
R1("tanh.approx.bf16x2", tanh_bf16x2, u32, u32, PAIR1(f2b(tanh_of(b2f(x)))))
R1("ex2.approx.ftz.bf16x2", ex2_bf16x2, u32, u32, PAIR1(f2b(ex2_of(b2f(x)))))

/* A 16-bit source into an f32 sum. */
R2("add{,.rn}.f32.f16", add_f32_f16, f32, f16, f32, settled(h2f(a) + b))
R2("add{,.rn}.f32.bf16", add_f32_bf16, f32, bf16, f32, settled(b2f(a) + b))
R2("sub{,.rn}.f32.f16", sub_f32_f16, f32, f16, f32, settled(h2f(a) - b))
R2("sub{,.rn}.f32.bf16", sub_f32_bf16, f32, bf16, f32, settled(b2f(a) - b))
R3("fma.rn.f32.f16", fma_f32_f16, f32, f16, f16, f32, settled(fmaf(h2f(a), h2f(b), c)))
R3("fma.rn.f32.bf16", fma_f32_bf16, f32, bf16, bf16, f32, settled(fmaf(b2f(a), b2f(b), c)))
R2("add{,.rn}.sat.f32.f16", add_sat_f32_f16, f32, f16, f32, sat_f32(h2f(a) + b))
R2("add{,.rn}.sat.f32.bf16", add_sat_f32_bf16, f32, bf16, f32, sat_f32(b2f(a) + b))
R2("sub{,.rn}.sat.f32.f16", sub_sat_f32_f16, f32, f16, f32, sat_f32(h2f(a) - b))
R2("sub{,.rn}.sat.f32.bf16", sub_sat_f32_bf16, f32, bf16, f32, sat_f32(b2f(a) - b))
R3("fma.rn.sat.f32.f16", fma_sat_f32_f16, f32, f16, f16, f32, sat_f32(fmaf(h2f(a), h2f(b), c)))
R3("fma.rn.sat.f32.bf16", fma_sat_f32_bf16, f32, bf16, bf16, f32, sat_f32(fmaf(b2f(a), b2f(b), c)))
