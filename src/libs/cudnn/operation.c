/*
 * operation.c: operations of the backend's graphs, by their descriptors, become kernels.
 */
#include "libs/cudnn/backend.h"

#include <float.h>
#include <string.h>

#define PORTS_MOST 14
#define AT(name) CUDNN_ATTR_OPERATION_##name

/* Tensors of an operation; results are behind the inputs. */
static const struct {
	cudnnBackendDescriptorType_t type;
	int inputs, ports[PORTS_MOST];
} ports[] = {
	{ CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
	  2,
	  { AT(CONVOLUTION_FORWARD_X), AT(CONVOLUTION_FORWARD_W), AT(CONVOLUTION_FORWARD_Y) } },
	{ CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
	  2,
	  { AT(CONVOLUTION_BWD_DATA_W), AT(CONVOLUTION_BWD_DATA_DY), AT(CONVOLUTION_BWD_DATA_DX) } },
	{ CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
	  2,
	  { AT(CONVOLUTION_BWD_FILTER_X), AT(CONVOLUTION_BWD_FILTER_DY), AT(CONVOLUTION_BWD_FILTER_DW) } },
	/* A gradient's function value goes in as well: no operation has both DXDESC and YDESC as results. */
	{ CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
	  4,
	  { AT(POINTWISE_XDESC), AT(POINTWISE_BDESC), AT(POINTWISE_TDESC), AT(POINTWISE_DYDESC), AT(POINTWISE_YDESC),
	    AT(POINTWISE_DXDESC) } },
	{ CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR,
	  1,
	  { AT(GENSTATS_XDESC), AT(GENSTATS_SUMDESC), AT(GENSTATS_SQSUMDESC) } },
	{ CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
	  5,
	  { AT(MATMUL_ADESC), AT(MATMUL_BDESC), AT(MATMUL_GEMM_M_OVERRIDE_DESC), AT(MATMUL_GEMM_N_OVERRIDE_DESC),
	    AT(MATMUL_GEMM_K_OVERRIDE_DESC), AT(MATMUL_CDESC) } },
	{ CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, 1, { AT(REDUCTION_XDESC), AT(REDUCTION_YDESC) } },
	{ CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR,
	  1,
	  { AT(RESAMPLE_FWD_XDESC), AT(RESAMPLE_FWD_YDESC), AT(RESAMPLE_FWD_IDXDESC) } },
	{ CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR,
	  4,
	  { AT(RESAMPLE_BWD_XDESC), AT(RESAMPLE_BWD_YDESC), AT(RESAMPLE_BWD_DYDESC), AT(RESAMPLE_BWD_IDXDESC),
	    AT(RESAMPLE_BWD_DXDESC) } },
	{ CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR,
	  6,
	  { AT(NORM_BWD_XDESC), AT(NORM_BWD_DYDESC), AT(NORM_BWD_MEAN_DESC), AT(NORM_BWD_INV_VARIANCE_DESC),
	    AT(NORM_BWD_SCALE_DESC), AT(NORM_BWD_EPSILON_DESC), AT(NORM_BWD_DXDESC), AT(NORM_BWD_DSCALE_DESC),
	    AT(NORM_BWD_DBIAS_DESC) } },
	/* Mean and inverse variance are results of training; what computes them is always before what takes them. */
	{ CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR,
	  7,
	  { AT(NORM_FWD_XDESC), AT(NORM_FWD_SCALE_DESC), AT(NORM_FWD_BIAS_DESC), AT(NORM_FWD_EPSILON_DESC),
	    AT(NORM_FWD_EXP_AVG_FACTOR_DESC), AT(NORM_FWD_INPUT_RUNNING_MEAN_DESC), AT(NORM_FWD_INPUT_RUNNING_VAR_DESC),
	    AT(NORM_FWD_YDESC), AT(NORM_FWD_MEAN_DESC), AT(NORM_FWD_INV_VARIANCE_DESC),
	    AT(NORM_FWD_OUTPUT_RUNNING_MEAN_DESC), AT(NORM_FWD_OUTPUT_RUNNING_VAR_DESC) } },
	{ CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, 1, { AT(RESHAPE_XDESC), AT(RESHAPE_YDESC) } },
	{ CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR, 2, { AT(RNG_SEED), AT(RNG_OFFSET_DESC), AT(RNG_YDESC) } },
	{ CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR,
	  8,
	  { AT(DIAGONAL_BAND_MASK_XDESC), AT(DIAGONAL_BAND_MASK_BDESC), AT(DIAGONAL_BAND_MASK_SEQ_LEN_QDESC),
	    AT(DIAGONAL_BAND_MASK_SEQ_LEN_KVDESC), AT(DIAGONAL_BAND_MASK_CU_SEQ_LEN_QDESC),
	    AT(DIAGONAL_BAND_MASK_CU_SEQ_LEN_KVDESC), AT(DIAGONAL_BAND_MASK_LEFT_BOUND_DESC),
	    AT(DIAGONAL_BAND_MASK_SHIFT_RIGHT_BOUND_DESC), AT(DIAGONAL_BAND_MASK_YDESC) } },
	{ CUDNN_BACKEND_OPERATION_SOFTMAX_DESCRIPTOR,
	  2,
	  { AT(SOFTMAX_XDESC), AT(SOFTMAX_SINK_DESC), AT(SOFTMAX_YDESC), AT(SOFTMAX_STATS_DESC), AT(SOFTMAX_MAX_DESC),
	    AT(SOFTMAX_SUM_EXP_DESC) } },
	{ CUDNN_BACKEND_OPERATION_PAGED_CACHE_LOAD_DESCRIPTOR,
	  3,
	  { AT(PAGED_CACHE_LOAD_CONTAINER_DESC), AT(PAGED_CACHE_LOAD_SEQUENCE_DESC),
	    AT(PAGED_CACHE_LOAD_PAGE_TABLE_DESC), AT(PAGED_CACHE_LOAD_YDESC) } },
	{ CUDNN_BACKEND_OPERATION_TRANSPOSE_DESCRIPTOR, 1, { AT(TRANSPOSE_XDESC), AT(TRANSPOSE_YDESC) } },
	{ CUDNN_BACKEND_OPERATION_SLICE_DESCRIPTOR, 1, { AT(SLICE_XDESC), AT(SLICE_YDESC) } },
};

