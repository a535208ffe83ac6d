/* far_making.c: see far_making.h. */
#include "remote/libs/far_making.h"

#include "remote/libs/far_texts.h"

#include <errno.h>
#include <stdlib.h>

size_t far_type_bytes(int type)
{
	switch (type) {
	case CUDNN_TYPE_INT64:
	case CUDNN_TYPE_DOUBLE:
		return 8;
	case CUDNN_TYPE_BOOLEAN:
		return 1;
	case CUDNN_TYPE_FRACTION:
		return 16;
	case CUDNN_TYPE_HANDLE:
	case CUDNN_TYPE_VOID_PTR:
	case CUDNN_TYPE_BACKEND_DESCRIPTOR:
	case CUDNN_TYPE_CHAR:
		return 0; /* no plain numbers */
	default:
		return type > 0 && type <= CUDNN_TYPE_CUDA_GRAPH_RETENTION ? 4 : 0;
	}
}

static void set(struct far_making *m, const struct far_attribute *a, const void *elements)
{
	if (!m->status)
		m->status = FAR_CALL(m->w, cudnnBackendSetAttribute)(
			m->descriptor, (cudnnBackendAttributeName_t)a->name, (cudnnBackendAttributeType_t)a->type,
			a->count, elements);
}

static int (*end_of(const struct forward_work *w, enum cudnn_call call))(void *)
{
	return (int (*)(void *))w->library->functions[call];
}

bool far_stands(struct forward_work *w, uint64_t context)
{
	bool known;

	return !context || (worker_find(w->work, KIND_CONTEXT, context, &known) && known);
}

void far_refer(struct far_making *m, struct forward_held *held, uint64_t context)
{
	m->bad = m->bad || !held || !held_refers(m->held, held) || (m->context && context && m->context != context);
	m->context = context ? context : m->context;
}

static void take_descriptors(struct far_making *m, const struct far_attribute *a)
{
	void *list[FAR_RESULTS_MOST] = { NULL };

	if (a->count > FAR_RESULTS_MOST) {
		m->w->work->in.bad = true;
		return;
	}
	for (int64_t i = 0; i < a->count; i++) {
		struct far_made *one = (struct far_made *)forward_get_named(m->w, FAR_DESCRIPTOR);

		if (!one)
			continue;
		list[i] = one->named.handle;
		m->bad = m->bad || !far_values_note(&m->values, &one->values);
		m->bad = m->bad || !far_stands(m->w, one->context);
		far_refer(m, one->named.held, one->context);
	}
	if (!m->w->unsound && !m->w->work->in.bad)
		set(m, a, list);
}

static void take_handle(struct far_making *m, const struct far_attribute *a)
{
	struct forward_named *named;

	if (a->count != 1) {
		m->w->work->in.bad = true;
		return;
	}
	named = forward_get_named(m->w, FAR_HANDLE);
	if (!named)
		return;
	if (!named->held)
		named->held = held_new(named->handle, end_of(m->w, CUDNN_CALL_cudnnDestroy));
	m->bad = m->bad || !far_stands(m->w, named->context);
	far_refer(m, named->held, named->context);
	if (!m->bad)
		set(m, a, &named->handle);
}

/* Of a plan alone; no other text is read. */
static void take_text(struct far_making *m, const struct far_attribute *a)
{
	struct far_attribute whole = *a;
	const struct far_kept_text *found;
	struct far_text head;

	forward_get(m->w, &head, sizeof(head));
	found = a->name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION && !m->w->work->in.bad
			? far_text_find(a->name, &head)
			: NULL;
	if (!found) {
		m->status = m->status ? m->status : CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH;
		return;
	}
	whole.count = (int64_t)found->head.bytes;
	m->bad = m->bad || !far_values_note(&m->values, &found->values);
	set(m, &whole, found->text);
}

