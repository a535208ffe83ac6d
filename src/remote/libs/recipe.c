/* recipe.c: see recipe.h. */
#include "remote/libs/recipe.h"

#include "libs/cudnn/older.h"

#include <stdlib.h>
#include <string.h>

#define DIMS DNN_TENSOR_DIMS

bool dnn_far(const void *object)
{
	struct far_about about = { 0 };
	struct forward_call f;

	if (!object)
		forward_context();
	if (!forward_open(&f, dnn_library()))
		return false;
	if (object ? f.client->use(&f.call, KIND_FORWARDED, object) != 0 : f.client->use_current(&f.call)) {
		if (forward_start_memo(&f, CUDNN_CALL_cudnnGetVersion, 0))
			forward_send(&f);
		if (f.call.result == CUDA_SUCCESS)
			forward_get(&f, &about, sizeof(about));
	}
	return !forward_end(&f) && about.far;
}

bool far_begin(struct twin_call *c, unsigned int call, const void *object, enum twin_way way, size_t bytes)
{
	if (object)
		return twin_begin(c, 0, call, object, way, bytes);
	c->goes = true;
	c->memo = way == TWIN_ASK_ONCE;
	forward_context();
	if (!forward_open(&c->f, c->library) || !c->f.client->use_current(&c->f.call))
		return false;
	return c->memo ? forward_start_memo(&c->f, call, 0) : forward_start(&c->f, call, 0, way != TWIN_RUN, bytes);
}

/* ---- words ---- */

static void put(struct twin_call *c, int64_t word)
{
	forward_put(&c->f, &word, sizeof(word));
}

static void put_real(struct twin_call *c, double word)
{
	forward_put(&c->f, &word, sizeof(word));
}

static void put_list(struct twin_call *c, const int *list, int count)
{
	for (int i = 0; i < count; i++)
		put(c, list[i]);
}

/* ---- descriptors; false: it is not set, and nothing was put ---- */

static bool put_tensor(struct twin_call *c, const void *d)
{
	int dims = 0, dim[DIMS] = { 0 }, stride[DIMS] = { 0 };
	cudnnDataType_t type;

	if (soft_cudnnGetTensorNdDescriptor((cudnnTensorDescriptor_t)(uintptr_t)d, DIMS, &type, &dims, dim, stride) ||
	    !dims)
		return false;
	put(c, RECIPE_SET);
	put(c, type);
	put(c, dims);
	put_list(c, dim, dims);
	put_list(c, stride, dims);
	return true;
}

static bool put_filter(struct twin_call *c, const void *d)
{
	int dims = 0, dim[DIMS] = { 0 };
	cudnnTensorFormat_t format;
	cudnnDataType_t type;

	if (soft_cudnnGetFilterNdDescriptor((cudnnFilterDescriptor_t)(uintptr_t)d, DIMS, &type, &format, &dims, dim))
		return false;
	put(c, RECIPE_SET);
	put(c, type);
	put(c, format);
	put(c, dims);
	put_list(c, dim, dims);
	return true;
}

static bool put_convolution(struct twin_call *c, const void *given)
{
	cudnnConvolutionDescriptor_t d = (cudnnConvolutionDescriptor_t)(uintptr_t)given;
	int dims = 0, groups = 1, pad[DIMS] = { 0 }, stride[DIMS] = { 0 }, dilation[DIMS] = { 0 };
	cudnnReorderType_t reorder = 0;
	cudnnConvolutionMode_t mode;
	cudnnMathType_t math = 0;
	cudnnDataType_t type;

	if (soft_cudnnGetConvolutionNdDescriptor(d, DNN_SPATIAL, &dims, pad, stride, dilation, &mode, &type))
		return false;
	soft_cudnnGetConvolutionGroupCount(d, &groups);
	soft_cudnnGetConvolutionMathType(d, &math);
	soft_cudnnGetConvolutionReorderType(d, &reorder);
	put(c, RECIPE_SET);
	put(c, dims);
	put_list(c, pad, dims);
	put_list(c, stride, dims);
	put_list(c, dilation, dims);
	put(c, mode);
	put(c, type);
	put(c, groups);
	put(c, math);
	put(c, reorder);
	return true;
}

static bool put_pooling(struct twin_call *c, const void *d)
{
	int dims = 0, window[DIMS] = { 0 }, pad[DIMS] = { 0 }, stride[DIMS] = { 0 };
	cudnnNanPropagation_t nan;
	cudnnPoolingMode_t mode;

	if (soft_cudnnGetPoolingNdDescriptor((cudnnPoolingDescriptor_t)(uintptr_t)d, DNN_SPATIAL, &mode, &nan, &dims,
					     window, pad, stride))
		return false;
	put(c, RECIPE_SET);
	put(c, mode);
	put(c, nan);
	put(c, dims);
	put_list(c, window, dims);
	put_list(c, pad, dims);
	put_list(c, stride, dims);
	return true;
}