int operation_port(cudnnBackendDescriptorType_t type, int k, bool *ret_result)
{
	for (size_t i = 0; i < sizeof(ports) / sizeof(*ports); i++)
		if (ports[i].type == type && k < PORTS_MOST) {
			*ret_result = k >= ports[i].inputs;
			return ports[i].ports[k];
		}
	return 0;
}

bool operation_known(cudnnBackendDescriptorType_t type)
{
	bool result;

	return operation_port(type, 0, &result);
}

/* Do two elements have the same place? Strides are compared as if dimensions lay one within another. */
static bool is_overlapping(const struct dnn_tensor *t)
{
	int64_t extent = 1;
	uint8_t left = 0;

	for (int i = 0; i < t->rank; i++)
		left |= (uint8_t)(t->dim[i] > 1 ? 1u << i : 0);
	while (left) {
		int least = -1;

		for (int i = 0; i < t->rank; i++)
			if (left & 1 << i && (least < 0 || t->stride[i] < t->stride[least]))
				least = i;
		if (t->stride[least] < extent)
			return true;
		extent += (t->dim[least] - 1) * t->stride[least];
		left &= (uint8_t) ~(1u << least);
	}
	return false;
}

cudnnStatus_t operation_tensor(const struct descriptor *d, struct dnn_tensor *ret)
{
	int64_t dims, strides;
	const struct attribute *value = attribute_find(d, CUDNN_ATTR_TENSOR_CONSTANT_VALUE);

	*ret = (struct dnn_tensor){ .type = (uint8_t)attribute_number(d, CUDNN_ATTR_TENSOR_DATA_TYPE, 255) };
	dims = attribute_list(d, CUDNN_ATTR_TENSOR_DIMENSIONS, ret->dim, DNN_TENSOR_DIMS);
	strides = attribute_list(d, CUDNN_ATTR_TENSOR_STRIDES, ret->stride, DNN_TENSOR_DIMS);
	if (dims < 1 || dims > DNN_TENSOR_DIMS || dims != strides)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a tensor with %lld dimensions and %lld strides",
				(long long)dims, (long long)strides);
	if (!attribute_find(d, CUDNN_ATTR_TENSOR_UNIQUE_ID) || !attribute_find(d, CUDNN_ATTR_TENSOR_DATA_TYPE))
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a tensor without id or type");
	ret->rank = (uint8_t)dims;
	ret->by_value = attribute_number(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, 0);
	if (attribute_number(d, CUDNN_ATTR_TENSOR_VECTOR_COUNT, 1) != 1)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "vectors of channels");
	ret->is_ragged = attribute_descriptor(d, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, 0);
	if (value && value->count && (value->type == CUDNN_TYPE_FLOAT || value->type == CUDNN_TYPE_DOUBLE)) {
		ret->by_value = true;
		ret->value = attribute_real(d, CUDNN_ATTR_TENSOR_CONSTANT_VALUE, 0);
	} else if (value && value->count) {
		ret->by_value = true;
		ret->value = (double)attribute_number(d, CUDNN_ATTR_TENSOR_CONSTANT_VALUE, 0);
	}
	/* where a tensor lies that only the graph has is up to the graph */
	if (attribute_number(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, 0) && !dnn_tensor_check(ret) && is_overlapping(ret))
		dnn_tensor_pack(ret);
	return dnn_tensor_check(ret);
}

