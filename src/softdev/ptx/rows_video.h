/*
 * rows_video.h: the packed video instructions on two 16-bit or four 8-bit values, without element selection. Each
 * exists with wrapping or saturated results (.sat, signed or unsigned as the result type says) and with an accumulation
 * of the elements into c (.add). Only vabsdiff2 and vabsdiff4 come from compilers; the others from inline PTX.
 */
#define VIDEO_TYPES(op, width, X)                                                                                      \
	X(op, width, u32, u32, u32)                                                                                    \
	X(op, width, u32, u32, s32)                                                                                    \
	X(op, width, u32, s32, u32)                                                                                    \
	X(op, width, u32, s32, s32)                                                                                    \
	X(op, width, s32, u32, u32)                                                                                    \
	X(op, width, s32, u32, s32)                                                                                    \
	X(op, width, s32, s32, u32)                                                                                    \
	X(op, width, s32, s32, s32)
#define VIDEO(op, width, td, ta, tb)                                                                                   \
	R3(#op #width "." #td "." #ta "." #tb, op##width##_##td##_##ta##_##tb, u32, u32, u32, u32,                     \
	   video_of(a, b, c, 32 / width, VIDEO_SIGNED_##td, VIDEO_SIGNED_##ta, VIDEO_SIGNED_##tb, op##_element, false, \
		    false))                                                                                            \
	R3(#op #width "." #td "." #ta "." #tb ".sat", op##width##_sat_##td##_##ta##_##tb, u32, u32, u32, u32,          \
	   video_of(a, b, c, 32 / width, VIDEO_SIGNED_##td, VIDEO_SIGNED_##ta, VIDEO_SIGNED_##tb, op##_element, true,  \
		    false))                                                                                            \
	R3(#op #width "." #td "." #ta "." #tb ".add", op##width##_add_##td##_##ta##_##tb, u32, u32, u32, u32,          \
	   video_of(a, b, c, 32 / width, VIDEO_SIGNED_##td, VIDEO_SIGNED_##ta, VIDEO_SIGNED_##tb, op##_element, false, \
		    true))
#define VIDEO_OP(op)                                                                                                   \
	VIDEO_TYPES(op, 2, VIDEO)                                                                                      \
	VIDEO_TYPES(op, 4, VIDEO)
VIDEO_OP(vadd)
VIDEO_OP(vsub)
VIDEO_OP(vavrg)
VIDEO_TYPES(vabsdiff, 2, VIDEO)
VIDEO_OP(vmin)
VIDEO_OP(vmax)
