/*
 * far_test.c: what a client says to NVIDIA's cuDNN in a worker. A library that believes everything stands in for it: it
 * reads where a descriptor says that a number of the program's is, and remembers where the rest is said to be. Whatever
 * a client says, that is here for the one and the session's for the other.
 */
#include "base/tap.h"
#include "cudnn_table.h"
#include "remote/libs/far.h"
#include "remote/libs/serve.h"
#include "remote/worker/session.h"

#include <errno.h>
#include <stdlib.h>

#define CONTEXT CALL_ID(KIND_CONTEXT, 1, 1)
#define HANDLE CALL_ID(KIND_FORWARDED, 1, 2)
#define FIRST 3u /* of the descriptors */
#define MEMORY UINT64_C(0x700000000000)
#define MEMORY_BYTES 4096u
#define FORGED UINT64_C(0x5555000000)

extern const struct forward_served cudnn_served;
extern void *cudnn_more;

static struct worker worker;
static struct wall wall;
static struct cuda_table driver;
static unsigned int next; /* slot of an object */

/* ---- the library ---- */

struct object {
	int type, id, is_value, refers, tensors;
	int referred; /* by so many that are there */
	bool has_handle;
	struct object *behind[8];
	int64_t ids[8], pointers;
	void *pointer[8], *workspace;
	struct object *next, **before;
};

static struct {
	int executed, wrong, labels, algorithms;
	int handles, ended; /* descriptors that refer to the handle; handles that have ended */
	int early; /* ended while others refer to it */
	int named; /* asked of after it had its name */
} seen;
static char text[] = "{\"plan\": 1}";
static struct object *written; /* whose text it is */
static struct object *living;  /* the worker's process ends with what the library has */

static cudnnStatus_t create(cudnnHandle_t *ret)
{
	*ret = (cudnnHandle_t)&seen;
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t object_create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *ret)
{
	struct object *o = calloc(1, sizeof(*o));

	o->type = (int)type;
	o->next = living;
	o->before = &living;
	if (living)
		living->before = &o->next;
	living = o;
	*ret = o;
	return CUDNN_STATUS_SUCCESS;
}

static void refer(struct object *o, struct object *to)
{
	o->behind[o->refers++] = to;
	to->referred++;
}