/* ---- what operations need ---- */

struct lowering {
	const struct descriptor *d;
	const struct operation_tensors *from;
	struct dnn_work *work;
	int count;
	cudnnStatus_t status;
};

/* The tensor at an attribute; false: there is none. */
static bool tensor_find(struct lowering *l, int name, struct dnn_tensor *ret)
{
	struct descriptor *tensor = attribute_descriptor(l->d, name, 0);

	*ret = (struct dnn_tensor){ 0 };
	if (!tensor || l->status)
		return false;
	if (!l->from->find(l->from, tensor, ret) && !l->status)
		l->status = dnn_fail(CUDNN_STATUS_BAD_PARAM, "the variant pack has no address for tensor %lld",
				     (long long)attribute_number(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0));
	if (!l->status && ret->is_ragged && l->d->type != CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR)
		l->status = dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "a ragged tensor of an operation of type %d",
				     (int)l->d->type);
	return !l->status;
}

static bool tensor_need(struct lowering *l, int name, struct dnn_tensor *ret)
{
	if (!l->status && !attribute_descriptor(l->d, name, 0))
		l->status = dnn_fail(CUDNN_STATUS_BAD_PARAM, "an operation of type %d needs attribute %d",
				     (int)l->d->type, name);
	return tensor_find(l, name, ret);
}

static struct descriptor *settings(struct lowering *l, int name, cudnnBackendDescriptorType_t type)
{
	struct descriptor *d = attribute_descriptor(l->d, name, 0);

	if (d && d->type == type)
		return d;
	l->status =
		dnn_fail(CUDNN_STATUS_BAD_PARAM, "an operation of type %d needs attribute %d", (int)l->d->type, name);
	return NULL;
}

/* ---- operations ---- */

static void conv_settings(struct lowering *l, const struct descriptor *d, struct dnn_conv *c)
{
	*c = (struct dnn_conv){ .spatial = (uint32_t)attribute_number(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0) };
	attribute_list(d, CUDNN_ATTR_CONVOLUTION_DILATIONS, c->dilation, DNN_SPATIAL);
	attribute_list(d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, c->stride, DNN_SPATIAL);
	attribute_list(d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, c->pad, DNN_SPATIAL);
	attribute_list(d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, c->pad_after, DNN_SPATIAL);
	c->flip = attribute_number(d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION) == CUDNN_CONVOLUTION;
}

