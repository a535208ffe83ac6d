/*
 * names_test.c: ids that the worker makes for what the driver gives out. What a graph or a node says of an object that
 * has ended is no object: named, it would have the driver use memory that it has freed. And a name goes with what its
 * object goes with.
 */
#include "base/tap.h"
#include "cuda_remote.h"
#include "remote/code.h"
#include "remote/graph.h"
#include "remote/worker/uses.h"

#include <string.h>

#define GRAPH CALL_ID(KIND_GRAPH, 1, 1)
#define NODE CALL_ID(KIND_GRAPH_NODE, 1, 2)
#define EVENT CALL_ID(KIND_EVENT, 1, 3)
#define LIBRARY CALL_ID(KIND_LIBRARY, 1, 4)
#define OTHER_LIBRARY CALL_ID(KIND_LIBRARY, 1, 5)
#define KERNEL CALL_ID(KIND_KERNEL, 1, 6)
#define CONTEXT CALL_ID(KIND_CONTEXT, 1, 7)
#define ARRAY CALL_ID(KIND_ARRAY, 1, 8)
#define CONDITION CALL_ID(KIND_GRAPH_NODE, 1, 9)
#define HANDLE(n) ((void *)(uintptr_t)(0x1000 + (n)))

enum {
	A_GRAPH,
	A_NODE,
	FIRST,
	SECOND,
	AN_EVENT,
	A_LIBRARY,
	A_KERNEL,
	A_FUNCTION,
	A_CONTEXT,
	AN_ARRAY,
	A_CONDITION,
	A_BODY
};

static struct wall wall;
static struct worker worker = { .wall = &wall };
static struct ids_reader reader;
static CUDA_KERNEL_NODE_PARAMS node;
static int asked; /* how often the driver was asked about a function or a node */

/* ---- the driver ---- */

static CUresult roots(CUgraph graph, CUgraphNode *ret, size_t *count)
{
	ret[0] = HANDLE(FIRST);
	*count = 1;
	return CUDA_SUCCESS;
}

static CUresult dependents(CUgraphNode of, CUgraphNode *ret, size_t *count)
{
	asked++;
	ret[0] = HANDLE(SECOND);
	*count = 1;
	return CUDA_SUCCESS;
}

static CUresult event_of(CUgraphNode of, CUevent *ret)
{
	*ret = HANDLE(AN_EVENT);
	return CUDA_SUCCESS;
}

static CUresult graph_end(CUgraph graph)
{
	return CUDA_SUCCESS;
}

static CUresult event_end(CUevent event)
{
	return CUDA_SUCCESS;
}

static CUresult library_end(CUlibrary library)
{
	return CUDA_SUCCESS;
}

static CUresult array_end(CUarray array)
{
	return CUDA_SUCCESS;
}

static CUresult kernel_node(CUgraphNode of, CUDA_KERNEL_NODE_PARAMS *ret)
{
	*ret = node;
	return CUDA_SUCCESS;
}

static CUresult condition_add(CUgraphNode *ret, CUgraph graph, const CUgraphNode *need, size_t count,
			      CUgraphNodeParams *params)
{
	static CUgraph body;

	body = HANDLE(A_BODY);
	*ret = HANDLE(A_CONDITION);
	params->conditional.phGraph_out = &body;
	return CUDA_SUCCESS;
}

static CUresult node_end(CUgraphNode of)
{
	return CUDA_SUCCESS;
}

static CUresult copy_node(CUgraphNode of, CUDA_MEMCPY3D *ret)
{
	*ret = (CUDA_MEMCPY3D){ .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = HANDLE(AN_ARRAY) };
	return CUDA_SUCCESS;
}

static CUresult kernel_param(CUkernel f, size_t index, size_t *ret_offset, size_t *ret_bytes)
{
	asked++;
	return CUDA_ERROR_INVALID_VALUE;
}

static CUresult function_param(CUfunction f, size_t index, size_t *ret_offset, size_t *ret_bytes)
{
	asked++;
	return CUDA_ERROR_INVALID_VALUE;
}

static const struct cuda_table driver = { .cuGraphGetRootNodes = roots,
					  .cuGraphNodeGetDependentNodes = dependents,
					  .cuGraphEventRecordNodeGetEvent = event_of,
					  .cuGraphEventWaitNodeGetEvent = event_of,
					  .cuGraphDestroy = graph_end,
					  .cuEventDestroy_v2 = event_end,
					  .cuLibraryUnload = library_end,
					  .cuArrayDestroy = array_end,
					  .cuGraphKernelNodeGetParams_v2 = kernel_node,
					  .cuGraphMemcpyNodeGetParams = copy_node,
					  .cuGraphAddNode = condition_add,
					  .cuGraphDestroyNode = node_end,
					  .cuKernelGetParamInfo = kernel_param,
					  .cuFuncGetParamInfo = function_param };

