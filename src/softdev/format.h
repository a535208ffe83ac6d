/* format.h: the formats of array elements: their size, and how a texture reads them. */
#pragma once

#include "cuda_soft.h"
#include "softdev/ptx/texture.h"

struct format {
	unsigned bytes;		   /* of a channel */
	unsigned channels;	   /* the fixed number of channels; 0: 1, 2 or 4, as requested */
	enum ptx_texel integer;	   /* read as it is */
	enum ptx_texel normalized; /* read as a float */
	bool is_signed, is_float;
};

/* False: an unsupported format (block-compressed and video formats). */
bool format_find(CUarray_format f, struct format *ret);
/* A resource view's format as an array format and channels. False: it is not there. */
bool format_of_view(CUresourceViewFormat f, CUarray_format *ret, unsigned *ret_channels);
/* The size of an element with that many channels; 0: there is no such element. */
unsigned format_element_bytes(CUarray_format f, unsigned channels);
