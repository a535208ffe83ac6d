/* format.c: see format.h. */
#include "softdev/format.h"

bool format_find(CUarray_format f, struct format *ret)
{
	switch (f) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
		*ret = (struct format){ 1, 0, PTX_TEXEL_U8, PTX_TEXEL_UNORM8, false, false };
		return true;
	case CU_AD_FORMAT_UNSIGNED_INT16:
		*ret = (struct format){ 2, 0, PTX_TEXEL_U16, PTX_TEXEL_UNORM16, false, false };
		return true;
	case CU_AD_FORMAT_UNSIGNED_INT32:
		*ret = (struct format){ 4, 0, PTX_TEXEL_32, PTX_TEXEL_32, false, false };
		return true;
	case CU_AD_FORMAT_SIGNED_INT8:
		*ret = (struct format){ 1, 0, PTX_TEXEL_S8, PTX_TEXEL_SNORM8, true, false };
		return true;
	case CU_AD_FORMAT_SIGNED_INT16:
		*ret = (struct format){ 2, 0, PTX_TEXEL_S16, PTX_TEXEL_SNORM16, true, false };
		return true;
	case CU_AD_FORMAT_SIGNED_INT32:
		*ret = (struct format){ 4, 0, PTX_TEXEL_32, PTX_TEXEL_32, true, false };
		return true;
	case CU_AD_FORMAT_HALF:
		*ret = (struct format){ 2, 0, PTX_TEXEL_F16, PTX_TEXEL_F16, true, true };
		return true;
	case CU_AD_FORMAT_FLOAT:
		*ret = (struct format){ 4, 0, PTX_TEXEL_F32, PTX_TEXEL_F32, true, true };
		return true;
	case CU_AD_FORMAT_UNORM_INT8X1:
	case CU_AD_FORMAT_UNORM_INT8X2:
	case CU_AD_FORMAT_UNORM_INT8X4:
		*ret = (struct format){
			1, 1u << (f - CU_AD_FORMAT_UNORM_INT8X1), PTX_TEXEL_UNORM8, PTX_TEXEL_UNORM8, false, true
		};
		return true;
	case CU_AD_FORMAT_UNORM_INT16X1:
	case CU_AD_FORMAT_UNORM_INT16X2:
	case CU_AD_FORMAT_UNORM_INT16X4:
		*ret = (struct format){
			2, 1u << (f - CU_AD_FORMAT_UNORM_INT16X1), PTX_TEXEL_UNORM16, PTX_TEXEL_UNORM16, false, true
		};
		return true;
	case CU_AD_FORMAT_SNORM_INT8X1:
	case CU_AD_FORMAT_SNORM_INT8X2:
	case CU_AD_FORMAT_SNORM_INT8X4:
		*ret = (struct format){
			1, 1u << (f - CU_AD_FORMAT_SNORM_INT8X1), PTX_TEXEL_SNORM8, PTX_TEXEL_SNORM8, true, true
		};
		return true;
	case CU_AD_FORMAT_SNORM_INT16X1:
	case CU_AD_FORMAT_SNORM_INT16X2:
	case CU_AD_FORMAT_SNORM_INT16X4:
		*ret = (struct format){
			2, 1u << (f - CU_AD_FORMAT_SNORM_INT16X1), PTX_TEXEL_SNORM16, PTX_TEXEL_SNORM16, true, true
		};
		return true;
	case CU_AD_FORMAT_UNORM_INT_101010_2:
		*ret = (struct format){ 1, 4, PTX_TEXEL_1010102, PTX_TEXEL_1010102, false, true };
		return true;
	default:
		return false;
	}
}

unsigned format_element_bytes(CUarray_format f, unsigned channels)
{
	struct format format;

	if (!format_find(f, &format) || (channels != 1 && channels != 2 && channels != 4) ||
	    (format.channels && format.channels != channels))
		return 0;
	return format.bytes * channels;
}

bool format_of_view(CUresourceViewFormat f, CUarray_format *ret, unsigned *ret_channels)
{
	static const CUarray_format of[] = { CU_AD_FORMAT_UNSIGNED_INT8,  CU_AD_FORMAT_SIGNED_INT8,
					     CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_SIGNED_INT16,
					     CU_AD_FORMAT_UNSIGNED_INT32, CU_AD_FORMAT_SIGNED_INT32,
					     CU_AD_FORMAT_HALF,		  CU_AD_FORMAT_FLOAT };
	unsigned n = (unsigned)f - CU_RES_VIEW_FORMAT_UINT_1X8;

	if (n / 3 >= sizeof(of) / sizeof(of[0]))
		return false;
	*ret = of[n / 3];
	*ret_channels = 1u << n % 3;
	return true;
}