/* Attributes of the three convolutions, in the order x, w, y; the settings; alpha, beta. */
static void conv_lower(struct lowering *l, enum dnn_kernel kernel, const int names[6])
{
	struct descriptor *d = settings(l, names[3], CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
	struct dnn_tensor t[3];
	struct dnn_conv c;

	if (!d)
		return;
	conv_settings(l, d, &c);
	for (int i = 0; i < 3; i++)
		tensor_need(l, names[i], &t[i]);
	if (l->status)
		return;
	c.groups = t[1].dim[1] ? t[0].dim[1] / t[1].dim[1] : 1;
	l->status = lower_conv(l->work, kernel, &c, &t[0], &t[1], &t[2], attribute_real(l->d, names[4], 1),
			       attribute_real(l->d, names[5], 0));
	l->count = 1;
}

static void forward_lower(struct lowering *l)
{
	static const int names[] = { AT(CONVOLUTION_FORWARD_X),	    AT(CONVOLUTION_FORWARD_W),
				     AT(CONVOLUTION_FORWARD_Y),	    AT(CONVOLUTION_FORWARD_CONV_DESC),
				     AT(CONVOLUTION_FORWARD_ALPHA), AT(CONVOLUTION_FORWARD_BETA) };

	conv_lower(l, DNN_CONV_FORWARD, names);
}

static void data_lower(struct lowering *l)
{
	static const int names[] = { AT(CONVOLUTION_BWD_DATA_DX),    AT(CONVOLUTION_BWD_DATA_W),
				     AT(CONVOLUTION_BWD_DATA_DY),    AT(CONVOLUTION_BWD_DATA_CONV_DESC),
				     AT(CONVOLUTION_BWD_DATA_ALPHA), AT(CONVOLUTION_BWD_DATA_BETA) };

	conv_lower(l, DNN_CONV_DATA, names);
}

static void filter_lower(struct lowering *l)
{
	static const int names[] = { AT(CONVOLUTION_BWD_FILTER_X),     AT(CONVOLUTION_BWD_FILTER_DW),
				     AT(CONVOLUTION_BWD_FILTER_DY),    AT(CONVOLUTION_BWD_FILTER_CONV_DESC),
				     AT(CONVOLUTION_BWD_FILTER_ALPHA), AT(CONVOLUTION_BWD_FILTER_BETA) };

	conv_lower(l, DNN_CONV_FILTER, names);
}

static void pointwise_lower(struct lowering *l)
{
	struct descriptor *d = settings(l, AT(POINTWISE_PW_DESCRIPTOR), CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
	double scalar[8] = { 1, 1, 0, 0, DBL_MAX, 0, 0, 1 };
	struct dnn_tensor x, b, t, y;
	bool have_x, have_b, have_t, value = false;
	int mode;

	if (!d)
		return;
	mode = (int)attribute_number(d, CUDNN_ATTR_POINTWISE_MODE, -1);
	scalar[POINT_ALPHA1] = attribute_real(l->d, AT(POINTWISE_ALPHA1), 1);
	scalar[POINT_ALPHA2] = attribute_real(l->d, AT(POINTWISE_ALPHA2), 1);
	scalar[POINT_LOW] = attribute_real(d, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0);
	scalar[POINT_HIGH] = attribute_real(d, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, DBL_MAX);
	scalar[POINT_AXIS] = (double)attribute_number(d, CUDNN_ATTR_POINTWISE_AXIS, -1);
	switch (mode) {
	case CUDNN_POINTWISE_ELU_FWD:
	case CUDNN_POINTWISE_ELU_BWD:
		scalar[POINT_SLOPE] = attribute_real(d, CUDNN_ATTR_POINTWISE_ELU_ALPHA, 1);
		break;
	case CUDNN_POINTWISE_SOFTPLUS_FWD:
	case CUDNN_POINTWISE_SOFTPLUS_BWD:
		scalar[POINT_SLOPE] = attribute_real(d, CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA, 1);
		break;
	case CUDNN_POINTWISE_SWISH_FWD:
	case CUDNN_POINTWISE_SWISH_BWD:
		scalar[POINT_SLOPE] = attribute_real(d, CUDNN_ATTR_POINTWISE_SWISH_BETA, 1);
		break;
	default:
		scalar[POINT_SLOPE] = attribute_real(d, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0);
	}
	if (mode >= CUDNN_POINTWISE_RELU_BWD && mode <= CUDNN_POINTWISE_GELU_APPROX_TANH_BWD) {
		have_x = tensor_find(l, AT(POINTWISE_XDESC), &x);
		value = !have_x;
		if (value)
			have_x = tensor_need(l, AT(POINTWISE_YDESC), &x);
		have_b = tensor_need(l, AT(POINTWISE_DYDESC), &b);
		have_t = false;
		tensor_need(l, AT(POINTWISE_DXDESC), &y);
	} else {
		have_x = tensor_find(l, AT(POINTWISE_XDESC), &x);
		have_b = tensor_find(l, AT(POINTWISE_BDESC), &b);
		have_t = tensor_find(l, AT(POINTWISE_TDESC), &t);
		tensor_need(l, AT(POINTWISE_YDESC), &y);
	}
	if (l->status)
		return;
	l->status = lower_pointwise(l->work, (unsigned int)mode, have_x ? &x : NULL, have_b ? &b : NULL,
				    have_t ? &t : NULL, &y, scalar);
	l->work->flag = value;
	l->count = 1;
}

static void stats_lower(struct lowering *l)
{
	static const int names[] = { AT(GENSTATS_SUMDESC), AT(GENSTATS_SQSUMDESC) };
	struct dnn_tensor x, y;

	tensor_need(l, AT(GENSTATS_XDESC), &x);
	for (int i = 0; i < 2 && !l->status; i++)
		if (tensor_need(l, names[i], &y)) {
			l->status = lower_reduce(&l->work[i], CUDNN_REDUCE_TENSOR_ADD, &x, &y, 1, 0);
			if (i)
				l->work[i].mode = DNN_REDUCE_SQUARES;
		}
	l->count = 2;
}

/* A tensor that may be absent: `room`, filled, or NULL. */
static const struct dnn_tensor *tensor_maybe(struct lowering *l, int name, struct dnn_tensor *room)
{
	return tensor_find(l, name, room) ? room : NULL;
}

static void matmul_lower(struct lowering *l)
{
	struct descriptor *d = attribute_descriptor(l->d, AT(MATMUL_DESC), 0);
	struct dnn_tensor a, b, c, room[3];
	const struct dnn_tensor *counts[3];

	tensor_need(l, AT(MATMUL_ADESC), &a);
	tensor_need(l, AT(MATMUL_BDESC), &b);
	tensor_need(l, AT(MATMUL_CDESC), &c);
	for (int i = 0; i < 3; i++)
		counts[i] = tensor_maybe(l, AT(MATMUL_GEMM_M_OVERRIDE_DESC) + i, &room[i]);
	if (!l->status)
		l->status = lower_matmul(l->work, &a, &b, &c, counts,
					 d ? attribute_real(d, CUDNN_ATTR_MATMUL_PADDING_VALUE, 0) : 0);
	l->count = 1;
}

static void reduction_lower(struct lowering *l)
{
	struct descriptor *d = settings(l, AT(REDUCTION_DESC), CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
	struct dnn_tensor x, y;

	if (!d)
		return;
	tensor_need(l, AT(REDUCTION_XDESC), &x);
	tensor_need(l, AT(REDUCTION_YDESC), &y);
	if (!l->status)
		l->status = lower_reduce(l->work,
					 (cudnnReduceTensorOp_t)attribute_number(d, CUDNN_ATTR_REDUCTION_OPERATOR, -1),
					 &x, &y, 1, 0);
	l->count = 1;
}

static bool pool_settings(struct lowering *l, const struct descriptor *d, struct dnn_pool *p)
{
	static const int modes[] = { [CUDNN_RESAMPLE_AVGPOOL] = DNN_POOL_MEAN + 1,
				     [CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING] = DNN_POOL_MEAN_INSIDE + 1,
				     [CUDNN_RESAMPLE_MAXPOOL] = DNN_POOL_MAX + 1 };
	int64_t mode = attribute_number(d, CUDNN_ATTR_RESAMPLE_MODE, -1);
	static const int lists[] = { CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, CUDNN_ATTR_RESAMPLE_STRIDES,
				     CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, CUDNN_ATTR_RESAMPLE_POST_PADDINGS };

	*p = (struct dnn_pool){ .spatial = (uint32_t)attribute_number(d, CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, 0) };
	if (mode < 0 || mode >= (int64_t)(sizeof(modes) / sizeof(*modes)) || !modes[mode]) {
		l->status = dnn_fail(CUDNN_STATUS_NOT_SUPPORTED,
				     "resampling mode %lld: pooling by maximum or average only", (long long)mode);
		return false;
	}
	p->mode = modes[mode] - 1;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		const struct attribute *a = attribute_find(d, lists[i]);

		for (int64_t k = 0; a && a->type == CUDNN_TYPE_FRACTION && k < a->count; k++) {
			int64_t denominator;

			memcpy(&denominator, a->data + 16 * k + 8, sizeof(denominator));
			if (denominator == 1)
				continue;
			l->status = dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "resampling by fractions");
			return false;
		}
	}
	attribute_list(d, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, p->window, DNN_SPATIAL);
	attribute_list(d, CUDNN_ATTR_RESAMPLE_STRIDES, p->stride, DNN_SPATIAL);
	attribute_list(d, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, p->pad, DNN_SPATIAL);
	return true;
}

static void pool_lower(struct lowering *l)
{
	bool back = l->d->type == CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR;
	struct descriptor *d =
		settings(l, back ? AT(RESAMPLE_BWD_DESC) : AT(RESAMPLE_FWD_DESC), CUDNN_BACKEND_RESAMPLE_DESCRIPTOR);
	struct dnn_tensor x, y, dx, dy, index;
	struct dnn_pool p;
	bool have_x, have_index;

	if (!d || !pool_settings(l, d, &p))
		return;
	l->count = 1;
	if (!back) {
		have_index = tensor_find(l, AT(RESAMPLE_FWD_IDXDESC), &index);
		tensor_need(l, AT(RESAMPLE_FWD_XDESC), &x);
		tensor_need(l, AT(RESAMPLE_FWD_YDESC), &y);
		if (!l->status)
			l->status = lower_pool(l->work, &p, &x, &y, NULL, NULL, have_index ? &index : NULL,
					       attribute_real(l->d, AT(RESAMPLE_FWD_ALPHA), 1),
					       attribute_real(l->d, AT(RESAMPLE_FWD_BETA), 0));
		return;
	}
	have_x = tensor_find(l, AT(RESAMPLE_BWD_XDESC), &x);
	tensor_need(l, AT(RESAMPLE_BWD_DXDESC), &dx);
	tensor_need(l, AT(RESAMPLE_BWD_DYDESC), &dy);
	if (!l->status && p.mode == DNN_POOL_MAX && !have_x)
		l->status = dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "the gradient of a maximum without its input");
	if (!l->status)
		l->status = lower_pool(l->work, &p, have_x ? &x : NULL, NULL, &dx, &dy, NULL,
				       attribute_real(l->d, AT(RESAMPLE_BWD_ALPHA), 1),
				       attribute_real(l->d, AT(RESAMPLE_BWD_BETA), 0));
}

