/*
 * lower.c: an operation of tensors becomes a kernel's parameters.
 *
 * Kernels have five dimensions. Convolutions, normalisations, pooling and softmax count images and channels first and
 * spatial dimensions last; other operations have their dimensions sorted by the result's strides, and those that lie
 * behind each other are one.
 */
#include "libs/cudnn/dnn.h"

#include <math.h>
#include <string.h>

#define OPERANDS_MOST DNN_OPERANDS
#define POINT_OPERANDS 4
#define LENGTH_MOST INT64_C(1 << 28)

int64_t dnn_tensor_bytes(const struct dnn_tensor *t)
{
	int64_t last = 0;

	for (int i = 0; i < t->rank; i++)
		last += (t->dim[i] - 1) * t->stride[i];
	return (last + 1) * dnn_type_bytes(t->type);
}

void dnn_tensor_pack(struct dnn_tensor *t)
{
	int64_t stride = 1;

	for (int i = t->rank - 1; i >= 0; i--) {
		t->stride[i] = stride;
		stride *= t->dim[i];
	}
}

cudnnStatus_t dnn_tensor_check(const struct dnn_tensor *t)
{
	int64_t last = 0, all = 1, more;

	if (t->rank < 1 || t->rank > DNN_TENSOR_DIMS)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a tensor has 1 to %d dimensions, not %d", DNN_TENSOR_DIMS,
				t->rank);
	for (int i = 0; i < t->rank; i++) {
		if (t->dim[i] < 1 || t->stride[i] < 0)
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "dimension %d of a tensor is %lld with stride %lld", i,
					(long long)t->dim[i], (long long)t->stride[i]);
		if (__builtin_mul_overflow(t->dim[i] - 1, t->stride[i], &more) ||
		    __builtin_add_overflow(last, more, &last) || __builtin_mul_overflow(all, t->dim[i], &all) ||
		    last > DNN_SIZE_MOST || all > DNN_SIZE_MOST)
			return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "a tensor is larger than 2^40 elements");
	}
	if (!dnn_type_bytes(t->type))
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE,
				"type %u of a tensor: the software device's cuDNN computes float, double, half, "
				"bfloat16, int8, uint8, "
				"int32, int64 and boolean",
				t->type);
	return CUDNN_STATUS_SUCCESS;
}

/* ---- operands ---- */

static void value_set(struct dnn_operand *o, const struct dnn_tensor *t)
{
	*o = (struct dnn_operand){ .type = CUDNN_DATA_DOUBLE, .is_value = 1 };
	memcpy(&o->at, &t->value, sizeof(o->at));
}

int lower_axis(const struct dnn_tensor *t, int axis)
{
	return axis < 2 ? axis : axis + DNN_DIMS - t->rank;
}

/* Images and channels first. `dim`: NULL, or what the tensor must have or 1. */
static cudnnStatus_t image_set(struct dnn_operand *o, const struct dnn_tensor *t, const int64_t *dim)
{
	cudnnStatus_t status;

	*o = (struct dnn_operand){ 0 };
	if (!t || (!t->at && !t->by_value))
		return CUDNN_STATUS_SUCCESS;
	if (t->by_value) {
		value_set(o, t);
		return CUDNN_STATUS_SUCCESS;
	}
	status = dnn_tensor_check(t);
	if (status)
		return status;
	if (t->rank > DNN_DIMS)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "%d dimensions: at most %d here", t->rank, DNN_DIMS);
	o->at = t->at;
	o->type = t->type;
	for (int i = 0; i < t->rank; i++) {
		int axis = lower_axis(t, i);

		o->stride[axis] = t->dim[i] == 1 && dim && dim[axis] != 1 ? 0 : t->stride[i];
		if (dim && t->dim[i] != 1 && t->dim[i] != dim[axis])
			return dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
					"dimension %d is %lld where %lld is needed", i, (long long)t->dim[i],
					(long long)dim[axis]);
	}
	return CUDNN_STATUS_SUCCESS;
}

