/*
 * tensor.c: descriptors of cuDNN's older calls: tensors, filters, convolutions, pools, activations and what else is
 * only set and asked.
 */
#include "libs/cudnn/object.h"
#include "libs/cudnn/older.h"

#include <stdlib.h>
#include <string.h>

/* A descriptor of each kind begins with its own word, by which others are recognized. */
enum { TENSOR = 0x6d746531, FILTER, CONVOLUTION, POOL, ACTIVATION, OP_TENSOR, REDUCTION, DROPOUT };

struct cudnnTensorStruct {
	uint32_t kind;
	struct dnn_tensor t; /* rank 0: not set */
};

struct cudnnFilterStruct {
	uint32_t kind;
	struct dnn_tensor t;
	cudnnTensorFormat_t format;
};

struct cudnnConvolutionStruct {
	uint32_t kind;
	struct dnn_conv c; /* spatial 0: not set */
	cudnnConvolutionMode_t mode;
	cudnnDataType_t type;
	cudnnMathType_t math;
	cudnnReorderType_t reorder;
};

struct cudnnPoolingStruct {
	uint32_t kind;
	struct dnn_pool p;
	cudnnPoolingMode_t mode;
	cudnnNanPropagation_t nan;
};

struct cudnnActivationStruct {
	uint32_t kind;
	cudnnActivationMode_t mode;
	cudnnNanPropagation_t nan;
	double coefficient, swish;
};

struct cudnnOpTensorStruct {
	uint32_t kind;
	cudnnOpTensorOp_t op;
	cudnnDataType_t type;
	cudnnNanPropagation_t nan;
};

struct cudnnReduceTensorStruct {
	uint32_t kind;
	cudnnReduceTensorOp_t op;
	cudnnDataType_t type;
	cudnnNanPropagation_t nan;
	cudnnReduceTensorIndices_t indices;
	cudnnIndicesType_t indices_type;
};

struct cudnnDropoutStruct {
	uint32_t kind;
	float rate;
	void *states;
	unsigned long long seed, used;
};

OBJECT(TensorDescriptor, TENSOR, d)
OBJECT(FilterDescriptor, FILTER, d)
OBJECT(ConvolutionDescriptor, CONVOLUTION, d)
OBJECT(PoolingDescriptor, POOL, d)
OBJECT(ActivationDescriptor, ACTIVATION, d)
OBJECT(OpTensorDescriptor, OP_TENSOR, d)
OBJECT(ReduceTensorDescriptor, REDUCTION, d)
OBJECT(DropoutDescriptor, DROPOUT, d)

bool dnn_tensor_of(cudnnTensorDescriptor_t descriptor, struct dnn_tensor *ret)
{
	if (!IS(descriptor, TENSOR) || !descriptor->t.rank)
		return false;
	*ret = descriptor->t;
	return true;
}

bool dnn_filter_of(cudnnFilterDescriptor_t descriptor, struct dnn_tensor *ret)
{
	if (!IS(descriptor, FILTER) || !descriptor->t.rank)
		return false;
	*ret = descriptor->t;
	return true;
}

bool dnn_conv_of(cudnnConvolutionDescriptor_t descriptor, struct dnn_conv *ret)
{
	if (!IS(descriptor, CONVOLUTION) || !descriptor->c.spatial)
		return false;
	*ret = descriptor->c;
	return true;
}

bool dnn_pool_of(cudnnPoolingDescriptor_t descriptor, struct dnn_pool *ret)
{
	if (!IS(descriptor, POOL) || !descriptor->p.spatial)
		return false;
	*ret = descriptor->p;
	return true;
}

double dnn_scalar(const void *at, unsigned int type)
{
	double wide;
	float narrow;

	if (type == CUDNN_DATA_DOUBLE) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, at, sizeof(narrow));
	return narrow;
}

/* ---- tensors and filters ---- */

/* Strides of a format: channels last, or as the dimensions are written. */
static bool format_set(struct dnn_tensor *t, cudnnTensorFormat_t format)
{
	int64_t stride;

	if (format == CUDNN_TENSOR_NCHW) {
		dnn_tensor_pack(t);
		return true;
	}
	if (format != CUDNN_TENSOR_NHWC || t->rank < 2)
		return false;
	t->stride[1] = 1;
	stride = t->dim[1];
	for (int i = t->rank - 1; i >= 2; i--) {
		t->stride[i] = stride;
		stride *= t->dim[i];
	}
	t->stride[0] = stride;
	return true;
}

