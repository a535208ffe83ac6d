/*
 * scores_lower.c: what attention has beside products and pointwise functions: masks along a diagonal, a softmax with
 * its statistics, and copies of ragged and paged tensors. Dimensions stay as they are: rows and columns are a kernel's
 * last.
 */
#include "libs/cudnn/dnn.h"

#include <string.h>

#define LAST (1u << (DNN_DIMS - 1))

static bool is_whole(const struct dnn_tensor *t)
{
	return t->by_value || t->type == CUDNN_DATA_INT32 || t->type == CUDNN_DATA_INT64 ||
	       t->type == CUDNN_DATA_FLOAT || t->type == CUDNN_DATA_DOUBLE;
}

static bool is_wide(const struct dnn_tensor *t)
{
	return !t->by_value && t->type == CUDNN_DATA_DOUBLE;
}

/* All but y are numbers that are there for each element, or one for several. */
cudnnStatus_t lower_band(struct dnn_work *w, const struct dnn_band *b)
{
	const struct dnn_tensor *t[] = { b->x, b->y, b->value, b->length_q, b->length_kv, b->left, b->shift };
	struct dnn_operand *const o[] = { &w->operand[BAND_X],	       &w->operand[BAND_Y],
					  &w->operand[BAND_VALUE],     &w->operand[BAND_LENGTH_Q],
					  &w->operand[BAND_LENGTH_KV], &w->operand[BAND_LEFT],
					  &w->operand[BAND_SHIFT] };
	int count = sizeof(t) / sizeof(*t);
	cudnnStatus_t status;

	*w = (struct dnn_work){ .kernel = DNN_BAND, .mode = (uint16_t)b->mode };
	if (b->mode != CUDNN_POINTWISE_LOGICAL_AND &&
	    (b->mode < CUDNN_POINTWISE_CMP_EQ || b->mode > CUDNN_POINTWISE_CMP_LE))
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "mode %u of a mask is no comparison", b->mode);
	if (b->x->by_value || b->y->by_value || b->x->rank < 2)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "a mask of less than two dimensions");
	for (int i = BAND_VALUE; i < count; i++)
		if (t[i] && !is_whole(t[i]))
			return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "a number of type %u of a mask",
					t[i]->type);
	status = lower_shape(w, o, t, count, b->x, b->x, true);
	w->axes = LAST;
	w->flag = b->left != NULL;
	w->wide = 0;
	return status;
}

cudnnStatus_t lower_scores(struct dnn_work *w, const struct dnn_scores *s)
{
	const struct dnn_tensor *t[] = { s->x, s->y, s->stats, s->max, s->sum, s->sink };
	struct dnn_operand *const o[] = { &w->operand[SCORES_X],   &w->operand[SCORES_Y],   &w->operand[SCORES_STATS],
					  &w->operand[SCORES_MAX], &w->operand[SCORES_SUM], &w->operand[SCORES_SINK] };
	int count = sizeof(t) / sizeof(*t);
	cudnnStatus_t status;

	*w = (struct dnn_work){ .kernel = DNN_SCORES };
	for (int i = 0; i < count; i++)
		if (t[i] && (i == SCORES_SINK ? t[i]->dim[t[i]->rank - 1] != 1 : t[i]->by_value))
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "tensor %d of a softmax", i);
	for (int i = SCORES_STATS; i < SCORES_SINK; i++)
		if (t[i] && (t[i]->rank != s->x->rank || t[i]->dim[t[i]->rank - 1] != 1))
			return dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
					"statistics of a softmax are one for each row");
	status = lower_shape(w, o, t, count, s->x, s->x, true);
	w->axes = LAST;
	w->flag = s->two;
	w->wide = is_wide(s->x) || is_wide(s->y);
	return status;
}

