/*
 * attention.c: operations of the backend that are made of others, before a graph's steps are put in order.
 *
 * An operation of attention becomes products, pointwise functions, masks and a softmax, as programs write it themselves
 * for older versions of cuDNN: scores are virtual tensors, so the graph's workspace has them. Cumulative lengths become
 * differences. A ragged tensor is copied into one that is not before it is read, and out of one after it was written.
 *
 * Facts: the comments of cuDNN's headers; NVIDIA's cudnn-frontend (Apache 2.0) for what its operations compute.
 */
#include "libs/cudnn/backend.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT(name) CUDNN_ATTR_OPERATION_##name

/* A list of descriptors, each held. */
struct list {
	struct descriptor **at;
	int64_t count, room;
};

struct parts {
	struct list list, loose; /* operations, and what they refer to */
	int64_t id;		 /* below those of all tensors; a new one takes the next lower */
	cudnnStatus_t status;
};

/* Takes the caller's hold. */
static void list_put(struct parts *p, struct list *l, struct descriptor *d)
{
	struct descriptor **grown = l->at;

	if (l->count == l->room) {
		grown = realloc(l->at, (size_t)(2 * l->room + 16) * sizeof(*grown));
		if (!grown) {
			p->status = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
			descriptor_let(d);
			return;
		}
		l->at = grown;
		l->room = 2 * l->room + 16;
	}
	l->at[l->count++] = d;
}

static void list_end(struct list *l)
{
	for (int64_t i = 0; i < l->count; i++)
		descriptor_let(l->at[i]);
	free(l->at);
	*l = (struct list){ 0 };
}

static void keep(struct parts *p, struct descriptor *operation)
{
	descriptor_hold(operation);
	list_put(p, &p->list, operation);
}

/* ---- making descriptors; nothing more happens after a first failure, and NULL goes through all ---- */

static struct descriptor *make(struct parts *p, cudnnBackendDescriptorType_t type)
{
	void *made = NULL;

	if (!p->status)
		p->status = soft_cudnnBackendCreateDescriptor(type, &made);
	return p->status ? NULL : made;
}

static void give(struct parts *p, struct descriptor *d, int name, cudnnBackendAttributeType_t type, int64_t count,
		 const void *from)
{
	if (!p->status)
		p->status = soft_cudnnBackendSetAttribute(d, (cudnnBackendAttributeName_t)name, type, count, from);
}

static void refer(struct parts *p, struct descriptor *d, int name, struct descriptor *to)
{
	if (to)
		give(p, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &to);
}

static void finish(struct parts *p, struct descriptor *d)
{
	if (!p->status)
		p->status = soft_cudnnBackendFinalize(d);
}

/* A descriptor that lives as long as the parts do. */
static struct descriptor *loose(struct parts *p, struct descriptor *d)
{
	finish(p, d);
	if (d)
		list_put(p, &p->loose, d);
	return p->status ? NULL : d;
}

static void put(struct parts *p, struct descriptor *operation)
{
	finish(p, operation);
	if (operation)
		list_put(p, &p->list, operation);
}

static int64_t new_id(struct parts *p)
{
	if (p->id == INT64_MIN && !p->status)
		p->status = dnn_fail(CUDNN_STATUS_BAD_PARAM, "a tensor's id is the lowest number");
	return p->status ? 0 : --p->id;
}

