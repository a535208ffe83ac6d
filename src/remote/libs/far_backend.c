/*
 * far_backend.c: descriptors of cuDNN's backend whose library is NVIDIA's at the server, in the client (far.h).
 *
 * Until it is finalized a descriptor is what the program has set, and holds what it refers to. What NVIDIA's library
 * says of it then is the answer; a descriptor that it refuses may be changed and finalized again. A variant pack never
 * leaves the client by itself: each execution takes along what it says.
 */
#include "libs/cudnn/backend.h"
#include "remote/libs/recipe.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC UINT64_C(0x6d6574652d666172)
#define NOTE_CUDA_GRAPH 3 /* CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API, a type that no call has */
#define FINALIZED CUDNN_STATUS_NOT_INITIALIZED /* what setting an attribute of a finalized descriptor answers */

struct setting {
	struct setting *next;
	struct far_attribute head;
	char data[]; /* descriptors as pointers that hold them */
};

struct far_descriptor {
	uint64_t magic;
	unsigned int holders; /* `holding` guards it */
	int type;
	bool final;
	const void *object; /* at the worker; NULL: not there */
	struct setting *settings;
	struct far_plan plan; /* of a plan, and its tensors */
	struct far_value *value;
};

static pthread_mutex_t holding = PTHREAD_MUTEX_INITIALIZER;

cudnnStatus_t far_cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t descriptorType,
					       cudnnBackendDescriptor_t *descriptor);
cudnnStatus_t far_cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor);
cudnnStatus_t far_cudnnBackendInitialize(cudnnBackendDescriptor_t descriptor);
cudnnStatus_t far_cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
					   cudnnBackendAttributeName_t attributeName,
					   cudnnBackendAttributeType_t attributeType, int64_t elementCount,
					   const void *arrayOfElements);
cudnnStatus_t far_cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
					   cudnnBackendAttributeName_t attributeName,
					   cudnnBackendAttributeType_t attributeType, int64_t requestedElementCount,
					   int64_t *elementCount, void *arrayOfElements);
cudnnStatus_t far_cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor);
cudnnStatus_t far_cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
				      cudnnBackendDescriptor_t variantPack);
cudnnStatus_t far_cudnnGetExecutionPlanWorkspaceSize(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
						     cudnnBackendDescriptor_t variantPack,
						     size_t *workspaceSizeInBytes);

/* ---- descriptors ---- */

static struct far_descriptor *descriptor_of_far(const void *given)
{
	struct far_descriptor *d = (struct far_descriptor *)(uintptr_t)given;

	return d && !((uintptr_t)d % _Alignof(struct far_descriptor)) && d->magic == MAGIC ? d : NULL;
}

bool dnn_far_descriptor(const void *descriptor)
{
	return descriptor_of_far(descriptor);
}

static void let(struct far_descriptor *d);
static cudnnStatus_t object_make(struct far_descriptor *d, bool trial);

static void settings_free(struct setting *list)
{
	struct setting *next;

	for (struct setting *s = list; s; s = next) {
		next = s->next;
		for (int64_t i = 0; s->head.type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < s->head.count; i++)
			let(((struct far_descriptor **)(void *)s->data)[i]);
		free(s);
	}
}

/* It leaves the worker. */
static void object_end(struct far_descriptor *d)
{
	struct twin_call c;

	if (!d->object)
		return;
	twin_enter(&c, dnn_library());
	c.goes = true;
	if (forward_open(&c.f, c.library)) {
		uint64_t id = c.f.client->use(&c.f.call, KIND_FORWARDED, d->object);

		if (id && forward_start(&c.f, CUDNN_CALL_cudnnBackendDestroyDescriptor, id, false, 0))
			twin_send(&c);
	}
	twin_end(&c);
	twin_gone(d->object);
	d->object = NULL;
}

static void let(struct far_descriptor *d)
{
	bool last;

	pthread_mutex_lock(&holding);
	last = !--d->holders;
	pthread_mutex_unlock(&holding);
	if (!last)
		return;
	object_end(d);
	settings_free(d->settings);
	free(d->value);
	d->magic = 0;
	free(d);
}

static void hold(struct far_descriptor *d)
{
	pthread_mutex_lock(&holding);
	d->holders++;
	pthread_mutex_unlock(&holding);
}