/* ---- requests ---- */

static _Alignas(8) uint8_t answer[4096];

static int32_t ask(worker_handler handler, uint16_t call, const void *body, size_t bytes)
{
	struct work work = { .worker = &worker,
			     .driver = &driver,
			     .head = { .call = call, .ticket = 1, .thread = 1 },
			     .in = { .data = body, .size = bytes },
			     .out = { .data = answer, .capacity = sizeof(answer) },
			     .reader = &reader };

	memset(answer, 0, sizeof(answer));
	uses_begin(&worker);
	is(handler(&work), 0);
	uses_end(&work);
	uses_leave(&work);
	ids_read_end(&worker.ids, &reader);
	return work.result;
}

static uint64_t word(size_t n)
{
	uint64_t value;

	memcpy(&value, answer + n * sizeof(value), sizeof(value));
	return value;
}

static int32_t end(worker_handler handler, uint64_t id)
{
	return ask(handler, 0, &id, sizeof(id));
}

/* The first of a list that the driver gives out, behind its length. */
static uint64_t first_of(worker_handler handler, uint64_t id, int32_t wanted)
{
	const uint64_t body[] = { id, 1, 1, 1 };

	is(ask(handler, 0, body, sizeof(body)), wanted);
	return word(1);
}

static uint64_t event_now(worker_handler handler)
{
	const uint64_t body[] = { NODE, 1 };

	is(ask(handler, 0, body, sizeof(body)), CUDA_SUCCESS);
	return word(0);
}

static int32_t get_node(uint32_t type)
{
	const struct graph_set body = { .node = NODE, .type = type };

	return ask(worker_other_graph, CALL_GRAPH_GET, &body, sizeof(body));
}

static void add(enum remote_kind kind, uint64_t id, int n, uint64_t owner)
{
	is(ids_add(&worker.ids, kind, id, HANDLE(n), owner), 0);
}

/* ---- tests ---- */

/* A node that is named by another one of its graph goes with the graph. */
static void test_nodes(void)
{
	uint64_t root, next;

	add(KIND_GRAPH, GRAPH, A_GRAPH, 0);
	root = first_of(worker_plain_cuGraphGetRootNodes, GRAPH, CUDA_SUCCESS);
	next = first_of(worker_plain_cuGraphNodeGetDependentNodes, root, CUDA_SUCCESS);
	ok(root && next && next != root);
	is(end(worker_cuGraphDestroy, GRAPH), CUDA_SUCCESS);
	asked = 0;
	first_of(worker_plain_cuGraphNodeGetDependentNodes, next, CUDA_ERROR_INVALID_VALUE);
	is(asked, 0);
}

/* Value: the id of the condition's body. */
static uint64_t add_condition(void)
{
	const struct {
		struct graph_add head;
		struct graph_params params;
		struct graph_condition condition;
	} body = { .head = { .id = CONDITION, .graph = GRAPH, .flags = GRAPH_GENERIC },
		   .params = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL },
		   .condition = { .type = CU_GRAPH_COND_TYPE_IF, .size = 1 } };
	struct graph_added added;
	uint64_t id;

	is(ask(worker_other_graph, CALL_GRAPH_ADD, &body, sizeof(body)), CUDA_SUCCESS);
	memcpy(&added, answer, sizeof(added));
	memcpy(&id, answer + sizeof(added), sizeof(id));
	is(added.graphs, 1);
	ok(ids_look(&worker.ids, KIND_GRAPH, id) && ids_look(&worker.ids, KIND_GRAPH, id)->handle == HANDLE(A_BODY));
	return id;
}

/* The body of a condition goes with its node, and with the graph that has the node. */
static void test_bodies(void)
{
	uint64_t body;

	add(KIND_GRAPH, GRAPH, A_GRAPH, 0);
	body = add_condition();
	is(end(worker_cuGraphDestroyNode, CONDITION), CUDA_SUCCESS);
	ok(!ids_look(&worker.ids, KIND_GRAPH, body));
	body = add_condition();
	is(end(worker_cuGraphDestroy, GRAPH), CUDA_SUCCESS);
	ok(!ids_look(&worker.ids, KIND_GRAPH, body));
}

