/*
 * graph.c: a graph of operations as steps, one behind another.
 *
 * Each operation is a kernel or two. A virtual tensor has its place in the program's workspace, for as long as a later
 * step needs it.
 */
#include "libs/cudnn/backend.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 256
#define OPERATIONS_MOST 1024
/* Addresses for trying only: of the program's tensors, and of the workspace. */
#define NOWHERE UINT64_C(0x1000)
#define NO_WORKSPACE (UINT64_C(1) << 60)

/* A virtual tensor. */
struct virtual_tensor {
	int64_t id, offset, bytes;
	int64_t same;	 /* index of the tensor that has its memory; itself for most */
	int first, last; /* steps that need it */
	bool placed;
};

struct graph {
	atomic_uint holders;
	int64_t steps, virtuals, workspace;
	struct descriptor **step; /* held, in the order of execution */
	bool *is_factor;	  /* for each step: it multiplies the result of the product before, within its kernel */
	struct virtual_tensor *tensor;
};

static bool is_virtual(const struct descriptor *tensor)
{
	return attribute_number(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, 0);
}

static int64_t id_of(const struct descriptor *tensor)
{
	return attribute_number(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
}

static struct virtual_tensor *virtual_find(const struct graph *g, int64_t id)
{
	for (int64_t i = 0; i < g->virtuals; i++)
		if (g->tensor[i].id == id)
			return &g->tensor[i];
	return NULL;
}

void graph_hold(struct graph *g)
{
	atomic_fetch_add_explicit(&g->holders, 1, memory_order_relaxed);
}

void graph_let(struct graph *g)
{
	if (atomic_fetch_sub_explicit(&g->holders, 1, memory_order_acq_rel) != 1)
		return;
	for (int64_t i = 0; i < g->steps; i++)
		descriptor_let(g->step[i]);
	free(g->step);
	free(g->is_factor);
	free(g->tensor);
	free(g);
}

int64_t graph_workspace(const struct graph *g)
{
	return g->workspace;
}

struct descriptor *graph_step(const struct graph *g, int64_t index)
{
	return index < g->steps ? g->step[index] : NULL;
}

/* ---- making ---- */

/* Does an operation read a virtual tensor that none of the steps so far has written? */
static bool is_early(const struct graph *g, const struct descriptor *operation, struct descriptor *const *all,
		     int64_t count)
{
	bool result, other;
	int name, made;

	for (int k = 0; (name = operation_port(operation->type, k, &result)); k++) {
		struct descriptor *tensor = attribute_descriptor(operation, name, 0);
		bool written = false, somewhere = false;

		if (!tensor || result)
			continue;
		for (int64_t i = 0; i < count; i++)
			for (int p = 0; (made = operation_port(all[i]->type, p, &other)); p++) {
				struct descriptor *candidate = attribute_descriptor(all[i], made, 0);

				if (!other || !candidate || all[i] == operation || id_of(candidate) != id_of(tensor))
					continue;
				somewhere = true;
				for (int64_t s = 0; s < g->steps; s++)
					written = written || g->step[s] == all[i];
			}
		if (somewhere && !written)
			return true;
	}
	return false;
}

static cudnnStatus_t order(struct graph *g, struct descriptor *const *all, int64_t count)
{
	bool done[OPERATIONS_MOST] = { false };

	while (g->steps < count) {
		int64_t before = g->steps;

		for (int64_t i = 0; i < count; i++) {
			if (done[i] || is_early(g, all[i], all, count))
				continue;
			done[i] = true;
			descriptor_hold(all[i]);
			g->step[g->steps++] = all[i];
		}
		if (g->steps == before)
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "the operations of a graph need each other's results");
	}
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t virtual_note(struct graph *g, const struct descriptor *tensor, int step)
{
	struct virtual_tensor *v = virtual_find(g, id_of(tensor));
	struct dnn_tensor t;
	cudnnStatus_t status;
	int64_t bytes;

	if (!v) {
		v = &g->tensor[g->virtuals];
		*v = (struct virtual_tensor){ .id = id_of(tensor), .same = g->virtuals, .first = step };
		g->virtuals++;
	}
	status = operation_tensor(tensor, &t);
	if (status)
		return status;
	bytes = dnn_tensor_bytes(&t);
	v->bytes = bytes > v->bytes ? bytes : v->bytes;
	v->last = step;
	return CUDNN_STATUS_SUCCESS;
}

static bool is_ragged(const struct descriptor *tensor)
{
	return attribute_descriptor(tensor, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, 0);
}

/* A reshape, which is a copy where one of both is ragged or of another type. */
static bool is_view(const struct descriptor *step)
{
	struct descriptor *x = attribute_descriptor(step, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, 0);
	struct descriptor *y = attribute_descriptor(step, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, 0);

	return step->type == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR && x && y && !is_ragged(x) && !is_ragged(y) &&
	       attribute_number(x, CUDNN_ATTR_TENSOR_DATA_TYPE, -1) ==
		       attribute_number(y, CUDNN_ATTR_TENSOR_DATA_TYPE, -1);
}

/* A view has the memory of what it is a view of. */
static void view_note(struct graph *g, const struct descriptor *reshape)
{
	struct descriptor *x = attribute_descriptor(reshape, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, 0);
	struct descriptor *y = attribute_descriptor(reshape, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, 0);
	struct virtual_tensor *from = x && is_virtual(x) ? virtual_find(g, id_of(x)) : NULL;
	struct virtual_tensor *to = y && is_virtual(y) ? virtual_find(g, id_of(y)) : NULL;
	int64_t root, other;

	if (!from || !to)
		return;
	root = g->tensor[from - g->tensor].same;
	other = g->tensor[to - g->tensor].same;
	for (int64_t i = 0; i < g->virtuals; i++)
		if (g->tensor[i].same == other)
			g->tensor[i].same = root;
}

/* Lowest place where nothing lies that is needed at the same time. */
static void place(struct graph *g, struct virtual_tensor *v)
{
	bool moved = true;

	v->offset = 0;
	while (moved) {
		moved = false;
		for (int64_t i = 0; i < g->virtuals; i++) {
			const struct virtual_tensor *o = &g->tensor[i];

			if (!o->placed || o->last < v->first || v->last < o->first ||
			    o->offset + o->bytes <= v->offset || v->offset + v->bytes <= o->offset)
				continue;
			v->offset = o->offset + o->bytes;
			moved = true;
		}
	}
	v->placed = true;
	if (v->offset + v->bytes > g->workspace)
		g->workspace = v->offset + v->bytes;
}

static void place_all(struct graph *g)
{
	for (int64_t i = 0; i < g->virtuals; i++) {
		struct virtual_tensor *v = &g->tensor[i], *root = &g->tensor[v->same];

		v->bytes = (v->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
		root->bytes = v->bytes > root->bytes ? v->bytes : root->bytes;
		root->first = v->first < root->first ? v->first : root->first;
		root->last = v->last > root->last ? v->last : root->last;
	}
	for (int64_t i = 0; i < g->virtuals; i++)
		if (g->tensor[i].same == i)
			place(g, &g->tensor[i]);
}

/* ---- a product and the multiplication of its result with a number: one kernel ---- */

#define AT(name) CUDNN_ATTR_OPERATION_##name

static struct descriptor *part(const struct descriptor *d, int name)
{
	return attribute_descriptor(d, name, 0);
}

static int64_t uses_of(const struct graph *g, int64_t id)
{
	int64_t count = 0;
	bool result;
	int name;

	for (int64_t s = 0; s < g->steps; s++)
		for (int k = 0; (name = operation_port(g->step[s]->type, k, &result)); k++)
			count += part(g->step[s], name) && id_of(part(g->step[s], name)) == id;
	return count;
}

/* Floats of the same shape in the same order, each in a memory of its own. */
static bool is_alike(const struct descriptor *x, const struct descriptor *y)
{
	struct dnn_tensor a, b;

	return !is_ragged(x) && !is_ragged(y) && !operation_tensor(x, &a) && !operation_tensor(y, &b) && !a.by_value &&
	       !b.by_value && a.type == CUDNN_DATA_FLOAT && b.type == CUDNN_DATA_FLOAT && a.rank == b.rank &&
	       !memcmp(a.dim, b.dim, sizeof(*a.dim) * (size_t)a.rank) &&
	       !memcmp(a.stride, b.stride, sizeof(*a.stride) * (size_t)a.rank);
}

/* Does step s multiply what the product before it gives, and nobody else reads, with a number? */
static bool is_factor(const struct graph *g, int64_t s)
{
	const struct descriptor *d = g->step[s], *product = s ? g->step[s - 1] : NULL;
	const struct descriptor *how = part(d, AT(POINTWISE_PW_DESCRIPTOR)), *x = part(d, AT(POINTWISE_XDESC));
	const struct descriptor *b = part(d, AT(POINTWISE_BDESC)), *y = part(d, AT(POINTWISE_YDESC)), *c;

	if (d->type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR || !product || !how || !x || !b || !y ||
	    product->type != CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
		return false;
	c = part(product, AT(MATMUL_CDESC));
	return c && attribute_number(how, CUDNN_ATTR_POINTWISE_MODE, -1) == CUDNN_POINTWISE_MUL &&
	       attribute_number(b, CUDNN_ATTR_TENSOR_IS_BY_VALUE, 0) &&
	       attribute_real(d, AT(POINTWISE_ALPHA1), 1) == 1 && attribute_real(d, AT(POINTWISE_ALPHA2), 1) == 1 &&
	       !part(d, AT(POINTWISE_TDESC)) && is_virtual(x) && id_of(x) == id_of(c) && uses_of(g, id_of(x)) == 2 &&
	       id_of(y) != id_of(x) && is_alike(c, y) && is_alike(x, y);
}

static cudnnStatus_t virtuals_find(struct graph *g)
{
	cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
	bool result;
	int name;

	for (int64_t s = 0; s < g->steps; s++)
		g->is_factor[s] = is_factor(g, s);
	for (int64_t s = 0; s < g->steps; s++)
		for (int k = 0; !status && (name = operation_port(g->step[s]->type, k, &result)); k++) {
			struct descriptor *tensor = attribute_descriptor(g->step[s], name, 0);
			bool later = s + 1 < g->steps && g->is_factor[s + 1];

			/* between a product and its factor there is nothing */
			if (tensor && is_virtual(tensor) && !(later && result) &&
			    !(g->is_factor[s] && name == AT(POINTWISE_XDESC)))
				status = virtual_note(g, tensor, (int)(later ? s + 1 : s));
		}
	for (int64_t s = 0; s < g->steps; s++)
		if (is_view(g->step[s]))
			view_note(g, g->step[s]);
	if (!status)
		place_all(g);
	return status;
}

/* ---- addresses ---- */

struct addresses {
	const struct graph *g;
	const struct descriptor *pack; /* NULL: the graph is tried */
	uint64_t workspace;
	const struct descriptor *factor; /* the step that multiplies a product's result, which goes to its own */
};

/* What a program's pointer at `id` says; 0: there is none. */
static uint64_t pack_find(const struct descriptor *pack, int64_t id)
{
	const struct attribute *ids = attribute_find(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
	const struct attribute *pointers = attribute_find(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);

	for (int64_t i = 0; ids && i < ids->count; i++)
		if (((const int64_t *)(const void *)ids->data)[i] == id)
			return ((const uint64_t *)(const void *)pointers->data)[i];
	return 0;
}

/* A value in the program's memory. */
static double host_value(uint64_t at, unsigned int type)
{
	double value = 0;

	dnn_read_value(&value, type, (const void *)(uintptr_t)at);
	return value;
}

/* Are both virtual, and views of the same memory? */
static bool is_same(const struct graph *g, const struct virtual_tensor *v, const struct descriptor *other)
{
	const struct virtual_tensor *o = is_virtual(other) ? virtual_find(g, id_of(other)) : NULL;

	return o && o->same == v->same;
}

/* The view's origin that is the program's own, where there is one: of a view of a view as well. */
static const struct descriptor *view_origin(const struct graph *g, const struct descriptor *tensor)
{
	const struct virtual_tensor *v = is_virtual(tensor) ? virtual_find(g, id_of(tensor)) : NULL;

	for (int64_t s = g->steps - 1; v && s >= 0; s--) {
		struct descriptor *x = attribute_descriptor(g->step[s], CUDNN_ATTR_OPERATION_RESHAPE_XDESC, 0);
		struct descriptor *y = attribute_descriptor(g->step[s], CUDNN_ATTR_OPERATION_RESHAPE_YDESC, 0);

		if (!is_view(g->step[s]))
			continue;
		if (is_same(g, v, y) && !is_virtual(x))
			return x;
		if (is_same(g, v, x) && !is_virtual(y))
			return y;
	}
	return tensor;
}

/* Where the images of a ragged tensor begin. */
static bool offsets_find(const struct operation_tensors *from, const struct descriptor *tensor, struct dnn_tensor *ret)
{
	struct descriptor *offsets = attribute_descriptor(tensor, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, 0);
	struct dnn_tensor o;

	if (offsets->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR || is_ragged(offsets) || !from->find(from, offsets, &o) ||
	    o.by_value || o.stride[0] != 1)
		return false;
	ret->ragged = o.at;
	ret->ragged_type = o.type;
	ret->ragged_count = o.dim[0];
	ret->ragged_by = attribute_number(tensor, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_MULTIPLIER, 1);
	return true;
}

static bool address_find(const struct operation_tensors *from, const struct descriptor *tensor, struct dnn_tensor *ret)
{
	const struct addresses *a = from->about;
	const struct descriptor *origin;
	const struct virtual_tensor *v;

	if (a->factor && id_of(tensor) == id_of(part(a->factor, AT(POINTWISE_XDESC))))
		tensor = part(a->factor, AT(POINTWISE_YDESC));
	origin = view_origin(a->g, tensor);
	if (operation_tensor(tensor, ret))
		return false;
	if (ret->by_value) {
		uint64_t at = a->pack && !attribute_find(tensor, CUDNN_ATTR_TENSOR_CONSTANT_VALUE)
				      ? pack_find(a->pack, id_of(tensor))
				      : 0;

		if (at)
			ret->value = host_value(at, ret->type);
		return at || !a->pack || attribute_find(tensor, CUDNN_ATTR_TENSOR_CONSTANT_VALUE);
	}
	if (is_virtual(origin)) {
		v = virtual_find(a->g, id_of(origin));
		ret->at = a->workspace + (v ? (uint64_t)a->g->tensor[v->same].offset : 0);
		return v && a->workspace;
	}
	ret->at = a->pack ? pack_find(a->pack, id_of(origin)) : NOWHERE;
	if (ret->is_ragged && !offsets_find(from, tensor, ret))
		return false;
	return ret->at;
}

static cudnnStatus_t factor_set(const struct operation_tensors *tensors, const struct descriptor *step,
				struct dnn_work *product)
{
	struct dnn_tensor number;

	if (!tensors->find(tensors, part(step, AT(POINTWISE_BDESC)), &number))
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a number that a product is multiplied with has no value");
	product->scalar[MATMUL_FACTOR] = number.value;
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t graph_run(cudnnHandle_t handle, const struct graph *g, const struct descriptor *pack,
			       uint64_t workspace)
{
	struct addresses about = { .g = g, .pack = pack, .workspace = workspace };
	struct operation_tensors tensors = { address_find, &about };
	struct dnn_work work[OPERATION_WORKS];
	cudnnStatus_t status = CUDNN_STATUS_SUCCESS;

	for (int64_t s = 0; s < g->steps && !status; s++) {
		bool product = s + 1 < g->steps && g->is_factor[s + 1];
		int count = 0;

		if (g->is_factor[s])
			continue;
		about.factor = product ? g->step[s + 1] : NULL;
		status = operation_lower(g->step[s], &tensors, work, &count);
		if (product && !status)
			status = factor_set(&tensors, about.factor, work);
		for (int i = 0; i < count && !status && pack; i++)
			status = dnn_launch(handle, &work[i]);
	}
	return status;
}

static cudnnStatus_t steps_make(struct descriptor *const *operations, int64_t count, struct graph **ret)
{
	struct graph *g;
	cudnnStatus_t status;
	bool result;
	size_t tensors = 0;

	if (count > OPERATIONS_MOST)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "a graph of %lld operations: at most %d", (long long)count,
				OPERATIONS_MOST);
	for (int64_t i = 0; i < count; i++) {
		if (!operation_known(operations[i]->type))
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a descriptor of type %d in a graph is no operation",
					(int)operations[i]->type);
		for (int k = 0; operation_port(operations[i]->type, k, &result); k++)
			tensors++;
	}
	g = calloc(1, sizeof(*g));
	if (!g)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	atomic_store_explicit(&g->holders, 1, memory_order_relaxed);
	g->step = calloc((size_t)count, sizeof(struct descriptor *));
	g->is_factor = calloc((size_t)count, sizeof(*g->is_factor));
	g->tensor = calloc(tensors, sizeof(*g->tensor));
	status = g->step && g->is_factor && g->tensor ? order(g, operations, count)
						      : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	if (!status)
		status = virtuals_find(g);
	if (!status)
		status = graph_run(NULL, g, NULL, NO_WORKSPACE);
	if (status) {
		graph_let(g);
		return status;
	}
	*ret = g;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t graph_make(struct descriptor *const *operations, int64_t count, struct graph **ret)
{
	struct descriptor **all;
	cudnnStatus_t status = operations_expand(operations, count, &all, &count);

	if (status)
		return status;
	status = steps_make(all, count, ret);
	for (int64_t i = 0; i < count; i++)
		descriptor_let(all[i]);
	free(all);
	return status;
}

cudnnStatus_t graph_execute(cudnnHandle_t handle, const struct graph *g, const struct descriptor *pack)
{
	int64_t workspace = attribute_number(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, 0);

	if (g->workspace && !workspace)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "the plan needs a workspace of %lld bytes",
				(long long)g->workspace);
	return graph_run(handle, g, pack, (uint64_t)workspace);
}