static cudnnStatus_t tensor_make(struct dnn_tensor *ret, const cudnnTensorFormat_t *format, cudnnDataType_t type,
				 int dims, const int *dim, const int *stride)
{
	struct dnn_tensor t = { .type = (uint8_t)type, .rank = (uint8_t)dims };
	cudnnStatus_t status;

	if (!dim || (!format && !stride))
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (dims < 1 || dims > DNN_TENSOR_DIMS || (unsigned int)type > UINT8_MAX)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a tensor of %d dimensions and type %d", dims, (int)type);
	for (int i = 0; i < dims; i++) {
		t.dim[i] = dim[i];
		t.stride[i] = stride ? stride[i] : 0;
		if (dim[i] < 1)
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "dimension %d of a tensor is %d", i, dim[i]);
	}
	if (format && !format_set(&t, *format))
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "format %d of a tensor", (int)*format);
	status = dnn_tensor_check(&t);
	if (!status)
		*ret = t;
	return status;
}

cudnnStatus_t soft_cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensorDesc, cudnnTensorFormat_t format,
					      cudnnDataType_t dataType, int n, int c, int h, int w)
{
	int dim[] = { n, c, h, w };

	if (!IS(tensorDesc, TENSOR))
		return CUDNN_STATUS_BAD_PARAM;
	return tensor_make(&tensorDesc->t, &format, dataType, 4, dim, NULL);
}

cudnnStatus_t soft_cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensorDesc, cudnnDataType_t dataType, int n,
						int c, int h, int w, int nStride, int cStride, int hStride, int wStride)
{
	int dim[] = { n, c, h, w }, stride[] = { nStride, cStride, hStride, wStride };

	if (!IS(tensorDesc, TENSOR))
		return CUDNN_STATUS_BAD_PARAM;
	return tensor_make(&tensorDesc->t, NULL, dataType, 4, dim, stride);
}

cudnnStatus_t soft_cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensorDesc, cudnnDataType_t dataType, int nbDims,
					      const int *dimA, const int *strideA)
{
	if (!IS(tensorDesc, TENSOR))
		return CUDNN_STATUS_BAD_PARAM;
	return tensor_make(&tensorDesc->t, NULL, dataType, nbDims, dimA, strideA);
}

cudnnStatus_t soft_cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t tensorDesc, cudnnTensorFormat_t format,
						cudnnDataType_t dataType, int nbDims, const int *dimA)
{
	if (!IS(tensorDesc, TENSOR))
		return CUDNN_STATUS_BAD_PARAM;
	return tensor_make(&tensorDesc->t, &format, dataType, nbDims, dimA, NULL);
}

static void put(int *to, int64_t value)
{
	if (to)
		*to = (int)value;
}

cudnnStatus_t soft_cudnnGetTensor4dDescriptor(const cudnnTensorDescriptor_t tensorDesc, cudnnDataType_t *dataType,
					      int *n, int *c, int *h, int *w, int *nStride, int *cStride, int *hStride,
					      int *wStride)
{
	int *dim[] = { n, c, h, w }, *stride[] = { nStride, cStride, hStride, wStride };

	if (!IS(tensorDesc, TENSOR) || tensorDesc->t.rank != 4)
		return CUDNN_STATUS_BAD_PARAM;
	if (dataType)
		*dataType = tensorDesc->t.type;
	for (int i = 0; i < 4; i++) {
		put(dim[i], tensorDesc->t.dim[i]);
		put(stride[i], tensorDesc->t.stride[i]);
	}
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t tensorDesc, int nbDimsRequested,
					      cudnnDataType_t *dataType, int *nbDims, int *dimA, int *strideA)
{
	if (!IS(tensorDesc, TENSOR) || nbDimsRequested < 0)
		return CUDNN_STATUS_BAD_PARAM;
	if (dataType)
		*dataType = tensorDesc->t.type;
	put(nbDims, tensorDesc->t.rank);
	for (int i = 0; i < nbDimsRequested && i < tensorDesc->t.rank; i++) {
		put(dimA ? dimA + i : NULL, tensorDesc->t.dim[i]);
		put(strideA ? strideA + i : NULL, tensorDesc->t.stride[i]);
	}
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetTensorSizeInBytes(const cudnnTensorDescriptor_t tensorDesc, size_t *size)
{
	if (!IS(tensorDesc, TENSOR) || !size)
		return CUDNN_STATUS_BAD_PARAM;
	*size = tensorDesc->t.rank ? (size_t)dnn_tensor_bytes(&tensorDesc->t) : 0;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filterDesc, cudnnDataType_t dataType,
					      cudnnTensorFormat_t format, int nbDims, const int *filterDimA)
{
	cudnnStatus_t status;

	if (!IS(filterDesc, FILTER))
		return CUDNN_STATUS_BAD_PARAM;
	status = tensor_make(&filterDesc->t, &format, dataType, nbDims, filterDimA, NULL);
	if (!status)
		filterDesc->format = format;
	return status;
}

cudnnStatus_t soft_cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filterDesc, cudnnDataType_t dataType,
					      cudnnTensorFormat_t format, int k, int c, int h, int w)
{
	int dim[] = { k, c, h, w };

	return soft_cudnnSetFilterNdDescriptor(filterDesc, dataType, format, 4, dim);
}