/* What a number of the program's is read as. */
static uint32_t element_bytes(int32_t type)
{
	switch (type) {
	case CUDNN_DATA_DOUBLE:
	case CUDNN_DATA_INT64:
		return 8;
	case CUDNN_DATA_HALF:
	case CUDNN_DATA_BFLOAT16:
		return 2;
	case CUDNN_DATA_INT8:
	case CUDNN_DATA_UINT8:
	case CUDNN_DATA_BOOLEAN:
	case CUDNN_DATA_FP8_E4M3:
	case CUDNN_DATA_FP8_E5M2:
		return 1;
	default:
		return 4;
	}
}

/* Types whose element is several numbers. */
static bool is_vector(int32_t type)
{
	return type == CUDNN_DATA_INT8x4 || type == CUDNN_DATA_UINT8x4 || type == CUDNN_DATA_INT8x32;
}

/* Attributes of other types than these the library refuses. */
static void note_tensor(struct far_making *m, const struct far_attribute *a, const void *elements)
{
	const int64_t *wide = elements;

	if (a->count < 1)
		return;
	/* What the library takes another byte for nobody knows. */
	if (a->type == CUDNN_TYPE_BOOLEAN && *(const uint8_t *)elements > 1)
		m->bad = true;
	if (a->name == CUDNN_ATTR_TENSOR_CONSTANT_VALUE)
		m->inside = true;
	if (a->type == CUDNN_TYPE_BOOLEAN && a->name == CUDNN_ATTR_TENSOR_IS_BY_VALUE)
		m->is_value = *(const uint8_t *)elements;
	if (a->type == CUDNN_TYPE_BOOLEAN && a->name == CUDNN_ATTR_TENSOR_IS_VIRTUAL && *(const uint8_t *)elements)
		m->inside = true;
	if (a->type == CUDNN_TYPE_DATA_TYPE && a->name == CUDNN_ATTR_TENSOR_DATA_TYPE) {
		m->each = element_bytes(*(const int32_t *)elements);
		m->vectors = m->vectors || is_vector(*(const int32_t *)elements);
	}
	if (a->type != CUDNN_TYPE_INT64)
		return;
	switch (a->name) {
	case CUDNN_ATTR_TENSOR_UNIQUE_ID:
		m->id = *wide;
		break;
	case CUDNN_ATTR_TENSOR_VECTOR_COUNT:
		m->vectors = m->vectors || *wide != 1;
		break;
	case CUDNN_ATTR_TENSOR_DIMENSIONS:
		m->elements = 1;
		for (int64_t i = 0; i < a->count && m->elements == 1; i++)
			m->elements = wide[i];
		break;
	default:
		break;
	}
}

static void take_numbers(struct far_making *m, const struct far_attribute *a)
{
	size_t each = far_type_bytes(a->type);
	const void *elements = each ? remote_take(&m->w->work->in, (size_t)a->count * each) : NULL;

	if (!elements) {
		m->w->work->in.bad = true;
		return;
	}
	if (m->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR)
		note_tensor(m, a, elements);
	set(m, a, elements);
}

bool far_attribute_take(struct forward_work *w, struct far_names *had, struct far_attribute *a)
{
	forward_get(w, a, sizeof(*a));
	if (a->count < 0 || (a->count > FAR_ELEMENTS_MOST && a->type != CUDNN_TYPE_CHAR))
		w->work->in.bad = true;
	for (uint64_t i = 0; i < had->count; i++)
		w->work->in.bad |= had->name[i] == a->name;
	had->name[had->count++] = a->name;
	return !w->work->in.bad;
}