static void image_dims(int64_t dim[DNN_DIMS], const struct dnn_tensor *t)
{
	for (int i = 0; i < DNN_DIMS; i++)
		dim[i] = 1;
	for (int i = 0; i < t->rank && t->rank <= DNN_DIMS; i++)
		dim[lower_axis(t, i)] = t->dim[i];
}

static bool is_wide(const struct dnn_tensor *t)
{
	return t && t->at && !t->by_value && dnn_type_is_wide(t->type);
}

/* ---- dimensions in any order ---- */

struct shape {
	int rank, tensors;
	int64_t dim[DNN_TENSOR_DIMS], stride[OPERANDS_MOST][DNN_TENSOR_DIMS];
	bool lost[DNN_TENSOR_DIMS]; /* not in the result */
};

static void shape_swap(struct shape *s, int i, int k)
{
	int64_t dim = s->dim[i], stride;
	bool lost = s->lost[i];

	s->dim[i] = s->dim[k];
	s->dim[k] = dim;
	s->lost[i] = s->lost[k];
	s->lost[k] = lost;
	for (int t = 0; t < s->tensors; t++) {
		stride = s->stride[t][i];
		s->stride[t][i] = s->stride[t][k];
		s->stride[t][k] = stride;
	}
}

static void shape_drop(struct shape *s, int at)
{
	for (int i = at; i + 1 < s->rank; i++)
		shape_swap(s, i, i + 1);
	s->rank--;
}

/* Is dimension i nothing but more of dimension i + 1? */
static bool shape_joins(const struct shape *s, int i)
{
	for (int t = 0; t < s->tensors; t++)
		if (s->stride[t][i] != s->stride[t][i + 1] * s->dim[i + 1])
			return false;
	return s->lost[i] == s->lost[i + 1];
}

static void shape_join(struct shape *s)
{
	for (int i = s->rank - 1; i >= 0; i--)
		if (s->dim[i] == 1)
			shape_drop(s, i);
	for (int i = 1; i < s->rank; i++)
		for (int k = i; k > 0 && s->stride[0][k - 1] < s->stride[0][k]; k--)
			shape_swap(s, k - 1, k);
	for (int i = s->rank - 2; i >= 0; i--)
		if (shape_joins(s, i)) {
			s->dim[i + 1] *= s->dim[i];
			shape_drop(s, i);
		}
}

cudnnStatus_t lower_shape(struct dnn_work *w, struct dnn_operand *const o[], const struct dnn_tensor *const t[],
			  int tensors, const struct dnn_tensor *whole, const struct dnn_tensor *result, bool keep)
{
	struct shape s = { .rank = whole->rank, .tensors = tensors };
	cudnnStatus_t status = dnn_tensor_check(whole);

	if (status)
		return status;
	for (int i = 0; i < s.rank; i++) {
		s.dim[i] = whole->dim[i];
		s.lost[i] = result->dim[i] == 1 && whole->dim[i] > 1;
	}
	for (int k = 0; k < tensors; k++) {
		if (!t[k] || t[k]->by_value)
			continue;
		status = dnn_tensor_check(t[k]);
		if (status)
			return status;
		for (int i = 0; i < s.rank; i++) {
			int axis = i - (s.rank - t[k]->rank);
			int64_t dim = axis < 0 ? 1 : t[k]->dim[axis];

			if (t[k]->rank > s.rank || (dim != 1 && dim != s.dim[i]))
				return dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
						"a dimension is %lld where %lld or 1 is needed", (long long)dim,
						(long long)s.dim[i]);
			s.stride[k][i] = dim == 1 ? 0 : t[k]->stride[axis];
		}
	}
	if (!keep)
		shape_join(&s);
	if (s.rank > DNN_DIMS)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "%d dimensions that are not dense: at most %d",
				s.rank, DNN_DIMS);
	for (int i = 0; i < DNN_DIMS; i++)
		w->dim[i] = 1;
	for (int i = 0; i < s.rank; i++) {
		int axis = i + DNN_DIMS - s.rank;

		w->dim[axis] = s.dim[i];
		w->axes |= (uint8_t)(s.lost[i] ? 1u << axis : 0);
		for (int k = 0; k < tensors; k++)
			o[k]->stride[axis] = s.stride[k][i];
	}
	for (int k = 0; k < tensors; k++) {
		if (!t[k])
			continue;
		if (t[k]->by_value) {
			value_set(o[k], t[k]);
			continue;
		}
		o[k]->at = t[k]->at;
		o[k]->type = t[k]->type;
		w->wide |= is_wide(t[k]);
	}
	return CUDNN_STATUS_SUCCESS;
}

