/*
 * serve_far.c: cuDNN's backend at the worker where the library is NVIDIA's, and its calls whose handlers are not
 * generated (far.h).
 *
 * NVIDIA's library believes what a descriptor says. Whether a tensor is a number of the program's or memory of the
 * device decides whether it reads an address here or there, so of each descriptor it is kept which tensors are behind
 * it: a variant pack's addresses are the session's, and its numbers lie in the message. Whether the library copies
 * what a descriptor refers to, or looks there later, it does not say: a handle or descriptor stays as long as another
 * refers to it, and serves no more when the handle's context has ended.
 */
#include "remote/libs/far_making.h"
#include "remote/libs/far_texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int far_serve(struct forward_work *work);
extern void *cudnn_more; /* mete's own library's alone */

bool far_is_served(void)
{
	return !cudnn_more;
}

/* ---- questions ---- */

static cudnnStatus_t ask(struct forward_work *w, const struct far_question *q, int64_t requested, int64_t *count,
			 void *to)
{
	return FAR_CALL(w, cudnnBackendGetAttribute)(w->handle, (cudnnBackendAttributeName_t)q->name,
						     (cudnnBackendAttributeType_t)q->type, requested, count, to);
}

static int give(struct forward_work *w, int64_t count, const void *elements, int64_t given, size_t each)
{
	struct far_answer a = { count, w->status || given < 0 ? 0 : given };

	forward_put(w, &a, sizeof(a));
	forward_put(w, elements, (size_t)a.given * each);
	return 0;
}

static int give_text(struct forward_work *w, const struct far_question *q)
{
	const struct far_made *plan = (const struct far_made *)w->named;
	int64_t count = 0, room, given;
	const struct far_kept_text *kept;
	char *text;

	w->status = (int)ask(w, q, 0, &count, NULL);
	if (w->status || count <= 0 || (uint64_t)count > FAR_TEXTS_BYTES)
		return give(w, w->status ? 0 : count, NULL, 0, 1);
	room = count;
	text = calloc(1, (size_t)room + 1);
	w->status = text ? (int)ask(w, q, room, &count, text) : w->library->status.alloc_failed;
	count = count < room ? count : room;
	kept = w->status ? NULL : far_text_keep(q->name, text, (uint64_t)(count > 0 ? count : 0), &plan->values);
	if (!kept) {
		if (w->status)
			free(text);
		return give(w, 0, NULL, 0, 1);
	}
	given = q->from < count ? count - q->from : 0;
	given = given < q->requested ? given : q->requested;
	return give(w, count, kept->text + (given > 0 ? q->from : 0), given, 1);
}

static int give_numbers(struct forward_work *w, const struct far_question *q)
{
	size_t each = far_type_bytes(q->type);
	int64_t most = (int64_t)(FAR_PIECE / each), room = q->requested < most ? q->requested : most, count = 0;
	uint8_t *elements = calloc((size_t)room + 1, each);

	w->status = elements ? (int)ask(w, q, room, &count, room ? elements : NULL) : w->library->status.alloc_failed;
	give(w, count, elements, count < room ? count : room, each);
	free(elements);
	return 0;
}

struct wanted {
	int64_t type;
	uint64_t id;
	void *descriptor;
};

/* Descriptors that the library fills, and that are behind the one that was asked. */
static int give_descriptors(struct forward_work *w, struct wanted *list, const struct far_question *q)
{
	const struct far_made *asked = (const struct far_made *)w->named;
	void *filled[FAR_RESULTS_MOST] = { NULL };
	int64_t count = 0, given = 0;
	int r = 0;

	for (int64_t i = 0; i < q->requested && !w->status; i++) {
		w->status = (int)FAR_CALL(w, cudnnBackendCreateDescriptor)((cudnnBackendDescriptorType_t)list[i].type,
									   &list[i].descriptor);
		filled[i] = list[i].descriptor;
	}
	if (!w->status)
		w->status = (int)ask(w, q, q->requested, &count, q->requested ? filled : NULL);
	for (int64_t i = 0; i < q->requested; i++) {
		struct far_making m = { .w = w, .descriptor = list[i].descriptor, .type = (int)list[i].type };

		if (!m.descriptor || !far_making_begin(&m))
			continue;
		far_refer(&m, w->named->held, asked->context);
		if (w->status || r || i >= count || m.bad || !far_values_note(&m.values, &asked->values) ||
		    m.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
			far_making_end(&m);
			continue;
		}
		r = far_making_keep(&m, list[i].id);
		given += !r && !w->status;
	}
	return r ? r : give(w, count, NULL, given, 0);
}

