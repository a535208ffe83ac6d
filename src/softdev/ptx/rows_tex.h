/*
 * rows_tex.h: textures and surfaces. The count of a row says which of forms_tex.c's
 * shapes its operands have; the numbers of the <a,b> alternatives tell the rest.
 */

RH("tex<,.base,.level,.grad>.<1d,2d,3d,a1d,a2d,cube,acube>.v4.<f32,s32,u32,f16>.<s32,f32>", texture_fetch, FORM_TEXTURE,
   SHAPE_TEX)
RH("tex<,.base,.level,.grad>.<1d,2d,3d,a1d,a2d,cube,acube>.v2.<f16x2>.<s32,f32>", texture_fetch, FORM_TEXTURE,
   SHAPE_TEX_HALF)
RH("tld4.<r,g,b,a>.<,2d,,,a2d,cube,acube>.v4.<f32,s32,u32>.<s32,f32>", texture_gather, FORM_TEXTURE, SHAPE_GATHER)
#define TXQ_OF_TEXTURES                                                                                               \
	"width,height,depth,channel_data_type,channel_order,normalized_coords,array_size,num_mipmap_levels,num_samples"
RH("txq.<" TXQ_OF_TEXTURES ">.b32",
   texture_query, FORM_TEXTURE, SHAPE_QUERY)
RH("txq.<,,,,,,,,,,force_unnormalized_coords,filter_mode,addr_mode_0,addr_mode_1,addr_mode_2>.b32", texture_query,
   FORM_TEXTURE, SHAPE_QUERY)
RH("txq.level.<width,height,depth>.b32", texture_query, FORM_TEXTURE, SHAPE_QUERY_LEVEL)
RH("suq.<width,height,depth,channel_data_type,channel_order,,array_size,,,memory_layout>.b32", texture_query,
   FORM_TEXTURE, SHAPE_QUERY_SURFACE)
RH("suld.b.<1d,2d,3d,a1d,a2d>.<b8,b16,b32,b64>.<trap,clamp,zero>", surface_load, FORM_TEXTURE, SHAPE_SULD)
RH("sust.<b>.<1d,2d,3d,a1d,a2d>.<b8,b16,b32,b64>.<trap,clamp,zero>", surface_store, FORM_TEXTURE, SHAPE_SUST)
RH("sust.<,p>.<1d,2d,3d,a1d,a2d>.<,,b32>.<trap,clamp,zero>", surface_store, FORM_TEXTURE, SHAPE_SUST)
RH("sured.<b>.<add,min,max,and,or>.<1d,2d,3d>.<u32,s32,b32,u64,s64>.<trap,clamp,zero>", surface_reduce, FORM_TEXTURE,
   SHAPE_SURED)
RH("sured.<,p>.<add,min,max,and,or>.<1d,2d,3d>.<,,b32,,,b64>.<trap,clamp,zero>", surface_reduce, FORM_TEXTURE,
   SHAPE_SURED)
RH("istypep.<texref,samplerref,surfref>", texture_is, FORM_TEXTURE, SHAPE_IS)