cudnnStatus_t lower_ragged(struct dnn_work *w, const struct dnn_tensor *x, const struct dnn_tensor *y)
{
	const struct dnn_tensor *ragged = x->is_ragged ? x : y, *t[] = { x, y };
	struct dnn_operand *const o[] = { &w->operand[RAGGED_X], &w->operand[RAGGED_Y] };
	struct dnn_operand *offsets = &w->operand[RAGGED_OFFSETS];
	cudnnStatus_t status;

	*w = (struct dnn_work){ .kernel = DNN_RAGGED, .mode = !x->is_ragged };
	if (x->is_ragged == y->is_ragged || x->by_value || y->by_value || x->rank < 2 || x->rank != y->rank)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "ragged tensors of different layouts");
	for (int i = 0; i < x->rank; i++)
		if (x->dim[i] != y->dim[i])
			return dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "a ragged tensor of another shape");
	if ((ragged->ragged_type != CUDNN_DATA_INT32 && ragged->ragged_type != CUDNN_DATA_INT64) ||
	    ragged->ragged_count <= ragged->dim[0] || ragged->ragged_by < 1)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM,
				"a ragged tensor of %lld images has %lld offsets of type %u, each %lld times",
				(long long)ragged->dim[0], (long long)ragged->ragged_count, ragged->ragged_type,
				(long long)ragged->ragged_by);
	status = lower_shape(w, o, t, 2, x, x, true);
	if (status)
		return status;
	w->more[0] = (uint64_t)(DNN_DIMS - x->rank); /* the dimension of images */
	w->more[1] = (uint64_t)ragged->ragged_by;
	w->operand[w->mode ? RAGGED_Y : RAGGED_X].stride[w->more[0]] = 0;
	*offsets = (struct dnn_operand){ .at = ragged->ragged, .type = ragged->ragged_type };
	offsets->stride[w->more[0]] = 1;
	w->axes = (uint8_t)((1u << DNN_DIMS) - 1u - (1u << w->more[0]));
	w->wide = 0;
	return status;
}

/* The dimensions of a kernel are images, heads, rows and columns, behind one of 1. */
cudnnStatus_t lower_paged(struct dnn_work *w, const struct dnn_tensor *pages, const struct dnn_tensor *table,
			  const struct dnn_tensor *length, const struct dnn_tensor *y)
{
	struct dnn_tensor to = *y;
	const struct dnn_tensor *t[] = { pages, &to, table, length };
	bool turned;

	*w = (struct dnn_work){ .kernel = DNN_PAGED, .axes = LAST, .dim = { 1 } };
	for (int i = 0; i < 4; i++)
		if (t[i] && (t[i]->rank != 4 || t[i]->by_value))
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "tensor %d of a paged copy has %d dimensions, not 4", i,
					t[i]->rank);
	turned = to.dim[2] == pages->dim[3] && to.dim[3] != pages->dim[3];
	turned = turned || (to.dim[2] == pages->dim[3] && to.stride[2] == 1 && to.stride[3] != 1);
	if (turned) {
		to.dim[2] = y->dim[3];
		to.dim[3] = y->dim[2];
		to.stride[2] = y->stride[3];
		to.stride[3] = y->stride[2];
	}
	if (to.dim[1] != pages->dim[1] || to.dim[3] != pages->dim[3] || table->dim[0] != to.dim[0] ||
	    (to.dim[2] + pages->dim[2] - 1) / pages->dim[2] > table->dim[2] || (length && length->dim[0] != to.dim[0]))
		return dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
				"%lld rows of %lld heads from pages of %lld rows and %lld heads, %lld of an image",
				(long long)to.dim[2], (long long)to.dim[1], (long long)pages->dim[2],
				(long long)pages->dim[1], (long long)table->dim[2]);
	if (table->type != CUDNN_DATA_INT32 || (length && length->type != CUDNN_DATA_INT32))
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "pages and lengths are numbers of 32 bits");
	for (int i = 0; i < 4; i++) {
		struct dnn_operand *o = &w->operand[i];

		if (!t[i])
			continue;
		o->at = t[i]->at;
		o->type = t[i]->type;
		for (int k = 0; k < 4; k++)
			o->stride[1 + k] = t[i]->stride[k];
		w->dim[1 + i] = to.dim[i];
	}
	for (int i = 0; i < 4; i++)
		w->dim[1 + i] = to.dim[i];
	w->more[0] = (uint64_t)pages->dim[0];
	w->more[1] = (uint64_t)pages->dim[2];
	return dnn_tensor_check(&to);
}