cudnnStatus_t far_cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t descriptorType,
					       cudnnBackendDescriptor_t *descriptor)
{
	struct far_descriptor *d;
	cudnnStatus_t status;

	if (!descriptor)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	d = calloc(1, sizeof(*d));
	if (!d)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	d->magic = MAGIC;
	d->holders = 1;
	d->type = (int)descriptorType;
	status = descriptor_type_known(d->type) ? CUDNN_STATUS_SUCCESS : object_make(d, true);
	if (status) {
		let(d);
		return status;
	}
	*descriptor = d;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t far_cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
	let(descriptor_of_far(descriptor));
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t far_cudnnBackendInitialize(cudnnBackendDescriptor_t descriptor)
{
	struct far_descriptor *d = descriptor_of_far(descriptor);

	object_end(d);
	settings_free(d->settings);
	d->settings = NULL;
	d->final = false;
	return CUDNN_STATUS_SUCCESS;
}

/* ---- attributes ---- */

static const struct setting *setting_find(const struct far_descriptor *d, int name)
{
	const struct setting *s = d->settings;

	while (s && s->head.name != name)
		s = s->next;
	return s;
}

static void setting_put(struct far_descriptor *d, struct setting *s)
{
	struct setting **at = &d->settings, *old;

	while (*at && (*at)->head.name != s->head.name)
		at = &(*at)->next;
	old = *at;
	s->next = old ? old->next : NULL;
	*at = s;
	if (old) {
		old->next = NULL;
		settings_free(old);
	}
}

static cudnnStatus_t elements_known(int type, int64_t count, const void *elements)
{
	bool refers = type == CUDNN_TYPE_HANDLE || type == CUDNN_TYPE_BACKEND_DESCRIPTOR;

	for (int64_t i = 0; refers && i < count; i++) {
		const struct far_descriptor *d;
		const void *one;

		memcpy(&one, (const char *)elements + (size_t)i * sizeof(one), sizeof(one));
		if (type == CUDNN_TYPE_HANDLE && !dnn_handle_known(one))
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "no handle of cuDNN");
		if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR)
			continue;
		d = descriptor_of_far(one);
		if (!d)
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "element %lld is no descriptor", (long long)i);
		if (!d->final)
			return dnn_fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "descriptor %lld is not finalized",
					(long long)i);
	}
	return CUDNN_STATUS_SUCCESS;
}

/* An attribute that cuDNN as we know it has not: a newer one may. */
static cudnnStatus_t setting_try(const struct far_descriptor *d, struct setting *s)
{
	struct far_descriptor alone = { .magic = MAGIC, .holders = 1, .type = d->type, .settings = s };

	if (attribute_known(d->type, s->head.name, s->head.type))
		return CUDNN_STATUS_SUCCESS;
	s->next = NULL;
	return object_make(&alone, true);
}

cudnnStatus_t far_cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
					   cudnnBackendAttributeName_t attributeName,
					   cudnnBackendAttributeType_t attributeType, int64_t elementCount,
					   const void *arrayOfElements)
{
	struct far_descriptor *d = descriptor_of_far(descriptor);
	size_t each = attribute_type_bytes(attributeType);
	bool text = attributeType == CUDNN_TYPE_CHAR;
	cudnnStatus_t status;
	struct setting *s;

	if (d->final)
		return dnn_fail(FINALIZED, "cudnnBackendSetAttribute: the descriptor is finalized");
	if (!each)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "attributes of type %d are not known",
				(int)attributeType);
	if (elementCount < 0 || elementCount > (text ? INT64_C(1) << 30 : FAR_ELEMENTS_MOST))
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "attribute %d with %lld elements", (int)attributeName,
				(long long)elementCount);
	if (elementCount && !arrayOfElements)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	status = elements_known((int)attributeType, elementCount, arrayOfElements);
	if (status)
		return status;
	s = malloc(sizeof(*s) + (size_t)elementCount * each + 1);
	if (!s)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	s->head = (struct far_attribute){ (int32_t)attributeName, (int32_t)attributeType, elementCount };
	if (elementCount)
		memcpy(s->data, arrayOfElements, (size_t)elementCount * each);
	for (int64_t i = 0; attributeType == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < elementCount; i++)
		hold(((struct far_descriptor **)(void *)s->data)[i]);
	s->next = NULL;
	status = setting_try(d, s);
	if (status)
		settings_free(s);
	else
		setting_put(d, s);
	return status;
}

