/* type.c: the types and special registers of PTX. */
#include "softdev/ptx/text.h"

#include <string.h>

static const struct {
	const char *name;
	uint8_t bytes;
} types[TY_COUNT] = {
	[TY_none] = { "", 0 },	     [TY_pred] = { "pred", 0 },	    [TY_b8] = { "b8", 1 },   [TY_u8] = { "u8", 1 },
	[TY_s8] = { "s8", 1 },	     [TY_b16] = { "b16", 2 },	    [TY_u16] = { "u16", 2 }, [TY_s16] = { "s16", 2 },
	[TY_b32] = { "b32", 4 },     [TY_u32] = { "u32", 4 },	    [TY_s32] = { "s32", 4 }, [TY_b64] = { "b64", 8 },
	[TY_u64] = { "u64", 8 },     [TY_s64] = { "s64", 8 },	    [TY_f16] = { "f16", 2 }, [TY_bf16] = { "bf16", 2 },
	[TY_f16x2] = { "f16x2", 4 }, [TY_bf16x2] = { "bf16x2", 4 }, [TY_f32] = { "f32", 4 }, [TY_f64] = { "f64", 8 },
	[TY_f32x2] = { "f32x2", 8 }, [TY_b128] = { "b128", 16 },
};

uint32_t type_bytes(enum type t)
{
	return types[t].bytes;
}

uint32_t type_lane_bytes(enum type t)
{
	return types[t].bytes <= 4 ? 4 : types[t].bytes;
}

bool type_is_signed(enum type t)
{
	return t == TY_s8 || t == TY_s16 || t == TY_s32 || t == TY_s64;
}

enum type type_find(const char *name, size_t bytes)
{
	for (int t = TY_pred; t < TY_COUNT; t++)
		if (strlen(types[t].name) == bytes && !memcmp(types[t].name, name, bytes))
			return (enum type)t;
	return TY_none;
}

static const struct {
	const char *name;
	enum special special;
} specials[] = {
	{ "%tid.x", SP_tid_x },
	{ "%tid.y", SP_tid_y },
	{ "%tid.z", SP_tid_z },
	{ "%ntid.x", SP_ntid_x },
	{ "%ntid.y", SP_ntid_y },
	{ "%ntid.z", SP_ntid_z },
	{ "%ctaid.x", SP_ctaid_x },
	{ "%ctaid.y", SP_ctaid_y },
	{ "%ctaid.z", SP_ctaid_z },
	{ "%nctaid.x", SP_nctaid_x },
	{ "%nctaid.y", SP_nctaid_y },
	{ "%nctaid.z", SP_nctaid_z },
	{ "%laneid", SP_laneid },
	{ "%warpid", SP_warpid },
	{ "%nwarpid", SP_nwarpid },
	{ "%smid", SP_smid },
	{ "%nsmid", SP_nsmid },
	{ "%gridid", SP_gridid },
	{ "%lanemask_eq", SP_lanemask_eq },
	{ "%lanemask_le", SP_lanemask_le },
	{ "%lanemask_lt", SP_lanemask_lt },
	{ "%lanemask_ge", SP_lanemask_ge },
	{ "%lanemask_gt", SP_lanemask_gt },
	{ "%clock", SP_clock },
	{ "%clock_hi", SP_clock_hi },
	{ "%clock64", SP_clock64 },
	{ "%globaltimer", SP_globaltimer },
	{ "%globaltimer_lo", SP_globaltimer_lo },
	{ "%globaltimer_hi", SP_globaltimer_hi },
	{ "%dynamic_smem_size", SP_dynamic_smem_size },
	{ "%total_smem_size", SP_total_smem_size },
	{ "%aggr_smem_size", SP_aggr_smem_size },
	{ "%envreg1", SP_grid_high },
	{ "%envreg2", SP_grid_low },
	{ "%is_explicit_cluster", SP_cluster_explicit },
	{ "%clusterid.x", SP_clusterid_x },
	{ "%clusterid.y", SP_clusterid_y },
	{ "%clusterid.z", SP_clusterid_z },
	{ "%nclusterid.x", SP_nclusterid_x },
	{ "%nclusterid.y", SP_nclusterid_y },
	{ "%nclusterid.z", SP_nclusterid_z },
	{ "%cluster_ctaid.x", SP_cluster_ctaid_x },
	{ "%cluster_ctaid.y", SP_cluster_ctaid_y },
	{ "%cluster_ctaid.z", SP_cluster_ctaid_z },
	{ "%cluster_nctaid.x", SP_cluster_nctaid_x },
	{ "%cluster_nctaid.y", SP_cluster_nctaid_y },
	{ "%cluster_nctaid.z", SP_cluster_nctaid_z },
	{ "%cluster_ctarank", SP_cluster_ctarank },
	{ "%cluster_nctarank", SP_cluster_nctarank },
};

enum special special_find(struct name n)
{
	for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++)
		if (name_is(n, specials[i].name))
			return specials[i].special;
	/* the other registers of the driver say nothing here */
	return n.bytes > 7 && !memcmp(n.p, "%envreg", 7) ? SP_zero : SP_none;
}

bool special_reserved(struct name n, uint64_t *ret)
{
	static const struct {
		const char *name;
		uint64_t value;
	} reserved[] = {
		{ "%reserved_smem_offset_begin", 0 },
		{ "%reserved_smem_offset_end", SHARED_RESERVED_USED },
		{ "%reserved_smem_offset_cap", SHARED_RESERVED },
		{ "%reserved_smem_offset_0", 0 },
		{ "%reserved_smem_offset_1", 0 },
	};

	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (name_is(n, reserved[i].name)) {
			*ret = reserved[i].value;
			return true;
		}
	return false;
}

enum type special_type(enum special s)
{
	if (s == SP_cluster_explicit)
		return TY_pred;
	return s == SP_clock64 || s == SP_globaltimer || s == SP_gridid ? TY_u64 : TY_u32;
}
