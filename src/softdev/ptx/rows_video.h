/*
 * rows_video.h: the video instructions: integers from parts of registers (.b0 to .b3, .h0, .h1) or two and four side by
 * side, with saturation, a second operation or a merge. forms_video.c reads the words, video.c computes.
 */
RF("{vadd,vsub,vabsdiff,vmin,vmax}.{u32,s32}.{u32,s32}.{u32,s32}{,.sat}{,.add,.min,.max}", FORM_VIDEO, 0)
RF("{vshl,vshr}.{u32,s32}.{u32,s32}.u32{,.sat}.{clamp,wrap}{,.add,.min,.max}", FORM_VIDEO, 0)
RF("vmad.{u32,s32}.{u32,s32}.{u32,s32}{,.po}{,.sat}{,.shr7,.shr15}", FORM_VIDEO, 0)
RF("vset.{u32,s32}.{u32,s32}.{eq,ne,lt,le,gt,ge}{,.add,.min,.max}", FORM_VIDEO, 0)
RF("{vadd,vsub,vavrg,vabsdiff,vmin,vmax}{2,4}.{u32,s32}.{u32,s32}.{u32,s32}{,.sat,.add}", FORM_VIDEO, 4, TY_u32, TY_u32,
   TY_u32, TY_u32)
RF("{vset2,vset4}.{u32,s32}.{u32,s32}.{eq,ne,lt,le,gt,ge}{,.add}", FORM_VIDEO, 0)
RH("%video", video, FORM_INTERNAL, 0)