/* ---- finalizing ---- */

static size_t settings_room(const struct far_descriptor *d)
{
	size_t bytes = 0;

	for (const struct setting *s = d->settings; s; s = s->next) {
		size_t each = s->head.name == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS
				      ? sizeof(struct far_pointer)
				      : attribute_type_bytes((cudnnBackendAttributeType_t)s->head.type);

		bytes += sizeof(s->head) +
			 (s->head.type == CUDNN_TYPE_CHAR ? sizeof(struct far_text) : each * (size_t)s->head.count + 8);
	}
	return bytes;
}

static void put_objects(struct twin_call *c, const struct setting *s)
{
	for (int64_t i = 0; i < s->head.count; i++) {
		const void *one = ((void *const *)(const void *)s->data)[i];

		twin_put_object(c, s->head.type == CUDNN_TYPE_HANDLE ? one
								      : ((const struct far_descriptor *)one)->object);
	}
}

static void put_setting(struct twin_call *c, const struct setting *s)
{
	struct far_text text;

	forward_put(&c->f, &s->head, sizeof(s->head));
	switch (s->head.type) {
	case CUDNN_TYPE_BACKEND_DESCRIPTOR:
	case CUDNN_TYPE_HANDLE:
		put_objects(c, s);
		break;
	case CUDNN_TYPE_CHAR:
		text = (struct far_text){ (uint64_t)s->head.count, far_text_hash(s->data, (uint64_t)s->head.count) };
		forward_put(&c->f, &text, sizeof(text));
		break;
	default:
		forward_put(&c->f, s->data,
			    (size_t)s->head.count * attribute_type_bytes((cudnnBackendAttributeType_t)s->head.type));
	}
}

static void put_count(struct twin_call *c, const struct far_descriptor *d)
{
	uint64_t count = 0;

	for (const struct setting *s = d->settings; s; s = s->next)
		count++;
	forward_put(&c->f, &count, sizeof(count));
}

/* Which tensors of a plan are numbers of the program's. */
static cudnnStatus_t plan_get(struct twin_call *c, struct far_descriptor *d)
{
	struct far_plan plan = { 0 };

	forward_get(&c->f, &plan, sizeof(plan));
	if (c->f.call.in.bad || plan.values > FAR_ELEMENTS_MOST)
		return CUDNN_STATUS_INTERNAL_ERROR;
	free(d->value);
	d->value = calloc(plan.values + 1, sizeof(*d->value));
	d->plan = (struct far_plan){ 0 };
	if (!d->value)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	forward_get(&c->f, d->value, plan.values * sizeof(*d->value));
	d->plan = plan;
	return CUDNN_STATUS_SUCCESS;
}