static bool put_activation(struct twin_call *c, const void *given)
{
	cudnnActivationDescriptor_t d = (cudnnActivationDescriptor_t)(uintptr_t)given;
	double coefficient = 0, swish = 0;
	cudnnActivationMode_t mode;
	cudnnNanPropagation_t nan;

	if (soft_cudnnGetActivationDescriptor(d, &mode, &nan, &coefficient))
		return false;
	soft_cudnnGetActivationDescriptorSwishBeta(d, &swish);
	put(c, RECIPE_SET);
	put(c, mode);
	put(c, nan);
	put_real(c, coefficient);
	put_real(c, swish);
	return true;
}

static bool put_op_tensor(struct twin_call *c, const void *d)
{
	cudnnNanPropagation_t nan;
	cudnnOpTensorOp_t op;
	cudnnDataType_t type;

	if (soft_cudnnGetOpTensorDescriptor((cudnnOpTensorDescriptor_t)(uintptr_t)d, &op, &type, &nan))
		return false;
	put(c, RECIPE_SET);
	put(c, op);
	put(c, type);
	put(c, nan);
	return true;
}

static bool put_reduction(struct twin_call *c, const void *d)
{
	cudnnReduceTensorIndices_t indices;
	cudnnIndicesType_t indices_type;
	cudnnNanPropagation_t nan;
	cudnnReduceTensorOp_t op;
	cudnnDataType_t type;

	if (soft_cudnnGetReduceTensorDescriptor((cudnnReduceTensorDescriptor_t)(uintptr_t)d, &op, &type, &nan, &indices,
						&indices_type))
		return false;
	put(c, RECIPE_SET);
	put(c, op);
	put(c, type);
	put(c, nan);
	put(c, indices);
	put(c, indices_type);
	return true;
}

static bool put_dropout(struct twin_call *c, const void *d)
{
	unsigned long long seed = 0;
	void *states = NULL;
	float rate = 0;

	if (!older_dropout_said((cudnnDropoutDescriptor_t)(uintptr_t)d, &rate, &states, &seed))
		return false;
	put(c, RECIPE_SET);
	put_real(c, rate);
	put(c, (int64_t)(uintptr_t)states);
	put(c, (int64_t)seed);
	return true;
}

static bool put_ctc(struct twin_call *c, const void *given)
{
	cudnnCTCLossDescriptor_t d = (cudnnCTCLossDescriptor_t)(uintptr_t)given;
	cudnnLossNormalizationMode_t mode;
	cudnnNanPropagation_t gradient;
	cudnnCTCGradMode_t outside;
	cudnnDataType_t type;
	int labels = 0;

	if (soft_cudnnGetCTCLossDescriptor_v8(d, &type, &mode, &gradient, &labels) ||
	    soft_cudnnGetCTCLossDescriptor_v9(d, &type, &mode, &outside, &labels))
		return false;
	put(c, RECIPE_SET);
	put(c, type);
	put(c, mode);
	put(c, gradient);
	put(c, outside);
	put(c, labels);
	return true;
}

static bool put_transformer(struct twin_call *c, const void *given)
{
	cudnnDataType_t type;
	int64_t dim[4];

	if (!older_transformer((cudnnSpatialTransformerDescriptor_t)(uintptr_t)given, &type, dim))
		return false;
	put(c, RECIPE_SET);
	put(c, type);
	for (int i = 0; i < 4; i++)
		put(c, dim[i]);
	return true;
}

static bool put_rnn(struct twin_call *c, const void *given)
{
	cudnnRNNDescriptor_t d = (cudnnRNNDescriptor_t)(uintptr_t)given;
	int32_t input, hidden, projected, layers;
	cudnnDropoutDescriptor_t dropout = NULL;
	cudnnDataType_t type, precision;
	cudnnDirectionMode_t direction;
	cudnnNanPropagation_t nan = 0;
	cudnnRNNClipMode_t clip = 0;
	cudnnRNNInputMode_t entry;
	cudnnRNNBiasMode_t bias;
	double low = 0, high = 0;
	cudnnRNNAlgo_t algorithm;
	cudnnMathType_t math;
	cudnnRNNMode_t mode;
	uint32_t flags;

	if (soft_cudnnGetRNNDescriptor_v8(d, &algorithm, &mode, &bias, &direction, &entry, &type, &precision, &math,
					  &input, &hidden, &projected, &layers, &dropout, &flags))
		return false;
	soft_cudnnRNNGetClip_v8(d, &clip, &nan, &low, &high);
	put(c, RECIPE_SET);
	for (size_t i = 0; i < 13; i++)
		put(c, (int64_t[]){ algorithm, mode, bias, direction, entry, type, precision, math, input, hidden,
				    projected, layers, flags }[i]);
	put(c, clip);
	put(c, nan);
	put_real(c, low);
	put_real(c, high);
	recipe_put(c, RECIPE_DROPOUT, dropout);
	return true;
}

