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
#include "remote/libs/recipe_serve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS 64
#define TEXTS_BYTES (UINT64_C(64) << 20)
#define OPERATIONS_BESIDE FORWARD_USED_MOST

int far_serve(struct forward_work *work);
extern void *cudnn_more; /* mete's own library's alone */

/* The tensors behind a descriptor, by their ids. */
struct values {
	uint64_t count;
	struct far_value *value;
};

/* A descriptor. */
struct made {
	struct forward_named named;
	int type;
	uint64_t context; /* id, of the handles behind it; 0: there are none */
	struct values values;
};

bool far_is_served(void)
{
	return !cudnn_more;
}

static void made_free(void *given)
{
	struct made *m = given;

	free(m->values.value);
	forward_named_free(m);
}

/* ---- which tensors are numbers ---- */

/* False: no memory, or one id is both. */
static bool value_note(struct values *v, const struct far_value *new)
{
	struct far_value *more;

	for (uint64_t i = 0; i < v->count; i++)
		if (v->value[i].id == new->id)
			return v->value[i].bytes == new->bytes;
	more = v->count < FAR_ELEMENTS_MOST ? realloc(v->value, (v->count + 1) * sizeof(*more)) : NULL;
	if (!more)
		return false;
	v->value = more;
	v->value[v->count++] = *new;
	return true;
}

static bool values_note(struct values *v, const struct values *other)
{
	for (uint64_t i = 0; i < other->count; i++)
		if (!value_note(v, &other->value[i]))
			return false;
	return true;
}

static const struct far_value *value_find(const struct values *v, int64_t id)
{
	for (uint64_t i = 0; i < v->count; i++)
		if (v->value[i].id == id)
			return &v->value[i];
	return NULL;
}

/* ---- texts that the library has written in this session ---- */

struct text {
	int32_t name; /* of the attribute: a plan is made of no text of a cache, or of a device */
	struct far_text head;
	char *text;
	struct values values;
};

static struct text texts[TEXTS]; /* the oldest first; the executor's alone */
static unsigned int text_count;
static uint64_t text_bytes;

static void text_drop(struct text *t)
{
	text_bytes -= t->head.bytes;
	free(t->text);
	free(t->values.value);
	text_count--;
	memmove(t, t + 1, (size_t)(texts + text_count - t) * sizeof(*t));
}

static struct text *text_find(int32_t name, const struct far_text *head)
{
	for (unsigned int i = 0; i < text_count; i++)
		if (texts[i].name == name && texts[i].head.bytes == head->bytes && texts[i].head.hash == head->hash)
			return &texts[i];
	return NULL;
}

/* Takes the text over. A text of two plans whose tensors are not the same says nothing certain of either. */
static const struct text *text_keep(int32_t name, char *text, uint64_t bytes, const struct values *values)
{
	struct text new = { .name = name, .head = { bytes, far_text_hash(text, bytes) }, .text = text };
	struct text *old = text_find(name, &new.head);

	if (old && !values_note(&old->values, values)) {
		text_drop(old);
		free(text);
		return NULL;
	}
	if (old || bytes > TEXTS_BYTES || !values_note(&new.values, values)) {
		free(text);
		free(new.values.value);
		return old;
	}
	while (text_count == TEXTS || text_bytes + bytes > TEXTS_BYTES)
		text_drop(texts);
	text_bytes += bytes;
	texts[text_count] = new;
	return &texts[text_count++];
}

/* ---- attributes ---- */

/* Which attributes a message has had: what is said twice could mean the one to us and the other to the library. */
struct names {
	uint64_t count;
	int32_t name[FAR_ATTRIBUTES_MOST];
};

/* What an attribute of a descriptor that is being made means. */
struct making {
	struct forward_work *w;
	void *descriptor;
	int type;
	cudnnStatus_t status;
	struct values values;
	struct forward_held *held; /* of the descriptor */
	uint64_t context;
	/* of a tensor */
	bool is_value, inside, vectors;
	int64_t id, elements;
	uint32_t each; /* bytes of an element */
	bool bad; /* it means two things, or there is no memory */
	struct names had;
};

static size_t type_bytes(int type)
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

static void set(struct making *m, const struct far_attribute *a, const void *elements)
{
	if (!m->status)
		m->status = FAR_CALL(m->w, cudnnBackendSetAttribute)(m->descriptor,
								     (cudnnBackendAttributeName_t)a->name,
								     (cudnnBackendAttributeType_t)a->type, a->count,
								     elements);
}

static int (*end_of(const struct forward_work *w, enum cudnn_call call))(void *)
{
	return (int (*)(void *))w->library->functions[call];
}

static bool stands(struct forward_work *w, uint64_t context)
{
	bool known;

	return !context || (worker_find(w->work, KIND_CONTEXT, context, &known) && known);
}

/* What is made refers to an object that lives in this context, which stands. */
static void refer(struct making *m, struct forward_held *held, uint64_t context)
{
	m->bad = m->bad || !held || !held_refers(m->held, held) ||
		 (m->context && context && m->context != context);
	m->context = context ? context : m->context;
}