/* ---- operations ---- */

static int pointwise_inputs(unsigned int mode)
{
	switch (mode) {
	case CUDNN_POINTWISE_ADD:
	case CUDNN_POINTWISE_ADD_SQUARE:
	case CUDNN_POINTWISE_DIV:
	case CUDNN_POINTWISE_MAX:
	case CUDNN_POINTWISE_MIN:
	case CUDNN_POINTWISE_MOD:
	case CUDNN_POINTWISE_FLOOR_MOD:
	case CUDNN_POINTWISE_MUL:
	case CUDNN_POINTWISE_POW:
	case CUDNN_POINTWISE_SUB:
	case CUDNN_POINTWISE_ATAN2:
	case CUDNN_POINTWISE_LOGICAL_AND:
	case CUDNN_POINTWISE_LOGICAL_OR:
		return 2;
	case CUDNN_POINTWISE_BINARY_SELECT:
		return 3;
	case CUDNN_POINTWISE_GEN_INDEX:
	case DNN_POINT_FILL:
		return 0;
	default:
		if ((mode >= CUDNN_POINTWISE_RELU_BWD && mode <= CUDNN_POINTWISE_GELU_APPROX_TANH_BWD) ||
		    (mode >= CUDNN_POINTWISE_CMP_EQ && mode <= CUDNN_POINTWISE_CMP_LE))
			return 2;
		if ((mode >= CUDNN_POINTWISE_ABS && mode <= CUDNN_POINTWISE_RECIPROCAL) ||
		    mode == CUDNN_POINTWISE_SQRT ||
		    (mode >= CUDNN_POINTWISE_RELU_FWD && mode <= CUDNN_POINTWISE_GELU_APPROX_TANH_FWD) ||
		    mode == CUDNN_POINTWISE_LOGICAL_NOT)
			return 1;
		return -1;
	}
}

cudnnStatus_t lower_pointwise(struct dnn_work *w, unsigned int mode, const struct dnn_tensor *x,
			      const struct dnn_tensor *b, const struct dnn_tensor *t, const struct dnn_tensor *y,
			      const double scalar[8])
{
	int inputs = pointwise_inputs(mode);
	const struct dnn_tensor *tensors[POINT_OPERANDS] = { y, inputs > 0 ? x : NULL, inputs > 1 ? b : NULL,
							     inputs > 2 ? t : NULL };
	struct dnn_operand *const operands[POINT_OPERANDS] = { &w->operand[POINT_Y], &w->operand[POINT_X],
							       &w->operand[POINT_B], &w->operand[POINT_T] };

	*w = (struct dnn_work){ .kernel = DNN_POINTWISE, .mode = (uint16_t)mode };
	if (inputs < 0)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "pointwise mode %u", mode);
	if ((inputs > 0 && !x) || (inputs > 1 && !b) || (inputs > 2 && !t) || y->by_value)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "pointwise mode %u needs %d inputs", mode, inputs);
	memcpy(w->scalar, scalar, sizeof(w->scalar));
	if (mode == CUDNN_POINTWISE_GEN_INDEX) {
		if (!(scalar[POINT_AXIS] >= 0 && scalar[POINT_AXIS] < y->rank))
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "the axis of an index is not one of %d dimensions",
					y->rank);
		w->scalar[POINT_AXIS] += DNN_DIMS - y->rank;
	}
	return lower_shape(w, operands, tensors, POINT_OPERANDS, y, y, mode == CUDNN_POINTWISE_GEN_INDEX);
}

