/* channel.c: descriptions of the channels of a texel, and the driver's formats that they stand for. */
#include "runtime/rt.h"

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind f)
{
	return (struct cudaChannelFormatDesc){ x, y, z, w, f };
}

/* One row for each format: its kind, the bits of a channel, and how many channels it has when it says so itself. */
static const struct format {
	enum cudaChannelFormatKind kind;
	CUarray_format format;
	int bits;
	int channels; /* 0: 1, 2 or 4, as described */
} formats[] = {
	{ cudaChannelFormatKindUnsigned, CU_AD_FORMAT_UNSIGNED_INT8, 8, 0 },
	{ cudaChannelFormatKindUnsigned, CU_AD_FORMAT_UNSIGNED_INT16, 16, 0 },
	{ cudaChannelFormatKindUnsigned, CU_AD_FORMAT_UNSIGNED_INT32, 32, 0 },
	{ cudaChannelFormatKindSigned, CU_AD_FORMAT_SIGNED_INT8, 8, 0 },
	{ cudaChannelFormatKindSigned, CU_AD_FORMAT_SIGNED_INT16, 16, 0 },
	{ cudaChannelFormatKindSigned, CU_AD_FORMAT_SIGNED_INT32, 32, 0 },
	{ cudaChannelFormatKindFloat, CU_AD_FORMAT_HALF, 16, 0 },
	{ cudaChannelFormatKindFloat, CU_AD_FORMAT_FLOAT, 32, 0 },
	{ cudaChannelFormatKindUnsignedNormalized8X1, CU_AD_FORMAT_UNORM_INT8X1, 8, 1 },
	{ cudaChannelFormatKindUnsignedNormalized8X2, CU_AD_FORMAT_UNORM_INT8X2, 8, 2 },
	{ cudaChannelFormatKindUnsignedNormalized8X4, CU_AD_FORMAT_UNORM_INT8X4, 8, 4 },
	{ cudaChannelFormatKindUnsignedNormalized16X1, CU_AD_FORMAT_UNORM_INT16X1, 16, 1 },
	{ cudaChannelFormatKindUnsignedNormalized16X2, CU_AD_FORMAT_UNORM_INT16X2, 16, 2 },
	{ cudaChannelFormatKindUnsignedNormalized16X4, CU_AD_FORMAT_UNORM_INT16X4, 16, 4 },
	{ cudaChannelFormatKindSignedNormalized8X1, CU_AD_FORMAT_SNORM_INT8X1, 8, 1 },
	{ cudaChannelFormatKindSignedNormalized8X2, CU_AD_FORMAT_SNORM_INT8X2, 8, 2 },
	{ cudaChannelFormatKindSignedNormalized8X4, CU_AD_FORMAT_SNORM_INT8X4, 8, 4 },
	{ cudaChannelFormatKindSignedNormalized16X1, CU_AD_FORMAT_SNORM_INT16X1, 16, 1 },
	{ cudaChannelFormatKindSignedNormalized16X2, CU_AD_FORMAT_SNORM_INT16X2, 16, 2 },
	{ cudaChannelFormatKindSignedNormalized16X4, CU_AD_FORMAT_SNORM_INT16X4, 16, 4 },
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

/* How many channels a description has; 0: one that no format has (channels of different sizes, three channels). */
static int channels_of(const struct cudaChannelFormatDesc *d)
{
	int n = !d->x ? 0 : !d->y ? 1 : !d->z ? 2 : !d->w ? 3 : 4;

	if (n == 0 || n == 3 || (n > 1 && d->y != d->x) || (n == 4 && (d->z != d->x || d->w != d->x)))
		return 0;
	if ((n < 2 && d->y) || (n < 3 && (d->z || d->w)))
		return 0;
	return n;
}

cudaError_t rt_channel_format(const struct cudaChannelFormatDesc *d, CUarray_format *ret, unsigned *ret_channels)
{
	int channels = channels_of(d);

	for (size_t i = 0; channels && i < FORMATS; i++)
		if (formats[i].kind == d->f && formats[i].bits == d->x &&
		    (!formats[i].channels || formats[i].channels == channels)) {
			*ret = formats[i].format;
			*ret_channels = (unsigned)channels;
			return cudaSuccess;
		}
	return cudaErrorInvalidChannelDescriptor;
}

cudaError_t rt_channel_desc(CUarray_format format, unsigned channels, struct cudaChannelFormatDesc *ret)
{
	for (size_t i = 0; i < FORMATS; i++)
		if (formats[i].format == format) {
			int n = formats[i].channels ? formats[i].channels : (int)channels, bits = formats[i].bits;

			*ret = (struct cudaChannelFormatDesc){ bits, n > 1 ? bits : 0, n > 2 ? bits : 0,
							       n > 3 ? bits : 0, formats[i].kind };
			return cudaSuccess;
		}
	return cudaErrorInvalidChannelDescriptor;
}

size_t rt_channel_bytes(CUarray_format format, unsigned channels)
{
	for (size_t i = 0; i < FORMATS; i++)
		if (formats[i].format == format)
			return (size_t)formats[i].bits / 8 *
			       (formats[i].channels ? (unsigned)formats[i].channels : channels);
	return 0;
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements,
						 const struct cudaChannelFormatDesc *fmtDesc, int device)
{
	CUarray_format format = 0;
	unsigned channels = 0;
	cudaError_t e = maxWidthInElements && fmtDesc ? rt_device_good(device) : cudaErrorInvalidValue;

	if (!e)
		e = rt_channel_format(fmtDesc, &format, &channels);
	if (!e)
		e = rt_error(
			rt_driver.cuDeviceGetTexture1DLinearMaxWidth(maxWidthInElements, format, channels, device));
	return rt_done(e);
}
