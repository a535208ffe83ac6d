/*
 * rows_rare.h: what few programs use, and what only targets above sm_90 have: local memory taken at run time, atomics
 * of 128 bits and the extremes of 16-bit floats, extremes of three floats and of a warp, rounding by random bits.
 */

/* The stack of a thread grows down from the end of its local memory, towards the frames. */
RF("alloca.{u64,b64}", FORM_STACK, 0)
RF("{stacksave,stackrestore}.{u64,b64}", FORM_STACK, 0)
RH("%stackalloc", stack_alloc, FORM_INTERNAL, 0)
RH("%stacksave", stack_save, FORM_INTERNAL, 0)
RH("%stackrestore", stack_restore, FORM_INTERNAL, 0)

#define RARE_ATOM(op, fn, count, t)                                                                                    \
	RF("atom." op, FORM_ATOM, count, t, t, t)                                                                      \
	RH("%atom." op, fn, FORM_INTERNAL, 0)                                                                          \
	RH("%atom.shared." op, fn##_shared, FORM_INTERNAL, 0)
RARE_ATOM("exch.b128", atom_exch_128, 2, TY_b128)
RARE_ATOM("cas.b128", atom_cas_128, 3, TY_b128)
RARE_ATOM("min.f16", atom_min_f16, 2, TY_f16)
RARE_ATOM("max.f16", atom_max_f16, 2, TY_f16)
RARE_ATOM("min.bf16", atom_min_bf16, 2, TY_bf16)
RARE_ATOM("max.bf16", atom_max_bf16, 2, TY_bf16)
RARE_ATOM("min.f16x2", atom_min_f16x2, 2, TY_f16x2)
RARE_ATOM("max.f16x2", atom_max_f16x2, 2, TY_f16x2)
RARE_ATOM("min.bf16x2", atom_min_bf16x2, 2, TY_bf16x2)
RARE_ATOM("max.bf16x2", atom_max_bf16x2, 2, TY_bf16x2)
RF("red.{min,max}.{f16,bf16}", FORM_RED, 2, TY_f16, TY_f16, TY_f16)
RF("red.{min,max}.{f16x2,bf16x2}", FORM_RED, 2, TY_f16x2, TY_f16x2, TY_f16x2)

/* The number is 0 or 256 for minimum or maximum, 16 with .abs, 1 with .NaN. */
RH("redux.sync.<min,max><,.abs><,.NaN>.f32", redux_f32, FORM_SYNC, 3, TY_f32, TY_f32, TY_u32)

#define EXTREME3(op)                                                                                                   \
	R3("%" #op ".f32/3", op##3_f32, f32, f32, f32, f32, op##_f32_of(op##_f32_of(a, b), c))                         \
	R3("%" #op ".ftz.f32/3", op##3_ftz, f32, f32, f32, f32, op##_f32_of(op##_f32_of(ftz(a), ftz(b)), ftz(c)))      \
	R3("%" #op ".NaN.f32/3", op##3_nan, f32, f32, f32, f32,                                                        \
	   nan_f32(a, b, nan_f32(c, c, op##_f32_of(op##_f32_of(a, b), c))))                                            \
	R3("%" #op ".ftz.NaN.f32/3", op##3_ftz_nan, f32, f32, f32, f32,                                                \
	   nan_f32(a, b, nan_f32(c, c, op##_f32_of(op##_f32_of(ftz(a), ftz(b)), ftz(c)))))                             \
	R3(#op ".abs.f32", op##3_abs, f32, f32, f32, f32, op##_f32_of(op##_f32_of(fabsf(a), fabsf(b)), fabsf(c)))      \
	R3(#op ".ftz.abs.f32", op##3_ftz_abs, f32, f32, f32, f32,                                                      \
	   op##_f32_of(op##_f32_of(fabsf(ftz(a)), fabsf(ftz(b))), fabsf(ftz(c))))                                      \
	R3(#op ".NaN.abs.f32", op##3_nan_abs, f32, f32, f32, f32,                                                      \
	   nan_f32(a, b, nan_f32(c, c, op##_f32_of(op##_f32_of(fabsf(a), fabsf(b)), fabsf(c)))))                       \
	R3(#op ".ftz.NaN.abs.f32", op##3_ftz_nan_abs, f32, f32, f32, f32,                                              \
	   nan_f32(a, b, nan_f32(c, c, op##_f32_of(op##_f32_of(fabsf(ftz(a)), fabsf(ftz(b))), fabsf(ftz(c))))))
EXTREME3(min)
EXTREME3(max)

/* The random bits of a value are added below its last place: 13 each for f16, 16 for bf16. */
#define RANDOM_PAIR(words, name, of, relu, finite)                                                                     \
	R3("cvt.rs" words, cvt_rs_##name, u32, f32, f32, u32,                                                          \
	   relu(of(a, c >> 16, finite)) << 16 | relu(of(b, c & 0xffff, finite)))
RANDOM_PAIR(".f16x2.f32", f16x2, f2h_random, , false)
RANDOM_PAIR(".relu.f16x2.f32", relu_f16x2, f2h_random, hrelu, false)
RANDOM_PAIR(".satfinite.f16x2.f32", fin_f16x2, f2h_random, , true)
RANDOM_PAIR(".relu.satfinite.f16x2.f32", relu_fin_f16x2, f2h_random, hrelu, true)
RANDOM_PAIR(".bf16x2.f32", bf16x2, f2b_random, , false)
RANDOM_PAIR(".relu.bf16x2.f32", relu_bf16x2, f2b_random, brelu, false)
RANDOM_PAIR(".satfinite.bf16x2.f32", fin_bf16x2, f2b_random, , true)
RANDOM_PAIR(".relu.satfinite.bf16x2.f32", relu_fin_bf16x2, f2b_random, brelu, true)

/*
 * Four narrow floats, as two pairs (forms_video.c). The first pair's random bits are the upper half of the register,
 * the second one's the lower half; of floats of 4 bits they are the upper and the lower byte of both halves.
 */
#define RANDOM_FOUR(f, bits, first, second)                                                                            \
	RF("cvt.rs{,.relu}.satfinite." #f "x4.f32", FORM_VIDEO, 1)                                                     \
	R3("%cvt.rs.first." #f, cvt_rs_first_##f, u32, f32, f32, u32, RANDOM_NARROW(f, bits, first, false))            \
	R3("%cvt.rs.relu.first." #f, cvt_rs_relu_first_##f, u32, f32, f32, u32, RANDOM_NARROW(f, bits, first, true))   \
	R3("%cvt.rs.second." #f, cvt_rs_second_##f, u32, f32, f32, u32, RANDOM_NARROW(f, bits, second, false))         \
	R3("%cvt.rs.relu.second." #f, cvt_rs_relu_second_##f, u32, f32, f32, u32, RANDOM_NARROW(f, bits, second, true))
RANDOM_FOUR(e4m3, 8, c >> 16, c & 0xffff)
RANDOM_FOUR(e5m2, 8, c >> 16, c & 0xffff)
RANDOM_FOUR(e2m3, 8, c >> 16, c & 0xffff)
RANDOM_FOUR(e3m2, 8, c >> 16, c & 0xffff)
RANDOM_FOUR(e2m1, 4, (c >> 24) << 8 | (c >> 8 & 255), (c >> 16 & 255) << 8 | (c & 255))

/* What kernels call to launch kernels: children.c. Operands are places in the frame's local memory. */
RH("%launch.buffer", launch_buffer, FORM_INTERNAL, 0)
RH("%launch.device", launch_device, FORM_INTERNAL, 0)
RH("%launch.error", launch_error, FORM_INTERNAL, 0)
RH("%launch.handle", launch_handle, FORM_INTERNAL, 0)
RH("%launch.nothing", launch_nothing, FORM_INTERNAL, 0)

/* What kind of number a float is. */
R1("testp.<finite,infinite,number,notanumber,normal,subnormal>.f32", testp_32, pred, f32, P(testp_f32(a, (u32)o->imm)))
R1("testp.<finite,infinite,number,notanumber,normal,subnormal>.f64", testp_64, pred, f64, P(testp_f64(a, (u32)o->imm)))