/* Dimensions whose elements are normalised together. */
static uint8_t norm_axes(int64_t mode, const struct dnn_tensor *x, const struct dnn_tensor *scale)
{
	uint8_t axes = 0;

	for (int i = 0; i < x->rank && x->rank <= DNN_DIMS; i++) {
		bool together = mode == CUDNN_BATCH_NORM      ? i != 1
				: mode == CUDNN_INSTANCE_NORM ? i > 1
							      : scale->rank == x->rank && scale->dim[i] > 1;

		axes |= (uint8_t)(together ? 1u << lower_axis(x, i) : 0);
	}
	return axes;
}

static bool norm_mode_good(struct lowering *l, int64_t mode)
{
	if (mode == CUDNN_LAYER_NORM || mode == CUDNN_INSTANCE_NORM || mode == CUDNN_BATCH_NORM ||
	    mode == CUDNN_RMS_NORM)
		return true;
	l->status = dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "normalisation mode %lld", (long long)mode);
	return false;
}

static void norm_lower(struct lowering *l)
{
	int64_t mode = attribute_number(l->d, AT(NORM_FWD_MODE), -1);
	bool training = attribute_number(l->d, AT(NORM_FWD_PHASE), 0) == CUDNN_NORM_FWD_TRAINING;
	struct dnn_norm n = { .root = mode == CUDNN_RMS_NORM, .alpha = 1, .weight_alpha = 1 };
	struct dnn_tensor epsilon, factor;

	if (!norm_mode_good(l, mode))
		return;
	tensor_need(l, AT(NORM_FWD_XDESC), &n.x);
	tensor_need(l, AT(NORM_FWD_YDESC), &n.y);
	tensor_find(l, AT(NORM_FWD_SCALE_DESC), &n.scale);
	tensor_find(l, AT(NORM_FWD_BIAS_DESC), &n.bias);
	tensor_find(l, AT(NORM_FWD_MEAN_DESC), &n.mean);
	tensor_find(l, AT(NORM_FWD_INV_VARIANCE_DESC), &n.inverse);
	tensor_find(l, AT(NORM_FWD_INPUT_RUNNING_MEAN_DESC), &n.run_mean);
	tensor_find(l, AT(NORM_FWD_INPUT_RUNNING_VAR_DESC), &n.run_variance);
	tensor_find(l, AT(NORM_FWD_OUTPUT_RUNNING_MEAN_DESC), &n.new_mean);
	tensor_find(l, AT(NORM_FWD_OUTPUT_RUNNING_VAR_DESC), &n.new_variance);
	tensor_find(l, AT(NORM_FWD_EPSILON_DESC), &epsilon);
	tensor_find(l, AT(NORM_FWD_EXP_AVG_FACTOR_DESC), &factor);
	if (!l->status && ((epsilon.at && !epsilon.by_value) || (factor.at && !factor.by_value)))
		l->status = dnn_fail(CUDNN_STATUS_NOT_SUPPORTED,
				     "epsilon or factor of a normalisation in the device's memory");
	if (l->status)
		return;
	n.axes = norm_axes(mode, &n.x, &n.scale);
	n.epsilon = epsilon.value;
	n.factor = factor.value;
	n.mode = training || !n.inverse.at ? DNN_NORM_COMPUTE : DNN_NORM_GIVEN;
	if (n.root)
		n.mean = (struct dnn_tensor){ 0 };
	l->status = lower_norm(l->work, &n);
	l->count = 1;
}