/* Heads of attention that share one of another tensor: (batch, heads, ...) as (batch, shared, of one, ...). */
static void heads_split(struct dnn_tensor *t, int64_t shared, int64_t each)
{
	for (int i = 4; i > 2; i--) {
		t->dim[i] = t->dim[i - 1];
		t->stride[i] = t->stride[i - 1];
	}
	t->rank = 5;
	t->dim[2] = t->dim[1] == shared * each ? each : 1;
	t->stride[2] = t->dim[2] == 1 ? 0 : t->stride[1];
	if (t->dim[1] == shared * each) {
		t->dim[1] = shared;
		t->stride[1] *= each;
	}
}

cudnnStatus_t lower_reduce(struct dnn_work *w, cudnnReduceTensorOp_t op, const struct dnn_tensor *x,
			   const struct dnn_tensor *y, double alpha, double beta)
{
	struct dnn_tensor whole = *x, part = *y;
	const struct dnn_tensor *tensors[] = { &whole, &part };
	struct dnn_operand *const operands[] = { &w->operand[0], &w->operand[1] };
	int64_t shared;

	*w = (struct dnn_work){ .kernel = DNN_REDUCE, .mode = (uint16_t)op, .scalar = { alpha, beta } };
	if ((unsigned int)op > CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "reduction %d", (int)op);
	if (whole.rank != part.rank || whole.by_value || part.by_value)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "a reduction of %d dimensions to %d", x->rank,
				y->rank);
	/* the gradients of heads that share one of keys or values */
	shared = part.dim[1];
	if (whole.rank == 4 && shared > 1 && shared < whole.dim[1] && whole.dim[1] % shared == 0) {
		int64_t each = whole.dim[1] / shared;

		heads_split(&whole, shared, each);
		part.rank = 5;
		for (int i = 4; i > 2; i--) {
			part.dim[i] = part.dim[i - 1];
			part.stride[i] = part.stride[i - 1];
		}
		part.dim[2] = 1;
		part.stride[2] = 0;
	}
	return lower_shape(w, operands, tensors, 2, &whole, &part, false);
}

static cudnnStatus_t matrix_set(struct dnn_operand *o, const struct dnn_tensor *t, const int64_t dim[DNN_DIMS],
				int64_t rows, int64_t columns)
{
	cudnnStatus_t status = t->by_value ? CUDNN_STATUS_BAD_PARAM : dnn_tensor_check(t);

	if (status)
		return status;
	if (t->rank < 2 || t->rank > DNN_DIMS)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "a matrix of %d dimensions: 2 to %d", t->rank,
				DNN_DIMS);
	o->at = t->at;
	o->type = t->type;
	for (int i = 0; i < t->rank; i++) {
		int axis = i + DNN_DIMS - t->rank;
		int64_t need = axis == DNN_DIMS - 2 ? rows : axis == DNN_DIMS - 1 ? columns : dim[axis];

		if (t->dim[i] != need && (t->dim[i] != 1 || axis >= DNN_DIMS - 2))
			return dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
					"a product's dimension is %lld where %lld is needed", (long long)t->dim[i],
					(long long)need);
		o->stride[axis] = t->dim[i] == 1 ? 0 : t->stride[i];
	}
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t lower_matrices(struct dnn_work *w, const struct dnn_tensor *a, const struct dnn_tensor *b,
				    const struct dnn_tensor *c)
{
	int64_t inner = a->rank > 0 ? a->dim[a->rank - 1] : 0;
	cudnnStatus_t status;

	*w = (struct dnn_work){ .kernel = DNN_MATMUL, .more = { (uint64_t)inner } };
	if (c->rank < 2 || c->rank > DNN_DIMS)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "a matrix of %d dimensions: 2 to %d", c->rank,
				DNN_DIMS);
	for (int i = 0; i < DNN_DIMS; i++)
		w->dim[i] = i < DNN_DIMS - c->rank ? 1 : c->dim[i - (DNN_DIMS - c->rank)];
	status = matrix_set(&w->operand[MATMUL_A], a, w->dim, w->dim[DNN_DIMS - 2], inner);
	if (!status)
		status = matrix_set(&w->operand[MATMUL_B], b, w->dim, inner, w->dim[DNN_DIMS - 1]);
	if (!status)
		status = matrix_set(&w->operand[MATMUL_C], c, w->dim, w->dim[DNN_DIMS - 2], w->dim[DNN_DIMS - 1]);
	w->wide = a->type == CUDNN_DATA_DOUBLE || b->type == CUDNN_DATA_DOUBLE || c->type == CUDNN_DATA_DOUBLE ||
		  c->type == CUDNN_DATA_INT32;
	return status;
}