cudnnStatus_t soft_cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t filterDesc, int nbDimsRequested,
					      cudnnDataType_t *dataType, cudnnTensorFormat_t *format, int *nbDims,
					      int *filterDimA)
{
	if (!IS(filterDesc, FILTER) || nbDimsRequested < 0)
		return CUDNN_STATUS_BAD_PARAM;
	if (dataType)
		*dataType = filterDesc->t.type;
	if (format)
		*format = filterDesc->format;
	put(nbDims, filterDesc->t.rank);
	for (int i = 0; i < nbDimsRequested && i < filterDesc->t.rank; i++)
		put(filterDimA ? filterDimA + i : NULL, filterDesc->t.dim[i]);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetFilter4dDescriptor(const cudnnFilterDescriptor_t filterDesc, cudnnDataType_t *dataType,
					      cudnnTensorFormat_t *format, int *k, int *c, int *h, int *w)
{
	int dim[4] = { 0 }, dims = 0;
	cudnnStatus_t status = soft_cudnnGetFilterNdDescriptor(filterDesc, 4, dataType, format, &dims, dim);

	if (status || dims != 4)
		return CUDNN_STATUS_BAD_PARAM;
	put(k, dim[0]);
	put(c, dim[1]);
	put(h, dim[2]);
	put(w, dim[3]);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetFilterSizeInBytes(const cudnnFilterDescriptor_t filterDesc, size_t *size)
{
	if (!IS(filterDesc, FILTER) || !size)
		return CUDNN_STATUS_BAD_PARAM;
	*size = filterDesc->t.rank ? (size_t)dnn_tensor_bytes(&filterDesc->t) : 0;
	return CUDNN_STATUS_SUCCESS;
}

/* ---- convolutions ---- */

cudnnStatus_t soft_cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convDesc, int arrayLength,
						   const int *padA, const int *filterStrideA, const int *dilationA,
						   cudnnConvolutionMode_t mode, cudnnDataType_t computeType)
{
	struct dnn_conv c = { .spatial = (uint32_t)arrayLength, .flip = mode == CUDNN_CONVOLUTION };

	if (!IS(convDesc, CONVOLUTION))
		return CUDNN_STATUS_BAD_PARAM;
	if (!padA || !filterStrideA || !dilationA)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (arrayLength < 1 || (unsigned int)mode > CUDNN_CROSS_CORRELATION)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a convolution over %d dimensions", arrayLength);
	if (arrayLength > DNN_SPATIAL)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "a convolution over %d dimensions", arrayLength);
	for (int i = 0; i < arrayLength; i++) {
		if (padA[i] < 0 || filterStrideA[i] < 1 || dilationA[i] < 1)
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "padding %d, stride %d or dilation %d of a convolution",
					padA[i], filterStrideA[i], dilationA[i]);
		c.pad[i] = c.pad_after[i] = padA[i];
		c.stride[i] = filterStrideA[i];
		c.dilation[i] = dilationA[i];
	}
	c.groups = convDesc->c.groups ? convDesc->c.groups : 1;
	convDesc->c = c;
	convDesc->mode = mode;
	convDesc->type = computeType;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convDesc, int pad_h, int pad_w, int u,
						   int v, int dilation_h, int dilation_w, cudnnConvolutionMode_t mode,
						   cudnnDataType_t computeType)
{
	int pad[] = { pad_h, pad_w }, stride[] = { u, v }, dilation[] = { dilation_h, dilation_w };

	return soft_cudnnSetConvolutionNdDescriptor(convDesc, 2, pad, stride, dilation, mode, computeType);
}