static void norm_back_lower(struct lowering *l)
{
	int64_t mode = attribute_number(l->d, AT(NORM_BWD_MODE), -1);
	struct dnn_norm n = { .root = mode == CUDNN_RMS_NORM, .alpha = 1, .weight_alpha = 1 };
	struct dnn_tensor epsilon;

	if (!norm_mode_good(l, mode))
		return;
	tensor_need(l, AT(NORM_BWD_XDESC), &n.x);
	tensor_need(l, AT(NORM_BWD_DYDESC), &n.y);
	tensor_find(l, AT(NORM_BWD_SCALE_DESC), &n.scale);
	tensor_find(l, AT(NORM_BWD_MEAN_DESC), &n.mean);
	tensor_find(l, AT(NORM_BWD_INV_VARIANCE_DESC), &n.inverse);
	tensor_find(l, AT(NORM_BWD_DXDESC), &n.dx);
	tensor_find(l, AT(NORM_BWD_DSCALE_DESC), &n.dscale);
	tensor_find(l, AT(NORM_BWD_DBIAS_DESC), &n.dbias);
	tensor_find(l, AT(NORM_BWD_EPSILON_DESC), &epsilon);
	if (l->status)
		return;
	n.axes = norm_axes(mode, &n.x, &n.scale);
	n.epsilon = epsilon.value;
	n.mode = n.inverse.at ? DNN_NORM_GIVEN : DNN_NORM_COMPUTE;
	if (n.root)
		n.mean = (struct dnn_tensor){ 0 };
	l->status = lower_norm_back(l->work, &l->count, &n);
}

