/*
 * recipe_serve.c: see recipe_serve.h.
 *
 * The words of a recipe are a client's: NVIDIA's library judges them. What matters here is that an array has as many
 * elements as the library is told, and that an address is the session's.
 */
#include "remote/libs/recipe_serve.h"

#include <stdlib.h>
#include <string.h>

#define DIMS 8
#define SEQUENCES_MOST (1 << 20)
#define MADE_MOST 16 /* descriptors of one call */

enum {
	TENSOR = 1,
	FILTER,
	CONVOLUTION,
	POOLING,
	ACTIVATION,
	OP_TENSOR,
	REDUCTION,
	DROPOUT,
	CTC,
	RNN,
	RNN_DATA,
	TRANSFORMER,
	TYPES
};

/* What this thread's call has had made. */
static __thread struct {
	unsigned int type;
	void *descriptor;
} made[MADE_MOST];
static __thread unsigned int made_count;
static __thread bool failed;
static __thread cudnnStatus_t first; /* that the library refused a recipe by */

static int64_t word(struct forward_work *w)
{
	int64_t word;

	forward_get(w, &word, sizeof(word));
	return word;
}

static double real(struct forward_work *w)
{
	double word;

	forward_get(w, &word, sizeof(word));
	return word;
}

/* Dimensions; what does not fit makes the message malformed. */
static int dims(struct forward_work *w)
{
	int64_t count = word(w);

	if (count < 0 || count > DIMS)
		w->work->in.bad = true;
	return w->work->in.bad ? 0 : (int)count;
}

static void list(struct forward_work *w, int ret[DIMS], int count)
{
	for (int i = 0; i < count; i++)
		ret[i] = (int)word(w);
}

/* ---- each type: what is set of a descriptor that has been made ---- */

/* Without a descriptor its words are read all the same, because more follows. */
#define SET(call, ...) (d && FAR_CALL(w, call) ? FAR_CALL(w, call)(__VA_ARGS__) : CUDNN_STATUS_NOT_SUPPORTED)

static cudnnStatus_t set_tensor(struct forward_work *w, void *d)
{
	int dim[DIMS] = { 0 }, stride[DIMS] = { 0 }, count;
	cudnnDataType_t type = (cudnnDataType_t)word(w);

	count = dims(w);
	list(w, dim, count);
	list(w, stride, count);
	return SET(cudnnSetTensorNdDescriptor, d, type, count, dim, stride);
}

static cudnnStatus_t set_filter(struct forward_work *w, void *d)
{
	cudnnDataType_t type = (cudnnDataType_t)word(w);
	cudnnTensorFormat_t format = (cudnnTensorFormat_t)word(w);
	int dim[DIMS] = { 0 }, count = dims(w);

	list(w, dim, count);
	return SET(cudnnSetFilterNdDescriptor, d, type, format, count, dim);
}

static cudnnStatus_t set_convolution(struct forward_work *w, void *d)
{
	int pad[DIMS] = { 0 }, stride[DIMS] = { 0 }, dilation[DIMS] = { 0 }, count = dims(w), groups;
	cudnnConvolutionMode_t mode;
	cudnnReorderType_t reorder;
	cudnnMathType_t math;
	cudnnDataType_t type;
	cudnnStatus_t status;

	list(w, pad, count);
	list(w, stride, count);
	list(w, dilation, count);
	mode = (cudnnConvolutionMode_t)word(w);
	type = (cudnnDataType_t)word(w);
	groups = (int)word(w);
	math = (cudnnMathType_t)word(w);
	reorder = (cudnnReorderType_t)word(w);
	status = SET(cudnnSetConvolutionNdDescriptor, d, count, pad, stride, dilation, mode, type);
	if (!status && groups != 1)
		status = SET(cudnnSetConvolutionGroupCount, d, groups);
	if (!status && math)
		status = SET(cudnnSetConvolutionMathType, d, math);
	return status || !reorder ? status : SET(cudnnSetConvolutionReorderType, d, reorder);
}

static cudnnStatus_t set_pooling(struct forward_work *w, void *d)
{
	cudnnPoolingMode_t mode = (cudnnPoolingMode_t)word(w);
	cudnnNanPropagation_t nan = (cudnnNanPropagation_t)word(w);
	int window[DIMS] = { 0 }, pad[DIMS] = { 0 }, stride[DIMS] = { 0 }, count = dims(w);

	list(w, window, count);
	list(w, pad, count);
	list(w, stride, count);
	return SET(cudnnSetPoolingNdDescriptor, d, mode, nan, count, window, pad, stride);
}