static struct descriptor *tensor_with(struct parts *p, const struct dnn_tensor *t, int64_t id, bool is_virtual)
{
	static const int64_t alignment = 16;
	struct descriptor *d = make(p, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
	cudnnDataType_t type = (cudnnDataType_t)t->type;

	give(p, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
	give(p, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, t->rank, t->dim);
	give(p, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, t->rank, t->stride);
	give(p, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
	give(p, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
	give(p, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
	if (t->by_value) {
		give(p, d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &t->by_value);
		give(p, d, CUDNN_ATTR_TENSOR_CONSTANT_VALUE, CUDNN_TYPE_DOUBLE, 1, &t->value);
	}
	return loose(p, d);
}

/* A virtual tensor, dense, of four dimensions. */
static struct descriptor *temporary(struct parts *p, unsigned int type, int64_t a, int64_t b, int64_t c, int64_t e)
{
	struct dnn_tensor t = { .type = (uint8_t)type, .rank = 4, .dim = { a, b, c, e } };

	dnn_tensor_pack(&t);
	return tensor_with(p, &t, new_id(p), true);
}

static struct descriptor *constant(struct parts *p, double value)
{
	struct dnn_tensor t = { .type = CUDNN_DATA_FLOAT,
				.rank = 4,
				.dim = { 1, 1, 1, 1 },
				.stride = { 1, 1, 1, 1 },
				.by_value = true,
				.value = value };

	return tensor_with(p, &t, new_id(p), false);
}

static struct descriptor *tensor_at(struct parts *p, const struct descriptor *d, int name, bool needed,
				    struct dnn_tensor *ret)
{
	struct descriptor *t = attribute_descriptor(d, name, 0);

	*ret = (struct dnn_tensor){ 0 };
	if (p->status || (!t && !needed))
		return NULL;
	if (!t || t->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR)
		p->status = dnn_fail(CUDNN_STATUS_BAD_PARAM, "attribute %d of attention is no tensor", name);
	else
		p->status = operation_tensor(t, ret);
	if (!p->status && ret->rank != 4)
		p->status =
			dnn_fail(CUDNN_STATUS_BAD_PARAM, "a tensor of attention has %d dimensions, not 4", ret->rank);
	return p->status ? NULL : t;
}

/* The same tensor with its last two dimensions the other way round. */
static struct descriptor *turned(struct parts *p, struct descriptor *d)
{
	struct descriptor *made = make(p, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
	struct dnn_tensor t = { 0 };

	if (p->status || !d)
		return NULL;
	p->status = operation_tensor(d, &t);
	for (const struct attribute *a = d->attributes; a; a = a->next)
		give(p, made, (int)a->name, a->type, a->count, a->data);
	if (!p->status && t.rank == 4) {
		const int64_t dim[] = { t.dim[0], t.dim[1], t.dim[3], t.dim[2] };
		const int64_t stride[] = { t.stride[0], t.stride[1], t.stride[3], t.stride[2] };

		give(p, made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dim);
		give(p, made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, stride);
	}
	return loose(p, made);
}

/* ---- operations ---- */

static void point(struct parts *p, cudnnPointwiseMode_t mode, struct descriptor *x, struct descriptor *b,
		  struct descriptor *y)
{
	static const cudnnDataType_t type = CUDNN_DATA_FLOAT;
	struct descriptor *how = make(p, CUDNN_BACKEND_POINTWISE_DESCRIPTOR), *d;

	give(p, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
	give(p, how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type);
	how = loose(p, how);
	d = make(p, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
	refer(p, d, AT(POINTWISE_PW_DESCRIPTOR), how);
	refer(p, d, AT(POINTWISE_XDESC), x);
	refer(p, d, AT(POINTWISE_BDESC), b);
	refer(p, d, AT(POINTWISE_YDESC), y);
	put(p, d);
}

static void multiply(struct parts *p, struct descriptor *a, struct descriptor *b, struct descriptor *c,
		     struct descriptor *rows, struct descriptor *columns, struct descriptor *inner)
{
	static const cudnnDataType_t type = CUDNN_DATA_FLOAT;
	struct descriptor *how = make(p, CUDNN_BACKEND_MATMUL_DESCRIPTOR), *d;

	give(p, how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
	how = loose(p, how);
	d = make(p, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
	refer(p, d, AT(MATMUL_DESC), how);
	refer(p, d, AT(MATMUL_ADESC), a);
	refer(p, d, AT(MATMUL_BDESC), b);
	refer(p, d, AT(MATMUL_CDESC), c);
	refer(p, d, AT(MATMUL_GEMM_M_OVERRIDE_DESC), rows);
	refer(p, d, AT(MATMUL_GEMM_N_OVERRIDE_DESC), columns);
	refer(p, d, AT(MATMUL_GEMM_K_OVERRIDE_DESC), inner);
	put(p, d);
}

static void reduce(struct parts *p, cudnnReduceTensorOp_t op, struct descriptor *x, struct descriptor *y)
{
	static const cudnnDataType_t type = CUDNN_DATA_FLOAT;
	struct descriptor *how = make(p, CUDNN_BACKEND_REDUCTION_DESCRIPTOR), *d;

	give(p, how, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &op);
	give(p, how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
	how = loose(p, how);
	d = make(p, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
	refer(p, d, AT(REDUCTION_DESC), how);
	refer(p, d, AT(REDUCTION_XDESC), x);
	refer(p, d, AT(REDUCTION_YDESC), y);
	put(p, d);
}

static void view(struct parts *p, struct descriptor *x, struct descriptor *y)
{
	struct descriptor *d = make(p, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);

	refer(p, d, AT(RESHAPE_XDESC), x);
	refer(p, d, AT(RESHAPE_YDESC), y);
	put(p, d);
}

/* What lies outside of an image's sequences counts as minus infinity. */
static void mask(struct parts *p, struct descriptor *x, struct descriptor *q, struct descriptor *kv,
		 struct descriptor *y)
{
	static const cudnnPointwiseMode_t mode = CUDNN_POINTWISE_LOGICAL_AND;
	struct descriptor *d = make(p, CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR);

	refer(p, d, AT(DIAGONAL_BAND_MASK_XDESC), x);
	refer(p, d, AT(DIAGONAL_BAND_MASK_SEQ_LEN_QDESC), q);
	refer(p, d, AT(DIAGONAL_BAND_MASK_SEQ_LEN_KVDESC), kv);
	refer(p, d, AT(DIAGONAL_BAND_MASK_YDESC), y);
	give(p, d, AT(DIAGONAL_BAND_MASK_COMPARISON_MODE), CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
	put(p, d);
}

/* Elements of the first dimension from `from` on. */
static void slice(struct parts *p, struct descriptor *x, int64_t from, int64_t count, struct descriptor *y)
{
	const int64_t begin[] = { from, 0, 0, 0 }, end[] = { from + count, 1, 1, 1 };
	struct descriptor *d = make(p, CUDNN_BACKEND_OPERATION_SLICE_DESCRIPTOR);

	refer(p, d, AT(SLICE_XDESC), x);
	refer(p, d, AT(SLICE_YDESC), y);
	give(p, d, AT(SLICE_START_INDICES), CUDNN_TYPE_INT64, 4, begin);
	give(p, d, AT(SLICE_LIMIT_INDICES), CUDNN_TYPE_INT64, 4, end);
	put(p, d);
}

/* Lengths of each image: as they are, or the differences of cumulative ones; NULL: none. */
static struct descriptor *lengths(struct parts *p, const struct descriptor *d, int plain, int cumulative)
{
	struct dnn_tensor t;
	struct descriptor *of = tensor_at(p, d, plain, false, &t), *end[2];
	int64_t images;

	if (of || p->status)
		return of;
	of = tensor_at(p, d, cumulative, false, &t);
	if (!of)
		return NULL;
	images = t.dim[0] - 1;
	if (images < 1 || t.dim[1] != 1 || t.dim[2] != 1 || t.dim[3] != 1) {
		p->status = dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "cumulative lengths of %lld images",
				     (long long)images);
		return NULL;
	}
	for (int i = 0; i < 2; i++) {
		end[i] = temporary(p, t.type, images, 1, 1, 1);
		slice(p, of, i, images, end[i]);
	}
	of = temporary(p, t.type, images, 1, 1, 1);
	point(p, CUDNN_POINTWISE_SUB, end[1], end[0], of);
	return of;
}

/* ---- attention ---- */

cudnnStatus_t attention_check(const struct descriptor *d)
{
	bool forward = d->type == CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR;
	int last = forward ? AT(SDPA_FWD_ODESC) : AT(SDPA_BWD_STATSDESC);

	for (int name = forward ? AT(SDPA_FWD_QDESC) : AT(SDPA_BWD_QDESC); name <= last; name++)
		if (!attribute_find(d, name))
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "an operation of attention needs attribute %d", name);
	for (const struct attribute *a = d->attributes; a; a = a->next) {
		struct descriptor *to = attribute_descriptor(d, (int)a->name, 0);
		cudnnBackendDescriptorType_t type = CUDNN_BACKEND_TENSOR_DESCRIPTOR;

		if (a->type != CUDNN_TYPE_BACKEND_DESCRIPTOR)
			continue;
		if ((int)a->name == AT(SDPA_FWD_SUBGRAPH) || (int)a->name == AT(SDPA_BWD_SUBGRAPH))
			type = CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
		if ((int)a->name == AT(SDPA_FWD_SOFTMAX_DESC))
			type = CUDNN_BACKEND_OPERATION_SOFTMAX_DESCRIPTOR;
		if (a->count != 1 || !to || to->type != type)
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "attribute %d of attention is no descriptor of type %d",
					(int)a->name, (int)type);
	}
	return CUDNN_STATUS_SUCCESS;
}

/* The tensor with this id in an operation of a graph. */
static struct descriptor *find_id(const struct graph *g, int64_t id, bool wanted_result)
{
	struct descriptor *step, *t;
	bool result;
	int name;

	for (int64_t s = 0; (step = graph_step(g, s)); s++)
		for (int k = 0; (name = operation_port(step->type, k, &result)); k++) {
			t = attribute_descriptor(step, name, 0);
			if (t && result == wanted_result && attribute_number(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0) == id)
				return t;
		}
	return NULL;
}

/* Scores (images, heads, rows, columns) while they are computed. */
struct scores {
	struct parts *p;
	int64_t dim[4];
	struct descriptor *now, *q, *kv; /* the scores, and lengths */
};

static struct descriptor *scores_new(struct scores *s)
{
	return temporary(s->p, CUDNN_DATA_FLOAT, s->dim[0], s->dim[1], s->dim[2], s->dim[3]);
}

/* The scores times, plus, and so on `b`; nothing where there is no b. */
static void scores_with(struct scores *s, cudnnPointwiseMode_t mode, struct descriptor *b)
{
	struct descriptor *next = b ? scores_new(s) : s->now;

	if (b)
		point(s->p, mode, s->now, b, next);
	s->now = next;
}

static void scores_mask(struct scores *s)
{
	struct descriptor *next = scores_new(s);

	mask(s->p, s->now, s->q, s->kv, next);
	s->now = next;
}

/* The steps of a graph that the program has for the scores; its own tensor takes them in. */
static void scores_modify(struct scores *s, const struct descriptor *graph, int64_t in, int64_t out)
{
	struct descriptor *step, *from = find_id(graph->graph, in, false), *to = find_id(graph->graph, out, true);

	if (!s->p->status && (!from || !to))
		s->p->status = dnn_fail(CUDNN_STATUS_BAD_PARAM, "a graph of attention without tensors %lld and %lld",
					(long long)in, (long long)out);
	if (s->p->status)
		return;
	point(s->p, CUDNN_POINTWISE_IDENTITY, s->now, NULL, from);
	for (int64_t i = 0; (step = graph_step(graph->graph, i)); i++)
		keep(s->p, step);
	s->now = to;
}

/* Keys or values: those of the program, or loaded from its pages. */
static struct descriptor *loaded(struct parts *p, struct descriptor *d, const struct dnn_tensor *t,
				 struct descriptor *table, struct descriptor *length, int64_t images, int64_t rows)
{
	struct descriptor *whole, *load;

	if (!table || p->status)
		return d;
	whole = temporary(p, t->type, images, t->dim[1], rows, t->dim[3]);
	load = make(p, CUDNN_BACKEND_OPERATION_PAGED_CACHE_LOAD_DESCRIPTOR);
	refer(p, load, AT(PAGED_CACHE_LOAD_CONTAINER_DESC), d);
	refer(p, load, AT(PAGED_CACHE_LOAD_PAGE_TABLE_DESC), table);
	refer(p, load, AT(PAGED_CACHE_LOAD_SEQUENCE_DESC), length);
	refer(p, load, AT(PAGED_CACHE_LOAD_YDESC), whole);
	put(p, load);
	return whole;
}

static void forward_softmax(struct scores *s, const struct descriptor *d)
{
	struct parts *p = s->p;
	struct descriptor *given = attribute_descriptor(d, AT(SDPA_FWD_SOFTMAX_DESC), 0);
	struct descriptor *operation = make(p, CUDNN_BACKEND_OPERATION_SOFTMAX_DESCRIPTOR), *next = scores_new(s);
	bool two = given && attribute_number(given, AT(SOFTMAX_STATS_LOG2), 0);

	refer(p, operation, AT(SOFTMAX_XDESC), s->now);
	refer(p, operation, AT(SOFTMAX_YDESC), next);
	for (int name = AT(SOFTMAX_STATS_DESC); given && name <= AT(SOFTMAX_SINK_DESC); name++)
		refer(p, operation, name, attribute_descriptor(given, name, 0));
	if (!given)
		refer(p, operation, AT(SOFTMAX_STATS_DESC), attribute_descriptor(d, AT(SDPA_FWD_STATSDESC), 0));
	give(p, operation, AT(SOFTMAX_STATS_LOG2), CUDNN_TYPE_BOOLEAN, 1, &two);
	put(p, operation);
	s->now = next;
}

/* 1 for each score that is kept, else 0; NULL: all are. */
static struct descriptor *kept(struct scores *s, double probability, struct descriptor *seed, struct descriptor *offset,
			       struct descriptor *dump)
{
	static const cudnnRngDistribution_t kind = CUDNN_RNG_DISTRIBUTION_BERNOULLI;
	struct parts *p = s->p;
	struct descriptor *how, *d;
	double keep_probability = 1 - probability;

	if (!(probability > 0) || p->status)
		return NULL;
	if (!(probability < 1) || !seed) {
		p->status = dnn_fail(CUDNN_STATUS_BAD_PARAM, "dropout of %g, with a seed or without", probability);
		return NULL;
	}
	how = make(p, CUDNN_BACKEND_RNG_DESCRIPTOR);
	give(p, how, CUDNN_ATTR_RNG_DISTRIBUTION, CUDNN_TYPE_RNG_DISTRIBUTION, 1, &kind);
	give(p, how, CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, CUDNN_TYPE_DOUBLE, 1, &keep_probability);
	how = loose(p, how);
	d = make(p, CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR);
	dump = dump ? dump : scores_new(s);
	refer(p, d, AT(RNG_DESC), how);
	refer(p, d, AT(RNG_SEED), seed);
	refer(p, d, AT(RNG_OFFSET_DESC), offset);
	refer(p, d, AT(RNG_YDESC), dump);
	put(p, d);
	return dump;
}

static struct descriptor *part(const struct descriptor *d, int name)
{
	return attribute_descriptor(d, name, 0);
}

/* Of scores of paged keys: what the operation's own softmax or graph says; `most` is what the pages hold. */
static int64_t columns_told(const struct descriptor *d, int64_t most)
{
	struct descriptor *softmax = part(d, AT(SDPA_FWD_SOFTMAX_DESC)), *graph = part(d, AT(SDPA_FWD_SUBGRAPH));
	struct descriptor *scores = softmax ? part(softmax, AT(SOFTMAX_XDESC)) : NULL;
	struct dnn_tensor t;

	if (!scores && graph)
		scores = find_id(graph->graph, attribute_number(d, AT(SDPA_FWD_SUBGRAPH_INPUT_UID), 0), false);
	return scores && !operation_tensor(scores, &t) && t.rank == 4 && t.dim[3] < most ? t.dim[3] : most;
}

static void forward_expand(struct parts *p, const struct descriptor *d)
{
	struct dnn_tensor tq, tk, tv, table_k, table_v;
	struct descriptor *q = tensor_at(p, d, AT(SDPA_FWD_QDESC), true, &tq);
	struct descriptor *k = tensor_at(p, d, AT(SDPA_FWD_KDESC), true, &tk);
	struct descriptor *v = tensor_at(p, d, AT(SDPA_FWD_VDESC), true, &tv), *o = part(d, AT(SDPA_FWD_ODESC));
	struct descriptor *pages_k = tensor_at(p, d, AT(SDPA_FWD_PAGE_TABLE_KDESC), false, &table_k);
	struct descriptor *pages_v = tensor_at(p, d, AT(SDPA_FWD_PAGE_TABLE_VDESC), false, &table_v);
	struct scores s = { .p = p };
	int64_t rows_k, rows_v, rows;
	double dropout = attribute_real(d, AT(SDPA_FWD_DROPOUT_PROBABILITY), 0);
	struct descriptor *drop;

	if (!p->status && part(d, AT(SDPA_FWD_BLOCK_MASK_DESC)))
		p->status = dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "attention with masks of blocks");
	s.q = lengths(p, d, AT(SDPA_FWD_SEQ_LEN_QDESC), AT(SDPA_FWD_CU_SEQ_LEN_QDESC));
	s.kv = lengths(p, d, AT(SDPA_FWD_SEQ_LEN_KVDESC), AT(SDPA_FWD_CU_SEQ_LEN_KVDESC));
	if (p->status)
		return;
	rows_k = pages_k ? table_k.dim[2] * tk.dim[2] : tk.dim[2];
	rows_v = pages_v ? table_v.dim[2] * tv.dim[2] : tv.dim[2];
	rows = pages_k && !pages_v ? rows_v : pages_v && !pages_k ? rows_k : rows_k < rows_v ? rows_k : rows_v;
	if (pages_k && pages_v)
		rows = columns_told(d, rows);
	memcpy(s.dim, (int64_t[]){ tq.dim[0], tq.dim[1], tq.dim[2], rows }, sizeof(s.dim));
	k = loaded(p, k, &tk, pages_k, s.kv, tq.dim[0], rows);
	v = loaded(p, v, &tv, pages_v, s.kv, tq.dim[0], rows);
	s.now = scores_new(&s);
	multiply(p, q, turned(p, k), s.now, s.q, s.kv, NULL);
	scores_with(&s, CUDNN_POINTWISE_MUL, part(d, AT(SDPA_FWD_SCALEDESC)));
	scores_with(&s, CUDNN_POINTWISE_MUL, part(d, AT(SDPA_FWD_DESCALE_QDESC)));
	scores_with(&s, CUDNN_POINTWISE_MUL, part(d, AT(SDPA_FWD_DESCALE_KDESC)));
	if (part(d, AT(SDPA_FWD_SUBGRAPH)))
		scores_modify(&s, part(d, AT(SDPA_FWD_SUBGRAPH)),
			      attribute_number(d, AT(SDPA_FWD_SUBGRAPH_INPUT_UID), 0),
			      attribute_number(d, AT(SDPA_FWD_SUBGRAPH_OUTPUT_UID), 0));
	if (s.q || s.kv)
		scores_mask(&s);
	forward_softmax(&s, d);
	drop = kept(&s, dropout, part(d, AT(SDPA_FWD_DROPOUT_SEED_DESC)), part(d, AT(SDPA_FWD_DROPOUT_OFFSET_DESC)),
		    part(d, AT(SDPA_FWD_DROPOUT_RNG_DUMP_DESC)));
	scores_with(&s, CUDNN_POINTWISE_MUL, drop);
	scores_with(&s, CUDNN_POINTWISE_MUL, drop ? constant(p, 1 / (1 - dropout)) : NULL);
	if (part(d, AT(SDPA_FWD_AMAX_SDESC)))
		reduce(p, CUDNN_REDUCE_TENSOR_AMAX, s.now, part(d, AT(SDPA_FWD_AMAX_SDESC)));
	if (part(d, AT(SDPA_FWD_SCALE_SDESC)) || part(d, AT(SDPA_FWD_SCALE_ODESC)) ||
	    part(d, AT(SDPA_FWD_DESCALE_SDESC)) || part(d, AT(SDPA_FWD_DESCALE_VDESC)) ||
	    part(d, AT(SDPA_FWD_AMAX_ODESC)))
		p->status =
			p->status ? p->status : dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "attention of numbers of 8 bits");
	multiply(p, s.now, v, o, s.q, NULL, s.kv);
}

/* The gradient of keys or values: of every head, and then summed where heads share one. */
static void gradient(struct parts *p, struct descriptor *scores, struct descriptor *of, const int64_t dim[4],
		     const struct dnn_tensor *like, struct descriptor *to, struct descriptor *rows,
		     struct descriptor *inner)
{
	struct descriptor *all = to;

	if (like->dim[1] != dim[1])
		all = temporary(p, CUDNN_DATA_FLOAT, dim[0], dim[1], dim[3], like->dim[3]);
	multiply(p, scores, of, all, rows, NULL, inner);
	if (all != to)
		reduce(p, CUDNN_REDUCE_TENSOR_ADD, all, to);
}

/* A view of scores with rows and columns the other way round. */
static struct descriptor *scores_turned(struct scores *s, struct descriptor *of)
{
	struct dnn_tensor t = { .type = CUDNN_DATA_FLOAT,
				.rank = 4,
				.dim = { s->dim[0], s->dim[1], s->dim[3], s->dim[2] },
				.stride = { s->dim[1] * s->dim[2] * s->dim[3], s->dim[2] * s->dim[3], 1, s->dim[3] } };
	struct descriptor *made = tensor_with(s->p, &t, new_id(s->p), true);

	view(s->p, of, made);
	return made;
}

/* Statistics of rows: of one without keys, minus infinity, a number below all others, so that its weights are 0. */
static struct descriptor *stats_finite(struct scores *s, struct descriptor *stats)
{
	struct descriptor *made = temporary(s->p, CUDNN_DATA_FLOAT, s->dim[0], s->dim[1], s->dim[2], 1);

	point(s->p, CUDNN_POINTWISE_MAX, stats, constant(s->p, -FLT_MAX), made);
	return made;
}

static void backward_expand(struct parts *p, const struct descriptor *d)
{
	struct dnn_tensor tq, tk, tv, tdo;
	struct descriptor *q = tensor_at(p, d, AT(SDPA_BWD_QDESC), true, &tq);
	struct descriptor *k = tensor_at(p, d, AT(SDPA_BWD_KDESC), true, &tk);
	struct descriptor *v = tensor_at(p, d, AT(SDPA_BWD_VDESC), true, &tv);
	struct descriptor *dout = tensor_at(p, d, AT(SDPA_BWD_DODDESC), true, &tdo), *o = part(d, AT(SDPA_BWD_ODESC));
	struct descriptor *stats = part(d, AT(SDPA_BWD_STATSDESC)), *scale = part(d, AT(SDPA_BWD_SCALEDESC));
	struct descriptor *product, *sum, *weights, *drop, *sink = part(d, AT(SDPA_BWD_SINK_DESC));
	struct scores s = { .p = p };
	double dropout = attribute_real(d, AT(SDPA_BWD_DROPOUT_PROBABILITY), 0);

	s.q = lengths(p, d, AT(SDPA_BWD_SEQ_LEN_QDESC), AT(SDPA_BWD_CU_SEQ_LEN_QDESC));
	s.kv = lengths(p, d, AT(SDPA_BWD_SEQ_LEN_KVDESC), AT(SDPA_BWD_CU_SEQ_LEN_KVDESC));
	if (!p->status &&
	    !(part(d, AT(SDPA_BWD_DQDESC)) && part(d, AT(SDPA_BWD_DKDESC)) && part(d, AT(SDPA_BWD_DVDESC))))
		p->status = dnn_fail(CUDNN_STATUS_BAD_PARAM, "gradients of attention without all three");
	if (!p->status && sink)
		p->status = dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "the gradient of a sink of attention");
	if (p->status)
		return;
	memcpy(s.dim, (int64_t[]){ tq.dim[0], tq.dim[1], tq.dim[2], tk.dim[2] }, sizeof(s.dim));
	/* how much each row's gradient has in the direction of the result */
	product = temporary(p, CUDNN_DATA_FLOAT, s.dim[0], s.dim[1], s.dim[2], tv.dim[3]);
	sum = temporary(p, CUDNN_DATA_FLOAT, s.dim[0], s.dim[1], s.dim[2], 1);
	point(p, CUDNN_POINTWISE_MUL, dout, o, product);
	reduce(p, CUDNN_REDUCE_TENSOR_ADD, product, sum);
	/* the weights again */
	s.now = scores_new(&s);
	multiply(p, q, turned(p, k), s.now, s.q, s.kv, NULL);
	scores_with(&s, CUDNN_POINTWISE_MUL, scale);
	if (part(d, AT(SDPA_BWD_SUBGRAPH)))
		scores_modify(&s, part(d, AT(SDPA_BWD_SUBGRAPH)),
			      attribute_number(d, AT(SDPA_BWD_SUBGRAPH_INPUT_UID), 0),
			      attribute_number(d, AT(SDPA_BWD_SUBGRAPH_OUTPUT_UID), 0));
	scores_with(&s, CUDNN_POINTWISE_SUB, stats_finite(&s, stats));
	if (s.q || s.kv)
		scores_mask(&s);
	weights = scores_new(&s);
	point(p, CUDNN_POINTWISE_EXP, s.now, NULL, weights);
	s.now = weights;
	drop = kept(&s, dropout, part(d, AT(SDPA_BWD_DROPOUT_SEED_DESC)), part(d, AT(SDPA_BWD_DROPOUT_OFFSET_DESC)),
		    NULL);
	scores_with(&s, CUDNN_POINTWISE_MUL, drop);
	scores_with(&s, CUDNN_POINTWISE_MUL, drop ? constant(p, 1 / (1 - dropout)) : NULL);
	gradient(p, scores_turned(&s, s.now), dout, s.dim, &tv, part(d, AT(SDPA_BWD_DVDESC)), s.kv, s.q);
	/* the scores' gradient */
	s.now = scores_new(&s);
	multiply(p, dout, turned(p, v), s.now, s.q, s.kv, NULL);
	scores_with(&s, CUDNN_POINTWISE_MUL, drop);
	scores_with(&s, CUDNN_POINTWISE_MUL, drop ? constant(p, 1 / (1 - dropout)) : NULL);
	scores_with(&s, CUDNN_POINTWISE_SUB, sum);
	scores_with(&s, CUDNN_POINTWISE_MUL, weights);
	if (part(d, AT(SDPA_BWD_DBIAS_DESC)))
		reduce(p, CUDNN_REDUCE_TENSOR_ADD, s.now, part(d, AT(SDPA_BWD_DBIAS_DESC)));
	scores_with(&s, CUDNN_POINTWISE_MUL, scale);
	gradient(p, scores_turned(&s, s.now), q, s.dim, &tk, part(d, AT(SDPA_BWD_DKDESC)), s.kv, s.q);
	multiply(p, s.now, k, part(d, AT(SDPA_BWD_DQDESC)), s.q, NULL, s.kv);
}

/* A mask along a diagonal with cumulative lengths: with plain ones. */
static void band_expand(struct parts *p, struct descriptor *operation)
{
	struct descriptor *q, *kv, *d;

	if (!part(operation, AT(DIAGONAL_BAND_MASK_CU_SEQ_LEN_QDESC)) &&
	    !part(operation, AT(DIAGONAL_BAND_MASK_CU_SEQ_LEN_KVDESC))) {
		keep(p, operation);
		return;
	}
	q = lengths(p, operation, AT(DIAGONAL_BAND_MASK_SEQ_LEN_QDESC), AT(DIAGONAL_BAND_MASK_CU_SEQ_LEN_QDESC));
	kv = lengths(p, operation, AT(DIAGONAL_BAND_MASK_SEQ_LEN_KVDESC), AT(DIAGONAL_BAND_MASK_CU_SEQ_LEN_KVDESC));
	d = make(p, operation->type);
	for (const struct attribute *a = operation->attributes; a; a = a->next)
		if ((int)a->name != AT(DIAGONAL_BAND_MASK_CU_SEQ_LEN_QDESC) &&
		    (int)a->name != AT(DIAGONAL_BAND_MASK_CU_SEQ_LEN_KVDESC))
			give(p, d, (int)a->name, a->type, a->count, a->data);
	refer(p, d, AT(DIAGONAL_BAND_MASK_SEQ_LEN_QDESC), q);
	refer(p, d, AT(DIAGONAL_BAND_MASK_SEQ_LEN_KVDESC), kv);
	put(p, d);
}

/* ---- ragged tensors ---- */

#define RAGGED_MOST 64

/* What stands for ragged tensors, by their ids. */
struct even {
	struct {
		int64_t id, as;
		bool is_virtual, filled;
	} of[RAGGED_MOST];
	int count;
};

static int64_t id_of(const struct descriptor *tensor)
{
	return attribute_number(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
}

static struct descriptor *ragged_at(const struct descriptor *operation, int name)
{
	struct descriptor *t = attribute_descriptor(operation, name, 0);

	return t && t->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR &&
			       attribute_descriptor(t, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, 0)
		       ? t
		       : NULL;
}

static int even_find(struct parts *p, struct even *e, const struct descriptor *tensor)
{
	bool is_virtual = attribute_number(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, 0);

	for (int i = 0; i < e->count; i++)
		if (e->of[i].id == id_of(tensor))
			return i;
	if (e->count == RAGGED_MOST) {
		p->status = dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "a graph of more than %d ragged tensors", RAGGED_MOST);
		return 0;
	}
	e->of[e->count].id = id_of(tensor);
	e->of[e->count].as = is_virtual ? id_of(tensor) : new_id(p);
	e->of[e->count].is_virtual = is_virtual;
	e->of[e->count].filled = is_virtual;
	return e->count++;
}

/* The tensor with every image as long as the longest. Strides within an image stay: views of it stay views. */
static struct descriptor *even_tensor(struct parts *p, const struct even *e, int i, const struct descriptor *tensor)
{
	struct dnn_tensor t;
	int64_t extent = 1;

	if (!p->status)
		p->status = operation_tensor(tensor, &t);
	if (p->status)
		return NULL;
	t.is_ragged = false;
	for (int k = 1; k < t.rank; k++)
		extent += (t.dim[k] - 1) * t.stride[k];
	t.stride[0] = extent;
	return tensor_with(p, &t, e->of[i].as, true);
}

static void even_operation(struct parts *p, struct even *e, struct descriptor *operation)
{
	struct descriptor *d = make(p, operation->type), *t;
	bool result;
	int name;

	for (const struct attribute *a = operation->attributes; a; a = a->next)
		if (!ragged_at(operation, (int)a->name))
			give(p, d, (int)a->name, a->type, a->count, a->data);
	for (int k = 0; !p->status && (name = operation_port(operation->type, k, &result)); k++) {
		struct descriptor *even;
		int i;

		t = ragged_at(operation, name);
		if (!t)
			continue;
		i = even_find(p, e, t);
		even = even_tensor(p, e, i, t);
		if (!result && !e->of[i].filled)
			view(p, t, even);
		e->of[i].filled = true;
		refer(p, d, name, even);
	}
	put(p, d);
	for (int k = 0; !p->status && (name = operation_port(operation->type, k, &result)); k++) {
		int i;

		t = result ? ragged_at(operation, name) : NULL;
		if (!t)
			continue;
		i = even_find(p, e, t);
		if (!e->of[i].is_virtual)
			view(p, even_tensor(p, e, i, t), t);
	}
}

/* Copies are what even_operation() makes: a plan that is read from its text has them already. */
static bool needs_even(const struct descriptor *operation)
{
	struct descriptor *x = ragged_at(operation, AT(RESHAPE_XDESC)), *y = ragged_at(operation, AT(RESHAPE_YDESC));
	bool result;
	int name;

	if (operation->type == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR && !x != !y)
		return false;
	for (int k = 0; (name = operation_port(operation->type, k, &result)); k++)
		if (ragged_at(operation, name))
			return true;
	return false;
}

/* ---- all ---- */

/* The lowest id of what a descriptor refers to. */
static void lowest_id(struct parts *p, const struct descriptor *d)
{
	struct descriptor *to;

	if (d->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR && id_of(d) < p->id)
		p->id = id_of(d);
	for (const struct attribute *a = d->attributes; a; a = a->next)
		for (int64_t i = 0; a->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < a->count; i++)
			lowest_id(p, attribute_descriptor(d, (int)a->name, i));
	for (int64_t i = 0; d->graph && (to = graph_step(d->graph, i)); i++)
		lowest_id(p, to);
}

static void expand(struct parts *p, struct descriptor *operation)
{
	switch (operation->type) {
	case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
		forward_expand(p, operation);
		break;
	case CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR:
		backward_expand(p, operation);
		break;
	case CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR:
		band_expand(p, operation);
		break;
	default:
		keep(p, operation);
	}
}

static void even_all(struct parts *p)
{
	struct list whole = p->list;
	struct even e = { .count = 0 };

	p->list = (struct list){ 0 };
	for (int64_t i = 0; i < whole.count && !p->status; i++)
		if (needs_even(whole.at[i]))
			even_operation(p, &e, whole.at[i]);
		else
			keep(p, whole.at[i]);
	list_end(&whole);
}

cudnnStatus_t operations_expand(struct descriptor *const *operations, int64_t count, struct descriptor ***ret,
				int64_t *ret_count)
{
	struct parts p = { .status = CUDNN_STATUS_SUCCESS };

	for (int64_t i = 0; i < count; i++)
		lowest_id(&p, operations[i]);
	for (int64_t i = 0; i < count && !p.status; i++)
		expand(&p, operations[i]);
	if (!p.status)
		even_all(&p);
	list_end(&p.loose);
	if (p.status) {
		list_end(&p.list);
		return p.status;
	}
	*ret = p.list.at;
	*ret_count = p.list.count;
	return CUDNN_STATUS_SUCCESS;
}