static void copy_lower(struct lowering *l, const struct dnn_tensor *x, const struct dnn_tensor *y)
{
	static const double scalar[8] = { 1, 1, 0, 0, DBL_MAX, 0, 0, 1 };

	if (!l->status)
		l->status = lower_pointwise(l->work, CUDNN_POINTWISE_IDENTITY, x, NULL, NULL, y, scalar);
	l->count = 1;
}

/* A view: graph.c gives both tensors the same memory. Of a ragged tensor it is a copy. */
static void reshape_lower(struct lowering *l)
{
	struct dnn_tensor x, y, view;

	tensor_need(l, AT(RESHAPE_XDESC), &x);
	tensor_need(l, AT(RESHAPE_YDESC), &y);
	if (!l->status && (x.is_ragged || y.is_ragged)) {
		l->status = lower_ragged(l->work, &x, &y);
		l->count = 1;
		return;
	}
	l->count = 0;
	if (l->status || (x.at == y.at && x.type == y.type))
		return;
	/* of another type, or to another tensor of the program's: a copy of what the view would show */
	view = y;
	view.at = x.at;
	view.type = x.type;
	if (x.at == y.at || dnn_tensor_bytes(&view) != dnn_tensor_bytes(&x))
		l->status = dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "a reshape between tensors of different layouts");
	copy_lower(l, &view, &y);
}

static void random_lower(struct lowering *l)
{
	struct descriptor *d = settings(l, AT(RNG_DESC), CUDNN_BACKEND_RNG_DESCRIPTOR);
	struct dnn_tensor y, seed, offset;
	bool have_seed, have_offset;

	if (!d)
		return;
	if (attribute_number(d, CUDNN_ATTR_RNG_DISTRIBUTION, 0) != CUDNN_RNG_DISTRIBUTION_BERNOULLI) {
		l->status = dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "random numbers other than Bernoulli's");
		return;
	}
	tensor_need(l, AT(RNG_YDESC), &y);
	have_seed = tensor_find(l, AT(RNG_SEED), &seed);
	have_offset = tensor_find(l, AT(RNG_OFFSET_DESC), &offset);
	if (!have_seed)
		seed = (struct dnn_tensor){ .by_value = true,
					    .value = (double)attribute_number(l->d, AT(RNG_SEED), 0) };
	if (!l->status)
		l->status = lower_random(l->work, &y, &seed, have_offset ? &offset : NULL,
					 attribute_real(d, CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, 1), 1);
	l->count = 1;
}

static void band_lower(struct lowering *l)
{
	struct dnn_tensor x, y, value, q, kv, left, shift;
	struct dnn_band b = { .mode = (unsigned int)attribute_number(l->d, AT(DIAGONAL_BAND_MASK_COMPARISON_MODE),
								     CUDNN_POINTWISE_CMP_GE),
			      .x = &x,
			      .y = &y };

	tensor_need(l, AT(DIAGONAL_BAND_MASK_XDESC), &x);
	tensor_need(l, AT(DIAGONAL_BAND_MASK_YDESC), &y);
	b.value = tensor_maybe(l, AT(DIAGONAL_BAND_MASK_BDESC), &value);
	b.length_q = tensor_maybe(l, AT(DIAGONAL_BAND_MASK_SEQ_LEN_QDESC), &q);
	b.length_kv = tensor_maybe(l, AT(DIAGONAL_BAND_MASK_SEQ_LEN_KVDESC), &kv);
	b.left = tensor_maybe(l, AT(DIAGONAL_BAND_MASK_LEFT_BOUND_DESC), &left);
	b.shift = tensor_maybe(l, AT(DIAGONAL_BAND_MASK_SHIFT_RIGHT_BOUND_DESC), &shift);
	if (!l->status)
		l->status = lower_band(l->work, &b);
	l->count = 1;
}

static void scores_lower(struct lowering *l)
{
	struct dnn_tensor x, y, stats, max, sum, sink;
	struct dnn_scores s = { .x = &x, .y = &y, .two = attribute_number(l->d, AT(SOFTMAX_STATS_LOG2), 0) };

	tensor_need(l, AT(SOFTMAX_XDESC), &x);
	tensor_need(l, AT(SOFTMAX_YDESC), &y);
	s.stats = tensor_maybe(l, AT(SOFTMAX_STATS_DESC), &stats);
	s.max = tensor_maybe(l, AT(SOFTMAX_MAX_DESC), &max);
	s.sum = tensor_maybe(l, AT(SOFTMAX_SUM_EXP_DESC), &sum);
	s.sink = tensor_maybe(l, AT(SOFTMAX_SINK_DESC), &sink);
	if (!l->status)
		l->status = lower_scores(l->work, &s);
	l->count = 1;
}