/* Where what it refers to is; else where the current context is. */
static bool session_choose(struct twin_call *c, const struct far_descriptor *d)
{
	for (const struct setting *s = d->settings; s && !c->f.call.session; s = s->next)
		if (s->head.count && s->head.type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
			c->f.client->use(&c->f.call, KIND_FORWARDED,
					 ((struct far_descriptor *const *)(const void *)s->data)[0]->object);
		else if (s->head.count && s->head.type == CUDNN_TYPE_HANDLE)
			c->f.client->use(&c->f.call, KIND_FORWARDED, ((void *const *)(const void *)s->data)[0]);
	return c->f.call.session || c->f.client->use_current(&c->f.call);
}

/* The descriptor goes to the worker: to be kept, or for its opinion alone. */
static cudnnStatus_t object_make(struct far_descriptor *d, bool trial)
{
	int64_t type = d->type | (trial ? FAR_TRIAL : 0);
	cudnnStatus_t status = CUDNN_STATUS_SUCCESS, said;
	struct twin_call c;

	twin_enter(&c, dnn_library());
	c.goes = true;
	forward_context();
	if (!forward_open(&c.f, c.library))
		return (cudnnStatus_t)twin_end(&c);
	if (session_choose(&c, d) && !trial)
		c.made = c.f.client->mint(&c.f.call, KIND_FORWARDED, NULL, &c.made_id);
	if ((c.made || trial) && forward_start(&c.f, CUDNN_CALL_cudnnBackendFinalize, 0, true, settings_room(d))) {
		if (!trial)
			forward_changes(&c.f, FORWARD_SPOILS);
		forward_put(&c.f, &c.made_id, sizeof(c.made_id));
		forward_put(&c.f, &type, sizeof(type));
		put_count(&c, d);
		for (const struct setting *s = d->settings; s; s = s->next)
			put_setting(&c, s);
		if (twin_send(&c) && !trial && d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
			status = plan_get(&c, d);
	}
	said = (cudnnStatus_t)twin_end(&c);
	status = status ? status : said;
	if (!status) {
		d->object = c.made;
		return CUDNN_STATUS_SUCCESS;
	}
	if (c.made)
		twin_gone(c.made);
	return dnn_fail(status, "the server's cuDNN refuses a descriptor of type %d: %s", d->type,
			soft_cudnnGetErrorString(status));
}

static cudnnStatus_t pack_check(const struct far_descriptor *d)
{
	const struct setting *ids = setting_find(d, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
	const struct setting *pointers = setting_find(d, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);

	if ((ids ? ids->head.count : 0) != (pointers ? pointers->head.count : 0))
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a variant pack with different numbers of ids and pointers");
	if ((ids && ids->head.type != CUDNN_TYPE_INT64) || (pointers && pointers->head.type != CUDNN_TYPE_VOID_PTR))
		return dnn_fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "ids are numbers and pointers are addresses");
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t far_cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
	struct far_descriptor *d = descriptor_of_far(descriptor);
	cudnnStatus_t status;

	if (d->final)
		return CUDNN_STATUS_SUCCESS;
	status = d->type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR ? pack_check(d) : object_make(d, false);
	d->final = !status;
	return status;
}

/* ---- questions ---- */

/* What the program has set is known here. */
static bool is_known(const struct setting *s)
{
	return s && s->head.type != CUDNN_TYPE_BACKEND_DESCRIPTOR;
}

static cudnnStatus_t setting_give(const struct setting *s, int type, int64_t requested, int64_t *count, void *elements)
{
	int64_t given = s->head.count < requested ? s->head.count : requested;

	if (s->head.type != type)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "attribute %d is of type %d", s->head.name,
				s->head.type);
	*count = s->head.count;
	if (elements && given > 0)
		memcpy(elements, s->data, (size_t)given * attribute_type_bytes((cudnnBackendAttributeType_t)type));
	return CUDNN_STATUS_SUCCESS;
}

static bool question_begin(struct twin_call *c, const struct far_descriptor *d, const struct far_question *q)
{
	uint64_t id;

	twin_enter(c, dnn_library());
	c->goes = true;
	if (!forward_open(&c->f, c->library))
		return false;
	id = c->f.client->use(&c->f.call, KIND_FORWARDED, d->object);
	return id &&
	       forward_start(&c->f, CUDNN_CALL_cudnnBackendGetAttribute, id, true,
			     q->type == CUDNN_TYPE_BACKEND_DESCRIPTOR ? (size_t)q->requested * sizeof(id) : 0);
}

/* Numbers and texts, piece by piece. */
static cudnnStatus_t elements_ask(const struct far_descriptor *d, struct far_question *q, int64_t *count,
				  char *elements)
{
	size_t each = attribute_type_bytes((cudnnBackendAttributeType_t)q->type);
	int64_t wanted = elements ? q->requested : 0, most = (int64_t)(FAR_PIECE / each);
	cudnnStatus_t status;

	do {
		struct far_answer a = { 0 };
		struct twin_call c;

		q->requested = wanted - q->from < most ? wanted - q->from : most;
		if (question_begin(&c, d, q)) {
			forward_put(&c.f, q, sizeof(*q));
			if (twin_send(&c))
				forward_get(&c.f, &a, sizeof(a));
			if (a.given < 0 || a.given > q->requested)
				a.given = 0;
			if (a.given)
				forward_get(&c.f, elements + (size_t)q->from * each, (size_t)a.given * each);
		}
		status = (cudnnStatus_t)twin_end(&c);
		*count = a.count;
		q->from += a.given;
		if (!a.given || q->type != CUDNN_TYPE_CHAR)
			break;
	} while (!status && q->from < wanted && q->from < *count);
	return status;
}

/* Descriptors that the program has made for the answer. */
static cudnnStatus_t descriptors_ask(const struct far_descriptor *d, const struct far_question *q, int64_t *count,
				     void **elements)
{
	int64_t wanted = elements ? q->requested : 0;
	const void **made = calloc((size_t)wanted + 1, sizeof(*made));
	struct far_question asked = *q;
	struct far_answer a = { 0 };
	cudnnStatus_t status;
	struct twin_call c;
	uint64_t id;

	if (!made)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	asked.requested = wanted;
	if (question_begin(&c, d, &asked)) {
		forward_changes(&c.f, FORWARD_SPOILS);
		forward_put(&c.f, &asked, sizeof(asked));
		for (int64_t i = 0; i < wanted; i++) {
			int64_t type = ((struct far_descriptor *)elements[i])->type;

			made[i] = c.f.client->mint(&c.f.call, KIND_FORWARDED, NULL, &id);
			forward_put(&c.f, &type, sizeof(type));
			forward_put(&c.f, &id, sizeof(id));
		}
		if (twin_send(&c))
			forward_get(&c.f, &a, sizeof(a));
	}
	status = (cudnnStatus_t)twin_end(&c);
	*count = a.count;
	for (int64_t i = 0; i < wanted; i++) {
		struct far_descriptor *to = elements[i];

		if (!status && i < a.given && made[i]) {
			object_end(to);
			to->object = made[i];
			to->final = true;
		} else if (made[i]) {
			twin_gone(made[i]);
		}
	}
	free(made);
	return status;
}

/* A graph cannot be asked to add itself to one of CUDA's on this way: no engine says that it does. */
static void notes_correct(const struct far_question *q, int64_t *count, int32_t *note)
{
	int64_t kept = 0;

	if (q->name != CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE || !note)
		return;
	for (int64_t i = 0; i < *count && i < q->from; i++)
		if (note[i] != NOTE_CUDA_GRAPH)
			note[kept++] = note[i];
	*count -= (*count < q->from ? *count : q->from) - kept;
}

cudnnStatus_t far_cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
					   cudnnBackendAttributeName_t attributeName,
					   cudnnBackendAttributeType_t attributeType, int64_t requestedElementCount,
					   int64_t *elementCount, void *arrayOfElements)
{
	const struct far_descriptor *d = descriptor_of_far(descriptor);
	struct far_question q = { .name = (int32_t)attributeName,
				  .type = (int32_t)attributeType,
				  .requested = requestedElementCount };
	const struct setting *s = setting_find(d, (int)attributeName);
	cudnnStatus_t status;
	int64_t none;

	if (!d->final)
		return dnn_fail(CUDNN_STATUS_NOT_INITIALIZED,
				"cudnnBackendGetAttribute: the descriptor is not finalized");
	if (requestedElementCount < 0 || !attribute_type_bytes(attributeType))
		return CUDNN_STATUS_BAD_PARAM;
	if (!elementCount)
		elementCount = &none;
	if (attributeName == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && d->value) {
		*elementCount = 1;
		if (arrayOfElements && requestedElementCount)
			memcpy(arrayOfElements, &d->plan.workspace, sizeof(d->plan.workspace));
		return CUDNN_STATUS_SUCCESS;
	}
	if (is_known(s))
		return setting_give(s, q.type, q.requested, elementCount, arrayOfElements);
	if (attributeType == CUDNN_TYPE_HANDLE || attributeType == CUDNN_TYPE_VOID_PTR || !d->object)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "attribute %d has not been set", (int)attributeName);
	if (attributeType == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
		for (int64_t i = 0; arrayOfElements && i < requestedElementCount; i++)
			if (!descriptor_of_far(((void **)arrayOfElements)[i]))
				return dnn_fail(CUDNN_STATUS_BAD_PARAM, "element %lld is no descriptor", (long long)i);
		if (q.requested > FAR_RESULTS_MOST)
			q.requested = FAR_RESULTS_MOST;
		return descriptors_ask(d, &q, elementCount, arrayOfElements);
	}
	status = elements_ask(d, &q, elementCount, arrayOfElements);
	if (!status)
		notes_correct(&q, elementCount, arrayOfElements);
	return status;
}

