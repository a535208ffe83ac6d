/*
 * graph.h: messages about graph nodes whose parameters hold more than plain values: kernels, copies, host functions,
 * memory, batches of memory operations, conditions. All calls about them become a few requests with parameters of one
 * form.
 *
 * Host memory in a copy is an offset in the arena. The device cannot reach other memory of the program when the node
 * runs: a piece of the arena replaces it, and a host function of the client (`bounce`) fills the piece before the copy,
 * or reads it out afterwards.
 */
#pragma once

#include "cuda_types.h"
#include "ring/call.h"

#include <stdint.h>

enum graph_call {
	CALL_GRAPH_ADD = CALL_GRAPH, /* struct graph_add, dependencies, edge data, parameters */
	CALL_GRAPH_SET,		     /* struct graph_set, parameters */
	CALL_GRAPH_GET,		     /* struct graph_set; answered with parameters */
	CALL_GRAPH_ATTRIBUTE_SET,    /* struct graph_attribute */
	CALL_GRAPH_ATTRIBUTE_GET,    /* the same; answered with it */
	CALL_GRAPH_CAPTURE,	     /* uint64_t: a stream; answered with struct graph_capture, nodes, edge data */
};

enum graph_flag {
	GRAPH_GENERIC = 1 << 0, /* by cuGraphAddNode and similar calls */
	GRAPH_EDGES = 1 << 1,	/* edge data follows */
};

#define GRAPH_DEPENDENCIES_MOST 65536u

struct graph_add {
	uint64_t id, graph;
	uint32_t flags, dependencies;
};

/* The contents of a successful answer. */
struct graph_added {
	uint64_t address; /* of an allocation */
	uint32_t graphs, unused; /* of a condition: the number of its graphs, whose ids follow */
};

struct graph_set {
	uint64_t node, exec; /* exec 0: the node itself */
	uint32_t type; /* CUgraphNodeType */
	uint32_t flags;
};

/* The head of all parameters. */
struct graph_params {
	uint32_t type, unused;
	uint64_t context; /* id, or 0 */
};

/* A kernel: struct code_launch (remote/code.h) with its data. */

enum graph_place { GRAPH_PLACE_NONE, GRAPH_PLACE_ARENA };

/* A copy. Arrays in `copy` are ids; addresses of host memory are zero. */
struct graph_copy {
	CUDA_MEMCPY3D copy;
	uint64_t from_offset, from_bytes; /* with place ARENA: the bytes that the copy reads, at most */
	uint64_t to_offset, to_bytes;
	uint32_t from, to; /* enum graph_place */
	uint64_t before, after; /* tokens of functions that fill the arena's piece and read it out, or 0 */
};

/* A host function. */
struct graph_host {
	uint64_t token; /* 0 in an answer: the function is not the client's */
};

/* A memset, a free: CUDA_MEMSET_NODE_PARAMS_v2 without its context, CUDA_MEM_FREE_NODE_PARAMS. */

/* Of a child graph node: its graph; of an event node: the event. */
struct graph_object {
	uint64_t id;
	uint64_t ownership;
};

/* An allocation: CUDA_MEM_ALLOC_NODE_PARAMS_v2 without addresses, then as many CUmemAccessDesc as it counts. */
/* A batch: this, then as many CUstreamBatchMemOpParams. */
struct graph_batch {
	uint32_t count, flags;
};

#define GRAPH_BATCH_MOST 1024u

struct graph_condition {
	uint64_t handle; /* the driver's own value, which kernels also receive */
	uint32_t type, size;
};

#define GRAPH_CONDITION_MOST 64u

struct graph_attribute {
	uint64_t object; /* id: a kernel node, or a stream */
	uint32_t attribute, unused;
	uint8_t value[64];
};

struct graph_capture {
	uint32_t status, has_edges;
	uint64_t capture, graph;
	uint64_t dependencies;
};