static cudnnStatus_t set_activation(struct forward_work *w, void *d)
{
	cudnnActivationMode_t mode = (cudnnActivationMode_t)word(w);
	cudnnNanPropagation_t nan = (cudnnNanPropagation_t)word(w);
	double coefficient = real(w), swish = real(w);
	cudnnStatus_t status = SET(cudnnSetActivationDescriptor, d, mode, nan, coefficient);

	return status || mode != CUDNN_ACTIVATION_SWISH ? status : SET(cudnnSetActivationDescriptorSwishBeta, d, swish);
}

static cudnnStatus_t set_op_tensor(struct forward_work *w, void *d)
{
	cudnnOpTensorOp_t op = (cudnnOpTensorOp_t)word(w);
	cudnnDataType_t type = (cudnnDataType_t)word(w);
	cudnnNanPropagation_t nan = (cudnnNanPropagation_t)word(w);

	return SET(cudnnSetOpTensorDescriptor, d, op, type, nan);
}

static cudnnStatus_t set_reduction(struct forward_work *w, void *d)
{
	cudnnReduceTensorOp_t op = (cudnnReduceTensorOp_t)word(w);
	cudnnDataType_t type = (cudnnDataType_t)word(w);
	cudnnNanPropagation_t nan = (cudnnNanPropagation_t)word(w);
	cudnnReduceTensorIndices_t indices = (cudnnReduceTensorIndices_t)word(w);
	cudnnIndicesType_t indices_type = (cudnnIndicesType_t)word(w);

	return SET(cudnnSetReduceTensorDescriptor, d, op, type, nan, indices, indices_type);
}

/* With the states that the program has had filled before; as many of them as the library asks for. */
static cudnnStatus_t set_dropout(struct forward_work *w, void *d)
{
	float rate = (float)real(w);
	uint64_t states, seed;
	size_t bytes = 0;

	forward_get_device(w, &states);
	seed = (uint64_t)word(w);
	if (!states) /* no states are none to restore, says NVIDIA's */
		return SET(cudnnSetDropoutDescriptor, d, w->handle, rate, NULL, 0, seed);
	if (FAR_CALL(w, cudnnDropoutGetStatesSize))
		FAR_CALL(w, cudnnDropoutGetStatesSize)(w->handle, &bytes);
	return SET(cudnnRestoreDropoutDescriptor, d, w->handle, rate, (void *)(uintptr_t)states, bytes, seed);
}

static cudnnStatus_t set_ctc(struct forward_work *w, void *d)
{
	cudnnDataType_t type = (cudnnDataType_t)word(w);
	cudnnLossNormalizationMode_t mode = (cudnnLossNormalizationMode_t)word(w);
	cudnnNanPropagation_t nan = (cudnnNanPropagation_t)word(w);
	cudnnCTCGradMode_t outside = (cudnnCTCGradMode_t)word(w);
	int labels = (int)word(w);

	if (outside != CUDNN_CTC_ZERO_OOB_GRADIENTS)
		return SET(cudnnSetCTCLossDescriptor_v9, d, type, mode, outside, labels);
	return SET(cudnnSetCTCLossDescriptor_v8, d, type, mode, nan, labels);
}

static cudnnStatus_t set_transformer(struct forward_work *w, void *d)
{
	cudnnDataType_t type = (cudnnDataType_t)word(w);
	int dim[4];

	for (int i = 0; i < 4; i++)
		dim[i] = (int)word(w);
	return SET(cudnnSetSpatialTransformerNdDescriptor, d, CUDNN_SAMPLER_BILINEAR, type, 4, dim);
}

static cudnnStatus_t set_rnn(struct forward_work *w, void *d)
{
	cudnnNanPropagation_t nan;
	cudnnRNNClipMode_t clip;
	cudnnStatus_t status;
	int64_t said[13];
	double low, high;
	void *dropout;

	for (size_t i = 0; i < 13; i++)
		said[i] = word(w);
	clip = (cudnnRNNClipMode_t)word(w);
	nan = (cudnnNanPropagation_t)word(w);
	low = real(w);
	high = real(w);
	dropout = recipe_take(w, DROPOUT);
	if (failed || w->work->in.bad)
		return CUDNN_STATUS_BAD_PARAM;
	status = SET(cudnnSetRNNDescriptor_v8, d, (cudnnRNNAlgo_t)said[0], (cudnnRNNMode_t)said[1],
		     (cudnnRNNBiasMode_t)said[2], (cudnnDirectionMode_t)said[3], (cudnnRNNInputMode_t)said[4],
		     (cudnnDataType_t)said[5], (cudnnDataType_t)said[6], (cudnnMathType_t)said[7], (int32_t)said[8],
		     (int32_t)said[9], (int32_t)said[10], (int32_t)said[11], dropout, (uint32_t)said[12]);
	return status || !clip ? status : SET(cudnnRNNSetClip_v8, d, clip, nan, low, high);
}