/* ---- executing ---- */

static const struct far_value *value_find(const struct far_descriptor *plan, int64_t id)
{
	for (uint64_t i = 0; i < plan->plan.values; i++)
		if (plan->value[i].id == id)
			return &plan->value[i];
	return NULL;
}

/* What the program gives at an id. */
static const void *pointer_of(const struct far_descriptor *pack, int64_t id)
{
	const struct setting *ids = setting_find(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
	const struct setting *pointers = setting_find(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);

	for (int64_t i = 0; ids && i < ids->head.count; i++)
		if (((const int64_t *)(const void *)ids->data)[i] == id)
			return ((void *const *)(const void *)pointers->data)[i];
	return NULL;
}

/* A pack that lacks nothing is not waited for; of another one NVIDIA's library says what is wrong. */
static bool is_whole(const struct far_descriptor *plan, const struct far_descriptor *pack)
{
	const struct setting *workspace = setting_find(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);

	if (plan->plan.workspace &&
	    !(workspace && workspace->head.count && *(void *const *)(const void *)workspace->data))
		return false;
	for (uint64_t i = 0; i < plan->plan.values; i++)
		if (!plan->value[i].inside && !pointer_of(pack, plan->value[i].id))
			return false;
	return true;
}

static void put_pointers(struct twin_call *c, const struct far_descriptor *plan, const struct setting *ids,
			 const struct setting *s)
{
	forward_put(&c->f, &s->head, sizeof(s->head));
	for (int64_t i = 0; i < s->head.count; i++) {
		const struct far_value *v = value_find(plan, ((const int64_t *)(const void *)ids->data)[i]);
		const void *at = ((void *const *)(const void *)s->data)[i];
		struct far_pointer p = { .is_value = v && v->bytes && at };

		if (p.is_value)
			memcpy(p.value, at, v->bytes < sizeof(p.value) ? v->bytes : sizeof(p.value));
		else if (v && !v->bytes)
			p.at = (uint64_t)(uintptr_t)at;
		forward_put(&c->f, &p, sizeof(p));
	}
}

static void put_pack(struct twin_call *c, const struct far_descriptor *plan, const struct far_descriptor *pack)
{
	const struct setting *ids = setting_find(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);

	put_count(c, pack);
	if (ids)
		put_setting(c, ids);
	for (const struct setting *s = pack->settings; s; s = s->next)
		if (s->head.name == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)
			put_pointers(c, plan, ids, s);
		else if (s != ids)
			put_setting(c, s);
}

cudnnStatus_t far_cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
				      cudnnBackendDescriptor_t variantPack)
{
	const struct far_descriptor *plan = descriptor_of_far(executionPlan), *pack = descriptor_of_far(variantPack);
	struct twin_call c;

	if (!dnn_handle_known(handle))
		return CUDNN_STATUS_NOT_INITIALIZED;
	if (!plan || !plan->object || plan->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR || !pack || !pack->final ||
	    pack->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM,
				"cudnnBackendExecute: no plan or no variant pack that is finalized");
	twin_enter(&c, dnn_library());
	if (twin_begin(&c, 0, CUDNN_CALL_cudnnBackendExecute, handle,
		       is_whole(plan, pack) ? TWIN_RUN : TWIN_ASK, settings_room(pack))) {
		twin_put_object(&c, plan->object);
		put_pack(&c, plan, pack);
		twin_send(&c);
	}
	return (cudnnStatus_t)twin_end(&c);
}

cudnnStatus_t far_cudnnGetExecutionPlanWorkspaceSize(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
						     cudnnBackendDescriptor_t variantPack,
						     size_t *workspaceSizeInBytes)
{
	int64_t bytes = 0, count = 0;
	cudnnStatus_t status;

	if (!descriptor_of_far(executionPlan) || !workspaceSizeInBytes)
		return CUDNN_STATUS_BAD_PARAM;
	status = far_cudnnBackendGetAttribute(executionPlan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
					      CUDNN_TYPE_INT64, 1, &count, &bytes);
	if (!status)
		*workspaceSizeInBytes = (size_t)bytes;
	return status;
}