static bool is_count(const struct dnn_tensor *t)
{
	return !t->by_value && (t->type == CUDNN_DATA_INT32 || t->type == CUDNN_DATA_INT64);
}

cudnnStatus_t lower_matmul(struct dnn_work *w, const struct dnn_tensor *a_whole, const struct dnn_tensor *b_whole,
			   const struct dnn_tensor *c_whole, const struct dnn_tensor *const counts[3], double padding)
{
	struct dnn_tensor t[6] = { *a_whole, *b_whole, *c_whole };
	const struct dnn_tensor *a = &t[0], *b = &t[1], *c = &t[2];
	int64_t heads = t[2].dim[1], shared = heads;
	cudnnStatus_t status;

	for (int i = 0; i < 3; i++) {
		if (counts[i])
			t[3 + i] = *counts[i];
		if (counts[i] && !is_count(counts[i]))
			return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE,
					"counts of a product's rows of type %u: whole numbers of 32 or 64 bits",
					counts[i]->type);
		if (counts[i] && (counts[i]->rank != c->rank || counts[i]->dim[c->rank - 1] != 1 ||
				  counts[i]->dim[c->rank - 2] != 1))
			return dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
					"counts of a product's rows are one for each product");
	}
	for (int i = 0; i < 2; i++)
		if (t[i].rank == 4 && t[2].rank == 4 && t[i].dim[1] > 1 && t[i].dim[1] < shared &&
		    heads % t[i].dim[1] == 0)
			shared = t[i].dim[1];
	for (int i = 0; shared != heads && i < 6; i++)
		if (t[i].rank)
			heads_split(&t[i], shared, heads / shared);
	status = lower_matrices(w, a, b, c);
	for (int i = 0; i < 3 && !status; i++)
		if (counts[i])
			status = matrix_set(&w->operand[MATMUL_M + i], &t[3 + i], w->dim, 1, 1);
	w->scalar[MATMUL_PADDING] = padding;
	w->scalar[MATMUL_FACTOR] = 1;
	return status;
}

/* ---- convolutions ---- */