static int get_descriptors(struct forward_work *w, const struct far_question *q)
{
	struct wanted *list = q->requested <= FAR_RESULTS_MOST ? calloc((size_t)q->requested + 1, sizeof(*list)) : NULL;
	int r;

	if (!list)
		return -EPROTO;
	for (int64_t i = 0; i < q->requested; i++) {
		forward_get(w, &list[i].type, sizeof(list[i].type));
		forward_get(w, &list[i].id, sizeof(list[i].id));
		w->unsound |= (int)list[i].type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR;
	}
	r = forward_ready(w) ? give_descriptors(w, list, q) : forward_refuse(w);
	free(list);
	return r;
}

static int get_attribute(struct forward_work *w)
{
	struct far_question q;

	forward_get(w, &q, sizeof(q));
	if (w->work->in.bad || q.requested < 0 || q.from < 0)
		return -EPROTO;
	w->stays = q.type == CUDNN_TYPE_CHAR; /* texts are the executor's */
	w->unsound |= !far_stands(w, ((const struct far_made *)w->named)->context);
	if (q.type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
		return get_descriptors(w, &q);
	w->unsound |= !far_type_bytes(q.type) && q.type != CUDNN_TYPE_CHAR;
	if (!forward_ready(w))
		return forward_refuse(w);
	return q.type == CUDNN_TYPE_CHAR ? give_text(w, &q) : give_numbers(w, &q);
}

static int destroy(struct forward_work *w)
{
	w->ends = true;
	if (!forward_ready(w))
		return forward_refuse(w);
	w->status = ((int (*)(void *))w->function)(w->handle);
	forward_gone(w);
	return 0;
}

/* ---- executing ---- */

struct pack {
	void *descriptor;
	cudnnStatus_t status;
	struct far_names had;
	int64_t ids;
	int64_t id[FAR_ELEMENTS_MOST / 4];
	uint8_t value[FAR_ELEMENTS_MOST / 4][FAR_VALUE_BYTES];
	void *pointer[FAR_ELEMENTS_MOST / 4];
};

/* Addresses of tensors: of the device where the plan says so, of this message where it says that they are numbers. */
static void pointers_take(struct forward_work *w, const struct far_made *plan, struct pack *p, int64_t count)
{
	if (w->work->in.bad || count != p->ids) {
		w->work->in.bad = true;
		return;
	}
	for (int64_t i = 0; i < count; i++) {
		const struct far_value *v = far_value_find(&plan->values, p->id[i]);
		struct far_pointer given;
		uint64_t at;

		forward_get(w, &given, sizeof(given));
		at = worker_at(given.at);
		if (given.is_value != (v && v->bytes))
			w->unsound |= given.is_value || given.at;
		if (!given.is_value && !forward_device_good(w, at))
			w->strange = w->unsound = true;
		memcpy(p->value[i], given.value, FAR_VALUE_BYTES);
		p->pointer[i] = given.is_value ? (void *)p->value[i] : (void *)(uintptr_t)at;
	}
}

static void pack_set(struct forward_work *w, struct pack *p, const struct far_attribute *a, const void *elements)
{
	if (!p->status && !w->unsound && !w->work->in.bad)
		p->status =
			FAR_CALL(w, cudnnBackendSetAttribute)(p->descriptor, (cudnnBackendAttributeName_t)a->name,
							      (cudnnBackendAttributeType_t)a->type, a->count, elements);
}

static bool is_address(int32_t name)
{
	return name == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS || name == CUDNN_ATTR_VARIANT_PACK_INTERMEDIATES ||
	       name == CUDNN_ATTR_VARIANT_PACK_WORKSPACE;
}

static void addresses_take(struct forward_work *w, struct pack *p, const struct far_attribute *a)
{
	void *list[FAR_ATTRIBUTES_MOST];
	uint64_t at;

	w->work->in.bad |= a->count > FAR_ATTRIBUTES_MOST;
	for (int64_t i = 0; !w->work->in.bad && i < a->count; i++) {
		forward_get_device(w, &at);
		list[i] = (void *)(uintptr_t)at;
	}
	pack_set(w, p, a, list);
}

static void pack_take(struct forward_work *w, const struct far_made *plan, struct pack *p)
{
	const int64_t most = (int64_t)(sizeof(p->id) / sizeof(p->id[0]));
	struct far_attribute a;
	const void *elements;

	if (!far_attribute_take(w, &p->had, &a))
		return;
	w->work->in.bad |= (a.type == CUDNN_TYPE_VOID_PTR) != is_address(a.name);
	if (a.name == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS) {
		pointers_take(w, plan, p, a.count);
		pack_set(w, p, &a, p->pointer);
		return;
	}
	if (a.type == CUDNN_TYPE_VOID_PTR) {
		addresses_take(w, p, &a);
		return;
	}
	elements = far_type_bytes(a.type) ? remote_take(&w->work->in, (size_t)a.count * far_type_bytes(a.type)) : NULL;
	if (!elements) {
		w->work->in.bad = true;
		return;
	}
	if (a.name == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS) {
		w->work->in.bad |= a.type != CUDNN_TYPE_INT64 || a.count > most;
		p->ids = w->work->in.bad ? 0 : a.count;
		memcpy(p->id, elements, (size_t)p->ids * sizeof(p->id[0]));
	}
	pack_set(w, p, &a, elements);
}

static int execute_pack(struct forward_work *w, const struct far_made *plan, struct pack *p, uint64_t count)
{
	for (uint64_t i = 0; i < count && !w->work->in.bad; i++)
		pack_take(w, plan, p);
	if (!forward_ready(w))
		return forward_refuse(w);
	if (!p->status)
		p->status = FAR_CALL(w, cudnnBackendFinalize)(p->descriptor);
	if (!p->status)
		p->status = FAR_CALL(w, cudnnBackendExecute)(w->handle, plan->named.handle, p->descriptor);
	w->status = (int)p->status;
	return 0;
}

static int execute(struct forward_work *w)
{
	const struct far_made *plan = (const struct far_made *)forward_get_named(w, FAR_DESCRIPTOR);
	struct pack *p;
	uint64_t count = 0;
	int r;

	forward_get(w, &count, sizeof(count));
	if (w->work->in.bad || count > FAR_ATTRIBUTES_MOST)
		return -EPROTO;
	if (!plan || plan->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR || !far_stands(w, plan->context)) {
		w->unsound = true;
		return forward_refuse(w);
	}
	p = malloc(sizeof(*p));
	if (!p) {
		w->status = w->library->status.alloc_failed;
		return 0;
	}
	p->had.count = 0;
	p->ids = 0;
	p->descriptor = NULL;
	p->status = FAR_CALL(w, cudnnBackendCreateDescriptor)(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &p->descriptor);
	r = execute_pack(w, plan, p, count);
	if (p->descriptor)
		FAR_CALL(w, cudnnBackendDestroyDescriptor)(p->descriptor);
	free(p);
	return r;
}

/* ---- older calls ---- */

static int set_dropout(struct forward_work *w)
{
	cudnnDropoutDescriptor_t d = NULL;
	unsigned long long seed;
	uint64_t states;
	float rate;
	size_t bytes;

	forward_get(w, &rate, sizeof(rate));
	forward_get_device(w, &states);
	forward_get(w, &bytes, sizeof(bytes));
	forward_get(w, &seed, sizeof(seed));
	if (!forward_ready(w))
		return forward_refuse(w);
	w->status = FAR_CALL(w, cudnnCreateDropoutDescriptor) ? (int)FAR_CALL(w, cudnnCreateDropoutDescriptor)(&d)
							      : w->library->status.not_supported;
	if (!w->status)
		w->status = (int)FAR_CALL(w, cudnnSetDropoutDescriptor)(d, w->handle, rate, (void *)(uintptr_t)states,
									bytes, seed);
	if (d)
		FAR_CALL(w, cudnnDestroyDropoutDescriptor)(d);
	return 0;
}

/* The library only adds to the address of the weights, and what it adds is the same for all. */
#define WEIGHTS ((char *)(uintptr_t)(UINT64_C(1) << 40))

static void put_tensor(struct forward_work *w, cudnnTensorDescriptor_t d, const char *at)
{
	int dims = 0, dim[8] = { 0 }, stride[8] = { 0 };
	cudnnDataType_t type = 0;
	int64_t head[3];

	if (!at || FAR_CALL(w, cudnnGetTensorNdDescriptor)(d, 8, &type, &dims, dim, stride) || dims < 0 || dims > 8)
		dims = 0;
	head[0] = at ? at - WEIGHTS : -1;
	head[1] = type;
	head[2] = dims;
	forward_put(w, &head[0], sizeof(head[0]));
	forward_put(w, &head[1], sizeof(head[1]));
	forward_put(w, &head[2], sizeof(head[2]));
	for (int i = 0; i < dims; i++) {
		int64_t pair[2] = { dim[i], stride[i] };

		forward_put(w, &pair[0], sizeof(pair[0]));
		forward_put(w, &pair[1], sizeof(pair[1]));
	}
}

static int weight_params(struct forward_work *w)
{
	cudnnTensorDescriptor_t matrix = NULL, bias = NULL;
	cudnnRNNDescriptor_t rnn = recipe_take(w, 10);
	void *matrix_at = NULL, *bias_at = NULL;
	int32_t layer, number;
	size_t bytes;

	forward_get(w, &layer, sizeof(layer));
	forward_get(w, &bytes, sizeof(bytes));
	forward_get(w, &number, sizeof(number));
	if (!recipe_ready(w))
		return recipe_refuse(w);
	if (!FAR_CALL(w, cudnnGetTensorNdDescriptor) || FAR_CALL(w, cudnnCreateTensorDescriptor)(&matrix) ||
	    FAR_CALL(w, cudnnCreateTensorDescriptor)(&bias))
		w->status = w->library->status.alloc_failed;
	else
		w->status = (int)FAR_CALL(w, cudnnGetRNNWeightParams)(w->handle, rnn, layer, bytes, WEIGHTS, number,
								      matrix, &matrix_at, bias, &bias_at);
	if (!w->status) {
		put_tensor(w, matrix, matrix_at);
		put_tensor(w, bias, bias_at);
	}
	if (matrix)
		FAR_CALL(w, cudnnDestroyTensorDescriptor)(matrix);
	if (bias)
		FAR_CALL(w, cudnnDestroyTensorDescriptor)(bias);
	recipe_drop(w);
	return 0;
}

/* Labels in this process's memory: the library reads as many lengths as the tensor has images, and so many labels. */
struct labels {
	const int *length, *steps, *label;
};

static const int *take_ints(struct forward_work *w, int64_t *count)
{
	forward_get(w, count, sizeof(*count));
	if (*count < 0 || *count > INT32_MAX)
		w->work->in.bad = true;
	return w->work->in.bad ? NULL : remote_take(&w->work->in, (size_t)*count * sizeof(int));
}

static bool labels_fit(struct forward_work *w, cudnnTensorDescriptor_t probs, const struct labels *l, int64_t lengths,
		       int64_t steps, int64_t labels)
{
	int dims = 0, dim[8] = { 0 }, stride[8] = { 0 };
	cudnnDataType_t type;
	int64_t needed = 0;

	if (!probs || !FAR_CALL(w, cudnnGetTensorNdDescriptor) ||
	    FAR_CALL(w, cudnnGetTensorNdDescriptor)(probs, 8, &type, &dims, dim, stride) || dims != 3 ||
	    lengths != dim[1] || steps != dim[1])
		return false;
	for (int64_t i = 0; i < lengths; i++) {
		if (l->length[i] < 0)
			return false;
		needed += l->length[i];
	}
	return needed == labels;
}

static void labels_take(struct forward_work *w, struct labels *l, cudnnTensorDescriptor_t probs)
{
	int64_t lengths = 0, steps = 0, labels = 0;

	l->length = take_ints(w, &lengths);
	l->steps = take_ints(w, &steps);
	l->label = take_ints(w, &labels);
	if (!w->work->in.bad && !labels_fit(w, probs, l, lengths, steps, labels))
		w->unsound = true;
}

static int ctc_loss(struct forward_work *w)
{
	cudnnTensorDescriptor_t probs = recipe_take(w, 1), gradients = recipe_take(w, 1);
	uint64_t probs_at, costs_at, gradients_at, workspace;
	cudnnCTCLossDescriptor_t loss;
	cudnnCTCLossAlgo_t algorithm;
	struct labels l;
	size_t bytes;

	labels_take(w, &l, probs);
	forward_get(w, &algorithm, sizeof(algorithm));
	loss = recipe_take(w, 9);
	forward_get_device(w, &probs_at);
	forward_get_device(w, &costs_at);
	forward_get_device(w, &gradients_at);
	forward_get_device(w, &workspace);
	forward_get(w, &bytes, sizeof(bytes));
	if (!recipe_ready(w))
		return recipe_refuse(w);
	w->status = (int)FAR_CALL(w, cudnnCTCLoss)(
		w->handle, probs, (void *)(uintptr_t)probs_at, l.label, l.length, l.steps, (void *)(uintptr_t)costs_at,
		gradients, (void *)(uintptr_t)gradients_at, algorithm, loss, (void *)(uintptr_t)workspace, bytes);
	recipe_drop(w);
	return 0;
}

static int ctc_workspace(struct forward_work *w)
{
	cudnnTensorDescriptor_t probs = recipe_take(w, 1), gradients = recipe_take(w, 1);
	cudnnCTCLossDescriptor_t loss;
	cudnnCTCLossAlgo_t algorithm;
	struct labels l;
	size_t bytes = 0;

	labels_take(w, &l, probs);
	forward_get(w, &algorithm, sizeof(algorithm));
	loss = recipe_take(w, 9);
	if (!recipe_ready(w))
		return recipe_refuse(w);
	w->status = (int)FAR_CALL(w, cudnnGetCTCLossWorkspaceSize)(w->handle, probs, gradients, l.label, l.length,
								   l.steps, algorithm, loss, &bytes);
	forward_put(w, &bytes, sizeof(bytes));
	recipe_drop(w);
	return 0;
}

/* ---- all of them ---- */

/* Asked first, of any server: whether the rest of this is there. */
static int about(struct forward_work *w)
{
	struct far_about a = { .far = far_is_served() && w->function };

	if (w->work->in.bad || w->work->in.used != w->work->in.size)
		return -EPROTO;
	if (a.far) {
		a.version = (int64_t)FAR_CALL(w, cudnnGetVersion)();
		if (FAR_CALL(w, cudnnGetCudartVersion))
			a.cudart_version = (int64_t)FAR_CALL(w, cudnnGetCudartVersion)();
		if (FAR_CALL(w, cudnnGetMaxDeviceVersion))
			a.device_version = (int64_t)FAR_CALL(w, cudnnGetMaxDeviceVersion)();
	}
	forward_put(w, &a, sizeof(a));
	return 0;
}

int far_serve(struct forward_work *w)
{
	static const struct {
		enum cudnn_call call;
		forward_run run;
	} runs[] = {
		{ CUDNN_CALL_cudnnBackendExecute, execute },
		{ CUDNN_CALL_cudnnBackendFinalize, far_finalize },
		{ CUDNN_CALL_cudnnBackendGetAttribute, get_attribute },
		{ CUDNN_CALL_cudnnBackendDestroyDescriptor, destroy },
		{ CUDNN_CALL_cudnnSetDropoutDescriptor, set_dropout },
		{ CUDNN_CALL_cudnnGetRNNWeightParams, weight_params },
		{ CUDNN_CALL_cudnnCTCLoss, ctc_loss },
		{ CUDNN_CALL_cudnnGetCTCLossWorkspaceSize, ctc_workspace },
	};

	if (w->call == CUDNN_CALL_cudnnGetVersion)
		return about(w);
	if (!far_is_served()) {
		w->status = w->library->status.not_supported;
		return 0;
	}
	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++)
		if (runs[i].call == w->call)
			return runs[i].run(w);
	return -EPROTO;
}