static cudnnStatus_t set_rnn_data(struct forward_work *w, void *d)
{
	cudnnDataType_t type = (cudnnDataType_t)word(w);
	cudnnRNNDataLayout_t layout = (cudnnRNNDataLayout_t)word(w);
	int64_t most = word(w), count = word(w), size = word(w);
	double fill = real(w);
	const int *length;

	if (count < 0 || count > SEQUENCES_MOST) {
		w->work->in.bad = true;
		return CUDNN_STATUS_BAD_PARAM;
	}
	length = remote_take(&w->work->in, (size_t)count * sizeof(*length));
	return length ? SET(cudnnSetRNNDataDescriptor, d, type, layout, (int)most, (int)count, (int)size, length, &fill)
		      : CUDNN_STATUS_BAD_PARAM;
}

static const struct {
	enum cudnn_call create, destroy;
	cudnnStatus_t (*set)(struct forward_work *w, void *descriptor);
} types[TYPES] = {
#define TYPE(number, name, set)                                                                                        \
	[number] = { CUDNN_CALL_cudnnCreate##name##Descriptor, CUDNN_CALL_cudnnDestroy##name##Descriptor, set }
	TYPE(TENSOR, Tensor, set_tensor),
	TYPE(FILTER, Filter, set_filter),
	TYPE(CONVOLUTION, Convolution, set_convolution),
	TYPE(POOLING, Pooling, set_pooling),
	TYPE(ACTIVATION, Activation, set_activation),
	TYPE(OP_TENSOR, OpTensor, set_op_tensor),
	TYPE(REDUCTION, ReduceTensor, set_reduction),
	TYPE(DROPOUT, Dropout, set_dropout),
	TYPE(CTC, CTCLoss, set_ctc),
	TYPE(RNN, RNN, set_rnn),
	TYPE(RNN_DATA, RNNData, set_rnn_data),
	TYPE(TRANSFORMER, SpatialTransformer, set_transformer),
};

/* ---- a call's descriptors ---- */

static void refuse(cudnnStatus_t status)
{
	first = failed ? first : status;
	failed = true;
}

static void *make(struct forward_work *w, unsigned int type)
{
	cudnnStatus_t (*create)(void **) = (cudnnStatus_t(*)(void **))w->library->functions[types[type].create];
	void *descriptor = NULL;

	if (!far_is_served() || !create || made_count == MADE_MOST) {
		refuse(CUDNN_STATUS_NOT_SUPPORTED);
		return NULL;
	}
	if (create(&descriptor)) {
		refuse(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
		return NULL;
	}
	made[made_count].type = type;
	made[made_count++].descriptor = descriptor;
	return descriptor;
}

void *recipe_take(struct forward_work *w, unsigned int type)
{
	int64_t state = word(w);
	cudnnStatus_t status;
	void *descriptor;

	if (state < 0 || state > 2)
		w->work->in.bad = true;
	if (w->work->in.bad || !state)
		return NULL;
	descriptor = make(w, type);
	status = state == 1 ? CUDNN_STATUS_SUCCESS : types[type].set(w, descriptor);
	if (status)
		refuse(status);
	return descriptor;
}

void recipe_take_value(struct forward_work *w, struct recipe_value *ret)
{
	bool there = word(w);

	forward_get(w, ret->bytes, sizeof(ret->bytes));
	ret->at = there ? ret->bytes : NULL;
}

int recipe_refuse(struct forward_work *w)
{
	int r;

	w->unsound |= failed;
	r = forward_refuse(w);
	if (failed)
		w->status = (int)first;
	recipe_drop(w);
	return r;
}

bool recipe_ready(struct forward_work *w)
{
	return far_is_served() && !failed && forward_ready(w);
}

void recipe_drop(struct forward_work *w)
{
	while (made_count) {
		unsigned int type = made[--made_count].type;
		cudnnStatus_t (*destroy)(void *) = (cudnnStatus_t(*)(void *))w->library->functions[types[type].destroy];

		if (destroy)
			destroy(made[made_count].descriptor);
	}
	failed = false;
}