static cudnnStatus_t conv_dims(const struct dnn_conv *c, const struct dnn_tensor *x, const struct dnn_tensor *filter)
{
	if (c->spatial < 1 || c->spatial > DNN_SPATIAL || x->rank != (int)c->spatial + 2 || filter->rank != x->rank)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a convolution over %u dimensions of tensors with %d and %d",
				c->spatial, x->rank, filter->rank);
	if (c->groups < 1 || filter->dim[1] * c->groups != x->dim[1] || filter->dim[0] % c->groups)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
				"%lld channels, a filter of %lld to %lld in %lld groups", (long long)x->dim[1],
				(long long)filter->dim[1], (long long)filter->dim[0], (long long)c->groups);
	for (unsigned int i = 0; i < c->spatial; i++)
		if (c->stride[i] < 1 || c->dilation[i] < 1 || c->pad[i] < 0 || c->stride[i] > LENGTH_MOST ||
		    c->dilation[i] > LENGTH_MOST || c->pad[i] > LENGTH_MOST)
			return dnn_fail(CUDNN_STATUS_BAD_PARAM,
					"stride %lld, dilation %lld or padding %lld of a convolution",
					(long long)c->stride[i], (long long)c->dilation[i], (long long)c->pad[i]);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t lower_conv_result(const struct dnn_conv *c, const struct dnn_tensor *x, const struct dnn_tensor *filter,
				int64_t dim[DNN_TENSOR_DIMS])
{
	cudnnStatus_t status = conv_dims(c, x, filter);

	if (status)
		return status;
	dim[0] = x->dim[0];
	dim[1] = filter->dim[0];
	for (unsigned int i = 0; i < c->spatial; i++) {
		int64_t room =
			x->dim[2 + i] + c->pad[i] + c->pad_after[i] - ((filter->dim[2 + i] - 1) * c->dilation[i] + 1);

		if (room < 0)
			return dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
					"the filter is larger than the padded image");
		dim[2 + i] = room / c->stride[i] + 1;
	}
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t lower_conv(struct dnn_work *w, enum dnn_kernel kernel, const struct dnn_conv *c,
			 const struct dnn_tensor *x, const struct dnn_tensor *filter, const struct dnn_tensor *y,
			 double alpha, double beta)
{
	int64_t dim[DNN_TENSOR_DIMS];
	cudnnStatus_t status = lower_conv_result(c, x, filter, dim);

	*w = (struct dnn_work){ .kernel = kernel, .scalar = { alpha, beta } };
	for (int i = 0; !status && i < x->rank; i++)
		if (y->rank != x->rank || y->dim[i] != dim[i])
			status = dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
					  "dimension %d of a convolution's result is %lld, not %lld", i,
					  (long long)y->dim[i], (long long)dim[i]);
	if (status)
		return status;
	if (c->groups > INT32_MAX || x->by_value || filter->by_value || y->by_value)
		return CUDNN_STATUS_BAD_PARAM;
	image_dims(w->dim, x);
	image_dims(w->conv.w_dim, filter);
	image_dims(w->conv.y_dim, y);
	status = image_set(&w->conv.x, x, NULL);
	if (!status)
		status = image_set(&w->conv.w, filter, NULL);
	if (!status)
		status = image_set(&w->conv.y, y, NULL);
	for (unsigned int i = 0; i < DNN_SPATIAL; i++) {
		unsigned int from = i - (DNN_SPATIAL - c->spatial);
		bool there = i >= DNN_SPATIAL - c->spatial;

		w->conv.pad[i] = there ? (int32_t)c->pad[from] : 0;
		w->conv.stride[i] = there ? (int32_t)c->stride[from] : 1;
		w->conv.dilation[i] = there ? (int32_t)c->dilation[from] : 1;
	}
	w->conv.groups = (int32_t)c->groups;
	w->conv.flip = c->flip;
	/* sums of whole numbers are exact */
	w->wide = x->type == CUDNN_DATA_DOUBLE || filter->type == CUDNN_DATA_DOUBLE || y->type == CUDNN_DATA_DOUBLE ||
		  y->type == CUDNN_DATA_INT32;
	return status;
}

/* ---- pooling ---- */

cudnnStatus_t lower_pool(struct dnn_work *w, const struct dnn_pool *p, const struct dnn_tensor *x,
			 const struct dnn_tensor *y, const struct dnn_tensor *dx, const struct dnn_tensor *dy,
			 const struct dnn_tensor *index, double alpha, double beta)
{
	const struct dnn_tensor *image = x ? x : dx, *result = dy ? dy : y;
	const struct {
		const struct dnn_tensor *t;
		struct dnn_operand *o;
		bool result;
	} list[] = {
		{ x, &w->pool.x, false }, { dx, &w->pool.dx, false }, { y, &w->pool.y, true }, { dy, &w->pool.dy, true }
	};
	cudnnStatus_t status = CUDNN_STATUS_SUCCESS;

	*w = (struct dnn_work){ .kernel = dx ? DNN_POOL_BACK : DNN_POOL,
				.mode = (uint16_t)p->mode,
				.scalar = { alpha, beta } };
	if (index)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "indices of the largest elements of a pool");
	if (image->rank != (int)p->spatial + 2 || image->rank > DNN_DIMS || result->rank != image->rank)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "pooling over %u dimensions of a tensor with %d",
				p->spatial, image->rank);
	image_dims(w->dim, image);
	image_dims(w->pool.y_dim, result);
	for (size_t i = 0; !status && i < sizeof(list) / sizeof(*list); i++) {
		if (list[i].t && list[i].t->by_value)
			return CUDNN_STATUS_BAD_PARAM;
		status = image_set(list[i].o, list[i].t, list[i].result ? w->pool.y_dim : w->dim);
		w->wide |= list[i].t && list[i].t->type == CUDNN_DATA_DOUBLE;
	}
	for (unsigned int i = 0; !status && i < DNN_SPATIAL; i++) {
		unsigned int from = i - (DNN_SPATIAL - p->spatial);
		bool there = i >= DNN_SPATIAL - p->spatial;

		if (there && (p->window[from] < 1 || p->stride[from] < 1 || p->pad[from] < 0 ||
			      p->window[from] > 1 << 20 || p->stride[from] > 1 << 20 || p->pad[from] > 1 << 20))
			return dnn_fail(
				CUDNN_STATUS_BAD_PARAM, "a pool's window of %lld with stride %lld and padding %lld",
				(long long)p->window[from], (long long)p->stride[from], (long long)p->pad[from]);
		w->pool.window[i] = there ? (int32_t)p->window[from] : 1;
		w->pool.stride[i] = there ? (int32_t)p->stride[from] : 1;
		w->pool.pad[i] = there ? (int32_t)p->pad[from] : 0;
	}
	if (!status && (w->dim[0] != w->pool.y_dim[0] || w->dim[1] != w->pool.y_dim[1]))
		return dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "a pool changes images or channels");
	return status;
}