cudnnStatus_t soft_cudnnGetConvolutionNdDescriptor(const cudnnConvolutionDescriptor_t convDesc,
						   int arrayLengthRequested, int *arrayLength, int *padA, int *strideA,
						   int *dilationA, cudnnConvolutionMode_t *mode,
						   cudnnDataType_t *computeType)
{
	if (!IS(convDesc, CONVOLUTION) || arrayLengthRequested < 0)
		return CUDNN_STATUS_BAD_PARAM;
	put(arrayLength, convDesc->c.spatial);
	for (int i = 0; i < arrayLengthRequested && i < (int)convDesc->c.spatial; i++) {
		put(padA ? padA + i : NULL, convDesc->c.pad[i]);
		put(strideA ? strideA + i : NULL, convDesc->c.stride[i]);
		put(dilationA ? dilationA + i : NULL, convDesc->c.dilation[i]);
	}
	if (mode)
		*mode = convDesc->mode;
	if (computeType)
		*computeType = convDesc->type;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetConvolution2dDescriptor(const cudnnConvolutionDescriptor_t convDesc, int *pad_h, int *pad_w,
						   int *u, int *v, int *dilation_h, int *dilation_w,
						   cudnnConvolutionMode_t *mode, cudnnDataType_t *computeType)
{
	int pad[2] = { 0 }, stride[2] = { 0 }, dilation[2] = { 0 }, dims = 0;
	cudnnStatus_t status =
		soft_cudnnGetConvolutionNdDescriptor(convDesc, 2, &dims, pad, stride, dilation, mode, computeType);

	if (status || dims != 2)
		return CUDNN_STATUS_BAD_PARAM;
	put(pad_h, pad[0]);
	put(pad_w, pad[1]);
	put(u, stride[0]);
	put(v, stride[1]);
	put(dilation_h, dilation[0]);
	put(dilation_w, dilation[1]);
	return CUDNN_STATUS_SUCCESS;
}

#define SETTING(kind, name, object, field, type)                                                                       \
	cudnnStatus_t soft_cudnnSet##name(object d, type value)                                                        \
	{                                                                                                              \
		if (!IS(d, kind))                                                                                      \
			return CUDNN_STATUS_BAD_PARAM;                                                                 \
		d->field = value;                                                                                      \
		return CUDNN_STATUS_SUCCESS;                                                                           \
	}                                                                                                              \
	cudnnStatus_t soft_cudnnGet##name(const object d, type *value)                                                 \
	{                                                                                                              \
		if (!IS(d, kind) || !value)                                                                            \
			return CUDNN_STATUS_BAD_PARAM;                                                                 \
		*value = (type)d->field;                                                                               \
		return CUDNN_STATUS_SUCCESS;                                                                           \
	}

SETTING(CONVOLUTION, ConvolutionMathType, cudnnConvolutionDescriptor_t, math, cudnnMathType_t)
SETTING(CONVOLUTION, ConvolutionReorderType, cudnnConvolutionDescriptor_t, reorder, cudnnReorderType_t)
SETTING(ACTIVATION, ActivationDescriptorSwishBeta, cudnnActivationDescriptor_t, swish, double)

cudnnStatus_t soft_cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t convDesc, int groupCount)
{
	if (!IS(convDesc, CONVOLUTION) || groupCount < 1)
		return CUDNN_STATUS_BAD_PARAM;
	convDesc->c.groups = groupCount;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetConvolutionGroupCount(const cudnnConvolutionDescriptor_t convDesc, int *groupCount)
{
	if (!IS(convDesc, CONVOLUTION) || !groupCount)
		return CUDNN_STATUS_BAD_PARAM;
	*groupCount = convDesc->c.groups ? (int)convDesc->c.groups : 1;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetConvolutionNdForwardOutputDim(const cudnnConvolutionDescriptor_t convDesc,
							 const cudnnTensorDescriptor_t inputTensorDesc,
							 const cudnnFilterDescriptor_t filterDesc, int nbDims,
							 int *tensorOuputDimA)
{
	struct dnn_tensor x, w;
	struct dnn_conv c;
	int64_t dim[DNN_TENSOR_DIMS];
	cudnnStatus_t status;

	if (!dnn_conv_of(convDesc, &c) || !dnn_tensor_of(inputTensorDesc, &x) || !dnn_filter_of(filterDesc, &w) ||
	    nbDims != x.rank || !tensorOuputDimA)
		return CUDNN_STATUS_BAD_PARAM;
	status = lower_conv_result(&c, &x, &w, dim);
	for (int i = 0; !status && i < nbDims; i++)
		tensorOuputDimA[i] = (int)dim[i];
	return status;
}

cudnnStatus_t soft_cudnnGetConvolution2dForwardOutputDim(const cudnnConvolutionDescriptor_t convDesc,
							 const cudnnTensorDescriptor_t inputTensorDesc,
							 const cudnnFilterDescriptor_t filterDesc, int *n, int *c,
							 int *h, int *w)
{
	int dim[4];
	cudnnStatus_t status =
		soft_cudnnGetConvolutionNdForwardOutputDim(convDesc, inputTensorDesc, filterDesc, 4, dim);

	if (status)
		return status;
	put(n, dim[0]);
	put(c, dim[1]);
	put(h, dim[2]);
	put(w, dim[3]);
	return CUDNN_STATUS_SUCCESS;
}

/* ---- pools ---- */

cudnnStatus_t soft_cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t poolingDesc, const cudnnPoolingMode_t mode,
					       const cudnnNanPropagation_t maxpoolingNanOpt, int nbDims,
					       const int *windowDimA, const int *paddingA, const int *strideA)
{
	static const int modes[] = { [CUDNN_POOLING_MAX] = DNN_POOL_MAX,
				     [CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING] = DNN_POOL_MEAN,
				     [CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING] = DNN_POOL_MEAN_INSIDE,
				     [CUDNN_POOLING_MAX_DETERMINISTIC] = DNN_POOL_MAX };
	struct dnn_pool p = { .spatial = (uint32_t)nbDims };

	if (!IS(poolingDesc, POOL) || !windowDimA || !paddingA || !strideA || nbDims < 1 ||
	    (unsigned int)mode > CUDNN_POOLING_MAX_DETERMINISTIC)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a pool over %d dimensions of mode %d", nbDims, (int)mode);
	if (nbDims > DNN_SPATIAL)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "a pool over %d dimensions", nbDims);
	p.mode = modes[mode];
	for (int i = 0; i < nbDims; i++) {
		if (windowDimA[i] < 1 || paddingA[i] < 0 || strideA[i] < 1)
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a pool's window of %d with stride %d and padding %d",
					windowDimA[i], strideA[i], paddingA[i]);
		p.window[i] = windowDimA[i];
		p.pad[i] = paddingA[i];
		p.stride[i] = strideA[i];
	}
	poolingDesc->p = p;
	poolingDesc->mode = mode;
	poolingDesc->nan = maxpoolingNanOpt;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t poolingDesc, cudnnPoolingMode_t mode,
					       cudnnNanPropagation_t maxpoolingNanOpt, int windowHeight,
					       int windowWidth, int verticalPadding, int horizontalPadding,
					       int verticalStride, int horizontalStride)
{
	int window[] = { windowHeight, windowWidth }, pad[] = { verticalPadding, horizontalPadding },
	    stride[] = { verticalStride, horizontalStride };

	return soft_cudnnSetPoolingNdDescriptor(poolingDesc, mode, maxpoolingNanOpt, 2, window, pad, stride);
}