static void take(struct far_making *m)
{
	struct far_attribute a;

	if (!far_attribute_take(m->w, &m->had, &a))
		return;
	if (a.type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
		take_descriptors(m, &a);
	else if (a.type == CUDNN_TYPE_HANDLE)
		take_handle(m, &a);
	else if (a.type == CUDNN_TYPE_CHAR)
		take_text(m, &a);
	else
		take_numbers(m, &a);
}

/* Of the tensor that it is: a number of one element, which lies in a message with FAR_VALUE_BYTES of room. */
static void tensor_end(struct far_making *m)
{
	if (m->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR)
		return;
	if (m->is_value && (m->elements != 1 || m->vectors) && !m->status)
		m->status = CUDNN_STATUS_NOT_SUPPORTED;
	m->bad = m->bad || !far_value_note(&m->values, &(struct far_value){ .id = m->id,
									    .bytes = m->is_value ? m->each : 0,
									    .inside = m->inside });
}

int far_making_end(struct far_making *m)
{
	FAR_CALL(m->w, cudnnBackendDestroyDescriptor)(m->descriptor);
	held_drop(m->held);
	free(m->values.value);
	return 0;
}

static void made_free(void *given)
{
	struct far_made *m = given;

	free(m->values.value);
	forward_named_free(m);
}

static void plan_tell(struct forward_work *w, const struct far_made *m)
{
	struct far_plan plan = { .values = m->values.count };
	int64_t count = 0;

	if (FAR_CALL(w, cudnnBackendGetAttribute))
		FAR_CALL(w, cudnnBackendGetAttribute)
	(m->named.handle, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &plan.workspace);
	forward_put(w, &plan, sizeof(plan));
	forward_put(w, m->values.value, m->values.count * sizeof(*m->values.value));
}

int far_making_keep(struct far_making *m, uint64_t id)
{
	struct forward_work *w = m->w;
	struct far_made *made = calloc(1, sizeof(*made));
	int r;

	if (!made) {
		w->status = w->library->status.alloc_failed;
		return far_making_end(m);
	}
	*made = (struct far_made){ .named = { .type = FAR_DESCRIPTOR, .handle = m->descriptor, .held = m->held },
				   .type = m->type,
				   .context = m->context,
				   .values = m->values };
	/* Before it has its name: another thread could end it then. */
	if (m->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
		plan_tell(w, made);
	r = forward_made_as(w, id, &made->named, made_free);
	if (r) {
		free(made);
		far_making_end(m);
		return r == -ENOSPC ? 0 : r;
	}
	return 0;
}

bool far_making_begin(struct far_making *m)
{
	m->held = held_new(m->descriptor, end_of(m->w, CUDNN_CALL_cudnnBackendDestroyDescriptor));
	if (m->held)
		return true;
	m->w->status = m->w->library->status.alloc_failed;
	far_making_end(m);
	return false;
}

/* Only what takes long has others executed beside it; a graph's operations are too many to be noted. */
static bool takes_long(int64_t type)
{
	return type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR || type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR ||
	       type == CUDNN_BACKEND_ENGINE_DESCRIPTOR;
}

int far_finalize(struct forward_work *w)
{
	struct far_making m = { .w = w, .elements = 1, .each = 4 };
	uint64_t id, count;
	int64_t type;
	bool trial;

	forward_get(w, &id, sizeof(id));
	forward_get(w, &type, sizeof(type));
	forward_get(w, &count, sizeof(count));
	if (w->work->in.bad || count > FAR_ATTRIBUTES_MOST)
		return -EPROTO;
	m.type = (int)(type & INT32_MAX);
	trial = type & FAR_TRIAL;
	type = m.type;
	w->stays = !takes_long(type);
	if (!FAR_CALL(w, cudnnBackendCreateDescriptor) || !FAR_CALL(w, cudnnBackendSetAttribute) ||
	    type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
		w->status = w->function ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_NOT_INITIALIZED;
		return 0;
	}
	w->status = (int)FAR_CALL(w, cudnnBackendCreateDescriptor)((cudnnBackendDescriptorType_t)type, &m.descriptor);
	if (w->status || !far_making_begin(&m))
		return 0;
	for (uint64_t i = 0; i < count && !w->work->in.bad; i++)
		take(&m);
	tensor_end(&m);
	w->unsound |= m.bad;
	if (!forward_ready(w)) {
		far_making_end(&m);
		return forward_refuse(w);
	}
	w->status = (int)(m.status || trial ? m.status : FAR_CALL(w, cudnnBackendFinalize)(m.descriptor));
	return w->status || trial ? far_making_end(&m) : far_making_keep(&m, id);
}