/* ---- softmax ---- */

cudnnStatus_t lower_softmax(struct dnn_work *w, uint8_t axes, bool logarithm, const struct dnn_tensor *x,
			    const struct dnn_tensor *y, const struct dnn_tensor *dy, const struct dnn_tensor *dx,
			    double alpha, double beta)
{
	const struct dnn_tensor *list[3] = { dx ? y : x, dx ? dy : y, dx };
	cudnnStatus_t status = CUDNN_STATUS_SUCCESS;

	*w = (struct dnn_work){ .kernel = dx ? DNN_SOFTMAX_BACK : DNN_SOFTMAX,
				.mode = logarithm,
				.axes = axes,
				.scalar = { alpha, beta } };
	image_dims(w->dim, list[0]);
	for (int i = 0; !status && i < (dx ? 3 : 2); i++) {
		for (int k = 0; k < list[i]->rank; k++)
			if (list[i]->by_value || list[i]->rank != list[0]->rank || list[i]->dim[k] != list[0]->dim[k])
				return dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
						"tensors of a softmax have different shapes");
		status = image_set(&w->operand[i], list[i], w->dim);
		w->wide |= list[i]->type == CUDNN_DATA_DOUBLE;
	}
	return status;
}

/* ---- normalisations ---- */

static bool is_there(const struct dnn_tensor *t)
{
	return t->at || t->by_value;
}

cudnnStatus_t lower_norm(struct dnn_work *w, const struct dnn_norm *n)
{
	const struct dnn_tensor *list[DNN_OPERANDS] = { &n->x,	   &n->y,    &n->mean,	   &n->inverse,
							&n->scale, &n->bias, &n->run_mean, &n->run_variance };
	cudnnStatus_t status = CUDNN_STATUS_SUCCESS;

	*w = (struct dnn_work){ .kernel = DNN_NORM, .mode = (uint16_t)n->mode, .axes = n->axes, .flag = n->root };
	image_dims(w->dim, &n->x);
	for (int i = 0; !status && i < DNN_OPERANDS; i++) {
		status = image_set(&w->operand[i], list[i], w->dim);
		w->wide |= is_there(list[i]) && !list[i]->by_value && list[i]->type == CUDNN_DATA_DOUBLE;
	}
	/* Updated statistics lie as those before do. */
	for (int i = 0; !status && i < 2; i++) {
		const struct dnn_tensor *next = i ? &n->new_variance : &n->new_mean;
		struct dnn_operand o, *run = &w->operand[i ? NORM_RUN_VARIANCE : NORM_RUN_MEAN];

		status = image_set(&o, next, w->dim);
		if (!o.at || status)
			continue;
		w->more[i] = o.at;
		if (!run->at)
			*run = (struct dnn_operand){ .type = o.type };
		if (run->is_value ||
		    (run->at && (run->type != o.type || memcmp(run->stride, o.stride, sizeof(o.stride)))))
			return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT,
					"running statistics before and after differ in layout");
		memcpy(run->stride, o.stride, sizeof(o.stride));
	}
	w->scalar[NORM_EPSILON] = n->epsilon;
	w->scalar[NORM_FACTOR] = n->factor;
	w->scalar[NORM_ALPHA] = n->alpha;
	w->scalar[NORM_BETA] = n->beta;
	return status;
}