cudnnStatus_t soft_cudnnGetPoolingNdDescriptor(const cudnnPoolingDescriptor_t poolingDesc, int nbDimsRequested,
					       cudnnPoolingMode_t *mode, cudnnNanPropagation_t *maxpoolingNanOpt,
					       int *nbDims, int *windowDimA, int *paddingA, int *strideA)
{
	if (!IS(poolingDesc, POOL) || nbDimsRequested < 0)
		return CUDNN_STATUS_BAD_PARAM;
	if (mode)
		*mode = poolingDesc->mode;
	if (maxpoolingNanOpt)
		*maxpoolingNanOpt = poolingDesc->nan;
	put(nbDims, poolingDesc->p.spatial);
	for (int i = 0; i < nbDimsRequested && i < (int)poolingDesc->p.spatial; i++) {
		put(windowDimA ? windowDimA + i : NULL, poolingDesc->p.window[i]);
		put(paddingA ? paddingA + i : NULL, poolingDesc->p.pad[i]);
		put(strideA ? strideA + i : NULL, poolingDesc->p.stride[i]);
	}
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetPooling2dDescriptor(const cudnnPoolingDescriptor_t poolingDesc, cudnnPoolingMode_t *mode,
					       cudnnNanPropagation_t *maxpoolingNanOpt, int *windowHeight,
					       int *windowWidth, int *verticalPadding, int *horizontalPadding,
					       int *verticalStride, int *horizontalStride)
{
	int window[2] = { 0 }, pad[2] = { 0 }, stride[2] = { 0 }, dims = 0;
	cudnnStatus_t status =
		soft_cudnnGetPoolingNdDescriptor(poolingDesc, 2, mode, maxpoolingNanOpt, &dims, window, pad, stride);

	if (status || dims != 2)
		return CUDNN_STATUS_BAD_PARAM;
	put(windowHeight, window[0]);
	put(windowWidth, window[1]);
	put(verticalPadding, pad[0]);
	put(horizontalPadding, pad[1]);
	put(verticalStride, stride[0]);
	put(horizontalStride, stride[1]);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetPoolingNdForwardOutputDim(const cudnnPoolingDescriptor_t poolingDesc,
						     const cudnnTensorDescriptor_t inputTensorDesc, int nbDims,
						     int *outputTensorDimA)
{
	struct dnn_tensor x;
	struct dnn_pool p;

	if (!dnn_pool_of(poolingDesc, &p) || !dnn_tensor_of(inputTensorDesc, &x) || nbDims != x.rank ||
	    x.rank != (int)p.spatial + 2 || !outputTensorDimA)
		return CUDNN_STATUS_BAD_PARAM;
	put(outputTensorDimA, x.dim[0]);
	put(outputTensorDimA + 1, x.dim[1]);
	for (uint32_t i = 0; i < p.spatial; i++) {
		int64_t room = x.dim[2 + i] + 2 * p.pad[i] - p.window[i];

		if (room < 0)
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a pool's window is larger than the padded image");
		put(outputTensorDimA + 2 + i, room / p.stride[i] + 1);
	}
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetPooling2dForwardOutputDim(const cudnnPoolingDescriptor_t poolingDesc,
						     const cudnnTensorDescriptor_t inputTensorDesc, int *n, int *c,
						     int *h, int *w)
{
	int dim[4];
	cudnnStatus_t status = soft_cudnnGetPoolingNdForwardOutputDim(poolingDesc, inputTensorDesc, 4, dim);

	if (status)
		return status;
	put(n, dim[0]);
	put(c, dim[1]);
	put(h, dim[2]);
	put(w, dim[3]);
	return CUDNN_STATUS_SUCCESS;
}

/* ---- activations and the like ---- */

cudnnStatus_t soft_cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activationDesc, cudnnActivationMode_t mode,
						cudnnNanPropagation_t reluNanOpt, double coef)
{
	if (!IS(activationDesc, ACTIVATION) || (unsigned int)mode > CUDNN_ACTIVATION_SWISH)
		return CUDNN_STATUS_BAD_PARAM;
	activationDesc->mode = mode;
	activationDesc->nan = reluNanOpt;
	activationDesc->coefficient = coef;
	if (activationDesc->swish == 0)
		activationDesc->swish = 1;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetActivationDescriptor(const cudnnActivationDescriptor_t activationDesc,
						cudnnActivationMode_t *mode, cudnnNanPropagation_t *reluNanOpt,
						double *coef)
{
	if (!IS(activationDesc, ACTIVATION) || !mode || !reluNanOpt || !coef)
		return CUDNN_STATUS_BAD_PARAM;
	*mode = activationDesc->mode;
	*reluNanOpt = activationDesc->nan;
	*coef = activationDesc->coefficient;
	return CUDNN_STATUS_SUCCESS;
}

bool older_activation(cudnnActivationDescriptor_t d, bool back, unsigned int *ret_mode, double scalar[8])
{
	static const unsigned int modes[] = {
		[CUDNN_ACTIVATION_SIGMOID] = CUDNN_POINTWISE_SIGMOID_FWD,
		[CUDNN_ACTIVATION_RELU] = CUDNN_POINTWISE_RELU_FWD,
		[CUDNN_ACTIVATION_TANH] = CUDNN_POINTWISE_TANH_FWD,
		[CUDNN_ACTIVATION_CLIPPED_RELU] = CUDNN_POINTWISE_RELU_FWD,
		[CUDNN_ACTIVATION_ELU] = CUDNN_POINTWISE_ELU_FWD,
		[CUDNN_ACTIVATION_IDENTITY] = CUDNN_POINTWISE_IDENTITY,
		[CUDNN_ACTIVATION_SWISH] = CUDNN_POINTWISE_SWISH_FWD,
	};

	if (!IS(d, ACTIVATION))
		return false;
	*ret_mode = modes[d->mode];
	if (d->mode == CUDNN_ACTIVATION_CLIPPED_RELU)
		scalar[POINT_HIGH] = d->coefficient;
	if (d->mode == CUDNN_ACTIVATION_ELU)
		scalar[POINT_SLOPE] = d->coefficient;
	if (d->mode == CUDNN_ACTIVATION_SWISH)
		scalar[POINT_SLOPE] = d->swish;
	if (back && d->mode != CUDNN_ACTIVATION_IDENTITY)
		*ret_mode += CUDNN_POINTWISE_RELU_BWD - CUDNN_POINTWISE_RELU_FWD;
	return true;
}

cudnnStatus_t soft_cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t opTensorDesc, cudnnOpTensorOp_t opTensorOp,
					      cudnnDataType_t opTensorCompType, cudnnNanPropagation_t opTensorNanOpt)
{
	if (!IS(opTensorDesc, OP_TENSOR) || (unsigned int)opTensorOp > CUDNN_OP_TENSOR_NOT)
		return CUDNN_STATUS_BAD_PARAM;
	opTensorDesc->op = opTensorOp;
	opTensorDesc->type = opTensorCompType;
	opTensorDesc->nan = opTensorNanOpt;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetOpTensorDescriptor(const cudnnOpTensorDescriptor_t opTensorDesc,
					      cudnnOpTensorOp_t *opTensorOp, cudnnDataType_t *opTensorCompType,
					      cudnnNanPropagation_t *opTensorNanOpt)
{
	if (!IS(opTensorDesc, OP_TENSOR) || !opTensorOp || !opTensorCompType || !opTensorNanOpt)
		return CUDNN_STATUS_BAD_PARAM;
	*opTensorOp = opTensorDesc->op;
	*opTensorCompType = opTensorDesc->type;
	*opTensorNanOpt = opTensorDesc->nan;
	return CUDNN_STATUS_SUCCESS;
}

bool older_op(cudnnOpTensorDescriptor_t d, cudnnOpTensorOp_t *ret)
{
	if (!IS(d, OP_TENSOR))
		return false;
	*ret = d->op;
	return true;
}

cudnnStatus_t soft_cudnnSetReduceTensorDescriptor(cudnnReduceTensorDescriptor_t reduceTensorDesc,
						  cudnnReduceTensorOp_t reduceTensorOp,
						  cudnnDataType_t reduceTensorCompType,
						  cudnnNanPropagation_t reduceTensorNanOpt,
						  cudnnReduceTensorIndices_t reduceTensorIndices,
						  cudnnIndicesType_t reduceTensorIndicesType)
{
	if (!IS(reduceTensorDesc, REDUCTION) || (unsigned int)reduceTensorOp > CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS)
		return CUDNN_STATUS_BAD_PARAM;
	reduceTensorDesc->op = reduceTensorOp;
	reduceTensorDesc->type = reduceTensorCompType;
	reduceTensorDesc->nan = reduceTensorNanOpt;
	reduceTensorDesc->indices = reduceTensorIndices;
	reduceTensorDesc->indices_type = reduceTensorIndicesType;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetReduceTensorDescriptor(const cudnnReduceTensorDescriptor_t reduceTensorDesc,
						  cudnnReduceTensorOp_t *reduceTensorOp,
						  cudnnDataType_t *reduceTensorCompType,
						  cudnnNanPropagation_t *reduceTensorNanOpt,
						  cudnnReduceTensorIndices_t *reduceTensorIndices,
						  cudnnIndicesType_t *reduceTensorIndicesType)
{
	if (!IS(reduceTensorDesc, REDUCTION) || !reduceTensorOp || !reduceTensorCompType || !reduceTensorNanOpt ||
	    !reduceTensorIndices || !reduceTensorIndicesType)
		return CUDNN_STATUS_BAD_PARAM;
	*reduceTensorOp = reduceTensorDesc->op;
	*reduceTensorCompType = reduceTensorDesc->type;
	*reduceTensorNanOpt = reduceTensorDesc->nan;
	*reduceTensorIndices = reduceTensorDesc->indices;
	*reduceTensorIndicesType = reduceTensorDesc->indices_type;
	return CUDNN_STATUS_SUCCESS;
}

bool older_reduction(cudnnReduceTensorDescriptor_t d, cudnnReduceTensorOp_t *ret, bool *ret_indices)
{
	if (!IS(d, REDUCTION))
		return false;
	*ret = d->op;
	*ret_indices = d->indices != CUDNN_REDUCE_TENSOR_NO_INDICES;
	return true;
}

/* ---- dropout ---- */

#define STATES_BYTES 1024

cudnnStatus_t soft_cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t *sizeInBytes)
{
	if (!dnn_handle_good(handle))
		return CUDNN_STATUS_NOT_INITIALIZED;
	if (!sizeInBytes)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	*sizeInBytes = STATES_BYTES;
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t dropout_set(cudnnDropoutDescriptor_t d, cudnnHandle_t handle, float rate, void *states,
				 size_t bytes, unsigned long long seed)
{
	if (!dnn_handle_good(handle))
		return CUDNN_STATUS_NOT_INITIALIZED;
	if (!IS(d, DROPOUT) || !(rate >= 0 && rate <= 1))
		return CUDNN_STATUS_BAD_PARAM;
	if (states && bytes < STATES_BYTES)
		return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
	d->rate = rate;
	d->states = states;
	d->seed = seed;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc, cudnnHandle_t handle,
						 float dropout, void *states, size_t stateSizeInBytes,
						 unsigned long long seed)
{
	if (dnn_handle_good(handle) && !states)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "no states of dropout to restore");
	return dropout_set(dropoutDesc, handle, dropout, states, stateSizeInBytes, seed);
}

/* Frameworks describe a network without dropout by a rate of 0 and no states. */
cudnnStatus_t soft_cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc, cudnnHandle_t handle, float dropout,
					     void *states, size_t stateSizeInBytes, unsigned long long seed)
{
	cudnnStatus_t status = dropout_set(dropoutDesc, handle, dropout, states, stateSizeInBytes, seed);

	if (!status)
		dropoutDesc->used = 0;
	return status;
}

cudnnStatus_t soft_cudnnGetDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc, cudnnHandle_t handle, float *dropout,
					     void **states, unsigned long long *seed)
{
	if (!dnn_handle_good(handle))
		return CUDNN_STATUS_NOT_INITIALIZED;
	if (!dropout || !states || !seed || !older_dropout_said(dropoutDesc, dropout, states, seed))
		return CUDNN_STATUS_BAD_PARAM;
	return CUDNN_STATUS_SUCCESS;
}

bool older_dropout_said(cudnnDropoutDescriptor_t d, float *ret_rate, void **ret_states, unsigned long long *ret_seed)
{
	if (!IS(d, DROPOUT))
		return false;
	*ret_rate = d->rate;
	*ret_states = d->states;
	*ret_seed = d->seed;
	return true;
}

bool older_is_dropout(cudnnDropoutDescriptor_t d)
{
	return IS(d, DROPOUT);
}

bool older_dropout(cudnnDropoutDescriptor_t d, bool next, double *ret_keep, int64_t *ret_seed, int64_t *ret_offset)
{
	if (!IS(d, DROPOUT))
		return false;
	*ret_keep = 1 - (double)d->rate;
	*ret_seed = (int64_t)(d->seed & ((1ULL << 52) - 1)); /* which a double holds */
	*ret_offset = (int64_t)d->used;
	d->used += next;
	return true;
}