/* The lengths of the sequences, allocated; NULL: not set, or no memory. */
static int *sequences(const void *d, cudnnDataType_t *type, cudnnRNNDataLayout_t *layout, int *most, int *count,
		      int *size, double *fill)
{
	cudnnRNNDataDescriptor_t data = (cudnnRNNDataDescriptor_t)(uintptr_t)d;
	int *length;

	if (soft_cudnnGetRNNDataDescriptor(data, type, layout, most, count, size, 0, NULL, fill))
		return NULL;
	length = *count <= RECIPE_SEQUENCES_MOST ? calloc((size_t)*count + 1, sizeof(*length)) : NULL;
	if (length && soft_cudnnGetRNNDataDescriptor(data, type, layout, most, count, size, *count, length, fill)) {
		free(length);
		return NULL;
	}
	return length;
}

static bool put_rnn_data(struct twin_call *c, const void *d)
{
	int most, count = 0, size, *length;
	cudnnRNNDataLayout_t layout;
	cudnnDataType_t type;
	double fill = 0; /* as many bytes of it as the type has */

	length = sequences(d, &type, &layout, &most, &count, &size, &fill);
	if (!length)
		return false;
	put(c, RECIPE_SET);
	put(c, type);
	put(c, layout);
	put(c, most);
	put(c, count);
	put(c, size);
	put_real(c, fill);
	forward_put(&c->f, length, (size_t)count * sizeof(*length));
	free(length);
	return true;
}

static bool (*const puts_of[])(struct twin_call *, const void *) = {
	[RECIPE_TENSOR] = put_tensor,
	[RECIPE_FILTER] = put_filter,
	[RECIPE_CONVOLUTION] = put_convolution,
	[RECIPE_POOLING] = put_pooling,
	[RECIPE_ACTIVATION] = put_activation,
	[RECIPE_OP_TENSOR] = put_op_tensor,
	[RECIPE_REDUCTION] = put_reduction,
	[RECIPE_DROPOUT] = put_dropout,
	[RECIPE_CTC] = put_ctc,
	[RECIPE_RNN] = put_rnn,
	[RECIPE_RNN_DATA] = put_rnn_data,
	[RECIPE_TRANSFORMER] = put_transformer,
};

void recipe_put(struct twin_call *c, unsigned int type, const void *descriptor)
{
	if (!descriptor)
		put(c, RECIPE_NONE);
	else if (!puts_of[type](c, descriptor))
		put(c, RECIPE_UNSET);
}

size_t recipe_room(unsigned int type, const void *descriptor)
{
	int count = 0;

	if (type != RECIPE_RNN_DATA || !descriptor ||
	    soft_cudnnGetRNNDataDescriptor((cudnnRNNDataDescriptor_t)(uintptr_t)descriptor, NULL, NULL, NULL, &count,
					   NULL, 0, NULL, NULL))
		return 0;
	return (size_t)count * sizeof(int);
}

/* ---- numbers ---- */

static void put_value(struct twin_call *c, const void *value, size_t bytes)
{
	uint8_t room[FAR_VALUE_BYTES] = { 0 };

	put(c, value != NULL);
	if (value)
		memcpy(room, value, bytes < sizeof(room) ? bytes : sizeof(room));
	forward_put(&c->f, room, sizeof(room));
}

static unsigned int type_of(const void *tensor)
{
	int dims, dim[DIMS], stride[DIMS];
	cudnnDataType_t type = CUDNN_DATA_FLOAT;

	if (tensor)
		soft_cudnnGetTensorNdDescriptor((cudnnTensorDescriptor_t)(uintptr_t)tensor, DIMS, &type, &dims, dim,
						stride);
	return type;
}

void recipe_put_scale(struct twin_call *c, const void *value, const void *tensor)
{
	put_value(c, value, type_of(tensor) == CUDNN_DATA_DOUBLE ? sizeof(double) : sizeof(float));
}

void recipe_put_element(struct twin_call *c, const void *value, const void *tensor)
{
	put_value(c, value, dnn_type_bytes(type_of(tensor)));
}

void recipe_get_list(struct twin_call *c, void *list, int room, const int *filled, size_t each)
{
	int count = filled ? *filled : 0;

	if (!list || count < 0 || count > room || count > RECIPE_RESULTS_MOST)
		return;
	forward_get(&c->f, list, (size_t)count * each);
}