static void take_descriptors(struct making *m, const struct far_attribute *a)
{
	void *list[FAR_RESULTS_MOST] = { NULL };

	if (a->count > FAR_RESULTS_MOST) {
		m->w->work->in.bad = true;
		return;
	}
	for (int64_t i = 0; i < a->count; i++) {
		struct made *one = (struct made *)forward_get_named(m->w, FAR_DESCRIPTOR);

		if (!one)
			continue;
		list[i] = one->named.handle;
		m->bad = m->bad || !values_note(&m->values, &one->values);
		m->bad = m->bad || !stands(m->w, one->context);
		refer(m, one->named.held, one->context);
	}
	if (!m->w->unsound && !m->w->work->in.bad)
		set(m, a, list);
}

static void take_handle(struct making *m, const struct far_attribute *a)
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
	m->bad = m->bad || !stands(m->w, named->context);
	refer(m, named->held, named->context);
	if (!m->bad)
		set(m, a, &named->handle);
}

/* Of a plan alone; no other text is read. */
static void take_text(struct making *m, const struct far_attribute *a)
{
	struct far_attribute whole = *a;
	const struct text *found;
	struct far_text head;

	forward_get(m->w, &head, sizeof(head));
	found = a->name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION && !m->w->work->in.bad
			? text_find(a->name, &head)
			: NULL;
	if (!found) {
		m->status = m->status ? m->status : CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH;
		return;
	}
	whole.count = (int64_t)found->head.bytes;
	m->bad = m->bad || !values_note(&m->values, &found->values);
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
static void note_tensor(struct making *m, const struct far_attribute *a, const void *elements)
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

static void take_numbers(struct making *m, const struct far_attribute *a)
{
	size_t each = type_bytes(a->type);
	const void *elements = each ? remote_take(&m->w->work->in, (size_t)a->count * each) : NULL;

	if (!elements) {
		m->w->work->in.bad = true;
		return;
	}
	if (m->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR)
		note_tensor(m, a, elements);
	set(m, a, elements);
}

static bool attribute_take(struct forward_work *w, struct names *had, struct far_attribute *a)
{
	forward_get(w, a, sizeof(*a));
	if (a->count < 0 || (a->count > FAR_ELEMENTS_MOST && a->type != CUDNN_TYPE_CHAR))
		w->work->in.bad = true;
	for (uint64_t i = 0; i < had->count; i++)
		w->work->in.bad |= had->name[i] == a->name;
	had->name[had->count++] = a->name;
	return !w->work->in.bad;
}

static void take(struct making *m)
{
	struct far_attribute a;

	if (!attribute_take(m->w, &m->had, &a))
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

/* ---- finalizing ---- */

/* Of the tensor that it is: a number of one element, which lies in a message with FAR_VALUE_BYTES of room. */
static void tensor_end(struct making *m)
{
	if (m->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR)
		return;
	if (m->is_value && (m->elements != 1 || m->vectors) && !m->status)
		m->status = CUDNN_STATUS_NOT_SUPPORTED;
	m->bad = m->bad || !value_note(&m->values, &(struct far_value){ .id = m->id,
									  .bytes = m->is_value ? m->each : 0,
									  .inside = m->inside });
}

static int making_end(struct making *m)
{
	FAR_CALL(m->w, cudnnBackendDestroyDescriptor)(m->descriptor);
	held_drop(m->held);
	free(m->values.value);
	return 0;
}

static void plan_tell(struct forward_work *w, const struct made *m)
{
	struct far_plan plan = { .values = m->values.count };
	int64_t count = 0;

	if (FAR_CALL(w, cudnnBackendGetAttribute))
		FAR_CALL(w, cudnnBackendGetAttribute)
		(m->named.handle, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count,
		 &plan.workspace);
	forward_put(w, &plan, sizeof(plan));
	forward_put(w, m->values.value, m->values.count * sizeof(*m->values.value));
}

static int making_keep(struct making *m, uint64_t id)
{
	struct forward_work *w = m->w;
	struct made *made = calloc(1, sizeof(*made));
	int r;

	if (!made) {
		w->status = w->library->status.alloc_failed;
		return making_end(m);
	}
	*made = (struct made){ .named = { .type = FAR_DESCRIPTOR, .handle = m->descriptor, .held = m->held },
			       .type = m->type,
			       .context = m->context,
			       .values = m->values };
	/* Before it has its name: another thread could end it then. */
	if (m->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
		plan_tell(w, made);
	r = forward_made_as(w, id, &made->named, made_free);
	if (r) {
		free(made);
		making_end(m);
		return r == -ENOSPC ? 0 : r;
	}
	return 0;
}

/* False: no memory; the descriptor goes. */
static bool making_begin(struct making *m)
{
	m->held = held_new(m->descriptor, end_of(m->w, CUDNN_CALL_cudnnBackendDestroyDescriptor));
	if (m->held)
		return true;
	m->w->status = m->w->library->status.alloc_failed;
	making_end(m);
	return false;
}

/* Only what takes long has others executed beside it; a graph's operations are too many to be noted. */
static bool takes_long(int64_t type)
{
	return type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR || type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR ||
	       type == CUDNN_BACKEND_ENGINE_DESCRIPTOR;
}

static int finalize(struct forward_work *w)
{
	struct making m = { .w = w, .elements = 1, .each = 4 };
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
	if (w->status || !making_begin(&m))
		return 0;
	for (uint64_t i = 0; i < count && !w->work->in.bad; i++)
		take(&m);
	tensor_end(&m);
	w->unsound |= m.bad;
	if (!forward_ready(w)) {
		making_end(&m);
		return forward_refuse(w);
	}
	w->status = (int)(m.status || trial ? m.status : FAR_CALL(w, cudnnBackendFinalize)(m.descriptor));
	return w->status || trial ? making_end(&m) : making_keep(&m, id);
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
	const struct made *plan = (const struct made *)w->named;
	int64_t count = 0, room, given;
	const struct text *kept;
	char *text;

	w->status = (int)ask(w, q, 0, &count, NULL);
	if (w->status || count <= 0 || (uint64_t)count > TEXTS_BYTES)
		return give(w, w->status ? 0 : count, NULL, 0, 1);
	room = count;
	text = calloc(1, (size_t)room + 1);
	w->status = text ? (int)ask(w, q, room, &count, text) : w->library->status.alloc_failed;
	count = count < room ? count : room;
	kept = w->status ? NULL : text_keep(q->name, text, (uint64_t)(count > 0 ? count : 0), &plan->values);
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
	size_t each = type_bytes(q->type);
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
	const struct made *asked = (const struct made *)w->named;
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
		struct making m = { .w = w, .descriptor = list[i].descriptor, .type = (int)list[i].type };

		if (!m.descriptor || !making_begin(&m))
			continue;
		refer(&m, w->named->held, asked->context);
		if (w->status || r || i >= count || m.bad || !values_note(&m.values, &asked->values) ||
		    m.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
			making_end(&m);
			continue;
		}
		r = making_keep(&m, list[i].id);
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
	w->unsound |= !stands(w, ((const struct made *)w->named)->context);
	if (q.type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
		return get_descriptors(w, &q);
	w->unsound |= !type_bytes(q.type) && q.type != CUDNN_TYPE_CHAR;
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
	struct names had;
	int64_t ids;
	int64_t id[FAR_ELEMENTS_MOST / 4];
	uint8_t value[FAR_ELEMENTS_MOST / 4][FAR_VALUE_BYTES];
	void *pointer[FAR_ELEMENTS_MOST / 4];
};

/* Addresses of tensors: of the device where the plan says so, of this message where it says that they are numbers. */
static void pointers_take(struct forward_work *w, const struct made *plan, struct pack *p, int64_t count)
{
	if (w->work->in.bad || count != p->ids) {
		w->work->in.bad = true;
		return;
	}
	for (int64_t i = 0; i < count; i++) {
		const struct far_value *v = value_find(&plan->values, p->id[i]);
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
		p->status = FAR_CALL(w, cudnnBackendSetAttribute)(p->descriptor, (cudnnBackendAttributeName_t)a->name,
								  (cudnnBackendAttributeType_t)a->type, a->count,
								  elements);
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

static void pack_take(struct forward_work *w, const struct made *plan, struct pack *p)
{
	const int64_t most = (int64_t)(sizeof(p->id) / sizeof(p->id[0]));
	struct far_attribute a;
	const void *elements;

	if (!attribute_take(w, &p->had, &a))
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
	elements = type_bytes(a.type) ? remote_take(&w->work->in, (size_t)a.count * type_bytes(a.type)) : NULL;
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

static int execute_pack(struct forward_work *w, const struct made *plan, struct pack *p, uint64_t count)
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
	const struct made *plan = (const struct made *)forward_get_named(w, FAR_DESCRIPTOR);
	struct pack *p;
	uint64_t count = 0;
	int r;

	forward_get(w, &count, sizeof(count));
	if (w->work->in.bad || count > FAR_ATTRIBUTES_MOST)
		return -EPROTO;
	if (!plan || plan->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR || !stands(w, plan->context)) {
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
		w->status = (int)FAR_CALL(w, cudnnSetDropoutDescriptor)(
			d, w->handle, rate, (void *)(uintptr_t)states, bytes, seed);
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
		w->status = (int)FAR_CALL(w, cudnnGetRNNWeightParams)(
			w->handle, rnn, layer, bytes, WEIGHTS, number, matrix, &matrix_at, bias, &bias_at);
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
	w->status = (int)FAR_CALL(w, cudnnGetCTCLossWorkspaceSize)(
		w->handle, probs, gradients, l.label, l.length, l.steps, algorithm, loss, &bytes);
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
		{ CUDNN_CALL_cudnnBackendFinalize, finalize },
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