static cudnnStatus_t object_destroy(cudnnBackendDescriptor_t given)
{
	struct object *o = given;

	seen.early += o->referred > 0;
	for (int i = 0; i < o->refers; i++)
		o->behind[i]->referred--;
	seen.handles -= o->has_handle;
	*o->before = o->next;
	if (o->next)
		o->next->before = o->before;
	free(o);
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t handle_destroy(cudnnHandle_t handle)
{
	seen.early += seen.handles > 0;
	seen.ended++;
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t object_set(cudnnBackendDescriptor_t given, cudnnBackendAttributeName_t name,
				cudnnBackendAttributeType_t type, int64_t count, const void *elements)
{
	struct object *o = given;

	if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
		for (int64_t i = 0; i < count && o->refers < 8; i++)
			refer(o, ((struct object *const *)elements)[i]);
	if (type == CUDNN_TYPE_CHAR)
		refer(o, written);
	if (type == CUDNN_TYPE_HANDLE)
		seen.handles += o->has_handle = true;
	if (o->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR && name == CUDNN_ATTR_TENSOR_IS_BY_VALUE &&
	    type == CUDNN_TYPE_BOOLEAN && count)
		o->is_value = *(const uint8_t *)elements;
	if (o->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR && name == CUDNN_ATTR_TENSOR_UNIQUE_ID &&
	    type == CUDNN_TYPE_INT64 && count)
		o->id = (int)*(const int64_t *)elements;
	if (o->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR || count > 8)
		return CUDNN_STATUS_SUCCESS;
	if (name == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS)
		memcpy(o->ids, elements, (size_t)count * sizeof(int64_t));
	if (name == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS) {
		memcpy(o->pointer, elements, (size_t)count * sizeof(void *));
		o->pointers = count;
	}
	if (name == CUDNN_ATTR_VARIANT_PACK_WORKSPACE && count)
		memcpy(&o->workspace, elements, sizeof(void *));
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t object_finalize(cudnnBackendDescriptor_t o)
{
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t object_get(cudnnBackendDescriptor_t const o, cudnnBackendAttributeName_t name,
				cudnnBackendAttributeType_t type, int64_t requested, int64_t *count, void *elements)
{
	*count = type == CUDNN_TYPE_CHAR ? (int64_t)sizeof(text) : 1;
	if (type == CUDNN_TYPE_CHAR && elements) {
		memcpy(elements, text, sizeof(text));
		written = o;
	}
	if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR && requested) {
		refer(((struct object **)elements)[0], (struct object *)(uintptr_t)o);
	}
	if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)
		seen.named +=
			ids_find(&worker.ids, KIND_FORWARDED, CALL_ID(KIND_FORWARDED, 1, FIRST + next - 1)) != NULL;
	if (type == CUDNN_TYPE_INT64 && requested)
		*(int64_t *)elements = 64;
	return CUDNN_STATUS_SUCCESS;
}

/* 1: the tensor of the id is a number; 0: memory; -1: it is not behind the object. */
static int kind_behind(const struct object *o, int64_t id)
{
	int kind = o->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR && o->id == id ? o->is_value : -1;

	for (int i = 0; i < o->refers && kind < 0; i++)
		kind = kind_behind(o->behind[i], id);
	return kind;
}

static bool is_session(const void *at)
{
	return !at || ((uint64_t)(uintptr_t)at >= MEMORY && (uint64_t)(uintptr_t)at < MEMORY + MEMORY_BYTES);
}

static cudnnStatus_t execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t given)
{
	const struct object *pack = given;
	static volatile double sum __attribute__((unused));

	seen.executed++;
	seen.wrong += !is_session(pack->workspace);
	for (int64_t i = 0; i < pack->pointers; i++) {
		int kind = kind_behind(plan, pack->ids[i]);

		if (kind == 1 && pack->pointer[i] &&
		    (is_session(pack->pointer[i]) || pack->pointer[i] == (void *)FORGED))
			seen.wrong++;
		else if (kind == 1 && pack->pointer[i])
			sum += *(const double *)pack->pointer[i];
		else if (kind != 1)
			seen.wrong += !is_session(pack->pointer[i]);
	}
	return CUDNN_STATUS_SUCCESS;
}

/* Descriptors of the older calls: as many images as the tensor says, whose labels it reads. */
static int images;

static cudnnStatus_t tensor_create(void **ret)
{
	*ret = &images;
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t tensor_destroy(void *d)
{
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t tensor_set(cudnnTensorDescriptor_t d, cudnnDataType_t type, int dims, const int *dim,
				const int *stride)
{
	images = dims == 3 ? dim[1] : 0;
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t tensor_get(const cudnnTensorDescriptor_t d, int most, cudnnDataType_t *type, int *dims, int *dim,
				int *stride)
{
	*dims = 3;
	dim[1] = images;
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t loss_set(cudnnCTCLossDescriptor_t d, cudnnDataType_t type, cudnnLossNormalizationMode_t mode,
			      cudnnNanPropagation_t nan, int labels)
{
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t loss(cudnnHandle_t handle, const cudnnTensorDescriptor_t probs, const void *probs_at,
			  const int *label, const int *length, const int *steps, void *costs,
			  const cudnnTensorDescriptor_t gradients, void *gradients_at, cudnnCTCLossAlgo_t algo,
			  cudnnCTCLossDescriptor_t d, void *workspace, size_t bytes)
{
	for (int i = 0, at = 0; i < images; i++)
		for (int k = 0; k < length[i] + 0 * steps[i]; k++)
			seen.labels += label[at++] >= 0;
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t algorithms(cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
				const cudnnConvolutionDescriptor_t c, const cudnnTensorDescriptor_t y, int requested,
				int *ret, cudnnConvolutionFwdAlgoPerf_t *results)
{
	memset(results, 1, (size_t)requested * sizeof(*results));
	*ret = requested + 1000; /* what a library must not say */
	seen.algorithms++;
	return CUDNN_STATUS_SUCCESS;
}

static size_t version(void)
{
	return 91900;
}

static CUresult no_pointer(void *data, CUpointer_attribute attribute, CUdeviceptr at)
{
	return CUDA_ERROR_INVALID_VALUE;
}

#define HAS(name, function) cudnn_served.functions[CUDNN_CALL_##name] = (void *)(function)

static void library_begin(void)
{
	HAS(cudnnCreate, create);
	HAS(cudnnDestroy, handle_destroy);
	HAS(cudnnGetVersion, version);
	HAS(cudnnBackendCreateDescriptor, object_create);
	HAS(cudnnBackendDestroyDescriptor, object_destroy);
	HAS(cudnnBackendSetAttribute, object_set);
	HAS(cudnnBackendGetAttribute, object_get);
	HAS(cudnnBackendFinalize, object_finalize);
	HAS(cudnnBackendExecute, execute);
	HAS(cudnnCreateTensorDescriptor, tensor_create);
	HAS(cudnnDestroyTensorDescriptor, tensor_destroy);
	HAS(cudnnSetTensorNdDescriptor, tensor_set);
	HAS(cudnnGetTensorNdDescriptor, tensor_get);
	HAS(cudnnCreateCTCLossDescriptor, tensor_create);
	HAS(cudnnDestroyCTCLossDescriptor, tensor_destroy);
	HAS(cudnnSetCTCLossDescriptor_v8, loss_set);
	HAS(cudnnCTCLoss, loss);
	HAS(cudnnCreateFilterDescriptor, tensor_create);
	HAS(cudnnDestroyFilterDescriptor, tensor_destroy);
	HAS(cudnnCreateConvolutionDescriptor, tensor_create);
	HAS(cudnnDestroyConvolutionDescriptor, tensor_destroy);
	HAS(cudnnFindConvolutionForwardAlgorithm, algorithms);
	driver.cuPointerGetAttribute = no_pointer;
	worker.driver = &driver;
	worker.wall = &wall;
	ranges_init(&worker.ranges);
	is(ids_init(&worker.ids, NULL, NULL), 0);
	is(ids_add(&worker.ids, KIND_CONTEXT, CONTEXT, &worker, 0), 0);
	is(ranges_add(&worker.ranges, MEMORY, MEMORY_BYTES, 0), 0);
}

/* ---- a client ---- */

static _Alignas(8) uint8_t sent[1 << 14], out[1 << 16];
static struct remote_writer message;
static struct work work;
static uint64_t context = CONTEXT;

static void begin(enum cudnn_call call, uint64_t object)
{
	uint64_t number = call;

	message = (struct remote_writer){ .data = sent, .capacity = sizeof(sent) };
	remote_put(&message, &number, sizeof(number));
	remote_put(&message, &object, sizeof(object));
}

static void put(int64_t word)
{
	remote_put(&message, &word, sizeof(word));
}

/* The status; -1: the message was malformed. */
static int end(void)
{
	int r;

	work = (struct work){
		.worker = &worker,
		.driver = &driver,
		.head = { .call = FORWARD_NUMBER_CUDNN, .thread = 1, .context = context, .flags = CALL_WAITS },
		.used_over = true, /* nobody to yield to */
		.in = { .data = sent, .size = message.used },
		.out = { .data = out, .capacity = sizeof(out) }
	};
	r = worker_other_library(&work);
	return r ? -1 : work.result >= FORWARD_STATUS ? work.result - FORWARD_STATUS : work.result;
}

static void attribute(int name, int type, int64_t count, const void *elements, size_t each)
{
	struct far_attribute a = { name, type, count };

	remote_put(&message, &a, sizeof(a));
	remote_put(&message, elements, (size_t)count * each);
}

static uint64_t object_begin(int64_t type, int64_t attributes)
{
	uint64_t id = CALL_ID(KIND_FORWARDED, 1, FIRST + next);

	next++;
	begin(CUDNN_CALL_cudnnBackendFinalize, 0);
	put((int64_t)id);
	put(type);
	put(attributes);
	return id;
}

static uint64_t tensor(int64_t id, bool is_value)
{
	uint64_t object = object_begin(CUDNN_BACKEND_TENSOR_DESCRIPTOR, 2);

	attribute(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id, sizeof(id));
	attribute(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &is_value, sizeof(is_value));
	is(end(), 0);
	return object;
}

static uint64_t above(int type, int name, const uint64_t *objects, int64_t count, int wanted)
{
	uint64_t object = object_begin(type, 1);

	attribute(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, objects, sizeof(*objects));
	is(end(), wanted);
	return object;
}

static uint64_t plan_of(const uint64_t *tensors, int64_t count)
{
	uint64_t graph =
		above(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS, tensors, count, 0);

	return above(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, &graph, 1, 0);
}

static void execute_begin(uint64_t plan, const int64_t *ids, const struct far_pointer *pointers, int64_t count,
			  uint64_t workspace)
{
	begin(CUDNN_CALL_cudnnBackendExecute, HANDLE);
	put((int64_t)plan);
	put(3);
	attribute(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids, sizeof(*ids));
	attribute(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers, sizeof(*pointers));
	attribute(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace, sizeof(workspace));
}

static int execute_one(uint64_t plan, int64_t id, struct far_pointer p, uint64_t workspace)
{
	int executed = seen.executed, status;

	execute_begin(plan, &id, &p, 1, workspace);
	status = end();
	return seen.executed > executed ? 0 : status;
}

static void test_pointers(void)
{
	struct far_pointer memory = { .at = MEMORY + 64 }, number = { .is_value = 1 }, forged = { .at = FORGED },
			   none = { 0 };
	uint64_t both[] = { tensor(1, false), tensor(2, true) }, plan = plan_of(both, 2), twice[2], graph;

	is(execute_one(plan, 1, memory, MEMORY), 0);
	is(execute_one(plan, 2, number, 0), 0);
	is(execute_one(plan, 2, none, 0), 0);
	is(seen.executed, 3);
	tap_ok(execute_one(plan, 1, forged, 0) != 0, "memory that is not the session's is no tensor");
	tap_ok(execute_one(plan, 1, memory, FORGED) != 0, "nor a workspace");
	tap_ok(execute_one(plan, 2, memory, 0) != 0 && execute_one(plan, 2, forged, 0) != 0,
	       "where the library reads a number here, no address comes from the client");
	tap_ok(execute_one(plan, 1, number, 0) != 0, "where it reads memory of the device, no number of this process");
	tap_ok(execute_one(plan, 9, forged, 0) != 0, "an id that the plan has not is memory");
	twice[0] = tensor(1, false);
	twice[1] = tensor(1, true);
	graph = above(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS, twice, 2,
		      CUDNN_STATUS_BAD_PARAM);
	tap_ok(!seen.wrong, "one id is not both in a graph");
	above(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, &graph, 1,
	      CUDNN_STATUS_BAD_PARAM);
	tap_ok(execute_one(both[0], 1, memory, 0) != 0, "a tensor is no plan");
	tap_ok(execute_one(HANDLE, 1, memory, 0) != 0, "nor is a handle");
	object_begin(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, 0);
	is(end(), CUDNN_STATUS_NOT_SUPPORTED);
}

static uint64_t plan_by_text(const struct far_text *head, int wanted)
{
	struct far_attribute a = { CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
				   (int64_t)head->bytes };
	uint64_t object = object_begin(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, 1);

	remote_put(&message, &a, sizeof(a));
	remote_put(&message, head, sizeof(*head));
	is(end(), wanted);
	return object;
}

static void test_texts(void)
{
	struct far_text head = { sizeof(text), far_text_hash(text, sizeof(text)) };
	struct far_question q = { .name = CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, .type = CUDNN_TYPE_CHAR,
				  .requested = 100 };
	struct far_question other = { .name = CUDNN_ATTR_KERNEL_CACHE_JSON_REPRESENTATION, .type = CUDNN_TYPE_CHAR,
				      .requested = 100 };
	uint64_t one = tensor(5, true), plan = plan_of(&one, 1), again;
	const struct far_answer *a = (const struct far_answer *)out;

	plan_by_text(&head, CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH);
	begin(CUDNN_CALL_cudnnBackendGetAttribute, one);
	remote_put(&message, &other, sizeof(other));
	is(end(), 0);
	tap_ok(a->given == sizeof(text), "a text that is no plan's");
	plan_by_text(&head, CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH);
	begin(CUDNN_CALL_cudnnBackendGetAttribute, plan);
	remote_put(&message, &q, sizeof(q));
	is(end(), 0);
	tap_ok(a->count == sizeof(text) && a->given == sizeof(text) && !memcmp(a + 1, text, sizeof(text)),
	       "a plan as text");
	again = plan_by_text(&head, 0);
	tap_ok(execute_one(again, 5, (struct far_pointer){ .at = FORGED }, 0) != 0 &&
		       execute_one(again, 5, (struct far_pointer){ .is_value = 1 }, 0) == 0,
	       "the plan that is made of it has the same tensors");
	one = tensor(5, false);
	plan = plan_of(&one, 1);
	begin(CUDNN_CALL_cudnnBackendGetAttribute, plan);
	remote_put(&message, &q, sizeof(q));
	is(end(), 0);
	tap_ok(!a->given, "no text of two plans of which one has a number where the other has memory");
	plan_by_text(&head, CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH);
	head.hash++;
	plan_by_text(&head, CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH);
}

static void test_answers(void)
{
	struct far_question q = { .name = CUDNN_ATTR_ENGINEHEUR_RESULTS, .type = CUDNN_TYPE_BACKEND_DESCRIPTOR,
				  .requested = 1 };
	uint64_t one = tensor(7, true), id, plan;

	id = CALL_ID(KIND_FORWARDED, 1, FIRST + next++);
	begin(CUDNN_CALL_cudnnBackendGetAttribute, one);
	remote_put(&message, &q, sizeof(q));
	put(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	put((int64_t)id);
	is(end(), 0);
	plan = above(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, &id, 1, 0);
	tap_ok(execute_one(plan, 7, (struct far_pointer){ .at = MEMORY }, 0) != 0,
	       "what a library has filled has the tensors of what was asked");
	q.type = CUDNN_TYPE_VOID_PTR;
	begin(CUDNN_CALL_cudnnBackendGetAttribute, one);
	remote_put(&message, &q, sizeof(q));
	tap_ok(end() > 0, "addresses of this process are not given out");
}

static int destroy(uint64_t object)
{
	begin(CUDNN_CALL_cudnnBackendDestroyDescriptor, object);
	return end();
}

static uint64_t handle_new(void)
{
	uint64_t id = CALL_ID(KIND_FORWARDED, 1, FIRST + next++);

	begin(CUDNN_CALL_cudnnCreate, 0);
	put((int64_t)id);
	is(end(), 0);
	return id;
}

static int handle_end(uint64_t handle)
{
	begin(CUDNN_CALL_cudnnDestroy, handle);
	return end();
}

static uint64_t graph_with(uint64_t handle, int wanted)
{
	uint64_t graph = object_begin(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, 1);

	attribute(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle, sizeof(handle));
	is(end(), wanted);
	return graph;
}

/* Whatever a client ends first. */
static void test_lives(void)
{
	uint64_t handle = handle_new(), graph = graph_with(handle, 0), plan, one, chain;
	int ended = seen.ended, handles = seen.handles, failed = 0;

	plan = above(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, &graph, 1, 0);
	tap_ok(!seen.named, "a plan is asked for its workspace before another thread can end it");
	is(handle_end(handle), 0);
	tap_ok(handle_end(handle) != 0, "a handle ends once");
	is(seen.ended, ended);
	is(destroy(graph), 0);
	tap_ok(seen.ended == ended && seen.handles == handles,
	       "a plan keeps the graph and the handle that it refers to");
	is(destroy(plan), 0);
	tap_ok(seen.ended == ended + 1 && seen.handles == handles - 1, "and lets go of them when it ends");
	one = tensor(21, false);
	chain = one;
	for (int i = 0; i < 20000; i++) {
		uint64_t above_it = CALL_ID(KIND_FORWARDED, 1, FIRST + next++);

		begin(CUDNN_CALL_cudnnBackendFinalize, 0);
		put((int64_t)above_it);
		put(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
		put(2);
		attribute(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &(int64_t){ 21 }, sizeof(int64_t));
		attribute(CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &chain,
			  sizeof(chain));
		failed += end() != 0;
		failed += destroy(chain) != 0;
		chain = above_it;
	}
	is(failed, 0);
	is(destroy(chain), 0);
	tap_ok(!seen.early, "the library ends nothing that others refer to, however long the chain of them");
}

/* The context of a handle ends: what refers to the handle serves no more, and can be ended. */
static void test_context(void)
{
	const uint64_t other = CALL_ID(KIND_CONTEXT, 1, FIRST + next++);
	uint64_t handle, graph, plan;

	is(ids_add(&worker.ids, KIND_CONTEXT, other, &next, 0), 0);
	context = other;
	handle = handle_new();
	context = CONTEXT;
	graph = graph_with(handle, 0);
	plan = above(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, &graph, 1, 0);
	is(execute_one(plan, 1, (struct far_pointer){ .at = MEMORY }, 0), 0);
	ids_remove(&worker.ids, other);
	tap_ok(execute_one(plan, 1, (struct far_pointer){ .at = MEMORY }, 0) != 0,
	       "no plan whose handle's context has ended");
	graph_with(handle, CUDNN_STATUS_BAD_PARAM);
	above(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, &graph, 1,
	      CUDNN_STATUS_BAD_PARAM);
	is(destroy(plan), 0);
	is(destroy(graph), 0);
}

/* A number of the program's has room for one element; a library would read all of a vector. */
static void test_vectors(void)
{
	const int32_t vector = CUDNN_DATA_INT8x32, plain = CUDNN_DATA_INT8;
	const int64_t one = 1, many = 32;
	const struct {
		const int32_t *type;
		const int64_t *count;
		bool refused;
	} cases[] = { { &vector, &one, true }, { &plain, &many, true }, { &plain, &one, false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		object_begin(CUDNN_BACKEND_TENSOR_DESCRIPTOR, 3);
		attribute(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &(uint8_t){ 1 }, 1);
		attribute(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, cases[i].type, sizeof(int32_t));
		attribute(CUDNN_ATTR_TENSOR_VECTOR_COUNT, CUDNN_TYPE_INT64, 1, cases[i].count, sizeof(int64_t));
		tap_ok((end() == CUDNN_STATUS_NOT_SUPPORTED) == cases[i].refused, "a number of type %d and %d a vector",
		       *cases[i].type, (int)*cases[i].count);
	}
}

static void test_malformed(void)
{
	static const int64_t huge[] = { 1, 1 };

	object_begin(CUDNN_BACKEND_TENSOR_DESCRIPTOR, 1);
	attribute(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_BOOLEAN, 1, huge, 1);
	is(end(), 0);
	object_begin(CUDNN_BACKEND_TENSOR_DESCRIPTOR, 1);
	remote_put(&message, &(struct far_attribute){ CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, INT64_MAX },
		   sizeof(struct far_attribute));
	is(end(), -1);
	object_begin(CUDNN_BACKEND_TENSOR_DESCRIPTOR, 1 << 20);
	is(end(), -1);
	object_begin(CUDNN_BACKEND_TENSOR_DESCRIPTOR, 1);
	attribute(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &(uint8_t){ 2 }, 1);
	tap_ok(end() > 0, "yes and no are 1 and 0");
	test_vectors();
	begin(CUDNN_CALL_cudnnBackendGetAttribute, HANDLE);
	remote_put(&message, &(struct far_question){ .requested = 1 }, sizeof(struct far_question));
	tap_ok(end() > 0, "a handle is no descriptor");
}

/* ---- older calls ---- */

static void put_tensor(int count)
{
	put(2);
	put(CUDNN_DATA_FLOAT);
	put(3);
	for (int i = 0; i < 3; i++)
		put(i == 1 ? count : 2);
	for (int i = 0; i < 3; i++)
		put(1);
}

static void put_ints(const int *list, int64_t count)
{
	put(count);
	remote_put(&message, list, (size_t)count * sizeof(*list));
}

static int labels_of(int count, const int *length, int64_t lengths, int64_t labels)
{
	static const int zeros[64];

	begin(CUDNN_CALL_cudnnCTCLoss, HANDLE);
	put_tensor(count);
	put_tensor(count);
	put_ints(length, lengths);
	put_ints(zeros, lengths);
	put_ints(zeros, labels);
	put(0);
	put(2);
	for (int i = 0; i < 5; i++)
		put(i == 4 ? 16 : 0);
	for (int i = 0; i < 5; i++)
		put(0);
	return end();
}

static void test_older(void)
{
	static const int two[] = { 1, 1 }, far[] = { 1, 1 << 20 }, less[] = { 1, -1 };

	is(labels_of(2, two, 2, 2), 0);
	is(seen.labels, 2);
	tap_ok(labels_of(2, far, 2, 2) > 0 && labels_of(2, less, 2, 0) > 0 && labels_of(1000, two, 2, 2) > 0,
	       "a library reads no more labels and lengths than a message has");
	is(seen.labels, 2);
	for (int requested = 0; requested < 4; requested++) {
		begin(CUDNN_CALL_cudnnFindConvolutionForwardAlgorithm, HANDLE);
		for (int i = 0; i < 4; i++)
			put(1);
		put(requested < 2 ? requested * 64 : requested == 2 ? 65 : -1);
		tap_ok(requested < 2 ? end() == 0 : end() > 0, "so many results as there is room for: %d", requested);
	}
	is(seen.algorithms, 2);
	begin(CUDNN_CALL_cudnnFindConvolutionForwardAlgorithm, HANDLE);
	put(2);
	put(CUDNN_DATA_FLOAT);
	put(9);
	is(end(), -1);
}

/* Messages that are almost right: bytes of good ones are others. */
static void test_random(void)
{
	struct far_pointer pointers[] = { { .at = MEMORY }, { .is_value = 1 } };
	uint64_t both[] = { tensor(11, false), tensor(12, true) }, plan = plan_of(both, 2);
	static const int64_t ids[] = { 11, 12 };
	unsigned int seed = 1, kept = next;

	for (int i = 0; i < 20000; i++) {
		next = kept;
		if (i % 3 == 0) {
			execute_begin(plan, ids, pointers, 2, MEMORY);
		} else if (i % 3 == 1) {
			object_begin(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, 1);
			attribute(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 2, both, sizeof(*both));
		} else {
			begin(CUDNN_CALL_cudnnBackendGetAttribute, plan);
			remote_put(&message, &(struct far_question){ 1, CUDNN_TYPE_INT64, 1, 0 },
				   sizeof(struct far_question));
		}
		for (int k = 0; k < 1 + i % 4; k++)
			sent[16 + rand_r(&seed) % (message.used - 16)] = (uint8_t)rand_r(&seed);
		if (i % 7 == 0)
			message.used -= 8;
		end();
		ids_remove(&worker.ids, CALL_ID(KIND_FORWARDED, 1, FIRST + kept));
	}
	tap_ok(!seen.wrong, "20000 messages that are almost right: the library gets no wrong address");
}

static void test_own(void)
{
	static int own;
	const struct far_about *about = (const struct far_about *)out;

	begin(CUDNN_CALL_cudnnGetVersion, 0);
	is(end(), 0);
	tap_ok(about->far && about->version == 91900,
	       "the client is told that the library is NVIDIA's, and its version");
	cudnn_more = &own;
	begin(CUDNN_CALL_cudnnGetVersion, 0);
	is(end(), 0);
	tap_ok(!about->far, "and that it is mete's");
	object_begin(CUDNN_BACKEND_TENSOR_DESCRIPTOR, 0);
	is(end(), CUDNN_STATUS_NOT_SUPPORTED);
	begin(CUDNN_CALL_cudnnFindConvolutionForwardAlgorithm, HANDLE);
	for (int i = 0; i < 4; i++)
		put(1);
	put(1);
	tap_ok(end() > 0, "which is not called so");
	cudnn_more = NULL;
}

int main(void)
{
	tap_begin();
	library_begin();
	begin(CUDNN_CALL_cudnnCreate, 0);
	put(HANDLE);
	is(end(), 0);
	test_pointers();
	test_texts();
	test_answers();
	test_lives();
	test_context();
	test_malformed();
	test_older();
	test_random();
	test_own();
	ids_deinit(&worker.ids);
	ranges_deinit(&worker.ranges);
	for (struct object *o = living, *after; o; o = after) {
		after = o->next;
		free(o);
	}
	return tap_end();
}