static void test_events(void)
{
	add(KIND_GRAPH_NODE, NODE, A_NODE, 0);
	add(KIND_EVENT, EVENT, AN_EVENT, 0);
	is(event_now(worker_plain_cuGraphEventRecordNodeGetEvent), EVENT);
	is(end(worker_cuEventDestroy_v2, EVENT), CUDA_SUCCESS);
	is(event_now(worker_plain_cuGraphEventRecordNodeGetEvent), 0);
	is(event_now(worker_plain_cuGraphEventWaitNodeGetEvent), 0);
	ids_remove(&worker.ids, NODE);
}

static void test_arrays(void)
{
	struct graph_copy copy;

	add(KIND_GRAPH_NODE, NODE, A_NODE, 0);
	add(KIND_ARRAY, ARRAY, AN_ARRAY, 0);
	is(get_node(CU_GRAPH_NODE_TYPE_MEMCPY), CUDA_SUCCESS);
	memcpy(&copy, answer + sizeof(struct graph_params), sizeof(copy));
	is((uintptr_t)copy.copy.srcArray, ARRAY);
	is(end(worker_cuArrayDestroy, ARRAY), CUDA_SUCCESS);
	is(get_node(CU_GRAPH_NODE_TYPE_MEMCPY), CUDA_SUCCESS);
	memcpy(&copy, answer + sizeof(struct graph_params), sizeof(copy));
	is((uintptr_t)copy.copy.srcArray, 0);
	ids_remove(&worker.ids, NODE);
}

static uint64_t function_now(int32_t wanted)
{
	struct code_launch launch;

	is(get_node(CU_GRAPH_NODE_TYPE_KERNEL), wanted);
	memcpy(&launch, answer + sizeof(struct graph_params), sizeof(launch));
	return launch.function;
}

static uint64_t context_now(void)
{
	struct graph_params head;

	memcpy(&head, answer, sizeof(head));
	return head.context;
}

/* A function that the client has not asked for, of a library, goes when any library or module does. */
static void test_functions(void)
{
	uint64_t id;

	add(KIND_GRAPH_NODE, NODE, A_NODE, 0);
	add(KIND_CONTEXT, CONTEXT, A_CONTEXT, 0);
	add(KIND_LIBRARY, LIBRARY, A_LIBRARY, 0);
	add(KIND_LIBRARY, OTHER_LIBRARY, A_GRAPH, 0);
	add(KIND_KERNEL, KERNEL, A_KERNEL, LIBRARY);
	node = (CUDA_KERNEL_NODE_PARAMS){ .kern = HANDLE(A_KERNEL), .ctx = HANDLE(A_CONTEXT) };
	is(function_now(CUDA_SUCCESS), KERNEL);
	is(context_now(), CONTEXT);
	node = (CUDA_KERNEL_NODE_PARAMS){ .func = HANDLE(A_FUNCTION), .ctx = HANDLE(A_CONTEXT) };
	id = function_now(CUDA_SUCCESS);
	ok(id && ids_find(&worker.ids, KIND_FUNCTION, id));
	is(function_now(CUDA_SUCCESS), id);
	is(end(worker_cuLibraryUnload, LIBRARY), CUDA_SUCCESS);
	ok(!ids_find(&worker.ids, KIND_FUNCTION, id) && !ids_find(&worker.ids, KIND_KERNEL, KERNEL));
	/* The driver still has their handles in the node. */
	asked = 0;
	ok(function_now(CUDA_ERROR_NOT_SUPPORTED) == 0);
	node = (CUDA_KERNEL_NODE_PARAMS){ .kern = HANDLE(A_KERNEL), .ctx = HANDLE(A_CONTEXT) };
	ok(function_now(CUDA_ERROR_INVALID_VALUE) == 0);
	is(asked, 0);
	/* Of another library that is there. */
	add(KIND_KERNEL, KERNEL, A_KERNEL, OTHER_LIBRARY);
	ids_remove(&worker.ids, CONTEXT);
	is(function_now(CUDA_SUCCESS), KERNEL);
	is(context_now(), 0);
}

int main(void)
{
	tap_begin();
	worker.driver = &driver;
	is(ids_init(&worker.ids, NULL, NULL), 0);
	ids_reader_init(&worker.ids, &reader);
	test_nodes();
	test_bodies();
	test_events();
	test_arrays();
	test_functions();
	ids_deinit(&worker.ids);
	return tap_end();
}