static void paged_lower(struct lowering *l)
{
	struct dnn_tensor pages, table, length, y;
	const struct dnn_tensor *held;

	tensor_need(l, AT(PAGED_CACHE_LOAD_CONTAINER_DESC), &pages);
	tensor_need(l, AT(PAGED_CACHE_LOAD_PAGE_TABLE_DESC), &table);
	tensor_need(l, AT(PAGED_CACHE_LOAD_YDESC), &y);
	held = tensor_maybe(l, AT(PAGED_CACHE_LOAD_SEQUENCE_DESC), &length);
	if (!l->status)
		l->status = lower_paged(l->work, &pages, &table, held, &y);
	l->count = 1;
}

static void transpose_lower(struct lowering *l)
{
	int64_t order[DNN_TENSOR_DIMS], count = attribute_list(l->d, AT(TRANSPOSE_PERMUTATION), order, DNN_TENSOR_DIMS);
	struct dnn_tensor x, y, turned;

	tensor_need(l, AT(TRANSPOSE_XDESC), &x);
	tensor_need(l, AT(TRANSPOSE_YDESC), &y);
	if (l->status)
		return;
	turned = x;
	for (int i = 0; i < x.rank && !l->status; i++) {
		if (count != x.rank || y.rank != x.rank || order[i] < 0 || order[i] >= x.rank ||
		    y.dim[i] != x.dim[order[i]]) {
			l->status =
				dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
					 "a transposition of %d dimensions with %lld places", x.rank, (long long)count);
			return;
		}
		turned.dim[i] = x.dim[order[i]];
		turned.stride[i] = x.stride[order[i]];
	}
	copy_lower(l, &turned, &y);
}

static void slice_lower(struct lowering *l)
{
	int64_t from[DNN_TENSOR_DIMS], to[DNN_TENSOR_DIMS], by[DNN_TENSOR_DIMS];
	int64_t begins = attribute_list(l->d, AT(SLICE_START_INDICES), from, DNN_TENSOR_DIMS);
	int64_t ends = attribute_list(l->d, AT(SLICE_LIMIT_INDICES), to, DNN_TENSOR_DIMS);
	int64_t steps = attribute_list(l->d, AT(SLICE_STRIDES), by, DNN_TENSOR_DIMS);
	struct dnn_tensor x, y;

	tensor_need(l, AT(SLICE_XDESC), &x);
	tensor_need(l, AT(SLICE_YDESC), &y);
	for (int i = 0; i < x.rank && !l->status; i++) {
		int64_t step = steps ? by[i] : 1;

		if (begins != x.rank || ends != x.rank || (steps && steps != x.rank) || y.rank != x.rank ||
		    from[i] < 0 || to[i] <= from[i] || to[i] > x.dim[i] || step < 1 ||
		    y.dim[i] != (to[i] - from[i] - 1) / step + 1 ||
		    __builtin_mul_overflow(x.stride[i], step, &x.stride[i])) {
			l->status = dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "a slice of dimension %d", i);
			return;
		}
		x.at += (uint64_t)(from[i] * (x.stride[i] / step)) * dnn_type_bytes(x.type);
		x.dim[i] = y.dim[i];
	}
	copy_lower(l, &x, &y);
}

static const struct {
	cudnnBackendDescriptorType_t type;
	void (*lower)(struct lowering *l);
} lowerings[] = {
	{ CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, forward_lower },
	{ CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, data_lower },
	{ CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, filter_lower },
	{ CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, pointwise_lower },
	{ CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR, stats_lower },
	{ CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, matmul_lower },
	{ CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, reduction_lower },
	{ CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR, pool_lower },
	{ CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR, pool_lower },
	{ CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR, norm_lower },
	{ CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR, norm_back_lower },
	{ CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, reshape_lower },
	{ CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR, random_lower },
	{ CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR, band_lower },
	{ CUDNN_BACKEND_OPERATION_SOFTMAX_DESCRIPTOR, scores_lower },
	{ CUDNN_BACKEND_OPERATION_PAGED_CACHE_LOAD_DESCRIPTOR, paged_lower },
	{ CUDNN_BACKEND_OPERATION_TRANSPOSE_DESCRIPTOR, transpose_lower },
	{ CUDNN_BACKEND_OPERATION_SLICE_DESCRIPTOR, slice_lower },
};

cudnnStatus_t operation_lower(const struct descriptor *operation, const struct operation_tensors *tensors,
			      struct dnn_work work[OPERATION_WORKS], int *ret_count)
{
	struct lowering l = { .d = operation, .from = tensors, .work = work };

	for (size_t i = 0; i < sizeof(lowerings) / sizeof(*lowerings); i++)
		if (lowerings[i].type == operation->type) {
			lowerings[i].lower(&l);
			*ret_count = l.count;
			return l.status;
		}
	return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "operations of type %d", (int)operation->type);
}
