/*
 * rows_cvt.h: conversions, one row per pair of types. Read twice by rows.h.
 *
 * A conversion to a narrow integer leaves the value extended in its 32-bit lane, for a register may be wider than the
 * type.
 */

/*
 * Between integers: truncation or extension. Types of one size are one row where the sign makes no difference.
 * With .sat: rows_clamp.h.
 */
#define TO_NARROW(from, names)                                                                                        \
	R1("cvt.u8." names, cvt_u8_##from, u32, from, (u8)a)                                                           \
	R1("cvt.s8." names, cvt_s8_##from, s32, from, (s8)a)                                                           \
	R1("cvt.u16." names, cvt_u16_##from, u32, from, (u16)a)                                                        \
	R1("cvt.s16." names, cvt_s16_##from, s32, from, (s16)a)
#define TO_WIDE(from, names)                                                                                          \
	R1("cvt.{u32,s32}." names, cvt_u32_##from, u32, from, (u32)a)                                                  \
	R1("cvt.{u64,s64}." names, cvt_u64_##from, u64, from, (u64)a)
TO_NARROW(u8, "u8")
TO_NARROW(s8, "s8")
TO_NARROW(u16, "{u16,s16}")
TO_NARROW(u32, "{u32,s32}")
TO_NARROW(u64, "{u64,s64}")
TO_WIDE(u8, "u8")
TO_WIDE(s8, "s8")
TO_WIDE(u16, "u16")
TO_WIDE(s16, "s16")
R1("cvt.{u32,s32}.{u32,s32}", cvt_u32_u32, u32, u32, a)
R1("cvt.{u64,s64}.u32", cvt_u64_u32, u64, u32, a)
R1("cvt.{u64,s64}.s32", cvt_u64_s32, u64, s32, (u64)a)
TO_WIDE(u64, "{u64,s64}")

/* Integers to floats. */
#define FROM_INT(from)                                                                                                \
	R1("cvt.rn.f32." #from, cvt_f32_##from, f32, from, (f32)a)                                                     \
	R1("cvt.rn.f64." #from, cvt_f64_##from, f64, from, (f64)a)                                                     \
	R1("cvt.rn.sat.f32." #from, cvt_sat_f32_##from, f32, from, sat_f32((f32)a))                                    \
	R1("cvt.rn.f16." #from, cvt_f16_##from, u32, from, f2h(int_odd(a)))                                            \
	R1("cvt.rn.bf16." #from, cvt_bf16_##from, u32, from, f2b(int_odd(a)))
FROM_INT(u8)
FROM_INT(s8)
FROM_INT(u16)
FROM_INT(s16)
FROM_INT(u32)
FROM_INT(s32)
FROM_INT(u64)
FROM_INT(s64)

/*
 * Floats to integers: rounded as the opcode says, then clamped. Down and up to fewer than 32 bits, and 16-bit floats to
 * 8 bits: rows_clamp.h.
 */
#define FLOAT_TO(rnd, ftz_, from, v, F)                                                                                \
	R1("cvt." #rnd ftz_ "{,.sat}.u32." #from, cvt_##rnd##_u32_##from, u32, from, to_u32_##F(v))                    \
	R1("cvt." #rnd ftz_ "{,.sat}.s32." #from, cvt_##rnd##_s32_##from, s32, from, to_s32_##F(v))                    \
	R1("cvt." #rnd ftz_ "{,.sat}.u64." #from, cvt_##rnd##_u64_##from, u64, from, to_u64_##F(v))                    \
	R1("cvt." #rnd ftz_ "{,.sat}.s64." #from, cvt_##rnd##_s64_##from, s64, from, to_s64_##F(v))
#define FLOAT_TO_16(rnd, ftz_, from, v, F)                                                                             \
	R1("cvt." #rnd ftz_ "{,.sat}.u16." #from, cvt_##rnd##_u16_##from, u32, from, (u32)to_int_##F(v, 0, 65535))     \
	R1("cvt." #rnd ftz_ "{,.sat}.s16." #from, cvt_##rnd##_s16_##from, s32, from, to_int_##F(v, -32768, 32767))
#define FLOAT_TO_8(rnd, ftz_, from, v, F)                                                                              \
	R1("cvt." #rnd ftz_ "{,.sat}.u8." #from, cvt_##rnd##_u8_##from, u32, from, (u32)to_int_##F(v, 0, 255))         \
	R1("cvt." #rnd ftz_ "{,.sat}.s8." #from, cvt_##rnd##_s8_##from, s32, from, to_int_##F(v, -128, 127))
#define FLOAT_TO_INT(rnd, ftz_, rf, rd)                                                                               \
	FLOAT_TO(rnd, ftz_, f32, rf(a), f32)                                                                           \
	FLOAT_TO(rnd, "", f64, rd(a), f64)                                                                             \
	FLOAT_TO(rnd, "", f16, rf(h2f(a)), f32)                                                                        \
	FLOAT_TO(rnd, "", bf16, rf(b2f(a)), f32)
#define FLOAT_TO_NARROW(rnd, ftz_, rf, rd)                                                                            \
	FLOAT_TO_8(rnd, ftz_, f32, rf(a), f32)                                                                         \
	FLOAT_TO_8(rnd, "", f64, rd(a), f64)                                                                           \
	FLOAT_TO_16(rnd, ftz_, f32, rf(a), f32)                                                                        \
	FLOAT_TO_16(rnd, "", f64, rd(a), f64)                                                                          \
	FLOAT_TO_16(rnd, "", f16, rf(h2f(a)), f32)                                                                     \
	FLOAT_TO_16(rnd, "", bf16, rf(b2f(a)), f32)
FLOAT_TO_INT(rni, "{,.ftz}", rintf, rint)
FLOAT_TO_INT(rzi, "{,.ftz}", truncf, trunc)
FLOAT_TO_INT(rmi, "", floorf, floor)
FLOAT_TO_INT(rpi, "", ceilf, ceil)
FLOAT_TO_NARROW(rni, "{,.ftz}", rintf, rint)
FLOAT_TO_NARROW(rzi, "{,.ftz}", truncf, trunc)
/* Only these two make something else than zero of a subnormal. */
#define FLUSHED_TO(rnd, v)                                                                                            \
	R1("cvt." #rnd ".ftz{,.sat}.u32.f32", cvt_##rnd##_ftz_u32, u32, f32, to_u32_f32(v))                            \
	R1("cvt." #rnd ".ftz{,.sat}.s32.f32", cvt_##rnd##_ftz_s32, s32, f32, to_s32_f32(v))
FLUSHED_TO(rmi, floorf(ftz(a)))
FLUSHED_TO(rpi, ceilf(ftz(a)))

/* Between floats. */
N1("cvt{,.rn}.f32.f32", cvt_f32_f32, f32, f32, a)
N1("cvt{,.rn}.ftz.f32.f32", cvt_ftz_f32_f32, f32, f32, ftz(a))
R1("cvt{,.rn}.sat.f32.f32", cvt_sat_f32_f32, f32, f32, sat_f32(a))
R1("cvt{,.rn}.ftz.sat.f32.f32", cvt_ftz_sat_f32_f32, f32, f32, sat_f32(ftz(a)))
R1("cvt.sat.f64.f64", cvt_sat_f64_f64, f64, f64, sat_f64(a))
N1("cvt.rni.f32.f32", cvt_rni_f32, f32, f32, rintf(a))
N1("cvt.rzi.f32.f32", cvt_rzi_f32, f32, f32, truncf(a))
N1("cvt.rmi.f32.f32", cvt_rmi_f32, f32, f32, floorf(a))
N1("cvt.rpi.f32.f32", cvt_rpi_f32, f32, f32, ceilf(a))
N1("cvt.rni.ftz.f32.f32", cvt_rni_ftz, f32, f32, rintf(ftz(a)))
N1("cvt.rzi.ftz.f32.f32", cvt_rzi_ftz, f32, f32, truncf(ftz(a)))
N1("cvt.rmi.ftz.f32.f32", cvt_rmi_ftz, f32, f32, floorf(ftz(a)))
N1("cvt.rpi.ftz.f32.f32", cvt_rpi_ftz, f32, f32, ceilf(ftz(a)))
R1("cvt.rni.f64.f64", cvt_rni_f64, f64, f64, rint(a))
R1("cvt.rzi.f64.f64", cvt_rzi_f64, f64, f64, trunc(a))
R1("cvt.rmi.f64.f64", cvt_rmi_f64, f64, f64, floor(a))
R1("cvt.rpi.f64.f64", cvt_rpi_f64, f64, f64, ceil(a))
R1("cvt.rni.f16.f16", cvt_rni_f16, u32, f16, f2h(rintf(h2f(a))))
R1("cvt.rzi.f16.f16", cvt_rzi_f16, u32, f16, f2h(truncf(h2f(a))))
R1("cvt.rmi.f16.f16", cvt_rmi_f16, u32, f16, f2h(floorf(h2f(a))))
R1("cvt.rpi.f16.f16", cvt_rpi_f16, u32, f16, f2h(ceilf(h2f(a))))
R1("cvt.f64.f32", cvt_f64_f32, f64, f32, (f64)a)
R1("cvt.ftz.f64.f32", cvt_ftz_f64_f32, f64, f32, (f64)ftz(a))
N1("cvt.rn.f32.f64", cvt_f32_f64, f32, f64, (f32)a)
N1("cvt.rn.ftz.f32.f64", cvt_ftz_f32_f64, f32, f64, ftz((f32)a))
R1("cvt.rn.sat.f32.f64", cvt_sat_f32_f64, f32, f64, sat_f32((f32)a))
R1("cvt.rn.ftz.sat.f32.f64", cvt_ftz_sat_f32_f64, f32, f64, sat_f32(ftz((f32)a)))
N1("cvt{,.ftz}.f32.f16", cvt_f32_f16, f32, f16, h2f(a))
N1("cvt.f32.bf16", cvt_f32_bf16, f32, bf16, b2f(a))
R1("cvt.f64.f16", cvt_f64_f16, f64, f16, (f64)h2f(a))
R1("cvt.f64.bf16", cvt_f64_bf16, f64, bf16, (f64)b2f(a))
R1("cvt.rn{,.ftz}.f16.f32", cvt_f16_f32, u32, f32, f2h(a))
R1("cvt.rn{,.ftz}.sat.f16.f32", cvt_sat_f16_f32, u32, f32, f2h(sat_f32(a)))
R1("cvt.rn.relu.f16.f32", cvt_relu_f16_f32, u32, f32, hrelu(f2h(a)))
R1("cvt.rz{,.ftz}.f16.f32", cvt_rz_f16_f32, u32, f32, f2h_dir(a, 0))
R1("cvt.rm.f16.f32", cvt_rm_f16_f32, u32, f32, f2h_dir(a, 1))
R1("cvt.rp.f16.f32", cvt_rp_f16_f32, u32, f32, f2h_dir(a, 2))
R1("cvt.rm.ftz.f16.f32", cvt_rm_ftz_f16_f32, u32, f32, f2h_dir(ftz(a), 1))
R1("cvt.rp.ftz.f16.f32", cvt_rp_ftz_f16_f32, u32, f32, f2h_dir(ftz(a), 2))
R1("cvt.rn.f16.f64", cvt_f16_f64, u32, f64, f2h(odd_f32(a)))
R1("cvt.rn.bf16.f64", cvt_bf16_f64, u32, f64, f2b(odd_f32(a)))
R1("cvt.rn.bf16.f32", cvt_bf16_f32, u32, f32, f2b(a))
R1("cvt.rn.relu.bf16.f32", cvt_relu_bf16_f32, u32, f32, brelu(f2b(a)))
R1("cvt.rz.bf16.f32", cvt_rz_bf16_f32, u32, f32, a != a ? 0x7fff : bits32(a) >> 16)
R1("cvt{,.rn}.bf16.f16", cvt_bf16_f16, u32, f16, f2b(h2f(a)))
R1("cvt{,.rn}.f16.bf16", cvt_f16_bf16, u32, bf16, f2h(b2f(a)))
R1("cvt.rn.tf32.f32", cvt_tf32_f32, u32, f32, tf32_of(a))
R1("cvt.rna.tf32.f32", cvt_rna_tf32_f32, u32, f32, tf32_away(a))
R1("cvt.rn.satfinite.tf32.f32", cvt_fin_tf32_f32, u32, f32, tf32_finite(tf32_of(a)))
R1("cvt.rna.satfinite.tf32.f32", cvt_rna_fin_tf32_f32, u32, f32, tf32_finite(tf32_away(a)))
R2("cvt.rn{,.ftz}.f16x2.f32", cvt_f16x2_f32, u32, f32, f32, f2h(a) << 16 | f2h(b))
R2("cvt.rn.relu.f16x2.f32", cvt_relu_f16x2_f32, u32, f32, f32, hrelu(f2h(a)) << 16 | hrelu(f2h(b)))
R2("cvt.rz{,.ftz}.f16x2.f32", cvt_rz_f16x2_f32, u32, f32, f32, f2h_dir(a, 0) << 16 | f2h_dir(b, 0))
R2("cvt.rn.bf16x2.f32", cvt_bf16x2_f32, u32, f32, f32, f2b(a) << 16 | f2b(b))
R2("cvt.rn.relu.bf16x2.f32", cvt_relu_bf16x2_f32, u32, f32, f32, brelu(f2b(a)) << 16 | brelu(f2b(b)))
