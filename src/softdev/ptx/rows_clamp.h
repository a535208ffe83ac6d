/*
 * rows_clamp.h: conversions to integers that few programs use: between integers with .sat, packed, and of floats to
 * fewer than 32 bits with a rounding that C has no cast for. Built once; the usual ones are in rows_cvt.h.
 */

#define TO_INT_SAT(from, W)                                                                                           \
	R1("cvt.sat.u8." #from, cvt_sat_u8_##from, u32, from, (u32)clamp_##W(a, 0, UINT8_MAX))                         \
	R1("cvt.sat.s8." #from, cvt_sat_s8_##from, s32, from, (s32)clamp_##W(a, INT8_MIN, INT8_MAX))                   \
	R1("cvt.sat.u16." #from, cvt_sat_u16_##from, u32, from, (u32)clamp_##W(a, 0, UINT16_MAX))                      \
	R1("cvt.sat.s16." #from, cvt_sat_s16_##from, s32, from, (s32)clamp_##W(a, INT16_MIN, INT16_MAX))               \
	R1("cvt.sat.u32." #from, cvt_sat_u32_##from, u32, from, (u32)clamp_##W(a, 0, UINT32_MAX))                      \
	R1("cvt.sat.s32." #from, cvt_sat_s32_##from, s32, from, (s32)clamp_##W(a, INT32_MIN, INT32_MAX))               \
	R1("cvt.sat.u64." #from, cvt_sat_u64_##from, u64, from, (u64)clamp_##W(a, 0, INT64_MAX))                       \
	R1("cvt.sat.s64." #from, cvt_sat_s64_##from, s64, from, (s64)clamp_##W(a, INT64_MIN, INT64_MAX))
TO_INT_SAT(u8, s64)
TO_INT_SAT(s8, s64)
TO_INT_SAT(u16, s64)
TO_INT_SAT(s16, s64)
TO_INT_SAT(u32, s64)
TO_INT_SAT(s32, s64)
TO_INT_SAT(s64, s64)
R1("cvt.sat.u8.u64", cvt_sat_u8_u64, u32, u64, (u32)(a > UINT8_MAX ? UINT8_MAX : a))
R1("cvt.sat.s8.u64", cvt_sat_s8_u64, s32, u64, (s32)(a > INT8_MAX ? INT8_MAX : a))
R1("cvt.sat.u16.u64", cvt_sat_u16_u64, u32, u64, (u32)(a > UINT16_MAX ? UINT16_MAX : a))
R1("cvt.sat.s16.u64", cvt_sat_s16_u64, s32, u64, (s32)(a > INT16_MAX ? INT16_MAX : a))
R1("cvt.sat.u32.u64", cvt_sat_u32_u64, u32, u64, (u32)(a > UINT32_MAX ? UINT32_MAX : a))
R1("cvt.sat.s32.u64", cvt_sat_s32_u64, s32, u64, (s32)(a > INT32_MAX ? INT32_MAX : a))
R1("cvt.sat.u64.u64", cvt_sat_u64_u64, u64, u64, a)
R1("cvt.sat.s64.u64", cvt_sat_s64_u64, s64, u64, (s64)(a > INT64_MAX ? INT64_MAX : a))
R2("cvt.pack.sat.u16.s32", cvt_pack_u16, u32, s32, s32, (u32)clamp_s64(a, 0, UINT16_MAX) << 16
	| (u32)clamp_s64(b, 0, UINT16_MAX))
R2("cvt.pack.sat.s16.s32", cvt_pack_s16, u32, s32, s32, (u32)clamp_s64(a, INT16_MIN, INT16_MAX) << 16
	| ((u32)clamp_s64(b, INT16_MIN, INT16_MAX) & 0xffff))
R3("cvt.pack.sat.u8.s32.b32", cvt_pack_u8, u32, s32, s32, u32, c << 16 | (u32)clamp_s64(a, 0,
	UINT8_MAX) << 8 | (u32)clamp_s64(b, 0, UINT8_MAX))
R3("cvt.pack.sat.s8.s32.b32", cvt_pack_s8, u32, s32, s32, u32, c << 16 | ((u32)clamp_s64(a, INT8_MIN,
	INT8_MAX) & 255) << 8 | ((u32)clamp_s64(b, INT8_MIN, INT8_MAX) & 255))
#define PACK_NARROW(to, bits, least, most)                                                                             \
	R3("cvt.pack.sat." #to ".s32.b32", cvt_pack_##to, u32, s32, s32, u32,                                          \
	   c << 2 * bits | ((u32)clamp_s64(a, least, most) & ((1u << bits) - 1)) << bits |                             \
		   ((u32)clamp_s64(b, least, most) & ((1u << bits) - 1)))
PACK_NARROW(u4, 4, 0, 15)
PACK_NARROW(s4, 4, -8, 7)
PACK_NARROW(u2, 2, 0, 3)
PACK_NARROW(s2, 2, -2, 1)

#define NARROW_FLOAT(rnd, ftz_, from, v, F)                                                                           \
	R1("cvt." #rnd ftz_ "{,.sat}.u8." #from, cvt_##rnd##_u8_##from, u32, from, (u32)to_int_##F(v, 0, 255))         \
	R1("cvt." #rnd ftz_ "{,.sat}.s8." #from, cvt_##rnd##_s8_##from, s32, from, to_int_##F(v, -128, 127))
#define NARROW_FLOATS(rnd, rf, rd)                                                                                     \
	NARROW_FLOAT(rnd, "", f32, rf(a), f32)                                                                         \
	NARROW_FLOAT(rnd, "", f64, rd(a), f64)                                                                         \
	NARROW_16(rnd, "", f32, rf(a), f32)                                                                            \
	NARROW_16(rnd, "", f64, rd(a), f64)                                                                            \
	NARROW_16(rnd, "", f16, rf(h2f(a)), f32)                                                                       \
	NARROW_16(rnd, "", bf16, rf(b2f(a)), f32)
#define NARROW_16(rnd, ftz_, from, v, F)                                                                               \
	R1("cvt." #rnd ftz_ "{,.sat}.u16." #from, cvt_##rnd##_u16_##from, u32, from, (u32)to_int_##F(v, 0, 65535))     \
	R1("cvt." #rnd ftz_ "{,.sat}.s16." #from, cvt_##rnd##_s16_##from, s32, from, to_int_##F(v, -32768, 32767))
#define NARROW_HALF(rnd, rf)                                                                                           \
	NARROW_FLOAT(rnd, "", f16, rf(h2f(a)), f32)                                                                    \
	NARROW_FLOAT(rnd, "", bf16, rf(b2f(a)), f32)
NARROW_FLOATS(rmi, floorf, floor)
NARROW_FLOATS(rpi, ceilf, ceil)
NARROW_HALF(rni, rintf)
NARROW_HALF(rzi, truncf)
NARROW_HALF(rmi, floorf)
NARROW_HALF(rpi, ceilf)
#define NARROW_FLUSHED(rnd, v)                                                                                         \
	R1("cvt." #rnd ".ftz{,.sat}.u8.f32", cvt_##rnd##_ftz_u8, u32, f32, (u32)to_int_f32(v, 0, 255))                 \
	R1("cvt." #rnd ".ftz{,.sat}.s8.f32", cvt_##rnd##_ftz_s8, s32, f32, to_int_f32(v, -128, 127))                   \
	R1("cvt." #rnd ".ftz{,.sat}.u16.f32", cvt_##rnd##_ftz_u16, u32, f32, (u32)to_int_f32(v, 0, 65535))             \
	R1("cvt." #rnd ".ftz{,.sat}.s16.f32", cvt_##rnd##_ftz_s16, s32, f32, to_int_f32(v, -32768, 32767))             \
	R1("cvt." #rnd ".ftz{,.sat}.u64.f32", cvt_##rnd##_ftz_u64, u64, f32, to_u64_f32(v))                            \
	R1("cvt." #rnd ".ftz{,.sat}.s64.f32", cvt_##rnd##_ftz_s64, s64, f32, to_s64_f32(v))
NARROW_FLUSHED(rmi, floorf(ftz(a)))
NARROW_FLUSHED(rpi, ceilf(ftz(a)))