cudnnStatus_t lower_norm_back(struct dnn_work w[2], int *ret_count, const struct dnn_norm *n)
{
	bool weights = is_there(&n->dscale) || is_there(&n->dbias);
	const struct dnn_tensor *like = is_there(&n->dscale) ? &n->dscale : &n->dbias;
	cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
	int count = 0;

	for (int kind = 1; kind >= 0; kind--) {
		const struct dnn_tensor *list[] = { &n->x,
						    &n->y,
						    &n->mean,
						    &n->inverse,
						    &n->scale,
						    kind ? &n->dscale : &n->dx,
						    kind ? &n->dbias : NULL };
		struct dnn_work *to = &w[count];

		if (kind ? !weights : !is_there(&n->dx))
			continue;
		count++;
		*to = (struct dnn_work){ .kernel = kind ? DNN_NORM_WEIGHTS : DNN_NORM_DATA,
					 .mode = (uint16_t)n->mode,
					 .axes = n->axes,
					 .flag = n->root,
					 .more = { n->axes } };
		image_dims(to->dim, &n->x);
		for (size_t i = 0; !status && i < sizeof(list) / sizeof(*list); i++) {
			status = image_set(&to->operand[i], list[i], to->dim);
			to->wide |= list[i] && is_there(list[i]) && !list[i]->by_value &&
				    list[i]->type == CUDNN_DATA_DOUBLE;
		}
		to->scalar[NORM_EPSILON] = n->epsilon;
		to->scalar[NORM_ALPHA] = kind ? n->weight_alpha : n->alpha;
		to->scalar[NORM_BETA] = kind ? n->weight_beta : n->beta;
		for (int i = 0; kind && i < DNN_DIMS; i++)
			to->axes |= (uint8_t)(1u << i);
		for (int i = 0; kind && i < like->rank; i++)
			if (like->dim[i] > 1)
				to->axes &= (uint8_t) ~(1u << lower_axis(like, i));
		if (kind && n->mode == DNN_NORM_COMPUTE && to->more[0] & ~(uint64_t)to->axes)
			return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED,
					"gradients of a normalisation without its saved statistics");
	}
	*ret_count = count;
	return status;
}

cudnnStatus_t lower_random(struct dnn_work *w, const struct dnn_tensor *y, const struct dnn_tensor *seed,
			   const struct dnn_tensor *offset, double keep, double value)
{
	const struct dnn_tensor *tensors[] = { y }, *words[] = { seed, offset };
	struct dnn_operand *const operands[] = { &w->operand[0] };

	*w = (struct dnn_work){ .kernel = DNN_RANDOM };
	w->scalar[RANDOM_KEEP] = keep;
	w->scalar[RANDOM_VALUE] = value;
	for (int i = 0; i < 2; i++) {
		int64_t word = words[i] && words[i]->by_value ? (int64_t)words[i]->value : 0;

		if (words[i] && !words[i]->by_value) {
			if (words[i]->type != CUDNN_DATA_INT32 && words[i]->type != CUDNN_DATA_INT64)
				return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "a seed or offset of type %u",
						words[i]->type);
			w->operand[1 + i].at = words[i]->at;
			w->operand[1 + i].type = words[i]->type;
		}
		memcpy(&w->scalar[i ? RANDOM_OFFSET : RANDOM_SEED], &word, sizeof(word));
	}
	if (y->by_value)
		return CUDNN_STATUS_BAD_PARAM;
	return lower_shape(w, operands, tensors, 1, y, y, true);
}
